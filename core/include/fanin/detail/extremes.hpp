// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fanin/device/arithmetic.hpp>
#include <fanin/device/extremes.hpp>
#include <fanin/macros.hpp>
#include <fanin/ordering.hpp>

/// Which of two values is the extreme, and which of two that have places.
namespace fanin::detail {

template <class T>
concept is_half = is_ieee<T> && sizeof(T) == 2 && (ordering<T>::infinity == 0x7c00 || ordering<T>::infinity == 0x7f80);

/// Whether this code has an instruction for the minimum of two T.
template <class T>
inline constexpr bool has_extreme_instruction = has_extreme_instructions && (std::same_as<T, float> || is_half<T>);
template <class T>
FANIN_FUNCTION T minimum_instruction(T a, T b) {
  if constexpr (std::same_as<T, float>) {
    return detail::minimum_of_floats(a, b);
  } else {
    const auto x = std::bit_cast<std::uint16_t>(a);
    const auto y = std::bit_cast<std::uint16_t>(b);
    return std::bit_cast<T>(ordering<T>::infinity == 0x7c00 ? detail::minimum_of_halves(x, y)
                                                            : detail::minimum_of_bfloats(x, y));
  }
}
template <class T>
FANIN_FUNCTION T maximum_instruction(T a, T b) {
  if constexpr (std::same_as<T, float>) {
    return detail::maximum_of_floats(a, b);
  } else {
    const auto x = std::bit_cast<std::uint16_t>(a);
    const auto y = std::bit_cast<std::uint16_t>(b);
    return std::bit_cast<T>(ordering<T>::infinity == 0x7c00 ? detail::maximum_of_halves(x, y)
                                                            : detail::maximum_of_bfloats(x, y));
  }
}

/// IEEE 754-2019 minimum: NaN if either is NaN, -0 < +0.
template <class T>
FANIN_FUNCTION constexpr T minimum(T a, T b) {
  if constexpr (has_extreme_instruction<T>) {
    if (!std::is_constant_evaluated()) return detail::minimum_instruction(a, b);
  }
  if constexpr (runs_on_device && std::is_same_v<T, double>) {  // of which no flag changes the comparison
    if (a < b) return a;
    return b < a || b != b || (b == a && detail::is_negative(b)) ? b : a;
  }
  if (detail::is_surely_below(a, b)) [[likely]] {
    return a;
  }
  return detail::is_lower(b, a) ? b : a;
}

/// IEEE 754-2019 maximum: NaN if either is NaN, -0 < +0.
template <class T>
FANIN_FUNCTION constexpr T maximum(T a, T b) {
  if constexpr (has_extreme_instruction<T>) {
    if (!std::is_constant_evaluated()) return detail::maximum_instruction(a, b);
  }
  if constexpr (runs_on_device && std::is_same_v<T, double>) {
    if (b < a) return a;
    return a < b || b != b || (b == a && !detail::is_negative(b)) ? b : a;
  }
  if (detail::is_surely_below(b, a)) [[likely]] {
    return a;
  }
  return detail::is_higher(b, a) ? b : a;
}

/// The index an accumulator has before any element: behind every index of a range, which may be negative ones too.
inline constexpr std::int64_t no_index = INT64_MAX;

FANIN_FUNCTION constexpr std::int64_t index_or_none(std::int64_t index) { return index == no_index ? -1 : index; }

/// The way back, for merge(): an index of -1 is none where the value is the identity.
template <class T>
FANIN_FUNCTION constexpr std::int64_t none_or_index(std::int64_t index, const T& value, const T& identity) {
  const bool is_identity = !detail::is_lower(value, identity) && !detail::is_lower(identity, value);
  return index == -1 && is_identity ? no_index : index;
}

template <class T, class Prefers>
FANIN_FUNCTION constexpr void keep_preferred(T& value, std::int64_t& index, const T& other, std::int64_t other_index,
                                             Prefers prefers) {
  if constexpr (!runs_on_device) {
    if (prefers.surely(value, other)) return;  // nearly always, and a host predicts it
  }
  const bool take = prefers(other, value) || (other_index < index && !prefers(value, other));
  value = take ? other : value;
  index = take ? other_index : index;
}

/// `surely` is the part of the question that one comparison answers.
struct prefer_lower {
  template <class T>
  FANIN_FUNCTION constexpr bool operator()(const T& x, const T& y) const {
    return detail::is_lower(x, y);
  }
  template <class T>
  FANIN_FUNCTION static constexpr bool surely(const T& x, const T& y) {
    return detail::is_surely_below(x, y);
  }
};

struct prefer_higher {
  template <class T>
  FANIN_FUNCTION constexpr bool operator()(const T& x, const T& y) const {
    return detail::is_higher(x, y);
  }
  template <class T>
  FANIN_FUNCTION static constexpr bool surely(const T& x, const T& y) {
    return detail::is_surely_below(y, x);
  }
};

}  // namespace fanin::detail
