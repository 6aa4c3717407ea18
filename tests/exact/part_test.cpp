// SPDX-License-Identifier: Apache-2.0
// What ranks that reach each other's memory send of an exact sum, and how they join it.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <random>

#include <fanin/detail/exact_limbs.hpp>
#include <fanin/detail/exact_part.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/exact_sum.hpp>

namespace fanin_test {
namespace {

using fanin::exact_accumulator;
using fanin::exact_product_accumulator;
using fanin::detail::exact_limbs;
using fanin::detail::sent_number;

/// One rank's words are joined, and are as many as it says.
template <class Number, class Limbs, class Accumulator>
void send(typename Number::joined_type& to, const Limbs& held, const Accumulator* rest) {
  constexpr std::uint32_t untouched = 0xabcd'ef01;
  std::array<std::uint32_t, Number::most_words + 1> words;
  words.fill(untouched);
  const int count = Number::put(held, rest, words.data());
  ASSERT_EQ(words.back(), untouched);
  for (std::size_t k = static_cast<std::size_t>(count); k < words.size(); ++k) words[k] = untouched;
  ASSERT_EQ(to.add(words.data()), count);
}

/// Limbs, in the units that parts have, of which `all_alike` have the same; large and small, of either sign, or
/// nothing.
template <class Limbs>
Limbs draw(std::mt19937_64& random, int lowest, int units) {
  Limbs number;
  if (random() % 5 == 0) return number;
  number.unit = static_cast<std::int16_t>(lowest + 32 * static_cast<int>(random() % static_cast<unsigned>(units)));
  const auto end = random() % Limbs::limbs;
  const bool is_negative = random() % 2 == 0;
  for (unsigned k = 0; k < Limbs::limbs; ++k) {
    const auto word = static_cast<std::uint32_t>(random());
    number.limb[k] = k < end ? word : is_negative ? ~0U : 0;
  }
  return number;
}

template <class Accumulator, class Limbs>
void expect_that_they_are_joined(int lowest, int units) {
  using number = sent_number<Accumulator, Limbs>;
  std::mt19937_64 random(11);
  for (int k = 0; k < 5'000; ++k) {
    typename number::joined_type joined;
    Accumulator expected;
    const auto ranks = 1 + random() % 6;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      const auto held = draw<Limbs>(random, lowest, units);
      if (k % 4 == 0 && random() % 3 == 0) {  // in an accumulator, with what is no number
        Accumulator rest;
        held.add_to(rest);
        if (random() % 8 == 0) rest.add(std::numeric_limits<double>::infinity());
        if (random() % 8 == 0) rest.add(-std::numeric_limits<double>::infinity());
        send<number>(joined, Limbs{}, &rest);
        expected.merge(rest);
      } else {
        send<number, Limbs, Accumulator>(joined, held, nullptr);
        held.add_to(expected);
      }
    }
    ASSERT_EQ(std::bit_cast<std::uint64_t>(joined.template value_as<double>()),
              std::bit_cast<std::uint64_t>(expected.value()))
        << k;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(joined.template value_as<float>()),
              std::bit_cast<std::uint32_t>(expected.template value_as<float>()))
        << k;
    ASSERT_EQ(joined.as_accumulator().words(), expected.words()) << k;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(joined.template value_as<double>()),
              std::bit_cast<std::uint64_t>(expected.value()));
  }
}
TEST(exact_part, what_ranks_send_is_joined) {
  expect_that_they_are_joined<exact_accumulator, exact_limbs<8>>(-1'074, 3);
  expect_that_they_are_joined<exact_accumulator, exact_limbs<8>>(-1'074, 50);
  expect_that_they_are_joined<exact_accumulator, exact_limbs<11, true>>(-150, 1);
  expect_that_they_are_joined<exact_product_accumulator, exact_limbs<8>>(-2'148, 8);
}

/// The last limb has room for some.
TEST(exact_part, of_very_many_ranks) {
  using limbs = exact_limbs<8>;
  for (const std::uint32_t last : {0xf'ffffU, 0xfff0'0000U}) {
    limbs held;
    held.unit = -1'074 + 32 * 10;
    for (std::uint32_t& limb : held.limb) limb = 0xffff'ffff;
    held.limb[7] = last;
    sent_number<exact_accumulator, limbs>::joined_type joined;
    exact_accumulator expected;
    for (int rank = 0; rank < 100'000; ++rank) {
      send<sent_number<exact_accumulator, limbs>, limbs, exact_accumulator>(joined, held, nullptr);
      held.add_to(expected);
    }
    EXPECT_EQ(joined.value_as<double>(), expected.value());
  }
}

/// Of a reducer whose accumulator holds all: whoever takes it looks there.
TEST(exact_part, is_a_result) {
  using part = fanin::detail::exact_part<exact_accumulator, exact_limbs<8>>;
  const fanin::exact_sum<double, part> sum;
  exact_accumulator acc = sum.identity();
  acc.add(0.3);
  EXPECT_EQ(sum.result(acc).accumulator, &acc);
}

}  // namespace
}  // namespace fanin_test
