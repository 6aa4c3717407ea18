// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/split/kernels.cuh>
#include <fanin/cuda/split/runs_marks.cuh>
#include <fanin/cuda/split/segments.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/detail/runs_functor.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/grid_order.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/sums_before.cuh>
#include <fanin/device/warp.cuh>
#include <fanin/segments.hpp>

/// Runs: a block finds where they begin in a chunk of keys (runs_marks.cuh), and works on those that end in it as on
/// segments; pieces of long ones are left to a second launch. What threads do with a run depends on its length alone.
namespace fanin::detail {

template <class F>
inline constexpr std::size_t words_of<of_run<F>> = words_of<F> + 1;  // the run's number is none of f's

/// Places in a tile where runs begin, one after the other, and where the last of them ends. Lanes that write theirs at
/// once have them 16 apart at the most, hence the gaps.
struct begins_of_tile {
  std::uint16_t places[keys_of_tile + 2 + keys_of_tile / 16 + 1];
  __device__ std::uint16_t& operator[](int at) { return places[at + at / 16]; }
  __device__ std::uint16_t operator[](int at) const { return places[at + at / 16]; }
};

/// The runs that end in a tile: where the next one begins, or the keys end. The first `fitting` have a place to go to.
struct runs_of_tile {
  const begins_of_tile* begins;  ///< in memory of the block
  std::int64_t from;             ///< where the tile begins
  std::int64_t row;              ///< the first run's number
  std::int64_t begin;            ///< where it does, maybe long before the tile
  int count;                     ///< of begins
  int fitting;

  /// As places are there; one far before the tile is 0, and its run looks longer than any that a warp takes.
  static constexpr int zero = UINT16_MAX - keys_of_tile;
  __device__ std::int64_t place(int at) const { return from + ((*begins)[at] - zero); }
  template <class Runs>
  __device__ auto run(const Runs& runs, int at) const {
    return runs.row(row + at, at == 0 ? begin : place(at), place(at + 1));
  }
  __device__ int count_of(int at) const { return (*begins)[at + 1] - (*begins)[at]; }
};
static_assert(runs_of_tile::zero > segment_of_warp);

/// By a warp: the keys of the runs that begin in a tile, the lane's of those below `room` from `at` on.
template <class Key, class PutKeys>
__device__ void put_keys(const runs_keys<Key>& runs, const PutKeys& put, const runs_of_tile& found, int at, int room) {
  constexpr auto lanes = static_cast<int>(warp_size);
  const auto key = [&](int one) -> const Key& { return runs.keys[found.place(one)]; };
#pragma unroll 1
  for (; at + 3 * lanes < room; at += 4 * lanes) {
    const Key keys[] = {key(at), key(at + lanes), key(at + 2 * lanes), key(at + 3 * lanes)};
    all_loads_first();
    for (int k = 0; k < 4; ++k) put.put(found.row + at + k * lanes, keys[k]);
  }
#pragma unroll 1
  for (; at < room; at += lanes) put.put(found.row + at, key(at));
}

/// By a warp: the runs that end in a chunk's tile; writes the keys of those that begin there.
template <class Key, class Put>
__device__ runs_of_tile find_runs(const runs_keys<Key>& runs, const Put& put, const runs_chunks& chunks,
                                  const memory_of_chunk& block, int tile, begins_of_tile& begins) {
  const runs_mark before = block.before_tile(tile, chunks.first_key(blockIdx.x));
  const int open = before.runs > 0 ? 1 : 0;  // the run that began before
  const std::int64_t from = chunks.first_key(blockIdx.x) + tile * keys_of_tile;
  runs_of_tile found{&begins, from, before.runs - open, open > 0 ? before.last : from, open, 0};
  const bool is_last = runs.elements - from <= keys_of_tile;
  std::uint32_t mine = begins_of_lane(block.begins + tile * words_of_tile);
  if (lanes_where(mine != 0) == 0 && !is_last) return found;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const sums_of_lanes sums = sum_lanes(__popc(mine));
  for (int at = open + sums.before; mine != 0; mine &= mine - 1) {
    begins[at++] =
        static_cast<std::uint16_t>(runs_of_tile::zero - 1 + lane * keys_of_lane + __ffs(static_cast<int>(mine)));
  }
  found.count += sums.all;
  if (threadIdx.x % warp_size == 0) {
    const std::int64_t place = runs_of_tile::zero + (found.begin - from);
    begins[0] = static_cast<std::uint16_t>(place < 0 ? 0 : place);
    if (is_last) begins[found.count] = static_cast<std::uint16_t>(runs_of_tile::zero + (runs.elements - from));
  }
  __syncwarp();
  const std::int64_t left = put.capacity - found.row;
  const int room = left < 0 ? 0 : left < found.count ? static_cast<int>(left) : found.count;
  put_keys(runs, put.keys, found, lane + open, room);
  const int ended = found.count - (is_last ? 0 : 1);
  found.fitting = room < ended ? room : ended;
  return found;
}

inline constexpr int run_of_lane = read_in_place.of_lane;

/// Those of a tile, and those before it that its first run may have if a lane takes it.
template <class T>
struct staged_tile : staged_elements<T, run_of_lane + keys_of_tile> {
  static constexpr int before = run_of_lane;
  /// Of an element, counted from the tile's begin.
  static constexpr unsigned place(int k) { return staged_tile::staged_elements::place(before + k); }

