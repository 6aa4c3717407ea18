// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/destination.cuh>
#include <fanin/cuda/split/kernels.cuh>
#include <fanin/cuda/split/segments.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/detail/runs_functor.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>

/// Runs: a first launch marks how many begin in each tile of keys and where the first of them does, a second one finds
/// those of a tile again, which have their numbers and ends now, and works on them as on segments; a third one on the
/// pieces of long ones. What threads do with a run depends on its length alone.
namespace fanin::detail {

/// Keys that a warp takes at once. A run of more elements than a warp takes is the last one of its tile.
inline constexpr int keys_of_tile = 512;
inline constexpr unsigned threads_of_runs = 256;
static_assert(keys_of_tile <= segment_of_warp);

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
  std::int64_t tiles;
  std::int64_t tiles_of_chunk;
};

template <class F>
inline constexpr std::size_t words_of<of_run<F>> = words_of<F> + 1;  // the run's number is none of f's

/// A piece of a long run, which is not in any list of where runs begin.
struct run_piece {
  std::int64_t row;
  unsigned piece;
  unsigned arrived;
  std::int64_t begin;
  std::int64_t end;
};
template <class All>
__device__ auto row_of_piece(const All& runs, const run_piece& piece) {
  return runs.row(piece.row, piece.begin, piece.end);
}

/// By a warp: use(k, lanes in which a run begins, whether one does at k, key of k) for the tile's keys, 32 at a time;
/// some of them are in flight at once.
template <class Key, class Use, int... K>
__device__ void use_keys(const runs_keys<Key>& runs, std::int64_t first, const Use& use,
                         std::integer_sequence<int, K...>) {
  const std::int64_t last = runs.elements - 1;
  const std::int64_t k[] = {first + K * static_cast<std::int64_t>(warp_size)...};
  // Without conditions, so that no load waits for another.
  const Key here[] = {runs.keys[k[K] < last ? k[K] : last]...};
  const Key before[] = {runs.keys[k[K] == 0 ? 0 : k[K] <= last ? k[K] - 1 : last]...};
  all_loads_first();
  const auto use_one = [&](std::int64_t at, const Key& mine, const Key& other) {
    const bool begins = at <= last && (at == 0 || !runs.are_equal(other, mine));
    use(at, lanes_where(begins), begins, mine);
  };
  (use_one(k[K], here[K], before[K]), ...);
}
template <class Key, class Use>
__device__ void for_keys_of_tile(const runs_keys<Key>& runs, std::int64_t tile, const Use& use) {
  constexpr int at_once = static_cast<int>(std::bit_floor(std::clamp<std::size_t>(32 / sizeof(Key), 1, 8)));
  constexpr int keys = at_once * static_cast<int>(warp_size);
  const std::int64_t begin = tile * keys_of_tile + threadIdx.x % warp_size;
#pragma unroll 1
  for (int done = 0; done < keys_of_tile; done += keys) {
    use_keys(runs, begin + done, use, std::make_integer_sequence<int, at_once>{});
  }
}

struct memory_of_marks {
  std::int64_t runs[threads_of_runs];
  std::int64_t first[threads_of_runs];
  unsigned is_last;
};

/// By a block of threads_of_runs: each mark gets the runs of those before it and the first of those behind it. Gives
/// that of all of them. Barriers.
__device__ inline runs_mark scan_marks(runs_mark* marks, std::int64_t count, memory_of_marks& block) {
  const unsigned self = threadIdx.x;
  const std::int64_t share = (count + threads_of_runs - 1) / threads_of_runs;
  const std::int64_t begin = self * share < count ? self * share : count;
  const std::int64_t end = begin + share < count ? begin + share : count;
  const auto load = [&](std::int64_t at) {
    runs_mark one;
    load_from_other_block(one, marks + at);
    return one;
  };
  const auto less = [](std::int64_t a, std::int64_t b) { return a < b ? a : b; };
  runs_mark mine{0, no_run};
  for (std::int64_t at = begin; at < end; ++at) {
    const runs_mark one = load(at);
    mine = {mine.runs + one.runs, less(mine.first, one.first)};
  }
  block.runs[self] = mine.runs;
  block.first[self] = mine.first;
  __syncthreads();
  for (unsigned step = 1; step < threads_of_runs; step *= 2) {
    const std::int64_t before = self >= step ? block.runs[self - step] : 0;
    const std::int64_t behind = self + step < threads_of_runs ? block.first[self + step] : no_run;
    __syncthreads();
    block.runs[self] += before;
    block.first[self] = less(block.first[self], behind);
    __syncthreads();
  }
  std::int64_t before = block.runs[self] - mine.runs;
  std::int64_t behind = self + 1 < threads_of_runs ? block.first[self + 1] : no_run;
  for (std::int64_t at = begin; at < end; ++at) {
    const std::int64_t own = load(at).runs;
    marks[at].runs = before;
    before += own;
  }
  for (std::int64_t at = end; at-- > begin;) {
    const std::int64_t own = load(at).first;
    marks[at].first = behind;
    behind = less(behind, own);
  }
  return {block.runs[threads_of_runs - 1], block.first[0]};
}

