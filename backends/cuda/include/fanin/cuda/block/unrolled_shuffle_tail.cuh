// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/cuda/block/interleaved.cuh>
#include <fanin/cuda/block/warp_shuffle.cuh>

namespace fanin::detail {

/// The unrolled tree down to 64 values, then the first warp takes two each into registers and shuffles. The result is
/// in memory[0], valid in thread 0. Barriers: one for each step above 64 values. Memory: one accumulator a thread. Any
/// block size. "Not a good way" (001): the point of shuffles is to need less shared memory, and all of it was used
/// already.
template <class Op, class T>
__device__ void combine_unrolled_shuffle_tail(const Op& op, T* memory, unsigned left) {
  detail::combine_unrolled_to_warp(op, memory, left);
  if (threadIdx.x >= 32) return;
  T value = op.identity();
  if (threadIdx.x < left) value = memory[threadIdx.x];
  if (threadIdx.x + 32 < left) op.join(value, memory[threadIdx.x + 32]);
  detail::combine_in_warp(op, value);
  if (threadIdx.x == 0) memory[0] = value;
}

}  // namespace fanin::detail
