// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include <fanin/cuda/block/interleaved.cuh>
#include <fanin/cuda/block/joined_flush.cuh>
#include <fanin/cuda/block/neighbored.cuh>
#include <fanin/cuda/block/slots.cuh>
#include <fanin/cuda/block/thread0_serial.cuh>
#include <fanin/cuda/block/unrolled_shuffle_tail.cuh>
#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/cuda/recipe.hpp>
#include <fanin/reducer.hpp>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// The stages that work in memory: `left` values, one a thread; valid in memory[0] in thread 0. `first_stride` is where
/// neighbored pairs begin: 2 where the gathering did the first step.
template <cuda_strategy_tag Strategy, class Op, class T>
__device__ void combine_in_memory(const Op& op, T* memory, unsigned left, unsigned first_stride = 1) {
  using cuda_stage::block;
  constexpr block stage = Strategy::recipe.block;
  if constexpr (stage == block::thread0_serial) {
    combine_thread0_serial(op, memory, left);
  } else if constexpr (stage == block::neighbored_divergent) {
    combine_neighbored_divergent(op, memory, left, first_stride);
  } else if constexpr (stage == block::neighbored_strided) {
    combine_neighbored_strided(op, memory, left);
  } else if constexpr (stage == block::interleaved) {
    combine_interleaved(op, memory, left);
  } else if constexpr (stage == block::interleaved_unrolled_warp) {
    combine_interleaved_unrolled_warp(op, memory, left);
  } else if constexpr (stage == block::unrolled) {
    combine_unrolled(op, memory, left);
  } else if constexpr (stage == block::unrolled_shuffle_tail) {
    combine_unrolled_shuffle_tail(op, memory, left);
  } else {
    static_assert(stage == block::own);
    Strategy::combine(op, memory, left);
  }
}

/// Joins the values of the block's first `threads` threads by the recipe's stage, in `memory` where the stage needs it;
/// valid in thread 0. Ends with a barrier.
template <cuda_strategy_tag Strategy, std::size_t LargestAccumulator, class Op, class T>
__device__ void combine_in_block(const Op& op, T& value, void* memory, unsigned threads) {
  constexpr cuda_recipe recipe = Strategy::recipe;
  if constexpr (goes_through_slots(recipe, LargestAccumulator)) {
    combine_through_slots<LargestAccumulator>(op, value, memory, threads);
  } else if constexpr (recipe.block == cuda_stage::block::warp_shuffle) {
    combine_by_warp_shuffle(op, value);
    __syncthreads();
  } else {
    T* const of_thread = static_cast<T*>(memory);
    of_thread[threadIdx.x] = value;
    __syncthreads();
    combine_in_memory<Strategy>(op, of_thread, threads);
    if (threadIdx.x == 0) value = of_thread[0];
    __syncthreads();
  }
}

/// The block's contribution from what its threads hold; valid in thread 0. A reducer with a thread_state flushes into
/// `scratch`, which the block shares; the others are combined by the stage, one after the other.
template <cuda_strategy_tag Strategy, std::size_t LargestAccumulator, class Composite, std::size_t... I>
__device__ void combine_states(const Composite& c, typename Composite::state_type& state,
                               typename Composite::accumulator_type& scratch, void* memory, std::index_sequence<I...>) {
  const auto combine_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    const auto& reducer = get<K>(c.reducers);
    if constexpr (joins_flushes<typename Composite::template reducer_type<K>>) {
      flush_joined(reducer, get<K>(state), get<K>(scratch));
    } else if constexpr (Composite::template has_state<K>) {
      reducer.flush(get<K>(state), get<K>(scratch));
    } else {
      auto value = get<K>(state);
      combine_in_block<Strategy, LargestAccumulator>(reducer, value, memory, blockDim.x);
      if (threadIdx.x == 0) get<K>(scratch) = value;
    }
  };
  (combine_one(std::integral_constant<std::size_t, I>{}), ...);
  __syncthreads();
}

}  // namespace fanin::detail
