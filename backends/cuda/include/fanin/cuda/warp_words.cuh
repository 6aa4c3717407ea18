// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// One word of each of a warp's 32 lanes, joined; all lanes get it. By redux.sync, which devices have from compute
/// capability 8.0 on, else by five shuffles.
namespace fanin::detail {

template <class Word, class Join>
__device__ Word shuffle_words(Word value, const Join& join) {
#pragma unroll
  for (unsigned delta = 16; delta > 0; delta /= 2) value = join(value, __shfl_xor_sync(0xffffffffu, value, delta));
  return value;
}

__device__ inline int least_in_warp(int value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(0xffffffffu, value);
#else
  return shuffle_words(value, [](int a, int b) { return a < b ? a : b; });
#endif
}

__device__ inline unsigned most_in_warp(unsigned value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffu, value);
#else
  return shuffle_words(value, [](unsigned a, unsigned b) { return a > b ? a : b; });
#endif
}

__device__ inline std::uint32_t sum_in_warp(std::uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xffffffffu, value);
#else
  return shuffle_words(value, [](std::uint32_t a, std::uint32_t b) { return a + b; });
#endif
}

}  // namespace fanin::detail
