// SPDX-License-Identifier: Apache-2.0
#pragma once

// Element types beyond C++'s own numbers, the same to g++ and nvcc.

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__CUDACC__)
#define FANIN_PERF_FUNCTION __host__ __device__
#else
#define FANIN_PERF_FUNCTION
#endif

namespace fanin_perf {

/// IEEE 754 binary16, the bits of CUDA's __half.
struct float16 {
  std::uint16_t bits;

  /// Of a finite value that binary16 holds exactly.
  FANIN_PERF_FUNCTION static constexpr float16 of(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const float magnitude = std::bit_cast<float>(word & 0x7FFFFFFFu);
    // 112 is the difference of the exponents' biases.
    const auto scaled = std::bit_cast<std::uint32_t>(magnitude * 0x1p-112F);
    return {static_cast<std::uint16_t>((word >> 31 << 15) | scaled >> 13)};
  }

  FANIN_PERF_FUNCTION explicit constexpr operator float() const {
    const std::uint32_t rest = std::uint32_t{bits} & 0x7FFFu;
    const std::uint32_t magnitude = rest < 0x7C00u
                                        ? std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p112F)
                                        : 0x7F800000u | rest << 13;
    return std::bit_cast<float>((std::uint32_t{bits} & 0x8000u) << 16 | magnitude);
  }
};

/// The upper half of a float, the bits of CUDA's __nv_bfloat16.
struct bfloat16 {
  std::uint16_t bits;

  /// Of a finite value that bfloat16 holds exactly.
  FANIN_PERF_FUNCTION static constexpr bfloat16 of(float value) {
    return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16)};
  }

  FANIN_PERF_FUNCTION explicit constexpr operator float() const {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }
};

/// A user's struct of 64 bytes.
struct eight_doubles {
  double part[8];

  FANIN_PERF_FUNCTION friend constexpr eight_doubles operator+(const eight_doubles& x, const eight_doubles& y) {
    eight_doubles sum{};
    for (int k = 0; k < 8; ++k) sum.part[k] = x.part[k] + y.part[k];
    return sum;
  }
};

namespace detail {

template <class T, class Sum = T, class Component = Sum>
struct element_traits_of {
  using sum = Sum;
  using component = Component;
};
template <class T>
struct element_traits : element_traits_of<T> {};
template <>
struct element_traits<std::int8_t> : element_traits_of<std::int8_t, std::int32_t> {};
template <>
struct element_traits<std::uint8_t> : element_traits_of<std::uint8_t, std::uint32_t> {};
template <>
struct element_traits<std::int16_t> : element_traits_of<std::int16_t, std::int32_t> {};
template <>
struct element_traits<float16> : element_traits_of<float16, float> {};
template <>
struct element_traits<bfloat16> : element_traits_of<bfloat16, float> {};
template <class F>
struct element_traits<std::complex<F>> : element_traits_of<std::complex<F>, std::complex<F>, F> {};
template <>
struct element_traits<eight_doubles> : element_traits_of<eight_doubles, eight_doubles, double> {};

}  // namespace detail

/// What the sum of such elements is accumulated in: 32 bits for narrower ones, else T.
template <class T>
using sum_type = typename detail::element_traits<T>::sum;

/// What such a sum consists of: itself, unless it is a complex number or a struct.
template <class T>
using component_type = typename detail::element_traits<T>::component;

/// Of complex numbers and structs, whose components stand one after the other.
template <class T>
inline constexpr bool is_compound = !std::is_same_v<component_type<T>, sum_type<T>>;

template <class T>
inline constexpr std::size_t component_count = sizeof(sum_type<T>) / sizeof(component_type<T>);

}  // namespace fanin_perf
