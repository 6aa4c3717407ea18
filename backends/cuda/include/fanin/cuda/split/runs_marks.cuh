// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/cuda/destination.cuh>
#include <fanin/cuda/split/segments.cuh>
#include <fanin/detail/divider.hpp>
#include <fanin/detail/runs_functor.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/grid_order.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>

/// The first launch over runs: where they begin, a bit for each key; how many do in each tile of keys, and where the
/// first of them does.
namespace fanin::detail {

/// Keys that a warp takes at once. A run of more elements than a warp takes is the last one of its tile.
inline constexpr int keys_of_tile = 512;
inline constexpr unsigned threads_of_runs = 256;
inline constexpr int words_of_tile = keys_of_tile / static_cast<int>(warp_size);
static_assert(keys_of_tile <= segment_of_warp && words_of_tile <= static_cast<int>(warp_size));

/// Of a tile, or of a chunk of them: how many runs begin in it, and where the first of them does. Then, how many begin
/// before it in its chunk (of a chunk: before it), and where the first does that begins behind it.
struct runs_mark {
  std::int64_t runs;
  std::int64_t first;
};
inline constexpr std::int64_t no_run = INT64_MAX;

/// In the call's workspace.
struct runs_marks {
  runs_mark* of_tile;
  runs_mark* of_chunk;
  std::uint32_t* begins;  ///< a bit for each key with which a run begins
  std::int64_t tiles;
  divider tiles_of_chunk;
};

/// By a warp: use(round, lanes with whose keys a run begins) for some rounds of a tile, a key a lane in each; all of
/// them are in flight at once. `mine` is the first one's place; IsInner says that there are keys before and behind the
/// tile.
template <bool IsInner, class Key, class Use, int... K>
__device__ void use_keys(const runs_keys<Key>& runs, std::int64_t mine, int round, const Use& use,
                         std::integer_sequence<int, K...>) {
  constexpr auto lanes = static_cast<int>(warp_size);
  const std::int64_t left = runs.elements - mine;  // may be below 1
  const Key* const from = runs.keys + mine;
  // Without conditions, so that no load waits for another.
  const auto load = [&](int k, int step) -> const Key& {
    if constexpr (IsInner) return from[k * lanes - step];
    const bool is_there = k * lanes < left && mine + k * lanes >= step;
    return is_there ? from[k * lanes - step] : runs.keys[0];
  };
  const Key here[] = {load(K, 0)...};
  const Key before[] = {load(K, 1)...};
  all_loads_first();
  const auto begins = [&](int k) {
    if constexpr (IsInner) return !runs.are_equal(before[k], here[k]);
    return k * lanes < left && (mine + k * lanes == 0 || !runs.are_equal(before[k], here[k]));
  };
  (use(round + K, lanes_where(begins(K))), ...);
}

/// How many keys a lane has in flight.
template <class Key>
inline constexpr int keys_in_flight = static_cast<int>(std::bit_floor(std::clamp<std::size_t>(32 / sizeof(Key), 1, 8)));

/// By a warp: marks where runs begin in a tile. How many there are, and where the first of them begins.
template <class Key>
__device__ runs_mark mark_tile(const runs_keys<Key>& runs, std::int64_t tile, std::uint32_t* begins) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const std::int64_t from = tile * keys_of_tile;
  std::uint32_t mine = 0;
  runs_mark found{0, no_run};
  const auto use = [&](int round, std::uint32_t lanes) {
    if (found.runs == 0 && lanes != 0) {
      found.first = from + round * static_cast<int>(warp_size) + __ffs(static_cast<int>(lanes)) - 1;
    }
    found.runs += __popc(lanes);
    if (lane == round) mine = lanes;
  };
  const auto rounds = [&]<bool IsInner, int InFlight>(std::bool_constant<IsInner>,
                                                      std::integral_constant<int, InFlight>) {
#pragma unroll 1
    for (int round = 0; round < words_of_tile; round += InFlight) {
      use_keys<IsInner>(runs, from + round * static_cast<int>(warp_size) + lane, round, use,
                        std::make_integer_sequence<int, InFlight>{});
    }
  };
  if (tile > 0 && from + keys_of_tile <= runs.elements) {
    rounds(std::true_type{}, std::integral_constant<int, keys_in_flight<Key>>{});
  } else {
    rounds(std::false_type{}, std::integral_constant<int, 1>{});
  }
  if (lane < words_of_tile) begins[tile * words_of_tile + lane] = mine;
  return found;
}

/// So many marks a block looks through in its memory.
inline constexpr std::int64_t most_marks = 1'024;
struct memory_of_marks {
  runs_mark marks[most_marks];
  runs_mark of_warp[threads_of_runs / warp_size];
  unsigned is_last;
};

