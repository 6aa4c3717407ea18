// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <fanin/cuda/split/runs_marks.cuh>
#include <fanin/cuda/split/segments.cuh>
#include <fanin/cuda/split/staged.cuh>
#include <fanin/detail/runs_functor.hpp>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/device/copies_ahead.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/sums_before.cuh>
#include <fanin/device/warp.cuh>

/// A warp's tile of keys: where the runs that end in it begin, and their elements in the block's memory.
namespace fanin::detail {

/// Places in a tile where runs begin, one after the other, and where the last of them ends.
using begins_of_tile = std::uint16_t[keys_of_tile + 2];

/// The runs that end in a tile: where the next one begins, or the keys end. The first `fitting` have a place to go to.
struct runs_of_tile {
  const begins_of_tile* begins;  ///< in memory of the block, as what follows: registers are few
  const open_run* first;
  std::int64_t from;  ///< where the tile begins
  int count;          ///< of begins
  int fitting;

  /// As places are there; one far before the tile is 0, and its run looks longer than any that a warp takes.
  static constexpr int zero = UINT16_MAX - keys_of_tile;
  __device__ std::int64_t row(int at) const { return first->row + at; }
  /// Where one begins, counted from the tile's begin.
  __device__ int begin(int at) const { return (*begins)[at] - zero; }
  __device__ std::int64_t place(int at) const { return from + begin(at); }
  template <class Runs>
  __device__ auto run(const Runs& runs, int at) const {
    return runs.row(row(at), at == 0 ? first->begin : place(at), place(at + 1));
  }
  __device__ int count_of(int at) const { return (*begins)[at + 1] - (*begins)[at]; }
};
static_assert(runs_of_tile::zero > segment_of_warp);

/// By a warp: the keys of the runs that begin in a tile, the lane's of those below `room` from `at` on.
template <class Key, class PutKeys>
__device__ void put_keys(const runs_keys<Key>& runs, const PutKeys& put, const runs_of_tile& found, int at, int room) {
  constexpr auto lanes = static_cast<int>(warp_size);
  const Key* const of_tile = runs.keys + found.from;
  const std::int64_t row = found.row(0);
  const auto key = [&](int one) -> const Key& { return of_tile[found.begin(one)]; };
#pragma unroll 1
  for (; at + 3 * lanes < room; at += 4 * lanes) {
    const Key keys[] = {key(at), key(at + lanes), key(at + 2 * lanes), key(at + 3 * lanes)};
    all_loads_first();
    for (int k = 0; k < 4; ++k) put.put(row + at + k * lanes, keys[k]);
  }
#pragma unroll 1
  for (; at < room; at += lanes) put.put(row + at, key(at));
}

/// By a warp: where runs begin in a chunk's tile, and of how many, with the one that began before; without what is
/// before its chunk.
template <class Key>
__device__ int find_begins(const runs_keys<Key>& runs, const runs_chunks& chunks, const memory_of_chunk& block,
                           int tile, begins_of_tile& begins) {
  const tile_place place(chunks, tile, runs.elements);
  int count = place.open();
  if (block.of_tile[tile].runs == 0 && !place.is_last) return count;
  constexpr auto lanes = static_cast<int>(warp_size);
  constexpr int many = 6 * lanes;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const std::uint32_t* const marked = block.begins + tile * words_of_tile;
  const auto write = [&](int at, int key) { begins[at] = static_cast<std::uint16_t>(runs_of_tile::zero + key); };
  if (block.of_tile[tile].runs >= many) {  // a key a lane
#pragma unroll
    for (int k = 0; k < words_of_tile; ++k) {
      const std::uint32_t some = marked[k];
      if ((some >> lane & 1) != 0) write(count + lanes_before(some), k * lanes + lane);
      count += __popc(some);
    }
  } else {  // each lane its own keys
    std::uint32_t mine = begins_of_lane(marked);
    const sums_of_lanes sums = sum_lanes(__popc(mine));
    for (int at = count + sums.before; mine != 0; mine &= mine - 1, ++at) {
      write(at, lane * keys_of_lane + __ffs(static_cast<int>(mine)) - 1);
    }
    count += sums.all;
  }
  if (place.is_last && lane == 0) {
    begins[count] = static_cast<std::uint16_t>(runs_of_tile::zero + (runs.elements - place.from));
  }
  return count;
}

/// By a warp, when what is before the tile is known: the runs that end in it; writes the keys of those that begin
/// there.
template <class Key, class Put>
__device__ runs_of_tile find_runs(const runs_keys<Key>& runs, const Put& put, const runs_chunks& chunks,
                                  memory_of_chunk& block, int tile, begins_of_tile& begins, int count) {
  const runs_mark before = block.with(block.before_tile(tile), chunks.first_key(blockIdx.x));
  const tile_place place(chunks, tile, runs.elements);
  const open_run first{before.runs - place.open(), place.open() > 0 ? before.last : place.from};
  if (threadIdx.x % warp_size == 0) {
    block.first[tile] = first;
    block.is_long[tile] = place.from + block.first_of_tile[tile] - first.begin > keys_of_tile;
    const std::int64_t begin = runs_of_tile::zero + (first.begin - place.from);
    begins[0] = static_cast<std::uint16_t>(begin < 0 ? 0 : begin);
  }
  __syncwarp();
  runs_of_tile found{&begins, &block.first[tile], place.from, count, 0};
  const std::int64_t left = put.capacity - first.row;
  const int room = left < 0 ? 0 : left < found.count ? static_cast<int>(left) : found.count;
  detail::put_keys(runs, put.keys, found, static_cast<int>(threadIdx.x % warp_size) + place.open(), room);
  const int ended = found.count - (place.is_last ? 0 : 1);
  found.fitting = room < ended ? room : ended;
  return found;
}

inline constexpr int run_of_lane = read_in_place.of_lane;
/// All elements at once that a lane has of a run (H200, 2^26 floats in runs of 64 175 us instead of 190).
inline constexpr segment_classes classes_of_runs{run_of_lane, read_in_place.of_group, 8};
static_assert(classes_of_runs.of_group == classes_of_runs.in_flight * lanes_of_group);

/// Those of a tile, and those before it that its first run may have if a lane takes it.
template <class T>
struct staged_tile : staged_elements<T, run_of_lane + keys_of_tile> {
  using value_type = T;
  static constexpr int before = run_of_lane;
  /// Of an element, counted from the tile's begin.
  static constexpr unsigned place(int k) {
    return staged_tile::staged_elements::template place<staged_gaps::behind_16>(before + k);
  }

