// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls of a contender as nodes of one CUDA graph.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "harness/contender.hpp"

namespace fanin_perf {

/// `count` calls from buffer `first` on, captured once. run() launches the graph, whatever buffers it is asked for; its
/// calls are those of the capture. The constructor throws std::runtime_error where the calls cannot be captured; the
/// stream is then as before.
class captured_calls final : public call {
 public:
  captured_calls(std::unique_ptr<call> prepared, std::int64_t first, std::int64_t count, cudaStream_t stream);
  ~captured_calls() override;

  void run(std::int64_t first, std::int64_t launches) override;
  answer last() override { return prepared_->last(); }

 private:
  std::unique_ptr<call> prepared_;
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace fanin_perf