/// By a block of threads_of_runs: marks `from` .. , each of which gets, in `to` (which may be the same), the runs of
/// those before it and the first of those behind it. Gives that of all of them. One barrier; the caller puts one before
/// the next use.
__device__ inline runs_mark scan_marks(const runs_mark* from, runs_mark* to, std::int64_t count,
                                       runs_mark (&of_warp)[threads_of_runs / warp_size]) {
  constexpr auto lanes = static_cast<int>(warp_size);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int warp = static_cast<int>(threadIdx.x) / lanes;
  const std::int64_t share = (count + threads_of_runs - 1) / threads_of_runs;
  const std::int64_t begin = threadIdx.x * share < count ? threadIdx.x * share : count;
  const std::int64_t end = begin + share < count ? begin + share : count;
  const auto less = [](std::int64_t a, std::int64_t b) { return a < b ? a : b; };
  runs_mark mine{0, no_run};
  for (std::int64_t at = begin; at < end; ++at) mine = {mine.runs + from[at].runs, less(mine.first, from[at].first)};
  runs_mark with_others = mine;  // runs with those of lanes before, first with those of lanes behind
  for (int step = 1; step < lanes; step *= 2) {
    const std::int64_t before = of_lane(with_others.runs, (lane - step) & (lanes - 1));
    const std::int64_t behind = shuffle_down(with_others.first, static_cast<unsigned>(step));
    if (lane >= step) with_others.runs += before;
    if (lane + step < lanes) with_others.first = less(with_others.first, behind);
  }
  std::int64_t behind = shuffle_down(with_others.first, 1);
  if (lane == lanes - 1) {
    of_warp[warp].runs = with_others.runs;
    behind = no_run;
  }
  if (lane == 0) of_warp[warp].first = with_others.first;
  __syncthreads();
  std::int64_t before = with_others.runs - mine.runs;
  runs_mark all{0, no_run};
  for (int k = 0; k < static_cast<int>(threads_of_runs) / lanes; ++k) {
    const runs_mark other = of_warp[k];
    if (k < warp) before += other.runs;
    if (k > warp) behind = less(behind, other.first);
    all = {all.runs + other.runs, less(all.first, other.first)};
  }
  for (std::int64_t at = begin; at < end; ++at) {
    const std::int64_t own = from[at].runs;
    to[at].runs = before;
    before += own;
  }
  for (std::int64_t at = end; at-- > begin;) {
    const std::int64_t own = from[at].first;
    to[at].first = behind;
    behind = less(behind, own);
  }
  return all;
}

/// A chunk of tiles a block, by up to most_marks blocks; the one that ends last tells how many runs there are.
template <class Key>
__global__ void __launch_bounds__(threads_of_runs)
    mark_runs_kernel(const runs_keys<Key> runs, const runs_marks marks, unsigned* ticket, unsigned* listed,
                     const cuda_destination<std::int64_t> count) {
  wait_for_grid_before();
  auto& block = object_of_block<memory_of_marks>();
  if (blockIdx.x == 0 && threadIdx.x == 0) *listed = 0;
  const auto tiles_of_chunk = static_cast<std::int64_t>(marks.tiles_of_chunk.divisor());
  const std::int64_t first = blockIdx.x * tiles_of_chunk;
  const std::int64_t until = marks.tiles - first < tiles_of_chunk ? marks.tiles : first + tiles_of_chunk;
  runs_mark* const found = until - first <= most_marks ? block.marks : marks.of_tile + first;
  for (std::int64_t tile = first + threadIdx.x / warp_size; tile < until; tile += threads_of_runs / warp_size) {
    const runs_mark mark = mark_tile(runs, tile, marks.begins);
    if (threadIdx.x % warp_size == 0) found[tile - first] = mark;
  }
  __syncthreads();
  const runs_mark of_chunk = scan_marks(found, marks.of_tile + first, until - first, block.of_warp);
  if (threadIdx.x == 0) {
    marks.of_chunk[blockIdx.x] = of_chunk;
    draw_ticket(ticket, gridDim.x, block.is_last);
  }
  __syncthreads();
  if (block.is_last == 0) return;
  for (unsigned chunk = threadIdx.x; chunk < gridDim.x; chunk += threads_of_runs) {
    load_from_other_block(block.marks[chunk], marks.of_chunk + chunk);
  }
  __syncthreads();
  const runs_mark of_all = scan_marks(block.marks, marks.of_chunk, gridDim.x, block.of_warp);
  if (threadIdx.x == 0) count.deliver(of_all.runs);
}

}  // namespace fanin::detail
