// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <fanin/host/loops.hpp>
#include <fanin/reducers.hpp>

#include "support/data.hpp"
#include "support/denormals.hpp"
#include "support/in_lanes.hpp"
#include "support/same.hpp"

/// The loops of fanin::host, on every level that this processor has: the same bits on each, at sizes around lanes and
/// vectors, from every alignment.
namespace fanin_test {
namespace {

namespace host = fanin::detail::host;
using host::level;

class host_loops : public ::testing::TestWithParam<level> {
 protected:
  void SetUp() override {
    if (host::loops_at<float>(GetParam()) == nullptr) GTEST_SKIP() << "this processor has no such instructions";
  }

  template <class T>
  const host::loops<T>& of() {
    return *host::loops_at<T>(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(levels, host_loops, ::testing::Values(level::baseline, level::avx2, level::avx512));

/// Of n elements, from an address that is no multiple of a vector's.
template <class T>
struct some {
  std::vector<T> all;
  std::span<const T> x;

  some(data kind, std::size_t n) : all(make_data<T>(kind, n + n % 7)), x(std::span<const T>(all).subspan(n % 7)) {}
  std::int64_t size() const { return static_cast<std::int64_t>(x.size()); }
};

/// In pieces of all lengths, and the whole at once.
template <class T>
void expect_sums(const host::loops<T>& with, data kind) {
  for (const std::size_t n : sizes_around_lanes<T>()) {
    const some<T> values(kind, n);
    const T sum = sum_in_lanes(values.x);
    const T product = product_in_lanes(values.x);
    const some<T> others(data::random_signed, n);
    std::vector<T> multiplied(n);
    for (std::size_t i = 0; i < n; ++i) multiplied[i] = product_of(values.x[i], others.x[i]);
    const T dot = sum_in_lanes(std::span<const T>(multiplied));
    // The first piece may leave lanes that no element has reached.
    constexpr std::pair<std::int64_t, std::int64_t> pieces[] = {
        {1 << 30, 1 << 30}, {1, 1}, {37, 37}, {1024, 1024}, {5, 1024}};
    for (const auto& [first, piece] : pieces) {
      if (piece == 1 && n > 1024) continue;
      host::lanes<T> sums;
      host::lanes<T> products;
      host::lanes<T> dots;
      std::fill_n(sums.lane, host::lane_count<T>, T{77});  // what no element has reached is not read
      std::fill_n(products.lane, host::lane_count<T>, T{77});
      for (std::int64_t at = 0, size = 0; at < values.size(); at += size) {
        size = std::min(at == 0 ? first : piece, values.size() - at);
        with.add(sums, values.x.data() + at, size);
        with.multiply(products, values.x.data() + at, size);
        with.add_products(dots, values.x.data() + at, others.x.data() + at, size);
      }
      ASSERT_TRUE(is_same(with.sum(sums), sum)) << n << " in pieces of " << piece;
      ASSERT_TRUE(is_same(with.product(products), product)) << n << " in pieces of " << piece;
      ASSERT_TRUE(is_same(with.sum(dots), dot)) << n << " in pieces of " << piece;
    }
  }
}

TEST_P(host_loops, sums_and_products) {
  expect_sums(of<float>(), data::near_one);
  expect_sums(of<double>(), data::near_one);
  expect_sums(of<std::uint8_t>(), data::near_one);
  expect_sums(of<std::uint16_t>(), data::near_one);
  expect_sums(of<std::uint32_t>(), data::near_one);
  expect_sums(of<std::uint64_t>(), data::near_one);
}

TEST_P(host_loops, a_sum_of_negative_zeros_is_zero) {
  for (const std::size_t n : {0U, 1U, 2U, 63U, 64U, 65U, 200U}) {
    const std::vector<float> x(n, -0.0F);
    host::lanes<float> lanes;
    of<float>().add(lanes, x.data(), static_cast<std::int64_t>(n));
    EXPECT_TRUE(is_same(of<float>().sum(lanes), 0.0F)) << n;
  }
}

/// By the reducers' own folds, one element after the other.
template <class T>
void expect_extremes_of(const host::loops<T>& with, std::span<const T> x) {
  const auto n = static_cast<std::int64_t>(x.size());
  auto least = fanin::min_loc<T>{}.identity();
  auto most = fanin::max_loc<T>{}.identity();
  for (std::int64_t i = 0; i < n; ++i) {
    fanin::min_loc<T>{}.fold(least, x[static_cast<std::size_t>(i)], i);
    fanin::max_loc<T>{}.fold(most, x[static_cast<std::size_t>(i)], i);
  }
  ASSERT_TRUE(is_same(with.lowest(x.data(), n), least.value)) << n;
  ASSERT_TRUE(is_same(with.highest(x.data(), n), most.value)) << n;
  const auto both = with.extremes(x.data(), n);
  ASSERT_TRUE(is_same(both.lowest, least.value)) << n;
  ASSERT_TRUE(is_same(both.highest, most.value)) << n;
  ASSERT_EQ(with.place(x.data(), n, least.value), least.index) << n;
  ASSERT_EQ(with.place(x.data(), n, most.value), most.index) << n;
}

template <class T>
void expect_extremes(const host::loops<T>& with) {
  for (const std::size_t n : sizes_around_lanes<T>()) {
    if (n == 0) continue;
    for (const data kind : {data::random_signed, data::pairs, data::flags, data::huge_and_tiny}) {
      expect_extremes_of(with, some<T>(kind, n).x);
    }
  }
  // One odd element in every place of what the loops take at once.
  std::vector<T> odd{2, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
  std::vector<T> fill{1, 0};
  if constexpr (std::floating_point<T>) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    constexpr T infinity = std::numeric_limits<T>::infinity();
    for (const T x : {nan, -nan, infinity, -infinity, T{0}, -T{0}, std::numeric_limits<T>::denorm_min(),
                      -std::numeric_limits<T>::denorm_min()}) {
      odd.push_back(x);
    }
    fill.push_back(-T{0});
    fill.push_back(nan);
  }
  constexpr std::size_t most = 8 * 64 / sizeof(T) + 64 / sizeof(T) + 3;
  for (const std::size_t n : {most, most / 2 - 1, 64 / sizeof(T) + 1}) {
    for (const T other : fill) {
      std::vector<T> x(n, other);
      for (std::size_t at = 0; at < n; ++at) {
        for (const T value : odd) {
          x[at] = value;
          expect_extremes_of<T>(with, x);
        }
        x[at] = other;
      }
    }
  }
}

TEST_P(host_loops, extremes_of_floats) {
  expect_extremes(of<float>());
  expect_extremes(of<double>());
}
TEST_P(host_loops, extremes_of_integers) {
  expect_extremes(of<std::int8_t>());
  expect_extremes(of<std::uint8_t>());
  expect_extremes(of<std::int16_t>());
  expect_extremes(of<std::uint16_t>());
  expect_extremes(of<std::int32_t>());
  expect_extremes(of<std::uint32_t>());
  expect_extremes(of<std::int64_t>());
  expect_extremes(of<std::uint64_t>());
}

#if defined(__SSE2__)
template <class T>
void expect_extremes_of_denormals(const host::loops<T>& with) {
  for (const std::size_t n : {1, 2, 17, 67, 130, 1024}) {
    for (const auto& x : arrays_of_denormals<T>(n)) {
      const auto right = extremes_by_integers(x);
      const auto size = static_cast<std::int64_t>(n);
      const unsigned before = _mm_getcsr();
      _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zeros
      const T least = with.lowest(x.data(), size);
      const T most = with.highest(x.data(), size);
      const auto both = with.extremes(x.data(), size);
      const std::int64_t place = with.place(x.data(), size, least);
      _mm_setcsr(before);
      ASSERT_TRUE(is_same(both.lowest, right.min)) << n;
      ASSERT_TRUE(is_same(both.highest, right.max)) << n;
      ASSERT_TRUE(is_same(least, right.min)) << n;
      ASSERT_TRUE(is_same(most, right.max)) << n;
      ASSERT_EQ(place, right.min_index) << n;
    }
  }
}

TEST_P(host_loops, extremes_while_denormals_count_as_zero) {
  expect_extremes_of_denormals(of<float>());
  expect_extremes_of_denormals(of<double>());
}
#endif

/// The best level is one that there is.
TEST(host_loops_of, the_best_level) {
  const host::loops<float>* best = nullptr;
  for (const level which : {level::baseline, level::avx2, level::avx512}) {
    if (const host::loops<float>* const there = host::loops_at<float>(which)) best = there;
  }
  EXPECT_EQ(&host::loops_of<float>(), best);
}

}  // namespace
}  // namespace fanin_test
