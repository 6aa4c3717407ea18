// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include <fanin/exact_sum.hpp>
#include <fanin/merge.hpp>
#include <fanin/ordering.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducer.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>

#include "support/same.hpp"
#include "support/user_reducers.hpp"

namespace fanin_test {

/// A type of the application's, without std::numeric_limits.
struct date {
  int day;
  friend bool operator<(date a, date b) { return a.day < b.day; }
};

/// A floating-point number of the application's, which has no operator.
struct plain_bits {
  std::uint32_t bits;
};

}  // namespace fanin_test

template <>
struct fanin::ordering<fanin_test::plain_bits>
    : fanin::ieee_ordering<fanin_test::plain_bits, std::uint32_t{0x7f800000}> {};

template <>
struct fanin::ordering<fanin_test::date> {
  static constexpr fanin_test::date lowest() { return {INT32_MIN}; }
  static constexpr fanin_test::date highest() { return {INT32_MAX}; }
};

namespace fanin_test {
namespace {

template <class Reducer>
auto joined(const Reducer& r, fanin::reducer_accumulator_t<Reducer> a, const fanin::reducer_accumulator_t<Reducer>& b) {
  r.join(a, b);
  return a;
}

// The protocol's defaults.
static_assert(std::is_same_v<fanin::reducer_accumulator_t<sum_of_doubles>, double>);
static_assert(std::is_same_v<fanin::reducer_result_t<sum_of_doubles>, double>);
static_assert(std::is_same_v<fanin::reducer_state_t<sum_of_doubles>, double>);
static_assert(std::is_same_v<fanin::reducer_accumulator_t<mean_above>, mean_above::totals>);
static_assert(std::is_same_v<fanin::reducer_result_t<mean_above>, mean_above::means>);
static_assert(std::is_same_v<fanin::reducer_state_t<mean_above>, mean_above::totals>);
static_assert(std::is_same_v<fanin::reducer_state_t<histogram>, histogram::cache>);
static_assert(fanin::reducer<sum_of_doubles> && fanin::reducer<histogram> && !fanin::reducer<int>);

template <class T>
class arithmetic : public ::testing::Test {};
using arithmetic_types = ::testing::Types<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(arithmetic, arithmetic_types);

/// The identity is neutral on either side, for ordinary values and for the extreme ones.
template <class Reducer, class T>
void expect_neutral() {
  const Reducer r;
  using limits = std::numeric_limits<T>;
  for (const T value : {T{0}, T{1}, T{17}, limits::max(), limits::lowest(), limits::infinity()}) {
    auto one = r.identity();
    fanin::detail::fold_value(r, one, value, 5);
    EXPECT_TRUE(is_same(joined(r, r.identity(), one), one));
    EXPECT_TRUE(is_same(joined(r, one, r.identity()), one));
  }
  EXPECT_TRUE(is_same(joined(r, r.identity(), r.identity()), r.identity()));
}

TYPED_TEST(arithmetic, identities_are_neutral) {
  expect_neutral<fanin::sum<TypeParam>, TypeParam>();
  expect_neutral<fanin::prod<TypeParam>, TypeParam>();
  expect_neutral<fanin::min<TypeParam>, TypeParam>();
  expect_neutral<fanin::max<TypeParam>, TypeParam>();
  expect_neutral<fanin::min_loc<TypeParam>, TypeParam>();
  expect_neutral<fanin::max_loc<TypeParam>, TypeParam>();
  expect_neutral<fanin::min_max<TypeParam>, TypeParam>();
  expect_neutral<fanin::min_max_loc<TypeParam>, TypeParam>();
  expect_neutral<fanin::land<TypeParam>, TypeParam>();
  expect_neutral<fanin::lor<TypeParam>, TypeParam>();
  if constexpr (std::integral<TypeParam>) {
    expect_neutral<fanin::band<TypeParam>, TypeParam>();
    expect_neutral<fanin::bor<TypeParam>, TypeParam>();
  }
}

TYPED_TEST(arithmetic, identities_are_the_contracts) {
  using limits = std::numeric_limits<TypeParam>;
  EXPECT_TRUE(is_same(fanin::sum<TypeParam>{}.identity(), TypeParam{0}));
  EXPECT_EQ(fanin::prod<TypeParam>{}.identity(), TypeParam{1});
  if constexpr (limits::has_infinity) {
    EXPECT_EQ(fanin::min<TypeParam>{}.identity(), limits::infinity());
    EXPECT_EQ(fanin::max<TypeParam>{}.identity(), -limits::infinity());
  } else {
    EXPECT_EQ(fanin::min<TypeParam>{}.identity(), limits::max());
    EXPECT_EQ(fanin::max<TypeParam>{}.identity(), limits::lowest());
  }
}

TYPED_TEST(arithmetic, everything_is_trivially_copyable) {
  static_assert(std::is_trivially_copyable_v<fanin::value_index<TypeParam>>);
  static_assert(std::is_trivially_copyable_v<fanin::min_max_value<TypeParam>>);
  static_assert(std::is_trivially_copyable_v<fanin::min_max_index<TypeParam>>);
  static_assert(std::is_trivially_copyable_v<fanin::sum<TypeParam>> && std::is_empty_v<fanin::sum<TypeParam>>);
}

/// Joins give the same whichever side an element is on: two by two over the values that compare oddly.
TEST(reducers, joins_commute) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const double values[] = {nan, -nan, infinity, -infinity, 0.0, -0.0, 1.0, -1.0, 5e-324};
  for (const double x : values) {
    for (const double y : values) {
      EXPECT_TRUE(is_same(joined(fanin::min<double>{}, x, y), joined(fanin::min<double>{}, y, x)));
      EXPECT_TRUE(is_same(joined(fanin::max<double>{}, x, y), joined(fanin::max<double>{}, y, x)));
      const fanin::value_index<double> a{x, 3};
      const fanin::value_index<double> b{y, 8};
      EXPECT_TRUE(is_same(joined(fanin::min_loc<double>{}, a, b), joined(fanin::min_loc<double>{}, b, a)));
      EXPECT_TRUE(is_same(joined(fanin::max_loc<double>{}, a, b), joined(fanin::max_loc<double>{}, b, a)));
    }
  }
}

/// The extremes of {3, 2, 5, 2} and of nothing.
template <class T, class Value>
void expect_extremes(const Value& value) {
  const std::vector<T> x{T{3}, T{2}, T{5}, T{2}};
  const fanin::serial exec;
  const auto both = fanin::reduce(exec, x, fanin::min_max_loc<T>{});
  EXPECT_EQ(value(both.min), 2);
  EXPECT_EQ(value(both.max), 5);
  EXPECT_EQ(both.min_index, 1);
  EXPECT_EQ(both.max_index, 2);
  EXPECT_EQ(value(fanin::reduce(exec, x, fanin::min<T>{})), 2);
  EXPECT_EQ(value(fanin::reduce(exec, x, fanin::max<T>{})), 5);
  const auto nothing = fanin::reduce(exec, std::span<const T>{}, fanin::max_loc<T>{});
  EXPECT_EQ(value(nothing.value), value(fanin::ordering<T>::lowest()));
  EXPECT_EQ(nothing.index, -1);
}

TEST(reducers, extremes_of_types_without_numeric_limits) {
  expect_extremes<date>([](date x) { return x.day; });
#if defined(__FLT16_MANT_DIG__)
  expect_extremes<_Float16>([](_Float16 x) { return static_cast<float>(x); });
  EXPECT_EQ(static_cast<float>(fanin::min<_Float16>{}.identity()), std::numeric_limits<float>::infinity());
#endif
}

TEST(reducers, extremes_of_bits_without_operators) {
  const std::vector<plain_bits> x{{0x3f800000u}, {0}, {0x80000000u}, {0x80000001u}};  // 1, 0, -0, the least below
  EXPECT_EQ(fanin::reduce(fanin::serial{}, x, fanin::min<plain_bits>{}).bits, 0x80000001u);
  EXPECT_EQ(fanin::reduce(fanin::serial{}, x, fanin::max_loc<plain_bits>{}).index, 0);
}

/// Larger than the blocks in which hosts hand values from reducer to reducer.
TEST(reducers, values_of_many_bytes) {
  struct large {
    double number;
    unsigned char rest[20000];
  };
  struct sum_of_numbers {
    using value_type = large;
    using accumulator_type = double;
    double identity() const { return 0; }
    void join(double& into, const double& from) const { into += from; }
    void fold(double& into, const large& value, std::int64_t) const { into += value.number; }
  };
  std::vector<large> x(3);
  for (std::size_t i = 0; i < x.size(); ++i) x[i].number = static_cast<double>(i + 1);
  EXPECT_EQ(fanin::get<1>(fanin::reduce(fanin::serial{}, x, sum_of_numbers{}, sum_of_numbers{})), 6);
  EXPECT_EQ(fanin::parallel_reduce(
                fanin::range(fanin::serial{}, 3), [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; },
                sum_of_numbers{}),
            6);
}

/// The sign of 80 bits stands elsewhere than that of 64.
TEST(reducers, extremes_of_long_double) {
  using T = long double;
  expect_extremes<T>([](T x) { return x; });
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const std::vector<T>& x : {std::vector<T>{0.0L, -0.0L}, std::vector<T>{-0.0L, 0.0L}}) {
    const auto both = fanin::reduce(fanin::serial{}, x, fanin::min_max_loc<T>{});
    EXPECT_TRUE(std::signbit(both.min) && std::signbit(x[static_cast<std::size_t>(both.min_index)]));
    EXPECT_FALSE(std::signbit(both.max) || std::signbit(x[static_cast<std::size_t>(both.max_index)]));
  }
  const auto first = fanin::reduce(fanin::serial{}, std::vector<T>{1, nan, -1, nan}, fanin::min_loc<T>{});
  EXPECT_TRUE(std::isnan(first.value));
  EXPECT_EQ(first.index, 1);
}

