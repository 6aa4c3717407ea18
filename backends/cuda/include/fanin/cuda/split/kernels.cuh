// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fanin/cuda/block/memory.cuh>
#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/kernel.cuh>
#include <fanin/cuda/partial/in_registers.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/split/array_rows.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/vectorised.cuh>
#include <fanin/detail/axes_functor.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/grid_order.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>

/// The split of many results: which threads work on which of them. The functor of all rows, `all`, is
/// detail/axes_functor.hpp's; put.put(row, result) takes what comes of each.
namespace fanin::detail {

/// Without the extents by which f finds its elements.
template <class All>
inline constexpr std::size_t words_of<axes_row<All>> =
    words_beside_extents<words_of<typename axes_row<All>::functor_type>, axes_row<All>::axes::rank>;

/// What a thread reads a row's elements from.
template <class All>
using source_in_rows = index_source<axes_row<const All&>>;

/// Whether elements are those of one array, of up to 8 bytes, and so is an accumulator: what a thread needs for each
/// that it has in flight is known then, but for what f computes.
template <class Source, class Composite>
inline constexpr bool is_of_one_array = Source::words == 1 && Source::value_size > 0 && Source::value_size <= 8 &&
                                        sizeof(typename Composite::accumulator_type) <= 8;
template <class Source, class Composite>
inline constexpr bool is_of_small_elements = is_of_one_array<Source, Composite> && Source::value_size <= sizeof(float);

/// How many of a row's elements a thread has in flight: 64 bytes of floats or doubles of one array.
template <class Source, class Composite>
inline constexpr int elements_of_row_in_flight =
    detail::units_in_flight<Source>(cuda_strategy::one_pass::recipe, false) *
    (is_of_small_elements<Source, Composite> ? 2 : 1);
/// The same of lanes that share a row, and how many short rows they work on at once, with an element of each in flight:
/// with eight the kernel's registers let half of the threads run (121 us instead of 72 for 2^26 floats in rows of 64,
/// on an H200).
template <class All>
inline constexpr int elements_of_lane_in_flight =
    std::min(detail::units_in_flight<source_in_rows<All>>(cuda_strategy::one_pass::recipe, false), 4);
template <class All, class Composite>
inline constexpr int rows_in_flight =
    std::clamp(static_cast<int>(64 / sizeof(typename Composite::accumulator_type)), 1, elements_of_lane_in_flight<All>);

/// A row's elements, numbered from 0.
template <class Row>
__device__ index_source<Row> source_of_row(const Row& row) {
  return {row, row.first(), row.count()};
}

/// Where a piece of so many elements ends that begins at `from`, of `count` in all.
__device__ inline std::int64_t end_of_piece(std::int64_t from, std::int64_t elements, std::int64_t count) {
  return count - from < elements ? count : from + elements;
}

/// What a thread gathers of a row: elements mine, mine + step, ... of those below count, numbered from 0; in rounds or
/// in steps (thread/vectorised.cuh).
template <int Elements, bool InRounds, class Row, class Composite>
__device__ void gather_of_row(const Row& row, const Composite& c, typename Composite::accumulator_type& value,
                              std::int64_t mine, std::int64_t step, std::int64_t count) {
  const auto source = detail::source_of_row(row);
  auto state = c.begin(value);
  if constexpr (InRounds) {
    detail::gather_in_rounds<Elements>(source, c, state, mine, step, count);
  } else {
    detail::gather_in_steps<Elements>(source, c, state, mine, step, count);
  }
  c.finish(state, value);
}

/// The same of several rows, row_step apart, of all their elements mine, mine + step, ...: one of each at a time, since
/// conditions for several cost more than these gain (135 us instead of 85 for 2^26 floats in rows of 31, on an H200).
template <class All, class Composite, int... R>
__device__ void gather_of_rows(const All& all, const Composite& c, typename Composite::accumulator_type* value,
                               std::int64_t row, std::int64_t row_step, std::int64_t mine, std::int64_t step,
                               std::integer_sequence<int, R...>) {
  using source = decltype(detail::source_of_row(all.row(all.place(row))));
  const source rows[] = {detail::source_of_row(all.row(all.place(row + R * row_step)))...};
  typename Composite::state_type state[] = {c.begin(value[R])...};
#pragma unroll 1
  for (; mine < all.count; mine += step) {
    if constexpr (values_fit_registers<source, sizeof...(R)>) {
      const typename source::value_type values[] = {rows[R].value(mine)...};
      all_loads_first();
      (c.fold(state[R], values[R], rows[R].index(mine)), ...);
    } else {
      (rows[R].accumulate(c, state[R], mine), ...);
    }
  }
  (c.finish(state[R], value[R]), ...);
}

/// How many lanes let all threads of the device work where there are few rows, of so many elements or vectors.
inline unsigned log_lanes_for_threads(std::int64_t results, std::int64_t count, std::int64_t threads) {
  const auto of_row = static_cast<std::uint64_t>(std::clamp<std::int64_t>(count, 1, warp_size));
  const auto by_threads = static_cast<std::uint64_t>(std::clamp<std::int64_t>(threads / results, 1, warp_size));
  return static_cast<unsigned>(std::bit_width(std::min(of_row, by_threads)) - 1);
}

/// A group of 2^log_lanes threads of a warp a row, neighbours in its elements: for rows that lie in memory one after
/// the other. Groups work on Rows of them at once, where is_crowded says that there are so many.
/// Blocks of whole warps; no memory, no barriers.
template <int Rows, class All, class Composite, class Put>
__global__ void __launch_bounds__(256)
    rows_by_lanes_kernel(const All all, const Composite c, const Put put, unsigned log_lanes, bool is_crowded) {
  wait_for_grid_before();
  const unsigned lanes = 1u << log_lanes;
  const unsigned lane = threadIdx.x & (lanes - 1);
  const std::int64_t groups = blockDim.x >> log_lanes;
  const std::int64_t rows = is_crowded ? Rows : 1;
  for (std::int64_t begin = blockIdx.x * rows * groups; begin < all.results; begin += gridDim.x * rows * groups) {
    std::int64_t row = begin + (threadIdx.x >> log_lanes);
    // All lanes of a warp shuffle, also those that have no row.
    if (is_crowded && all.results - begin >= Rows * groups) {
      typename Composite::accumulator_type value[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) value[r] = c.identity();
      detail::gather_of_rows(all, c, value, row, groups, lane, lanes, std::make_integer_sequence<int, Rows>{});
      for (unsigned delta = lanes / 2; delta > 0; delta /= 2) {
#pragma unroll
        for (int r = 0; r < Rows; ++r) c.join(value[r], detail::shuffle_down(value[r], delta));
      }
      if (lane == 0) {
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          const std::int64_t of = row + r * groups;
          put.put(of, c.at(all.place(of)).result(value[r]));
        }
      }
      continue;
    }
#pragma unroll 1
    for (std::int64_t r = 0; r < rows; ++r, row += groups) {
      const bool has_row = row < all.results;
      const md_index<All::axes::left_rank> place = all.place(has_row ? row : begin);
      typename Composite::accumulator_type value = c.identity();
      if (has_row) {
        // In rounds doubles had 32 registers instead of 40, which took 38 us instead of 35 for rows of 64 (an H200).
        detail::gather_of_row<elements_of_lane_in_flight<All>, is_of_small_elements<source_in_rows<All>, Composite>>(
            all.row(place), c, value, lane, lanes, all.count);
      }
      detail::join_lanes(c, value, lanes);
      if (has_row && lane == 0) put.put(row, c.at(place).result(value));
    }
  }
}

