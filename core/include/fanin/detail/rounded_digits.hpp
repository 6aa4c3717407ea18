// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include <fanin/device/arithmetic.hpp>
#include <fanin/macros.hpp>

/// From the digits of a fixed-point number to the nearest floating-point number, by integers.
namespace fanin::detail {

inline constexpr int bits_of_digit = 32;

/// A magnitude's uppermost digits, of which the first is not 0; highest is -1 for zero.
struct leading_digits {
  int highest = -1;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::uint32_t third = 0;
  bool is_more = false;  ///< below the third
};

/// Finds them in digits that it is shown from the lowest to the highest, 0, 1, ..., without leaving one out between.
class leading_digits_finder {
 public:
  FANIN_FUNCTION void see(int i, std::uint32_t digit) {
    if (digit != 0) found_ = {i, digit, before_, before_that_, is_any_below_};
    is_any_below_ = is_any_below_ || before_that_ != 0;
    before_that_ = before_;
    before_ = digit;
  }
  FANIN_FUNCTION const leading_digits& found() const { return found_; }

 private:
  leading_digits found_;
  std::uint32_t before_ = 0;
  std::uint32_t before_that_ = 0;
  bool is_any_below_ = false;  ///< the two
};

/// The bits of an infinity of `Precision` bits, 24 or 53.
template <int Precision>
constexpr std::uint64_t bits_of_infinity() {
  constexpr int fraction_bits = Precision - 1;
  constexpr int exponent_bits = Precision == 53 ? 11 : 8;
  return ((1ULL << exponent_bits) - 1) << fraction_bits;
}
template <int Precision>
constexpr std::uint64_t bits_of_minus() {
  return Precision == 53 ? 1ULL << 63 : 1ULL << 31;
}

/// The bits of the nearest number of `Precision` bits whose lowest denormal is 2^Least, ties to even. The digits are in
/// units of 2^lowest. +0 for zero.
template <int Precision, int Least>
FANIN_FUNCTION std::uint64_t rounded_bits(const leading_digits& sum, bool is_negative, int lowest) {
  constexpr int fraction_bits = Precision - 1;
  constexpr int exponent_bits = Precision == 53 ? 11 : 8;
  constexpr std::uint64_t infinity = bits_of_infinity<Precision>();
  if (sum.highest < 0) return 0;
  const std::uint64_t sign = is_negative ? bits_of_minus<Precision>() : 0;

  // The unit in the last place stands at bit `unit` of the number, and `shift` above the third digit's lowest bit; what
  // is below decides how to round.
  const int leading_bit = bits_of_digit * sum.highest + 31 - leading_zeros(sum.first);
  const int unit = leading_bit - fraction_bits > Least - lowest ? leading_bit - fraction_bits : Least - lowest;
  const int shift = unit - bits_of_digit * (sum.highest - 2);
  const std::uint64_t upper = static_cast<std::uint64_t>(sum.first) << bits_of_digit | sum.second;
  const auto from_bit = [&](int bit) {  // the 96 bits without the lowest ones
    if (bit < bits_of_digit) return upper << (bits_of_digit - bit) | sum.third >> bit;
    return bit < 3 * bits_of_digit ? upper >> (bit - bits_of_digit) : 0;
  };
  std::uint64_t kept = from_bit(shift);
  const int half = shift - 1;
  const bool is_half = (from_bit(half) & 1) != 0;
  const std::uint64_t below = half < bits_of_digit       ? sum.third & ((1U << half) - 1)
                              : half < 3 * bits_of_digit ? sum.third | (upper & ((1ULL << (half - bits_of_digit)) - 1))
                                                         : 1;
  if (is_half && (below != 0 || sum.is_more || (kept & 1) != 0)) ++kept;

  // A carry out of the fraction goes into the exponent, where it belongs.
  const int steps = unit - (Least - lowest);
  if (steps > 1 << exponent_bits) return sign | infinity;
  const std::uint64_t bits = (static_cast<std::uint64_t>(steps) << fraction_bits) + kept;
  return sign | (bits < infinity ? bits : infinity);
}

/// The float or double of such digits.
template <class T>
FANIN_FUNCTION T rounded_digits(const leading_digits& sum, bool is_negative, int lowest) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(rounded_bits<53, -1074>(sum, is_negative, lowest));
  } else {
    return std::bit_cast<T>(static_cast<std::uint32_t>(rounded_bits<24, -149>(sum, is_negative, lowest)));
  }
}

}  // namespace fanin::detail
