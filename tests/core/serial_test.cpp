// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <fanin/parallel_reduce.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>

#include "support/functors.hpp"
#include "support/same.hpp"

/// The oracle itself, by cases that can be checked by hand.
namespace fanin_test {
namespace {

/// Not inlined: of an array whose few elements it sees, GCC 12 warns of accesses that no run makes.
template <class T, class Reducer>
[[gnu::noinline]] auto reduced(const fanin::serial& exec, const std::vector<T>& x, const Reducer& reducer) {
  return fanin::reduce(exec, x, reducer);
}

const fanin::serial left_to_right;
const fanin::serial halving(fanin::serial_order::recursive_halving);

TEST(serial, sums_and_products) {
  for (const auto& exec : {left_to_right, halving}) {
    EXPECT_EQ(reduced(exec, std::vector<int>{}, fanin::sum<int>{}), 0);
    EXPECT_EQ(reduced(exec, std::vector<int>{7}, fanin::sum<int>{}), 7);
    EXPECT_EQ(reduced(exec, std::vector<int>{1, 2, 4, 8, 16}, fanin::sum<int>{}), 31);
    EXPECT_EQ(reduced(exec, std::vector<int>{2, 3, -5}, fanin::prod<int>{}), -30);
    EXPECT_EQ(reduced(exec, std::vector<double>{0.5, 0.25, -1.0}, fanin::sum<double>{}), -0.25);
    EXPECT_EQ(reduced(exec, std::vector<double>{0.5, 4.0, -3.0}, fanin::prod<double>{}), -6.0);
    EXPECT_EQ(reduced(exec, std::vector<std::uint32_t>{0xffffffffU, 2}, fanin::sum<std::uint32_t>{}), 1U);
  }
}

TEST(serial, extremes_and_their_places) {
  const std::vector<int> x{3, -1, 4, -1, 5, 9, 2, 9};
  for (const auto& exec : {left_to_right, halving}) {
    EXPECT_EQ(reduced(exec, x, fanin::min<int>{}), -1);
    EXPECT_EQ(reduced(exec, x, fanin::max<int>{}), 9);
    EXPECT_EQ(reduced(exec, x, fanin::min_loc<int>{}), (fanin::value_index<int>{-1, 1}));
    EXPECT_EQ(reduced(exec, x, fanin::max_loc<int>{}), (fanin::value_index<int>{9, 5}));
    EXPECT_EQ(reduced(exec, x, fanin::min_max<int>{}), (fanin::min_max_value<int>{-1, 9}));
    EXPECT_EQ(reduced(exec, x, fanin::min_max_loc<int>{}), (fanin::min_max_index<int>{-1, 9, 1, 5}));
  }
}

TEST(serial, logic_and_bits) {
  for (const auto& exec : {left_to_right, halving}) {
    EXPECT_EQ(reduced(exec, std::vector<int>{1, 2, 3}, fanin::land<int>{}), 1);
    EXPECT_EQ(reduced(exec, std::vector<int>{1, 0, 3}, fanin::land<int>{}), 0);
    EXPECT_EQ(reduced(exec, std::vector<int>{0, 0, 0}, fanin::lor<int>{}), 0);
    EXPECT_EQ(reduced(exec, std::vector<int>{0, -4, 0}, fanin::lor<int>{}), 1);
    EXPECT_EQ(reduced(exec, std::vector<double>{2.5}, fanin::land<double>{}), 1.0);
    EXPECT_EQ(reduced(exec, std::vector<unsigned>{0b1110, 0b0111, 0b1111}, fanin::band<unsigned>{}), 0b0110U);
    EXPECT_EQ(reduced(exec, std::vector<unsigned>{0b1000, 0b0010}, fanin::bor<unsigned>{}), 0b1010U);
    const bool all = fanin::parallel_reduce(fanin::range(exec, 5), [](std::int64_t i) { return i < 5; }, fanin::land{});
    EXPECT_TRUE(all);
  }
}

TEST(serial, minimum_and_maximum_of_ieee_754_2019) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& exec : {left_to_right, halving}) {
    const auto least = [&](const std::vector<double>& x) { return reduced(exec, x, fanin::min_loc<double>{}); };
    const auto most = [&](const std::vector<double>& x) { return reduced(exec, x, fanin::max_loc<double>{}); };
    EXPECT_TRUE(is_same(least({1, nan, -infinity, nan}), {nan, 1}));
    EXPECT_TRUE(is_same(most({1, 5, infinity, nan}), {nan, 3}));
    EXPECT_TRUE(is_same(least({0.0, -0.0, 0.0, -0.0}), {-0.0, 1}));
    EXPECT_TRUE(is_same(most({-0.0, 0.0, -0.0, 0.0}), {0.0, 1}));
    EXPECT_TRUE(is_same(least({infinity, infinity}), {infinity, 0}));
    EXPECT_TRUE(is_same(most({-infinity, -infinity}), {-infinity, 0}));
    EXPECT_TRUE(is_same(reduced(exec, std::vector<double>{-0.0}, fanin::sum<double>{}), 0.0));
  }
}

