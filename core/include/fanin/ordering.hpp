// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <fanin/device/arithmetic.hpp>
#include <fanin/macros.hpp>

/// CUDA's, for units that know them.
struct __half;
struct __nv_bfloat16;

/// What extremes need to know of a value type.
namespace fanin {

/// What the minimum and the maximum of nothing are: highest(), which no value is above, and lowest(). There is one for
/// every type of which std::numeric_limits tells, and for _Float16, __half and __nv_bfloat16. For a type of one's own,
/// whose values are compared by operator<:
///
///     template <>
///     struct fanin::ordering<date> {
///       FANIN_FUNCTION static constexpr date lowest() { return {INT32_MIN}; }
///       FANIN_FUNCTION static constexpr date highest() { return {INT32_MAX}; }
///     };
template <class T>
struct ordering {};

namespace detail {

template <class T>
concept has_limits = std::numeric_limits<T>::is_specialized;
template <class T>
concept is_float_of_4_bytes = has_limits<T> && (std::floating_point<T> && sizeof(T) == 4);
template <class T>
concept is_float_of_8_bytes = has_limits<T> && (std::floating_point<T> && sizeof(T) == 8);

}  // namespace detail

template <detail::has_limits T>
struct ordering<T> {
  FANIN_FUNCTION static constexpr T lowest() {
    if constexpr (std::numeric_limits<T>::has_infinity) {
      return -std::numeric_limits<T>::infinity();
    } else {
      return std::numeric_limits<T>::lowest();
    }
  }
  FANIN_FUNCTION static constexpr T highest() {
    if constexpr (std::numeric_limits<T>::has_infinity) {
      return std::numeric_limits<T>::infinity();
    } else {
      return std::numeric_limits<T>::max();
    }
  }
};

/// The base of the ordering of a floating-point type of IEEE 754's layout, by the bits of its +infinity, in a
/// std::uint16_t, std::uint32_t or std::uint64_t. Such values are compared by their bits, so that NaN, -0 and denormals
/// are told apart whatever the flags of a unit and the modes of a processor; T needs no operator.
template <class T, auto Infinity>
struct ieee_ordering {
  using bits_type = std::remove_const_t<decltype(Infinity)>;
  static constexpr bits_type infinity = Infinity;
  static constexpr bits_type sign = static_cast<bits_type>(bits_type{1} << (8 * sizeof(bits_type) - 1));

