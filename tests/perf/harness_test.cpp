// SPDX-License-Identifier: Apache-2.0

// fanin-perf's harness: what counts as a right answer, and what becomes of a wrong one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/baseline.hpp"
#include "harness/confidence.hpp"
#include "harness/contender.hpp"
#include "harness/device.hpp"
#include "harness/host.hpp"
#include "harness/json_report.hpp"
#include "harness/options.hpp"
#include "harness/oracle.hpp"
#include "harness/runner.hpp"
#include "harness/tuning.hpp"
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

TEST(sizes, lists_and_ranges) {
  EXPECT_EQ(parse_sizes("1000"), (std::vector<std::int64_t>{1000}));
  EXPECT_EQ(parse_sizes("2^3..2^5,7"), (std::vector<std::int64_t>{7, 8, 16, 32}));
  EXPECT_EQ(parse_sizes("2^4..2^8:4"), (std::vector<std::int64_t>{16, 64, 256}));
  EXPECT_EQ(parse_sizes("2^33"), (std::vector<std::int64_t>{std::int64_t{1} << 33}));
  for (const char* wrong : {"", "x", "2^", "3^4", "2^41", "0", "-5", "2^5..2^3", "8..64:1", "99999999999999999999"}) {
    EXPECT_THROW(parse_sizes(wrong), std::invalid_argument) << wrong;
  }
}

TEST(confidence, quantiles_are_those_of_the_tables) {
  const std::pair<int, double> table[] = {{1, 12.7062}, {2, 4.3027}, {3, 3.1824},  {4, 2.7764},
                                          {6, 2.4469},  {9, 2.2622}, {30, 2.0423}, {120, 1.9799}};
  for (const auto& [degrees, t] : table) EXPECT_NEAR(student_t95(degrees), t, 1e-4) << degrees;
}

// Logarithms -1, 0 and 1: mean 0, deviation 1, so the bounds are exp(-+ 4.3027 / sqrt(3)).
TEST(confidence, of_three_series_by_hand) {
  const interval found = geometric_mean({std::exp(-1.0), 1.0, std::exp(1.0)});
  EXPECT_NEAR(found.mean, 1, 1e-12);
  EXPECT_NEAR(std::log(found.high), 2.48414, 1e-4);
  EXPECT_NEAR(std::log(found.low), -2.48414, 1e-4);
  EXPECT_NEAR(found.half_width(), std::exp(2.48414) - 1, 1e-3);
}

// The machine slows down from series to series, both contenders alike: the pairs still say 2 exactly.
TEST(confidence, pairs_leave_out_what_both_have_in_common) {
  const interval exact = paired_ratio({2, 4, 8, 16}, {1, 2, 4, 8});
  EXPECT_NEAR(exact.mean, 2, 1e-12);
  EXPECT_NEAR(exact.low, 2, 1e-9);
  EXPECT_NEAR(exact.high, 2, 1e-9);
  // Pairs 1 and 4: the mean is 2, the logarithms deviate by log(4) / sqrt(2), so the bounds are 2 * 4^(-+ 12.7062 / 2).
  const interval of_two = paired_ratio({3, 20}, {3, 5});
  EXPECT_NEAR(of_two.mean, 2, 1e-12);
  EXPECT_NEAR(std::log(of_two.high / 2), std::log(4.0) / 2 * 12.7062, 1e-3);
  EXPECT_NEAR(std::log(2 / of_two.low), std::log(4.0) / 2 * 12.7062, 1e-3);
}

TEST(confidence, one_series_has_no_bounds) {
  const interval found = paired_ratio({3}, {2});
  EXPECT_DOUBLE_EQ(found.mean, 1.5);
  EXPECT_EQ(found.low, 0);
  EXPECT_TRUE(std::isinf(found.high));
}

