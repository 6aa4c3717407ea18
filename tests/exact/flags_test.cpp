// SPDX-License-Identifier: Apache-2.0
// Exact sums in a unit whose flags could spoil them: see CMakeLists.txt for which. The accumulator, which computes in
// integers, says what is right.
#include <gtest/gtest.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <fanin/exact_sum.hpp>
#include <fanin/range.hpp>
#include <fanin/serial/serial.hpp>

#include "rounded_products.hpp"
#include "support/functors.hpp"

namespace {

using element = fanin_test::at<double>;
using product = fanin_test::rounded_products;
using add_product = fanin_test::add_rounded_products;
using add_element = fanin_test::add_to_state<fanin::exact_sum<double>>;
using add_float = fanin_test::add_to_state<fanin::exact_sum<float>>;

template <class T>
std::uint64_t bits(T x) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<std::uint64_t>(x);
  } else {
    return std::bit_cast<std::uint32_t>(x);
  }
}

template <class T>
T by_integers(const std::vector<T>& x) {
  fanin::exact_accumulator acc;
  for (const T value : x) acc.add(value);
  return acc.template value_as<T>();
}

constexpr std::size_t count = 5000;
fanin::serial exec;
fanin::serial in_order(fanin::serial_order::left_to_right);  // number by number

/// Elements of all sizes down to the denormals; `low` is the exponent of the smallest.
std::vector<double> elements(int low, int high, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> x(count);
  for (double& value : x) {
    const auto exponent = low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
    const std::uint64_t field = exponent > -1023 ? static_cast<std::uint64_t>(exponent + 1023) : 0;
    value = std::bit_cast<double>((random() >> 12) | (random() & 1ULL << 63) | field << 52);
  }
  return x;
}

/// Of which a bin takes the first bit, and a rest is left that is no normal number.
std::vector<double> elements_of_two_bits() {
  std::vector<double> x;
  for (std::uint64_t field = 1; field < 100; ++field) {
    for (int low = 0; low < 52; ++low) x.push_back(std::bit_cast<double>(field << 52 | 1ULL << low));
  }
  return x;
}

void expect_all_bits(const std::vector<double>& x) {
  const auto range = fanin::range(exec, x.size());
  const fanin::exact_sum<double, fanin::exact_accumulator> whole;
  fanin::exact_accumulator right;
  for (const double value : x) right.add(value);
  EXPECT_EQ(fanin::reduce(exec, x, whole).serialise(), right.serialise());
  EXPECT_EQ(fanin::parallel_reduce(range, element{x.data()}, whole).serialise(), right.serialise());
  EXPECT_EQ(fanin::parallel_reduce(range, add_element{x.data()}, whole).serialise(), right.serialise());
  const auto one_by_one = fanin::range(in_order, x.size());
  EXPECT_EQ(fanin::parallel_reduce(one_by_one, add_element{x.data()}, whole).serialise(), right.serialise());
}

void expect_exact() {
  expect_all_bits(elements_of_two_bits());
  for (const auto& [low, high] : {std::pair{-1023, -1023}, {-1030, -1000}, {-1023, -950}, {-1023, 1020}, {-20, 3}}) {
    const auto x = elements(low, high, 3);
    EXPECT_EQ(bits(fanin::reduce(exec, x, fanin::exact_sum<double>{})), bits(by_integers(x))) << low;
    expect_all_bits(x);
    fanin::exact_product_accumulator squares;
    for (const double value : x) squares.add_product(value, value);
    EXPECT_EQ(bits(fanin::exact_norm2_squared(exec, x)), bits(squares.value())) << low;
    EXPECT_EQ(bits(fanin::exact_dot(exec, x, x)), bits(squares.value())) << low;
  }
}

TEST(exact_flags, denormals_count) { expect_exact(); }

TEST(exact_flags, denormal_floats_count) {
  std::mt19937_64 random(5);
  std::vector<float> x(count);
  for (float& value : x) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0x807f'ffffU);
  const auto range = fanin::range(exec, count);
  EXPECT_EQ(bits(fanin::reduce(exec, x, fanin::exact_sum<float>{})), bits(by_integers(x)));
  EXPECT_EQ(bits(fanin::parallel_reduce(range, add_float{x.data()}, fanin::exact_sum<float>{})), bits(by_integers(x)));
  fanin::exact_product_accumulator squares;
  for (const float value : x) squares.add_product(value, value);
  x.push_back(0x1p-70F);
  squares.add_product(x.back(), x.back());
  EXPECT_EQ(bits(fanin::exact_norm2_squared(exec, x)), bits(squares.value_as<float>()));
}

TEST(exact_flags, products_are_rounded_before_they_are_added) {
  const auto x = elements(-3, 3, 7);
  const auto y = elements(-3, 3, 11);
  std::vector<double> products(count);
  for (std::size_t i = 0; i < count; ++i) {
    volatile double rounded = x[i] * y[i];
    products[i] = rounded;
  }
  const auto range = fanin::range(exec, count);
  const double expected = by_integers(products);
  EXPECT_EQ(bits(fanin::parallel_reduce(range, product{x.data(), y.data()}, fanin::exact_sum<double>{})),
            bits(expected));
  EXPECT_EQ(bits(fanin::parallel_reduce(range, add_product{x.data(), y.data()}, fanin::exact_sum<double>{})),
            bits(expected));
}

#if defined(__SSE2__)
constexpr unsigned flush_to_zero = 0x8040;  // both of them

TEST(exact_flags, flush_to_zero_is_as_this_program_says) {
#if defined(FANIN_TEST_EXPECTS_FLUSH_TO_ZERO)
  EXPECT_EQ(_mm_getcsr() & flush_to_zero, flush_to_zero);
#else
  EXPECT_EQ(_mm_getcsr() & flush_to_zero, 0U);
#endif
}

TEST(exact_flags, modes_of_the_caller_neither_matter_nor_change) {
  const unsigned before = _mm_getcsr();
  for (const unsigned mode : {flush_to_zero, 0U, 0x2000U, 0x4000U, 0x6000U}) {  // and the directions of rounding
    _mm_setcsr((before & ~0xe040U) | mode);
    const unsigned control = _mm_getcsr() & 0xffc0;
    expect_exact();
    EXPECT_EQ(_mm_getcsr() & 0xffc0, control);
  }
  _mm_setcsr(before);
}
#endif

}  // namespace
