// SPDX-License-Identifier: Apache-2.0
// fanin::exact_accumulator by cases that can be checked by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fanin/exact_accumulator.hpp>

#include "support/data.hpp"
#include "support/expect_invalid.hpp"
#include "values.hpp"

namespace {

using fanin::exact_accumulator;
using fanin::exact_product_accumulator;
using fanin_test::of_all_exponents;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double largest = std::numeric_limits<double>::max();
constexpr double denormal = std::numeric_limits<double>::denorm_min();

template <class T = double>
exact_accumulator of(std::initializer_list<T> elements) {
  exact_accumulator acc;
  for (const T x : elements) acc.add(x);
  return acc;
}

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

#define EXPECT_BITS(got, expected) EXPECT_EQ(bits(got), bits(expected)) << (got) << " is not " << (expected)
#define ASSERT_BITS(got, expected) ASSERT_EQ(bits(got), bits(expected)) << (got) << " is not " << (expected)

TEST(exact_accumulator, of_nothing_and_of_zeros_is_positive_zero) {
  EXPECT_BITS(exact_accumulator{}.value(), 0.0);
  EXPECT_BITS(of({-0.0, -0.0}).value(), 0.0);
  EXPECT_BITS(of({1.5, -1.5}).value(), 0.0);
  EXPECT_BITS(exact_accumulator{}.value_as<float>(), 0.0F);
  EXPECT_BITS(of({-1e-300}).value_as<float>(), -0.0F);
}

TEST(exact_accumulator, what_a_rounding_sum_gets_wrong) {
  EXPECT_BITS(of({1e308, 1e308, -1e308}).value(), 1e308);
  EXPECT_BITS(of({1.0, infinity, 2.0}).value(), infinity);
  EXPECT_BITS(of({1e100, 1.0, -1e100}).value(), 1.0);
  exact_accumulator acc;
  for (int i = 0; i < 1000; ++i) acc.add(denormal);
  EXPECT_BITS(acc.value(), 1000 * denormal);
  EXPECT_BITS(of({0.1, 0.2, 0.3, -0.1, -0.2, -0.3}).value(), 0.0);
}

TEST(exact_accumulator, infinities_and_nan_as_a_sum_in_order_has_them) {
  EXPECT_BITS(of({-infinity, 1.0, -infinity}).value(), -infinity);
  EXPECT_TRUE(std::isnan(of({infinity, 1.0, -infinity}).value()));
  EXPECT_TRUE(std::isnan(of({1.0, nan}).value()));
  EXPECT_TRUE(std::isnan(of({nan, infinity}).value()));
  EXPECT_TRUE(std::isnan(of({nan}).value_as<float>()));
  EXPECT_EQ(of({infinity}).value_as<float>(), std::numeric_limits<float>::infinity());
  EXPECT_EQ(of({-std::numeric_limits<float>::infinity()}).value_as<float>(), -std::numeric_limits<float>::infinity());
  exact_accumulator a = of({infinity});
  a.merge(of({-infinity}));
  EXPECT_TRUE(std::isnan(a.value()));
}

TEST(exact_accumulator, one_element_of_every_exponent_comes_back) {
  for (std::uint64_t field = 0; field < 0x7ff; ++field) {
    for (const std::uint64_t fraction : {0ULL, 1ULL, 0x8000000000000ULL, 0xfffffffffffffULL, 0x123456789abcdULL}) {
      for (const std::uint64_t sign : {0ULL, 1ULL}) {
        const auto x = std::bit_cast<double>(sign << 63 | field << 52 | fraction);
        if (x == 0) continue;
        ASSERT_BITS(of({x}).value(), x);
        ASSERT_BITS(of({x, 1.0, 1e300, -1.0, -1e300}).value(), x);
        ASSERT_BITS(of({x, -x}).value(), 0.0);
      }
    }
  }
}

TEST(exact_accumulator, every_float_exponent_comes_back_as_float_and_as_double) {
  for (std::uint32_t field = 0; field < 0xff; ++field) {
    for (const std::uint32_t fraction : {0U, 1U, 0x400000U, 0x7fffffU, 0x123456U}) {
      for (const std::uint32_t sign : {0U, 1U}) {
        const auto x = std::bit_cast<float>(sign << 31 | field << 23 | fraction);
        if (x == 0) continue;
        ASSERT_BITS(of({x}).value_as<float>(), x);
        ASSERT_BITS(of({x}).value(), static_cast<double>(x));
      }
    }
  }
}

TEST(exact_accumulator, ties_go_to_even) {
  const double u = 0x1p-53;  // half a unit in the last place of 1
  EXPECT_BITS(of({1.0, u}).value(), 1.0);
  EXPECT_BITS(of({1.0, u, denormal}).value(), 1.0 + 2 * u);
  EXPECT_BITS(of({1.0, u, -denormal}).value(), 1.0);
  EXPECT_BITS(of({1.0 + 2 * u, u}).value(), 1.0 + 4 * u);
  EXPECT_BITS(of({1.0 + 2 * u, u, -denormal}).value(), 1.0 + 2 * u);
  EXPECT_BITS(of({-1.0, -u}).value(), -1.0);
  EXPECT_BITS(of({-1.0, -u, -denormal}).value(), -1.0 - 2 * u);
  EXPECT_BITS(of({2.0, -u / 2}).value(), 2.0);  // below a power of two the units are half as large
  EXPECT_BITS(of({2.0, -u}).value(), 2.0);
  EXPECT_BITS(of({2.0, -u, -denormal}).value(), 2.0 - 2 * u);
  EXPECT_BITS(of({2.0 - 2 * u, u}).value(), 2.0);  // a carry into the exponent
}

TEST(exact_accumulator, ties_at_every_exponent) {
  for (int e = -1021; e <= 1023; ++e) {
    const double one = std::ldexp(1.0, e);
    const double half_unit = std::ldexp(1.0, e - 53);
    if (half_unit == 0) continue;
    const double next = std::nextafter(one, infinity);
    ASSERT_BITS(of({one, half_unit}).value(), one);
    ASSERT_BITS(of({next, half_unit}).value(), std::nextafter(next, infinity));
    if (half_unit > denormal) {
      ASSERT_BITS(of({one, half_unit, denormal}).value(), next);
      ASSERT_BITS(of({next, half_unit, -denormal}).value(), next);
      ASSERT_BITS(of({-next, -half_unit, denormal}).value(), -next);
    }
  }
}

TEST(exact_accumulator, rounds_once_to_float) {
  const float next = std::nextafter(1.0F, 2.0F);
  const double half_unit = 0x1p-24;
  EXPECT_BITS(of({1.0, half_unit}).value_as<float>(), 1.0F);
  EXPECT_BITS(of({1.0, half_unit, 0x1p-60}).value_as<float>(), next);
  // To double first would be a tie then, and go down.
  EXPECT_BITS(of({1.0, half_unit, 0x1p-80}).value_as<float>(), next);
  EXPECT_BITS(of({1.0, half_unit, 0x1p-1074}).value_as<float>(), next);
  EXPECT_BITS(of({0x1p-149, 0x1p-150}).value_as<float>(), 0x1p-148F);
  EXPECT_BITS(of({0x1p-150}).value_as<float>(), 0.0F);
  EXPECT_BITS(of({0x1p-150, denormal}).value_as<float>(), 0x1p-149F);
  EXPECT_BITS(of({-0x1p-150, -denormal}).value_as<float>(), -0x1p-149F);
  EXPECT_BITS(of({0x1p-126, -0x1p-150}).value_as<float>(), 0x1p-126F);  // into the denormals and back
  const auto float_largest = static_cast<double>(std::numeric_limits<float>::max());
  EXPECT_BITS(of({float_largest, 0x1p102}).value_as<float>(), std::numeric_limits<float>::max());
  EXPECT_BITS(of({float_largest, 0x1p103}).value_as<float>(), std::numeric_limits<float>::infinity());
  EXPECT_BITS(of({-1e300}).value_as<float>(), -std::numeric_limits<float>::infinity());
}

TEST(exact_accumulator, beyond_the_largest_number_is_infinity_by_rounding) {
  const double half_unit = 0x1p970;
  EXPECT_BITS(of({largest, half_unit}).value(), infinity);
  EXPECT_BITS(of({largest, half_unit, -denormal}).value(), largest);
  EXPECT_BITS(of({-largest, -half_unit}).value(), -infinity);
  EXPECT_BITS(of({largest, largest, -largest, -largest, 3.0}).value(), 3.0);
}

TEST(exact_accumulator, carries_at_every_digit_both_ways) {
  for (int e = -1074; e <= 970; ++e) {
    const double low = std::ldexp(1.0, e);
    const double full = std::ldexp(0x1.fffffffffffffp52, e);  // 53 ones
    ASSERT_BITS(of({full, low}).value(), std::ldexp(0x1p53, e));
    ASSERT_BITS(of({std::ldexp(0x1p53, e), -low}).value(), full);
    exact_accumulator acc = of({full, full, full});
    acc.merge(of({-full, low}));
    acc.merge(of({-full, -low, -low}));
    ASSERT_BITS(acc.value(), std::ldexp(0x1.ffffffffffffep52, e));
  }
  // A borrow through all digits, and back.
  EXPECT_BITS(of({0x1p1023, -denormal, -0x1p1023}).value(), -denormal);
  EXPECT_BITS(of({0x1p1023, -denormal}).value(), 0x1p1023);
}

TEST(exact_accumulator, as_many_as_2_to_the_63) {
  for (const double x : {largest, -largest, denormal, 0x1.fffffffffffffp31, -0x1.23456789abcdep-500}) {
    exact_accumulator acc = of({x});
    for (int doubling = 0; doubling < 63; ++doubling) {
      const exact_accumulator other = acc;
      acc.merge(other);
      ASSERT_BITS(acc.value(), std::ldexp(x, doubling + 1));  // infinity where it has no number
    }
    const exact_accumulator all = exact_accumulator::deserialise(acc.serialise());
    exact_accumulator minus = of({-x});
    for (int doubling = 0; doubling < 63; ++doubling) minus.merge(minus);
    minus.merge(all);
    minus.add(0.5);
    ASSERT_BITS(minus.value(), 0.5);
  }
}

TEST(exact_accumulator, merges_with_itself) {
  exact_accumulator acc = of({0.1, -1e300, 3.0});
  acc.merge(acc);
  EXPECT_EQ(acc.serialise(), of({0.1, 0.1, -1e300, -1e300, 3.0, 3.0}).serialise());
}

TEST(exact_accumulator, more_additions_than_a_digit_holds_without_a_carry) {
  // All bits of a digit set, so that 2^31 of them would overflow it, which a sanitizer would see no sooner.
  constexpr std::int64_t count = (std::int64_t{1} << (fanin_test::is_sanitized ? 27 : 31)) + 5;
  constexpr auto all_ones = static_cast<double>(0xffff'ffff);
  exact_accumulator acc;
  for (std::int64_t i = 0; i < count; ++i) acc.add(std::ldexp(all_ones, -1074 + 32));
  exact_accumulator expected;
  for (int power = 0; power <= 31; ++power) {
    if ((count >> power & 1) == 0) continue;
    expected.add(std::ldexp(all_ones, -1074 + 32 + power));
  }
  EXPECT_EQ(acc.serialise(), expected.serialise());
}

TEST(exact_accumulator, the_same_bytes_for_every_order_and_split) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> x = of_all_exponents<double>(1 + round % 50, static_cast<std::uint64_t>(round));
    if (round % 5 == 0) x.push_back(infinity);
    if (round % 7 == 0) x.push_back(nan);
    exact_accumulator first;
    for (const double element : x) first.add(element);
    const auto bytes = first.serialise();
    for (int order = 0; order < 5; ++order) {
      std::ranges::shuffle(x, random);
      std::array<exact_accumulator, 4> part;
      for (const double element : x) part[random() % 4].add(element);
      std::ranges::shuffle(part, random);
      for (int i = 1; i < 4; ++i) part[0].merge(part[i]);
      ASSERT_EQ(part[0].serialise(), bytes);
      ASSERT_TRUE(bits(part[0].value()) == bits(first.value()));
    }
  }
}