TEST(text, brings_back_the_same_bits) {
  EXPECT_EQ(std::stod(to_text(answer::of(0.1))), 0.1);
  EXPECT_EQ(std::stof(to_text(answer::of(0.1F))), 0.1F);
  EXPECT_EQ(to_text(answer::of(std::int32_t{-3})), "-3");
  EXPECT_EQ(to_text(answer::of(std::numeric_limits<std::uint64_t>::max())), "18446744073709551615");
  EXPECT_EQ(to_text(answer::of(std::numeric_limits<double>::quiet_NaN())), "nan");
  EXPECT_EQ(to_text(answer::of(std::complex<float>(0.1F, -3))), "0.100000001 -3");
}

// A contender for i64 sums that leaves out `dropped` elements at the end.
struct sum_family {
  template <class T, operation Op>
  static constexpr bool offers() {
    return std::is_same_v<T, std::int64_t> && Op == operation::sum;
  }

  std::int64_t dropped = 0;
  bool throws = false;

  template <class T, operation Op>
  std::unique_ptr<call> make(const workload& work) const {
    if (throws) throw std::runtime_error("cannot be prepared");
    return make_blocking<T>(work, [left_out = dropped](const T* x, const T*, std::int64_t n) {
      T sum = 0;
      for (std::int64_t i = 0; i < n - left_out; ++i) sum = wrapping_sum(sum, x[i]);
      return sum;
    });
  }
};

options i64_sums(std::vector<std::int64_t> sizes) {
  options chosen;
  chosen.types = {element::i64};
  chosen.operations = {operation::sum};
  chosen.sizes = chosen.host_sizes = std::move(sizes);
  chosen.series = 3;
  chosen.quick = true;
  return chosen;
}

run_result run_with(const contender_list& contenders) { return run_all(i64_sums({1000, 4096}), contenders, nullptr); }

// A run of one case on an H200, as JSON: series of a contender, around `us` with `spread` in turn above and below.
struct made_row {
  const char* contender;
  double us;
  double spread = 0.002;
  const char* timing = "calls";
};

std::string made_run(const std::vector<made_row>& rows, const char* gpu = "NVIDIA H200", const char* cpu = "Xeon") {
  nlohmann::json all{{"schema", 1}, {"inputs", nlohmann::json::array()}, {"rows", nlohmann::json::array()}};
  all["meta"] = {{"program", "fanin-perf"}, {"commit", "0123456789abcdef"}, {"date", "2026-01-01T00:00:00Z"}};
  all["meta"]["gpu"] = {{"name", gpu}};
  all["meta"]["host"] = {{"cpu", cpu}};
  for (const made_row& made : rows) {
    nlohmann::json row{{"contender", made.contender},
                       {"label", made.contender},
                       {"backend", "cuda"},
                       {"strategy", ""},
                       {"form", ""},
                       {"place", "gpu"},
                       {"type", "f32"},
                       {"operation", "sum"},
                       {"n", 1048576},
                       {"input", nullptr},
                       {"ok", true}};
    row["timing"] = made.timing;
    row["destination"] = made.timing == std::string_view("blocking") ? "host" : "device";
    for (const double sign : {1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 0.0}) {
      row["series_us"].push_back(made.us * (1 + sign * made.spread));
    }
    all["rows"].push_back(row);
  }
  return all.dump();
}

comparison compare_runs(const std::string& before, const std::string& now) {
  return compare(as_stored_run(before), as_stored_run(now));
}

TEST(baseline, a_run_equals_itself) {
  const std::string run = made_run({{"fanin", 4}, {"cub", 8}, {"kokkos", 10}, {"fanin", 9, 0.002, "blocking"}});
  const comparison found = compare_runs(run, run);
  ASSERT_EQ(found.rows.size(), 4u);
  EXPECT_EQ(found.count(verdict::same), 4);
  EXPECT_EQ(found.rows[0].peer, "cub");
  EXPECT_EQ(found.rows[1].peer, "kokkos");
  EXPECT_EQ(found.rows[2].peer, "cub");
  EXPECT_EQ(found.rows[3].peer, "");
}

