// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Trees over `left` values in memory that the block shares, one a thread, in which neighbours at a growing distance
/// are joined. The memory is shared or global. Any number of values. The result is in memory[0], valid in thread 0.
/// Phases: ceil(log2(left)). Barriers: one a phase. Memory: one accumulator a thread. Any block size. All begin behind
/// a barrier.
namespace fanin::detail {

/// Thread t takes part in the step of stride s if t % (2 s) == 0: the working threads of a warp grow fewer and every
/// warp keeps running, its lanes apart; but each value is touched by its own thread, so that lanes never share a bank.
template <class Op, class T>
__device__ void combine_neighbored_divergent(const Op& op, T* memory, unsigned left, unsigned first_stride) {
#pragma unroll 1
  for (unsigned stride = first_stride; stride < left; stride *= 2) {
    if (threadIdx.x % (2 * stride) == 0 && threadIdx.x + stride < left) {
      op.join(memory[threadIdx.x], memory[threadIdx.x + stride]);
    }
    __syncthreads();
  }
}

/// Thread t works on value 2 s t: the working threads stay together, whole warps retire, and lanes that read words 2 s
/// apart share banks.
template <class Op, class T>
__device__ void combine_neighbored_strided(const Op& op, T* memory, unsigned left) {
#pragma unroll 1
  for (unsigned stride = 1; stride < left; stride *= 2) {
    const unsigned at = 2 * stride * threadIdx.x;
    if (at + stride < left) op.join(memory[at], memory[at + stride]);
    __syncthreads();
  }
}

}  // namespace fanin::detail
