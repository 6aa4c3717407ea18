// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

namespace fanin::detail {

/// __shfl_down_sync of all 32 lanes for any trivially copyable type, word by word.
template <class T>
__device__ T shuffle_down(const T& value, unsigned delta) {
  constexpr int words = (sizeof(T) + 3) / 4;
  std::uint32_t word[words] = {};
  memcpy(word, &value, sizeof(T));
#pragma unroll
  for (int k = 0; k < words; ++k) word[k] = __shfl_down_sync(0xffffffffu, word[k], delta);
  T moved;
  memcpy(&moved, word, sizeof(T));
  return moved;
}

/// Lane 0 gets the warp's 32 values, joined as a tree: 5 steps, no barrier, no memory. All lanes must take part; they
/// are brought together first, since shuffles of lanes that come one after the other are several times slower.
template <class Op, class T>
__device__ void combine_in_warp(const Op& op, T& value) {
  __syncwarp();
#pragma unroll
  for (unsigned delta = 16; delta > 0; delta /= 2) op.join(value, shuffle_down(value, delta));
}

/// Two levels of shuffles. Phases: every warp combines; lane 0 of each stores to shared memory; barrier; the first
/// warp loads one value a warp (the identity beyond the warps there are) and combines. One barrier; scratch of 32
/// accumulators; blocks of whole warps up to 1024 threads; the result is valid in thread 0. The caller puts a barrier
/// before the next use. Wins wherever accumulators are small: least shared-memory traffic, least waiting.
template <class Op, class T>
__device__ void combine_by_warp_shuffle(const Op& op, T& value) {
  __shared__ alignas(16) unsigned char storage[32 * sizeof(T)];
  T* const of_warp = reinterpret_cast<T*>(storage);
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned warps = blockDim.x / 32;

  combine_in_warp(op, value);
  if (warps == 1) return;
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = op.identity();
    if (lane < warps) value = of_warp[lane];
    combine_in_warp(op, value);
  }
}

}  // namespace fanin::detail