/// A thread a row: for rows that lie across each other in memory, as columns do, where there are many. A loop as plain
/// as that, from which the compiler takes the multiplications of indices, took 75 us for 2^26 floats in columns of 16
/// on an H200, where groups of one lane took 104.
template <class All, class Composite, class Put>
__global__ void __launch_bounds__(256) rows_by_threads_kernel(const All all, const Composite c, const Put put) {
  wait_for_grid_before();
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; row < all.results;
       row += threads) {
    const md_index<All::axes::left_rank> place = all.place(row);
    const auto source = detail::source_of_row(all.row(place));
    typename Composite::accumulator_type value = c.identity();
    auto state = c.begin(value);
#pragma unroll 4
    for (std::int64_t n = 0; n < all.count; ++n) source.accumulate(c, state, n);
    c.finish(state, value);
    put.put(row, c.at(place).result(value));
  }
}

struct no_workspace {
  static constexpr int chunks = 1;
};

/// By a block: a row for every kind of reducer, of up to lone_block's most_elements. Strategy is alone<...>. Ends with
/// a barrier: the block's memory is the next row's.
template <class Strategy, class Row, class Composite, class Put>
__device__ void reduce_row_by_block(const Row& elements, std::int64_t row, const Composite& c, const Put& put,
                                    block_memory<Strategy, typename Composite::one_type>& block,
                                    unsigned char* shared) {
  using one = typename Composite::one_type;
  const one of_row = c.at(elements.place);
  typename partial_type_of<Strategy, one>::value_type value;
  partial_type_of<Strategy, one> partial(of_row, no_workspace{}, block, shared, value);
  partial.gather(detail::source_of_row(elements));
  if (threadIdx.x == 0) put.put(row, partial.result());
  __syncthreads();
}

