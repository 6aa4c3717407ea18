// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/macros.hpp>

/// IEEE 754-2019 minimum and maximum, one instruction each, in which denormals count whatever nvcc's -ftz says. Devices
/// have them from compute capability 8.0 on; elsewhere nobody calls these.
namespace fanin::detail {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
inline constexpr bool has_extreme_instructions = true;
#else
inline constexpr bool has_extreme_instructions = false;
#endif

FANIN_FUNCTION inline float minimum_of_floats([[maybe_unused]] float a, [[maybe_unused]] float b) {
  float c = 0;
#if defined(__CUDA_ARCH__)
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
#endif
  return c;
}
FANIN_FUNCTION inline float maximum_of_floats([[maybe_unused]] float a, [[maybe_unused]] float b) {
  float c = 0;
#if defined(__CUDA_ARCH__)
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
#endif
  return c;
}

/// On the bits of half precision and bfloat16.
FANIN_FUNCTION inline std::uint16_t minimum_of_halves([[maybe_unused]] std::uint16_t a,
                                                      [[maybe_unused]] std::uint16_t b) {
  std::uint16_t c = 0;
#if defined(__CUDA_ARCH__)
  asm("min.NaN.f16 %0, %1, %2;" : "=h"(c) : "h"(a), "h"(b));
#endif
  return c;
}
FANIN_FUNCTION inline std::uint16_t maximum_of_halves([[maybe_unused]] std::uint16_t a,
                                                      [[maybe_unused]] std::uint16_t b) {
  std::uint16_t c = 0;
#if defined(__CUDA_ARCH__)
  asm("max.NaN.f16 %0, %1, %2;" : "=h"(c) : "h"(a), "h"(b));
#endif
  return c;
}
FANIN_FUNCTION inline std::uint16_t minimum_of_bfloats([[maybe_unused]] std::uint16_t a,
                                                       [[maybe_unused]] std::uint16_t b) {
  std::uint16_t c = 0;
#if defined(__CUDA_ARCH__)
  asm("min.NaN.bf16 %0, %1, %2;" : "=h"(c) : "h"(a), "h"(b));
#endif
  return c;
}
FANIN_FUNCTION inline std::uint16_t maximum_of_bfloats([[maybe_unused]] std::uint16_t a,
                                                       [[maybe_unused]] std::uint16_t b) {
  std::uint16_t c = 0;
#if defined(__CUDA_ARCH__)
  asm("max.NaN.bf16 %0, %1, %2;" : "=h"(c) : "h"(a), "h"(b));
#endif
  return c;
}

}  // namespace fanin::detail