  /// By a warp: those of a tile that begins at `from`, of `count` elements in all.
  template <class F, int... K>
  __device__ void stage(const F& f, std::int64_t from, std::int64_t count, std::integer_sequence<int, K...>) {
    constexpr int at_once = sizeof...(K);
    constexpr auto lanes = static_cast<int>(warp_size);
    const int lane = static_cast<int>(threadIdx.x % warp_size);
    const int left = count - from < keys_of_tile ? static_cast<int>(count - from) : keys_of_tile;
    const auto load = [&](int k) { return f(0, from + (k < left ? k : 0)); };
#pragma unroll 1
    for (int k = lane; k < keys_of_tile; k += at_once * lanes) {
      const T loaded[] = {load(k + K * lanes)...};
      all_loads_first();
      T* const to = this->elements + place(k);
      ((to[K * (lanes + lanes / 16)] = loaded[K]), ...);
    }
    if (lane < before && from > 0) this->elements[place(lane - before)] = f(0, from + (lane - before));
  }
  /// By a warp: brings a tile's nearer, if they lie one beside the other.
  __device__ static void prefetch(const contiguous_element<T>& f, std::int64_t from, std::int64_t count) {
    constexpr int of_line = static_cast<int>(line_bytes / sizeof(T));
    const int at = static_cast<int>(threadIdx.x % warp_size) * of_line;
    if (at < keys_of_tile && from + at < count) prefetch_line(f.data + from + at);
  }
  __device__ static void prefetch(const strided_element<T>&, std::int64_t, std::int64_t) {}
  template <class F>
  __device__ void stage(const F& f, std::int64_t from, std::int64_t count) {
    stage(f, from, count, std::make_integer_sequence<int, 8>{});
  }
};
struct nothing_staged {};

template <class Runs>
struct values_of_tile {
  using type = nothing_staged;
};
template <class F, class Key>
  requires(gives_elements<F>)
struct values_of_tile<runs_functor<F, Key>> {
  using type = staged_tile<std::invoke_result_t<const F&, std::int64_t, std::int64_t>>;
};

template <class Runs>
struct memory_of_runs {
  memory_of_chunk chunk;
  begins_of_tile begins[threads_of_runs / warp_size];
  using staged = typename values_of_tile<Runs>::type;
  staged values[threads_of_runs / warp_size];
};

/// A run that a lane takes, of an array's elements, staged or not: one after the other in either case.
template <class Values, class Runs, class Composite, class Put>
__device__ void reduce_short_run(const Values* staged, const Runs& runs, const runs_of_tile& tile, int at, int count,
                                 const Composite& c, const Put& put) {
  typename Composite::accumulator_type value = c.identity();
  auto state = c.begin(value);
  const int begin = (*tile.begins)[at] - runs_of_tile::zero;
  if (staged != nullptr) {
#pragma unroll 1
    for (int k = begin; k < begin + count; ++k) c.fold(state, staged->elements[Values::place(k)], tile.from + k);
  } else {
#pragma unroll 1
    for (int k = begin; k < begin + count; ++k) c.fold(state, runs.f(0, tile.from + k), tile.from + k);
  }
  c.finish(state, value);
  put.put(tile.row + at, c.at(runs.place(tile.row + at)).result(value));
}

/// How many blocks of a multiprocessor the compiler is to make room for; 0: that is its own affair. Of an array's small
/// elements it takes 56 registers for what orders chunks, where the runs themselves need 40: 181 us instead of 172 for
/// 2^26 floats in runs of 256, on an H200.
template <class Runs, class Composite>
inline constexpr int blocks_of_chunks = gives_elements<typename Runs::functor_type> &&
                                                is_of_small_elements<index_source<segment_row<const Runs&>>, Composite>
                                            ? 5
                                            : 0;

/// A chunk a block, a tile of it a warp.
template <class Runs, class Composite, class Put>
__global__ void __launch_bounds__(threads_of_runs, (blocks_of_chunks<Runs, Composite>))
    runs_by_warps_kernel(const Runs runs, const Composite c, const Put put, const runs_chunks chunks,
                         const segments_list<typename Composite::accumulator_type> list,
                         const cuda_destination<std::int64_t> count) {
  wait_for_grid_before();
  constexpr bool stages = gives_elements<typename Runs::functor_type>;
  constexpr int runs_worth_it = keys_of_tile / run_of_lane;
  auto& block = object_of_block<memory_of_runs<Runs>>();
  if constexpr (stages) {
    const std::int64_t from = chunks.first_key(blockIdx.x) + threadIdx.x / warp_size * keys_of_tile;
    memory_of_runs<Runs>::staged::prefetch(runs.f, from, runs.elements);
  }
  mark_chunk<typename Runs::key_type>(runs, chunks, count, block.chunk);
  const int tiles = chunks.tiles_in(blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const unsigned warp = threadIdx.x / warp_size;
  const auto next_tile = [&] {
    return static_cast<int>(sum_in_warp(lane == 0 ? atomicAdd(&block.chunk.next, 1u) : 0u));
  };
  for (int tile = next_tile(); tile < tiles; tile = next_tile()) {
    const runs_of_tile found = find_runs(runs, put, chunks, block.chunk, tile, block.begins[warp]);
    [[maybe_unused]] const bool is_staged = found.fitting >= runs_worth_it;
    if constexpr (stages) {
      if (is_staged) block.values[warp].stage(runs.f, found.from, runs.elements);
    }
    __syncwarp();
    for (int base = 0; base < found.fitting; base += static_cast<int>(warp_size)) {
      const auto run_of = [&](int taken) { return found.run(runs, base + taken); };
      const int mine = base + lane;
      int length = mine < found.fitting ? found.count_of(mine) : -1;
      if constexpr (stages) {
        if (length >= 0 && length <= run_of_lane) {
          reduce_short_run(is_staged ? &block.values[warp] : nullptr, runs, found, mine, length, c, put.results);
          length = -1;
        }
        if (lanes_where(length >= 0) == 0) continue;
      }
      const auto run = run_of(length < 0 ? 0 : lane);
      reduce_segments_of_warp<read_in_place>(run, run_of, length < 0 ? -1 : run.count(), c, put.results,
                                             [&](int taken) { list_pieces(list, run_of(taken)); });
    }
    __syncwarp();  // the memory is the next tile's
  }
}

/// A piece of a long run a block.
template <class Runs, class Composite, class Put>
__global__ void __launch_bounds__(threads_of_runs, (blocks_of_pieces<Runs, Composite>))
    long_runs_kernel(const Runs runs, const Composite c, const Put put,
                     const segments_list<typename Composite::accumulator_type> list) {
  wait_for_grid_before();
  auto& block = object_of_block<memory_of_segments>();
  reduce_listed_segments(runs, c, put.results, list, *list.count, block.is_last);
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
  mark_chunk<typename Runs::key_type>(runs, chunks, count, memory.chunk);
  const int tiles = chunks.tiles_in(blockIdx.x);
  for (int tile = 0; tile < tiles; ++tile) {
    if (threadIdx.x < warp_size) {
      const runs_of_tile found = find_runs(runs, put, chunks, memory.chunk, tile, memory.begins);
      if (threadIdx.x == 0) memory.found = found;
    }
    __syncthreads();
    const runs_of_tile found = memory.found;
    for (int at = 0; at < found.fitting; ++at) {
      const auto run = found.run(runs, at);
      reduce_row_by_block<Strategy>(run, run.place[0], c, put.results, block, shared);
    }
    __syncthreads();
  }
}

}  // namespace fanin::detail