/// What one hands another in few words, and no word behind them.
template <class Accumulator>
int add_by_packing(Accumulator& into, const Accumulator& from) {
  constexpr std::uint32_t untouched = 0xabcd'ef01;
  std::array<std::uint32_t, Accumulator::most_packed_words + 1> words;
  words.fill(untouched);
  const int count = from.pack(words.data());
  EXPECT_EQ(words.back(), untouched);
  EXPECT_EQ(into.add_packed(words.data()), count);
  return count;
}

TEST(exact_accumulator, packed_sums_are_the_same) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::array<exact_accumulator, 4> part;
    std::array<exact_product_accumulator, 4> product;
    std::vector<double> x = of_all_exponents<double>(seed % 40, seed);
    if (seed % 5 == 0) x.push_back(infinity);
    if (seed % 7 == 0) x.push_back(-infinity);
    if (seed % 11 == 0) x.push_back(nan);
    if (seed % 3 == 0) x.insert(x.end(), 4, -largest);
    if (seed % 4 == 0) x.insert(x.end(), 4, largest);
    for (std::size_t i = 0; i < x.size(); ++i) {
      part[(i * 7 + seed) % 4].add(x[i]);
      product[(i * 5 + seed) % 4].add_product(x[i], x[x.size() - 1 - i]);
    }
    exact_accumulator packed;
    exact_accumulator merged;
    exact_product_accumulator packed_product;
    exact_product_accumulator merged_product;
    for (std::size_t i = 0; i < 4; ++i) {
      add_by_packing(packed, part[i]);
      merged.merge(part[i]);
      add_by_packing(packed_product, product[i]);
      merged_product.merge(product[i]);
    }
    ASSERT_EQ(packed.serialise(), merged.serialise()) << seed;
    ASSERT_TRUE(bits(packed.value()) == bits(merged.value())) << seed;
    ASSERT_EQ(packed_product.serialise(), merged_product.serialise()) << seed;
  }
  exact_accumulator none;
  EXPECT_EQ(add_by_packing(none, exact_accumulator{}), 1);
  EXPECT_EQ(none.serialise(), exact_accumulator{}.serialise());
  EXPECT_EQ(add_by_packing(none, of({1.0})), 2);
  EXPECT_EQ(add_by_packing(none, of({-1.0})), 2);
  EXPECT_EQ(none.serialise(), exact_accumulator{}.serialise());
  exact_accumulator top;  // 2^62 of the largest
  top.add_value(-(std::int64_t{1} << 62), 1024);
  exact_accumulator twice;
  add_by_packing(twice, top);
  add_by_packing(twice, top);
  top.merge(top);
  EXPECT_EQ(twice.serialise(), top.serialise());
}

