// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include <fanin/cuda/block/interleaved.cuh>
#include <fanin/cuda/block/slots.cuh>
#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/cuda/recipe.hpp>
#include <fanin/reducer.hpp>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// Whether accumulators of this size go through slots instead of the block stage that the strategy names.
constexpr bool goes_through_slots(std::size_t largest_accumulator) {
  return largest_accumulator > largest_shuffled_accumulator;
}

/// Joins the values of the block's first `threads` threads by the named stage; valid in thread 0. Ends with a barrier.
template <cuda_stage::block Stage, std::size_t LargestAccumulator, class Op, class T>
__device__ void combine_in_block(const Op& op, T& value, void* shared, unsigned threads) {
  if constexpr (goes_through_slots(LargestAccumulator)) {
    combine_through_slots(op, value, threads);
  } else {
    if constexpr (Stage == cuda_stage::block::warp_shuffle) {
      combine_by_warp_shuffle(op, value);
    } else {
      combine_interleaved(op, value, shared);
    }
    __syncthreads();
  }
}

/// The block's contribution from what its threads hold; valid in thread 0. A reducer with a thread_state flushes into
/// `scratch`, which the block shares; the others are combined by the stage, one after the other.
template <cuda_stage::block Stage, class Composite, std::size_t... I>
__device__ void combine_states(const Composite& c, typename Composite::state_type& state,
                               typename Composite::accumulator_type& scratch, void* shared, std::index_sequence<I...>) {
  const auto combine_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    const auto& reducer = get<K>(c.reducers);
    if constexpr (Composite::template has_state<K>) {
      reducer.flush(get<K>(state), get<K>(scratch));
    } else {
      auto value = get<K>(state);
      combine_in_block<Stage, Composite::largest_accumulator>(reducer, value, shared, blockDim.x);
      if (threadIdx.x == 0) get<K>(scratch) = value;
    }
  };
  (combine_one(std::integral_constant<std::size_t, I>{}), ...);
  __syncthreads();
}

}  // namespace fanin::detail
