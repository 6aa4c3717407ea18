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
#include <fanin/device/warp.cuh>
#include <fanin/segments.hpp>

/// Runs: a first launch marks where they begin (runs_marks.cuh); a second one has those of a tile with their numbers
/// and ends, and works on them as on segments; a third one on the pieces of long ones. What threads do with a run
/// depends on its length alone.
namespace fanin::detail {

template <class F>
inline constexpr std::size_t words_of<of_run<F>> = words_of<F> + 1;  // the run's number is none of f's

/// The runs that begin in a tile, of which the first `fitting` have a place to go to.
struct runs_of_tile {
  const std::uint16_t*
      begins;         ///< from the tile's begin, in memory of the block; and where the last one ends, or most_place
  std::int64_t from;  ///< where the tile begins
  std::int64_t row;   ///< the first one's number
  std::int64_t end;   ///< the last one's
  int count;
  int fitting;

  static constexpr std::int64_t most_place = UINT16_MAX;
  template <class Runs>
  __device__ auto run(const Runs& runs, int at) const {
    return runs.row(row + at, from + begins[at], at + 1 < count ? from + begins[at + 1] : end);
  }
  /// How long it is, or that it is longer than any that a warp takes.
  __device__ int count_of(int at) const { return begins[at + 1] - begins[at]; }
};
static_assert(runs_of_tile::most_place - keys_of_tile > segment_of_warp);

/// By a warp: of some rounds of a tile, in the lanes of `word` the bits of each.
template <class Key, class Put, int... K>
__device__ void find_some_runs(const runs_keys<Key>& runs, const Put& put, std::uint32_t word, int room, int round,
                               std::uint16_t* begins, runs_of_tile& found, std::integer_sequence<int, K...>) {
  const unsigned lane = threadIdx.x % warp_size;
  const std::uint32_t lanes[] = {of_lane(word, round + K)...};
  if ((lanes[K] | ...) == 0) return;
  // A lane whose key is none of a run's reads another one.
  const Key* const from = runs.keys + found.from;
  const auto place = [&](int k) { return (round + k) * static_cast<int>(warp_size) + static_cast<int>(lane); };
  const Key keys[] = {from[(lanes[K] >> lane & 1) != 0 ? place(K) : 0]...};
  all_loads_first();
  const auto take = [&](std::uint32_t of_round, int at_tile, const Key& key) {
    if ((of_round >> lane & 1) != 0) {
      const int at = found.count + lanes_before(of_round);
      begins[at] = static_cast<std::uint16_t>(at_tile);
      if (at < room) put.keys.put(found.row + at, key);
    }
    found.count += __popc(of_round);
  };
  (take(lanes[K], place(K), keys[K]), ...);
}

/// By a warp: a tile's runs; writes their keys.
template <class Key, class Put>
__device__ runs_of_tile find_runs(const runs_keys<Key>& runs, const Put& put, const runs_marks& marks,
                                  std::int64_t tile, std::uint16_t* begins) {
  const runs_mark of_tile = marks.of_tile[tile];
  const runs_mark of_chunk = marks.of_chunk[marks.tiles_of_chunk.quotient(static_cast<std::uint64_t>(tile))];
  const std::uint32_t word = marks.begins[tile * words_of_tile + threadIdx.x % words_of_tile];
  all_loads_first();
  const std::int64_t behind = of_tile.first < of_chunk.first ? of_tile.first : of_chunk.first;
  runs_of_tile found{
      begins, tile * keys_of_tile, of_tile.runs + of_chunk.runs, behind < runs.elements ? behind : runs.elements, 0, 0};
  const std::int64_t left = put.capacity - found.row;
  const int room = left < 0 ? 0 : left < keys_of_tile ? static_cast<int>(left) : keys_of_tile;
#pragma unroll 1
  for (int round = 0; round < words_of_tile; round += keys_in_flight<Key>) {
    find_some_runs(runs, put, word, room, round, begins, found, std::make_integer_sequence<int, keys_in_flight<Key>>{});
  }
  found.fitting = room < found.count ? room : found.count;
  if (threadIdx.x % warp_size == 0) {
    const std::int64_t place = found.end - found.from;
    begins[found.count] =
        static_cast<std::uint16_t>(place < runs_of_tile::most_place ? place : runs_of_tile::most_place);
  }
  return found;
}

/// How far it is from a worker's tile to its next one: no power of two, so that runs of such lengths, which begin in
/// every so many-th tile, are not all the same workers'.
__device__ inline std::int64_t odd(std::int64_t workers) { return workers - (workers % 2 == 0 ? 1 : 0); }

/// Whether f gives elements of an array, which a warp reads one beside the other for its lanes to fold.
template <class F>
inline constexpr bool stages_values = false;
template <class T>
inline constexpr bool stages_values<value_of_segment<T>> = can_be_staged<T>;
template <class T>
inline constexpr bool stages_values<value_of_run<T>> = can_be_staged<T>;

inline constexpr int run_of_lane = read_in_place.of_lane;

/// Those of a tile, and those behind that its last run may have if a lane takes it.
template <class T>
struct staged_tile : staged_elements<T, keys_of_tile + run_of_lane> {
  using staged_tile::staged_elements::elements;
  using staged_tile::staged_elements::place;
  static constexpr int behind = run_of_lane;

