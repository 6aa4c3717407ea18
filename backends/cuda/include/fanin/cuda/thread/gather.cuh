// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/recipe.hpp>
#include <fanin/cuda/thread/bulk.cuh>
#include <fanin/cuda/thread/fold_n.cuh>
#include <fanin/cuda/thread/grid_stride.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/tiles.cuh>
#include <fanin/cuda/thread/vectorised.cuh>

namespace fanin::detail {

/// The recipe's thread stage: what this thread takes of the source goes into `state`. `block` is memory of the block,
/// `shared` what was asked for at launch.
template <class Strategy, class Source, class Composite, class BlockMemory>
__device__ void gather(const Source& source, const Composite& c, typename Composite::state_type& state, int chunks,
                       [[maybe_unused]] BlockMemory& block, [[maybe_unused]] void* shared) {
  using cuda_stage::thread;
  constexpr cuda_recipe recipe = Strategy::recipe;
  constexpr bool is_wide = recipe.thread == thread::vectorised || recipe.thread == thread::bulk;
  if constexpr (recipe.thread == thread::bulk && is_one_array<Source>) {
    detail::gather_bulk<recipe.loads>(source, c, state, block.copies, shared);
  } else if constexpr (is_alone<Strategy>) {
    detail::gather_alone<units_in_flight_alone<Source>(recipe)>(source, c, state);
  } else if constexpr (has_tiles<Source>) {
    detail::gather_tiles<units_in_flight<Source>(recipe, finishes_in_spill<Strategy, Composite>)>(source, c, state);
  } else if constexpr (is_wide) {
    detail::gather_vectorised<units_in_flight<Source>(recipe, finishes_in_spill<Strategy, Composite>)>(source, c,
                                                                                                       state);
  } else if constexpr (recipe.thread == thread::grid_stride) {
    detail::gather_grid_stride(source, c, state);
  } else {
    detail::gather_fold_n(source, c, state, chunks);
  }
}

}  // namespace fanin::detail
