// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Trees over `left` values in memory that the block shares, one a thread, in which the upper half is joined to the
/// lower half until one is left. The memory is shared or global; value t is thread t's own. Any number of values: the
/// middle one of an odd number waits a step. The result is in memory[0], valid in thread 0. All begin behind a barrier.
namespace fanin::detail {

/// One step: halves `left`. Thread t takes the value of thread t + half in.
template <class Op, class T>
__device__ unsigned halve(const Op& op, T* memory, unsigned left) {
  const unsigned half = left - left / 2;
  if (threadIdx.x + half < left) op.join(memory[threadIdx.x], memory[threadIdx.x + half]);
  return half;
}

/// The loop stays a loop: no step knows its size at compile time. Phases: ceil(log2(left)). Barriers: one a phase.
/// Memory: one accumulator a thread. Any block size. Wins over neighbored pairs: neighbouring threads stay busy
/// together and read neighbouring words.
template <class Op, class T>
__device__ void combine_interleaved(const Op& op, T* memory, unsigned left) {
#pragma unroll 1
  while (left > 1) {
    left = detail::halve(op, memory, left);
    __syncthreads();
  }
}

/// One step of Width or less inside the first warp: all lanes read before any writes. `memory[t] += memory[t + k]` with
/// one __syncwarp behind it would race: lane k may write before lane 0 reads.
template <unsigned Width, class Op, class T>
__device__ void warp_step(const Op& op, T* memory, unsigned& left) {
  if (left > Width) {
    const bool takes = threadIdx.x < Width && threadIdx.x + Width < left;
    T from = takes ? memory[threadIdx.x + Width] : op.identity();
    __syncwarp();
    if (takes) op.join(memory[threadIdx.x], from);
    __syncwarp();
    left = Width;
  }
}

/// What is left of up to 64 values, by the first warp alone. No barrier of the block.
template <class Op, class T>
__device__ void combine_last_warp(const Op& op, T* memory, unsigned left) {
  if (threadIdx.x >= 32) return;
  detail::warp_step<32>(op, memory, left);
  detail::warp_step<16>(op, memory, left);
  detail::warp_step<8>(op, memory, left);
  detail::warp_step<4>(op, memory, left);
  detail::warp_step<2>(op, memory, left);
  detail::warp_step<1>(op, memory, left);
}

/// The same loop down to 64 values, then the first warp alone, unrolled. Barriers: one for each phase above 64 values.
/// Memory: one accumulator a thread. Any block size. Wins the last six barriers.
template <class Op, class T>
__device__ void combine_interleaved_unrolled_warp(const Op& op, T* memory, unsigned left) {
#pragma unroll 1
  while (left > 64) {
    left = detail::halve(op, memory, left);
    __syncthreads();
  }
  detail::combine_last_warp(op, memory, left);
}

/// One step of Width or less by the whole block, in a tree that is laid out at compile time.
template <unsigned Width, class Op, class T>
__device__ void block_step(const Op& op, T* memory, unsigned& left) {
  if (left > Width) {
    if (threadIdx.x < Width && threadIdx.x + Width < left) op.join(memory[threadIdx.x], memory[threadIdx.x + Width]);
    __syncthreads();
    left = Width;
  }
}

/// The steps above 64 values, without a loop.
template <class Op, class T>
__device__ void combine_unrolled_to_warp(const Op& op, T* memory, unsigned& left) {
  detail::block_step<512>(op, memory, left);
  detail::block_step<256>(op, memory, left);
  detail::block_step<128>(op, memory, left);
  detail::block_step<64>(op, memory, left);
}

/// The whole tree without a loop. Barriers: one for each step above 64 values. Memory: one accumulator a thread. Any
/// block size. Wins the loop's counting and branching over interleaved_unrolled_warp.
template <class Op, class T>
__device__ void combine_unrolled(const Op& op, T* memory, unsigned left) {
  detail::combine_unrolled_to_warp(op, memory, left);
  detail::combine_last_warp(op, memory, left);
}

}  // namespace fanin::detail
