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
#include <fanin/device/word_ahead.cuh>

/// Where runs begin: a block marks in its memory with which keys of a chunk runs begin, and asks the chunks before it
/// how many there were and where the last of them began.
namespace fanin::detail {

/// Keys that a warp takes at once: a tile.
inline constexpr int keys_of_tile = 512;
inline constexpr unsigned threads_of_runs = 256;
inline constexpr int words_of_tile = keys_of_tile / static_cast<int>(warp_size);
static_assert(words_of_tile <= static_cast<int>(warp_size));
/// A run of more elements is cut into pieces of so many, of which no two end in one tile.
inline constexpr std::int64_t piece_of_run = segment_of_warp;
static_assert(piece_of_run >= keys_of_tile);
/// Tiles that a block takes at once, at most: a chunk. A lane a tile adds them up, in numbers of 16 bits.
inline constexpr int most_tiles_of_chunk = 16;
static_assert(most_tiles_of_chunk <= static_cast<int>(warp_size) && most_tiles_of_chunk * keys_of_tile <= UINT16_MAX);

/// How many runs begin in some keys, and where the last of them does.
struct runs_mark {
  std::int64_t runs;
  std::int64_t last;
};
inline constexpr std::int64_t no_run = -1;

/// The same of a tile, counted from its chunk's begin.
struct tile_mark {
  std::uint16_t runs;
  std::uint16_t behind_last;  ///< the place behind that where the last one begins; 0: there is none
};

/// The run that is open where a tile begins; the first of all, where the keys do.
struct open_run {
  std::int64_t row;
  std::int64_t begin;
};

/// What the launch shares, whose blocks have a chunk each. A chunk tells what is in it, and the last of so many what is
/// in all before its end: others ask the last one of those before theirs, and the chunks between. Blocks start in the
/// order of their index (tagged_units.cuh), so that whoever waits for a chunk before its own waits for a block that
/// runs.
struct runs_chunks {
  static constexpr unsigned asked_by_lane = 4;
  static constexpr unsigned asked = asked_by_lane * warp_size;

  watched_memory watched;  ///< a unit a chunk, and one for each so many of them; then those of pieces
  std::int64_t tiles;
  unsigned count;
  int tiles_of_chunk;

  static constexpr std::size_t units(std::size_t chunks) { return chunks + chunks / asked; }
  /// For the pieces of long runs of so many keys: that many partial results.
  static constexpr std::int64_t pieces(std::int64_t keys) { return keys / piece_of_run; }
  __device__ tagged_unit* of_chunk(unsigned chunk) const { return watched.units + chunk; }
  __device__ tagged_unit* of_all_until(unsigned chunk) const { return watched.units + count + chunk / asked; }
  /// Where the pieces of a long run are handed over: each is that of the keys among which it begins.
  template <class Accumulator>
  __device__ watched_memory of_pieces(std::int64_t begin) const {
    const std::int64_t at = begin / piece_of_run * tagged_units(sizeof(Accumulator));
    return {watched.units + units(count) + at, 0, watched.launches};
  }

  __device__ std::int64_t first_tile(unsigned chunk) const { return static_cast<std::int64_t>(chunk) * tiles_of_chunk; }
  __device__ std::int64_t first_key(unsigned chunk) const { return first_tile(chunk) * keys_of_tile; }
  __device__ int tiles_in(unsigned chunk) const {
    const std::int64_t left = tiles - first_tile(chunk);
    return left < tiles_of_chunk ? static_cast<int>(left) : tiles_of_chunk;
  }
};

/// A tile of the block's chunk among all keys.
struct tile_place {
  std::int64_t from;
  bool is_last;

  __device__ tile_place(const runs_chunks& chunks, int tile, std::int64_t keys)
      : from{chunks.first_key(blockIdx.x) + tile * keys_of_tile}, is_last{keys - from <= keys_of_tile} {}
  /// Of runs that began before: none, where all keys begin.
  __device__ int open() const { return from > 0 ? 1 : 0; }
};

/// In a block's memory.
struct memory_of_chunk {
  std::uint32_t begins[most_tiles_of_chunk * words_of_tile];  ///< a bit for each key with which a run begins
  tile_mark of_tile[most_tiles_of_chunk];
  int first_of_tile[most_tiles_of_chunk];  ///< the first key with which a run begins, or keys_of_tile
  open_run first[most_tiles_of_chunk];     ///< of each tile, when a warp has come to it
  runs_mark before;                        ///< of all chunks before
  word_ahead launches_ahead;
  std::uint32_t launches;             ///< before this one
  unsigned next;                      ///< tile that no warp has taken
  bool is_long[most_tiles_of_chunk];  ///< then, too: whether that run may be longer than a tile