TEST(baseline, ten_percent_beside_peers_that_stayed_is_slower) {
  const std::string before = made_run({{"fanin", 4}, {"cub", 8}, {"fanin", 4, 0.002, "graph"}});
  const comparison found = compare_runs(before, made_run({{"fanin", 4.4}, {"cub", 8}, {"fanin", 4.4, 0.002, "graph"}}));
  ASSERT_EQ(found.rows.size(), 3u);
  EXPECT_EQ(found.rows[0].found, verdict::slower);
  EXPECT_NEAR(found.rows[0].now.mean / found.rows[0].before.mean, 1.1, 1e-9);
  EXPECT_NEAR(found.rows[0].ratio_before.mean, 2, 1e-9);
  EXPECT_NEAR(found.rows[0].ratio_now.mean, 2 / 1.1, 1e-9);
  EXPECT_EQ(found.rows[1].found, verdict::same);
  // No peer in either run: the time alone counts.
  EXPECT_EQ(found.rows[2].peer, "");
  EXPECT_EQ(found.rows[2].found, verdict::slower);
  const std::string text = found.text(as_stored_run(before), "h200.json");
  EXPECT_NE(text.find("3 rows, 2 slower, 0 slower with the machine, 0 faster"), std::string::npos) << text;
  EXPECT_NE(text.find("f32 sum of 1048576, fanin to device (calls)"), std::string::npos) << text;
  EXPECT_NE(text.find("SLOWER (cub over it: 1.82, was 2.00)"), std::string::npos) << text;
}

TEST(baseline, a_machine_that_became_slower_is_no_regression) {
  const std::string before = made_run({{"fanin", 4}, {"kokkos", 8}});
  const comparison found = compare_runs(before, made_run({{"fanin", 4.4}, {"kokkos", 8.8}}));
  EXPECT_EQ(found.count(verdict::drifted), 2);
  const std::string text = found.text(as_stored_run(before), "h200.json");
  EXPECT_NE(text.find("slower, within the noise beside kokkos"), std::string::npos) << text;
  EXPECT_NE(text.find("slower, itself a peer"), std::string::npos) << text;
  EXPECT_EQ(compare_runs(before, made_run({{"fanin", 3.6}, {"kokkos", 8}})).rows[0].found, verdict::faster);
}

TEST(baseline, what_noise_explains_is_no_regression) {
  const auto verdict_of = [](double now, double spread) {
    return compare_runs(made_run({{"fanin", 4}, {"cub", 8}}), made_run({{"fanin", now, spread}, {"cub", 8}}))
        .rows[0]
        .found;
  };
  // The interval of a spread s is s * 2.447 / sqrt(7) = 0.92 s on either side, so that of 10 % would need 30 % at
  // least.
  EXPECT_EQ(verdict_of(4.4, 0.1), verdict::same);
  EXPECT_EQ(verdict_of(4.4, 0.01), verdict::slower);
  EXPECT_EQ(verdict_of(5.6, 0.1), verdict::slower);
  EXPECT_EQ(verdict_of(4.1, 0.002), verdict::same);
}

TEST(baseline, rows_that_one_run_has_not_are_left_out) {
  const comparison found = compare_runs(made_run({{"fanin", 4}, {"cub", 8}}),
                                        made_run({{"fanin", 8}, {"thrust", 20}, {"fanin", 8, 0.002, "blocking"}}));
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.only_now, 2);
  EXPECT_EQ(found.rows[0].peer, "");
  EXPECT_EQ(found.rows[0].found, verdict::slower);
}

TEST(baseline, other_machines_are_named) {
  const stored_run stored = as_stored_run(made_run({{"fanin", 4}}, "NVIDIA H200", "Xeon"));
  EXPECT_EQ(machine_difference(stored, "NVIDIA H200", "Xeon"), "");
  EXPECT_EQ(machine_difference(stored, "", "Xeon"), "its GPU is \"NVIDIA H200\", the one here is none");
  EXPECT_EQ(machine_difference(stored, "NVIDIA H200", "EPYC"), "its host is \"Xeon\", the one here is \"EPYC\"");
  EXPECT_THROW(read_stored_run("/nonesuch/run.json"), std::runtime_error);
  for (const char* wrong : {"", "{}", R"({"schema": 2, "meta": {"program": "fanin-perf"}})"}) {
    EXPECT_ANY_THROW(as_stored_run(wrong)) << wrong;
  }
}

