// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cfenv>
#include <concepts>
#include <cstdint>

#include <fanin/detail/exact_bins.hpp>
#include <fanin/detail/exact_parts.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/detail/variant.hpp>
#include <fanin/device/arithmetic.hpp>
#include <fanin/macros.hpp>

/// What an exact sum's window asks of numbers, by their bits, and of the thread that adds them.
namespace fanin::detail {

inline namespace FANIN_DETAIL_VARIANT {

/// Whether this thread of a host does, or a device.
FANIN_FUNCTION inline bool rounds_to_nearest() {
  if constexpr (runs_on_device) {
    return true;
  } else {
#if defined(__GNUC__) && defined(__SSE2__) && !defined(__CUDACC__)
    return (__builtin_ia32_stmxcsr() & 0x6000) == 0;  // fegetround asks another unit
#elif defined(FE_TONEAREST)
    return std::fegetround() == FE_TONEAREST;
#else
    return true;
#endif
  }
}

}  // namespace FANIN_DETAIL_VARIANT

/// The upper half of the number from which on none gets into a window. On a host whose thread does not round to nearest
/// that is 0: there the rest below a bin need not be a number. A device always does.
template <bool OnDevice>
struct bound_of_window {
  std::uint32_t upper = 0;
  FANIN_FUNCTION void set_for_this_thread() {
    upper = rounds_to_nearest() ? exact_bins::upper_half_of_power(exact_bins::highest) : 0;
  }
  FANIN_FUNCTION std::uint32_t get() const { return upper; }
};
template <>
struct bound_of_window<true> {
  FANIN_FUNCTION void set_for_this_thread() {}
  FANIN_FUNCTION static constexpr std::uint32_t get() { return exact_bins::upper_half_of_power(exact_bins::highest); }
};

FANIN_FUNCTION constexpr std::uint32_t upper_of(std::uint64_t bits) {
  return exact_bins::upper_half(bits) & exact_bins::no_sign;
}
/// By its bits: flush-to-zero would take a denormal number for zero.
template <class T>
FANIN_FUNCTION bool is_zero(T x) {
  if constexpr (std::same_as<T, float>) {
    return std::bit_cast<std::uint32_t>(x) << 1 == 0;
  } else {
    const std::uint64_t bits = detail::double_bits(x);
    return (upper_of(bits) | static_cast<std::uint32_t>(bits)) == 0;
  }
}
FANIN_FUNCTION constexpr bool is_finite(std::uint64_t bits) { return (bits >> 52 & 0x7ff) != 0x7ff; }
FANIN_FUNCTION constexpr bool is_normal_number(std::uint64_t bits) {
  return is_finite(bits) && (bits >> 52 & 0x7ff) != 0;
}
/// The error of a product stands up to 106 bits below it, and must be a normal number.
inline constexpr int lowest_product = -900;
FANIN_FUNCTION inline bool has_normal_product(double x, double y) {
  const std::uint64_t x_bits = double_bits(x);
  const std::uint64_t y_bits = double_bits(y);
  constexpr int bias = 1023;
  const int exponents = static_cast<int>(x_bits >> 52 & 0x7ff) + static_cast<int>(y_bits >> 52 & 0x7ff) - 2 * bias;
  return is_normal_number(x_bits) && is_normal_number(y_bits) && exponents >= lowest_product &&
         exponents < exact_bins::highest - 1;
}

template <int Count, class T = double>
struct some_numbers {
  T of[Count];

  FANIN_FUNCTION std::uint32_t largest_upper_half() const {
    std::uint32_t largest = 0;
    if constexpr (std::same_as<T, float>) {
      constexpr std::uint32_t infinity = 0x7f80'0000;
      detail::unrolled<Count>([&](int i) {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(of[i]) & exact_bins::no_sign;
        largest = bits > largest ? bits : largest;
      });
      // That of a denormal number is larger than it would be as a double.
      return largest >= infinity ? exact_bins::upper_half(~0ULL)
                                 : (largest >> 3) + exact_bins::upper_half_of_power(-127);
    } else {
      detail::unrolled<Count>([&](int i) {
        const std::uint32_t upper = detail::upper_of(detail::double_bits(of[i]));
        largest = upper > largest ? upper : largest;
      });
      return largest;
    }
  }
};
template <int Count, class T>
FANIN_FUNCTION some_numbers<Count, T> some_of(const T* values) {
  some_numbers<Count, T> x;
  detail::unrolled<Count>([&](int i) { x.of[i] = values[i]; });
  return x;
}
}  // namespace fanin::detail
