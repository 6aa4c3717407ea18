// SPDX-License-Identifier: Apache-2.0

// fanin-perf's oracle: what counts as a right answer.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/answer.hpp"
#include "harness/contender.hpp"
#include "harness/elements.hpp"
#include "harness/oracle.hpp"
#include "harness/values.hpp"

namespace {

using namespace fanin_perf;

template <class T>
data_source source_of(const std::vector<T>& values) {
  data_source data;
  data.type = element_of<T>;
  data.array = reinterpret_cast<const std::byte*>(values.data());
  return data;
}

template <class T>
reference right_of(const std::vector<T>& values, operation op) {
  return right_answer(source_of(values), op, static_cast<std::int64_t>(values.size()));
}

template <class T>
std::string fault_of(const std::vector<T>& values, operation op, const answer& got, contender who = {}) {
  return find_fault(who, got, right_of(values, op), source_of(values), op, static_cast<std::int64_t>(values.size()));
}

TEST(oracle, hand_checked_integers) {
  const std::vector<std::int32_t> values{5, -7, 3, -7, 9};
  EXPECT_EQ(right_of(values, operation::sum).value.value<std::int32_t>(), 3);
  EXPECT_EQ(right_of(values, operation::min).value.value<std::int32_t>(), -7);
  EXPECT_EQ(right_of(values, operation::max).value.value<std::int32_t>(), 9);
  EXPECT_EQ(right_of(values, operation::min_loc).value.index, 1);
  EXPECT_EQ(right_of(values, operation::max_loc).value.index, 4);
  EXPECT_EQ(right_of(values, operation::sum_of_squares).value.value<std::int32_t>(), 213);
  EXPECT_EQ(right_of(values, operation::dot).value.value<std::int32_t>(), 213);
}

TEST(oracle, integer_sums_wrap) {
  const std::vector<std::int32_t> values{std::numeric_limits<std::int32_t>::max(), 2};
  EXPECT_EQ(right_of(values, operation::sum).value.value<std::int32_t>(), std::numeric_limits<std::int32_t>::min() + 1);
  const std::vector<std::uint64_t> large{std::numeric_limits<std::uint64_t>::max(), 2};
  EXPECT_EQ(right_of(large, operation::sum).value.value<std::uint64_t>(), 1u);
}

TEST(oracle, float_sums_are_exact_beyond_their_type) {
  const std::vector<double> values{1e16, 1.0, -1e16};
  EXPECT_EQ(right_of(values, operation::sum).value.real, 1.0);
}

TEST(oracle, nan_wins_and_negative_zero_is_less) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values{1.0, nan, -3.0, nan};
  EXPECT_TRUE(std::isnan(right_of(values, operation::min).value.real));
  EXPECT_EQ(right_of(values, operation::max_loc).value.index, 1);
  EXPECT_TRUE(std::isnan(right_of(values, operation::sum).value.real));
  EXPECT_EQ(right_of(std::vector<double>{0.0, -0.0, 0.0}, operation::min_loc).value.index, 1);
}

TEST(oracle, threads_agree_with_one_loop) {
  const std::int64_t n = (std::int64_t{1} << 19) + 7;
  data_source data;
  data.type = element::i64;
  data.seed = 3;
  std::uint64_t sum = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t at = -1;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = value_at<std::int64_t>(3, static_cast<std::uint64_t>(i));
    sum += static_cast<std::uint64_t>(value);
    if (value < least) {
      least = value;
      at = i;
    }
  }
  EXPECT_EQ(right_answer(data, operation::sum, n).value.word, sum);
  EXPECT_EQ(right_answer(data, operation::min_loc, n).value.value<std::int64_t>(), least);
  EXPECT_EQ(right_answer(data, operation::min_loc, n).value.index, at);
}

