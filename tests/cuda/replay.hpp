// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/gpu_test.hpp"

namespace fanin_test {

/// A captured graph, ready to launch.
class replay {
 public:
  explicit replay(cudaGraph_t graph) : graph_{graph} { check(cudaGraphInstantiate(&executable_, graph, 0)); }
  ~replay() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  replay(const replay&) = delete;
  replay& operator=(const replay&) = delete;
  /// From now on what this graph does, which goes.
  void update(cudaGraph_t anew) {
    cudaGraphExecUpdateResultInfo info{};
    check(cudaGraphExecUpdate(executable_, anew, &info));
    check(cudaGraphDestroy(anew));
  }
  void launch(cudaStream_t stream) { check(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraph_t graph_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace fanin_test
