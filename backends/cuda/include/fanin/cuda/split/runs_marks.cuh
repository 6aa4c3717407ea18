// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/cuda/destination.cuh>
#include <fanin/cuda/grid/tagged_units.cuh>
#include <fanin/cuda/split/segments.cuh>
#include <fanin/cuda/workspace.cuh>
#include <fanin/detail/runs_functor.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>

/// Where runs begin: a block marks in its memory with which keys of a chunk runs begin, and asks the chunks before it
/// how many there were and where the last of them began.
namespace fanin::detail {

/// Keys that a warp takes at once: a tile.
inline constexpr int keys_of_tile = 512;
inline constexpr unsigned threads_of_runs = 256;
inline constexpr int words_of_tile = keys_of_tile / static_cast<int>(warp_size);
static_assert(words_of_tile <= static_cast<int>(warp_size));
/// Tiles that a block takes at once, at most: a chunk. A lane a tile adds them up.
inline constexpr int most_tiles_of_chunk = static_cast<int>(warp_size);

/// How many runs begin in some keys, and where the last of them does.
struct runs_mark {
  std::int64_t runs;
  std::int64_t last;
};
inline constexpr std::int64_t no_run = -1;

/// The same of a tile, counted from its chunk's begin; then, of what is before it in its chunk.
struct tile_mark {
  int runs;
  int last;
};

/// What the launch shares, whose blocks have a chunk each. A chunk tells what is in it, and the last of so many what is
/// in all before its end: others ask the last one of those before theirs, and the chunks between. Blocks start in the
/// order of their index (tagged_units.cuh), so that whoever waits for a chunk before its own waits for a block that
/// runs.
struct runs_chunks {
  static constexpr unsigned asked_by_lane = 4;
  static constexpr unsigned asked = asked_by_lane * warp_size;

  watched_memory watched;  ///< a unit a chunk, and one for each so many of them
  unsigned* listed;        ///< how many pieces of long runs: 0 before a chunk is numbered
  std::int64_t tiles;
  unsigned count;
  int tiles_of_chunk;

  static constexpr std::size_t units(std::size_t chunks) { return chunks + chunks / asked; }
  __device__ tagged_unit* of_chunk(unsigned chunk) const { return watched.units + chunk; }
  __device__ tagged_unit* of_all_until(unsigned chunk) const { return watched.units + count + chunk / asked; }

  __device__ std::int64_t first_tile(unsigned chunk) const { return static_cast<std::int64_t>(chunk) * tiles_of_chunk; }
  __device__ std::int64_t first_key(unsigned chunk) const { return first_tile(chunk) * keys_of_tile; }
  __device__ int tiles_in(unsigned chunk) const {
    const std::int64_t left = tiles - first_tile(chunk);
    return left < tiles_of_chunk ? static_cast<int>(left) : tiles_of_chunk;
  }
};

/// In a block's memory.
struct memory_of_chunk {
  std::uint32_t begins[most_tiles_of_chunk * words_of_tile];  ///< a bit for each key with which a run begins
  tile_mark of_tile[most_tiles_of_chunk];
  runs_mark before;  ///< of all chunks before
  unsigned next;     ///< tile that no warp has taken

