// SPDX-License-Identifier: Apache-2.0

// CUB's DeviceReduce::Reduce over narrow numbers, complex numbers and structs: sums in the accumulators that Fanin's
// have.

#include <cub/device/device_reduce.cuh>
#include <cuda/std/complex>
#include <optional>

#include "contenders/cub_rows.hpp"
#include "contenders/device_types.hpp"
#include "harness/values.hpp"

namespace fanin_perf {
namespace {

// A complex number as a CUDA program has it: std::complex's operators do nothing in device code.
template <class T>
struct cub_element {
  using type = on_device<T>;
};
template <class F>
struct cub_element<std::complex<F>> {
  using type = cuda::std::complex<F>;
};

template <class Acc>
struct add_as {
  template <class X, class Y>
  __host__ __device__ Acc operator()(const X& x, const Y& y) const {
    return wrapping_sum(static_cast<Acc>(x), static_cast<Acc>(y));
  }
};

template <class T, operation>
class cub_sum {
 public:
  explicit cub_sum(const workload& work) : stream_(static_cast<cudaStream_t>(work.stream)) {
    FANIN_PERF_CHECK(call_cub(nullptr, work.x<T>(0), work.n, nullptr));
    storage_.emplace(bytes_);
  }

  void enqueue(const T* x, const T*, std::int64_t n, slot<sum_type<T>>* to) {
    FANIN_PERF_CHECK(call_cub(storage_->data(), x, n, &to->value));
  }

 private:
  using element = typename cub_element<T>::type;
  using accumulator = typename cub_element<sum_type<T>>::type;
  static_assert(sizeof(element) == sizeof(T) && sizeof(accumulator) == sizeof(sum_type<T>));

  // Without storage it only asks how much is needed.
  cudaError_t call_cub(void* storage, const T* x, std::int64_t n, sum_type<T>* value) {
    return cub::DeviceReduce::Reduce(storage, bytes_, reinterpret_cast<const element*>(x),
                                     reinterpret_cast<accumulator*>(value), n, add_as<accumulator>{}, accumulator{},
                                     stream_);
  }

  cudaStream_t stream_;
  std::size_t bytes_ = 0;
  std::optional<device_array<std::byte>> storage_;
};

struct cub_sums {
  static constexpr bool takes_all_types = true;

  template <class T, operation Op>
  static constexpr bool offers() {
    return !has_all_operations<T>;
  }

  template <class T, operation Op>
  using reduction = cub_sum<T, Op>;
};

}  // namespace

#if FANIN_PERF_CUB_WHEEL
void add_cub_wheel_types(registry& to) {
#else
void add_cub_types(registry& to) {
#endif
  add_cub_rows<cub_sums>(to, cub_name);
}

}  // namespace fanin_perf