/// A block a row.
template <class Strategy, class All, class Composite, class Put>
__global__ void __launch_bounds__(512) rows_by_block_kernel(const All all, const Composite c, const Put put) {
  wait_for_grid_before();
  unsigned char* const shared = memory_of_launch();
  auto& block = object_of_block<block_memory<Strategy, typename Composite::one_type>>();
  for (std::int64_t row = blockIdx.x; row < all.results; row += gridDim.x) {
    detail::reduce_row_by_block<Strategy>(all.row(all.place(row)), row, c, put, block, shared);
  }
}

/// Which threads of a block work on which of its rows: `width` rows beside each other, and the block's other threads on
/// other elements of the same ones. Neighbouring threads are on neighbouring rows, or, `is_along`, on neighbouring
/// elements of a row, a power of two up to a warp where there are several. `pieces` blocks share the elements of a row.
struct tiles_share {
  unsigned width;
  bool is_along;
  int pieces;
  std::int64_t elements_of_piece;
};

/// Where a thread stands in a tile: a column of it, and a part of each of them. Threads behind the last part have none.
struct place_in_tile {
  bool is_along;
  unsigned parts;
  unsigned column;
  unsigned part;

  __device__ place_in_tile(unsigned width, bool along)
      : is_along{along},
        parts{blockDim.x / width},
        column{is_along ? threadIdx.x / parts : threadIdx.x % width},
        part{is_along ? threadIdx.x % parts : threadIdx.x / width} {}
  __device__ bool has_part(unsigned width) const { return part < parts && column < width; }
};

/// Joins what the block's threads hold of each of its `width` rows; valid in those of the first part. Memory for an
/// accumulator a thread. Ends with a barrier.
template <class Composite>
__device__ void combine_tile(const Composite& c, typename Composite::accumulator_type& value, void* memory,
                             const place_in_tile& self, unsigned width) {
  auto* const of_thread = static_cast<typename Composite::accumulator_type*>(memory);
  if (width == 1) {
    detail::combine_by_warp_shuffle(c, value, of_thread);
  } else if (self.is_along) {
    detail::join_lanes(c, value, self.parts);
  } else if (self.parts > 1) {  // threads are in the order of parts and columns
    of_thread[threadIdx.x] = value;
    __syncthreads();
    for (unsigned parts = self.parts; parts > 1;) {
      const unsigned half = (parts + 1) / 2;
      if (self.part + half < parts) c.join(of_thread[threadIdx.x], of_thread[threadIdx.x + half * width]);
      __syncthreads();
      parts = half;
    }
    if (self.part == 0) value = of_thread[threadIdx.x];
  }
  __syncthreads();
}

/// Joins a thread's share of what other blocks have of one result, `apart` in memory: pieces mine, mine + step, ...
template <class Composite>
__device__ void gather_pieces(const Composite& c, typename Composite::accumulator_type& value,
                              const typename Composite::accumulator_type* partials, std::int64_t apart, int pieces,
                              int mine, int step) {
  using accumulator = typename Composite::accumulator_type;
  constexpr int at_once = std::clamp(static_cast<int>(64 / sizeof(accumulator)), 1, 8);
#pragma unroll 1
  for (; pieces - mine > (at_once - 1) * step; mine += at_once * step) {
    accumulator partial[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k) detail::load_from_other_block(partial[k], partials + (mine + k * step) * apart);
    all_loads_first();
#pragma unroll
    for (int k = 0; k < at_once; ++k) c.join(value, partial[k]);
  }
#pragma unroll 1
  for (; mine < pieces; mine += step) {
    accumulator partial;
    detail::load_from_other_block(partial, partials + mine * apart);
    c.join(value, partial);
  }
}
/// By a tile's threads, which share the pieces of their row, partials[piece * rows + row], by their parts.
template <class Composite>
__device__ void gather_pieces_of_row(const Composite& c, typename Composite::accumulator_type& value,
                                     const typename Composite::accumulator_type* partials, std::int64_t rows,
                                     std::int64_t row, int pieces, const place_in_tile& self) {
  detail::gather_pieces(c, value, partials + row, rows, pieces, static_cast<int>(self.part),
                        static_cast<int>(self.parts));
}