// Every pattern of bits against its definition: 1 sign, 5 or 8 bits of exponent, 10 or 7 of fraction.
template <class Half>
void expect_halves_are(int exponent_bits, int fraction_bits) {
  const int largest = (1 << exponent_bits) - 1;
  for (int bits = 0; bits < 1 << 16; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const auto value = static_cast<float>(half);
    const int exponent = bits >> fraction_bits & largest;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    ASSERT_EQ(std::signbit(value), bits >> 15 != 0) << bits;
    if (exponent == largest && fraction != 0) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      continue;
    }
    const int significand = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
    const float magnitude = exponent == largest ? std::numeric_limits<float>::infinity()
                                                : std::ldexp(static_cast<float>(significand),
                                                             std::max(exponent, 1) - largest / 2 - fraction_bits);
    ASSERT_EQ(std::abs(value), magnitude) << bits;
    if (exponent < largest) {
      ASSERT_EQ(Half::of(value).bits, bits);
    }
  }
}

TEST(elements, halves_are_what_their_bits_say) {
  expect_halves_are<float16>(5, 10);
  expect_halves_are<bfloat16>(8, 7);
}

TEST(elements, sizes_and_what_sums_are) {
  const auto expect = [](const char* type, std::int64_t size, std::size_t components, element component) {
    const element e = *find_name<element>(element_names, type);
    EXPECT_EQ(size_of(e), size) << type;
    EXPECT_EQ(component_count_of(e), components) << type;
    EXPECT_EQ(component_of(e), component) << type;
  };
  expect("i32", 4, 1, element::i32);
  expect("f64", 8, 1, element::f64);
  expect("i8", 1, 1, element::i32);
  expect("u8", 1, 1, element::u32);
  expect("i16", 2, 1, element::i32);
  expect("f16", 2, 1, element::f32);
  expect("bf16", 2, 1, element::f32);
  expect("c32", 8, 2, element::f32);
  expect("c64", 16, 2, element::f64);
  expect("s64", 64, 8, element::f64);
}

// The mean and the number of different values; halves hold what they are made of exactly.
TEST(elements, values_are_spread_as_stated) {
  const auto look = [](auto of_type, double mean, double tolerance, std::size_t different) {
    using value = decltype(of_type);
    std::set<double> seen;
    double sum = 0;
    for (std::uint64_t i = 0; i < 100000; ++i) {
      const auto found = static_cast<double>(static_cast<sum_type<value>>(value_at<value>(5, i)));
      seen.insert(found);
      sum += found;
    }
    EXPECT_NEAR(sum / 100000, mean, tolerance);
    EXPECT_EQ(seen.size(), different);
    return std::pair(*seen.begin(), *seen.rbegin());
  };
  using ends = std::pair<double, double>;
  EXPECT_EQ(look(std::int8_t{}, -0.5, 1, 256), ends(-128, 127));
  EXPECT_EQ(look(std::uint8_t{}, 127.5, 1, 256), ends(0, 255));
  EXPECT_EQ(look(float16{}, 0.25, 0.005, 1024), ends(-0.25, 0.75 - 0x1p-10));
  EXPECT_EQ(look(bfloat16{}, 0.25, 0.005, 256), ends(-0.25, 0.75 - 0x1p-8));
  const auto pair = value_at<std::complex<float>>(5, 7);
  EXPECT_EQ(pair, std::complex<float>(value_at<float>(5, 14), value_at<float>(5, 15)));
  EXPECT_EQ(value_at<eight_doubles>(5, 3).part[6], value_at<double>(5, 30));
}

TEST(oracle, narrow_integers_are_summed_in_32_bits) {
  const std::vector<std::int8_t> bytes(1000, -128);
  EXPECT_EQ(right_of(bytes, operation::sum).value.type, element::i32);
  EXPECT_EQ(right_of(bytes, operation::sum).value.value<std::int32_t>(), -128000);
  EXPECT_EQ(fault_of(bytes, operation::sum, answer::of(std::int32_t{-128000})), "");
  EXPECT_NE(fault_of(bytes, operation::sum, answer::of(std::int32_t{-127872})), "");
  const std::vector<std::uint8_t> unsigned_bytes(1000, 255);
  EXPECT_EQ(to_text(right_of(unsigned_bytes, operation::sum).value), "255000");
  const std::vector<std::int16_t> words(70000, -32768);
  EXPECT_EQ(right_of(words, operation::sum).value.value<std::int32_t>(), 2001207296);  // wraps
}

