// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <fanin/cuda/block/memory.cuh>
#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/kernel.cuh>
#include <fanin/cuda/partial/in_registers.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/detail/axes_functor.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/warp.cuh>

/// The split of many results: which threads work on which of them. The functor of all rows, `all`, is
/// detail/axes_functor.hpp's; put.put(row, result) takes what comes of each.
namespace fanin::detail {

template <class All>
inline constexpr std::size_t words_of<axes_row<All>> = words_of<typename axes_row<All>::functor_type>;

/// How many of a row's elements a thread has in flight.
template <class All>
inline constexpr int elements_of_row_in_flight =
    units_in_flight<index_source<axes_row<const All&>>>(cuda_strategy::one_pass::recipe, false);

/// What a thread gathers of a row: elements mine, mine + step, ... of those below count, numbered from 0.
template <class All, class Composite>
__device__ void gather_of_row(const All& all, const md_index<All::axes::left_rank>& place, const Composite& c,
                              typename Composite::accumulator_type& value, std::int64_t mine, std::int64_t step,
                              std::int64_t count) {
  const index_source<axes_row<const All&>> source{{all, place}, all.first(), all.count};
  auto state = c.begin(value);
  gather_in_steps<elements_of_row_in_flight<All>>(source, c, state, mine, step, count);
  c.finish(state, value);
}

/// A group of 2^log_lanes threads of a warp a row, neighbours in its elements: for rows that lie in memory one after
/// the other and are too short for a block. Blocks of whole warps; no memory, no barriers.
template <class All, class Composite, class Put>
__global__ void __launch_bounds__(256)
    rows_by_lanes_kernel(const All all, const Composite c, const Put put, unsigned log_lanes) {
  const unsigned lanes = 1u << log_lanes;
  const unsigned lane = threadIdx.x & (lanes - 1);
  const std::int64_t groups = blockDim.x >> log_lanes;
  const std::int64_t step = groups * gridDim.x;
  // All lanes of a warp shuffle, also those that have no row.
  for (std::int64_t begin = blockIdx.x * groups; begin < all.results; begin += step) {
    const std::int64_t row = begin + (threadIdx.x >> log_lanes);
    const bool has_row = row < all.results;
    const md_index<All::axes::left_rank> place = all.place(has_row ? row : begin);
    typename Composite::accumulator_type value = c.identity();
    if (has_row) gather_of_row(all, place, c, value, lane, lanes, all.count);
    for (unsigned delta = lanes / 2; delta > 0; delta /= 2) c.join(value, shuffle_down(value, delta));
    if (has_row && lane == 0) put.put(row, c.at(place).result(value));
  }
}

struct no_workspace {
  static constexpr int chunks = 1;
};

/// A block a row: for every kind of reducer, and rows of up to lone_block's most_elements. Strategy is alone<...>.
template <class Strategy, class All, class Composite, class Put>
__global__ void __launch_bounds__(512) rows_by_block_kernel(const All all, const Composite c, const Put put) {
  using one = typename Composite::one_type;
  unsigned char* const shared = memory_of_launch();
  auto& block = object_of_block<block_memory<Strategy, one>>();
  for (std::int64_t row = blockIdx.x; row < all.results; row += gridDim.x) {
    const md_index<All::axes::left_rank> place = all.place(row);
    const one of_row = c.at(place);
    typename partial_type_of<Strategy, one>::value_type value;
    partial_type_of<Strategy, one> partial(of_row, no_workspace{}, block, shared, value);
    partial.gather(index_source<axes_row<const All&>>{{all, place}, all.first(), all.count});
    if (threadIdx.x == 0) put.put(row, partial.result());
    __syncthreads();  // the block's memory is the next row's
  }
}

/// Which threads of a block work on which of its rows: 2^log_width rows beside each other, and the block's other
/// threads on other elements of the same ones. `pieces` blocks share the elements of a row.
struct columns_share {
  unsigned log_width;
  int pieces;
  std::int64_t elements_of_piece;
};

/// Joins what the block's threads hold of each of its `width` rows; valid in the first `width` threads. Memory for an
/// accumulator a thread; a power of two of them. Ends with a barrier.
template <class Composite>
__device__ void combine_columns(const Composite& c, typename Composite::accumulator_type& value, void* memory,
                                unsigned width) {
  auto* const of_thread = static_cast<typename Composite::accumulator_type*>(memory);
  of_thread[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half >= width; half /= 2) {
    if (threadIdx.x < half) c.join(of_thread[threadIdx.x], of_thread[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x < width) value = of_thread[threadIdx.x];
  __syncthreads();
}

/// Neighbouring threads work on neighbouring rows, which lie across each other in memory, as columns do. A block's
/// piece of them is their result, or goes to partials[piece * rows + row].
template <class All, class Composite, class Put>
__global__ void __launch_bounds__(256)
    columns_kernel(const All all, const Composite c, const Put put, const columns_share share,
                   typename Composite::accumulator_type* partials) {
  const unsigned width = 1u << share.log_width;
  const unsigned beside = blockDim.x >> share.log_width;
  const std::int64_t tiles = ((all.results - 1) >> share.log_width) + 1;
  for (std::int64_t task = blockIdx.x; task < tiles * share.pieces; task += gridDim.x) {
    const std::int64_t piece = task / tiles;
    const std::int64_t row = ((task - piece * tiles) << share.log_width) + (threadIdx.x & (width - 1));
    const bool has_row = row < all.results;
    const md_index<All::axes::left_rank> place = all.place(has_row ? row : 0);
    typename Composite::accumulator_type value = c.identity();
    const std::int64_t from = piece * share.elements_of_piece;
    const std::int64_t until = all.count - from < share.elements_of_piece ? all.count : from + share.elements_of_piece;
    const std::int64_t mine = from + (threadIdx.x >> share.log_width);
    if (has_row) gather_of_row(all, place, c, value, mine, static_cast<std::int64_t>(beside), until);
    combine_columns(c, value, memory_of_launch(), width);
    if (has_row && threadIdx.x < width) {
      if (share.pieces == 1) {
        put.put(row, c.at(place).result(value));
      } else {
        partials[piece * all.results + row] = value;
      }
    }
  }
}

/// Joins the pieces of columns_kernel, in the same shape.
template <class All, class Composite, class Put>
__global__ void __launch_bounds__(256)
    join_columns_kernel(const All all, const Composite c, const Put put, const columns_share share,
                        const typename Composite::accumulator_type* partials) {
  const unsigned width = 1u << share.log_width;
  const unsigned beside = blockDim.x >> share.log_width;
  const std::int64_t tiles = ((all.results - 1) >> share.log_width) + 1;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t row = (tile << share.log_width) + (threadIdx.x & (width - 1));
    const bool has_row = row < all.results;
    typename Composite::accumulator_type value = c.identity();
    if (has_row) {
      for (std::int64_t piece = threadIdx.x >> share.log_width; piece < share.pieces; piece += beside) {
        c.join(value, partials[piece * all.results + row]);
      }
    }
    combine_columns(c, value, memory_of_launch(), width);
    if (has_row && threadIdx.x < width) put.put(row, c.at(all.place(row)).result(value));
  }
}

}  // namespace fanin::detail
