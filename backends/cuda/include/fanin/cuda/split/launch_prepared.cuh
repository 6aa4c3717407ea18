// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include <fanin/batch.hpp>
#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/plan.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/split/launch_segments.cuh>
#include <fanin/cuda/split/plan_of_split.cuh>
#include <fanin/cuda/split/prepared.hpp>
#include <fanin/cuda/split/prepared_segments.cuh>
#include <fanin/device/kernel_pointer.cuh>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reducers.hpp>

/// The list of segments that were made ready, and the launch that goes by it.
namespace fanin::detail {

struct by_list;
struct by_offsets;

/// More are not: 2 GiB.
inline constexpr std::int64_t most_listed = std::int64_t{1} << 26;

/// What is counted before there is a list.
template <class Offset>
struct count_segments {
  segments_functor<no_functor, Offset> all;
  prepared_kinds kinds;

  FANIN_FUNCTION void operator()(std::int64_t row, std::int64_t& segments_cut, std::int64_t& cut,
                                 std::int64_t& of_blocks, std::int64_t& of_warps, std::int64_t& listed,
                                 std::int64_t& unlisted) const {
    const std::int64_t count = all.row(all.place(row)).count();
    (count > kinds.most_unlisted ? listed : unlisted) += count;
    if (count > kinds.most_of_block) {
      ++segments_cut;
      cut += detail::finest_cut(count).pieces(count);
    } else if (count > kinds.most_of_warp) {
      ++of_blocks;
    } else if (count > kinds.most_unlisted) {
      ++of_warps;
    }
  }
};

/// Which of so many segments are listed, of so many elements on the average, where so many blocks work at once. A few
/// have a block each. Of many long ones a warp has one after the other.
inline prepared_kinds kinds_for(std::int64_t results, std::int64_t mean, std::int64_t at_once) {
  if (results <= 2 * at_once) return {part_of_segment, part_of_segment, segment_of_warp};
  if (mean > 256) return {segment_of_warp, segment_of_warp, segment_of_warp};
  if (mean > 64) return {segment_of_warp / 4, segment_of_warp / 4, segment_of_warp};
  return {read_by_warps.of_group, part_of_segment, segment_of_warp};
}

/// The list of these kinds, of offsets that do not fall. Waits. Where more segments are cut than there are counters
/// for, blocks have longer ones alone.
template <class Exec, class Offset>
cuda_prepared_segments list_segments(const cuda_handle& handle, const Offset* offsets, std::int64_t results,
                                     prepared_kinds kinds) {
  using object = backend<Exec>;
  const segments_functor<no_functor, Offset> all{offsets, results, most_elements_of_segments, {}};
  prepared_list list{};
  const fanin::sum<std::int64_t> sum;
  for (;; kinds.most_of_block *= 2) {
    const auto [segments_cut, cut, of_blocks, of_warps, listed, unlisted] =
        fanin::parallel_reduce("fanin::segments", range_policy<Exec>(handle, 0, results),
                               count_segments<Offset>{all, kinds}, sum, sum, sum, sum, sum, sum);
    list = {nullptr, cut, cut + of_blocks, of_warps, kinds.most_unlisted, unlisted + listed, listed};
    if (segments_cut <= workspace_memory::counters) break;
  }
  const std::int64_t pieces = list.of_blocks + list.of_warps;
  if (pieces == 0) return {list, nullptr};
  if (pieces > most_listed) {
    throw invalid_argument("fanin::segments: " + std::to_string(pieces) +
                           " pieces of longer segments are more than a list is made of: do without prepared()");
  }

  const std::size_t bytes = sizeof(listed_so_far) + static_cast<std::size_t>(pieces) * sizeof(prepared_piece);
  const cuda_memory memory = object::memory(handle);
  const std::shared_ptr<void> room(object::allocate(handle, bytes),
                                   [memory, bytes](void* pointer) { object::deallocate(memory, pointer, bytes); });
  const listed_so_far none{};
  object::copy_from_host(memory, room.get(), &none, sizeof(none));
  auto* const so_far = static_cast<listed_so_far*>(room.get());
  auto* const to = reinterpret_cast<prepared_piece*>(so_far + 1);
  {
    cuda_session session(handle, "fanin::segments", cuda_session::mode::blocking, "fanin::segments");
    cuda_launch launch;
    launch.strategy = "list of segments";
    launch.block_size = threads_of_segments;
    launch.grid_size =
        static_cast<int>(std::min<std::int64_t>((results - 1) / launch.block_size + 1, 8 * session.multiprocessors()));
    void* arguments[] = {detail::argument(all), detail::argument(kinds), detail::argument(list), detail::argument(to),
                         detail::argument(so_far)};
    session.launch(detail::kernel_pointer(&list_segments_kernel<Offset>), launch, arguments, {});
    session.record(launch);
  }
  object::synchronize(handle);
  list.pieces = to;
  return {list, room};
}

template <class Exec, class Offset>
cuda_prepared_segments prepare_segments(const cuda_handle& handle, const Offset* offsets, std::int64_t results) {
  if (results == 0) return {{}, nullptr};
  std::int64_t elements = 0;
  std::int64_t at_once = 0;
  {
    cuda_session session(handle, nullptr, cuda_session::mode::blocking, "fanin::segments");
    at_once = std::int64_t{blocks_of_listed} * session.multiprocessors();
    const auto offset = [&](std::int64_t at) {
      return static_cast<std::int64_t>(*static_cast<const Offset*>(session.fetch(offsets + at, sizeof(Offset))));
    };
    const std::int64_t begin = offset(0);
    elements = offset(results) - begin;
  }
  return detail::list_segments<Exec>(handle, offsets, results, detail::kinds_for(results, elements / results, at_once));
}

/// A launch, of so many blocks that have a part of the list.
template <class Accumulator>
struct prepared_launch {
  cuda_plan plan;
  prepared_share<Accumulator> share;

