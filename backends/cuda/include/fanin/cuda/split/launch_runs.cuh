// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/destination.cuh>
#include <fanin/cuda/plan.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/split/launch.cuh>
#include <fanin/cuda/split/runs.cuh>
#include <fanin/device/kernel_pointer.cuh>
#include <fanin/pending.hpp>

/// The launches of a call over runs.
namespace fanin::detail {

struct by_marks;

/// Workspace of a call over runs.
template <class Accumulator>
struct runs_workspace {
  runs_marks marks;
  std::int64_t chunks;  ///< at least one, so that there is somebody who tells how many runs there are
  segments_list<Accumulator> list;
  unsigned* ticket = nullptr;

  /// For so many keys, marked in chunks by at most so many blocks. The list has room for all pieces that there can be.
  runs_workspace(cuda_session& session, std::int64_t elements, std::int64_t most_chunks, bool has_list) {
    constexpr std::int64_t warps = threads_of_runs / warp_size;
    marks.tiles = elements == 0 ? 0 : (elements - 1) / keys_of_tile + 1;
    const std::int64_t tiles_of_chunk = std::max((marks.tiles + most_chunks - 1) / most_chunks, warps);
    marks.tiles_of_chunk = divider(tiles_of_chunk);
    chunks = std::max<std::int64_t>((marks.tiles + tiles_of_chunk - 1) / tiles_of_chunk, 1);
    const std::int64_t pieces = has_list ? elements / 16'384 + elements / (segment_of_warp + 1) : 0;
    const std::size_t bytes_of_tiles = round_up(static_cast<std::size_t>(marks.tiles) * sizeof(runs_mark));
    const std::size_t bytes_of_chunks = round_up(static_cast<std::size_t>(chunks) * sizeof(runs_mark));
    const std::size_t bytes_of_begins =
        round_up(static_cast<std::size_t>(marks.tiles) * words_of_tile * sizeof(std::uint32_t));
    const std::size_t bytes_of_pieces = round_up(static_cast<std::size_t>(pieces) * sizeof(segment_piece));
    const std::size_t bytes_of_count = round_up(sizeof(unsigned));
    const workspace_memory memory = session.workspace(
        cuda_session::partials::plain, bytes_of_count + bytes_of_tiles + bytes_of_chunks + bytes_of_begins +
                                           bytes_of_pieces + static_cast<std::size_t>(pieces) * sizeof(Accumulator));
    ticket = memory.counter;
    auto* at = static_cast<unsigned char*>(memory.partials);
    list.count = reinterpret_cast<unsigned*>(at);
    list.ticket = nullptr;
    list.capacity = static_cast<unsigned>(pieces);
    marks.of_tile = reinterpret_cast<runs_mark*>(at += bytes_of_count);
    marks.of_chunk = reinterpret_cast<runs_mark*>(at += bytes_of_tiles);
    marks.begins = reinterpret_cast<std::uint32_t*>(at += bytes_of_chunks);
    list.pieces = reinterpret_cast<segment_piece*>(at += bytes_of_begins);
    list.partials = reinterpret_cast<Accumulator*>(at + bytes_of_pieces);
  }
};

/// Up to three launches, in the stream's order.
template <class Put, class Runs, class Composite>
void split_runs(cuda_session& session, const cuda_tuning& tuning, const cuda_destination<std::int64_t>& count,
                const Put& put, const Runs& runs, const Composite& c) {
  using accumulator = typename Composite::accumulator_type;
  using key = typename Runs::key_type;
  constexpr bool by_threads = splits_by_threads<Composite>;
  const runs_keys<key>& keys = runs;
  cuda_plan plan;
  plan.kernel = kernel_pointer(&mark_runs_kernel<key>);
  plan.launch.strategy = by_threads ? "runs" : "runs by block";
  plan.launch.block_size = threads_of_runs;
  plan = complete_plan<Composite, by_marks, key>(session, tuning, plan);
  const bool has_long_ones = by_threads && runs.elements > segment_of_warp && put.capacity > 0;
  const runs_workspace<accumulator> work(session, runs.elements, blocks_at_once(plan, most_marks), has_long_ones);
  plan.launch.grid_size = static_cast<int>(work.chunks);
  void* arguments[] = {argument(keys), argument(work.marks), argument(work.ticket), argument(work.list.count),
                       argument(count)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  if (runs.elements > 0 && put.capacity > 0) {
    void* arguments_of_tiles[] = {argument(runs), argument(c), argument(put), argument(work.marks),
                                  argument(work.list)};
    cuda_plan of_tiles;
    if constexpr (by_threads) {
      constexpr std::int64_t warps = threads_of_runs / warp_size;
      of_tiles = plan;
      of_tiles.kernel = kernel_pointer(&runs_by_warps_kernel<Runs, Composite, Put>);
      of_tiles = complete_plan<Composite, by_warps, Runs, Put>(session, tuning, of_tiles);
      of_tiles.launch.grid_size = blocks_at_once(of_tiles, work.marks.tiles / warps + 1);
    } else {
      const void* const kernel =
          kernel_pointer(&runs_by_block_kernel<alone<cuda_strategy::one_pass>, Runs, Composite, Put>);
      of_tiles = plan_by_block<Composite, by_block, Runs, Put>(session, tuning, kernel, plan.launch.strategy,
                                                               work.marks.tiles + 1, count_unknown);
    }
    session.launch(of_tiles.kernel, of_tiles.launch, arguments_of_tiles, of_tiles.options);
    ++plan.launch.launches;
  }
  if constexpr (by_threads) {
    if (has_long_ones) {
      cuda_plan of_long = plan;
      of_long.kernel = kernel_pointer(&long_runs_kernel<Runs, Composite, Put>);
      of_long.launch.shared_bytes = warp_size * sizeof(accumulator);
      of_long = complete_plan<Composite, by_pieces, Runs, Put>(session, tuning, of_long);
      of_long.launch.grid_size = blocks_at_once(of_long, work.list.capacity);
      void* arguments_of_long[] = {argument(runs), argument(c), argument(put), argument(work.list)};
      session.launch(of_long.kernel, of_long.launch, arguments_of_long, of_long.options);
      ++plan.launch.launches;
    }
  }
  session.record(plan.launch);
}

template <class Put, class Runs, class Composite>
void reduce_runs_ordered(const cuda_handle& handle, const char* label, std::int64_t* count, const Put& put,
                         const Runs& runs, const Composite& c) {
  check_reducers<cuda_strategy::one_pass, typename Composite::one_type>();
  cuda_session session(handle, label, cuda_session::mode::ordered, "fanin::parallel_reduce_into");
  split_runs(session, handle.tuning, {count, {}}, put, runs, c);
}

/// How many there are, as soon as that is known: keys and results come in the stream's order.
template <class Put, class Runs, class Composite>
std::int64_t reduce_runs_blocking(const cuda_handle& handle, const char* label, const Put& put, const Runs& runs,
                                  const Composite& c) {
  check_reducers<cuda_strategy::one_pass, typename Composite::one_type>();
  cuda_session session(handle, label, cuda_session::mode::blocking, "fanin::parallel_reduce");
  constexpr int words = mailbox_words(sizeof(std::int64_t));
  const cuda_mailbox mailbox = session.mailbox(words);
  split_runs(session, handle.tuning, {nullptr, mailbox}, put, runs, c);
  std::uint32_t payload[words];
  session.wait(mailbox, payload, words);
  return from_payload<std::int64_t>(payload);
}

/// How many there are, in a mailbox, when keys and results have come, too.
template <class Put, class Runs, class Composite>
pending<std::int64_t> reduce_runs_pending(const cuda_handle& handle, const char* label, const Put& put,
                                          const Runs& runs, const Composite& c) {
  check_reducers<cuda_strategy::one_pass, typename Composite::one_type>();
  cuda_session session(handle, label, cuda_session::mode::blocking, "fanin::parallel_reduce_async");
  if (runs.elements == 0) return pending<std::int64_t>(0);
  return pending<std::int64_t>(launch_and_tell_end<mailbox_words(sizeof(std::int64_t))>(
      session,
      [&](const cuda_mailbox& mailbox) { split_runs(session, handle.tuning, {nullptr, mailbox}, put, runs, c); }));
}

}  // namespace fanin::detail