  /// By a warp: of the tiles before one.
  __device__ tile_mark before_tile(int tile) const {
    const auto lane = static_cast<int>(threadIdx.x % warp_size);
    const tile_mark mark = lane < tile ? of_tile[lane] : tile_mark{};
    return {static_cast<std::uint16_t>(sum_in_warp(std::uint32_t{mark.runs})),
            static_cast<std::uint16_t>(most_in_warp(std::uint32_t{mark.behind_last}))};
  }
  /// Of all keys before a tile, in a chunk that begins at `begin`, of which so much is before the tile.
  __device__ runs_mark with(const tile_mark& mark, std::int64_t begin) const {
    return {before.runs + mark.runs, mark.behind_last == 0 ? before.last : begin + mark.behind_last - 1};
  }
};

/// By a warp: marks with which keys of some rounds of a tile runs begin, a key a lane in each; all of them are in
/// flight at once. `mine` is the first one's place; IsInner says that there are keys before and behind the tile.
template <bool IsInner, class Key, class Meanwhile, int... K>
__device__ void mark_rounds(const runs_keys<Key>& runs, std::int64_t mine, std::uint32_t* begins,
                            const Meanwhile& meanwhile, std::integer_sequence<int, K...>) {
  constexpr auto lanes = static_cast<int>(warp_size);
  const std::int64_t left = runs.elements - mine;  // may be below 1
  const Key* const from = runs.keys + mine;
  // Without conditions, so that no load waits for another.
  const auto load = [&](int k, int step) -> const Key& {
    if constexpr (IsInner) return from[k * lanes - step];
    const bool is_there = k * lanes < left && mine + k * lanes >= step;
    return is_there ? from[k * lanes - step] : runs.keys[0];
  };
  // Numbers come from the lane before, which takes half the loads, and registers for other things that are in flight.
  constexpr bool are_passed_on =
      std::is_same_v<Key, float> || std::is_same_v<Key, double> || (std::is_integral_v<Key> && sizeof(Key) <= 8);
  const Key here[] = {load(K, 0)...};
  const Key before[] = {load(are_passed_on ? 0 : K, 1)...};
  meanwhile();
  all_loads_first();
  const auto is_new = [&](int k) {
    if constexpr (are_passed_on) {
      const int lane = static_cast<int>(threadIdx.x % warp_size);
      const Key passed = detail::of_lane(k > 0 && lane == lanes - 1 ? here[k - 1] : here[k], (lane - 1) & (lanes - 1));
      return !runs.are_equal(k == 0 && lane == 0 ? before[0] : passed, here[k]);
    } else {
      return !runs.are_equal(before[k], here[k]);
    }
  };
  const auto begins_at = [&](int k) {
    const bool differs = is_new(k);
    if constexpr (IsInner) return differs;
    return k * lanes < left && (mine + k * lanes == 0 || differs);
  };
  const std::uint32_t words[] = {detail::lanes_where(begins_at(K))...};
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
template <class Key, class Meanwhile>
__device__ tile_mark mark_tile(const runs_keys<Key>& runs, std::int64_t tile, int base, std::uint32_t* begins,
                               int& first, const Meanwhile& meanwhile) {
  constexpr auto lanes = static_cast<int>(warp_size);
  const std::int64_t from = tile * keys_of_tile;
  const auto rounds = [&]<bool IsInner>(std::bool_constant<IsInner>) {
#pragma unroll 1
    for (int round = 0; round < words_of_tile; round += keys_in_flight<Key>) {
      detail::mark_rounds<IsInner>(runs, from + round * lanes + threadIdx.x % warp_size, begins + round, meanwhile,
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
  if (with_some == 0 && threadIdx.x % warp_size == 0) first = keys_of_tile;
  if (threadIdx.x % warp_size == static_cast<unsigned>(__ffs(static_cast<int>(with_some)) - 1)) {
    first = static_cast<int>(threadIdx.x % warp_size) * keys_of_lane + __ffs(static_cast<int>(mine)) - 1;
  }
  return {static_cast<std::uint16_t>(sum_in_warp(static_cast<std::uint32_t>(__popc(mine)))),
          static_cast<std::uint16_t>(with_some == 0 ? 0 : base + place + 1)};
}

/// What is in a chunk as it is told to those behind it.
__device__ inline tagged_unit unit_of(const tile_mark& mark, std::uint32_t launches) {
  const std::uint32_t words[] = {mark.runs, mark.behind_last, 0};
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

/// By a block: finds where runs begin in its chunk, and tells the blocks behind it. A barrier. Where each warp has one
/// tile, `meanwhile()` is called while its keys come.
template <class Key, class Meanwhile>
__device__ void mark_chunk(const runs_keys<Key>& runs, const runs_chunks& chunks, memory_of_chunk& block,
                           const Meanwhile& meanwhile) {
  if (threadIdx.x == 0) block.launches_ahead.load(chunks.watched.launches);
  const int tiles = chunks.tiles_in(blockIdx.x);
  for (int at = static_cast<int>(threadIdx.x / warp_size); at < tiles; at += static_cast<int>(blockDim.x / warp_size)) {
    const tile_mark mark = detail::mark_tile(runs, chunks.first_tile(blockIdx.x) + at, at * keys_of_tile,
                                             block.begins + at * words_of_tile, block.first_of_tile[at], [&] {
                                               if (chunks.tiles_of_chunk <= static_cast<int>(blockDim.x / warp_size))
                                                 meanwhile();
                                             });
    if (threadIdx.x % warp_size == 0) block.of_tile[at] = mark;
  }
  if (threadIdx.x == 0) {
    block.launches = block.launches_ahead.when_loaded();
    block.next = blockDim.x / warp_size;
  }
  __syncthreads();
  if (threadIdx.x >= warp_size) return;
  const tile_mark own = block.before_tile(tiles);
  if (threadIdx.x == 0) store_unit(chunks.of_chunk(blockIdx.x), unit_of(own, block.launches));
}

/// By a warp: what is before the chunk. The last one tells how many runs there are.
__device__ inline void ask_for_chunk(const runs_chunks& chunks, const cuda_destination<std::int64_t>& count,
                                     memory_of_chunk& block) {
  const unsigned chunk = blockIdx.x;
  const std::uint32_t launches = block.launches;
  const tile_mark own = block.before_tile(chunks.tiles_in(chunk));
  const runs_mark before = ask_before(chunks, chunk, launches);
  if (threadIdx.x % warp_size != 0) return;
  block.before = before;
  const runs_mark all = block.with(own, chunks.first_key(chunk));
  if (chunk % runs_chunks::asked == runs_chunks::asked - 1) {
    store_unit(chunks.of_all_until(chunk), unit_of(all, launches));
  }
  if (chunk == chunks.count - 1) count.deliver(all.runs);
}

/// By a block that has nothing to do any more: the last one opens the units to the next launch. All have read how many
/// launches there were, since all have told by it what is in their chunks. When the tags are used up it waits for all
/// others, and clears the units, of which none is needed any more then.
__device__ inline void close_chunks(const runs_chunks& chunks, std::uint32_t launches) {
  const unsigned last = chunks.count - 1;
  const bool is_last = blockIdx.x == last;
  if (launches + 1 == is_published) {
    __syncthreads();
    if (!is_last) {
      if (threadIdx.x != 0) return;
      __threadfence();  // nothing that was told or cleared arrives behind what clears it
      tagged_unit unit = load_unit(chunks.of_chunk(blockIdx.x));
      unit.payload[2] ^= 1;
      unit.tag ^= 1;
      store_unit(chunks.of_chunk(blockIdx.x), unit);
      return;
    }
    for (unsigned k = threadIdx.x; k < last; k += blockDim.x) {
      tagged_unit unit;
      do {
        unit = load_unit(chunks.of_chunk(k));
      } while (!is_of_launch(unit, launches) || unit.payload[2] == 0);
    }
    __threadfence();
    __syncthreads();
    auto* const words = reinterpret_cast<std::uint32_t*>(chunks.watched.units);
    for (std::size_t k = threadIdx.x; k < chunks.watched.bytes / 4; k += blockDim.x) words[k] = 0;
    launches = ~0u;
  }
  if (is_last && threadIdx.x == 0) *chunks.watched.launches = launches + 1;
}

}  // namespace fanin::detail