TEST(exact_accumulator, bytes_are_what_the_document_says) {
  const auto bytes = of({1.0, -infinity}).serialise();
  ASSERT_EQ(bytes.size(), 288U);
  const auto at = [&](std::size_t i) { return std::to_integer<int>(bytes[i]); };
  EXPECT_EQ(std::string({static_cast<char>(at(0)), static_cast<char>(at(1)), static_cast<char>(at(2)),
                         static_cast<char>(at(3))}),
            "FNXA");
  EXPECT_EQ(at(4) + 256 * at(5), 1);
  EXPECT_EQ(at(6) + 256 * at(7), 1074);
  EXPECT_EQ(at(8) + 256 * at(9), 68);
  EXPECT_EQ(at(10) + 256 * at(11), 2);
  // 1 is 2^1074 units of 2^-1074: bit 1074 % 32 of digit 1074 / 32.
  for (std::size_t i = 12; i < bytes.size(); ++i) {
    EXPECT_EQ(at(i), i == 12 + 1074 / 8 ? 1 << 1074 % 8 : 0) << "byte " << i;
  }
  const auto negative = of({-denormal}).serialise();
  for (std::size_t i = 12; i < negative.size(); ++i) EXPECT_EQ(std::to_integer<int>(negative[i]), 255);
}

