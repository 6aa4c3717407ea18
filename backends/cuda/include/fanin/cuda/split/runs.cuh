// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/split/kernels.cuh>
#include <fanin/cuda/split/rows_by_blocks.cuh>
#include <fanin/cuda/split/runs_marks.cuh>
#include <fanin/cuda/split/runs_tile.cuh>
#include <fanin/cuda/split/segments.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/detail/runs_functor.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/copies_ahead.cuh>
#include <fanin/device/grid_order.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>
#include <fanin/segments.hpp>

/// Runs: a block finds where they begin in a chunk of keys (runs_marks.cuh), and its warps tile by tile
/// (runs_tile.cuh); it works on those that end in it as on segments, and on the pieces of long ones that do. What
/// threads do with a run depends on its length alone.
namespace fanin::detail {

template <class F>
inline constexpr std::size_t words_of<of_run<F>> = words_of<F> + 1;  // the run's number is none of f's

inline constexpr unsigned warps_of_runs = threads_of_runs / warp_size;

template <class Runs, class Accumulator>
struct memory_of_runs {
  using staged = typename values_of_tile<Runs>::type;
  struct tiles_of_warps {
    begins_of_tile begins[warps_of_runs];
    staged values[warps_of_runs];
  };

  memory_of_chunk chunk;
  union {
    tiles_of_warps tiles;
    alignas(Accumulator) unsigned char of_long_runs[parts_of_segment * warp_size * sizeof(Accumulator)];
  };
};

/// A tile's first run, as far as it goes in the tile.
struct run_until {
  std::int64_t row;
  std::int64_t begin;
  std::int64_t end;  ///< or the tile's, if it does not end there
  bool ends;
  std::int64_t piece;  ///< that ends in the tile and is not the run's last, if there is one

