// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/cuda_check.hpp"
#include "shapes/shape.hpp"

namespace fanin_perf::shapes {

/// A stream as a place.
template <class T>
class on_cuda {
 public:
  explicit on_cuda(const problem<T>& of)
      : stream_(static_cast<cudaStream_t>(of.stream)), offsets_(of.of.offsets().size() + 1) {
    const std::vector<std::int64_t> host = of.of.offsets();
    FANIN_PERF_CHECK(cudaMemcpyAsync(offsets_.data(), host.data(), host.size() * sizeof(std::int64_t),
                                     cudaMemcpyHostToDevice, stream_));
    FANIN_PERF_CHECK(cudaStreamSynchronize(stream_));
  }
  cudaStream_t stream() const { return stream_; }
  const std::int64_t* offsets() const { return offsets_.data(); }
  void read(T* to, const T* from, std::int64_t n) const {
    const auto bytes = static_cast<std::size_t>(n) * sizeof(T);
    FANIN_PERF_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_));
    FANIN_PERF_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  cudaStream_t stream_;
  device_array<std::int64_t> offsets_;
};

}  // namespace fanin_perf::shapes