  /// By a warp: those of a tile that begins at `from`, of `count` elements in all.
  template <class F, int... K>
  __device__ void stage(const F& f, std::int64_t from, std::int64_t count, std::integer_sequence<int, K...>) {
    constexpr int at_once = sizeof...(K);
    constexpr auto lanes = static_cast<int>(warp_size);
    constexpr int all = keys_of_tile + behind;
    const int lane = static_cast<int>(threadIdx.x % warp_size);
    const int left = count - from < all ? static_cast<int>(count - from) : all;
    const auto load = [&](int k) { return f(0, from + (k < left ? k : 0)); };
#pragma unroll 1
    for (int k = lane; k < keys_of_tile; k += at_once * lanes) {
      const T loaded[] = {load(k + K * lanes)...};
      all_loads_first();
      T* const to = elements + place(k);
      ((to[K * place(lanes)] = loaded[K]), ...);
    }
    if (lane < behind) elements[place(keys_of_tile + lane)] = load(keys_of_tile + lane);
  }
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
  requires(stages_values<F>)
struct values_of_tile<runs_functor<F, Key>> {
  using type = staged_tile<std::invoke_result_t<const F&, std::int64_t, std::int64_t>>;
};

template <class Runs>
struct memory_of_runs {
  std::uint16_t begins[threads_of_runs / warp_size][keys_of_tile + 2];
  typename values_of_tile<Runs>::type values[threads_of_runs / warp_size];
};

/// A run that a lane takes, of an array's elements, staged or not: one after the other in either case.
template <class Values, class Runs, class Composite, class Put>
__device__ void reduce_short_run(const Values* staged, const Runs& runs, const runs_of_tile& tile, int at, int count,
                                 const Composite& c, const Put& put) {
  typename Composite::accumulator_type value = c.identity();
  auto state = c.begin(value);
  const int begin = tile.begins[at];
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

/// A tile a warp.
template <class Runs, class Composite, class Put>
__global__ void __launch_bounds__(threads_of_runs)
    runs_by_warps_kernel(const Runs runs, const Composite c, const Put put, const runs_marks marks,
                         const segments_list<typename Composite::accumulator_type> list) {
  wait_for_grid_before();
  constexpr bool stages = stages_values<typename Runs::functor_type>;
  constexpr int runs_worth_it = keys_of_tile / run_of_lane;
  auto& block = object_of_block<memory_of_runs<Runs>>();
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const unsigned warp = threadIdx.x / warp_size;
  const std::int64_t step = odd(static_cast<std::int64_t>(gridDim.x) * (threads_of_runs / warp_size));
  const std::int64_t self = static_cast<std::int64_t>(blockIdx.x) * (threads_of_runs / warp_size) + warp;
  if (self >= step) return;
  for (std::int64_t tile = self; tile < marks.tiles; tile += step) {
    const runs_of_tile found = find_runs(runs, put, marks, tile, block.begins[warp]);
    [[maybe_unused]] const bool is_staged = found.fitting >= runs_worth_it;
    if constexpr (stages) {
      if (is_staged) {
        block.values[warp].stage(runs.f, found.from, runs.elements);
      }
    }
    __syncwarp();
    for (int base = 0; base < found.fitting; base += static_cast<int>(warp_size)) {
      const auto run_of = [&](int taken) { return found.run(runs, base + taken); };
      const int mine = base + lane;
      int count = mine < found.fitting ? found.count_of(mine) : -1;
      if constexpr (stages) {
        if (count >= 0 && count <= run_of_lane) {
          reduce_short_run(is_staged ? &block.values[warp] : nullptr, runs, found, mine, count, c, put.results);
          count = -1;
        }
        if (lanes_where(count >= 0) == 0) continue;
      }
      const auto run = run_of(count < 0 ? 0 : lane);
      reduce_segments_of_warp<read_in_place>(run, run_of, count < 0 ? -1 : run.count(), c, put.results,
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
  std::uint16_t begins[keys_of_tile + 1];
  runs_of_tile found;
};

/// A tile a block, run by run: for every kind of reducer. Strategy is alone<...>.
template <class Strategy, class Runs, class Composite, class Put>
__global__ void __launch_bounds__(512)
    runs_by_block_kernel(const Runs runs, const Composite c, const Put put, const runs_marks marks) {
  wait_for_grid_before();
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
