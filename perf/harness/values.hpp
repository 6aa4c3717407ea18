// SPDX-License-Identifier: Apache-2.0
#pragma once

// The synthetic data: a value per position, computed alike on host and device, so that nothing is
// copied and the oracle needs no memory of its own.

#include <bit>
#include <cstdint>
#include <type_traits>

#include "harness/data_kinds.hpp"
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

namespace detail {

/// z, in units of 2^-48: twelve numbers of 16 bits, and what lies between two sums of such.
FANIN_PERF_FUNCTION constexpr std::int64_t normal_number(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t sum = 0;
  for (std::uint64_t k = 1; k <= 3; ++k) {
    const std::uint64_t word = random_word(seed + k, position);
    sum += (word & 0xFFFF) + (word >> 16 & 0xFFFF) + (word >> 32 & 0xFFFF) + (word >> 48);
  }
  const std::uint64_t between = random_word(seed + 4, position) >> 32;
  constexpr std::int64_t mean = (std::int64_t{12} * 0xFFFF << 31) + (std::int64_t{1} << 31);
  return static_cast<std::int64_t>(sum << 32 | between) - mean;
}

template <class T>
FANIN_PERF_FUNCTION constexpr T cancelling_number(std::uint64_t seed, std::uint64_t position) {
  constexpr std::uint64_t to_partner = 0x2A5;  // within 1024
  const std::uint64_t first = position < (position ^ to_partner) ? position : position ^ to_partner;
  const T value = value_at<T>(seed, first);
  if (position != first) return -value;
  return random_word(seed + 1, first) % 64 == 0 ? value * T{1 + 0x1p-20} : value;
}

}  // namespace detail

/// The part of a mixture that a position belongs to.
FANIN_PERF_FUNCTION constexpr const data_part& part_at(const data_kind& kind, std::uint64_t seed,
                                                       std::uint64_t position) {
  std::uint32_t all = 0;
  for (int k = 0; k < kind.parts; ++k) all += kind.part[k].weight;
  std::uint64_t drawn = random_word(seed + 5, position >> kind.run_bits) % all;
  int k = 0;
  for (; drawn >= kind.part[k].weight; ++k) drawn -= kind.part[k].weight;
  return kind.part[k];
}

/// The same of data of a kind; of integers and floats of 16 bits always as above.
template <class T>
FANIN_PERF_FUNCTION constexpr T value_at(const data_kind& any, std::uint64_t seed, std::uint64_t position) {
  if constexpr (!takes_data_kinds<T>) {
    return value_at<T>(seed, position);
  } else if constexpr (is_compound<T>) {
    struct {
      component_type<T> of[component_count<T>];
    } parts{};
    for (std::size_t k = 0; k < component_count<T>; ++k) {
      parts.of[k] = value_at<component_type<T>>(any, seed, position * component_count<T> + k);
    }
    return std::bit_cast<T>(parts);
  } else {
    const data_part& kind = any.parts == 1 ? any.part[0] : part_at(any, seed, position);
    const std::uint64_t other = random_word(seed + 1, position);
    const auto as_number = [](std::int64_t units, double unit) {
      return static_cast<T>(static_cast<double>(units) * unit);
    };
    switch (kind.shape) {
      case data_shape::uniform: break;
      case data_shape::normal: return as_number(detail::normal_number(seed, position), 0x1p-48);
      case data_shape::loguniform: {
        const auto binade = static_cast<std::int64_t>((other >> 32) * static_cast<std::uint64_t>(kind.number) >> 32);
        return detail::make_number<T>(other, binade - kind.number / 2, random_word(seed, position));
      }
      case data_shape::lognormal: {
        const std::int64_t logarithm = (detail::normal_number(seed, position) >> 20) * kind.number;  // 2^-44
        return detail::make_number<T>(0, logarithm >> 44, static_cast<std::uint64_t>(logarithm) << 20);
      }
      case data_shape::scaled: {
        const T power = detail::make_number<T>(0, static_cast<std::int64_t>(other >> 59) - 16, 0);
        return (value_at<T>(seed, position) - T{0.25}) * power;
      }
      case data_shape::outliers:
        if (other % static_cast<std::uint64_t>(kind.number) != 0) break;
        return detail::any_number<T>(random_word(seed + 2, position));
      case data_shape::sparse:
        if (other % static_cast<std::uint64_t>(kind.number) != 0) return T{0};
        break;
      case data_shape::anybits: return detail::any_number<T>(random_word(seed, position));
      case data_shape::sorted: return as_number(static_cast<std::int64_t>(position << 20 | other >> 44), 0x1p-52);
      case data_shape::cancelling: return detail::cancelling_number<T>(seed, position);
      case data_shape::denormals: {
        using word = typename detail::number_format<T>::word;
        constexpr word sign = word{1} << (8 * sizeof(T) - 1);
        constexpr word fractions = (word{1} << detail::number_format<T>::fraction) - 1;
        const auto bits = static_cast<word>(random_word(seed, position) >> (64 - 8 * sizeof(T)));
        return std::bit_cast<T>(static_cast<word>(bits & (sign | fractions)));
      }
    }
    return value_at<T>(seed, position);
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
