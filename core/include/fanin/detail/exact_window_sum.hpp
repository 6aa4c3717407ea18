// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include <fanin/detail/rounded_digits.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/macros.hpp>

namespace fanin::detail {

/// What a bin of a window takes of a number.
inline constexpr int bits_of_bin = 40;

/// What windows held, small enough to travel from thread to thread: a number in digits of 40 bits, the last of which is
/// in the unit of the last bin. The first takes whatever is above. Windows that stand at different heights can mostly
/// be brought to one and added.
template <int Bins>
struct exact_window_sum {
  static constexpr int width = bits_of_bin;
  static constexpr int digits = Bins + 1;

  std::int64_t digit[digits] = {};  ///< the first in units of 2^top
  std::int32_t top = 0;
  std::int32_t is_in_spill = 0;  ///< whether something is not here but in the accumulator

  /// The unit of a digit.
  FANIN_FUNCTION int unit(int k) const { return top - width * k; }

  /// The top, if there is anything under it.
  FANIN_FUNCTION std::int32_t scale() const { return is_zero() ? std::numeric_limits<std::int32_t>::max() : top; }

  /// All digits but the first to 0 .. 2^40 - 1.
  FANIN_FUNCTION void carry() {
    detail::unrolled<Bins>([&](int i) {
      const int k = Bins - i;
      digit[k - 1] += digit[k] >> width;
      digit[k] &= (std::int64_t{1} << width) - 1;
    });
  }

  /// To the units of a window whose top is not higher. False, and of the same value, where the first digit does not
  /// reach so far down. Afterwards no digit is larger than 2^53: 2^10 of them can be joined.
  FANIN_FUNCTION bool rescale(std::int32_t to) {
    if (top != to && !is_zero()) {
      constexpr int most_bits = 42;
      constexpr int furthest = 63 - width - 1;
      const int up = top - to;
      if (up > furthest) return false;
      carry();
      const std::int64_t bound = std::int64_t{1} << (most_bits - up);
      if (digit[0] >= bound || digit[0] < -bound) return false;
      detail::unrolled<digits>(
          [&](int k) { digit[k] = static_cast<std::int64_t>(static_cast<std::uint64_t>(digit[k]) << up); });
      carry();
    }
    top = to;
    if (is_large()) carry();
    return !is_large();
  }

  /// Of one scale.
  FANIN_FUNCTION void join(const exact_window_sum& from) {
    detail::unrolled<digits>([&](int k) { digit[k] += from.digit[k]; });
    is_in_spill |= from.is_in_spill;
  }

  /// Joins those of all lanes of a warp, rescaled: warp.sum(x) is the sum of all lanes' x, modulo 2^32. In two pieces,
  /// of which 32 fit a word.
  template <class Warp>
  FANIN_FUNCTION void join_lanes(const Warp& warp) {
    constexpr int piece = 27;
    detail::unrolled<digits>([&](int k) {
      const auto low = static_cast<std::uint32_t>(digit[k]) & ((1U << piece) - 1);
      const auto high = static_cast<std::uint32_t>(digit[k] >> piece);
      digit[k] = std::int64_t{warp.sum(low)} +
                 std::int64_t{static_cast<std::int32_t>(warp.sum(high))} * (std::int64_t{1} << piece);
    });
    is_in_spill = warp.sum(static_cast<std::uint32_t>(is_in_spill != 0)) != 0 ? 1 : 0;
  }

  /// The number, rounded once.
  template <class T>
  FANIN_FUNCTION T rounded() const {
    exact_window_sum number = *this;
    number.carry();
    const bool is_negative = number.digit[0] < 0;
    if (is_negative) {
      detail::unrolled<digits>([&](int k) { number.digit[k] = -number.digit[k]; });
      number.carry();
    }
    // In 32-bit digits: each of 40 bits falls into two of them, the first into three.
    constexpr int words = (width * Bins + 64 + bits_of_digit - 1) / bits_of_digit;
    std::uint64_t word[words + 1] = {};
    detail::unrolled<digits>([&](int i) {
      const int at = width * (Bins - i);
      const auto x = static_cast<std::uint64_t>(number.digit[i]);
      const auto low = (x & 0xffff'ffff) << (at % bits_of_digit);
      const auto high = (x >> bits_of_digit) << (at % bits_of_digit);
      word[at / bits_of_digit] += low & 0xffff'ffff;
      word[at / bits_of_digit + 1] += (low >> bits_of_digit) + (high & 0xffff'ffff);
      if (at / bits_of_digit + 2 <= words) word[at / bits_of_digit + 2] += high >> bits_of_digit;
    });
    leading_digits_finder finder;
    std::uint64_t carried = 0;
    detail::unrolled<words + 1>([&](int i) {
      carried += word[i];
      finder.see(i, static_cast<std::uint32_t>(carried));
      carried >>= bits_of_digit;
    });
    return detail::rounded_digits<T>(finder.found(), is_negative, unit(Bins));
  }

 private:
  FANIN_FUNCTION bool is_zero() const {
    std::int64_t any = 0;
    detail::unrolled<digits>([&](int k) { any |= digit[k]; });
    return any == 0;
  }
  /// Whether a digit is not within -2^53 .. 2^53 - 1.
  FANIN_FUNCTION bool is_large() const {
    std::uint64_t bits = 0;
    detail::unrolled<digits>([&](int k) { bits |= static_cast<std::uint64_t>(digit[k] ^ digit[k] >> 63); });
    return bits >> 53 != 0;
  }
};

}  // namespace fanin::detail
