// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <fanin/detail/exact_parts.hpp>
#include <fanin/device/arithmetic.hpp>
#include <fanin/device/warp.cuh>
#include <fanin/exact_accumulator.hpp>
#include <fanin/exact_sum.hpp>

/// What goes into columns (columns/columns.cuh), and how it is taken apart: a number is an integer times a power of
/// two, its pieces of 16 bits go to as many rows, from the row on that its exponent says, and the last one has the
/// sign.
namespace fanin::detail {

/// Row k counts in units of 2^(lowest + 16 k). A row has a word for each lane.
inline constexpr int bits_of_row = 16;
inline constexpr unsigned words_of_row = warp_size;

/// The word of a column's row to which a number of this exponent begins.
__device__ inline unsigned* place_of(unsigned* column, unsigned exponent) {
  constexpr unsigned bytes_of_row = words_of_row * sizeof(unsigned);
  static_assert(bytes_of_row % bits_of_row == 0);
  const unsigned offset = (exponent & ~(bits_of_row - 1U)) * (bytes_of_row / bits_of_row);
  return reinterpret_cast<unsigned*>(reinterpret_cast<unsigned char*>(column) + offset);
}

/// A finite number's magnitude, times 2^exponent of the type's least number.
struct float_magnitude {
  unsigned digits;
  unsigned exponent;

  __device__ explicit float_magnitude(unsigned bits_without_sign)
      : exponent{static_cast<unsigned>(std::max(static_cast<int>(bits_without_sign >> 23) - 1, 0))} {
    digits = bits_without_sign - (exponent << 23);
  }
};
struct double_magnitude {
  unsigned lower;
  unsigned upper;
  unsigned exponent;

  __device__ double_magnitude(unsigned lower_bits, unsigned upper_without_sign)
      : lower{lower_bits},
        exponent{static_cast<unsigned>(std::max(static_cast<int>(upper_without_sign >> 20) - 1, 0))} {
    upper = upper_without_sign - (exponent << 20);
  }
  /// By fewer than 11 bits.
  __device__ void shift_up(unsigned by) {
    const std::uint64_t digits = (std::uint64_t{upper} << 32 | lower) << by;
    lower = static_cast<unsigned>(digits);
    upper = static_cast<unsigned>(digits >> 32);
  }
};

inline constexpr unsigned no_sign_bit = 0x7fff'ffff;
__device__ inline unsigned upper_word(double x) { return static_cast<unsigned>(std::bit_cast<std::uint64_t>(x) >> 32); }
__device__ inline unsigned lower_word(double x) { return static_cast<unsigned>(std::bit_cast<std::uint64_t>(x)); }
__device__ inline double double_of(float x) { return std::bit_cast<double>(double_bits(x)); }

/// Kinds of numbers. Each has
///   value_type, accumulator    what is added, and what takes what columns do not
///   rows, lowest, limbs        of a table, and of what the sum travels in. There is room above for 2^46 of the largest
///                              numbers in a column
///   warps_of_table             so many warps share a table, and no thread adds more than numbers_between_carries
///   before
///                              it hands on what its column has that is not below `large`
///   lanes_of_row               that sum a row at the end
///   magnitude(x), infinity     x is special, not finite, where its magnitude is not below that
///   special(x)                 a special x as the bits of a double
/// and, but for `floats`,
///   warps_of_table             so many warps share a table, and no thread adds more than most_numbers before it hands
///                              on what its column has that is not within -large .. large - 1
///   lanes_of_row               that sum a row at the end
///   loads_ahead                see fanin/gathering.hpp
///   add(column, x)             all pieces of a finite number; column is a word of the first row, which other threads
///                              add to as well
struct floats {
  using value_type = float;
  using accumulator = exact_accumulator;
  static constexpr unsigned infinity = 0x7f80'0000;

  __device__ static unsigned magnitude(float x) { return std::bit_cast<unsigned>(x) & no_sign_bit; }
  __device__ static std::uint64_t special(float x) { return double_bits(x); }
};

/// In two pieces: 2^24 + 2 * 126 * 2^23 and what is carried are below 2^31.
struct floats_in_pieces : floats {
  static constexpr int rows = 20;
  static constexpr int lowest = -149;
  static constexpr int limbs = 8;
  static constexpr int warps_of_table = 2;
  static constexpr int most_numbers = 126;
  static constexpr unsigned lanes_of_row = 8;
  static constexpr int large = 1 << 24;
  static constexpr bool loads_ahead = false;

  __device__ static void add(unsigned* column, float x) {
    const float_magnitude of(magnitude(x));
    const int digits = static_cast<int>(of.digits);
    const int number = std::bit_cast<int>(x) < 0 ? -digits : digits;
    const unsigned shift = of.exponent % bits_of_row;
    unsigned* const at = place_of(column, of.exponent);
    atomicAdd(at, static_cast<unsigned>(number) << shift & 0xffff);
    atomicAdd(at + words_of_row, static_cast<unsigned>(number >> (bits_of_row - shift)));
  }
};

/// In pieces of 16 bits alone: 2^25 + 32 * 1000 * 2^16 and what is carried are below 2^31.
struct narrow_pieces {
  static constexpr int warps_of_table = 32;
  static constexpr int most_numbers = 1000;
  static constexpr unsigned lanes_of_row = 1;
  static constexpr int large = 1 << 25;