  __device__ run_until(const runs_chunks& chunks, const memory_of_chunk& block, int tile, std::int64_t elements)
      : row{block.first[tile].row}, begin{block.first[tile].begin} {
    const tile_place place(chunks, tile, elements);
    end = place.from + block.first_of_tile[tile];
    ends = block.first_of_tile[tile] < keys_of_tile || place.is_last;
    if (end > elements) end = elements;
    piece = (place.from - begin - 1) / piece_of_run;
  }
  __device__ std::int64_t count() const { return end - begin; }
  __device__ bool has_piece() const { return begin + (piece + 1) * piece_of_run < end; }
  __device__ std::int64_t last_piece() const { return (count() - 1) / piece_of_run; }
};

/// A run of more elements, up to segment_of_warp, a block's warps take together. (H200, us, runs of 4096, by a block
/// and by a warp: 2^20 floats 8.5, 12.1, doubles 11.1, 14.3; 2^26 160, 163, and 217, 203.)
inline constexpr std::int64_t run_of_warp = segment_of_warp / 4;

/// By a block, when its warps have done all shorter ones: the pieces of long runs that end in its chunk, and then the
/// runs that do, whose other pieces are those of blocks before it.
template <class Runs, class Composite, class Put>
__device__ void reduce_long_runs(const Runs& runs, const Composite& c, const Put& put, const runs_chunks& chunks,
                                 const memory_of_chunk& block, typename Composite::accumulator_type* memory) {
  using accumulator = typename Composite::accumulator_type;
  const unsigned lane = threadIdx.x % warp_size;
  const auto run_of = [&](int tile) { return run_until(chunks, block, tile, runs.elements); };
  __syncthreads();
  const bool is_long = static_cast<int>(lane) < chunks.tiles_in(blockIdx.x) && block.is_long[lane];
  if (lanes_where(is_long) == 0) return;
  bool has_piece = false;
  bool ends = false;
  bool is_of_warp = false;
  if (is_long) {
    const run_until run = run_of(static_cast<int>(lane));
    const bool fits = run.row < put.capacity;
    has_piece = fits && run.has_piece();
    ends = fits && run.ends && run.count() > run_of_warp;
    is_of_warp = fits && run.ends && !ends && run.count() > keys_of_tile;
  }
  const std::uint32_t with_pieces = lanes_where(has_piece);
  const std::uint32_t with_ends = lanes_where(ends);
  int turn = 0;
#pragma unroll 1
  for (std::uint32_t some = lanes_where(is_of_warp); some != 0; some &= some - 1, ++turn) {
    if (turn % static_cast<int>(warps_of_runs) != static_cast<int>(threadIdx.x / warp_size)) continue;
    const run_until run = run_of(__ffs(static_cast<int>(some)) - 1);
    detail::reduce_by_warp(runs.row(run.row, run.begin, run.end), c, put.results);
  }
#pragma unroll 1
  for (int joins = 0; joins < 2; ++joins) {
#pragma unroll 1
    for (std::uint32_t some = joins == 0 ? with_pieces : with_ends; some != 0; some &= some - 1) {
      const run_until run = run_of(__ffs(static_cast<int>(some)) - 1);
      const auto segment = runs.row(run.row, run.begin, run.end);
      const std::int64_t piece = joins == 0 ? run.piece : run.last_piece();
      const std::int64_t from = piece * piece_of_run;
      const std::int64_t until = end_of_piece(from, piece_of_run, run.count());
      const auto parts = static_cast<unsigned>((until - from - 1) / part_of_segment + 1);
      accumulator value = c.identity();
      __syncthreads();  // the memory is free
      detail::gather_by_team(segment, c, value, from, parts, threadIdx.x / warp_size, warps_of_runs, memory + lane);
      if (threadIdx.x < warp_size) detail::join_lanes(c, value, warp_size);
      const watched_memory watched = chunks.of_pieces<accumulator>(run.begin);
      if (joins == 0) {
        if (threadIdx.x == 0) detail::publish_partial(value, static_cast<unsigned>(piece), watched, block.launches);
        continue;
      }
      if (piece > 0) {
        const contributor self{static_cast<unsigned>(piece), static_cast<unsigned>(piece + 1)};
        detail::join_watched_pieces<index_source<decltype(segment)>>(c, value, memory, self, watched, block.launches);
      }
      if (threadIdx.x == 0) put.results.put(run.row, c.at(segment.place).result(value));
    }
  }
}

/// A run that a lane takes, of an array's elements, staged or not: one after the other in either case.
template <class Values, class Runs, class Composite, class Put>
__device__ void reduce_short_run(const Values* staged, const Runs& runs, const runs_of_tile& tile, int at, int count,
                                 const Composite& c, const Put& put) {
  typename Composite::accumulator_type value = c.identity();
  auto state = c.begin(value);
  const int begin = tile.begin(at);
  if (staged != nullptr) {
    int k = begin;
#pragma unroll 1
    for (; k + 3 < begin + count; k += 4) {
      const auto element = [&](int step) { return staged->elements[Values::place(k + step)]; };
      const typename Values::value_type four[] = {element(0), element(1), element(2), element(3)};
      for (int step = 0; step < 4; ++step) c.fold(state, four[step], tile.from + k + step);
    }
#pragma unroll 1
    for (; k < begin + count; ++k) c.fold(state, staged->elements[Values::place(k)], tile.from + k);
  } else {
#pragma unroll 1
    for (int k = begin; k < begin + count; ++k) c.fold(state, runs.f(0, tile.from + k), tile.from + k);
  }
  c.finish(state, value);
  put.put(tile.row(at), c.at(runs.place(tile.row(at))).result(value));
}

/// How many runs a lane takes at once, side by side, where its warp has staged them: one after the other, each waits
/// for the block's memory four times (H200, 2^26 floats in runs of 1 401 us, and 353 so).
template <class Accumulator>
inline constexpr int runs_at_once = sizeof(Accumulator) <= 8 ? 4 : 1;

/// By a warp: of staged runs, of which each lane has those at `at`, `at` + 32, ..., those that a lane takes, each
/// folded as by reduce_short_run. Says whether there are longer ones.
template <class Values, class Runs, class Composite, class Put, int... K>
__device__ bool reduce_short_runs(const Values& staged, const Runs& runs, const runs_of_tile& tile, int at,
                                  const Composite& c, const Put& put, std::integer_sequence<int, K...>) {
  constexpr auto lanes = static_cast<int>(warp_size);
  const int begin[] = {tile.begin(at + K * lanes)...};
  int count[] = {tile.begin(at + K * lanes + 1) - begin[K]...};
  const bool has_longer = ((count[K] > run_of_lane) || ...);
  ((count[K] = count[K] > run_of_lane ? 0 : count[K]), ...);
  int most = 0;
  ((most = count[K] > most ? count[K] : most), ...);
  typename Composite::accumulator_type value[] = {(static_cast<void>(K), c.identity())...};
  typename Composite::state_type state[] = {c.begin(value[K])...};
#pragma unroll 1
  for (int k = 0; k < most; ++k) {
    const typename Values::value_type element[] = {staged.elements[k < count[K] ? Values::place(begin[K] + k) : 0]...};
    ((k < count[K] ? c.fold(state[K], element[K], tile.from + begin[K] + k) : void()), ...);
  }
  const std::int64_t row = tile.row(at);
  (c.finish(state[K], value[K]), ...);
  ((count[K] > 0 ? put.put(row + K * lanes, c.at(runs.place(row + K * lanes)).result(value[K])) : void()), ...);
  return lanes_where(has_longer) != 0;
}

/// How many blocks of a multiprocessor the compiler is to make room for; 0: that is its own affair. Of an array's small
/// elements it otherwise saves registers that it has, and folds between the loads of a long run: 173 us instead of 170
/// for 2^26 floats in runs of 65,536, on an H200. With room for 5 it does so in shorter ones, too (196 us instead of
/// 163 in runs of 4096).
template <class Runs, class Composite>
inline constexpr int blocks_of_chunks = gives_elements<typename Runs::functor_type> &&
                                                is_of_small_elements<index_source<segment_row<const Runs&>>, Composite>
                                            ? 4
                                            : 0;

/// A chunk a block, a tile of it a warp.
template <class Runs, class Composite, class Put>
__global__ void __launch_bounds__(threads_of_runs, (blocks_of_chunks<Runs, Composite>))
    runs_by_warps_kernel(const Runs runs, const Composite c, const Put put, const runs_chunks chunks,
                         const cuda_destination<std::int64_t> count) {
  wait_for_grid_before();
  constexpr bool stages = gives_elements<typename Runs::functor_type>;
  constexpr int runs_worth_it = keys_of_tile / run_of_lane;
  using accumulator = typename Composite::accumulator_type;
  using memory = memory_of_runs<Runs, accumulator>;
  static_assert(sizeof(memory) <= 48 * 1024, "fanin: what a block may have without asking for it");
  auto& block = object_of_block<memory>();
  detail::mark_chunk<typename Runs::key_type>(runs, chunks, block.chunk, [&] {
    if constexpr (stages) {
      const std::int64_t from = chunks.first_key(blockIdx.x) + threadIdx.x / warp_size * keys_of_tile;
      memory::staged::prefetch(runs.f, from, runs.elements);
    }
  });
  constexpr auto lanes = static_cast<int>(warp_size);
  const int tiles = chunks.tiles_in(blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const unsigned warp = threadIdx.x / warp_size;
  bool is_numbered = false;
  [[maybe_unused]] copies_ahead copies;
  const auto next_tile = [&] {
    if (tiles <= static_cast<int>(warps_of_runs)) return tiles;
    return static_cast<int>(detail::sum_in_warp(lane == 0 ? atomicAdd(&block.chunk.next, 1u) : 0u));
  };
  for (auto tile = static_cast<int>(warp);; tile = next_tile()) {
    // What can be done while the blocks before tell what is in their chunks.
    int begins = 0;
    if (tile < tiles) begins = detail::find_begins(runs, chunks, block.chunk, tile, block.tiles.begins[warp]);
    [[maybe_unused]] const bool is_staged = begins >= runs_worth_it;
    if constexpr (stages) {
      const std::int64_t from = chunks.first_key(blockIdx.x) + tile * keys_of_tile;
      if (is_staged) {
        block.tiles.values[warp].stage(runs.f, from, runs.elements, copies);
      } else if (begins > 1) {
        memory::staged::prefetch(runs.f, from, runs.elements);
      }
    }
    if (!is_numbered) {
      if (warp == 0) detail::ask_for_chunk(chunks, count, block.chunk);
      __syncthreads();
      is_numbered = true;
    }
    if (tile >= tiles) break;
    const runs_of_tile found =
        detail::find_runs(runs, put, chunks, block.chunk, tile, block.tiles.begins[warp], begins);
    if constexpr (stages) copies.wait();
    __syncwarp();
    [[maybe_unused]] int short_until = 0;  // of those before, short runs are done
    for (int base = 0; base < found.fitting; base += lanes) {
      constexpr int some = runs_at_once<accumulator>;
      if constexpr (stages && some > 1) {
        if (is_staged && base >= short_until && base + some * lanes <= found.fitting) {
          short_until = base + some * lanes;
          if (!detail::reduce_short_runs(block.tiles.values[warp], runs, found, base + lane, c, put.results,
                                         std::make_integer_sequence<int, some>{})) {
            base = short_until - lanes;
            continue;
          }
        }
      }
      const auto run_of = [&](int taken) { return found.run(runs, base + taken); };
      const int mine = base + lane;
      int length = mine < found.fitting ? found.count_of(mine) : -1;
      if constexpr (stages) {
        if (length >= 0 && length <= run_of_lane) {
          if (base >= short_until) {
            detail::reduce_short_run(is_staged ? &block.tiles.values[warp] : nullptr, runs, found, mine, length, c,
                                     put.results);
          }
          length = -1;
        }
        if (lanes_where(length >= 0) == 0) continue;
      }
      const auto run = run_of(length < 0 ? 0 : lane);
      const bool is_mine = length >= 0 && run.count() <= keys_of_tile;
      detail::reduce_segments_of_warp<classes_of_runs>(run, run_of, is_mine ? run.count() : -1, segment_of_warp, c,
                                                       put.results, [](int) {});
    }
    __syncwarp();  // the memory is the next tile's
  }
  detail::reduce_long_runs(runs, c, put, chunks, block.chunk, reinterpret_cast<accumulator*>(block.of_long_runs));
  detail::close_chunks(chunks, block.chunk.launches);
}

struct memory_of_tile {
  memory_of_chunk chunk;
  begins_of_tile begins;
  runs_of_tile found;
};

/// A chunk a block, run by run: for every kind of reducer. Strategy is alone<...>.
template <class Strategy, class Runs, class Composite, class Put>
__global__ void __launch_bounds__(512)
    runs_by_block_kernel(const Runs runs, const Composite c, const Put put, const runs_chunks chunks,
                         const cuda_destination<std::int64_t> count) {
  wait_for_grid_before();
  unsigned char* const shared = memory_of_launch();
  auto& block = object_of_block<block_memory<Strategy, typename Composite::one_type>>();
  auto& memory = object_of_block<memory_of_tile>();
  detail::mark_chunk<typename Runs::key_type>(runs, chunks, memory.chunk, [] {});
  if (threadIdx.x < warp_size) ask_for_chunk(chunks, count, memory.chunk);
  __syncthreads();
  const int tiles = chunks.tiles_in(blockIdx.x);
  for (int tile = 0; tile < tiles; ++tile) {
    if (threadIdx.x < warp_size) {
      const int begins = detail::find_begins(runs, chunks, memory.chunk, tile, memory.begins);
      const runs_of_tile found = detail::find_runs(runs, put, chunks, memory.chunk, tile, memory.begins, begins);
      if (threadIdx.x == 0) memory.found = found;
    }
    __syncthreads();
    const runs_of_tile found = memory.found;
    for (int at = 0; at < found.fitting; ++at) {
      const auto run = found.run(runs, at);
      detail::reduce_row_by_block<Strategy>(run, run.place[0], c, put.results, block, shared);
    }
    __syncthreads();
  }
  close_chunks(chunks, memory.chunk.launches);
}

}  // namespace fanin::detail