TEST(baseline, what_the_program_writes_is_read_back) {
  contender who;
  who.name = "plain";
  const options chosen = i64_sums({1000, 4096});
  const contender_list contenders{of_family(who, sum_family{})};
  const run_result result = run_all(chosen, contenders, nullptr);
  const stored_run stored = as_stored_run(to_json(result, chosen, {}, nullptr));
  EXPECT_EQ(stored.machine_gpu, "");
  EXPECT_EQ(stored.machine_cpu, look_at_host().cpu);
  ASSERT_EQ(stored.rows.size(), 2u);
  EXPECT_EQ(stored.rows[0].series_us, result.rows[0].series_us);
  EXPECT_EQ(compare(stored, stored).count(verdict::same), 2);
}

TEST(run, right_contenders_are_timed_in_every_series) {
  contender who;
  who.name = "plain";
  who.is_baseline = true;
  const contender_list contenders{of_family(who, sum_family{}), of_family(who, sum_family{})};
  const run_result result = run_with(contenders);
  EXPECT_TRUE(result.all_right);
  ASSERT_EQ(result.rows.size(), 4u);
  for (const row& r : result.rows) {
    EXPECT_EQ(r.fault, "");
    EXPECT_EQ(r.series_us.size(), 3u);
    EXPECT_GT(r.time_us, 0);
    EXPECT_EQ(r.bytes, r.n * 8);
    ASSERT_TRUE(r.ratio_to_kokkos.has_value());
    EXPECT_LE(*r.ratio_to_kokkos, 1.0);
  }
  EXPECT_GT(result.bandwidth.host_gbs, 0);
}

// A device in host memory, of 32 MiB for data and 100 GB/s, whose graphs are loops.
class host_as_device final : public device {
 public:
  host_as_device() : bytes_(std::size_t{32} << 20) {
    facts_.memory = std::int64_t{64} << 20;
    facts_.gpu = "host";
  }

  const device_facts& facts() const override { return facts_; }
  void* stream() override { return nullptr; }
  std::byte* pool(std::int64_t bytes) override {
    if (bytes > static_cast<std::int64_t>(bytes_.size())) throw std::runtime_error("more than there is");
    return bytes_.data();
  }
  void fill(element type, std::uint64_t seed) override {
    with_type(type, [&](auto t) {
      using value = typename decltype(t)::type;
      for (std::size_t i = 0; i < bytes_.size() / sizeof(value); ++i) {
        const auto made = value_at<value>(seed, i);
        std::memcpy(bytes_.data() + i * sizeof(value), &made, sizeof(value));
      }
    });
  }
  void fill_copies(const std::byte*, std::int64_t, std::int64_t) override {}
  double time(const std::function<void()>& enqueue) override {
    const double begin = host_seconds();
    enqueue();
    return host_seconds() - begin;
  }
  double time_cold(const std::function<void()>& enqueue) override {
    ++cold_times;
    return time(enqueue);
  }
  std::unique_ptr<call> capture(std::unique_ptr<call> prepared, std::int64_t first, std::int64_t count) override {
    if (refuses) throw std::runtime_error("cannot be captured");
    return std::make_unique<loop>(std::move(prepared), first, count - dropped);
  }
  double measure_read() override { return 100; }
  double measure_blocking_floor() override { return 1e-6; }

  bool refuses = false;
  std::int64_t dropped = 0;  // of the calls of a graph
  std::int64_t cold_times = 0;

 private:
  struct loop final : call {
    loop(std::unique_ptr<call> what, std::int64_t from, std::int64_t times)
        : prepared(std::move(what)), first(from), count(times) {}
    void run(std::int64_t, std::int64_t launches) override {
      for (std::int64_t i = 0; i < launches; ++i) prepared->run(first, count);
    }
    answer last() override { return prepared->last(); }

