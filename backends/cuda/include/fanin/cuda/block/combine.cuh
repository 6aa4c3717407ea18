// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <fanin/cuda/block/interleaved.cuh>
#include <fanin/cuda/block/neighbored.cuh>
#include <fanin/cuda/block/slots.cuh>
#include <fanin/cuda/block/thread0_serial.cuh>
#include <fanin/cuda/block/unrolled_shuffle_tail.cuh>
#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/cuda/recipe.hpp>

namespace fanin::detail {

/// The stages that work in memory: `left` values, one a thread; valid in memory[0] in thread 0. `first_stride` is where
/// neighbored pairs begin: 2 where the gathering did the first step.
template <cuda_strategy_tag Strategy, class Op, class T>
__device__ void combine_in_memory(const Op& op, T* memory, unsigned left, unsigned first_stride = 1) {
  using cuda_stage::block;
  constexpr block stage = Strategy::recipe.block;
  if constexpr (stage == block::thread0_serial) {
    detail::combine_thread0_serial(op, memory, left);
  } else if constexpr (stage == block::neighbored_divergent) {
    detail::combine_neighbored_divergent(op, memory, left, first_stride);
  } else if constexpr (stage == block::neighbored_strided) {
    detail::combine_neighbored_strided(op, memory, left);
  } else if constexpr (stage == block::interleaved) {
    detail::combine_interleaved(op, memory, left);
  } else if constexpr (stage == block::interleaved_unrolled_warp) {
    detail::combine_interleaved_unrolled_warp(op, memory, left);
  } else if constexpr (stage == block::unrolled) {
    detail::combine_unrolled(op, memory, left);
  } else if constexpr (stage == block::unrolled_shuffle_tail) {
    detail::combine_unrolled_shuffle_tail(op, memory, left);
  } else {
    static_assert(stage == block::own);
    Strategy::combine(op, memory, left);
  }
}

/// Joins the values of the block's first `threads` threads by the recipe's stage, in `memory` (what the stage says, or
/// slots); valid in thread 0. Ends with a barrier.
template <cuda_strategy_tag Strategy, std::size_t LargestAccumulator, class Op, class T>
__device__ void combine_in_block(const Op& op, T& value, void* memory, unsigned threads) {
  constexpr cuda_recipe recipe = Strategy::recipe;
  if constexpr (goes_through_slots(recipe, LargestAccumulator)) {
    detail::combine_through_slots<LargestAccumulator>(op, value, memory, threads);
  } else if constexpr (recipe.block == cuda_stage::block::warp_shuffle) {
    detail::combine_by_warp_shuffle(op, value, static_cast<T*>(memory));
    __syncthreads();
  } else {
    T* const of_thread = static_cast<T*>(memory);
    of_thread[threadIdx.x] = value;
    __syncthreads();
    detail::combine_in_memory<Strategy>(op, of_thread, threads);
    if (threadIdx.x == 0) value = of_thread[0];
    __syncthreads();
  }
}

}  // namespace fanin::detail
