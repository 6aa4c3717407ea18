// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cuda/gpu_test.hpp"
#include "support/denormals.hpp"

/// Compiled with --use_fast_math, by which a comparison takes denormal floats for zeros: extremes are what they are.
/// Every call here has kernels of this unit, none of the library's.
namespace fanin_test {
namespace {

template <class T>
struct fold_extremes {
  const T* x;
  FANIN_FUNCTION void operator()(std::int64_t i, fanin::min_max_index<T>& acc) const {
    fanin::min_max_loc<T>{}.fold(acc, x[i], i);
  }
};

template <class T>
void check_denormals() {
  fanin::cuda gpu;
  const fanin::min_max_loc<T> places;
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{2}, std::size_t{33}, std::size_t{5'000}, std::size_t{300'001}}) {
    for (const auto& host : arrays_of_denormals<T>(n)) {
      const auto expected = extremes_by_integers(host);
      const placed<T, fanin::cuda> x(gpu, host, 1);
      const auto [both, of_span] = fanin::reduce(gpu, x.span(), places, fanin::min_max<T>{});
      EXPECT_TRUE(is_same(both, expected)) << n;
      EXPECT_TRUE(is_same(of_span, fanin::min_max_value<T>{expected.min, expected.max})) << n;
      EXPECT_TRUE(is_same(fanin::parallel_reduce(fanin::range(gpu, n), at<T>{x.data()}, places), expected)) << n;
      EXPECT_TRUE(is_same(fanin::parallel_reduce(fanin::range(gpu, n), fold_extremes<T>{x.data()}, places), expected))
          << n;
    }
  }
}

using cuda_fast_math = gpu_test;

TEST_F(cuda_fast_math, denormal_floats_are_not_zero) {
  fanin::cuda gpu;
  const std::vector<float> host(100, std::numeric_limits<float>::denorm_min());
  const placed<float, fanin::cuda> x(gpu, host);
  const auto [all, any] = fanin::parallel_reduce(fanin::range(gpu, host.size()), at<float>{x.data()},
                                                 fanin::land<float>{}, fanin::lor<float>{});
  EXPECT_EQ(all, 1);
  EXPECT_EQ(any, 1);
}

TEST_F(cuda_fast_math, denormal_floats_have_their_order) { check_denormals<float>(); }
TEST_F(cuda_fast_math, denormal_doubles_have_their_order) { check_denormals<double>(); }

}  // namespace
}  // namespace fanin_test