    std::unique_ptr<call> prepared;
    std::int64_t first;
    std::int64_t count;
  };

  device_facts facts_;
  std::vector<std::byte> bytes_;
};

contender on_device(const char* name, destination to, bool capturable) {
  contender who;
  who.name = name;
  who.where = place::gpu;
  who.to = to;
  who.capturable = capturable;
  return of_family(who, sum_family{});
}

TEST(graphs, calls_that_can_be_captured_have_a_row_of_their_own) {
  host_as_device gpu;
  const contender_list contenders{on_device("both", destination::device, true),
                                  on_device("calls", destination::device, false),
                                  on_device("waits", destination::host, false)};
  const run_result result = run_all(i64_sums({1000, 1 << 20, 1 << 21}), contenders, &gpu);
  EXPECT_TRUE(result.all_right);
  ASSERT_EQ(result.rows.size(), 12u);
  // 100 calls, or as many as read for 4 ms at 100 GB/s.
  const std::int64_t nodes[] = {100, 47, 23};
  for (std::size_t k = 0; k < 3; ++k) {
    const row* rows = &result.rows[4 * k];
    EXPECT_EQ(rows[0].how, timing::calls);
    EXPECT_EQ(rows[1].how, timing::graph);
    EXPECT_EQ(rows[1].who, rows[0].who);
    EXPECT_EQ(rows[2].how, timing::calls);
    EXPECT_EQ(rows[3].how, timing::blocking);
    EXPECT_EQ(rows[0].graph_nodes, 0);
    EXPECT_EQ(rows[1].graph_nodes, nodes[k]);
    EXPECT_EQ(rows[1].calls % nodes[k], 0);
    EXPECT_EQ(rows[1].series_us.size(), 3u);
    // The time is of one call, not of the graph.
    EXPECT_LT(rows[1].time_us, 10 * rows[0].time_us);
    EXPECT_GT(rows[1].time_us, rows[0].time_us / 10);
  }
  EXPECT_GE(gpu.cold_times, 3 * 4);
}

TEST(graphs, a_capture_that_fails_is_a_fault_of_its_row_alone) {
  host_as_device gpu;
  gpu.refuses = true;
  const run_result result = run_all(i64_sums({1000}), {on_device("both", destination::device, true)}, &gpu);
  EXPECT_FALSE(result.all_right);
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_EQ(result.rows[0].fault, "");
  EXPECT_EQ(result.rows[0].series_us.size(), 3u);
  EXPECT_EQ(result.rows[1].fault, "cannot be captured");
  EXPECT_TRUE(result.rows[1].series_us.empty());
}

TEST(graphs, the_last_answer_of_a_graph_is_checked) {
  host_as_device gpu;
  gpu.dropped = 1;
  for (const std::int64_t n : {std::int64_t{1000}, std::int64_t{1} << 21}) {
    const run_result result = run_all(i64_sums({n}), {on_device("both", destination::device, true)}, &gpu);
    ASSERT_EQ(result.rows.size(), 2u);
    EXPECT_EQ(result.rows[0].fault, "");
    EXPECT_NE(result.rows[1].fault, "");
  }
}

TEST(graphs, timings_are_chosen) {
  host_as_device gpu;
  contender on_host;
  on_host.name = "host";
  const contender_list contenders{of_family(on_host, sum_family{}), on_device("both", destination::device, true),
                                  on_device("waits", destination::host, false)};
  options chosen = i64_sums({1000});
  for (const timing how : {timing::host, timing::calls, timing::graph, timing::blocking}) {
    chosen.timings = {how};
    const run_result result = run_all(chosen, contenders, &gpu);
    ASSERT_EQ(result.rows.size(), 1u) << name(how);
    EXPECT_EQ(result.rows[0].how, how);
  }
}

// Sums of every type, of the elements that a buffer holds.
struct sums_of_all_types {
  static constexpr bool takes_all_types = true;

  template <class T, operation Op>
  static constexpr bool offers() {
    return Op == operation::sum;
  }

