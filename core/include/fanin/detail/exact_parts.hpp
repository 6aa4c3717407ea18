// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include <fanin/device/arithmetic.hpp>
#include <fanin/macros.hpp>

/// Floating-point numbers by their bits: as an integer times a power of two, and floats as doubles.
namespace fanin::detail {

/// A finite number as an integer times a power of two.
template <std::unsigned_integral Word>
struct exact_parts {
  Word magnitude;
  int exponent;
  bool is_negative;
};

/// Of bits that are not those of an infinity or a NaN.
FANIN_FUNCTION constexpr exact_parts<std::uint64_t> parts_of_double(std::uint64_t bits) {
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & 0xf'ffff'ffff'ffffULL;
  return {field == 0 ? fraction : fraction | 1ULL << 52, (field == 0 ? 1 : field) - 1075, bits >> 63 != 0};
}
FANIN_FUNCTION constexpr exact_parts<std::uint32_t> parts_of_float(std::uint32_t bits) {
  const int field = static_cast<int>(bits >> 23 & 0xff);
  const std::uint32_t fraction = bits & 0x7f'ffffU;
  return {field == 0 ? fraction : fraction | 1U << 23, (field == 0 ? 1 : field) - 150, bits >> 31 != 0};
}

/// A float's bits as those of the double of the same value, denormals too.
FANIN_FUNCTION constexpr std::uint64_t widened_bits(std::uint32_t bits) {
  const std::uint64_t sign = static_cast<std::uint64_t>(bits >> 31) << 63;
  const std::uint32_t rest = bits & 0x7fff'ffffU;
  if (rest >= 0x7f80'0000U)
    return sign | 0x7ff0'0000'0000'0000ULL | static_cast<std::uint64_t>(rest & 0x7f'ffffU) << 29;
  if (rest >= 0x80'0000U) return sign | ((static_cast<std::uint64_t>(rest) << 29) + (896ULL << 52));
  if (rest == 0) return sign;
  const int up = leading_zeros(rest) - 8;  // until the leading bit stands where a normal number's is implied
  return sign | ((static_cast<std::uint64_t>(rest) << (29 + up)) + (static_cast<std::uint64_t>(896 - up) << 52));
}

FANIN_FUNCTION inline std::uint64_t double_bits(double x) { return std::bit_cast<std::uint64_t>(x); }
FANIN_FUNCTION inline std::uint64_t double_bits(float x) { return widened_bits(std::bit_cast<std::uint32_t>(x)); }

template <class T>
concept exact_element = std::same_as<T, float> || std::same_as<T, double>;

}  // namespace fanin::detail
