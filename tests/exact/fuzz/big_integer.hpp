// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

/// The fuzzers' oracle: a number of 4600 bits, one byte a bit, in units of 2^-2148, added up as on paper. Slow and
/// plain.
namespace fanin_fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

class big_integer {
 public:
  static constexpr int lowest = -2148;

  /// A double, or the product of two, as IEEE has infinities and NaN.
  void add(double x) { add_product(x, 1.0); }
  void add_product(double x, double y) {
    if (!is_finite(x) || !is_finite(y)) {
      const bool is_nan = is_nan_value(x) || is_nan_value(y) || is_zero(x) || is_zero(y);
      (is_nan ? nan : (is_negative(x) != is_negative(y) ? negative_infinity : positive_infinity)) = true;
      return;
    }
    int x_exponent = 0;
    int y_exponent = 0;
    const std::uint64_t x_integer = integer(x, x_exponent);
    const std::uint64_t y_integer = integer(y, y_exponent);
    std::vector<std::uint8_t>& sum = is_negative(x) != is_negative(y) ? negative_ : positive_;
    for (int bit = 0; bit < 53; ++bit) {
      if ((y_integer >> bit & 1) != 0) add_bits(sum, x_integer, x_exponent + y_exponent + bit - lowest);
    }
  }
  void merge(const big_integer& from) {
    add_all(positive_, from.positive_);
    add_all(negative_, from.negative_);
    positive_infinity |= from.positive_infinity;
    negative_infinity |= from.negative_infinity;
    nan |= from.nan;
  }

  /// Whether `bits`, of a float or a double, are the sum's.
  template <class Bits>
  bool rounds_to(Bits bits) const {
    constexpr int precision = sizeof(Bits) == 8 ? 53 : 24;
    constexpr int least = sizeof(Bits) == 8 ? -1074 : -149;
    constexpr int most = sizeof(Bits) == 8 ? 1024 : 128;
    constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
    constexpr Bits infinity = sizeof(Bits) == 8 ? Bits(0x7ffULL << 52) : Bits(0xff << 23);
    if (nan || (positive_infinity && negative_infinity)) return (bits & ~sign) > infinity;
    if (positive_infinity) return bits == infinity;
    if (negative_infinity) return bits == (sign | infinity);

    std::vector<std::uint8_t> magnitude(size);
    const bool is_less = difference(positive_, negative_, magnitude);
    int leading = size - 1;
    while (leading >= 0 && magnitude[static_cast<std::size_t>(leading)] == 0) --leading;
    if (leading < 0) return bits == 0;
    int unit = leading - precision + 1;
    if (unit < least - lowest) unit = least - lowest;
    std::uint64_t kept = 0;
    for (int bit = leading; bit >= unit; --bit) kept = kept << 1 | magnitude[static_cast<std::size_t>(bit)];
    bool above_half = false;
    for (int bit = 0; bit < unit - 1 && !above_half; ++bit) above_half = magnitude[static_cast<std::size_t>(bit)] != 0;
    const bool half = magnitude[static_cast<std::size_t>(unit - 1)] != 0;
    if (half && (above_half || kept % 2 == 1)) ++kept;
    if (kept == std::uint64_t{1} << precision) {
      kept >>= 1;
      ++unit;
    }
    Bits expected = infinity;
    if (unit + lowest + precision <= most) {
      const bool is_denormal = kept < std::uint64_t{1} << (precision - 1);
      const auto field = static_cast<Bits>(is_denormal ? 0 : unit + lowest - least + 1);
      expected = static_cast<Bits>(field << (precision - 1)) |
                 static_cast<Bits>(kept & ((std::uint64_t{1} << (precision - 1)) - 1));
    }
    return bits == static_cast<Bits>(expected | (is_less ? sign : Bits{0}));
  }

 private:
  static constexpr int size = 4600;

  static std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
  static bool is_negative(double x) { return bits_of(x) >> 63 != 0; }
  static bool is_zero(double x) { return bits_of(x) << 1 == 0; }
  static bool is_finite(double x) { return (bits_of(x) >> 52 & 0x7ff) != 0x7ff; }
  static bool is_nan_value(double x) { return !is_finite(x) && bits_of(x) << 12 != 0; }
  static std::uint64_t integer(double x, int& exponent) {
    const int field = static_cast<int>(bits_of(x) >> 52 & 0x7ff);
    exponent = (field == 0 ? 1 : field) - 1075;
    return (bits_of(x) & ((std::uint64_t{1} << 52) - 1)) | (field == 0 ? 0 : std::uint64_t{1} << 52);
  }
  static void add_bits(std::vector<std::uint8_t>& to, std::uint64_t x, int at) {
    bool carry = false;
    for (std::size_t i = static_cast<std::size_t>(at); x != 0 || carry; ++i, x >>= 1) {
      const int sum = to.at(i) + static_cast<int>(x & 1) + (carry ? 1 : 0);
      to[i] = sum % 2 == 1 ? 1 : 0;
      carry = sum > 1;
    }
  }
  static void add_all(std::vector<std::uint8_t>& to, const std::vector<std::uint8_t>& from) {
    for (int i = 0; i < size; ++i) {
      if (from[static_cast<std::size_t>(i)] != 0) add_bits(to, 1, i);
    }
  }
  /// |a - b|, and whether a < b.
  static bool difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
                         std::vector<std::uint8_t>& magnitude) {
    bool is_less = false;
    for (std::size_t i = size; i-- > 0;) {
      if (a[i] != b[i]) {
        is_less = b[i] != 0;
        break;
      }
    }
    const std::vector<std::uint8_t>& more = is_less ? b : a;
    const std::vector<std::uint8_t>& less = is_less ? a : b;
    bool borrow = false;
    for (std::size_t i = 0; i < size; ++i) {
      const int digit = more[i] - less[i] - (borrow ? 1 : 0);
      magnitude[i] = digit % 2 != 0 ? 1 : 0;
      borrow = digit < 0;
    }
    return is_less;
  }

  std::vector<std::uint8_t> positive_ = std::vector<std::uint8_t>(size);
  std::vector<std::uint8_t> negative_ = std::vector<std::uint8_t>(size);
  bool positive_infinity = false;
  bool negative_infinity = false;
  bool nan = false;
};

}  // namespace fanin_fuzz
