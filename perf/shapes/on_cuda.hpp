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
      : stream_(static_cast<cudaStream_t>(of.stream)),
        offsets_(of.of.offsets().size() + 1),
        keys_(of.of.what == kind::runs ? static_cast<std::size_t>(of.arrays * of.of.elements()) : 1),
        to_keys_(static_cast<std::size_t>(of.of.what == kind::runs ? of.of.results() : 1)),
        count_(1),
        row_offsets_(of.of.row_offsets().size() + 1),
        columns_(static_cast<std::size_t>(of.arrays * of.of.columns_stride()) + 1) {
    fill(offsets_.data(), of.of.offsets());
    const std::vector<std::int32_t> keys = of.of.keys(1);
    for (std::int64_t array = 0; array < of.arrays && !keys.empty(); ++array) {
      fill(keys_.data() + array * of.of.elements(), keys);
    }
    fill(row_offsets_.data(), of.of.row_offsets());
    for (std::int64_t array = 0; array < of.arrays && of.of.what == kind::spmv; ++array) {
      fill(columns_.data() + array * of.of.columns_stride(), of.of.given->columns);
    }
  }
  cudaStream_t stream() const { return stream_; }
  const std::int64_t* offsets() const { return offsets_.data(); }
  beside more() const {
    return {offsets_.data(), keys_.data(), to_keys_.data(), count_.data(), row_offsets_.data(), columns_.data()};
  }
  void read(T* to, const T* from, std::int64_t n) const {
    const auto bytes = static_cast<std::size_t>(n) * sizeof(T);
    FANIN_PERF_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_));
    FANIN_PERF_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  template <class Index>
  void fill(Index* to, const std::vector<Index>& from) const {
    FANIN_PERF_CHECK(cudaMemcpyAsync(to, from.data(), from.size() * sizeof(Index), cudaMemcpyHostToDevice, stream_));
    FANIN_PERF_CHECK(cudaStreamSynchronize(stream_));
  }

  cudaStream_t stream_;
  device_array<std::int64_t> offsets_;
  device_array<std::int32_t> keys_;
  device_array<std::int32_t> to_keys_;
  device_array<std::int64_t> count_;
  device_array<std::int32_t> row_offsets_;
  device_array<std::int32_t> columns_;
};

}  // namespace fanin_perf::shapes