  /// Two pieces of a word.
  __device__ static void add_two(unsigned* at, unsigned word) {
    atomicAdd(at, word & 0xffff);
    atomicAdd(at + words_of_row, word >> 16);
  }
  /// The same of the uppermost word.
  __device__ static void add_last_two(unsigned* at, unsigned word) {
    atomicAdd(at, word & 0xffff);
    atomicAdd(at + words_of_row, static_cast<unsigned>(static_cast<int>(word) >> 16));
  }
};

struct sums_of_doubles : narrow_pieces {
  using value_type = double;
  using accumulator = exact_accumulator;
  static constexpr bool loads_ahead = false;
  static constexpr int rows = 134;
  static constexpr int lowest = -1074;
  static constexpr int limbs = 8;
  static constexpr unsigned infinity = 0x7ff0'0000;

  __device__ static unsigned magnitude(double x) { return upper_word(x) & no_sign_bit; }
  __device__ static std::uint64_t special(double x) { return double_bits(x); }
  __device__ static void add(unsigned* column, double x) {
    const double_magnitude of(lower_word(x), magnitude(x));
    const auto sign = static_cast<std::uint64_t>(std::bit_cast<std::int64_t>(x) >> 63);
    const std::uint64_t number = ((std::uint64_t{of.upper} << 32 | of.lower) ^ sign) - sign;
    const unsigned shift = of.exponent % bits_of_row;
    const std::uint64_t shifted = number << shift;
    const std::int64_t upper = std::int64_t{static_cast<int>(number >> 32)} << shift;  // whose upper word is above
    unsigned* const at = place_of(column, of.exponent);
    add_two(at, static_cast<unsigned>(shifted));
    add_two(at + 2 * words_of_row, static_cast<unsigned>(shifted >> 32));
    atomicAdd(at + 4 * words_of_row, static_cast<unsigned>(upper >> 32));
  }
};

/// Products: both factors are shifted up by a half of what the row asks for, so that the integers' product is in place.
struct products_of_floats : narrow_pieces {
  using value_type = factors<float>;
  using accumulator = exact_accumulator;
  static constexpr bool loads_ahead = true;
  static constexpr int rows = 37;
  static constexpr int lowest = -298;
  static constexpr int limbs = 8;
  static constexpr unsigned infinity = 0x7f80'0000;

  __device__ static unsigned magnitude(const value_type& of) {
    return std::max(floats::magnitude(of.x), floats::magnitude(of.y));
  }
  __device__ static std::uint64_t special(const value_type& of) {
    return double_bits(rounded_product(double_of(of.x), double_of(of.y)));
  }
  __device__ static void add(unsigned* column, const value_type& of) {
    const float_magnitude x(floats::magnitude(of.x));
    const float_magnitude y(floats::magnitude(of.y));
    const unsigned exponent = x.exponent + y.exponent;
    const unsigned shift = exponent % bits_of_row;
    const std::uint64_t product =
        std::uint64_t{x.digits << (shift + 1) / 2} * (y.digits << shift / 2);  // 24 + 8 and 24 + 7 bits
    const int signs = std::bit_cast<int>(of.x) ^ std::bit_cast<int>(of.y);
    const auto sign = static_cast<std::uint64_t>(std::int64_t{signs >> 31});
    const std::uint64_t number = (product ^ sign) - sign;
    unsigned* const at = place_of(column, exponent);
    add_two(at, static_cast<unsigned>(number));
    add_last_two(at + 2 * words_of_row, static_cast<unsigned>(number >> 32));
  }
};

struct products_of_doubles : narrow_pieces {
  using value_type = factors<double>;
  using accumulator = exact_product_accumulator;
  static constexpr bool loads_ahead = true;
  static constexpr int rows = 265;
  static constexpr int lowest = -2148;
  static constexpr int limbs = 8;
  static constexpr unsigned infinity = 0x7ff0'0000;

  __device__ static unsigned magnitude(const value_type& of) {
    return std::max(sums_of_doubles::magnitude(of.x), sums_of_doubles::magnitude(of.y));
  }
  __device__ static std::uint64_t special(const value_type& of) { return double_bits(rounded_product(of.x, of.y)); }
  __device__ static void add(unsigned* column, const value_type& of) {
    double_magnitude x(lower_word(of.x), sums_of_doubles::magnitude(of.x));
    double_magnitude y(lower_word(of.y), sums_of_doubles::magnitude(of.y));
    const unsigned exponent = x.exponent + y.exponent;
    const unsigned shift = exponent % bits_of_row;
    x.shift_up((shift + 1) / 2);
    y.shift_up(shift / 2);
    const std::uint64_t lowest_two = std::uint64_t{x.lower} * y.lower;
    const std::uint64_t middle =
        std::uint64_t{x.upper} * y.lower + (std::uint64_t{x.lower} * y.upper + (lowest_two >> 32));
    const std::uint64_t upper = std::uint64_t{x.upper} * y.upper + (middle >> 32);
    // Two's complement: all bits the other way, and 1 more.
    const auto sign = static_cast<unsigned>(static_cast<int>(upper_word(of.x) ^ upper_word(of.y)) >> 31);
    const unsigned first = static_cast<unsigned>(lowest_two) ^ sign;
    unsigned* const at = place_of(column, exponent);
    atomicAdd(at, (first & 0xffff) - sign);
    atomicAdd(at + words_of_row, first >> 16);
    add_two(at + 2 * words_of_row, static_cast<unsigned>(middle) ^ sign);
    add_two(at + 4 * words_of_row, static_cast<unsigned>(upper) ^ sign);
    add_last_two(at + 6 * words_of_row, static_cast<unsigned>(upper >> 32) ^ sign);
  }
};

}  // namespace fanin::detail
