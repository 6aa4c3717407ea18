// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fanin::detail {

/// Thread 0 joins `left` values in memory that the block shares, one after the other, while the others look on. The
/// memory is shared or global; begins behind a barrier; the result is in memory[0], valid in thread 0. Phases: one. No
/// barrier. Memory: one accumulator a thread. Any block size. Wins nothing: the first idea (000).
template <class Op, class T>
__device__ void combine_thread0_serial(const Op& op, T* memory, unsigned left) {
  if (threadIdx.x != 0) return;
  for (unsigned k = 1; k < left; ++k) op.join(memory[0], memory[k]);
}

}  // namespace fanin::detail
