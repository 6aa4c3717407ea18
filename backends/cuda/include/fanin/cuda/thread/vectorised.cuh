// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/batch.hpp>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>
#include <fanin/reducer.hpp>

namespace fanin::detail {

/// Rounds of one tile a thread, for reducers that have levels (see fanin/batch.hpp): load(at, tile) fills a tile, and
/// batch_of(tile, at) are its elements. `mine` goes up and `left` goes down by `round` until less than one is left. By
/// whole warps.
///
/// The loop calls nothing and everything in it stays in registers: what is live across a call lies in local memory, and
/// where the next loads' addresses came from there, exact sums ran at 0.7 of the bandwidth on an H200.
template <class Tile, class Composite, class Load, class BatchOf>
__device__ void fold_by_level(const Composite& c, typename Composite::state_type& state, std::int64_t& mine,
                              std::int64_t& left, std::int64_t round, const Load& load, const BatchOf& batch_of) {
  while (left >= round) {
    Tile tile;
    bool is_fast = true;
    do {
      load(mine, tile);
      all_loads_first();
      left -= round;
      mine += round;
      const unsigned level = c.fast_level(state, batch_of(tile, mine - round));
      if (all_in_warp(level == 0)) {
        c.fold_fast(state, batch_of(tile, mine - round), 0);
      } else {
        const unsigned greatest = most_in_warp(level);
        is_fast = greatest != no_fast_level;
        if (is_fast) c.fold_fast(state, batch_of(tile, mine - round), greatest);
      }
    } while (is_fast && left >= round);
    if (!is_fast) {
      const volatile std::int64_t kept[] = {mine, left};  // not across the call
      c.fold_batch(state, batch_of(tile, kept[0] - round));
      mine = kept[0];
      left = kept[1];
    }
  }
}

/// Whether it is for a source whose tiles are such batches.
template <class Source, class Composite, int Rows, int Columns>
inline constexpr bool has_levels_for = [] {
  if constexpr (Source::value_size == 0) {
    return false;
  } else {
    return Composite::template has_levels<tile_batch<Rows, Columns, typename Source::value_type>>;
  }
}();

/// The first of this thread's units in a round of whole tiles of blocks, of which its own is number `block`: a block's
/// tile is those of its warps in a row, of Units rows of one unit a lane. So a warp asks at once for all of a line of
/// memory that two of its loads share. Where a block's width was between a thread's units, arrays that do not begin
/// with a line had each line asked for by two warps, at different times: on an H200 sums of 2^28 floats f(i) = x[i + 1]
/// took 280 us, and 236 so, of 2^29 635 and 472, of data that begin 4 bytes behind a line 491 and 467; of 2^22 and less
/// the same.
template <int Units>
__device__ std::int64_t first_of_tile(unsigned block) {
  const unsigned lane = threadIdx.x % warp_size;
  return (static_cast<std::int64_t>(block) * blockDim.x + (threadIdx.x - lane)) * Units + lane;
}

/// The last round, behind the first `done`: up to Loads of `count` vectors a thread, `threads` apart. Index holds all
/// numbers up to threads * Loads (most_units_of_round). With 32 bits, a vector's address is one instruction.
template <int Loads, class Source, class Composite, class Index>
  requires(Source::has_vectors)
__device__ void gather_rest(const Source& source, const Composite& c, typename Composite::state_type& state,
                            std::int64_t done, Index mine, Index threads, Index count) {
  if (mine >= count) return;
  typename Source::vector v[Loads];
  int rows = 0;
#pragma unroll
  for (int k = 0; k < Loads; ++k) {
    const Index at = mine + k * threads;
    rows += at < count ? 1 : 0;
    v[k] = source.load(done, at < count ? at : mine);  // a load without a condition waits for nothing
  }
  all_loads_first();
  source.fold(c, state, v, done + mine, threads, rows);
}

/// Rounds of one tile per block, a tile being Loads vectors for each thread, contiguous per block (a wide grid stride
/// fell to half the bandwidth); what is left is spread over the whole grid, so that the last round is as even as the
/// others. All loads of a round are issued before the first is used. A thread's indices rise. The unaligned head goes
/// to the first block, the tail of less than a vector to the last, both after that. Every index once, for any count and
/// grid. The first `done` vectors are somebody else's.
template <int Loads, class Source, class Composite>
  requires(Source::has_vectors)
__device__ void gather_vectorised(const Source& source, const Composite& c, typename Composite::state_type& state,
                                  std::int64_t done = 0) {
  using vector = typename Source::vector;
  const std::int64_t count = source.vectors();
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t round = threads * Loads;

  constexpr std::int64_t apart = warp_size;
  std::int64_t mine = done + first_of_tile<Loads>(blockIdx.x);
  const auto load = [&](std::int64_t at, vector(&v)[Loads]) {
#pragma unroll
    for (int k = 0; k < Loads; ++k) v[k] = source.load(0, at + k * apart);
  };
  if constexpr (is_one_array<Source> && has_levels_for<Source, Composite, Loads, Source::width>) {
    struct tile {
      vector v[Loads];
    };
    std::int64_t left = count - done;
    detail::fold_by_level<tile>(
        c, state, mine, left, round, [&](std::int64_t at, tile& t) { load(at, t.v); },
        [&](const tile& t, std::int64_t at) { return source.batch(t.v, at, apart, Loads); });
    done = count - left;
  } else if constexpr (Composite::loads_ahead) {
    if (done + round <= count) {
      vector v[Loads];
      load(mine, v);
#pragma unroll 1
      for (; done + round <= count; done += round, mine += round) {
        vector next[Loads];
        load(done + 2 * round <= count ? mine + round : mine, next);
        all_loads_first();
        source.fold(c, state, v, mine, apart, Loads);
#pragma unroll
        for (int k = 0; k < Loads; ++k) v[k] = next[k];
      }
    }
  } else {
#pragma unroll 1
    for (; done + round <= count; done += round, mine += round) {
      vector v[Loads];
      load(mine, v);
      all_loads_first();
      source.fold(c, state, v, mine, apart, Loads);
    }
  }

  detail::gather_rest<Loads>(source, c, state, done, blockIdx.x * blockDim.x + threadIdx.x,
                             static_cast<std::uint32_t>(threads), static_cast<std::uint32_t>(count - done));

  if (count * Source::width == source.count) return;  // mostly there are no single elements
  if (blockIdx.x == 0 && threadIdx.x < source.head) c.fold(state, source.value(threadIdx.x), threadIdx.x);
  if (blockIdx.x == gridDim.x - 1) {
    const std::int64_t tail = source.head + count * Source::width + threadIdx.x;
    if (tail < source.count) c.fold(state, source.value(tail), tail);
  }
}

/// Indices first, first + step, ..., behind all that came before: the values of all of them, and then the folds.
template <int Count, class Source, class Composite>
__device__ void accumulate_values(const Source& source, const Composite& c, typename Composite::state_type& state,
                                  std::int64_t first, std::int64_t step) {
  typename Source::value_type value[Count];
  source.values(value, first, step);
  all_loads_first();
  c.fold_batch(state, tile_batch<Count, 1, typename Source::value_type>{value, source.index(first), step});
}

/// Count elements, step apart: together where the source gives values that fit registers, else in a row, in which the
/// compiler issues their loads together where it can.
template <int Count, class Source, class Composite>
__device__ void accumulate_together(const Source& source, const Composite& c, typename Composite::state_type& state,
                                    std::int64_t first, std::int64_t step) {
  if constexpr (values_fit_registers<Source, Count>) {
    detail::accumulate_values<Count>(source, c, state, first, step);
  } else {
#pragma unroll
    for (int k = 0; k < Count; ++k) source.accumulate(c, state, first + k * step);
  }
}

/// The last round, of up to Count elements a thread, a grid's width apart, behind the first `done`. All values that
/// there are before the first fold, again.
template <int Count, class Source, class Composite, class Index>
  requires(!Source::has_vectors)
__device__ void gather_rest(const Source& source, const Composite& c, typename Composite::state_type& state,
                            std::int64_t done, Index mine, Index threads, Index count) {
  if (mine >= count) return;
  if constexpr (values_fit_registers<Source, Count>) {
    typename Source::value_type value[Count]{};
    int rows = 0;
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      const Index at = mine + k * threads;
      if (at < count) {
        value[k] = source.value(done + at);
        ++rows;
      }
    }
    all_loads_first();
#pragma unroll
    for (int k = 1; k < Count; ++k) {
      if (k >= rows) value[k] = value[0];
    }
    c.fold_batch(state,
                 tile_batch<Count, 1, typename Source::value_type>{value, source.index(done + mine), threads, rows});
  } else {
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      const Index at = mine + k * threads;
      if (at < count) source.accumulate(c, state, done + at);
    }
  }
}

