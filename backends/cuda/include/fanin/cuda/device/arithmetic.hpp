// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/macros.hpp>

/// Operations on floats that keep subnormal numbers in every unit. Under --use_fast_math or --ftz=true a device's
/// operators do not, and the host, which no macro tells of it, does.
namespace fanin::detail {

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
