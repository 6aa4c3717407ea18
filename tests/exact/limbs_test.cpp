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

/// The integer value * 2^(32 * shift) in units of 2^unit.
template <class Number = limbs>
Number of(std::int64_t value, int unit = 0, int shift = 0) {
  Number number;
  number.unit = static_cast<std::int16_t>(unit);
  for (int k = shift; k < Number::limbs; ++k) {
    number.limb[k] = static_cast<std::uint32_t>(value);
    value >>= 32;
  }
  return number;
}

/// Of so many limbs with something in them, either sign, at a height that is drawn. The last of them has so many bits
/// beside its sign.
template <class Number = limbs>
Number draw(std::mt19937_64& random, int used, int bits_of_last) {
  Number number;
  number.unit = static_cast<std::int16_t>(lowest + 32 * static_cast<int>(random() % 40));
  const bool is_negative = random() % 2 == 0;
  for (int k = 0; k < Number::limbs; ++k) {
    const auto word = static_cast<std::uint32_t>(random() % 4 == 0 ? 0 : random());
    const std::uint32_t last = bits_of_last == 0 ? 0 : static_cast<std::uint32_t>(random()) >> (32 - bits_of_last);
    const std::uint32_t magnitude = k < used - 1 ? word : k == used - 1 ? last : 0;
    number.limb[k] = is_negative ? ~magnitude : magnitude;
  }
  return number;
}

/// All lanes of a warp that hold the same.
struct like_lanes {
  static std::uint32_t sum(std::uint32_t word) { return 32 * word; }
};

template <int Limbs>
void expect_that_they_are_rounded_once() {
  using number_type = fanin::detail::exact_limbs<Limbs>;
  std::mt19937_64 random(1);
  for (int k = 0; k < 20'000; ++k) {
    const auto number = draw<number_type>(random, 1 + k % Limbs, static_cast<int>(random() % 32));
    ASSERT_EQ(std::bit_cast<std::uint64_t>(number.template rounded<double>()),
              std::bit_cast<std::uint64_t>(worth(number)));
    exact_accumulator all;
    number_type copy = number;
    copy.deposit(all);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(number.template rounded<float>()),
              std::bit_cast<std::uint32_t>(all.value_as<float>()));
  }
  EXPECT_EQ(std::bit_cast<std::uint64_t>(number_type{}.template rounded<double>()), 0U);
}
TEST(exact_limbs, are_rounded_once) {
  expect_that_they_are_rounded_once<4>();
  expect_that_they_are_rounded_once<8>();
  expect_that_they_are_rounded_once<11>();
  for (int shift = 0; shift < 4; ++shift) {  // with nothing below, where a negative one's carry goes through
    for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{-3}, -(std::int64_t{1} << 20)}) {
      const limbs number = of(value, 0, shift);
      EXPECT_EQ(number.rounded<double>(), worth(number)) << value << " at " << shift;
    }
  }
  limbs least;  // whose magnitude has a bit more than it may have
  least.limb[3] = 0x8000'0000;
  EXPECT_EQ(least.rounded<double>(), -0x1p127);
}