/// The same rounds for a functor over indices: a tile is Elements indices for each thread, a warp's width apart, so
/// that neighbouring lanes read neighbouring elements.
template <int Elements, class Source, class Composite>
  requires(!Source::has_vectors)
__device__ void gather_vectorised(const Source& source, const Composite& c, typename Composite::state_type& state) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t round = threads * Elements;

  std::int64_t done = 0;
  constexpr std::int64_t apart = warp_size;
  std::int64_t mine = first_of_tile<Elements>(blockIdx.x);
  if constexpr (values_fit_registers<Source, Elements> && has_levels_for<Source, Composite, Elements, 1>) {
    using value_type = typename Source::value_type;
    struct tile {
      value_type value[Elements];
    };
    std::int64_t left = source.count;
    detail::fold_by_level<tile>(
        c, state, mine, left, round,
        [&](std::int64_t at, tile& t) {
#pragma unroll
          for (int k = 0; k < Elements; ++k) t.value[k] = source.value(at + k * apart);
        },
        [&](const tile& t, std::int64_t at) {
          return tile_batch<Elements, 1, value_type>{t.value, source.index(at), apart};
        });
    done = source.count - left;
  } else {
#pragma unroll 1
    for (; done + round <= source.count; done += round, mine += round) {
      detail::accumulate_together<Elements>(source, c, state, mine, apart);
    }
  }
  detail::gather_rest<Elements>(source, c, state, done, blockIdx.x * blockDim.x + threadIdx.x,
                                static_cast<std::uint32_t>(threads), static_cast<std::uint32_t>(source.count - done));
}

