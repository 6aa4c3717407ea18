// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

/// What the 32 lanes of a warp do together. All of them call, at once.
namespace fanin::detail {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;

__device__ inline bool all_in_warp(bool holds) { return __all_sync(all_lanes, holds) != 0; }
__device__ inline bool of_lane_0(bool holds) { return __shfl_sync(all_lanes, holds, 0) != 0; }

/// A bit for each lane where it holds; all lanes get them.
__device__ inline std::uint32_t lanes_where(bool holds) { return __ballot_sync(all_lanes, holds); }

/// What lane `from` has.
template <class Number>
__device__ Number of_lane(Number value, int from) {
  return __shfl_sync(all_lanes, value, from);
}

/// Another lane's value, `delta` lanes on, of any trivially copyable type, word by word. The last lanes get some value.
template <class T>
__device__ T shuffle_down(const T& value, unsigned delta) {
  constexpr int words = (sizeof(T) + 3) / 4;
  std::uint32_t word[words] = {};
  ::memcpy(word, &value, sizeof(T));
#pragma unroll
  for (int k = 0; k < words; ++k) word[k] = __shfl_down_sync(all_lanes, word[k], delta);
  T moved;
  ::memcpy(&moved, word, sizeof(T));
  return moved;
}

/// Whether devices of this code have redux.sync, one instruction for all lanes: from compute capability 8.0 on.
#if __CUDA_ARCH__ >= 800
inline constexpr bool has_redux = true;
#else
inline constexpr bool has_redux = false;
#endif

template <class Word, class Join>
__device__ Word shuffle_words(Word value, const Join& join) {
#pragma unroll
  for (unsigned delta = 16; delta > 0; delta /= 2) value = join(value, __shfl_xor_sync(all_lanes, value, delta));
  return value;
}

/// One word of each lane, joined; all lanes get it. By redux.sync, else by five shuffles.
__device__ inline int least_in_warp(int value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(all_lanes, value);
#else
  return shuffle_words(value, [](int a, int b) { return a < b ? a : b; });
#endif
}

__device__ inline unsigned least_in_warp(unsigned value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(all_lanes, value);
#else
  return shuffle_words(value, [](unsigned a, unsigned b) { return a < b ? a : b; });
#endif
}

__device__ inline unsigned most_in_warp(unsigned value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(all_lanes, value);
#else
  return shuffle_words(value, [](unsigned a, unsigned b) { return a > b ? a : b; });
#endif
}

__device__ inline std::uint32_t sum_in_warp(std::uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(all_lanes, value);
#else
  return shuffle_words(value, [](std::uint32_t a, std::uint32_t b) { return a + b; });
#endif
}

}  // namespace fanin::detail