  template <class T, operation Op>
  std::unique_ptr<call> make(const workload& work) const {
    return make_blocking<T>(work, [](const T* x, const T*, std::int64_t n) {
      auto sum = static_cast<sum_type<T>>(x[0]);
      for (std::int64_t i = 1; i < n; ++i) sum = wrapping_sum(sum, static_cast<sum_type<T>>(x[i]));
      return sum;
    });
  }
};

// Buffers of 1, 2, 8, 16 and 64 bytes an element, in a pool that has room for some and, of the largest, for one.
TEST(types, are_filled_found_and_counted_on_the_device) {
  host_as_device gpu;
  contender who = on_device("all", destination::device, true);
  who = of_family(who, sums_of_all_types{});
  options chosen = i64_sums({1, 1000, 500000});
  chosen.operations = {operation::sum, operation::min};
  chosen.types.clear();
  for (std::size_t k = 0; k < element_names.size(); ++k) chosen.types.push_back(static_cast<element>(k));
  const run_result result = run_all(chosen, {who}, &gpu);
  EXPECT_TRUE(result.all_right);
  ASSERT_EQ(result.rows.size(), 2 * 3 * element_names.size());
  for (const row& r : result.rows) {
    EXPECT_EQ(r.fault, "") << name(r.type) << " of " << r.n;
    EXPECT_EQ(r.bytes, r.n * size_of(r.type));
    EXPECT_EQ(r.op, operation::sum);
  }
}

TEST(types, a_family_is_asked_about_those_that_it_takes) {
  contender plain;
  const contender all = of_family(plain, sums_of_all_types{});
  EXPECT_TRUE(all.offers(element::i64, operation::sum));
  EXPECT_TRUE(all.offers(element::s64, operation::sum));
  EXPECT_FALSE(all.offers(element::s64, operation::min));
  plain = of_family(plain, sum_family{});
  EXPECT_TRUE(plain.offers(element::i64, operation::sum));
  EXPECT_FALSE(plain.offers(element::i8, operation::sum));
}

TEST(types, joined_contenders_offer_what_either_does) {
  const contender one = of_family(contender{}, sum_family{.throws = true});
  const contender both = joined(one, of_family(contender{}, sums_of_all_types{}));
  EXPECT_TRUE(both.offers(element::i64, operation::sum));
  EXPECT_TRUE(both.offers(element::c64, operation::sum));
  EXPECT_FALSE(both.offers(element::i64, operation::max));
  const std::vector<std::complex<double>> values{{1, 2}, {3, -5}};
  workload work;
  work.type = element::c64;
  work.n = 2;
  work.pool = reinterpret_cast<const std::byte*>(values.data());
  work.buffers = 1;
  const auto prepared = both.prepare(work);
  prepared->run(0, 1);
  EXPECT_EQ(to_text(prepared->last()), "4 -3");
  work.type = element::i64;
  EXPECT_THROW(both.prepare(work), std::runtime_error);  // the first one's
}

TEST(ratios, every_row_has_one_to_each_peer_of_its_place_and_timing) {
  host_as_device gpu;
  contender_list contenders;
  for (const char* who : {"mine", "cub", "kokkos"}) {
    // Plain Kokkos's calls are not captured.
    contenders.push_back(on_device(who, destination::device, std::string_view(who) != "kokkos"));
    contenders.back().is_peer = std::string_view(who) != "mine";
  }
  contender on_host;
  on_host.name = "mine";
  contenders.push_back(of_family(on_host, sum_family{}));
  const run_result result = run_all(i64_sums({1000}), contenders, &gpu);
  ASSERT_EQ(result.rows.size(), 6u);
  const auto peers = [&](std::string_view who, timing how) {
    std::vector<std::string> found;
    for (const row& r : result.rows) {
      if (r.who->name != who || r.how != how) continue;
      for (const peer_ratio& ratio : r.ratios) found.push_back(ratio.peer);
    }
    return found;
  };
  using names = std::vector<std::string>;
  EXPECT_EQ(peers("mine", timing::calls), (names{"cub", "kokkos"}));
  EXPECT_EQ(peers("mine", timing::graph), names{"cub"});
  EXPECT_EQ(peers("mine", timing::host), names{});
  EXPECT_EQ(peers("cub", timing::calls), names{"kokkos"});
  EXPECT_EQ(peers("kokkos", timing::calls), names{"cub"});
  // The ratio is peer over own: those of a pair are each other's inverse.
  const auto of = [&](std::string_view who) {
    for (const row& r : result.rows) {
      if (r.who->name == who && r.how == timing::calls) return r.ratios.back().times.mean;
    }
    return 0.0;
  };
  EXPECT_NEAR(of("cub") * of("kokkos"), 1, 1e-9);
}

