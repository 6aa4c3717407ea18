// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fanin/cuda/grid/watched_order.hpp>
#include <fanin/cuda/settled_words.cuh>
#include <fanin/cuda/workspace.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/tagged_unit.cuh>
#include <fanin/device/warp.cuh>

/// How partial results pass from block to block without a fence, an atomic or a ticket: in 16-byte units, each of which
/// carries 12 bytes of the result and the launch's tag, and is written and read as a whole. How many launches there
/// were stands in memory; every block reads it, and the watching block raises it last, when it has seen all
/// others' units of this launch. Against a ticket (fence, atomic, then the loads) this saved 0.45 us of 4.1 for 2^16
/// floats on an H200, and 0.1 of 4.3 for doubles.
///
/// The watching block is the one with the highest index: the hardware starts blocks in the order of their index, so
/// that when it waits, every block that it waits for has run or is running.
namespace fanin::detail {

/// How many launches there were, for the watching block, which asks when it has gathered: the answer comes together
/// with the units. Others ask by word_ahead before they gather. Where a block's loads waited for this one, 2^15 floats
/// behind another kernel, with cold caches, took 2.79 us on an H200, and 2.48 without that wait; where a register held
/// it while functors were called, they had 36 to 38 instead of 30.
__device__ inline std::uint32_t launches_before(const watched_memory& memory) { return __ldcg(memory.launches); }

/// What the words of a unit that was written in the launch before which there were so many give by exclusive or: never
/// 0, which is what fresh memory gives.
inline constexpr std::uint32_t is_published = 0x80000000u;

/// The unit of three words, which are settled. Its tag is made of them, too, so that whoever looks at it looks at all
/// of it: of a load of which parts are never looked at ptxas makes several, and some may come before the unit is
/// written and others after.
__device__ inline tagged_unit make_unit(const std::uint32_t* word, std::uint32_t launches) {
  return {{word[0], word[1], word[2]}, word[0] ^ word[1] ^ word[2] ^ launches ^ is_published};
}
/// Not by a comparison with launches ^ is_published: the compiler would compute that before it loads the unit, and wait
/// for the number.
__device__ inline bool is_of_launch(const tagged_unit& unit, std::uint32_t launches) {
  return (unit.payload[0] ^ unit.payload[1] ^ unit.payload[2] ^ unit.tag ^ launches) == is_published;
}

/// By the watching block, while it gathers: what it will load, of `blocks` blocks or of as many as it takes at once,
/// comes to the second-level cache, where it is not in a graph whose nodes have memory of their own (2.48 us to 2.37
/// there). Units in a row: 31 partial results, a line apart, of each of 16 rows took 4.4 us instead of 4.1 for 2^20
/// floats.
template <class T>
__device__ void prefetch_partials(const watched_memory& memory, unsigned blocks) {
  const std::size_t loaded = blocks > most_watched_at_once<T> ? blocks : most_watched_at_once<T>;
  const std::size_t at = threadIdx.x * line_bytes;
  if (at < loaded * tagged_units(sizeof(T)) * sizeof(tagged_unit)) {
    prefetch_line(reinterpret_cast<const unsigned char*>(memory.units) + at);
  }
}

/// Hands this block's partial result over. Called by thread 0.
template <class T>
__device__ void publish_partial(const T& value, unsigned index, const watched_memory& memory, std::uint32_t launches) {
  constexpr int units = tagged_units(sizeof(T));
  std::uint32_t word[units * 3] = {};
  detail::settled_words(value, word);
  tagged_unit* const to = memory.units + std::size_t{index} * units;
#pragma unroll
  for (int k = 0; k < units; ++k) {
    detail::store_unit(to + k, detail::make_unit(word + 3 * k, launches));
  }
}

/// Whether a block's partial result is there, in the units from `from` on; then it is in `value`.
template <class T>
__device__ bool take_partial(T& value, const tagged_unit* from, std::uint32_t launches) {
  constexpr int units = tagged_units(sizeof(T));
  tagged_unit unit[units];
#pragma unroll
  for (int k = 0; k < units; ++k) unit[k] = load_unit(from + k);
  std::uint32_t word[units * 3];
  bool there = true;
#pragma unroll
  for (int k = 0; k < units; ++k) {
    there &= detail::is_of_launch(unit[k], launches);
    word[3 * k] = unit[k].payload[0];
    word[3 * k + 1] = unit[k].payload[1];
    word[3 * k + 2] = unit[k].payload[2];
  }
  ::memcpy(&value, word, sizeof(T));
  return there;
}

/// What has been taken is none of this launch's any more. Where all is cleared nobody counts the launch: several blocks
/// may watch in one, each its own units.
template <class T>
__device__ void clear_partial(unsigned index, const watched_memory& memory) {
  constexpr int units = tagged_units(sizeof(T));
#pragma unroll
  for (int k = 0; k < units; ++k) store_unit(memory.units + std::size_t{index} * units + k, tagged_unit{});
}

/// Calls take(partial, block) for this thread's share of the other blocks' partial results, in an order that depends on
/// the grid alone: of thread 0 on, or of the one `behind` it. The lanes of a warp wait together: when some went ahead,
/// the shuffles that follow took 0.1 us each.
template <class T, class Take>
__device__ void for_watched(const contributor& self, const watched_memory& memory, std::uint32_t launches,
                            unsigned behind, const Take& take) {
  constexpr unsigned warp = warp_size;
  const unsigned others = self.count - 1;
  const unsigned end = others + behind;
#pragma unroll 1
  for (unsigned at = threadIdx.x; at / warp * warp < end; at += blockDim.x) {
    const bool is_one = at >= behind && at < end;
    const unsigned block = is_one ? at - behind : others - 1;
    T partial;
    bool there = false;
    do {
      there = detail::take_partial(partial, memory.units + std::size_t{block} * tagged_units(sizeof(T)), launches);
    } while (!all_in_warp(there));
    if (is_one) take(partial, block);
  }
}

struct no_look {
  __device__ void operator()() const {}
};

/// The same for few others (watched_at_once), by the first warp alone, whose lanes wait for all of theirs at once, and
/// call look() with each look at them. Memory has units for as many as that is.
template <class T, class Source, class Take, class Look = no_look>
__device__ void for_few_watched(const contributor& self, const watched_memory& memory, std::uint32_t launches,
                                const Take& take, const Look& look = {}) {
  constexpr int units = tagged_units(sizeof(T));
  constexpr int of_lane = static_cast<int>(watched_by_lane<T, Source>);
  const unsigned others = self.count - 1;
  const tagged_unit* const first = memory.units + threadIdx.x * units;
  // One number, for which there is a register beside what is loaded: of five sums ptxas kept three, and loaded in two
  // goes (0.3 us more for up to 2^22 doubles).
  const int mine = threadIdx.x < others ? static_cast<int>((others - threadIdx.x + warp_size - 1) / warp_size) : 0;
  T partial[of_lane];
  unsigned missing = 0;
  do {
    missing = 0;
#pragma unroll
    for (int k = 0; k < of_lane; ++k) {
      // Without a condition, and at distances that are constant: the loads are under way together, in 32 registers.
      const bool is_here = detail::take_partial(partial[k], first + k * static_cast<int>(warp_size) * units, launches);
      missing |= is_here || k >= mine ? 0u : 1u;
    }
    look();  // its loads are under way beside the others', which nothing has waited for yet
  } while (!all_in_warp(missing == 0));
#pragma unroll
  for (int k = 0; k < of_lane; ++k) {
    if (k < mine) take(partial[k], threadIdx.x + k * warp_size);
  }
}

/// Opens memory to the next launch; by the whole watching block, when its thread 0 holds what all others gathered.
/// When the tags are used up, after 2^31 launches, every unit is cleared, so that none of an earlier round passes for a
/// new one. (Where the first warp watches alone, another one may ask for the number after thread 0 has raised it, in
/// the launch before: then it clears units that have been taken, and waits for no thread that has ended.)
__device__ inline void close_launch(const watched_memory& memory, std::uint32_t launches) {
  ++launches;
  if (launches == is_published) {
    __syncthreads();
    auto* const words = reinterpret_cast<std::uint32_t*>(memory.units);
    for (std::size_t k = threadIdx.x; k < memory.bytes / 4; k += blockDim.x) words[k] = 0;
    launches = 0;
  }
  if (threadIdx.x == 0) *memory.launches = launches;
}

}  // namespace fanin::detail
