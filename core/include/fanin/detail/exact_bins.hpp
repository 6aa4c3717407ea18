// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include <fanin/detail/exact_parts.hpp>
#include <fanin/detail/exact_window_sum.hpp>
#include <fanin/device/arithmetic.hpp>
#include <fanin/macros.hpp>

/// How exact sums split a number.
namespace fanin::detail {

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__)
#error "fanin: exact sums need additions as they stand: compile this unit without -ffast-math and -fassociative-math"
#endif
#if FANIN_DETAIL_EXCESS_PRECISION
#error "fanin: exact sums need doubles that are computed as doubles: compile this unit with -msse2 -mfpmath=sse"
#endif

/// How exact sums split a number. A bin is a double near 1.5 * 2^(52 + e): its unit in the last place is 2^e, and so
/// what it takes of a number, by an addition and a subtraction, is a multiple of 2^e, and exact. The rest is below the
/// bin's unit and goes to the next bin, 40 bits lower. 2047 numbers below 2^(e + 40) move a bin by less than 2^51
/// units, which leaves it between 2^52 and 2^53 units.
struct exact_bins {
  static constexpr int width = bits_of_bin;
  static constexpr int capacity = 2047;
  static constexpr int room = 3;  ///< for larger numbers than those that a window is made for, in bits
  /// Numbers from 2^960 on would need a bin near the largest double, and numbers below 2^-960 have bits that
  /// flush-to-zero could take away in a bin: neither gets into a window. All arithmetic there is on normal numbers.
  static constexpr int highest = 960;
  static constexpr int lowest = -960;

  /// The unit of bin k in a window of numbers below 2^top.
  FANIN_FUNCTION static constexpr int unit(int top, int k) { return top - width * (k + 1); }
  /// A bin that holds nothing.
  FANIN_FUNCTION static double anchor(int top, int k) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(unit(top, k) + 52 + 1023) << 52 | 1ULL << 51);
  }
  /// The window's top for numbers that begin with one of the biased exponent `field`: with room for larger ones, and
  /// not so low that the last bin's unit were no normal number.
  FANIN_FUNCTION static constexpr int top_for(int field, int bins) {
    const int top = field - 1022 + room;
    const int least = width * bins - 1000;
    return top > highest ? highest : (top < least ? least : top);
  }

  FANIN_FUNCTION static constexpr std::uint32_t upper_half(std::uint64_t bits) {
    return static_cast<std::uint32_t>(bits >> 32);
  }
  /// The upper half of 2^exponent.
  FANIN_FUNCTION static constexpr std::uint32_t upper_half_of_power(int exponent) {
    return static_cast<std::uint32_t>(exponent + 1023) << 20;
  }
  static constexpr std::uint32_t no_sign = 0x7fff'ffff;
};

/// A float as the double of the same value, denormals too, whatever flags the unit is compiled with.
FANIN_FUNCTION inline double widened(double x) { return x; }
FANIN_FUNCTION inline double widened(float x) {
  if constexpr (runs_on_device) {
    return converted(x);
  } else {
    const bool may_be_flushed =
        (std::bit_cast<std::uint32_t>(x) & 0x7f80'0000) == 0;  // a comparison with 0 may be, too
    return may_be_flushed ? std::bit_cast<double>(double_bits(x)) : static_cast<double>(x);
  }
}

}  // namespace fanin::detail
