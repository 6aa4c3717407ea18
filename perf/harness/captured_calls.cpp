// SPDX-License-Identifier: Apache-2.0
#include "harness/captured_calls.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "harness/cuda_check.hpp"

namespace fanin_perf {
namespace {

class graph_under_capture {
 public:
  explicit graph_under_capture(cudaStream_t stream) : stream_(stream) {
    FANIN_PERF_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    captures_ = true;
  }
  graph_under_capture(const graph_under_capture&) = delete;
  graph_under_capture& operator=(const graph_under_capture&) = delete;

  // After an exception the capture is ended as well, and what the calls left of errors is cleared: it has been
  // reported.
  ~graph_under_capture() {
    if (captures_) {
      (void)cudaStreamEndCapture(stream_, &graph_);
      (void)cudaGetLastError();
    }
    if (graph_ != nullptr) (void)cudaGraphDestroy(graph_);
  }

  cudaGraph_t end() {
    captures_ = false;
    FANIN_PERF_CHECK(cudaStreamEndCapture(stream_, &graph_));
    return graph_;
  }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  bool captures_ = false;
};

}  // namespace

captured_calls::captured_calls(std::unique_ptr<call> prepared, std::int64_t first, std::int64_t count,
                               cudaStream_t stream)
    : prepared_(std::move(prepared)), stream_(stream) {
  // What a first call loads and allocates is not for a capture.
  prepared_->run(first, 1);
  (void)prepared_->last();
  graph_under_capture capture(stream_);
  prepared_->run(first, count);
  const cudaGraph_t graph = capture.end();
  std::size_t nodes = 0;
  FANIN_PERF_CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  if (nodes < static_cast<std::size_t>(count)) {
    throw std::runtime_error("a graph of " + std::to_string(count) + " calls has only " + std::to_string(nodes) +
                             " nodes");
  }
  FANIN_PERF_CHECK(cudaGraphInstantiate(&executable_, graph, 0));
  const cudaError_t uploaded = cudaGraphUpload(executable_, stream_);
  if (uploaded != cudaSuccess) {
    (void)cudaGraphExecDestroy(executable_);
    FANIN_PERF_CHECK(uploaded);
  }
}

// The calls' memory goes after the graph that uses it.
captured_calls::~captured_calls() {
  (void)cudaStreamSynchronize(stream_);
  (void)cudaGraphExecDestroy(executable_);
}

void captured_calls::run(std::int64_t, std::int64_t launches) {
  for (std::int64_t i = 0; i < launches; ++i) FANIN_PERF_CHECK(cudaGraphLaunch(executable_, stream_));
}

}  // namespace fanin_perf
