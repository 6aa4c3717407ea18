// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "spaces.hpp"
#include "support/denormals.hpp"
#include "support/in_order.hpp"

/// Compiled and linked with -ffast-math, which lets the compiler turn comparisons round and forget NaN, and takes
/// denormals for zeros: extremes are what they are.
namespace fanin_test {
namespace {

template <class T>
bool same_bits(const fanin::min_max_index<T>& a, const fanin::min_max_index<T>& b) {
  const auto same = [](T x, T y) {
    const auto nan = [](T value) {
      const auto infinity = std::bit_cast<float_word<T>>(std::numeric_limits<T>::infinity());
      return (std::bit_cast<float_word<T>>(value) & (~float_word<T>{0} >> 1)) > infinity;
    };
    return std::bit_cast<float_word<T>>(x) == std::bit_cast<float_word<T>>(y) || (nan(x) && nan(y));
  };
  return same(a.min, b.min) && same(a.max, b.max) && a.min_index == b.min_index && a.max_index == b.max_index;
}

template <class T>
void check_extremes() {
  fanin::kokkos<Kokkos::DefaultHostExecutionSpace> space;
  const fanin::min_max_loc<T> both;
  for (const std::size_t n : {1, 3, 64, 1024, 20'000}) {
    auto arrays = arrays_of_denormals<T>(n);
    for (const std::size_t k : {0, 1, 2}) {
      arrays.push_back(arrays[k]);
      arrays.back()[n / 2] = std::numeric_limits<T>::quiet_NaN();
      arrays.push_back(arrays[k]);
      arrays.back()[n / 3] = std::numeric_limits<T>::infinity();
      arrays.back()[n / 4] = -std::numeric_limits<T>::infinity();
    }
    for (const auto& x : arrays) {
      const auto expected = extremes_by_integers(x);
      const load<T> f{x.data()};
      const fold_in<fanin::min_max_loc<T>> g{x.data(), both};
      EXPECT_TRUE(same_bits(fanin::reduce(in_order, x, both), expected)) << n;
      EXPECT_TRUE(same_bits(fanin::reduce(space, x, both), expected)) << n;
      EXPECT_TRUE(same_bits(fanin::parallel_reduce(fanin::range(space, n), f, both), expected)) << n;
      EXPECT_TRUE(same_bits(fanin::parallel_reduce(fanin::range(space, n), g, both), expected)) << n;
    }
  }
  const auto nothing = fanin::reduce(space, std::span<const T>{}, both);
  const T infinity = std::numeric_limits<T>::infinity();
  EXPECT_TRUE(same_bits(nothing, {infinity, -infinity, -1, -1}));
}

using kokkos_fast_math = kokkos_case<Kokkos::DefaultHostExecutionSpace>;
TEST_F(kokkos_fast_math, extremes_of_floats) { check_extremes<float>(); }
TEST_F(kokkos_fast_math, extremes_of_doubles) { check_extremes<double>(); }

}  // namespace
}  // namespace fanin_test
