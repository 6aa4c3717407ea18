// SPDX-License-Identifier: Apache-2.0
#pragma once

// A stream as a place, for units that nvcc reads.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "harness/cuda_check.hpp"

namespace fanin_perf::cg {

template <class F>
__global__ void each_kernel(F f, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) (void)f(i);
}

class on_cuda {
 public:
  explicit on_cuda(void* stream) : stream_(static_cast<cudaStream_t>(stream)), host_(1) {}

  cudaStream_t stream() const { return stream_; }

  /// A thread for each index.
  template <class F>
  void each(std::int64_t n, const F& f) const {
    constexpr int threads = 256;
    each_kernel<<<static_cast<unsigned>((n + threads - 1) / threads), threads, 0, stream_>>>(f, n);
    FANIN_PERF_CHECK(cudaGetLastError());
  }

  /// One value by way of pinned memory.
  template <class T>
  void read(T* to, const T* from, std::int64_t n) const {
    static_assert(sizeof(T) <= sizeof(double));
    void* const by_way_of = n == 1 ? static_cast<void*>(host_.data()) : to;
    const auto bytes = static_cast<std::size_t>(n) * sizeof(T);
    FANIN_PERF_CHECK(cudaMemcpyAsync(by_way_of, from, bytes, cudaMemcpyDeviceToHost, stream_));
    FANIN_PERF_CHECK(cudaStreamSynchronize(stream_));
    if (n == 1) std::memcpy(to, by_way_of, sizeof(T));
  }

 private:
  cudaStream_t stream_;
  pinned_array<double> host_;
};

}  // namespace fanin_perf::cg
