// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <fanin/cuda/block/memory.cuh>
#include <fanin/cuda/partial/kinds.hpp>

namespace fanin::detail {

/// What every block of a reduction works with.
template <class Strategy, class Composite>
struct block_task {
  using strategy = Strategy;
  using accumulator = typename Composite::accumulator_type;
  static constexpr std::size_t largest = largest_travelling<Strategy, Composite>;

  using memory_type = block_memory<Strategy, Composite>;

  const Composite& c;
  int chunks;
  memory_type& block;
  void* shared;  ///< what was asked for at launch
  void* memory;  ///< where the block combines: in one of them, or in its part of the workspace

  template <class Workspace>
  __device__ block_task(const Composite& composite, const Workspace& work, memory_type& of_block, void* of_launch)
      : c{composite}, chunks{work.chunks}, block{of_block}, shared{of_launch}, memory{of_launch} {
    if constexpr (Strategy::recipe.memory == cuda_stage::memory::global) {
      memory = static_cast<accumulator*>(work.values) + static_cast<std::int64_t>(blockIdx.x) * blockDim.x;
    } else if constexpr (memory_type::combines_by_shuffle) {
      memory = block.of_warps.address();
    }
  }
};

}  // namespace fanin::detail
