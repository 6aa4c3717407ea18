// SPDX-License-Identifier: Apache-2.0
// fanin::exact_sum, exact_dot and exact_norm2_squared on every backend of the host, against the accumulator, which
// accumulator_test.cpp checks by hand and oracle_test.py against Python.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "rounded_products.hpp"
#include "support/same.hpp"
#include "values.hpp"
#include "ways.hpp"

namespace {

using fanin_test::is_same;
using fanin_test::of_all_exponents;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double denormal = std::numeric_limits<double>::denorm_min();

template <class T>
void expect_everywhere(const std::vector<T>& x, T expected) {
  for (const auto& [way, got] : fanin_test::ask_all<fanin::exact_sum<T>>(x, {})) {
    EXPECT_TRUE(is_same(got, expected)) << way << ", n = " << x.size();
  }
}

/// All ways against the accumulator, element by element.
template <class T>
void expect_exact(const std::vector<T>& x) {
  fanin::exact_accumulator acc;
  for (const T element : x) acc.add(element);
  expect_everywhere(x, acc.template value_as<T>());
  for (const auto& [way, got] : fanin_test::ask_all<fanin::exact_sum<T, fanin::exact_accumulator>>(x, {})) {
    EXPECT_EQ(got.serialise(), acc.serialise()) << way << ", n = " << x.size();
  }
}

TEST(exact_sum, by_hand) {
  expect_everywhere<double>({}, 0.0);
  expect_everywhere<double>({-0.0}, 0.0);
  expect_everywhere<double>({1e308, 1e308, -1e308}, 1e308);
  expect_everywhere<double>({1.0, infinity, 2.0}, infinity);
  expect_everywhere<double>({1e100, 1.0, -1e100}, 1.0);
  expect_everywhere<double>(std::vector<double>(1000, denormal), 1000 * denormal);
  expect_everywhere<double>({infinity, -infinity}, nan);
  expect_everywhere<double>({1.0, nan, infinity}, nan);
  expect_everywhere<float>({}, 0.0F);
  expect_everywhere<float>({3e38F, 3e38F, -3e38F}, 3e38F);
  expect_everywhere<float>(std::vector<float>(1000, 0x1p-149F), 1000 * 0x1p-149F);
  expect_everywhere<float>({0x1p24F, 1.0F, 0x1p-149F}, 0x1.000002p24F);
}

/// Elements that a window of any position takes, all alike in size and sign or not.
std::vector<double> moderate(std::size_t n, int exponent, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(n);
  for (double& element : x) element = std::ldexp(normal(random), exponent);
  return x;
}

TEST(exact_sum, of_moderate_range_at_every_height) {
  for (int exponent = -1074; exponent <= 1010; exponent += 173) {
    for (const std::size_t n : {1, 15, 256, 2500}) expect_exact(moderate(n, exponent, n));
  }
}

TEST(exact_sum, of_every_kind_of_data) {
  for (const auto& [what, x] : fanin_test::kinds_of_values<double>(5'003, 1)) {
    SCOPED_TRACE(what);
    expect_exact(x);
  }
  for (const auto& [what, x] : fanin_test::kinds_of_values<float>(5'003, 2)) {
    SCOPED_TRACE(what);
    expect_exact(x);
  }
}

/// One float of a block lies so far below the others that its last bits are below their bins, or nearly.
TEST(exact_sum, of_floats_with_one_far_below) {
  for (int down = 12; down < 50; ++down) {
    std::vector<float> x(512, 1.0F);
    const float low = std::ldexp(0x1.fffffep0F, -down);
    for (const std::size_t at : {3, 7, 258, 263, 510}) {
      x[at] = low;
      fanin::exact_accumulator expected;
      for (const float element : x) expected.add(element);
      const fanin::exact_sum<float, fanin::exact_accumulator> reducer;
      EXPECT_EQ(fanin::reduce(fanin::serial{}, x, reducer).serialise(), expected.serialise()) << down << ", " << at;
      x[at] = 1.0F;
    }
  }
}

TEST(exact_sum, of_all_exponents) {
  for (const std::size_t n : {2, 33, 300, 2900}) expect_exact(of_all_exponents<double>(n, n));
}

TEST(exact_sum, long_arrays_fill_the_bins_many_times) {
  // Just below the top of the bins that smaller ones have placed: the most that a bin is moved by, always the same way.
  std::vector<double> x(400'000, 0x1.fffffffffffffp3);
  std::fill_n(x.begin(), 256, 1.0);  // what an array's first block is
  expect_exact(x);
  for (double& element : x) element = -element;
  expect_exact(x);
  x = moderate(300'001, 3, 5);
  expect_exact(x);
}

TEST(exact_sum, the_window_moves_up) {
  std::vector<double> x;
  for (int e = -1074; e <= 1023; ++e) {
    for (int k = 0; k < 12; ++k) x.push_back(std::ldexp(k % 3 == 0 ? -1.75 : 1.5, e));
  }
  expect_exact(x);
  std::ranges::reverse(x);
  expect_exact(x);
}

TEST(exact_sum, one_large_element_and_the_window_comes_down_again) {
  std::vector<double> x = moderate(20'000, -3, 9);
  x[0] = 0x1p900;
  x[10'000] = -0x1p900;
  expect_exact(x);
}

TEST(exact_sum, rests_below_the_window) {
  // A few elements whose last bits no bin has room for, among many that fit.
  std::vector<double> x = moderate(50'000, 0, 11);
  for (std::size_t i = 0; i < x.size(); i += 997) x[i] = std::ldexp(x[i], -70);
  for (std::size_t i = 5; i < x.size(); i += 3001) x[i] = denormal;
  expect_exact(x);
}

TEST(exact_sum, zeros_among_the_elements) {
  std::vector<double> x = moderate(10'000, 0, 13);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % 3 != 0) x[i] = i % 2 == 0 ? 0.0 : -0.0;
  }
  expect_exact(x);
  expect_exact(std::vector<double>(1000, -0.0));
}

TEST(exact_sum, infinities_and_nan_anywhere) {
  for (const double special : {infinity, -infinity, nan}) {
    for (const std::size_t at : {0, 1, 255, 256, 4000, 9'999}) {
      std::vector<double> x = moderate(10'000, 0, 17);
      x[at] = special;
      expect_everywhere(x, special);
    }
  }
}

TEST(exact_sum, of_floats_of_every_kind) {
  std::mt19937_64 random(19);
  for (const int kind : {0, 1, 2, 3}) {
    for (const std::size_t n : {1, 255, 2900, 70'000}) {
      std::vector<float> x(n);
      for (float& element : x) {
        const auto bits = static_cast<std::uint32_t>(random());
        switch (kind) {
          case 0: element = static_cast<float>(bits) * 0x1p-32F - 0.5F; break;
          case 1:
            element = std::bit_cast<float>((bits & 0x7f80'0000U) == 0x7f80'0000U ? bits ^ 0x4000'0000U : bits);
            break;
          case 2: element = std::bit_cast<float>(bits & 0x807f'ffffU); break;  // denormals
          default: element = bits % 8 == 0 ? 0x1p-149F : 1.0F; break;
        }
      }
      expect_exact(x);
      // As wide doubles they have the same sum.
      std::vector<double> wide(x.begin(), x.end());
      EXPECT_TRUE(is_same(fanin::reduce(fanin::serial{}, wide, fanin::exact_sum<double, float>{}),
                          fanin::reduce(fanin::serial{}, x, fanin::exact_sum<float>{})));
      EXPECT_TRUE(is_same(fanin::reduce(fanin::serial{}, wide, fanin::exact_sum<double>{}),
                          fanin::reduce(fanin::serial{}, x, fanin::exact_sum<float, double>{})));
    }
  }
}

TEST(exact_sum, merged_pieces_of_any_split_are_the_whole) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto x = seed % 2 == 0 ? of_all_exponents<double>(200, seed) : moderate(600, 0, seed);
    const auto whole = fanin::reduce(fanin::serial{}, x, fanin::exact_sum<double, fanin::exact_accumulator>{});
    EXPECT_EQ(fanin_test::merged_pieces<double>(x, seed).serialise(), whole.serialise());
  }
}

template <class F>
struct complex_at {
  const std::complex<F>* x;
  std::complex<F> operator()(std::int64_t i) const { return x[i]; }
};
template <class F>
struct subtract_complex {
  const std::complex<F>* x;
  void operator()(std::int64_t i, typename fanin::exact_sum<std::complex<F>>::thread_state& acc) const { acc -= x[i]; }
};

template <class F, class Exec>
void expect_complex_parts(Exec&& exec) {
  using complex = std::complex<F>;
  for (const std::size_t n : {0, 1, 500, 20'000}) {
    const std::vector<F> real = of_all_exponents<F>(n, n);
    std::vector<F> imaginary(n);
    for (std::size_t i = 0; i < n; ++i) imaginary[i] = static_cast<F>(i) / 7;
    std::vector<complex> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = {real[i], imaginary[i]};
    const F expected_real = fanin::reduce(fanin::serial{}, real, fanin::exact_sum<F>{});
    const F expected_imaginary = fanin::reduce(fanin::serial{}, imaginary, fanin::exact_sum<F>{});
    const auto expect = [&](const complex& got, F sign) {
      EXPECT_TRUE(is_same(got.real(), n == 0 ? F{0} : sign * expected_real)) << n;
      EXPECT_TRUE(is_same(got.imag(), n == 0 || expected_imaginary == 0 ? F{0} : sign * expected_imaginary)) << n;
    };
    expect(fanin::reduce(exec, x, fanin::exact_sum<complex>{}), 1);
    const auto range = fanin::range(exec, n);
    expect(fanin::parallel_reduce(range, complex_at<F>{x.data()}, fanin::exact_sum<complex>{}), 1);
    expect(fanin::parallel_reduce(range, subtract_complex<F>{x.data()}, fanin::exact_sum<complex>{}), -1);
  }
}

TEST(exact_sum, of_the_parts_of_complex_numbers) {
  expect_complex_parts<float>(fanin::serial{});
  expect_complex_parts<double>(fanin::serial{});
#if FANIN_HAS_KOKKOS && !FANIN_KOKKOS_NEEDS_CUDA
  expect_complex_parts<double>(fanin::kokkos<Kokkos::DefaultHostExecutionSpace>());
#endif
}

// What -ffp-contract=fast would make of these: see the targets of flags_test.cpp in CMakeLists.txt.
TEST(exact_sum, products_of_a_functor_are_rounded_before_they_are_added) {
  const auto x = moderate(5000, 0, 23);
  const auto y = moderate(5000, 0, 29);
  fanin::exact_accumulator expected;
  for (std::size_t i = 0; i < x.size(); ++i) {
    volatile double product = x[i] * y[i];
    expected.add(static_cast<double>(product));
  }
  fanin::serial exec;
  const auto range = fanin::range(exec, x.size());
  const fanin_test::rounded_products f{x.data(), y.data()};
  const fanin_test::add_rounded_products g{x.data(), y.data()};
  EXPECT_TRUE(is_same(fanin::parallel_reduce(range, f, fanin::exact_sum<double>{}), expected.value()));
  EXPECT_TRUE(is_same(fanin::parallel_reduce(range, g, fanin::exact_sum<double>{}), expected.value()));
}

template <class T>
T dot_by_accumulator(const std::vector<T>& x, const std::vector<T>& y) {
  fanin::exact_product_accumulator acc;
  for (std::size_t i = 0; i < x.size(); ++i) acc.add_product(x[i], y[i]);
  return acc.template value_as<T>();
}

template <class Exec, class T>
void expect_dot(Exec& exec, const std::vector<T>& x, const std::vector<T>& y) {
  EXPECT_TRUE(is_same(fanin::exact_dot(exec, x, y), dot_by_accumulator(x, y))) << "n = " << x.size();
  EXPECT_TRUE(is_same(fanin::exact_norm2_squared(exec, x), dot_by_accumulator(x, x))) << "n = " << x.size();
  T out{};
  fanin::exact_dot_into(&out, exec, x, y);
  EXPECT_TRUE(is_same(out, dot_by_accumulator(x, y))) << "n = " << x.size();
  fanin::exact_norm2_squared_into(&out, exec, x);
  EXPECT_TRUE(is_same(out, dot_by_accumulator(x, x))) << "n = " << x.size();
}

template <class T>
void expect_dot_everywhere(const std::vector<T>& x, const std::vector<T>& y) {
  fanin::serial by_default;
  expect_dot(by_default, x, y);
  if (x.size() <= fanin_test::most_for_halving) {
    fanin::serial halving(fanin::serial_order::recursive_halving);
    expect_dot(halving, x, y);
  }
#if FANIN_HAS_KOKKOS && !FANIN_KOKKOS_NEEDS_CUDA
  fanin::kokkos<Kokkos::DefaultHostExecutionSpace> kokkos;
  expect_dot(kokkos, x, y);
#endif
}

TEST(exact_dot, by_hand) {
  expect_dot_everywhere<double>({}, {});
  fanin::serial exec;
  const auto dot = [&](const std::vector<double>& x, const std::vector<double>& y) {
    return fanin::exact_dot(exec, x, y);
  };
  EXPECT_TRUE(is_same(dot({1e300, 1, 1e300}, {1e300, 3, -1e300}), 3.0));
  EXPECT_TRUE(is_same(dot({1e300}, {1e300}), infinity));
  EXPECT_TRUE(is_same(dot({1e-200, 1, 0x1p-53}, {1e-200, 1, 1}), 1.0 + 0x1p-52));
  EXPECT_TRUE(is_same(dot({-1e-200, 1, 0x1p-53}, {1e-200, 1, 1}), 1.0));
  EXPECT_TRUE(is_same(dot({denormal}, {0x1p1000}), 0x1p-74));
  EXPECT_TRUE(is_same(dot({0.0, 0.0}, {-1.0, denormal}), 0.0));
  EXPECT_TRUE(is_same(dot({0.0}, {infinity}), nan));
  EXPECT_TRUE(is_same(dot({infinity}, {-denormal}), -infinity));
  EXPECT_TRUE(is_same(fanin::exact_norm2_squared(exec, std::vector<double>{1e200, 1}), infinity));
  EXPECT_TRUE(is_same(fanin::exact_norm2_squared(exec, std::vector<double>(4, 0x1p-538)), denormal));
  EXPECT_TRUE(is_same(fanin::exact_dot(exec, std::vector<float>{3e38F, 1}, std::vector<float>{3e38F, 1}),
                      std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(
      is_same(fanin::exact_dot(exec, std::vector<float>{0x1p-149F, 1, 0x1p-24F}, std::vector<float>{0x1p-149F, 1, 1}),
              0x1.000002p0F));
}

TEST(exact_dot, at_every_height) {
  for (int exponent = -560; exponent <= 520; exponent += 90) {
    for (const std::size_t n : {1, 20, 1500}) {
      expect_dot_everywhere(moderate(n, exponent, n), moderate(n, exponent / 2, n + 1));
      expect_dot_everywhere(moderate(n, exponent, n), moderate(n, -exponent, n + 1));
    }
  }
  expect_dot_everywhere(moderate(100'000, 0, 1), moderate(100'000, 0, 2));
}

TEST(exact_dot, of_all_exponents) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::size_t n = 1 + 97 * seed;
    expect_dot_everywhere(of_all_exponents<double>(n, seed), of_all_exponents<double>(n, seed + 100));
  }
}

TEST(exact_dot, the_error_of_a_product_counts) {
  // x * y and the same rounded: what is left is the error alone.
  const auto x = moderate(2000, 0, 31);
  const auto y = moderate(2000, 0, 37);
  for (std::size_t i = 0; i < x.size(); ++i) {
    volatile double product = x[i] * y[i];
    const std::vector<double> a{x[i], -product};
    const std::vector<double> b{y[i], 1.0};
    ASSERT_TRUE(is_same(fanin::exact_dot(fanin::serial{}, a, b), std::fma(x[i], y[i], -product) + 0.0));
  }
}

/// Of one size, so that each of them is seen in the result.
TEST(exact_dot, of_many_floats_of_moderate_range) {
  const std::vector<double> of = moderate(6'000, 3, 17);
  std::vector<float> x(3'000), y(3'000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(of[i]);
    y[i] = static_cast<float>(of[i + 3'000]);
  }
  expect_dot_everywhere(x, y);
}

TEST(exact_dot, of_floats) {
  std::mt19937_64 random(41);
  for (const std::size_t n : {1, 100, 20'000}) {
    std::vector<float> x(n), y(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto bits = random();
      x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits) & 0xbfff'ffffU);
      y[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32) & 0xbfff'ffffU);
    }
    expect_dot_everywhere(x, y);
  }
}

}  // namespace
