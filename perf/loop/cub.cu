// SPDX-License-Identifier: Apache-2.0

// CUB's device-wide reductions: over arrays, and fused by a counting iterator and a functor that writes.

#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>

#include "contenders/cub_version.hpp"
#include "contenders/functors.hpp"
#include "loop/on_cuda.hpp"
#include "loop/registry.hpp"

namespace fanin_perf::cg {
namespace {

template <class T>
class cub_library : public on_cuda {
 public:
  explicit cub_library(void* stream) : on_cuda(stream), storage_(storage_bytes) {}

  void dot(T* out, const T* a, const T* b, std::int64_t n) { sum(out, n, element_product<T>{a, b}); }
  void squares(T* out, const T* a, std::int64_t n) { sum_of(a, out, n, square<T>{}); }
  template <class F>
  void sum(T* out, std::int64_t n, const F& f) {
    sum_of(thrust::counting_iterator<std::int64_t>(0), out, n, f);
  }

 private:
  // More than a grid of any GPU needs, allocated before; CUB refuses a call for which it is too little.
  static constexpr std::size_t storage_bytes = std::size_t{1} << 20;

  template <class Iterator, class F>
  void sum_of(Iterator first, T* out, std::int64_t n, const F& f) {
    std::size_t bytes = storage_bytes;
    FANIN_PERF_CHECK(cub::DeviceReduce::TransformReduce(storage_.data(), bytes, first, out, n, cuda::std::plus<T>{}, f,
                                                        T{}, stream()));
  }

  device_array<std::byte> storage_;
};

}  // namespace

#if FANIN_PERF_CUB_WHEEL
void add_cub_wheel(registry& to) {
#else
void add_cub(registry& to) {
#endif
  add_cub_version(to);
  to.contenders.push_back(
      of_form<fused, cub_library>({.library = cub_name, .form = "fused", .on_gpu = true, .is_peer = true}));
  to.contenders.push_back(
      of_form<over_arrays, cub_library>({.library = cub_name, .form = "arrays", .on_gpu = true, .is_peer = true}));
}

}  // namespace fanin_perf::cg
