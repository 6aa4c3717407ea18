// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/plan.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/split/plan_of_split.cuh>
#include <fanin/cuda/split/segments.cuh>
#include <fanin/cuda/split/segments_by_blocks.cuh>
#include <fanin/device/kernel_pointer.cuh>

/// The launches of a call over segments.
namespace fanin::detail {

struct by_warps;
template <staged_gaps Gaps>
struct with_gaps;
struct by_pieces;
struct by_shares;
struct by_blocks_each;
struct by_blocks_each_and_list;

/// Where there are more, each long segment is one block's.
template <class Accumulator>
inline constexpr std::int64_t room_for_pieces =
    std::min<std::int64_t>(262'144, (std::int64_t{8} << 20) / std::int64_t{sizeof(Accumulator)});

/// What the host knows of segments: how many there are, and of an array's how long they are on the average. Of others
/// it guesses.
struct segments_known {
  std::int64_t results;
  std::int64_t mean;
  bool is_guess;
  std::int64_t one_length = 0;  ///< of all, but for a shorter one, as it seems; 0: lengths differ
};
inline std::int64_t length_of_all(std::int64_t results, std::int64_t elements) {
  const std::int64_t length = (elements + results - 1) / results;
  return length * results - elements < length ? length : 0;
}
template <class All>
segments_known known_of(const All& all) {
  constexpr std::int64_t guess = 2048;
  if (all.elements == All::most_elements) return {all.results, guess, true};
  return {all.results, all.elements / all.results, false, length_of_all(all.results, all.elements)};
}

/// Up to how many segments blocks that share their pieces come last: they read all offsets, which takes time, and are
/// not to be waited for, nor to keep others waiting.
inline std::int64_t most_shared_last(std::int64_t at_once) { return 2 * at_once; }

/// Whether one launch, of `at_once` blocks that work at once, is worth it; where not, a block may have each of them or
/// not. (H200, us, floats, one launch and two: 2048 segments of 128 elements 3.3, 3.7; 4096 of 256 5.3, 4.5, of 1024
/// 7.2, 7.5; 4194 by a power law 13.2, 15.3; by a block each 2048 of 4096 9.9, 10.4; 4096 of 4200 19.5, 19.2; 8192
/// of 4200 39.2, 34.2; 8000 by a power law, of 8000 on the average, 87.7, 72.7; else 16,400 of 8192 122, 142; 32,768 of
/// 16,384 472, 510.)
inline bool go_in_one_launch(const segments_known& known, std::int64_t at_once, bool may_have_block_each) {
  if (known.is_guess) return known.results <= most_shared_last(at_once);
  constexpr std::int64_t many = 131'072;
  const bool is_of_a_piece = may_have_block_each && known.mean <= least_piece_of_segment;
  if (known.mean > segment_of_warp && !is_of_a_piece) return known.results <= many;
  return known.results <= at_once * warps_of_segments / (known.mean > part_of_segment ? 1 : 2);
}

/// How many warps of a block each segment has then, as the power of 2: one for each part of a mean one, or fewer, so
/// that all work at once. (H200, us, 700 segments of 1500 floats by 4, 8 and 1: 3.7, 4.9, 4.5; 3000 of 1400 by 2 and 1:
/// 6.9, 9.0; 512 of 512 by 1 and 8: 2.0, 2.7.)
inline unsigned log_warps_of(const segments_known& known, std::int64_t at_once, unsigned least) {
  if (known.mean > segment_of_warp || (known.is_guess && known.results <= at_once)) return log_warps_of_block;
  const auto more_parts = static_cast<std::uint64_t>(std::max<std::int64_t>(known.mean - 1, 0) / part_of_segment);
  auto log_warps = static_cast<unsigned>(std::bit_width(more_parts));
  while (log_warps > 0 && known.results << log_warps > at_once * warps_of_segments) --log_warps;
  return log_warps < least ? 0 : log_warps;
}

/// Up to how many elements a block takes alone: so many that others need not wait for it.
inline std::int64_t most_of_block(const segments_known& known, std::int64_t at_once) {
  if (known.results <= at_once / 2) return least_piece_of_segment;
  if (known.is_guess) return 4 * least_piece_of_segment;
  const std::int64_t mean_of_block = known.results * known.mean / at_once;
  return std::max(least_piece_of_segment, mean_of_block + mean_of_block / 2);
}

/// How many blocks share the pieces of longer ones: at least one, since there may be some, and as many as work at once
/// where there will be many; else those for which `alone` that work on others leave room, if they do, but two of a
/// multiprocessor at the most, since each reads all offsets (three: 8192 segments of 8192 floats 62.7 us instead
/// of 60.8).
inline std::int64_t blocks_that_share(const segments_known& known, std::int64_t most, std::int64_t alone,
                                      std::int64_t at_once, std::int64_t multiprocessors) {
  if (known.is_guess || known.mean > most) return at_once;
  const std::int64_t room = at_once - alone;
  return std::min({(at_once + 1) / 2, 2 * multiprocessors, room <= at_once / 8 ? at_once : room});
}

/// Whether each block is to have a segment, of one piece, of a contiguous array, where there are more than the
/// `at_once` that work at once of blocks that can do others, too. (H200, us, floats, five blocks of a multiprocessor
/// and four: 4096 of 4096 18.3, 19.5, 16,384 of 6000 98, 124, 600 of 10,001 8.2, 10.0; 512 of 32,768 20.6, 17.8: as
/// many as there is room for do not go evenly.)
inline bool has_block_each(const segments_known& known, std::int64_t at_once) {
  return !known.is_guess && known.results > at_once && known.mean > segment_of_warp - part_of_segment &&
         known.mean <= least_piece_of_segment;
}

template <class Put, class All, class Composite>
void split_segments_by_blocks(cuda_session& session, cuda_plan plan, unsigned log_warps, const Put& put, const All& all,
                              const Composite& c) {
  using accumulator = typename Composite::accumulator_type;
  const std::int64_t at_once = plan.largest_grid;
  const segments_known known = detail::known_of(all);
  segments_share<accumulator> share{};
  share.log_warps = log_warps;
  const std::int64_t of_block = warps_of_segments >> share.log_warps;
  share.most = of_block == 1 ? most_of_block(known, at_once) : segment_of_warp;
  share.alone = static_cast<unsigned>((all.results - 1) / of_block + 1);
  share.share_first = all.results > most_shared_last(at_once);
  std::int64_t sharing = 0;
  if (all.elements > share.most) {
    const std::int64_t most_pieces =
        std::min(room_for_pieces<accumulator>, all.elements / least_piece<All> + all.results);
    sharing = std::min(most_pieces,
                       detail::blocks_that_share(known, share.most, share.alone, at_once, session.multiprocessors()));
    share.capacity = static_cast<unsigned>(most_pieces);
    share.counters = workspace_memory::counters;
    const workspace_memory memory =
        session.workspace(cuda_session::partials::plain, static_cast<std::size_t>(most_pieces) * sizeof(accumulator));
    share.partials = static_cast<accumulator*>(memory.partials);
    share.arrived = memory.counter;
  }
  plan.launch.strategy = of_block == 1 ? "segments by blocks" : "segments by warps";
  plan.launch.grid_size = static_cast<int>(share.alone + sharing);
  void* arguments[] = {detail::argument(all), detail::argument(c), detail::argument(put), detail::argument(share)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  session.record(plan.launch);
}

/// How many segments each warp has at once, where `at_once` blocks work at once. Few have a warp each; of some more a
/// warp has 2, where that leaves a quarter of those that could idle at the most. (H200: where a few were left for a
/// second round, 2^20 floats in segments of 64 took 10.1 us instead of 6.7; where a third was idle, 2^26 doubles in
/// those of 4096 139 instead of 127.)
///
/// Of more, up to twice what there is room for, so many that a multiprocessor waits least: for its blocks, and those
/// for which there is room while they work, as often as a warp stages `staged` elements, and once for the offsets. Of a
/// functor's segments the host can only guess how often. (H200, us, with powers of 2, and so: 2^17 segments of 16
/// floats 7.6, 5.3; 100,000 of 27 9.0, 6.9; 2^16 of 64 doubles 13.1, 11.6; 2^18 of 64 43.0, 38.4; a matrix of 2^18 rows
/// of 27 doubles times a vector 38.7, 33.8. Warps of doubles that would begin in the middle of 64 bytes, were segments
/// of their mean's length: 150,000 of 20 by 25 12.6, by 24 10.4. Fewer than half of the blocks: 2^16 of 16 floats by a
/// power law 21.8 instead of 18.3; of a functor's than three quarters, 2^15 rows of 27 doubles 10.3 instead of 7.4, or
/// of floats than all: 33,555 segments of 1000 exponentials and powers 235 instead of 181.)
///
/// Of still more, of one length, as many as are staged at once, or a multiple of that (H200, us, 2^28 floats in
/// segments of 17, 20, 33, 48, 100 by 32: 386, 391, 423, 370, 322; so: 325, 346, 385, 343, 312).
inline unsigned segments_for_warp(const segments_known& known, std::int64_t at_once, std::int64_t multiprocessors,
                                  int staged) {
  constexpr std::int64_t warps = warps_of_segments;
  const std::int64_t few = std::clamp<std::int64_t>(known.results / (at_once * warps * 3 / 4), 1, warp_size);
  if (few < 4) return std::bit_floor(static_cast<unsigned>(few));
  unsigned best = warp_size;
  if (known.results > 2 * at_once * warps * warp_size) {
    const std::int64_t staged_at_once = known.one_length == 0 ? 0 : staged / known.one_length;
    if (staged_at_once == 0 || staged_at_once >= warp_size) return best;
    return static_cast<unsigned>(warp_size / staged_at_once * staged_at_once);
  }
  const std::int64_t of_warp = (known.results - 1) / (multiprocessors * warps) + 1;
  const std::int64_t most_blocks = std::max<std::int64_t>(at_once / multiprocessors, 1);
  constexpr double mean_of_functor = 16;
  const bool of_words = staged == staged_at_a_time<double>;
  const std::int64_t wanted_blocks = !known.is_guess ? (most_blocks + 1) / 2
                                     : of_words      ? (3 * most_blocks + 3) / 4
                                                     : most_blocks;
  const std::int64_t of_64_bytes = known.is_guess || !of_words ? 1 : 8;
  double least = std::numeric_limits<double>::infinity();
  constexpr unsigned least_each = 4;
  const std::int64_t least_blocks = std::min(wanted_blocks, (of_warp - 1) / least_each + 1);
  for (unsigned each = warp_size; each >= least_each; --each) {
    if (known.mean % of_64_bytes * each % of_64_bytes != 0) continue;
    const std::int64_t blocks = (of_warp - 1) / each + 1;
    const std::int64_t room = (blocks - 1) / most_blocks * most_blocks + most_blocks;
    const double times = each * (known.is_guess ? mean_of_functor : static_cast<double>(known.mean)) / staged;
    const double cost = static_cast<double>(blocks + room) * (1 + (known.is_guess ? times : std::ceil(times)));
    if (blocks >= least_blocks && cost <= least) {
      least = cost;
      best = each;
    }
  }
  return best;
}

/// Which gaps staged elements of an array's segments have: none where all are as long as suits that. Lengths that
/// differ may all be multiples of 8, with which it takes more than twice the time. (H200, us, 2^28 floats in segments
/// of 15, 16, 17, 30, 32, 33, 40, 64, 100, with none and behind 16: 313, 417; 636, 311; 306, 324; 300, 655; 1136, 296;
/// 324, 381; 321, 338; 377, 287; 277, 309.)
inline staged_gaps gaps_for(const segments_known& known) {
  const std::int64_t of_same_banks = known.one_length <= read_by_warps.of_lane ? 8 : 32;
  return known.one_length % of_same_banks == 0 ? staged_gaps::behind_16 : staged_gaps::none;
}

/// Of two launches the first one's, where warps have segments, but for how many.
template <staged_gaps Gaps, class Put, class Composite, class All>
cuda_plan plan_by_warps(cuda_session& session, const cuda_tuning& tuning) {
  cuda_plan plan;
  plan.kernel = detail::kernel_pointer(&segments_by_warps_kernel<Gaps, All, Composite, Put>);
  plan.launch.strategy = "segments";
  plan.launch.block_size = threads_of_segments;
  return detail::complete_plan<Composite, by_warps, with_gaps<Gaps>, All, Put>(session, tuning, plan);
}
/// `rows` of them at once.
template <class Put, class Composite, class All>
cuda_plan plan_of_warps(cuda_session& session, const cuda_tuning& tuning, const All& all, unsigned& rows) {
  const segments_known known = detail::known_of(all);
  cuda_plan plan;
  if constexpr (!gives_elements<typename All::functor_type>) {
    plan = detail::plan_by_warps<staged_gaps::behind_64, Put, Composite, All>(session, tuning);
  } else if (gaps_for(known) == staged_gaps::none) {
    plan = detail::plan_by_warps<staged_gaps::none, Put, Composite, All>(session, tuning);
  } else {
    plan = detail::plan_by_warps<staged_gaps::behind_16, Put, Composite, All>(session, tuning);
  }
  const std::int64_t at_once = plan.largest_grid;
  constexpr std::int64_t warps = warps_of_segments;
  rows = detail::segments_for_warp(known, at_once, session.multiprocessors(), staged_of_segments<All>);
  // More blocks than work at once, for lengths that differ: 2^26 floats in segments of 0 to 64, 127 us instead of 149.
  constexpr std::int64_t rounds = 4;
  plan.launch.grid_size = static_cast<int>(std::min(rounds * at_once, (known.results - 1) / (warps * rows) + 1));
  return plan;
}

/// Of two launches the first one's, where each segment has a block. (An array of more than a grid has blocks, each of
/// 3585 elements, fits no memory.)
template <class Put, class All, class Composite>
cuda_plan plan_of_blocks_each(cuda_session& session, const cuda_tuning& tuning, std::int64_t results) {
  cuda_plan plan;
  plan.kernel = detail::kernel_pointer(&segments_by_block_each_kernel<All, Composite, Put>);
  plan.launch.strategy = "segments by blocks";
  plan.launch.block_size = threads_of_segments;
  plan.launch.shared_bytes = bytes_of_team<typename Composite::accumulator_type>;
  plan = detail::complete_plan<Composite, by_blocks_each_and_list, All, Put>(session, tuning, plan);
  plan.launch.grid_size = static_cast<int>(results);
  return plan;
}

/// Two launches, of which the second has little to do where no segment is long.
template <class Put, class All, class Composite>
void split_listed_segments(cuda_session& session, const cuda_tuning& tuning, const Put& put, const All& all,
                           const Composite& c, bool has_block_each) {
  using accumulator = typename Composite::accumulator_type;
  unsigned rows = 0;
  cuda_plan plan;
  if constexpr (is_of_contiguous<segment_row<const All&>, Composite>) {
    if (has_block_each) plan = detail::plan_of_blocks_each<Put, All, Composite>(session, tuning, all.results);
  }
  if (!has_block_each) plan = detail::plan_of_warps<Put, Composite>(session, tuning, all, rows);

  cuda_plan of_long = plan;
  of_long.kernel = detail::kernel_pointer(&long_segments_kernel<All, Composite, Put>);
  of_long.launch.shared_bytes = leaves_middle_ones<All> ? bytes_of_team<accumulator> : warp_size * sizeof(accumulator);
  of_long = detail::complete_plan<Composite, by_pieces, All, Put>(session, tuning, of_long);
  of_long.launch.grid_size = of_long.largest_grid;

  segments_list<accumulator> list;
  list.capacity = static_cast<unsigned>(room_for_pieces<accumulator>);
  const std::size_t bytes_before = detail::round_up(sizeof(segment_piece) * (list.capacity + std::size_t{1}));
  const std::size_t bytes = bytes_before + list.capacity * sizeof(accumulator);
  const workspace_memory memory = session.workspace(cuda_session::partials::plain, bytes);
  list.of_first = has_block_each ? least_piece_of_segment : segment_of_warp;
  list.count = memory.counter;
  list.ticket = static_cast<unsigned*>(memory.partials);
  list.pieces = static_cast<segment_piece*>(memory.partials) + 1;
  list.partials = reinterpret_cast<accumulator*>(static_cast<unsigned char*>(memory.partials) + bytes_before);

  // The last is that of warps: blocks of which each has a segment have one parameter less.
  void* arguments[] = {detail::argument(all), detail::argument(c), detail::argument(put), detail::argument(list),
                       argument(rows)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  void* arguments_of_long[] = {detail::argument(all), detail::argument(c), detail::argument(put),
                               detail::argument(list)};
  try {
    session.launch(of_long.kernel, of_long.launch, arguments_of_long, of_long.options);
  } catch (...) {
    session.leave_workspace(cuda_session::partials::plain);
    throw;
  }
  plan.launch.launches = 2;
  session.record(plan.launch);
}

template <class Put, class All, class Composite>
void split_segments(cuda_session& session, const cuda_tuning& tuning, const Put& put, const All& all,
                    const Composite& c) {
  cuda_plan plan;
  plan.kernel = detail::kernel_pointer(&segments_by_blocks_kernel<false, All, Composite, Put>);
  plan.launch.block_size = threads_of_segments;
  plan.launch.shared_bytes = bytes_of_teams<typename Composite::accumulator_type>;
  plan = detail::complete_plan<Composite, by_shares, All, Put>(session, tuning, plan);
  const segments_known known = detail::known_of(all);
  const std::int64_t at_once = plan.largest_grid;
  constexpr bool may_have_block_each = is_of_contiguous<segment_row<const All&>, Composite>;
  const bool block_each = may_have_block_each && has_block_each(known, at_once);
  if (!go_in_one_launch(known, at_once, may_have_block_each)) {
    detail::split_listed_segments(session, tuning, put, all, c, block_each);
    return;
  }
  unsigned log_warps = detail::log_warps_of(known, at_once, least_log_warps<typename Composite::accumulator_type>);
  if constexpr (may_have_block_each) {
    if (block_each) {
      log_warps = log_warps_of_block;
      plan.kernel = detail::kernel_pointer(&segments_by_blocks_kernel<true, All, Composite, Put>);
      plan = detail::complete_plan<Composite, by_shares, by_blocks_each, All, Put>(session, tuning, plan);
    }
  }
  detail::split_segments_by_blocks(session, plan, log_warps, put, all, c);
}

}  // namespace fanin::detail