/// Indices mine, mine + step, ... of those below count, up to Units of them in flight: without conditions, f's loads go
/// together. The last ones Rest by Rest: fewer take fewer registers.
template <int Units, int Rest = Units, class Source, class Composite, class Index>
  requires(!Source::has_vectors)
__device__ void gather_in_steps(const Source& source, const Composite& c, typename Composite::state_type& state,
                                Index mine, Index step, Index count) {
#pragma unroll 1
  for (; mine < count; mine += Units * step) {
    if (count - mine > (Units - 1) * step) {
      detail::accumulate_together<Units>(source, c, state, mine, step);
    } else if constexpr (Rest == Units) {
      detail::gather_rest<Units>(source, c, state, 0, mine, step, count);
    } else {
#pragma unroll 1
      for (; mine < count; mine += Rest * step) detail::gather_rest<Rest>(source, c, state, 0, mine, step, count);
    }
  }
}

/// The same where threads have equally many: whole rounds, then half of one, if that is many, and then what is left.
template <int Units, class Source, class Composite>
  requires(!Source::has_vectors)
__device__ void gather_in_rounds(const Source& source, const Composite& c, typename Composite::state_type& state,
                                 std::int64_t mine, std::int64_t step, std::int64_t count) {
  constexpr int many = 8;
  constexpr int rest = Units > many ? Units / 2 : Units;
#pragma unroll 1
  for (; count - mine > (Units - 1) * step; mine += Units * step) {
    detail::accumulate_together<Units>(source, c, state, mine, step);
  }
  if constexpr (rest < Units) {
    if (count - mine > (rest - 1) * step) {
      detail::accumulate_together<rest>(source, c, state, mine, step);
      mine += rest * step;
    }
  }
  if (mine < count) detail::gather_rest<rest>(source, c, state, 0, mine, step, count);
}

/// The same for a grid of one block: every round as the last one, so that there is little code, and 32-bit numbers.
/// What a kernel runs through comes from memory first where other kernels ran before: on an H200, behind one, 2^10
/// floats took 1.27 us instead of 1.44, and 2^12 1.29 instead of 1.47.
template <int Units, class Source, class Composite>
  requires(Source::has_vectors)
__device__ void gather_alone(const Source& source, const Composite& c, typename Composite::state_type& state) {
  const auto count = static_cast<std::uint32_t>(source.vectors());
#pragma unroll 1
  for (std::uint32_t mine = threadIdx.x; mine < count; mine += Units * blockDim.x) {
    detail::gather_rest<Units>(source, c, state, 0, mine, blockDim.x, count);
  }
  if (count * Source::width == source.count) return;  // mostly there are no single elements
  const auto behind = static_cast<std::uint32_t>(source.head) + count * Source::width;
  const std::uint32_t tail = behind + threadIdx.x;
  if (threadIdx.x < source.head) c.fold(state, source.value(threadIdx.x), threadIdx.x);
  if (tail < source.count) c.fold(state, source.value(tail), tail);
}

/// A block that works on a row or a segment has as many elements as that: AtOnce of them have numbers of 32 bits.
template <int Units, std::int64_t AtOnce = std::int64_t{1} << 30, class Source, class Composite>
  requires(!Source::has_vectors)
__device__ void gather_alone(const Source& source, const Composite& c, typename Composite::state_type& state) {
#pragma unroll 1
  for (std::int64_t done = 0; done < source.count; done += AtOnce) {
    const auto count = static_cast<std::uint32_t>(source.count - done < AtOnce ? source.count - done : AtOnce);
#pragma unroll 1
    for (std::uint32_t mine = threadIdx.x; mine < count; mine += Units * blockDim.x) {
      if (count - mine > (Units - 1) * blockDim.x) {  // without conditions, f's loads go together
        detail::accumulate_together<Units>(source, c, state, done + mine, blockDim.x);
      } else {
        detail::gather_rest<Units>(source, c, state, done, mine, blockDim.x, count);
      }
    }
  }
}

}  // namespace fanin::detail