TEST(exact_limbs, are_worth_the_same_at_any_scale) {
  std::mt19937_64 random(2);
  int brought = 0;
  int refused = 0;
  for (int k = 0; k < 20'000; ++k) {
    limbs number = draw(random, 1 + static_cast<int>(random() % 4), static_cast<int>(random() % 32));
    const auto before = bytes(number);
    const int down = static_cast<int>(random() % 5);
    const int to = number.unit - 32 * down < lowest ? number.unit : number.unit - 32 * down;
    if (number.rescale(to)) {
      ++brought;
      ASSERT_EQ(number.unit, to);
      const auto last = static_cast<std::int32_t>(number.limb[3]);
      ASSERT_LE(last ^ last >> 31, 1 << 20);
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
  for (const std::int64_t value : {1, -1, (1 << 20) - 1, 1 << 20, -(1 << 20), -(1 << 20) - 1}) {
    for (int down = 0; down < 6; ++down) {
      limbs number = of(value);
      const double before = worth(number);
      const bool is_small = value < 1 << 20 && value >= -(1 << 20);
      EXPECT_EQ(number.rescale(-32 * down), down < (is_small ? 4 : 3)) << value << " down " << down;
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
  for (const std::int64_t value : {std::int64_t{1} << 20, -(std::int64_t{1} << 20) - 1}) {
    limbs last = of(value, 0, 3);
    EXPECT_FALSE(last.rescale(0));
    EXPECT_EQ(static_cast<std::int32_t>(last.limb[3]), value);
    limbs less = of(value < 0 ? value + 1 : value - 1, 0, 3);
    EXPECT_TRUE(less.rescale(0));
  }
}

/// A thousand of the largest of one unit.
template <int Limbs>
void expect_that_they_are_joined() {
  using number_type = fanin::detail::exact_limbs<Limbs>;
  std::mt19937_64 random(3);
  for (int k = 0; k < 300; ++k) {
    exact_accumulator expected;
    number_type sum;
    sum.unit = lowest + 32 * 40;
    for (int i = 0; i < 1'000; ++i) {
      auto one = draw<number_type>(random, k % 2 == 0 ? Limbs : 1 + static_cast<int>(random() % Limbs), 20);
      one.unit = sum.unit;
      number_type copy = one;
      copy.deposit(expected);
      ASSERT_TRUE(one.rescale(sum.unit));
      sum.join(one);
    }
    ASSERT_EQ(std::bit_cast<std::uint64_t>(sum.template rounded<double>()),
              std::bit_cast<std::uint64_t>(expected.value()));
  }
}
TEST(exact_limbs, are_joined) {
  expect_that_they_are_joined<4>();
  expect_that_they_are_joined<11>();
}

/// Lanes that hold nothing, of which one has left something in a spill: asked last.
struct a_lane_in_spill {
  int* asked;
  std::uint32_t sum(std::uint32_t word) const { return ++*asked == limbs::words_of_lanes ? word + 1 : word; }
};

/// 32 lanes, of which one is as it is and the others hold what is drawn.
struct unlike_lanes {
  std::uint32_t (*others)[32];
  int* asked;
  std::uint32_t sum(std::uint32_t word) const {
    std::uint32_t all = word;
    for (int lane = 1; lane < 32; ++lane) all += others[*asked][lane];
    ++*asked;
    return all;
  }
};

/// What a lane says of itself, word by word.
struct listening {
  std::uint32_t* words;
  std::uint32_t sum(std::uint32_t word) const {
    *(*next)++ = word;
    return word;
  }
  std::uint32_t** next;
};

template <int Limbs>
void expect_that_lanes_are_joined() {
  using number_type = fanin::detail::exact_limbs<Limbs>;
  std::mt19937_64 random(4);
  for (int k = 0; k < 2'000; ++k) {
    number_type expected;
    number_type first;
    std::uint32_t words[number_type::words_of_lanes][32];
    for (int lane = 0; lane < 32; ++lane) {
      auto number = draw<number_type>(random, k % 2 == 0 ? Limbs : 1 + static_cast<int>(random() % Limbs), 20);
      if (k % 3 == 0) number = of<number_type>(k % 2 == 0 ? -1 : (1 << 20) - 1, 0, k % Limbs);  // all bits of all
      number.unit = first.unit = expected.unit = 64;
      expected.join(number);
      if (lane == 0) first = number;
      std::uint32_t said[number_type::words_of_lanes];
      std::uint32_t* next = said;
      number.join_lanes(listening{said, &next});
      for (int i = 0; i < number_type::words_of_lanes; ++i) words[i][lane] = said[i];
    }
    int asked = 0;
    first.join_lanes(unlike_lanes{words, &asked});
    ASSERT_EQ(asked, number_type::words_of_lanes);
    ASSERT_EQ(first.unit, 64);
    for (int i = 0; i < Limbs; ++i) ASSERT_EQ(first.limb[i], expected.limb[i]) << "limb " << i << ", " << k;
  }
}
TEST(exact_limbs, lanes_are_joined_at_once) {
  int asked = 0;
  limbs nothing;
  nothing.join_lanes(a_lane_in_spill{&asked});
  EXPECT_EQ(nothing.is_in_spill, 1);
  EXPECT_EQ(asked, limbs::words_of_lanes);
  for (const bool is_there : {false, true}) {
    limbs number = of(7);
    number.is_in_spill = is_there ? 1 : 0;
    number.join_lanes(like_lanes{});
    EXPECT_EQ(number.is_in_spill, is_there ? 1 : 0);
    EXPECT_EQ(worth(number), 32 * 7);
  }
  expect_that_lanes_are_joined<4>();
  expect_that_lanes_are_joined<5>();
  expect_that_lanes_are_joined<8>();
  expect_that_lanes_are_joined<11>();
}

TEST(exact_limbs, say_what_went_to_a_spill) {
  exact_accumulator spill;
  limbs nothing;
  EXPECT_TRUE(nothing.rescale(nothing.scale()));  // as a warp does in which nobody holds anything
  nothing.deposit(spill);
  nothing.add_to(spill);
  EXPECT_EQ(nothing.is_in_spill, 0);
  limbs one = of(-1, 0, 2);
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
        const std::int64_t signed_value = is_negative ? -value : value;
        limbs number = of(signed_value, lowest + 32 * lowest_digit);
        exact_accumulator expected;
        expected.add_value(signed_value, number.unit);
        exact_accumulator own;
        number.add_to(own);
        EXPECT_EQ(own.serialise(), expected.serialise()) << signed_value << " from digit " << lowest_digit;
        exact_accumulator shared;
        number.deposit(shared);
        EXPECT_EQ(shared.serialise(), expected.serialise()) << signed_value << " from digit " << lowest_digit;
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