TEST(oracle, halves_are_summed_as_floats) {
  const std::vector<float16> values{float16::of(1.5F), float16::of(-0.25F), float16::of(1024)};
  const reference right = right_of(values, operation::sum);
  EXPECT_EQ(right.value.real, 1025.25);
  EXPECT_EQ(right.magnitude, 1025.75L);
  EXPECT_EQ(fault_of(values, operation::sum, answer::of(1025.25F)), "");
  // What a sum in 16 bits would give.
  EXPECT_NE(fault_of(values, operation::sum, answer::of(1025.0F)), "");
}

TEST(oracle, components_are_summed_each) {
  const std::vector<std::complex<double>> values{{1e16, 3}, {1, -4}, {-1e16, 0.5}};
  const reference right = right_of(values, operation::sum);
  EXPECT_EQ(to_text(right.value), "1 -0.5");
  ASSERT_EQ(right.more.size(), 1u);
  EXPECT_EQ(right.more[0].magnitude, 7.5L);
  std::vector<eight_doubles> structs(3);
  for (int k = 0; k < 8; ++k) structs[0].part[k] = structs[2].part[k] = k;
  EXPECT_EQ(to_text(right_of(structs, operation::sum).value), "0 2 4 6 8 10 12 14");
}

// Generated data: the same as an array of what value_at() gives, from any position on, on one thread and on several.
TEST(oracle, components_of_generated_data_are_those_of_the_pool) {
  for (const std::int64_t n : {std::int64_t{1000}, (std::int64_t{1} << 18) + 3}) {
    std::vector<std::complex<float>> values;
    for (std::int64_t i = 0; i < n; ++i) {
      values.push_back(value_at<std::complex<float>>(9, 77 + static_cast<std::uint64_t>(i)));
    }
    data_source data;
    data.type = element::c32;
    data.seed = 9;
    data.x_position = 77;
    const reference made = right_answer(data, operation::sum, n);
    const reference stored = right_of(values, operation::sum);
    EXPECT_EQ(made.exact, stored.exact);
    EXPECT_EQ(made.more.at(0).exact, stored.more.at(0).exact);
    EXPECT_NE(made.exact, made.more.at(0).exact);
  }
}

TEST(oracle, types_that_are_only_summed_have_no_extremes) {
  EXPECT_THROW(right_of(std::vector<std::int8_t>{1, 2}, operation::min), std::invalid_argument);
  EXPECT_THROW(right_of(std::vector<eight_doubles>(2), operation::dot), std::invalid_argument);
}

TEST(verdict, every_component_counts) {
  std::vector<eight_doubles> values(1000);
  for (auto& value : values) std::fill(std::begin(value.part), std::end(value.part), 0.1);
  eight_doubles sum{};
  for (const auto& value : values) sum = sum + value;
  EXPECT_EQ(fault_of(values, operation::sum, answer::of(sum)), "");
  for (int k = 0; k < 8; ++k) {
    eight_doubles wrong = sum;
    wrong.part[k] += 0.1;
    EXPECT_EQ(fault_of(values, operation::sum, answer::of(wrong)).find("component " + std::to_string(k) + ":"), 0u);
  }
  EXPECT_NE(fault_of(values, operation::sum, answer::of(sum.part[0])), "");
  const std::vector<std::complex<float>> numbers(100, {1, -2});
  EXPECT_EQ(fault_of(numbers, operation::sum, answer::of(std::complex<float>(100, -200))), "");
  EXPECT_NE(fault_of(numbers, operation::sum, answer::of(std::complex<float>(100, 200))), "");
  EXPECT_NE(fault_of(numbers, operation::sum, answer::of(std::complex<float>(99, -200))), "");
}

TEST(verdict, a_sum_within_its_bound_is_right) {
  std::vector<float> values(1000, 0.1F);
  float sum = 0;
  for (const float v : values) sum += v;
  EXPECT_EQ(fault_of(values, operation::sum, answer::of(sum)), "");
  contender pairwise;
  pairwise.halving = true;
  EXPECT_NE(fault_of(values, operation::sum, answer::of(sum + 0.01F), pairwise), "");
}