/// Of small elements two blocks of these threads are enough for a multiprocessor, which lets a thread have 64
/// registers. The compiler, which is not told, takes 38, and folds between loads to do so. Of doubles it is not told:
/// of what computes with them it would take 120 instead of 64 (sums of exp 38 us to 43 for columns of 4096 on an H200).
template <class All, class Composite>
inline constexpr int most_threads_of_tile =
    is_of_small_elements<source_in_rows<All>, Composite> ||
            (All::reduces_fastest && is_of_one_array<source_in_rows<All>, Composite>)
        ? 512
        : 256;
template <class All, class Composite>
inline constexpr int blocks_of_tiles = is_of_small_elements<source_in_rows<All>, Composite> ? 2 : 0;

struct memory_of_tiles {
  unsigned is_last;
};

/// A tile is `width` neighbouring rows: for rows that lie across each other in memory, as columns do; for short ones
/// that lie along it though their range does not say so; and, one row wide, for long ones. A block's piece of them is
/// their result, or goes to partials[piece * rows + row], and then the block that comes last to a tile, of which
/// `arrived` has a counter for each, joins its pieces in their order; unless another launch does (null).
template <class All, class Composite, class Put>
__global__ void __launch_bounds__((most_threads_of_tile<All, Composite>), (blocks_of_tiles<All, Composite>))
    rows_by_tiles_kernel(const All all, const Composite c, const Put put, const tiles_share share,
                         typename Composite::accumulator_type* partials, unsigned* arrived) {
  wait_for_grid_before();
  const place_in_tile self(share.width, share.is_along);
  auto& block = object_of_block<memory_of_tiles>();
  const std::int64_t tiles = (all.results - 1) / share.width + 1;
  for (std::int64_t task = blockIdx.x; task < tiles * share.pieces; task += gridDim.x) {
    const std::int64_t piece = task / tiles;
    const std::int64_t tile = task - piece * tiles;
    const std::int64_t row = tile * share.width + self.column;
    const bool has_row = row < all.results && self.has_part(share.width);
    const md_index<All::axes::left_rank> place = all.place(has_row ? row : 0);
    typename Composite::accumulator_type value = c.identity();
    const std::int64_t from = piece * share.elements_of_piece;
    const std::int64_t until = detail::end_of_piece(from, share.elements_of_piece, all.count);
    if (has_row) {
      using source = source_in_rows<All>;
      detail::gather_of_row<elements_of_row_in_flight<source, Composite>, is_of_small_elements<source, Composite>>(
          all.row(place), c, value, from + self.part, static_cast<std::int64_t>(self.parts), until);
    }
    detail::combine_tile(c, value, memory_of_launch(), self, share.width);
    if (share.pieces > 1) {
      if (has_row && self.part == 0) partials[piece * all.results + row] = value;
      if (arrived == nullptr) continue;
      __syncthreads();
      if (threadIdx.x == 0) draw_ticket(arrived + tile, static_cast<unsigned>(share.pieces), block.is_last);
      __syncthreads();
      if (block.is_last == 0) continue;
      value = c.identity();
      if (has_row) detail::gather_pieces_of_row(c, value, partials, all.results, row, share.pieces, self);
      detail::combine_tile(c, value, memory_of_launch(), self, share.width);
    }
    if (has_row && self.part == 0) put.put(row, c.at(place).result(value));
  }
}

/// Joins the pieces of rows_by_tiles_kernel, in tiles too, of another width.
template <class All, class Composite, class Put>
__global__ void __launch_bounds__(256)
    join_pieces_kernel(const All all, const Composite c, const Put put, const tiles_share share,
                       const typename Composite::accumulator_type* partials) {
  wait_for_grid_before();
  const place_in_tile self(share.width, false);
  const std::int64_t tiles = (all.results - 1) / share.width + 1;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t row = tile * share.width + self.column;
    const bool has_row = row < all.results && self.has_part(share.width);
    typename Composite::accumulator_type value = c.identity();
    if (has_row) detail::gather_pieces_of_row(c, value, partials, all.results, row, share.pieces, self);
    detail::combine_tile(c, value, memory_of_launch(), self, share.width);
    if (has_row && self.part == 0) put.put(row, c.at(all.place(row)).result(value));
  }
}

}  // namespace fanin::detail
