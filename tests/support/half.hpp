// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fanin/config.hpp>
#include <fanin/ordering.hpp>
#if FANIN_HAS_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "support/data.hpp"

/// Half precision and bfloat16: CUDA's, and where there is no CUDA types that have nothing but their bits.
namespace fanin_test {

#if FANIN_HAS_CUDA
using half = __half;
using bfloat16 = __nv_bfloat16;
#else
struct half {
  std::uint16_t bits;
};
struct bfloat16 {
  std::uint16_t bits;
};
#endif

}  // namespace fanin_test

#if !FANIN_HAS_CUDA
template <>
struct fanin::ordering<fanin_test::half> : fanin::ieee_ordering<fanin_test::half, std::uint16_t{0x7c00}> {};
template <>
struct fanin::ordering<fanin_test::bfloat16> : fanin::ieee_ordering<fanin_test::bfloat16, std::uint16_t{0x7f80}> {};
#endif

namespace fanin_test {

/// What 16 bits are worth, by their parts.
template <class T>
double value_of(T x) {
  constexpr int fraction_bits = sizeof(T) == 2 && fanin::ordering<T>::infinity == 0x7c00 ? 10 : 7;
  constexpr int bias = (1 << (14 - fraction_bits)) - 1;
  const unsigned bits = std::bit_cast<std::uint16_t>(x);
  const int fraction = static_cast<int>(bits & ((1U << fraction_bits) - 1));
  const int exponent = static_cast<int>(bits >> fraction_bits) & (2 * bias + 1);
  double value = 0;
  if (exponent == 2 * bias + 1) {
    value = fraction == 0 ? INFINITY : NAN;
  } else {
    const int whole = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
    value = std::ldexp(whole, (exponent == 0 ? 1 : exponent) - bias - fraction_bits);
  }
  return std::copysign(value, bits >> 15 == 0 ? 1 : -1);
}

/// Zeros, denormals, ordinary values and infinities of both signs; any bits but NaN; NaN among them.
template <class T>
std::vector<std::vector<T>> arrays_of_half(std::size_t n) {
  std::vector<std::vector<T>> all(4, std::vector<T>(n));
  constexpr std::uint16_t infinity = fanin::ordering<T>::infinity;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t bits = mix(i);
    const auto sign = static_cast<std::uint16_t>(bits & 0x8000);
    const auto below_infinity = static_cast<std::uint16_t>((bits >> 16) % infinity);
    all[0][i] = std::bit_cast<T>(static_cast<std::uint16_t>(sign | (bits >> 16) % 4));
    all[1][i] = std::bit_cast<T>(static_cast<std::uint16_t>(sign | below_infinity));
    all[2][i] = std::bit_cast<T>(static_cast<std::uint16_t>(sign | infinity));
    all[3][i] = i % 1000 == 700 ? std::bit_cast<T>(static_cast<std::uint16_t>(sign | (infinity + 5))) : all[1][i];
  }
  return all;
}

}  // namespace fanin_test
