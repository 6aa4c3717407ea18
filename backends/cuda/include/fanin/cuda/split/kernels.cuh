// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <fanin/cuda/block/memory.cuh>
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

/// A group of `lanes` threads of a warp a row (a power of two up to 32), neighbours in its elements: for rows that lie
/// in memory one after the other and are too short for a block. Blocks of whole warps; no memory, no barriers.
template <class All, class Composite, class Put>
__global__ void __launch_bounds__(256)
    rows_by_lanes_kernel(const All all, const Composite c, const Put put, int lanes) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t groups = static_cast<std::int64_t>(blockDim.x) / lanes;
  const std::int64_t step = groups * gridDim.x;
  // All lanes of a warp shuffle, also those that have no row.
  for (std::int64_t begin = blockIdx.x * groups; begin < all.results; begin += step) {
    const std::int64_t row = begin + static_cast<int>(threadIdx.x) / lanes;
    const bool has_row = row < all.results;
    const md_index<All::axes::left_rank> place = all.place(has_row ? row : begin);
    typename Composite::accumulator_type value = c.identity();
    if (has_row) {
      auto state = c.begin(value);
      const axes_row<const All&> f{all, place};
#pragma unroll 4
      for (std::int64_t k = lane; k < all.count; k += lanes) c.accumulate(f, state, all.first() + k);
      c.finish(state, value);
    }
    for (int delta = lanes / 2; delta > 0; delta /= 2) {
      c.join(value, shuffle_down(value, static_cast<unsigned>(delta)));
    }
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

/// Which threads of a block work on which of its rows: `width` rows beside each other (a power of two), and the block's
/// other threads on other elements of the same ones. `pieces` blocks share the elements of a row.
struct columns_share {
  int width;
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
  const unsigned width = static_cast<unsigned>(share.width);
  const std::int64_t tiles = (all.results - 1) / share.width + 1;
  const unsigned beside = blockDim.x / width;
  for (std::int64_t task = blockIdx.x; task < tiles * share.pieces; task += gridDim.x) {
    const std::int64_t piece = task / tiles;
    const std::int64_t row = task % tiles * share.width + threadIdx.x % width;
    const bool has_row = row < all.results;
    const md_index<All::axes::left_rank> place = all.place(has_row ? row : 0);
    typename Composite::accumulator_type value = c.identity();
    if (has_row) {
      auto state = c.begin(value);
      const axes_row<const All&> f{all, place};
      const std::int64_t from = piece * share.elements_of_piece;
      const std::int64_t until =
          all.count - from < share.elements_of_piece ? all.count : from + share.elements_of_piece;
#pragma unroll 4
      for (std::int64_t k = from + threadIdx.x / width; k < until; k += beside) c.accumulate(f, state, all.first() + k);
      c.finish(state, value);
    }
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
  const unsigned width = static_cast<unsigned>(share.width);
  const std::int64_t tiles = (all.results - 1) / share.width + 1;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t row = tile * share.width + threadIdx.x % width;
    const bool has_row = row < all.results;
    typename Composite::accumulator_type value = c.identity();
    if (has_row) {
      for (std::int64_t piece = threadIdx.x / width; piece < share.pieces; piece += blockDim.x / width) {
        c.join(value, partials[piece * all.results + row]);
      }
    }
    combine_columns(c, value, memory_of_launch(), width);
    if (has_row && threadIdx.x < width) put.put(row, c.at(all.place(row)).result(value));
  }
}

}  // namespace fanin::detail
