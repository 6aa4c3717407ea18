// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/cuda/grid/tagged_units.cuh>
#include <fanin/cuda/split/kernels.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/vectorised.cuh>
#include <fanin/cuda/workspace.cuh>
#include <fanin/device/block.cuh>
#include <fanin/device/grid_order.cuh>
#include <fanin/device/warp.cuh>
#include <fanin/device/word_ahead.cuh>

/// Long rows that lie in memory one after the other: a block for each, or several, of which the one with the last piece
/// waits for the others, as the watching block of a flat reduction does, but clears what it takes, so that nobody has
/// to count the launch.
namespace fanin::detail {

/// How many pieces each row has, a block's each, and of how many elements.
struct rows_share {
  unsigned pieces;
  std::int64_t elements_of_piece;
};

/// By the block that has a row's last piece, behind whose blocks in the grid's order those of its other pieces are:
/// what they have, joined to this block's own in thread 0.
template <class Source, class Composite>
__device__ void join_watched_pieces(const Composite& c, typename Composite::accumulator_type& value,
                                    typename Composite::accumulator_type* of_thread, const contributor& self,
                                    const watched_memory& watched, std::uint32_t launches) {
  using accumulator = typename Composite::accumulator_type;
  if (threadIdx.x != 0) value = c.identity();
  const auto take = [&](const accumulator& partial, unsigned piece) {
    c.join(value, partial);
    detail::clear_partial<accumulator>(piece, watched);
  };
  if (self.count - 1 > watched_at_once<accumulator, Source>) {
    __syncthreads();
    detail::for_watched<accumulator>(self, watched, launches, 0, take);
    detail::combine_by_warp_shuffle(c, value, of_thread);
  } else if (threadIdx.x < warp_size) {
    detail::for_few_watched<accumulator, Source>(self, watched, launches, take);
    detail::combine_in_warp(c, value);
  }
}

/// What a thread gathers of elements from .. until - 1 of a row, which its block has: in rounds of a tile, and then
/// what is left of them.
template <int Elements, class Row, class Composite>
__device__ void gather_of_block(const Row& row, const Composite& c, typename Composite::accumulator_type& value,
                                std::int64_t from, std::int64_t until) {
  const auto source = detail::source_of_row(row);
  auto state = c.begin(value);
  const std::int64_t round = static_cast<std::int64_t>(blockDim.x) * Elements;
  std::int64_t mine = from + detail::first_of_tile<Elements>(0);
#pragma unroll 1
  for (; until - from >= round; from += round, mine += round) {
    detail::accumulate_together<Elements>(source, c, state, mine, std::int64_t{warp_size});
  }
  const std::int64_t step = blockDim.x;
  if constexpr (is_of_small_elements<index_source<Row>, Composite>) {
    detail::gather_in_rounds<Elements>(source, c, state, from + threadIdx.x, step, until);
  } else {
    detail::gather_in_steps<Elements, std::min(Elements, 4)>(source, c, state, from + threadIdx.x, step, until);
  }
  c.finish(state, value);
}

/// A block a row, or a piece of it: for long ones that lie in memory one after the other.
template <class All, class Composite, class Put>
__global__ void __launch_bounds__((most_threads_of_tile<All, Composite>), (blocks_of_tiles<All, Composite>))
    rows_by_blocks_kernel(const All all, const Composite c, const Put put, const rows_share share,
                          const watched_memory watched) {
  wait_for_grid_before();
  using accumulator = typename Composite::accumulator_type;
  using source = source_in_rows<All>;
  constexpr int in_flight = elements_of_row_in_flight<source, Composite>;
  auto* const of_thread = reinterpret_cast<accumulator*>(memory_of_launch());
  auto& launches = object_of_block<word_ahead>();
  const auto rows = static_cast<unsigned>(all.results);
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < rows * share.pieces; task += gridDim.x) {
    const unsigned piece = share.pieces == 1 ? 0 : task / rows;
    const unsigned row = task - piece * rows;
    const contributor self{piece, share.pieces};
    const std::size_t others = std::size_t{row} * (share.pieces - 1);
    const watched_memory of_row{watched.units + others * tagged_units(sizeof(accumulator)), 0, watched.launches};
    if (share.pieces > 1) {
      if (self.finishes()) {
        detail::prefetch_partials<accumulator>(of_row, share.pieces - 1);
      } else if (threadIdx.x == 0) {
        launches.load(watched.launches);
      }
    }
    const md_index<All::axes::left_rank> place = all.place(row);
    const std::int64_t from = piece * share.elements_of_piece;
    const std::int64_t until = detail::end_of_piece(from, share.elements_of_piece, all.count);
    accumulator value = c.identity();
    detail::gather_of_block<in_flight>(all.row(place), c, value, from, until);
    detail::combine_by_warp_shuffle<true>(c, value, of_thread);
    if (!self.finishes()) {
      if (threadIdx.x == 0) detail::publish_partial(value, piece, of_row, launches.when_loaded());
      return;
    }
    if (share.pieces > 1)
      detail::join_watched_pieces<source>(c, value, of_thread, self, of_row, launches_before(of_row));
    if (threadIdx.x == 0) put.put(row, c.at(place).result(value));
    __syncthreads();
  }
}

}  // namespace fanin::detail