  /// Whether its blocks are no more than so many times those that work at once.
  bool has_rounds(double most) const { return plan.launch.grid_size <= most * plan.largest_grid; }
};

/// How many segments that nobody listed a warp has at once, where it would be `rows` without others: so many that all
/// blocks work at once, those for the list, too, for which there is `room`, if they are not much more; and where what
/// is listed takes most of the time, so few that blocks for them are one and a half times as many as work at once
/// (H200, us, rows by a power law, floats and doubles, by 32 and 20: 2^17 20.4, 19.7 and 22.2, 21.9; by 21 and 12:
/// 2^16 11.7, 11.6 and 14.7, 13.0; by 7 and 12: 2^15 8.7, 7.5 and 10.1, 8.7).
inline std::int64_t rows_beside(std::int64_t rows, std::int64_t results, bool has_much, std::int64_t room,
                                std::int64_t at_once) {
  constexpr std::int64_t warps = warps_of_segments;
  constexpr std::int64_t not_much = 16;
  constexpr std::int64_t least = 12;
  if (room > 0 && results <= not_much * room * warps) rows = std::max(rows, (results - 1) / (room * warps) + 1);
  if (has_much) rows = std::min(rows, std::max(least, 2 * results / (3 * at_once * warps)));
  return rows;
}

template <class Key, class Put, class All, class Composite>
auto plan_prepared(const cuda_session& session, const cuda_tuning& tuning, const All& all, const Composite&,
                   const void* kernel) {
  using accumulator = typename Composite::accumulator_type;
  constexpr std::int64_t warps = warps_of_segments;
  constexpr std::int64_t rounds = 4;
  cuda_plan plan;
  plan.kernel = kernel;
  plan.launch.strategy = "prepared segments";
  plan.launch.block_size = threads_of_segments;
  plan.launch.shared_bytes = bytes_of_team<accumulator>;
  plan = detail::complete_plan<Composite, Key, All, Put>(session, tuning, plan);
  const std::int64_t at_once = plan.largest_grid;
  const std::int64_t of_warps = (all.ready.of_warps + warps - 1) / warps;
  const std::int64_t listed = all.ready.of_blocks + of_warps;
  const segments_known known{all.results, 0, true};
  std::int64_t rows = detail::segments_for_warp(known, at_once, session.multiprocessors(), staged_of_segments<All>);
  if (listed > 0) rows = detail::rows_beside(rows, all.results, all.ready.has_much(), at_once - listed, at_once);
  const std::int64_t unlisted = std::min(rounds * at_once, (all.results - 1) / (warps * rows) + 1);
  plan.launch.grid_size = static_cast<int>(listed + unlisted);
  const std::int64_t much = 2 * plan.launch.grid_size > plan.largest_grid ? 16 : 64;
  detail::start_evenly(plan, all.ready.elements / plan.launch.grid_size / plan.launch.block_size, much);
  return prepared_launch<accumulator>{plan,
                                      {static_cast<unsigned>(of_warps), static_cast<unsigned>(rows), nullptr, nullptr}};
}

template <class Put, class All, class Composite>
void launch_prepared(cuda_session& session, prepared_launch<typename Composite::accumulator_type> planned,
                     const Put& put, const All& all, const Composite& c) {
  using accumulator = typename Composite::accumulator_type;
  auto& [plan, share] = planned;
  if (all.ready.cut > 0) {
    const workspace_memory memory =
        session.workspace(cuda_session::partials::plain, static_cast<std::size_t>(all.ready.cut) * sizeof(accumulator));
    share.partials = static_cast<accumulator*>(memory.partials);
    share.arrived = memory.counter;
  }
  void* arguments[] = {detail::argument(all), detail::argument(c), detail::argument(put), detail::argument(share)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  session.record(plan.launch);
}

/// Whether a reducer folds several of f's values by itself.
template <class All, class Composite>
inline constexpr bool folds_tiles = [] {
  using value = value_in_segments<All>;
  if constexpr (std::is_void_v<value>) {
    return false;
  } else {
    return Composite::template takes_any<tile_batch<8, 1, value>>;
  }
}();

/// By the kernel for what is listed, and for how many blocks there are: see docs/adr/0022.
template <class Put, class F, class Offset, class Composite>
void split_prepared_segments(cuda_session& session, const cuda_tuning& tuning, const Put& put,
                             const prepared_segments_functor<F, Offset, prepared_list>& all, const Composite& c) {
  using few = prepared_segments_functor<F, Offset, prepared_list>;
  // What folds several elements by itself has as many at once in all kernels: it may round as it likes.
  using list_of_many = std::conditional_t<folds_tiles<few, Composite>, prepared_list, prepared_list_of_many>;
  using many = prepared_segments_functor<F, Offset, list_of_many>;
  constexpr int blocks = blocks_of_segments<few, Composite>;
  if (all.ready.of_blocks + all.ready.of_warps == 0) {
    constexpr std::size_t bytes = index_source<segment_row<const few&>>::value_size;
    constexpr int of_unlisted = bytes > 0 && bytes <= sizeof(float) ? std::max(blocks, 1) : blocks;
    const auto planned = detail::plan_prepared<by_offsets, Put>(
        session, tuning, all, c, detail::kernel_pointer(&unlisted_segments_kernel<of_unlisted, few, Composite, Put>));
    return detail::launch_prepared(session, planned, put, all, c);
  }
  if constexpr (is_short_of_registers<segment_row<const many&>>) {
    const auto planned = detail::plan_prepared<by_list, Put>(
        session, tuning, all, c, detail::kernel_pointer(&prepared_segments_kernel<blocks_of_few, few, Composite, Put>));
    if (planned.has_rounds(all.ready.has_much() ? 1 : 3)) {
      return detail::launch_prepared(session, planned, put, all, c);
    }
  }
  const many of_many{{all.offsets, all.results, all.elements, all.f}, list_of_many{all.ready}};
  auto planned = detail::plan_prepared<by_list, Put>(
      session, tuning, of_many, c,
      detail::kernel_pointer(&prepared_segments_kernel<blocks_of_listed, many, Composite, Put>));
  if (!all.ready.has_much() && !planned.has_rounds(2.5)) {
    planned = detail::plan_prepared<by_pieces, Put>(
        session, tuning, of_many, c, detail::kernel_pointer(&prepared_segments_kernel<blocks, many, Composite, Put>));
  }
  detail::launch_prepared(session, planned, put, of_many, c);
}

}  // namespace fanin::detail
