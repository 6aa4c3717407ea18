// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <fanin/cuda/recipe.hpp>

namespace fanin::detail {

/// The interleaved tree for accumulators too large to shuffle or to hold once a thread in shared memory: they stay with
/// their threads and are handed down through a few slots, as many at a time as fit. Phases: ceil(log2(threads)) steps
/// of ceil(half / slots) batches. Two barriers a batch; slot_bytes() of shared memory; any block size, of
/// which the first `threads` threads' values are combined; the result is valid in thread 0. Ends with a barrier. Wins
/// only where nothing else fits.
template <std::size_t LargestAccumulator, class Op, class T>
__device__ void combine_through_slots(const Op& op, T& value, void* shared, unsigned threads) {
  constexpr unsigned slots = slot_bytes(LargestAccumulator) / sizeof(T);
  T* const slot = static_cast<T*>(shared);
  const unsigned thread = threadIdx.x;

  for (unsigned left = threads; left > 1;) {
    const unsigned half = left - left / 2;
    for (unsigned batch = half; batch < left; batch += slots) {
      const unsigned end = batch + slots < left ? batch + slots : left;
      if (thread >= batch && thread < end) slot[thread - batch] = value;
      __syncthreads();
      if (thread + half >= batch && thread + half < end) op.join(value, slot[thread + half - batch]);
      __syncthreads();
    }
    left = half;
  }
}

}  // namespace fanin::detail
