// SPDX-License-Identifier: Apache-2.0

// CUB's device-wide reductions, with temporary storage allocated once.

#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>
#include <optional>

#include "contenders/cub_rows.hpp"
#include "contenders/functors.hpp"

namespace fanin_perf {
namespace {

template <class T, operation Op>
class cub_reduction {
 public:
  explicit cub_reduction(const workload& work) : stream_(static_cast<cudaStream_t>(work.stream)) {
    FANIN_PERF_CHECK(call_cub(nullptr, work.x<T>(0), work.y<T>(0), work.n, nullptr, nullptr));
    storage_.emplace(bytes_);
  }

  void enqueue(const T* x, const T* y, std::int64_t n, slot<T>* to) {
    FANIN_PERF_CHECK(call_cub(storage_->data(), x, y, n, &to->value, &to->index));
  }
  void enqueue(const T* x, const T* y, std::int64_t n, T* to) {
    static_assert(!has_index(Op));
    FANIN_PERF_CHECK(call_cub(storage_->data(), x, y, n, to, nullptr));
  }

 private:
  // Without storage it only asks how much is needed.
  cudaError_t call_cub(void* storage, const T* x, [[maybe_unused]] const T* y, std::int64_t n, T* value,
                       [[maybe_unused]] std::int64_t* index) {
    using reduce = cub::DeviceReduce;
    if constexpr (Op == operation::sum) {
      return reduce::Sum(storage, bytes_, x, value, n, stream_);
    } else if constexpr (Op == operation::min) {
      return reduce::Min(storage, bytes_, x, value, n, stream_);
    } else if constexpr (Op == operation::max) {
      return reduce::Max(storage, bytes_, x, value, n, stream_);
    } else if constexpr (Op == operation::min_loc) {
      return reduce::ArgMin(storage, bytes_, x, value, index, n, stream_);
    } else if constexpr (Op == operation::max_loc) {
      return reduce::ArgMax(storage, bytes_, x, value, index, n, stream_);
    } else if constexpr (Op == operation::dot) {
      // Of two arrays there is no call: x[i] * y[i] of a counting iterator.
      const thrust::counting_iterator<std::int64_t> indices(0);
      return reduce::TransformReduce(storage, bytes_, indices, value, n, cuda::std::plus<T>{}, element_product<T>{x, y},
                                     T{}, stream_);
    } else {
      return reduce::TransformReduce(storage, bytes_, x, value, n, cuda::std::plus<T>{}, square<T>{}, T{}, stream_);
    }
  }

  cudaStream_t stream_;
  std::size_t bytes_ = 0;
  std::optional<device_array<std::byte>> storage_;
};

// One call after the other, each into its own part of the result.
template <class T>
class cub_reduction<T, operation::several> {
 public:
  explicit cub_reduction(const workload& work) : sum_(work), least_(work), greatest_(work), squares_(work) {}

  void enqueue(const T* x, const T* y, std::int64_t n, four<T>* to) {
    sum_.enqueue(x, y, n, &to->sum);
    least_.enqueue(x, y, n, &to->least);
    greatest_.enqueue(x, y, n, &to->greatest);
    squares_.enqueue(x, y, n, &to->squares);
  }

 private:
  cub_reduction<T, operation::sum> sum_;
  cub_reduction<T, operation::min> least_;
  cub_reduction<T, operation::max> greatest_;
  cub_reduction<T, operation::sum_of_squares> squares_;
};

// A selection: each combination costs seconds of compilation.
struct cub_library {
  template <class T, operation Op>
  static constexpr bool offers() {
    if (Op == operation::several || Op == operation::dot) return std::is_floating_point_v<T>;
    return !std::is_unsigned_v<T> && (sizeof(T) == 4 || Op != operation::sum_of_squares || std::is_floating_point_v<T>);
  }

  template <class T, operation Op>
  using reduction = cub_reduction<T, Op>;
};

}  // namespace

#if FANIN_PERF_CUB_WHEEL
void add_cub_wheel(registry& to) {
#else
void add_cub(registry& to) {
#endif
  add_cub_version(to);
  add_cub_rows<cub_library>(to, cub_name);
}

}  // namespace fanin_perf
