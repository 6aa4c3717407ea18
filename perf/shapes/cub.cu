// SPDX-License-Identifier: Apache-2.0

// CUB's sums of segments: of rows as of one size, where it has them, else by offsets; and by keys.

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cuda/std/functional>

#include <cstddef>
#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <string>

#include "contenders/cub_version.hpp"
#include "shapes/on_cuda.hpp"

namespace fanin_perf::shapes {
namespace {

/// Whether CUB sums segments of one size, of which none has to be told where it begins.
#define FANIN_PERF_CUB_KNOWS_SIZES (CUB_MAJOR_VERSION > 3 || (CUB_MAJOR_VERSION == 3 && CUB_MINOR_VERSION >= 1))
#if !FANIN_PERF_CUB_KNOWS_SIZES
struct begin_of_row {
  std::int64_t m;
  __host__ __device__ std::int64_t operator()(std::int64_t i) const { return i * m; }
};
#endif

template <class T>
class cub_rows : public on_cuda<T> {
 public:
  explicit cub_rows(const problem<T>& of) : on_cuda<T>(of), temporary_(ask(of)) {}

  void reduce(const problem<T>& of, const element_at<T>& f, T* out) const {
    std::size_t bytes = bytes_;
    FANIN_PERF_CHECK(sum(temporary_.data(), bytes, of, f.x, out));
  }

 private:
  std::size_t ask(const problem<T>& of) {
    FANIN_PERF_CHECK(sum(nullptr, bytes_, of, of.pool, of.out));
    return bytes_ + 1;
  }
  cudaError_t sum(void* temporary, std::size_t& bytes, const problem<T>& of, const T* x, T* out) const {
    const auto n = of.of.n;
    if (of.of.what == kind::runs) {
      const beside more = this->more();
      return cub::DeviceReduce::ReduceByKey(temporary, bytes, more.keys_of(of, x), more.to_keys, x, out, more.count,
                                            cuda::std::plus<>{}, of.of.elements(), this->stream());
    }
    if (of.of.has_offsets()) {
      const std::int64_t* const offsets = this->offsets();
      return cub::DeviceSegmentedReduce::Sum(temporary, bytes, x, out, n, offsets, offsets + 1, this->stream());
    }
#if FANIN_PERF_CUB_KNOWS_SIZES
    return cub::DeviceSegmentedReduce::Sum(temporary, bytes, x, out, n, static_cast<int>(of.of.m), this->stream());
#else
    const auto begin =
        thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}), begin_of_row{of.of.m});
    return cub::DeviceSegmentedReduce::Sum(temporary, bytes, x, out, n, begin, begin + 1, this->stream());
#endif
  }

  std::size_t bytes_ = 0;
  device_array<char> temporary_;
};

}  // namespace

#if FANIN_PERF_CUB_WHEEL
void add_cub_wheel(registry& to) {
#else
void add_cub(registry& to) {
#endif
  add_cub_version(to);
  to.contenders.push_back(
      of_library<cub_rows>({.name = cub_name,
                            .waits = false,
                            .kinds = {kind::rows, kind::segments, kind::powerlaw, kind::giant, kind::runs}}));
}

}  // namespace fanin_perf::shapes
