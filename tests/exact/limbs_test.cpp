// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <fanin/detail/exact_limbs.hpp>
#include <fanin/exact_accumulator.hpp>

/// Numbers in a few limbs: whatever is done to them, an accumulator says what they are worth.
namespace fanin_test {
namespace {

using fanin::exact_accumulator;
using limbs = fanin::detail::exact_limbs<4>;
constexpr int lowest = -1074;

template <class Number>
double worth(Number number) {
  exact_accumulator all;
  number.deposit(all);
  return all.value();
}
template <class Number>
auto bytes(Number number) {
  exact_accumulator all;
  number.deposit(all);
  return all.serialise();
}

/// Of so many limbs with something in them, signs of all kinds, at a height that is drawn.
template <class Number = limbs>
Number draw(std::mt19937_64& random, int used, int bits_of_last) {
  Number number;
  number.unit = lowest + 32 * static_cast<int>(random() % 40);
  for (int k = 0; k < used; ++k) {
    const int bits = k == used - 1 ? bits_of_last : 1 + static_cast<int>(random() % 52);
    const auto magnitude = static_cast<std::int64_t>(random() >> (64 - bits));
    number.limb[k] = random() % 2 == 0 ? magnitude : -magnitude;
  }
  return number;
}

/// All lanes of a warp that hold the same.
struct like_lanes {
  static std::uint32_t sum(std::uint32_t word) { return 32 * word; }
};

TEST(exact_limbs, are_rounded_once) {
  std::mt19937_64 random(1);
  for (int k = 0; k < 20'000; ++k) {
    const limbs number = draw(random, 1 + k % 4, 1 + static_cast<int>(random() % 53));
    ASSERT_EQ(std::bit_cast<std::uint64_t>(number.rounded<double>()), std::bit_cast<std::uint64_t>(worth(number)));
    exact_accumulator all;
    limbs copy = number;
    copy.deposit(all);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(number.rounded<float>()),
              std::bit_cast<std::uint32_t>(all.value_as<float>()));
  }
  EXPECT_EQ(std::bit_cast<std::uint64_t>(limbs{}.rounded<double>()), 0U);
}

TEST(exact_limbs, are_worth_the_same_at_any_scale) {
  std::mt19937_64 random(2);
  int brought = 0;
  int refused = 0;
  for (int k = 0; k < 20'000; ++k) {
    limbs number = draw(random, 1 + static_cast<int>(random() % 4), 1 + static_cast<int>(random() % 53));
    const auto before = bytes(number);
    const int down = static_cast<int>(random() % 5);
    const int to = number.unit - 32 * down < lowest ? number.unit : number.unit - 32 * down;
    if (number.rescale(to)) {
      ++brought;
      ASSERT_EQ(number.unit, to);
      for (const std::int64_t limb : number.limb) ASSERT_LE(limb ^ limb >> 63, std::int64_t{1} << 53);
    } else {
      ++refused;
    }
    ASSERT_EQ(bytes(number), before);
  }
  EXPECT_GT(brought, 5'000);
  EXPECT_GT(refused, 1'000);
}

/// As far as the last limb has room, also of negative numbers, whose upper limbs are but their sign.
TEST(exact_limbs, are_brought_down_where_there_is_room) {
  for (const std::int64_t value :
       {std::int64_t{1}, std::int64_t{-1}, std::int64_t{1} << 52, -(std::int64_t{1} << 52)}) {
    for (int down = 0; down < 6; ++down) {
      limbs number;
      number.limb[0] = value;
      const double before = worth(number);
      const bool is_small = value == 1 || value == -1;
      EXPECT_EQ(number.rescale(-32 * down), down < (is_small ? 5 : 4)) << value << " down " << down;
      EXPECT_EQ(worth(number), before) << value << " down " << down;
    }
  }
  limbs nothing;
  EXPECT_EQ(nothing.scale(), std::numeric_limits<std::int32_t>::max());
  EXPECT_TRUE(nothing.rescale(-1000));
  EXPECT_EQ(nothing.unit, -1000);
}

/// So that they can be joined.
TEST(exact_limbs, that_are_too_large_say_so) {
  limbs lower;
  lower.limb[0] = std::int64_t{1} << 60;
  EXPECT_TRUE(lower.rescale(0));
  EXPECT_EQ(lower.limb[1], std::int64_t{1} << 28);
  for (const std::int64_t value : {std::int64_t{1} << 53, -(std::int64_t{1} << 53) - 1}) {
    limbs last;
    last.limb[3] = value;
    EXPECT_FALSE(last.rescale(0));
    EXPECT_EQ(last.limb[3], value);
  }
}

/// A thousand of the largest at one scale.
TEST(exact_limbs, are_joined) {
  std::mt19937_64 random(3);
  for (int k = 0; k < 300; ++k) {
    exact_accumulator expected;
    limbs sum;
    sum.unit = lowest + 32 * 40;
    for (int i = 0; i < 1'000; ++i) {
      limbs one = draw(random, 4, 53);
      one.unit = sum.unit;
      limbs copy = one;
      copy.deposit(expected);
      ASSERT_TRUE(one.rescale(sum.unit));
      sum.join(one);
      if (i % 100 == 99) sum.carry();
    }
    ASSERT_EQ(std::bit_cast<std::uint64_t>(sum.rounded<double>()), std::bit_cast<std::uint64_t>(expected.value()));
  }
}

/// Lanes that hold nothing, of which one has left something in a spill: asked last.
struct a_lane_in_spill {
  int* asked;
  std::uint32_t sum(std::uint32_t word) const { return ++*asked == 2 * limbs::limbs + 1 ? word + 1 : word; }
};

TEST(exact_limbs, lanes_are_joined_at_once) {
  int asked = 0;
  limbs nothing;
  nothing.join_lanes(a_lane_in_spill{&asked});
  EXPECT_EQ(nothing.is_in_spill, 1);
  EXPECT_EQ(asked, 2 * limbs::limbs + 1);
  std::mt19937_64 random(4);
  for (int k = 0; k < 2'000; ++k) {
    limbs number = draw(random, 4, 53);
    number.is_in_spill = k % 2;
    const double before = worth(number);
    number.join_lanes(like_lanes{});
    EXPECT_EQ(number.is_in_spill, k % 2);
    ASSERT_EQ(worth(number), 32 * before);
  }
}

TEST(exact_limbs, say_what_went_to_a_spill) {
  exact_accumulator spill;
  limbs nothing;
  EXPECT_TRUE(nothing.rescale(nothing.scale()));  // as a warp does in which nobody holds anything
  nothing.deposit(spill);
  nothing.add_to(spill);
  EXPECT_EQ(nothing.is_in_spill, 0);
  limbs one;
  one.limb[2] = -1;
  limbs other;
  other.join(one);
  EXPECT_EQ(other.is_in_spill, 0);
  one.deposit(spill);
  EXPECT_EQ(one.is_in_spill, 1);
  EXPECT_EQ(worth(one), 0);
  other.join(one);
  EXPECT_EQ(other.is_in_spill, 1);
  EXPECT_EQ(spill.value(), -0x1p64);
}

/// The sign of a negative number stands in all limbs above, and an accumulator has no digits above the largest doubles.
TEST(exact_limbs, have_no_sign_above_the_accumulator) {
  for (int lowest_digit = 60; lowest_digit < 68; ++lowest_digit) {
    for (const std::int64_t value : {std::int64_t{1} << 16, std::int64_t{3}, std::int64_t{0xffff'ffff}}) {
      if (lowest_digit == 67 && value > 1 << 16) continue;
      for (const bool is_negative : {false, true}) {
        limbs number;
        number.unit = lowest + 32 * lowest_digit;
        number.limb[0] = is_negative ? -value : value;
        exact_accumulator expected;
        expected.add_value(number.limb[0], number.unit);
        number.carry();
        exact_accumulator own;
        number.add_to(own);
        EXPECT_EQ(own.serialise(), expected.serialise()) << number.limb[0] << " from digit " << lowest_digit;
        exact_accumulator shared;
        number.deposit(shared);
        EXPECT_EQ(shared.serialise(), expected.serialise()) << number.limb[0] << " from digit " << lowest_digit;
      }
    }
  }
}

/// A value of 64 bits at any bit of the accumulator, as the same in two parts.
TEST(exact_limbs, an_accumulator_takes_values_anywhere) {
  std::mt19937_64 random(5);
  for (int k = 0; k < 20'000; ++k) {
    const auto value = static_cast<std::int64_t>(random()) >> random() % 64;
    const int exponent = lowest + static_cast<int>(random() % 1'900);
    exact_accumulator at_once;
    at_once.add_value_shared(value, exponent);
    exact_accumulator in_parts;
    in_parts.add_shared(static_cast<std::uint64_t>(value) >> 63 == 0 ? static_cast<std::uint64_t>(value)
                                                                     : 0 - static_cast<std::uint64_t>(value),
                        exponent, value < 0);
    ASSERT_EQ(at_once.serialise(), in_parts.serialise()) << value << " * 2^" << exponent;
  }
  exact_accumulator top;  // nothing above the last digit is touched
  top.add_value_shared(-1, lowest + 32 * 67);
  top.add_value_shared(1, lowest + 32 * 67);
  EXPECT_EQ(top.serialise(), exact_accumulator{}.serialise());
}

}  // namespace
}  // namespace fanin_test