/// An empty part never wins, not even against the identity's own value; -1 is an index where the value says so.
TEST(reducers, results_of_empty_parts_lose) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  using place = fanin::value_index<double>;
  const fanin::min_loc<double> least;
  const auto merged = [&](place a, const place& b) {
    fanin::merge(a, b, least);
    return a;
  };
  const place none{infinity, -1};
  for (const place x : {place{infinity, 7}, {1, 3}, {1, -1}, {-1, -4}, {nan, -1}, {nan, 0}, none}) {
    EXPECT_TRUE(is_same(merged(none, x), x));
    EXPECT_TRUE(is_same(merged(x, none), x));
  }
  EXPECT_TRUE(is_same(merged({1, -1}, {1, -2}), place{1, -2}));
  EXPECT_TRUE(is_same(merged({1, 4}, {1, -1}), place{1, -1}));

  fanin::min_max_index<int> both{INT32_MAX, INT32_MIN, -1, -1};
  fanin::merge(both, {INT32_MAX, INT32_MAX, 5, 5}, fanin::min_max_loc<int>{});
  EXPECT_TRUE(is_same(both, {INT32_MAX, INT32_MAX, 5, 5}));
  // The other way round: the maximum is as low as that of no element.
  both = {INT32_MAX, INT32_MIN, -1, -1};
  fanin::merge(both, {INT32_MIN, INT32_MIN, 5, 5}, fanin::min_max_loc<int>{});
  EXPECT_TRUE(is_same(both, {INT32_MIN, INT32_MIN, 5, 5}));
}