  FANIN_FUNCTION static constexpr T lowest() { return std::bit_cast<T>(static_cast<bits_type>(infinity | sign)); }
  FANIN_FUNCTION static constexpr T highest() { return std::bit_cast<T>(infinity); }
};

template <detail::is_float_of_4_bytes T>
struct ordering<T> : ieee_ordering<T, std::uint32_t{0x7f80'0000}> {};
template <detail::is_float_of_8_bytes T>
struct ordering<T> : ieee_ordering<T, std::uint64_t{0x7ff0'0000'0000'0000}> {};
template <>
struct ordering<__half> : ieee_ordering<__half, std::uint16_t{0x7c00}> {};
template <>
struct ordering<__nv_bfloat16> : ieee_ordering<__nv_bfloat16, std::uint16_t{0x7f80}> {};
#if !defined(__CUDACC__)
#if defined(__FLT16_MANT_DIG__)
template <>
struct ordering<_Float16> : ieee_ordering<_Float16, std::uint16_t{0x7c00}> {};
#endif
#if defined(__BFLT16_MANT_DIG__)
template <>
struct ordering<__bf16> : ieee_ordering<__bf16, std::uint16_t{0x7f80}> {};
#endif
#endif

namespace detail {

template <class T>
concept has_ordering = requires {
  { ordering<T>::lowest() } -> std::convertible_to<T>;
  { ordering<T>::highest() } -> std::convertible_to<T>;
};

template <class T>
concept is_ieee = requires { ordering<T>::infinity; };

/// What max gives of nothing.
template <class T>
FANIN_FUNCTION constexpr T lowest_identity() {
  static_assert(
      has_ordering<T>,
      "fanin: what the extreme of no values of this type is, nobody knows: specialise fanin::ordering<T> with "
      "lowest() and highest(), or write a reducer of your own with an identity()");
  return ordering<T>::lowest();
}

/// What min gives of nothing.
template <class T>
FANIN_FUNCTION constexpr T highest_identity() {
  static_assert(
      has_ordering<T>,
      "fanin: what the extreme of no values of this type is, nobody knows: specialise fanin::ordering<T> with "
      "lowest() and highest(), or write a reducer of your own with an identity()");
  return ordering<T>::highest();
}

template <is_ieee T>
using bits_of_float = typename ordering<T>::bits_type;

/// Unsigned integers in the order of the values, -0 below +0. NaN is outside of the infinities on either side.
template <is_ieee T>
FANIN_FUNCTION constexpr bits_of_float<T> ascending_bits(const T& x) {
  using bits_type = bits_of_float<T>;
  const auto bits = std::bit_cast<bits_type>(x);
  const auto all_if_negative = static_cast<std::make_signed_t<bits_type>>(bits) >> (8 * sizeof(bits_type) - 1);
  return static_cast<bits_type>(bits ^ (static_cast<bits_type>(all_if_negative) | ordering<T>::sign));
}

/// The value of such an integer.
template <is_ieee T>
FANIN_FUNCTION constexpr T of_ascending_bits(bits_of_float<T> ascending) {
  constexpr auto sign = ordering<T>::sign;
  return std::bit_cast<T>(static_cast<bits_of_float<T>>((ascending & sign) != 0 ? ascending ^ sign : ~ascending));
}

template <class T>
FANIN_FUNCTION constexpr bool is_nan(const T& x) {
  if constexpr (is_ieee<T>) {
    if constexpr (runs_on_device && sizeof(T) >= 4) return x != x;  // one instruction, and nvcc assumes nothing of NaN
    using bits_type = bits_of_float<T>;
    return static_cast<bits_type>(std::bit_cast<bits_type>(x) & ~ordering<T>::sign) > ordering<T>::infinity;
  } else if constexpr (std::numeric_limits<T>::has_quiet_NaN) {
    return x != x;
  } else {
    return false;
  }
}

/// Whether the sign of a floating-point zero tells (x and y being equal otherwise).
template <class T>
FANIN_FUNCTION constexpr bool is_negative(const T& x) {
  if constexpr (is_ieee<T>) {
    return (std::bit_cast<bits_of_float<T>>(x) & ordering<T>::sign) != 0;  // nvcc makes more of __builtin_signbit
  } else if constexpr (std::floating_point<T>) {
    return __builtin_signbit(x) != 0;
  } else {
    return false;
  }
}

/// Whether a comparison of floats may be taken at its word where it says yes: flush-to-zero only makes more of them
/// equal. Without NaN and infinities the compiler may turn it round.
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
template <class T>
inline constexpr bool has_quick_comparison = !is_ieee<T>;
#else
template <class T>
inline constexpr bool has_quick_comparison = !is_ieee<T> || (std::floating_point<T> && sizeof(T) >= 4);
#endif

/// Whether one comparison says that x is below y and neither is NaN: a yes is one, whatever the flags and modes.
template <class T>
FANIN_FUNCTION constexpr bool is_surely_below(const T& x, const T& y) {
  if constexpr (has_quick_comparison<T>) {
    return x < y;
  } else {
    return false;
  }
}

/// Whether a minimum prefers x to y whatever their indices: NaN before everything, -0 before +0.
template <class T>
FANIN_FUNCTION constexpr bool is_lower(const T& x, const T& y) {
  if (detail::is_surely_below(x, y)) return true;
  if (detail::is_surely_below(y, x)) return false;
  if (detail::is_nan(x) || detail::is_nan(y)) return detail::is_nan(x) && !detail::is_nan(y);
  if constexpr (is_ieee<T>) {
    return detail::ascending_bits(x) < detail::ascending_bits(y);
  } else {
    return detail::is_negative(x) && !detail::is_negative(y);
  }
}

/// Whether a maximum prefers x to y whatever their indices: NaN before everything, +0 before -0.
template <class T>
FANIN_FUNCTION constexpr bool is_higher(const T& x, const T& y) {
  if (detail::is_surely_below(y, x)) return true;
  if (detail::is_surely_below(x, y)) return false;
  if (detail::is_nan(x) || detail::is_nan(y)) return detail::is_nan(x) && !detail::is_nan(y);
  if constexpr (is_ieee<T>) {
    return detail::ascending_bits(y) < detail::ascending_bits(x);
  } else {
    return detail::is_negative(y) && !detail::is_negative(x);
  }
}

}  // namespace detail

}  // namespace fanin
