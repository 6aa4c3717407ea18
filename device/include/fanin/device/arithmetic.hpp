// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include <fanin/macros.hpp>

/// Arithmetic that is done as it is written, whatever flags a unit is compiled with.
namespace fanin::detail {

/// Whether this code runs on a device. Where a unit has code for both, each of them has its own answer.
#if defined(__CUDA_ARCH__)
inline constexpr bool runs_on_device = true;
#else
inline constexpr bool runs_on_device = false;
#endif

/// x as a value that the compiler knows nothing of: else it may fuse the product that gave x into the addition that
/// takes it, which is another number.
FANIN_FUNCTION inline double opaque(double x) {
#if !defined(__CUDA_ARCH__)
#if defined(__GNUC__) && defined(__SSE2__)
  __asm__("" : "+x"(x));
#elif defined(__GNUC__) && defined(__aarch64__)
  __asm__("" : "+w"(x));
#else
  volatile double copy = x;
  x = copy;
#endif
#endif
  return x;
}

/// Rounded once and never fused, whatever nvcc's -fmad says. On the host opaque() sees to that.
FANIN_FUNCTION inline double rounded_sum(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}
FANIN_FUNCTION inline double rounded_difference(double a, double b) { return rounded_sum(a, -b); }
FANIN_FUNCTION inline double rounded_product(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return opaque(a * b);
#endif
}

/// On a device: as a double, denormals too.
FANIN_FUNCTION inline double converted(float x) {
#if defined(__CUDA_ARCH__)
  double wide;
  asm("cvt.f64.f32 %0, %1;" : "=d"(wide) : "f"(x));
  return wide;
#else
  return static_cast<double>(x);
#endif
}

/// std::countl_zero, which nvcc 13.0 takes on a device and computes wrongly there.
template <std::unsigned_integral Word>
FANIN_FUNCTION constexpr int leading_zeros(Word word) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Word) == 8) {
    return __clzll(static_cast<long long>(word));
  } else {
    return __clz(static_cast<int>(word));
  }
#else
  return std::countl_zero(word);
#endif
}

/// The upper half of the product.
FANIN_FUNCTION constexpr std::uint32_t high_product(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32);
}
FANIN_FUNCTION constexpr std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  const std::uint64_t low_a = a & UINT32_MAX;
  const std::uint64_t low_b = b & UINT32_MAX;
  const std::uint64_t middle = (a >> 32) * low_b + (low_a * low_b >> 32);
  const std::uint64_t other = low_a * (b >> 32) + (middle & UINT32_MAX);
  return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
#endif
}

#if defined(__CUDACC__)
/// What libdevice asks by, a constant before code is made: whether the unit's device code flushes subnormal floats.
extern "C" __device__ int __nvvm_reflect(const char*);

__device__ inline float add_on_device(float a, float b) {
  if (__nvvm_reflect("__CUDA_FTZ") == 0) return a + b;
  float c = 0;
  asm("add.rn.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
__device__ inline float multiply_on_device(float a, float b) {
  if (__nvvm_reflect("__CUDA_FTZ") == 0) return a * b;
  float c = 0;
  asm("mul.rn.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
#endif

/// Sums and products of floats that keep subnormal numbers in every unit. Under --use_fast_math or --ftz=true a
/// device's operators do not, and the host, which no macro tells of it, does.
FANIN_FUNCTION constexpr float keeping_add(float a, float b) {
#if defined(__CUDA_ARCH__)
  return add_on_device(a, b);
#else
  return a + b;
#endif
}
FANIN_FUNCTION constexpr float keeping_multiply(float a, float b) {
#if defined(__CUDA_ARCH__)
  return multiply_on_device(a, b);
#else
  return a * b;
#endif
}

}  // namespace fanin::detail
