// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <fanin/exact_accumulator.hpp>
#include <fanin/host/exact_in_loops.hpp>
#include <fanin/host/exact_loops.hpp>

#include "values.hpp"

/// The loops of exact sums on every level that this processor has, against the accumulator.
namespace fanin_test {
namespace {

namespace host = fanin::detail::host;
using host::level;

class exact_loops : public ::testing::TestWithParam<level> {
 protected:
  void SetUp() override {
    if (host::exact_loops_at<float>(GetParam()) == nullptr) GTEST_SKIP() << "this processor has no such instructions";
  }
  template <class T>
  const host::exact_loops<T>& of() {
    return *host::exact_loops_at<T>(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(levels, exact_loops, ::testing::Values(level::baseline, level::avx2, level::avx512));

/// In pieces of a length.
template <class T>
fanin::exact_accumulator sum_of(const host::exact_loops<T>& with, std::span<const T> x, std::int64_t piece) {
  host::exact_state<host::digits_of_sum> state;
  const auto n = static_cast<std::int64_t>(x.size());
  for (std::int64_t at = 0; at < n; at += piece) with.add(state, x.data() + at, std::min(piece, n - at));
  with.finish(state);
  fanin::exact_accumulator sum;
  host::add_state(state, sum);
  return sum;
}

template <class T>
void expect_sum(const host::exact_loops<T>& with, std::span<const T> x, const std::string& what) {
  fanin::exact_accumulator right;
  for (const T value : x) right.add(value);
  const auto n = static_cast<std::int64_t>(x.size());
  for (const std::int64_t piece : {n, std::int64_t{1000}, std::int64_t{77}}) {
    if (piece < 1 || n > 100 * piece) continue;
    ASSERT_EQ(sum_of(with, x, piece).serialise(), right.serialise()) << what << ", " << n << " in pieces of " << piece;
  }
}

template <class T>
void expect_products(const host::exact_loops<T>& with, std::span<const T> x, std::span<const T> y,
                     const std::string& what) {
  fanin::exact_product_accumulator right;
  for (std::size_t i = 0; i < x.size(); ++i) right.add_product(x[i], y[i]);
  const auto n = static_cast<std::int64_t>(x.size());
  for (const std::int64_t piece : {n, std::int64_t{1000}}) {
    typename host::exact_loops<T>::products_state state;
    for (std::int64_t at = 0; at < n; at += piece) {
      with.add_products(state, x.data() + at, y.data() + at, std::min(piece, n - at));
    }
    with.finish_products(state);
    if constexpr (sizeof(T) == 8) {
      fanin::exact_product_accumulator sum;
      host::add_state(state, sum);
      ASSERT_EQ(sum.serialise(), right.serialise()) << what << ", " << n << " in pieces of " << piece;
    } else {
      fanin::exact_accumulator sum;
      host::add_state(state, sum);
      const double value = sum.value();
      const double expected = right.value();
      ASSERT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)))
          << what << ", " << n << " in pieces of " << piece;
    }
  }
}

template <class T>
void expect_all_kinds(const host::exact_loops<T>& with, std::size_t n, std::uint64_t seed) {
  for (const auto& [what, values] : kinds_of_values<T>(n + 3, seed)) {
    const auto x = std::span<const T>(values).subspan(n % 4, n);
    expect_sum(with, x, what);
    const std::vector<T> reversed(values.rbegin(), values.rend());
    expect_products(with, x, std::span<const T>(reversed).first(n), what);
    expect_products(with, x, x, what + ", squares");
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST_P(exact_loops, sums_and_products_of_every_kind_of_data) {
  for (const std::size_t n : {0U, 1U, 255U, 256U, 319U, 4'096U, 5'003U, 30'011U}) {
    expect_all_kinds(of<float>(), n, n);
    expect_all_kinds(of<double>(), n, n);
    if (HasFatalFailure()) return;
  }
}

/// Beyond where the range is looked at again, and the table is emptied.
TEST_P(exact_loops, long_arrays) {
  constexpr std::size_t n = (1 << 20) + 5'003;
  expect_sum<double>(of<double>(), of_all_exponents<double>(n, 1), "any bits");
  expect_sum<float>(of<float>(), of_all_exponents<float>(n, 2), "any bits");
  std::vector<double> changing = of_range<double>(n, -3, 3, 3);
  std::ranges::copy(of_range<double>(n / 3, 500, 530, 4), changing.begin() + n / 3);
  std::ranges::copy(of_all_exponents<double>(n / 4, 5), changing.begin() + n / 2);
  expect_sum<double>(of<double>(), changing, "of three ranges");
}

/// Few elements, of which the exponents lie so far from each other, with zeros between them; in one piece and in two.
template <class T>
void expect_few(const host::exact_loops<T>& with, int lowest, int apart, bool are_few) {
  const T largest = std::nextafter(T{2}, T{1});
  for (const std::int64_t n : {1, 2, 3, 7, 31, 32, 33, 200, 511, 512, 513}) {
    auto x = of_range<T>(static_cast<std::size_t>(n), lowest, lowest + apart, static_cast<unsigned>(n));
    if (n > 2) x[1] = n % 2 == 0 ? T{0} : -T{0};
    x.back() = std::ldexp(largest, lowest + apart);
    if (n > 1) x.front() = -std::ldexp(largest, lowest);
    const std::string what = "from 2^" + std::to_string(lowest) + ", " + std::to_string(apart) + " apart";
    expect_sum<T>(with, x, what);
    for (T& one : x) one = std::ldexp(largest, std::signbit(one) ? lowest : lowest + apart);
    expect_sum<T>(with, x, what + ", the largest");
    for (T& one : x) one = -one;
    expect_sum<T>(with, x, what + ", negative");
    host::exact_state<host::digits_of_sum> state;
    with.add(state, x.data(), n);
    EXPECT_EQ(!state.has_digits, n <= 512 && (are_few || n == 1)) << what << ", " << n;
    with.add(state, x.data(), n);
    EXPECT_TRUE(state.has_digits);
    with.finish(state);
    fanin::exact_accumulator sum;
    host::add_state(state, sum);
    fanin::exact_accumulator twice;
    for (const T one : x) twice.add(one), twice.add(one);
    EXPECT_EQ(sum.serialise(), twice.serialise()) << what << ", " << n;
  }
}
TEST_P(exact_loops, few_elements) {
  for (const int lowest : {-1022, -40, 0, 900}) {
    for (const int apart : {0, 10, 47, 48}) expect_few(of<double>(), lowest, apart, true);
    for (const int apart : {49, 64, 100}) expect_few(of<double>(), lowest, apart, false);
  }
  for (const int apart : {0, 5, 48}) expect_few(of<double>(), 1023 - apart, apart, true);
  for (const int apart : {0, 48}) expect_few(of<float>(), -60, apart, true);
  expect_few(of<float>(), -60, 49, false);
  for (const double one : {0.0, -0.0, 0x1p-1074, -0x1.fffffp-1030, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::max()}) {
    for (const double other : {0.0, 0x1p-1074, 0x1p-1026, 1.0, -std::numeric_limits<double>::infinity()}) {
      const double x[] = {one, other, one};
      expect_sum<double>(of<double>(), x, std::to_string(one) + " and " + std::to_string(other));
    }
  }
}

/// The largest numbers of the bins, which are placed by a sample of 64 elements.
template <class T>
void expect_brim(const host::exact_loops<T>& with, int least) {
  const T largest = std::nextafter(T{2}, T{1});
  for (const T value : {largest, -largest}) {
    for (const std::size_t n : {4'096U, 131'072U}) {
      std::vector<T> x(n, value);
      for (std::size_t k = 0; k < 64; ++k) x[n * k / 64] = k % 2 == 0 ? T{1} : std::ldexp(T{1}, least);
      expect_sum(with, std::span<const T>(x), "the largest");
    }
  }
}
TEST_P(exact_loops, products_of_many_binades_go_into_more_bins) {
  struct {
    int binades;
    int bins;
  } const cases[] = {{12, 3}, {30, 4}, {50, 5}, {70, 6}, {100, 0}};
  for (const auto& [binades, bins] : cases) {
    std::vector<double> x = of_range<double>(20'000, -binades / 2, binades / 2, 3);
    for (double& value : x) {  // with the largest fraction, so that bins are as full as they get
      value = std::ldexp(2 - 0x1p-52, std::ilogb(value));
    }
    const std::string what = "squares of " + std::to_string(binades) + " binades";
    expect_products<double>(of<double>(), x, x, what);
    host::exact_state<host::digits_of_products> state;
    of<double>().add_products(state, x.data(), x.data(), 20'000);
    if (GetParam() != level::baseline) {  // which has no fused multiply-add
      EXPECT_EQ(state.bins, bins) << what;
    }
    EXPECT_EQ(state.table == nullptr, state.bins > 0) << what;
  }
}
TEST_P(exact_loops, outliers_take_no_bin_unless_they_are_many) {
  constexpr std::size_t n = 1 << 17;
  const auto narrow = of_range<float>(n, 0, 3, 1);
  const auto others = of_range<float>(n, 60, 100, 2);
  for (const std::size_t often : {30, 100}) {  // of which the sample, every 2048th, has none
    const auto x = mixed(narrow, others, often);
    expect_sum<float>(of<float>(), x, "with outliers in " + std::to_string(often));
    host::exact_state<host::digits_of_sum> state;
    of<float>().add(state, x.data(), n);
    EXPECT_EQ(state.bins == 1, often == 100);
  }
}
TEST_P(exact_loops, so_many_elements_pay_for_a_table) {
  const auto x = of_all_exponents<float>(511 + 512, 6);
  for (const std::int64_t n : {511, 512}) {
    host::exact_state<host::digits_of_sum> state;
    of<float>().add(state, x.data(), n);
    EXPECT_EQ(state.table != nullptr, n == 512);
    of<float>().add(state, x.data() + n, 511);
    EXPECT_NE(state.table, nullptr);
    of<float>().finish(state);
    EXPECT_EQ(state.table, nullptr);
  }
}
/// What blocks of f's values are: no call goes far enough to look again by itself.
TEST_P(exact_loops, calls_with_numbers_of_another_range_take_more_bins) {
  const std::vector<double> narrow = of_range<double>(1'000, -2, 2, 4);
  const std::vector<double> wide = of_range<double>(1'000, -35, 35, 5);
  host::exact_state<host::digits_of_sum> state;
  of<double>().add(state, narrow.data(), 1'000);
  EXPECT_EQ(state.bins, 2);
  for (int k = 0; k < 3; ++k) of<double>().add(state, wide.data(), 1'000);
  EXPECT_EQ(state.bins, 3);
}
TEST_P(exact_loops, bins_full_of_the_largest_numbers) {
  for (const int least : {-35, -34, -79, -123}) expect_brim(of<double>(), least);
  for (const int least : {-22, -21, -68, -114}) expect_brim(of<float>(), least);
}

/// A table's sums at their largest: between numbers of any bits, so that there is one.
TEST_P(exact_loops, tables_full_of_the_largest_fractions) {
  constexpr std::size_t n = (3 << 20) + 77;
  auto x = of_all_exponents<double>(n, 7);
  auto y = of_all_exponents<float>(n, 8);
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 8 < 7) x[i] = std::nextafter(2.0, 1.0);
    if (i % 8 < 7) y[i] = std::nextafter(-2.0F, -1.0F);
  }
  // Samples are every 2048th.
  for (std::size_t i = 0; i < n; i += 1024) x[i] = std::ldexp(1.5, static_cast<int>(i / 1024 * 37 % 1900) - 950);
  for (std::size_t i = 0; i < n; i += 1024) y[i] = std::ldexp(1.5F, static_cast<int>(i / 1024 * 37 % 250) - 125);
  expect_sum<double>(of<double>(), x, "largest fractions");
  expect_sum<float>(of<float>(), y, "largest fractions");
  expect_products<double>(of<double>(), x, x, "squares of the largest fractions");
}

template <class T>
void expect_specials(const host::exact_loops<T>& with) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  for (const bool is_wide : {false, true}) {
    const std::size_t n = 20'011;
    const auto plain = is_wide ? of_all_exponents<T>(n, 3) : of_range<T>(n, -1, 0, 4);
    for (const auto& special : {std::vector<T>{infinity},
                                {-infinity},
                                {nan},
                                {-nan},
                                {infinity, -infinity},
                                {infinity, nan},
                                std::vector<T>(300, infinity)}) {
      for (const std::size_t at : {std::size_t{0}, std::size_t{4'200}, n - special.size()}) {
        auto x = plain;
        std::ranges::copy(special, x.begin() + static_cast<std::ptrdiff_t>(at));
        expect_sum(with, std::span<const T>(x), "special");
        const std::vector<T> zeros_and_ones = [&] {
          std::vector<T> factors(n, T{1});
          for (std::size_t i = 0; i < n; i += 3) factors[i] = 0;
          return factors;
        }();
        expect_products(with, std::span<const T>(x), std::span<const T>(zeros_and_ones), "special");
        expect_products(with, std::span<const T>(zeros_and_ones), std::span<const T>(x), "special");
      }
    }
  }
}
TEST_P(exact_loops, infinities_and_nan) {
  expect_specials(of<float>());
  expect_specials(of<double>());
}

#if defined(__SSE2__)
TEST_P(exact_loops, modes_of_the_thread_neither_matter_nor_change) {
  const unsigned before = _mm_getcsr();
  for (const unsigned mode : {0x8040U, 0x2000U, 0x4000U, 0x6000U}) {  // flush-to-zero, and the directions of rounding
    for (const std::size_t n : {200U, 6'007U}) {
      const auto x = kinds_of_values<double>(n, n);
      const auto y = kinds_of_values<float>(n, n);
      for (std::size_t kind = 0; kind < x.size(); ++kind) {
        fanin::exact_accumulator right_x;
        fanin::exact_accumulator right_y;
        for (const double value : x[kind].second) right_x.add(value);
        for (const float value : y[kind].second) right_y.add(value);
        _mm_setcsr((before & ~0xe040U) | mode);
        const unsigned set = _mm_getcsr();
        const auto of_x = sum_of<double>(of<double>(), x[kind].second, 5'000);
        const auto of_y = sum_of<float>(of<float>(), y[kind].second, 5'000);
        const unsigned after = _mm_getcsr();
        _mm_setcsr(before);
        EXPECT_EQ(after, set);
        EXPECT_EQ(of_x.serialise(), right_x.serialise()) << x[kind].first;
        EXPECT_EQ(of_y.serialise(), right_y.serialise()) << y[kind].first;
      }
    }
  }
}
#endif

TEST_P(exact_loops, pairs_are_separated) {
  std::vector<float> pairs(2 * 133);
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = static_cast<float>(i);
  std::vector<float> first(133, -1);
  std::vector<float> second(133, -1);
  of<float>().separate(pairs.data(), 132, first.data(), second.data());
  for (std::size_t i = 0; i < 132; ++i) {
    EXPECT_EQ(first[i], pairs[2 * i]);
    EXPECT_EQ(second[i], pairs[2 * i + 1]);
  }
  EXPECT_EQ(first[132], -1);
  EXPECT_EQ(second[132], -1);
}

TEST(exact_loops_of, the_best_level) {
  const host::exact_loops<double>* best = nullptr;
  for (const level which : {level::baseline, level::avx2, level::avx512}) {
    if (const auto* const there = host::exact_loops_at<double>(which)) best = there;
  }
  EXPECT_EQ(&host::exact_loops_of<double>(), best);
}

}  // namespace
}  // namespace fanin_test