  /// By a warp: has those of a tile copied that begins at `from`, of `count` elements in all.
  __device__ void stage(const contiguous_element<T>& f, std::int64_t from, std::int64_t count, copies_ahead& copies) {
    stage(f.data, 1, from, count, copies);
  }
  __device__ void stage(const strided_element<T>& f, std::int64_t from, std::int64_t count, copies_ahead& copies) {
    stage(f.data, f.stride, from, count, copies);
  }
  /// By a warp: brings a tile's nearer, if they lie one beside the other.
  __device__ static void prefetch(const contiguous_element<T>& f, std::int64_t from, std::int64_t count) {
    constexpr int of_line = static_cast<int>(line_bytes / sizeof(T));
    const int at = static_cast<int>(threadIdx.x % warp_size) * of_line;
    if (at < keys_of_tile && from + at < count) detail::prefetch_line(f.data + from + at);
  }
  __device__ static void prefetch(const strided_element<T>&, std::int64_t, std::int64_t) {}

 private:
  __device__ void stage(const T* data, std::int64_t stride, std::int64_t from, std::int64_t count,
                        copies_ahead& copies) {
    constexpr auto lanes = static_cast<int>(warp_size);
    constexpr int step = lanes + lanes / 16;
    static_assert(place(lanes) - place(0) == step);
    const int lane = static_cast<int>(threadIdx.x % warp_size);
    const T* const mine = data + (from + lane) * stride;
    T* const to = this->elements + place(lane);
    if (count - from >= keys_of_tile) {
      constexpr int at_once = 8;
#pragma unroll 1
      for (int k = 0; k < keys_of_tile; k += at_once * lanes) {
        copies.template copy<at_once>(to + k / lanes * step, step, mine + k * stride, lanes * stride);
      }
    } else {
#pragma unroll 1
      for (int k = 0; from + lane + k < count; k += lanes) {
        copies.template copy<1>(to + k / lanes * step, step, mine + k * stride, stride);
      }
    }
    if (lane < before && from > 0) {
      copies.template copy<1>(this->elements + place(lane - before), step, mine - before * stride, stride);
    }
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

}  // namespace fanin::detail