TEST(exact_accumulator, deserialise_gives_back_and_goes_on) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    exact_accumulator acc;
    for (const double x : of_all_exponents<double>(20, seed)) acc.add(x);
    exact_accumulator read = exact_accumulator::deserialise(acc.serialise());
    EXPECT_EQ(read.serialise(), acc.serialise());
    read.add(-1e-300);
    acc.add(-1e-300);
    EXPECT_BITS(read.value(), acc.value());
  }
}

TEST(exact_accumulator, deserialise_refuses_in_words) {
  const auto good = of({1.0}).serialise();
  const auto read = [](std::vector<std::byte> bytes) { (void)exact_accumulator::deserialise(bytes); };
  const auto with = [&](std::size_t at, int value) {
    std::vector<std::byte> bytes(good.begin(), good.end());
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  fanin_test::expect_invalid([&] { read({}); }, "0 bytes");
  fanin_test::expect_invalid([&] { read(std::vector<std::byte>(good.begin(), good.end() - 1)); }, "287 bytes");
  fanin_test::expect_invalid([&] { read(with(0, 'f')); }, "first bytes");
  fanin_test::expect_invalid([&] { read(with(4, 2)); }, "version 2");
  fanin_test::expect_invalid([&] { read(with(6, 0)); }, "another kind");
  fanin_test::expect_invalid([&] { read(with(8, 67)); }, "another kind");
  fanin_test::expect_invalid([&] { read(with(10, 8)); }, "flags");
  fanin_test::expect_invalid([&] { read(with(good.size() - 1, 0x10)); }, "2^63");
  fanin_test::expect_invalid([&] { read(with(good.size() - 1, 0x80)); }, "2^63");
}

TEST(exact_product_accumulator, products_neither_round_nor_overflow_nor_vanish) {
  exact_product_accumulator acc;
  acc.add_product(largest, largest);
  acc.add_product(-largest, largest);
  EXPECT_BITS(acc.value(), 0.0);
  acc.add_product(1e300, 1e300);
  EXPECT_BITS(acc.value(), infinity);
  acc.add_product(1e300, -1e300);
  acc.add_product(denormal, denormal);
  EXPECT_BITS(acc.value(), 0.0);
  acc.add_product(1.0, 1.0);
  acc.add_product(0x1p-53, 1.0);
  EXPECT_BITS(acc.value(), 1.0 + 0x1p-52);  // the denormals' product decides a tie
  acc.add_product(-denormal, denormal);
  EXPECT_BITS(acc.value(), 1.0);
}

TEST(exact_product_accumulator, all_106_bits) {
  const double x = 0x1.fffffffffffffp0;
  for (int e = -1000; e <= 960; e += 7) {
    exact_product_accumulator acc;
    acc.add_product(std::ldexp(x, e), x);  // 4 - 2^-50 + 2^-104, scaled
    acc.add_product(-4.0, std::ldexp(1.0, e));
    acc.add_product(0x1p-50, std::ldexp(1.0, e));
    ASSERT_BITS(acc.value(), std::ldexp(1.0, e - 104));
  }
}

TEST(exact_product_accumulator, infinities_and_nan) {
  const auto product = [](double x, double y) {
    exact_product_accumulator acc;
    acc.add_product(x, y);
    return acc.value();
  };
  EXPECT_BITS(product(infinity, -2.0), -infinity);
  EXPECT_BITS(product(-infinity, -infinity), infinity);
  EXPECT_BITS(product(denormal, infinity), infinity);
  EXPECT_TRUE(std::isnan(product(0.0, infinity)));
  EXPECT_TRUE(std::isnan(product(infinity, -0.0)));
  EXPECT_TRUE(std::isnan(product(nan, 0.0)));
  EXPECT_TRUE(std::isnan(product(1.0, nan)));
  EXPECT_BITS(product(0.0, -1.0), 0.0);
}

}  // namespace