  /// Of all keys before a tile, in a chunk that begins at `begin`.
  __device__ runs_mark before_tile(int tile, std::int64_t begin) const {
    const tile_mark mark = of_tile[tile];
    return {before.runs + mark.runs, mark.last < 0 ? before.last : begin + mark.last};
  }
};

/// By a warp: marks with which keys of some rounds of a tile runs begin, a key a lane in each; all of them are in
/// flight at once. `mine` is the first one's place; IsInner says that there are keys before and behind the tile.
template <bool IsInner, class Key, int... K>
__device__ void mark_rounds(const runs_keys<Key>& runs, std::int64_t mine, std::uint32_t* begins,
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
  const auto begins_at = [&](int k) {
    if constexpr (IsInner) return !runs.are_equal(before[k], here[k]);
    return k * lanes < left && (mine + k * lanes == 0 || !runs.are_equal(before[k], here[k]));
  };
  const std::uint32_t words[] = {lanes_where(begins_at(K))...};
  if (threadIdx.x % warp_size == 0) ((begins[K] = words[K]), ...);
}

/// How many keys a lane has in flight.
template <class Key>
inline constexpr int keys_in_flight =
    static_cast<int>(std::bit_floor(std::clamp<std::size_t>(64 / sizeof(Key), 1, 16)));

/// Of a tile's keys with which runs begin, a lane's share: 16 bits.
inline constexpr int keys_of_lane = keys_of_tile / static_cast<int>(warp_size);
__device__ inline std::uint32_t begins_of_lane(const std::uint32_t* begins) {
  static_assert(keys_of_lane == 16);
  return begins[threadIdx.x % warp_size / 2] >> threadIdx.x % 2 * 16 & 0xffff;
}

/// By a warp: marks with which keys of a tile runs begin, from place `base` of the chunk on.
template <class Key>
__device__ tile_mark mark_tile(const runs_keys<Key>& runs, std::int64_t tile, int base, std::uint32_t* begins) {
  constexpr auto lanes = static_cast<int>(warp_size);
  const std::int64_t from = tile * keys_of_tile;
  const auto rounds = [&]<bool IsInner>(std::bool_constant<IsInner>) {
#pragma unroll 1
    for (int round = 0; round < words_of_tile; round += keys_in_flight<Key>) {
      mark_rounds<IsInner>(runs, from + round * lanes + threadIdx.x % warp_size, begins + round,
                           std::make_integer_sequence<int, keys_in_flight<Key>>{});
    }
  };
  if (tile > 0 && from + keys_of_tile <= runs.elements) {
    rounds(std::true_type{});
  } else {
    rounds(std::false_type{});
  }
  __syncwarp();
  const std::uint32_t mine = begins_of_lane(begins);
  const std::uint32_t with_some = lanes_where(mine != 0);
  const int lane = lanes - 1 - __clz(static_cast<int>(with_some));  // the last one
  const int place = lane * keys_of_lane + 31 - __clz(static_cast<int>(of_lane(mine, lane & (lanes - 1))));
  return {static_cast<int>(sum_in_warp(static_cast<std::uint32_t>(__popc(mine)))),
          with_some == 0 ? static_cast<int>(no_run) : base + place};
}

/// By a warp: gives each of `count` marks what those before it make. What all of them do.
__device__ inline tile_mark scan_marks(tile_mark* marks, int count) {
  constexpr auto lanes = static_cast<int>(warp_size);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  constexpr tile_mark nothing{0, static_cast<int>(no_run)};
  tile_mark all = lane < count ? marks[lane] : nothing;
  const auto of_lane_before = [&](int step) {
    const int other = (lane - step) & (lanes - 1);
    const tile_mark mark{of_lane(all.runs, other), of_lane(all.last, other)};
    return lane < step ? nothing : mark;
  };
  for (int step = 1; step < lanes; step *= 2) {
    const tile_mark before = of_lane_before(step);
    all = {before.runs + all.runs, all.last < 0 ? before.last : all.last};
  }
  const tile_mark before = of_lane_before(1);
  if (lane < count) marks[lane] = before;
  return {of_lane(all.runs, lanes - 1), of_lane(all.last, lanes - 1)};
}

/// What is in a chunk as it is told to those behind it; and, told once more where somebody waits for that, that it has
/// asked.
__device__ inline tagged_unit unit_of(const tile_mark& mark, bool has_asked, std::uint32_t launches) {
  const std::uint32_t words[] = {static_cast<std::uint32_t>(mark.runs), static_cast<std::uint32_t>(mark.last + 1),
                                 has_asked ? 1u : 0u};
  return make_unit(words, launches);
}
/// What is in all chunks until one: numbers of 48 bits.
__device__ inline tagged_unit unit_of(const runs_mark& mark, std::uint32_t launches) {
  const auto runs = static_cast<std::uint64_t>(mark.runs);
  const auto last = static_cast<std::uint64_t>(mark.last + 1);
  const std::uint32_t words[] = {static_cast<std::uint32_t>(runs), static_cast<std::uint32_t>(last),
                                 static_cast<std::uint32_t>(runs >> 32 << 16 | last >> 32)};
  return make_unit(words, launches);
}
__device__ inline runs_mark mark_of(const tagged_unit& unit) {
  const std::uint64_t high = unit.payload[2];
  return {static_cast<std::int64_t>(high >> 16 << 32 | unit.payload[0]),
          static_cast<std::int64_t>((high & 0xffff) << 32 | unit.payload[1]) - 1};
}

/// By a warp: what is in all chunks before this one.
__device__ inline runs_mark ask_before(const runs_chunks& chunks, unsigned chunk, std::uint32_t launches) {
  constexpr unsigned of_lane = runs_chunks::asked_by_lane;
  const unsigned first = chunk / runs_chunks::asked * runs_chunks::asked;
  const unsigned mine = first + threadIdx.x % warp_size;
  const auto keys = static_cast<unsigned>(chunks.tiles_of_chunk * keys_of_tile);
  constexpr unsigned all = 1u << of_lane;
  unsigned missing = first > 0 ? all : 0;
#pragma unroll
  for (unsigned k = 0; k < of_lane; ++k) missing |= mine + k * warp_size < chunk ? 1u << k : 0;
  runs_mark before{0, no_run};
  std::uint32_t runs = 0;
  std::uint32_t last = 0;  // and 1, from the first one's begin
  do {
    // Those that are there are not asked again: all blocks ask the same few lines of memory.
    tagged_unit unit[of_lane];
#pragma unroll
    for (unsigned k = 0; k < of_lane; ++k) {
      unit[k] = load_unit(chunks.of_chunk((missing >> k & 1) != 0 ? mine + k * warp_size : 0));
    }
    if ((missing & all) != 0) {
      const tagged_unit until_first = load_unit(chunks.of_all_until(first - 1));
      if (is_of_launch(until_first, launches)) {
        missing -= all;
        before = mark_of(until_first);
      }
    }
#pragma unroll
    for (unsigned k = 0; k < of_lane; ++k) {
      if ((missing >> k & 1) == 0 || !is_of_launch(unit[k], launches)) continue;
      missing -= 1u << k;
      runs += unit[k].payload[0];
      const std::uint32_t place = (mine - first + k * warp_size) * keys + unit[k].payload[1];
      if (unit[k].payload[1] != 0 && place > last) last = place;
    }
  } while (!all_in_warp(missing == 0));
  runs = sum_in_warp(runs);
  last = most_in_warp(last);
  return {before.runs + runs, last == 0 ? before.last : chunks.first_key(first) + last - 1};
}

/// By the last chunk's warp, when it knows what is before: opens the units to the next launch. All blocks have read how
/// many launches there were, since all have told by it what is in their chunks. When the tags are used up, units are
/// cleared, of which none is needed any more when all have asked.
__device__ inline void close_chunks(const runs_chunks& chunks, unsigned last, std::uint32_t launches) {
  const unsigned lane = threadIdx.x % warp_size;
  if (launches + 1 == is_published) {
    for (unsigned k = lane; k < last; k += warp_size) {
      tagged_unit unit;
      do {
        unit = load_unit(chunks.of_chunk(k));
      } while (!is_of_launch(unit, launches) || unit.payload[2] == 0);
    }
    __threadfence();
    __syncwarp();
    auto* const words = reinterpret_cast<std::uint32_t*>(chunks.watched.units);
    for (std::size_t k = lane; k < chunks.watched.bytes / 4; k += warp_size) words[k] = 0;
    launches = ~0u;
  }
  if (lane == 0) *chunks.watched.launches = launches + 1;
}

/// By a warp: what is before each tile of a chunk, from marks of the tiles themselves. The last chunk tells how many
/// runs there are.
__device__ inline void number_tiles(const runs_chunks& chunks, unsigned chunk, std::uint32_t launches,
                                    const cuda_destination<std::int64_t>& count, memory_of_chunk& block) {
  const tile_mark own = scan_marks(block.of_tile, chunks.tiles_in(chunk));
  const bool tells = threadIdx.x % warp_size == 0;
  if (tells) {
    if (chunk == 0) {
      *chunks.listed = 0;
      __threadfence();
    }
    store_unit(chunks.of_chunk(chunk), unit_of(own, false, launches));
  }
  const runs_mark before = ask_before(chunks, chunk, launches);
  const bool is_last = chunk == chunks.count - 1;
  if (tells) {
    const runs_mark all{before.runs + own.runs, own.last < 0 ? before.last : chunks.first_key(chunk) + own.last};
    if (chunk % runs_chunks::asked == runs_chunks::asked - 1) {
      store_unit(chunks.of_all_until(chunk), unit_of(all, launches));
    }
    if (launches + 1 == is_published) {
      __threadfence();  // nothing that was told arrives behind what clears it
      store_unit(chunks.of_chunk(chunk), unit_of(own, true, launches));
    }
    block.before = before;
    if (is_last) count.deliver(all.runs);
  }
  if (is_last) close_chunks(chunks, chunk, launches);
}

/// By a block: finds where runs begin in its chunk. Two barriers.
template <class Key>
__device__ void mark_chunk(const runs_keys<Key>& runs, const runs_chunks& chunks,
                           const cuda_destination<std::int64_t>& count, memory_of_chunk& block) {
  const std::uint32_t launches = launches_before(chunks.watched);
  if (threadIdx.x == 0) block.next = 0;
  const int tiles = chunks.tiles_in(blockIdx.x);
  for (int at = static_cast<int>(threadIdx.x / warp_size); at < tiles; at += static_cast<int>(blockDim.x / warp_size)) {
    const tile_mark mark =
        mark_tile(runs, chunks.first_tile(blockIdx.x) + at, at * keys_of_tile, block.begins + at * words_of_tile);
    if (threadIdx.x % warp_size == 0) block.of_tile[at] = mark;
  }
  __syncthreads();
  if (threadIdx.x < warp_size) number_tiles(chunks, blockIdx.x, launches, count, block);
  __syncthreads();
}

}  // namespace fanin::detail
