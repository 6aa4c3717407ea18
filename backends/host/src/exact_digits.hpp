// SPDX-License-Identifier: Apache-2.0
// What exact sums do one by one: a part of level.hpp.

/// Adds magnitude * 2^exponent.
template <class Digits>
void add_magnitude(Digits& to, unsigned __int128 magnitude, int exponent, bool is_negative) {
  const int at = exponent - Digits::lowest;
  const int shift = at % 32;
  std::int64_t* const digit = to.digit + at / 32;
  const std::int64_t sign = is_negative ? -1 : 0;
  const unsigned __int128 low = magnitude << shift;
  const auto high = shift == 0 ? 0 : static_cast<std::uint64_t>(magnitude >> 96) >> (32 - shift);
  const auto add = [&](int k, std::uint64_t word) {
    digit[k] += (static_cast<std::int64_t>(word & 0xffff'ffff) ^ sign) - sign;
  };
  for (int k = 0; k < 3; ++k) add(k, static_cast<std::uint64_t>(low >> 32 * k));
  if (const auto word = static_cast<std::uint64_t>(low >> 96); word != 0) add(3, word);  // where there may be no digit
  if (high != 0) add(4, high);
}

template <class Digits>
void add_sum(Digits& to, __int128 sum, int exponent) {
  add_magnitude(to, static_cast<unsigned __int128>(sum < 0 ? -sum : sum), exponent, sum < 0);
}

/// A double's bits, split. Those of infinities and NaN have field 2047.
struct parts {
  std::uint64_t magnitude;
  int exponent;
  int field;
  bool is_negative;
};
inline parts parts_of(double x) {
  const auto bits = __builtin_bit_cast(std::uint64_t, x);
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & 0xf'ffff'ffff'ffff;
  return {field == 0 ? fraction : fraction | 1ULL << 52, (field == 0 ? 1 : field) - 1075, field, bits >> 63 != 0};
}

template <class Digits>
void count_special(Digits& to, bool is_nan, bool is_negative) {
  ++(is_nan ? to.nans : (is_negative ? to.negative_infinities : to.positive_infinities));
}

/// Adds one number, whatever it is.
template <class Digits>
void add_number(Digits& to, double x) {
  const parts of = parts_of(x);
  if (of.field == 2047) return count_special(to, of.magnitude << 12 != 0, of.is_negative);
  const int at = of.exponent - Digits::lowest;
  const unsigned __int128 shifted = static_cast<unsigned __int128>(of.magnitude) << at % 32;
  const std::int64_t sign = of.is_negative ? -1 : 0;
  std::int64_t* const digit = to.digit + at / 32;
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) {
    digit[k] += (static_cast<std::int64_t>(static_cast<std::uint32_t>(shifted >> 32 * k)) ^ sign) - sign;
  }
}

/// Adds x * y, as IEEE has it where one is no number.
template <class Digits>
void add_product(Digits& to, double x, double y) {
  const parts of_x = parts_of(x);
  const parts of_y = parts_of(y);
  const bool is_negative = of_x.is_negative != of_y.is_negative;
  if (of_x.field == 2047 || of_y.field == 2047) return add_number(to, x * y);
  add_magnitude(to, static_cast<unsigned __int128>(of_x.magnitude) * of_y.magnitude, of_x.exponent + of_y.exponent,
                is_negative);
}

/// What digits hold beyond 32 bits goes to the next.
template <class Digits>
void carry(Digits& of) {
  for (int k = 0; k + 1 < Digits::count; ++k) {
    of.digit[k + 1] += of.digit[k] >> 32;
    of.digit[k] &= 0xffff'ffff;
  }
}