/// A chunk of tiles a block; the block that ends last tells how many runs there are.
template <class Key>
__global__ void __launch_bounds__(threads_of_runs)
    mark_runs_kernel(const runs_keys<Key> runs, const runs_marks marks, unsigned* ticket, unsigned* listed,
                     const cuda_destination<std::int64_t> count) {
  auto& block = object_of_block<memory_of_marks>();
  if (blockIdx.x == 0 && threadIdx.x == 0) *listed = 0;
  const unsigned lane = threadIdx.x % warp_size;
  const std::int64_t first = blockIdx.x * marks.tiles_of_chunk;
  const std::int64_t until = marks.tiles - first < marks.tiles_of_chunk ? marks.tiles : first + marks.tiles_of_chunk;
  for (std::int64_t tile = first + threadIdx.x / warp_size; tile < until; tile += threads_of_runs / warp_size) {
    unsigned found = 0;
    std::int64_t first_of_tile = no_run;
    for_keys_of_tile(runs, tile, [&](std::int64_t k, std::uint32_t lanes, bool, const auto&) {
      if (found == 0 && lanes != 0) first_of_tile = k - lane + (__ffs(static_cast<int>(lanes)) - 1);
      found += static_cast<unsigned>(__popc(lanes));
    });
    if (lane == 0) marks.of_tile[tile] = {found, first_of_tile};
  }
  __syncthreads();
  const runs_mark of_chunk = scan_marks(marks.of_tile + first, until - first, block);
  if (threadIdx.x == 0) {
    marks.of_chunk[blockIdx.x] = of_chunk;
    draw_ticket(ticket, gridDim.x, block.is_last);
  }
  __syncthreads();
  if (block.is_last == 0) return;
  const runs_mark of_all = scan_marks(marks.of_chunk, gridDim.x, block);
  if (threadIdx.x == 0) count.deliver(of_all.runs);
}

/// The runs that begin in a tile, of which the first `fitting` have a place to go to.
struct runs_of_tile {
  const std::uint16_t* begins;  ///< from the tile's begin, in memory of the block
  std::int64_t from;            ///< where the tile begins
  std::int64_t row;             ///< the first one's number
  std::int64_t end;             ///< the last one's
  int count;
  int fitting;

  template <class Runs>
  __device__ auto run(const Runs& runs, int at) const {
    return runs.row(row + at, from + begins[at], at + 1 < count ? from + begins[at + 1] : end);
  }
};

/// By a warp: finds a tile's runs, and writes their keys.
template <class Runs, class Put>
__device__ runs_of_tile find_runs(const Runs& runs, const Put& put, const runs_marks& marks, std::int64_t tile,
                                  std::uint16_t* begins) {
  const runs_mark of_tile = marks.of_tile[tile];
  const runs_mark of_chunk = marks.of_chunk[tile / marks.tiles_of_chunk];
  const std::int64_t behind = of_tile.first < of_chunk.first ? of_tile.first : of_chunk.first;
  runs_of_tile found{
      begins, tile * keys_of_tile, of_tile.runs + of_chunk.runs, behind < runs.elements ? behind : runs.elements, 0, 0};
  const std::int64_t room = put.capacity - found.row;
  const std::uint32_t lanes_before = (std::uint32_t{1} << threadIdx.x % warp_size) - 1;
  for_keys_of_tile(runs, tile, [&](std::int64_t k, std::uint32_t lanes, bool begins_here, const auto& key) {
    if (begins_here) {
      const int at = found.count + __popc(lanes & lanes_before);
      begins[at] = static_cast<std::uint16_t>(k - found.from);
      if (at < room) put.put_key(found.row + at, key);
    }
    found.count += __popc(lanes);
  });
  found.fitting = room < found.count ? static_cast<int>(room < 0 ? 0 : room) : found.count;
  return found;
}