/// An exact sum's, as long as it is not rounded.
TEST(reducers, exact_results_merge_themselves) {
  const fanin::exact_sum<double, fanin::exact_accumulator> exact;
  const std::vector<double> x{1e100, 1.0};
  auto sum = fanin::reduce(fanin::serial{}, x, exact);
  fanin::merge(sum, fanin::reduce(fanin::serial{}, std::vector<double>{-1e100}, exact), exact);
  EXPECT_EQ(sum.value(), 1.0);
}

TEST(reducers, a_zero_of_either_sign_is_false) {
  for (const double zero : {0.0, -0.0}) {
    EXPECT_EQ(joined(fanin::lor<double>{}, 0.0, zero), 0.0);
    EXPECT_EQ(joined(fanin::land<double>{}, 1.0, zero), 0.0);
  }
  EXPECT_EQ(joined(fanin::lor<double>{}, 0.0, -std::numeric_limits<double>::denorm_min()), 1.0);
}

TEST(reducers, integers_wrap_without_undefined_behaviour) {
  EXPECT_EQ(joined(fanin::sum<std::int32_t>{}, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(joined(fanin::sum<std::int64_t>{}, INT64_MIN, -1), INT64_MAX);
  EXPECT_EQ(joined(fanin::prod<std::int32_t>{}, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(joined(fanin::prod<std::int64_t>{}, INT64_MAX, INT64_MAX), 1);
  // Small types would be promoted to int and overflow there.
  EXPECT_EQ(joined(fanin::prod<std::uint16_t>{}, std::uint16_t{65535}, std::uint16_t{65535}), 1);
  EXPECT_EQ(joined(fanin::sum<std::int8_t>{}, std::int8_t{127}, std::int8_t{1}), -128);
}

TEST(reducers, are_usable_in_constant_expressions) {
  constexpr auto total = [] {
    const fanin::sum<int> r;
    int acc = r.identity();
    for (int i = 1; i <= 4; ++i) r.join(acc, i);
    return acc;
  }();
  static_assert(total == 10);
  static_assert(fanin::min_loc<double>{}.result(fanin::min_loc<double>{}.identity()).index == -1);
}

TEST(reducers, atomic_fetch_add_wraps_on_the_host) {
  std::int64_t wide = INT64_MAX;
  fanin::atomic_fetch_add(wide, std::int64_t{1});
  EXPECT_EQ(wide, INT64_MIN);
  std::uint32_t narrow = 7;
  fanin::atomic_fetch_add(narrow, std::uint32_t{5});
  EXPECT_EQ(narrow, 12U);
}

}  // namespace
}  // namespace fanin_test