// Series with ratios of 2 exactly, and one series alone.
TEST(ratios, stand_in_the_json_with_their_bounds) {
  contender who;
  who.name = "mine";
  run_result result;
  row made;
  made.who = &who;
  made.series_us = {1, 2, 3};
  made.ratios.push_back({"cub", paired_ratio({2, 4, 6}, made.series_us)});
  made.ratios.push_back({"kokkos", paired_ratio({3}, made.series_us)});
  result.rows.push_back(made);
  const std::string file = (std::filesystem::path(testing::TempDir()) / "fanin_perf_ratios.json").string();
  write_json(file, result, {}, {}, nullptr);
  const auto json = nlohmann::json::parse(std::ifstream(file));
  std::filesystem::remove(file);
  const auto& ratios = json["rows"][0]["ratios"];
  ASSERT_EQ(ratios.size(), 2u);
  EXPECT_EQ(ratios[0]["peer"], "cub");
  EXPECT_NEAR(ratios[0]["ratio"].get<double>(), 2, 1e-12);
  EXPECT_NEAR(ratios[0]["low"].get<double>(), 2, 1e-9);
  EXPECT_NEAR(ratios[0]["high"].get<double>(), 2, 1e-9);
  EXPECT_NEAR(ratios[1]["ratio"].get<double>(), 3, 1e-12);
  EXPECT_TRUE(ratios[1]["low"].is_null());
  EXPECT_TRUE(ratios[1]["high"].is_null());
}

TEST(run, wrong_contenders_are_reported_and_not_timed) {
  contender who;
  who.name = "wrong";
  const contender_list contenders{of_family(who, sum_family{}), of_family(who, sum_family{.dropped = 1}),
                                  of_family(who, sum_family{.throws = true})};
  const run_result result = run_with(contenders);
  EXPECT_FALSE(result.all_right);
  ASSERT_EQ(result.rows.size(), 6u);
  for (std::size_t k = 0; k < result.rows.size(); k += 3) {
    EXPECT_EQ(result.rows[k].fault, "");
    EXPECT_NE(result.rows[k + 1].fault, "");
    EXPECT_TRUE(result.rows[k + 1].series_us.empty());
    EXPECT_EQ(result.rows[k + 2].fault, "cannot be prepared");
  }
}

TEST(tuning, the_fastest_is_named_where_it_is_certainly_faster) {
  contender own;
  own.name = "fanin";
  own.strategy = "one_pass";
  contender other = own;
  other.tuning = "{.block_size = 256, .blocks_per_sm = 2}";
  run_result found;
  const auto add = [&](const contender& who, std::int64_t n, std::vector<double> series) {
    row r;
    r.who = &who;
    r.n = n;
    r.how = timing::calls;
    r.time_us = series[1];
    r.series_us = std::move(series);
    found.rows.push_back(r);
  };
  add(own, 1000, {4, 4, 4.1});
  add(other, 1000, {2, 2, 2.05});
  add(own, 2000, {4, 4, 4});
  add(other, 2000, {5, 3.9, 2});
  const std::string text = tuning_table(found);
  EXPECT_NE(text.find("2.000 (2.000 to 2.000) gpu.with<fanin::cuda_strategy::one_pass>({.block_size = 256, "
                      ".blocks_per_sm = 2})"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2000 calls        4.00       3.90                       the default is as fast as any"),
            std::string::npos)
      << text;
}

}  // namespace
