// SPDX-License-Identifier: Apache-2.0
#pragma once

// The synthetic data: a value per position, computed alike on host and device, so that nothing is
// copied and the oracle needs no memory of its own.

#include <bit>
#include <cstdint>
#include <type_traits>

#include "harness/elements.hpp"

namespace fanin_perf {

/// A well-mixed 64-bit word per position (a finaliser of the kind that splitmix64 uses).
FANIN_PERF_FUNCTION constexpr std::uint64_t random_word(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t z = (position + 1) * 0x9E3779B97F4A7C15u + seed * 0xD1342543DE82EF95u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// The value at a position.
/// Integers: 2^20 different ones over the whole range, so that sums wrap and extremes tie.
/// Floats: uniform in [-0.25, 0.75), signed for the extremes, with a mean that betrays a dropped
/// part of a sum. Of those of 16 bits as many as they hold exactly: multiples of 2^-10 or 2^-8.
/// Complex numbers and structs: each component as if the pool consisted of components.
template <class T>
FANIN_PERF_FUNCTION constexpr T value_at(std::uint64_t seed, std::uint64_t position) {
  const std::uint64_t word = random_word(seed, position);
  if constexpr (std::is_same_v<T, double>) {
    return static_cast<double>(word >> 11) * 0x1p-53 - 0.25;
  } else if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(static_cast<std::int32_t>(word >> 40) - (1 << 22)) * 0x1p-24F;
  } else if constexpr (std::is_same_v<T, float16>) {
    return float16::of(static_cast<float>(static_cast<std::int32_t>(word >> 54) - (1 << 8)) * 0x1p-10F);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return bfloat16::of(static_cast<float>(static_cast<std::int32_t>(word >> 56) - (1 << 6)) * 0x1p-8F);
  } else if constexpr (is_compound<T>) {
    struct {
      component_type<T> of[component_count<T>];
    } parts{};
    for (std::size_t k = 0; k < component_count<T>; ++k) {
      parts.of[k] = value_at<component_type<T>>(seed, position * component_count<T> + k);
    }
    return std::bit_cast<T>(parts);
  } else {
    const std::uint64_t spread = (word >> 44) * 0x9E3779B97F4A7C15u;
    return static_cast<T>(sizeof(T) == 8 ? spread : spread >> 32);
  }
}

/// x * y; integers wrap.
template <class T>
FANIN_PERF_FUNCTION constexpr T product(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    using word = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<word>(x) * static_cast<word>(y));
  } else {
    return x * y;
  }
}

/// x + y; integers wrap.
template <class T>
FANIN_PERF_FUNCTION constexpr T wrapping_sum(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    using word = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<word>(x) + static_cast<word>(y));
  } else {
    return x + y;
  }
}

}  // namespace fanin_perf