TEST(verdict, an_exact_sum_is_the_nearest_number) {
  const std::vector<double> values{1, 0x1p-53, 0x1p-60, 1e15, -1e15};
  contender exact;
  exact.rounds_once = true;
  const double right = 1 + 0x1p-52;
  EXPECT_EQ(fault_of(values, operation::exact_sum, answer::of(right), exact), "");
  EXPECT_NE(fault_of(values, operation::exact_sum, answer::of(1.5), exact), "");
  EXPECT_EQ(fault_of(values, operation::exact_sum, answer::of(1.0625), contender{}), "") << "a peer may round";
  const std::vector<float> floats{1, 0x1p-24F, 0x1p-40F};
  EXPECT_EQ(fault_of(floats, operation::exact_sum, answer::of(1 + 0x1p-23F), exact), "");
  EXPECT_NE(fault_of(floats, operation::exact_sum, answer::of(1.0F), exact), "");
  EXPECT_NE(fault_of(floats, operation::exact_sum, answer::of(1 + 0x1p-22F), exact), "");
}

TEST(verdict, a_dropped_element_is_found) {
  const std::vector<double> values(100000, 1.0);
  EXPECT_NE(fault_of(values, operation::sum, answer::of(99999.0)), "");
  const std::vector<std::int32_t> integers(100, 7);
  EXPECT_NE(fault_of(integers, operation::sum, answer::of(std::int32_t{693})), "");
}

TEST(verdict, indices) {
  const std::vector<std::int32_t> values{4, 2, 2, 9};
  const auto at = [](std::int64_t index) { return answer::of(std::int32_t{2}, index); };
  EXPECT_EQ(fault_of(values, operation::min_loc, at(1)), "");
  EXPECT_NE(fault_of(values, operation::min_loc, at(2)), "");
  contender any;
  any.smallest_index = false;
  EXPECT_EQ(fault_of(values, operation::min_loc, at(2), any), "");
  EXPECT_NE(fault_of(values, operation::min_loc, at(3), any), "");
  EXPECT_NE(fault_of(values, operation::min_loc, at(4), any), "");
  EXPECT_NE(fault_of(values, operation::min_loc, at(-1), any), "");
}

TEST(verdict, every_value_of_several_counts) {
  const std::vector<double> values{4, -1, 0.5, 3};
  const reference right = right_of(values, operation::several);
  EXPECT_EQ(right.value.real, 6.5);
  ASSERT_EQ(right.value.more.size(), 3u);
  EXPECT_EQ(right.value.more[0].real, -1);
  EXPECT_EQ(right.value.more[1].real, 4);
  EXPECT_EQ(right.value.more[2].real, 26.25);
  const auto fault = [&](const four<double>& got) { return fault_of(values, operation::several, answer::of(got)); };
  EXPECT_EQ(fault({6.5, -1, 4, 26.25}), "");
  EXPECT_EQ(fault({6, -1, 4, 26.25}).find("sum:"), 0u);
  EXPECT_EQ(fault({6.5, -2, 4, 26.25}).find("min:"), 0u);
  EXPECT_EQ(fault({6.5, -1, 5, 26.25}).find("max:"), 0u);
  EXPECT_EQ(fault({6.5, -1, 4, 26}).find("sum_of_squares:"), 0u);
  EXPECT_NE(fault_of(values, operation::several, answer::of(6.5)), "");
}

TEST(verdict, nan_is_not_accepted_for_a_number) {
  const std::vector<float> values{1, 2, 3};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(fault_of(values, operation::sum, answer::of(nan)), "");
  EXPECT_NE(fault_of(values, operation::max, answer::of(nan)), "");
}

TEST(text, brings_back_the_same_bits) {
  EXPECT_EQ(std::stod(to_text(answer::of(0.1))), 0.1);
  EXPECT_EQ(std::stof(to_text(answer::of(0.1F))), 0.1F);
  EXPECT_EQ(to_text(answer::of(std::int32_t{-3})), "-3");
  EXPECT_EQ(to_text(answer::of(std::numeric_limits<std::uint64_t>::max())), "18446744073709551615");
  EXPECT_EQ(to_text(answer::of(std::numeric_limits<double>::quiet_NaN())), "nan");
  EXPECT_EQ(to_text(answer::of(std::complex<float>(0.1F, -3))), "0.100000001 -3");
}

}  // namespace