/// Writes down how it was called: the order is what is tested, which no commutative operation can show.
struct write_down {
  struct text {
    int length;
    char at[64];
  };
  using value_type = char;
  using accumulator_type = text;
  static text of(const std::string& s) {
    text t{static_cast<int>(s.size()), {}};
    s.copy(t.at, s.size());
    return t;
  }
  static std::string string_of(const text& t) { return {t.at, static_cast<std::size_t>(t.length)}; }
  text identity() const { return of(""); }
  void fold(text& acc, char value, std::int64_t) const {
    std::string all = string_of(acc);
    all.push_back(value);
    acc = of(all);
  }
  void join(text& into, const text& from) const {
    std::string all(1, '(');
    all.append(string_of(into)).append(1, '+').append(string_of(from)).append(1, ')');
    into = of(all);
  }
};

TEST(serial, the_order_is_the_stated_one) {
  const auto order = [](const fanin::serial& exec, int n) {
    const auto letter = [](std::int64_t i) { return static_cast<char>('a' + i); };
    return write_down::string_of(fanin::parallel_reduce(fanin::range(exec, n), letter, write_down{}));
  };
  EXPECT_EQ(order(left_to_right, 5), "abcde");
  EXPECT_EQ(order(halving, 0), "");
  EXPECT_EQ(order(halving, 1), "a");
  EXPECT_EQ(order(halving, 2), "ab");
  // i with i + ceil(n/2), then the halves' halves.
  EXPECT_EQ(order(halving, 4), "(ac+bd)");
  EXPECT_EQ(order(halving, 5), "((ad+c)+be)");
  EXPECT_EQ(order(halving, 7), "((ae+cg)+(bf+d))");
}

TEST(serial, halving_rounds_like_a_tree) {
  // 2^24 ones of float: in a chain the sum would stick there, in a tree it does not.
  const std::int64_t n = (std::int64_t{1} << 24) + 2;
  const auto one = [](std::int64_t) { return 1.0F; };
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(left_to_right, n), one, fanin::sum<float>{}), 0x1p24F);
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(halving, n), one, fanin::sum<float>{}), 0x1p24F + 2);
}

TEST(serial, what_a_functor_throws_passes_through) {
  const auto f = [](std::int64_t i) {
    if (i == 3) throw std::out_of_range("three");
    return i;
  };
  for (const auto& exec : {left_to_right, halving}) {
    EXPECT_THROW(fanin::parallel_reduce(fanin::range(exec, 5), f, fanin::sum<std::int64_t>{}), std::out_of_range);
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec, 3), f, fanin::sum<std::int64_t>{}), 3);
  }
}

TEST(serial, indices_of_negative_ranges) {
  const auto f = [](std::int64_t i) { return (i + 3) * (i + 3); };
  for (const auto& exec : {left_to_right, halving}) {
    const auto range = fanin::range(exec, -10, 5);
    EXPECT_EQ(fanin::parallel_reduce(range, f, fanin::min_loc<std::int64_t>{}),
              (fanin::value_index<std::int64_t>{0, -3}));
    EXPECT_EQ(fanin::parallel_reduce(range, f, fanin::max_loc<std::int64_t>{}),
              (fanin::value_index<std::int64_t>{49, -10}));
  }
}

/// A range carries the object by value: a temporary will do.
TEST(serial, is_a_value) {
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(fanin::serial{}, 4), index_itself{}, fanin::sum<std::int64_t>{}), 6);
  static_assert(fanin::execution<fanin::serial>);
  static_assert(!fanin::execution<int>);
}

TEST(serial, a_vector_of_bool_is_no_array_but_bools_are) {
  const bool flags[] = {true, true, false};
  EXPECT_FALSE(fanin::reduce(left_to_right, flags, fanin::land{}));
  EXPECT_TRUE(fanin::reduce(left_to_right, flags, fanin::lor{}));
}

}  // namespace
}  // namespace fanin_test
