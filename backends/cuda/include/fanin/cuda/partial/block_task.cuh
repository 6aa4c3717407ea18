// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <fanin/cuda/block/combine.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/thread/gather.cuh>

namespace fanin::detail {

/// What every block of a reduction works with.
template <class Strategy, class Composite>
struct block_task {
  using accumulator = typename Composite::accumulator_type;
  static constexpr std::size_t largest = largest_travelling<Strategy, Composite>;

  const Composite& c;
  int chunks;
  void* shared;  ///< what was asked for at launch
  void* memory;  ///< where the block combines: the same, or its part of the workspace

  template <class Workspace>
  __device__ block_task(const Composite& composite, const Workspace& work, void* of_launch)
      : c{composite}, chunks{work.chunks}, shared{of_launch}, memory{of_launch} {
    if constexpr (Strategy::recipe.memory == cuda_stage::memory::global) {
      memory = static_cast<accumulator*>(work.values) + static_cast<std::int64_t>(blockIdx.x) * blockDim.x;
    }
  }

  template <class Source, class State>
  __device__ void gather_into(State& state, const Source& source) const {
    fanin::detail::gather<Strategy>(source, c, state, chunks, shared);
  }

  /// Joins the values of the block's first `threads` threads by the recipe's stage; valid in thread 0. Ends with a
  /// barrier.
  template <class Op, class T>
  __device__ void combine_values(const Op& op, T& value, unsigned threads) const {
    combine_in_block<Strategy, largest>(op, value, memory, threads);
  }
};

}  // namespace fanin::detail
