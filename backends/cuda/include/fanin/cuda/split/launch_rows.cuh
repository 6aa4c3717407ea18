// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/destination.cuh>
#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/kernel.cuh>
#include <fanin/cuda/launch.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/plan.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/split/kernels.cuh>
#include <fanin/cuda/split/plan_of_split.cuh>
#include <fanin/cuda/split/rows_by_blocks.cuh>
#include <fanin/cuda/split/rows_by_vectors.cuh>
#include <fanin/device/kernel_pointer.cuh>
#include <fanin/pending.hpp>

/// The launches of rows and columns, each by one of the splits.
namespace fanin::detail {

/// Whether what threads hold of a row can be handed on in registers.
template <class Composite>
inline constexpr bool splits_by_threads =
    !Composite::has_any_spill && is_passed_by_value<Composite> && sizeof(typename Composite::accumulator_type) <= 128;

struct by_lanes;
template <bool AreWhole>
struct by_vectors;
struct by_threads;
struct by_block;
struct by_blocks;
struct by_tiles;
struct by_joined_pieces;

inline constexpr int threads_of_split = 256;

/// As many threads of a multiprocessor are enough to keep memory busy, where each has several elements in flight.
inline constexpr int busy_threads = 1024;

/// How many blocks are enough to keep memory busy, of those that work at once.
inline int busy_blocks(const cuda_session& session, const cuda_plan& plan) {
  return std::min(plan.largest_grid, busy_threads / plan.launch.block_size * session.multiprocessors());
}

/// How many lanes of a warp work on a row of so many elements, of 4 bytes or of more: together they read a sector of
/// memory at once, and each has some elements, since joining costs; where there are few rows more, so that all threads
/// of the device have work. (H200, 2^26 doubles in rows of 16, us: 136 by 4 lanes, 151 by 8, 155 by 2; in rows of 64
/// 136 and 133. Floats in rows of 31 87 by 8 lanes and 81 by 4, where a lane has one row at a time.)
inline unsigned log_lanes_of(std::int64_t results, std::int64_t count, std::int64_t threads, bool is_of_small) {
  const unsigned of_small = count < 4 ? 0 : count < 8 ? 1 : count < 16 ? 2 : count < 28 ? 3 : count < 64 ? 2 : 3;
  const unsigned of_large = count < 8 ? 0 : count < 16 ? 1 : count < 32 ? 2 : 3;
  const unsigned by_count = count < 128 ? (is_of_small ? of_small : of_large) : count < 256 ? 4 : 5;
  return std::max(by_count, detail::log_lanes_for_threads(results, count, threads));
}

template <class Put, class All, class Composite>
void split_by_lanes(cuda_session& session, const cuda_tuning& tuning, const Put& put, const All& all,
                    const Composite& c, unsigned log_lanes) {
  cuda_plan plan;
  plan.launch.strategy = "rows by lanes";
  plan.launch.block_size = threads_of_split;
  const std::int64_t groups = threads_of_split >> log_lanes;
  constexpr int several = rows_in_flight<All, Composite>;
  // Several rows at once where a row has few elements for each lane.
  const bool is_crowded = several > 1 && all.count < std::int64_t{several} << log_lanes &&
                          all.results >= 2 * several * groups * session.multiprocessors();
  plan.kernel = detail::kernel_pointer(&rows_by_lanes_kernel<several, All, Composite, Put>);
  const std::int64_t blocks = (all.results - 1) / (groups * (is_crowded ? several : 1)) + 1;
  plan = detail::complete_plan<Composite, by_lanes, All, Put>(session, tuning, plan);
  plan.launch.grid_size = blocks_at_once(plan, blocks);
  // Of shorter rows more threads read more lines of memory than the first-level cache keeps until all of a line has
  // been read (H200, 2^28 floats in rows of 3 383 us to 347, of 5 355 to 328, of 7 414 to 303; of 12 and more the
  // other way; doubles, which have more registers, the same).
  if (log_lanes <= 1) plan.launch.grid_size = std::min(plan.launch.grid_size, busy_blocks(session, plan));
  void* arguments[] = {detail::argument(all), detail::argument(c), detail::argument(put), argument(log_lanes),
                       argument(is_crowded)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  session.record(plan.launch);
}

template <bool AreWhole, class Put, class All, class Composite>
void split_by_vectors(cuda_session& session, const cuda_tuning& tuning, const Put& put, const All& all,
                      const Composite& c, std::int64_t threads) {
  cuda_plan plan;
  plan.kernel = detail::kernel_pointer(&rows_by_vectors_kernel<AreWhole, All, Composite, Put>);
  plan.launch.strategy = "rows by vectors";
  plan.launch.block_size = threads_of_split;
  const std::int64_t vectors = all.count / width_in_rows<All>;
  const unsigned log_lanes = detail::log_lanes_of_vectors(all.results, vectors, threads);
  plan = detail::complete_plan<Composite, by_vectors<AreWhole>, All, Put>(session, tuning, plan);
  plan.launch.grid_size = detail::blocks_at_once(plan, (all.results - 1) / (threads_of_split >> log_lanes) + 1);
  const auto of_row = static_cast<std::uint32_t>(vectors);
  void* arguments[] = {detail::argument(all), detail::argument(c), detail::argument(put), argument(log_lanes),
                       argument(of_row)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  session.record(plan.launch);
}

template <class Put, class All, class Composite>
void split_by_threads(cuda_session& session, const cuda_tuning& tuning, const Put& put, const All& all,
                      const Composite& c) {
  cuda_plan plan;
  plan.kernel = detail::kernel_pointer(&rows_by_threads_kernel<All, Composite, Put>);
  plan.launch.strategy = "columns by threads";
  plan.launch.block_size = threads_of_split;
  plan = detail::complete_plan<Composite, by_threads, All, Put>(session, tuning, plan);
  plan.launch.grid_size = static_cast<int>(std::min<std::int64_t>(INT32_MAX, (all.results - 1) / threads_of_split + 1));
  void* arguments[] = {detail::argument(all), detail::argument(c), detail::argument(put)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  session.record(plan.launch);
}

/// Of a kernel that has a block a row, for `blocks` of them, of up to `count` elements where that is known.
template <class Composite, class... Key>
cuda_plan plan_by_block(const cuda_session& session, const cuda_tuning& tuning, const void* kernel, const char* name,
                        std::int64_t blocks, std::int64_t count) {
  using strategy = alone<cuda_strategy::one_pass>;
  using one = typename Composite::one_type;
  constexpr int most_threads = 512;
  cuda_plan plan;
  plan.kernel = kernel;
  detail::plan_block<strategy, one>(plan.launch, {}, 1, session.multiprocessors());
  plan.launch.strategy = name;
  if (!fanin::goes_through_slots(strategy::recipe, largest_travelling<strategy, one>)) {
    const std::uint64_t threads = std::bit_ceil(static_cast<std::uint64_t>(count / 4 + 1));
    plan.launch.block_size = static_cast<int>(std::clamp<std::uint64_t>(threads, 64, most_threads));
  }
  plan.launch.shared_bytes = detail::shared_bytes_of_stages<strategy, one>(plan.launch.block_size);
  detail::plan_spills<strategy, one>(plan);
  plan = detail::complete_plan<one, Key...>(session, tuning, plan);
  plan.launch.grid_size = blocks_at_once(plan, blocks);
  start_evenly(plan, count / plan.launch.block_size);
  return plan;
}
inline constexpr std::int64_t count_unknown = INT32_MAX;

template <class Put, class All, class Composite>
void split_by_block(cuda_session& session, const cuda_tuning& tuning, const Put& put, const All& all,
                    const Composite& c) {
  std::int64_t count = count_unknown;
  if constexpr (All::has_equal_rows) count = all.count;
  const void* const kernel =
      detail::kernel_pointer(&rows_by_block_kernel<alone<cuda_strategy::one_pass>, All, Composite, Put>);
  const cuda_plan plan = detail::plan_by_block<Composite, by_block, All, Put>(session, tuning, kernel, "rows by block",
                                                                              all.results, count);
  void* arguments[] = {detail::argument(all), detail::argument(c), detail::argument(put)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  session.record(plan.launch);
}

/// Threads of a block that has a row to itself, of which each has so many elements in flight: each makes two rounds
/// where there are many rows, since several small blocks of a multiprocessor end at different times; more threads where
/// few rows leave some of the device's idle.
inline int threads_of_row(std::int64_t rows, std::int64_t count, std::int64_t in_flight, std::uint64_t most,
                          int multiprocessors) {
  constexpr std::uint64_t few = 64;
  const auto for_rounds = [&](std::int64_t rounds, std::uint64_t limit) {
    return std::clamp(std::bit_ceil(static_cast<std::uint64_t>(count / (rounds * in_flight))), few, limit);
  };
  const std::uint64_t that_are_idle =
      std::bit_floor(static_cast<std::uint64_t>(std::int64_t{busy_threads} * multiprocessors / rows));
  return static_cast<int>(std::clamp(that_are_idle, for_rounds(2, threads_of_split), for_rounds(1, most)));
}

/// Whether rows have so many elements that those of a block, of which `parts` threads have one each, are worth sharing
/// with other blocks.
inline bool may_be_shared(std::int64_t count, std::int64_t parts) {
  constexpr std::int64_t elements_of_thread = 64;
  return count > parts * elements_of_thread;
}

/// Into how many pieces `tiles` of rows are cut, and of how many elements, for `at_once` blocks that work at once.
struct cut_of_tiles {
  int pieces;
  std::int64_t elements;
};
inline cut_of_tiles cut_tiles(std::int64_t tiles, std::int64_t count, std::int64_t parts, std::int64_t at_once,
                              std::int64_t alignment) {
  constexpr std::int64_t elements_of_thread = 16;  // at the least
  constexpr std::int64_t most_rounds = 4;          // of blocks
  const std::int64_t most_pieces = may_be_shared(count, parts) ? count / (parts * elements_of_thread) : 1;
  std::int64_t pieces = std::clamp<std::int64_t>(at_once / tiles, 1, most_pieces);
  const auto leaves_few_idle = [&] {  // in its last round
    const std::int64_t rounds = (tiles * pieces - 1) / at_once + 1;
    return 10 * tiles * pieces >= 9 * rounds * at_once;
  };
  if (tiles > at_once) {
    while (pieces < most_pieces && tiles * (pieces + 1) <= most_rounds * at_once && !leaves_few_idle()) ++pieces;
  }
  const std::int64_t elements = ((std::max<std::int64_t>(count, 1) - 1) / pieces / alignment + 1) * alignment;
  return {count == 0 ? 1 : static_cast<int>((count - 1) / elements + 1), elements};
}
inline constexpr unsigned elements_of_line = 64;  // pieces begin where a line of memory does

/// Threads of a block, of tiles one row wide that lie along memory: all, where blocks share rows.
template <class All, class Composite>
int threads_of_rows(const All& all, int multiprocessors) {
  if (detail::may_be_shared(all.count, threads_of_split)) return threads_of_split;
  return detail::threads_of_row(all.results, all.count, elements_of_row_in_flight<source_in_rows<All>, Composite>,
                                most_threads_of_tile<All, Composite>, multiprocessors);
}

/// Rows have numbers of 32 bits there.
inline constexpr std::int64_t most_rows_of_blocks = INT32_MAX;

/// Long rows that lie in memory one after the other, up to most_rows_of_blocks.
template <class Put, class All, class Composite>
void split_by_blocks(cuda_session& session, const cuda_tuning& tuning, const Put& put, const All& all,
                     const Composite& c) {
  using accumulator = typename Composite::accumulator_type;
  cuda_plan plan;
  plan.kernel = detail::kernel_pointer(&rows_by_blocks_kernel<All, Composite, Put>);
  plan.launch.strategy = "rows by blocks";
  plan.launch.block_size = detail::threads_of_rows<All, Composite>(all, session.multiprocessors());
  plan.launch.shared_bytes = warp_size * sizeof(accumulator);
  plan = detail::complete_plan<Composite, by_blocks, All, Put>(session, tuning, plan);
  const std::int64_t at_once = busy_blocks(session, plan);
  cut_of_tiles cut = detail::cut_tiles(all.results, all.count, plan.launch.block_size, at_once, elements_of_line);
  // Whole rounds, though of fewer blocks (H200, us, floats, in whole ones and not: 16 rows of 136,000 4.8, 5.7, of
  // 70,000 4.0, 4.2, of 90,000 4.9, 4.5).
  const std::int64_t round = plan.launch.block_size * elements_of_row_in_flight<source_in_rows<All>, Composite>;
  if (cut.elements > round) cut = detail::cut_tiles(all.results, all.count, plan.launch.block_size, at_once, round);
  const rows_share share{static_cast<unsigned>(cut.pieces), cut.elements};
  plan.launch.grid_size = static_cast<int>(all.results * cut.pieces);
  // Much is less where a second one of its blocks hardly goes beside the first (2^22 floats in 256 rows, a block with
  // 32 a thread, 512 of 792 that fit: 5.8 us instead of 7.0 on an H200).
  const std::int64_t much = 2 * plan.launch.grid_size > plan.largest_grid ? 16 : 64;
  start_evenly(plan, cut.elements / plan.launch.block_size, much);
  watched_memory watched;
  if (cut.pieces > 1) {
    const auto others = static_cast<std::size_t>(all.results * (cut.pieces - 1));
    watched = detail::units_memory(session, (others + most_watched_at_once<accumulator>)*static_cast<std::size_t>(
                                                tagged_units(sizeof(accumulator))));
  }
  void* arguments[] = {detail::argument(all), detail::argument(c), detail::argument(put), argument(share),
                       argument(watched)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  session.record(plan.launch);
}

/// Threads of a block, up to `most`, that has `width` columns of a functor beside each other: where these are all
/// columns, and many elements, of so many bytes each, so many that each round of theirs begins with a line of memory,
/// if an array that the functor reads does and has those columns (H200, us, 2^28 floats in columns of 9, 13, 72 by 256
/// threads 278, 278, 278, by whole lines 251, 249, 252, 2^27 doubles of 13 259, 246; 2^24 floats of 5 21.2, 22.8). Two
/// lines of doubles at once are better; of one, the last warp may be half of one, which tiles that are several columns
/// wide allow: their threads hand over by memory. Columns of arrays ask for lines.
inline int threads_of_columns(std::int64_t results, std::int64_t count, unsigned width, int most, std::size_t bytes) {
  constexpr std::int64_t worth_idle_threads = std::int64_t{1} << 26;
  constexpr std::int64_t floats = line_bytes / sizeof(float);
  if (width != results || results * count < worth_idle_threads || width % floats == 0) return threads_of_split;
  for (const std::int64_t elements : {floats, bytes == sizeof(double) ? floats / 2 : floats}) {
    const std::int64_t of_lines = std::lcm(std::int64_t{width}, elements);
    if (of_lines <= most) return static_cast<int>(most / of_lines * of_lines);
  }
  return threads_of_split;
}

/// Tiles of `width` rows, whose elements follow each other in memory, or lie across.
template <class Put, class All, class Composite>
void split_by_tiles(cuda_session& session, const cuda_tuning& tuning, const Put& put, const All& all,
                    const Composite& c, unsigned width, bool is_along) {
  using accumulator = typename Composite::accumulator_type;
  constexpr std::int64_t pieces_of_thread = 16;  // that it joins at the most; more are another launch's
  constexpr unsigned joined_at_once = 8;         // rows, by that, at the least
  const std::int64_t tiles = (all.results - 1) / width + 1;
  cuda_plan plan;
  plan.kernel = detail::kernel_pointer(&rows_by_tiles_kernel<All, Composite, Put>);
  plan.launch.strategy = is_along ? "rows by tiles" : "columns by tiles";
  plan.launch.block_size = threads_of_split;
  std::int64_t alignment = std::max(elements_of_line / width, 1u);
  if (is_along && width == 1) {
    plan.launch.block_size = detail::threads_of_rows<All, Composite>(all, session.multiprocessors());
  } else if (!is_along && !are_of_array<All>) {
    plan.launch.block_size = detail::threads_of_columns(
        all.results, all.count, width, most_threads_of_tile<All, Composite>, source_in_rows<All>::value_size);
    if (plan.launch.block_size != threads_of_split) alignment = plan.launch.block_size / static_cast<int>(width);
  }
  plan.launch.shared_bytes = static_cast<std::size_t>(plan.launch.block_size) * sizeof(accumulator);
  plan = detail::complete_plan<Composite, by_tiles, All, Put>(session, tuning, plan);

  tiles_share share;
  share.width = width;
  share.is_along = is_along;
  const std::int64_t parts = plan.launch.block_size / static_cast<int>(width);
  const cut_of_tiles cut = detail::cut_tiles(tiles, all.count, parts, plan.largest_grid, alignment);
  share.elements_of_piece = cut.elements;
  share.pieces = cut.pieces;
  plan.launch.grid_size = static_cast<int>(std::min<std::int64_t>(INT32_MAX, tiles * share.pieces));
  start_evenly(plan, share.elements_of_piece / parts);

  accumulator* partials = nullptr;
  unsigned* arrived = nullptr;
  if (share.pieces > 1) {
    const std::size_t bytes = static_cast<std::size_t>(all.results * share.pieces) * sizeof(accumulator);
    const workspace_memory memory = session.workspace(cuda_session::partials::plain, bytes);
    partials = static_cast<accumulator*>(memory.partials);
    const bool joins_them = tiles <= workspace_memory::counters && share.pieces <= pieces_of_thread * parts;
    if (joins_them) arrived = memory.counter;
  }
  void* arguments[] = {detail::argument(all), detail::argument(c),        detail::argument(put),
                       argument(share),       detail::argument(partials), argument(arrived)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  if (share.pieces > 1 && arrived == nullptr) {
    cuda_plan joining = plan;
    joining.kernel = detail::kernel_pointer(&join_pieces_kernel<All, Composite, Put>);
    joining.launch.block_size = std::min(plan.launch.block_size, threads_of_split);
    const auto of_block = static_cast<unsigned>(joining.launch.block_size / share.pieces);
    share.width = static_cast<unsigned>(std::min<std::int64_t>(all.results, std::max(of_block, joined_at_once)));
    joining = detail::complete_plan<Composite, by_joined_pieces, All, Put>(session, tuning, joining);
    joining.launch.grid_size = detail::blocks_at_once(joining, (all.results - 1) / share.width + 1);
    session.launch(joining.kernel, joining.launch, arguments, joining.options);
    plan.launch.launches = 2;
  }
  session.record(plan.launch);
}

/// Columns beside each other that a block's threads work on: all of few, so that memory is read without gaps, else
/// equal shares of them; fewer parts where a column has few elements.
inline unsigned columns_of_tile(std::int64_t results, std::int64_t count) {
  constexpr std::int64_t elements_of_thread = 8;
  const std::int64_t most = count < 2 * elements_of_thread ? threads_of_split : threads_of_split / 2;
  const std::int64_t tiles = (results - 1) / most + 1;
  return static_cast<unsigned>((results - 1) / tiles + 1);
}

/// Rows that lie in memory one after the other and that a block's warps work on: as many as leave each thread eight
/// elements.
inline unsigned rows_of_tile(std::int64_t count) {
  constexpr std::int64_t elements_of_thread = 8;
  const auto threads = std::bit_ceil(static_cast<std::uint64_t>(count / elements_of_thread));
  return static_cast<unsigned>(threads_of_split / std::clamp<std::uint64_t>(threads, 1, warp_size));
}

}  // namespace fanin::detail