/// How far it is from a worker's tile to its next one: no power of two, so that runs of such lengths, which begin in
/// every so many-th tile, are not all the same workers'.
__device__ inline std::int64_t odd(std::int64_t workers) { return workers - (workers % 2 == 0 ? 1 : 0); }

struct memory_of_runs {
  std::uint16_t begins[threads_of_runs / warp_size][keys_of_tile];
};

/// A tile a warp.
template <class Runs, class Composite, class Put>
__global__ void __launch_bounds__(threads_of_runs)
    runs_by_warps_kernel(const Runs runs, const Composite c, const Put put, const runs_marks marks,
                         const segments_list<typename Composite::accumulator_type, run_piece> list) {
  auto& block = object_of_block<memory_of_runs>();
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned warp = threadIdx.x / warp_size;
  const std::int64_t step = odd(static_cast<std::int64_t>(gridDim.x) * (threads_of_runs / warp_size));
  const std::int64_t self = static_cast<std::int64_t>(blockIdx.x) * (threads_of_runs / warp_size) + warp;
  if (self >= step) return;
  for (std::int64_t tile = self; tile < marks.tiles; tile += step) {
    const runs_of_tile found = find_runs(runs, put, marks, tile, block.begins[warp]);
    __syncwarp();
    for (int base = 0; base < found.fitting; base += static_cast<int>(warp_size)) {
      const auto run_of = [&](int taken) { return found.run(runs, base + taken); };
      const int mine = base + static_cast<int>(lane);
      const std::int64_t count = mine < found.fitting ? run_of(static_cast<int>(lane)).count() : -1;
      reduce_segments_of_warp(run_of, count, c, put.results, [&](int taken) {
        const auto run = run_of(taken);
        list_pieces(list, run.count(), run_piece{run.place[0], 0, 0, run.begin, run.end});
      });
    }
    __syncwarp();  // the memory is the next tile's
  }
}

/// A piece of a long run a block.
template <class Runs, class Composite, class Put>
__global__ void __launch_bounds__(threads_of_runs)
    long_runs_kernel(const Runs runs, const Composite c, const Put put,
                     const segments_list<typename Composite::accumulator_type, run_piece> list) {
  auto& block = object_of_block<memory_of_segments>();
  reduce_listed_segments(runs, c, put.results, list, *list.count, block.is_last);
}

struct memory_of_tile {
  std::uint16_t begins[keys_of_tile];
  runs_of_tile found;
};

/// A tile a block, run by run: for every kind of reducer. Strategy is alone<...>.
template <class Strategy, class Runs, class Composite, class Put>
__global__ void __launch_bounds__(512)
    runs_by_block_kernel(const Runs runs, const Composite c, const Put put, const runs_marks marks) {
  unsigned char* const shared = memory_of_launch();
  auto& block = object_of_block<block_memory<Strategy, typename Composite::one_type>>();
  auto& tile_memory = object_of_block<memory_of_tile>();
  const std::int64_t step = odd(gridDim.x);
  if (blockIdx.x >= step) return;
  for (std::int64_t tile = blockIdx.x; tile < marks.tiles; tile += step) {
    if (threadIdx.x < warp_size) {
      const runs_of_tile found = find_runs(runs, put, marks, tile, tile_memory.begins);
      if (threadIdx.x == 0) tile_memory.found = found;
    }
    __syncthreads();
    const runs_of_tile found = tile_memory.found;
    for (int at = 0; at < found.fitting; ++at) {
      const auto run = found.run(runs, at);
      reduce_row_by_block<Strategy>(run, run.place[0], c, put.results, block, shared);
    }
    __syncthreads();
  }
}

}  // namespace fanin::detail
