// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/destination.cuh>
#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/launch.cuh>
#include <fanin/cuda/plan.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/split/launch.cuh>
#include <fanin/cuda/split/runs.cuh>
#include <fanin/device/kernel_pointer.cuh>
#include <fanin/pending.hpp>

/// The launch of a call over runs.
namespace fanin::detail {

/// Chunks of so many keys for blocks of a launch, and what they hand each other.
template <class Accumulator>
runs_chunks plan_chunks(cuda_session& session, const cuda_plan& plan, std::int64_t elements, bool by_threads) {
  constexpr std::int64_t chunks_of_block = 2;  // so that blocks end at about the same time
  const int least_tiles = by_threads ? threads_of_runs / warp_size : 1;
  runs_chunks chunks{};
  chunks.tiles = elements == 0 ? 0 : (elements - 1) / keys_of_tile + 1;
  const std::int64_t share = (chunks.tiles - 1) / (chunks_of_block * plan.largest_grid) + 1;
  const std::int64_t tiles = (share - 1) / least_tiles * least_tiles + least_tiles;  // each warp has as many
  chunks.tiles_of_chunk = static_cast<int>(std::min<std::int64_t>(tiles, most_tiles_of_chunk));
  // At least one, so that there is somebody who tells how many runs there are.
  chunks.count = static_cast<unsigned>(std::max<std::int64_t>((chunks.tiles - 1) / chunks.tiles_of_chunk + 1, 1));
  std::size_t units = runs_chunks::units(chunks.count);
  if (by_threads) {
    const auto pieces = static_cast<std::size_t>(runs_chunks::pieces(elements)) + most_watched_at_once<Accumulator>;
    units += pieces * static_cast<std::size_t>(tagged_units(sizeof(Accumulator)));
  }
  chunks.watched = units_memory(session, units);
  return chunks;
}

/// One launch.
template <class Put, class Runs, class Composite>
void split_runs(cuda_session& session, const cuda_tuning& tuning, const cuda_destination<std::int64_t>& count,
                const Put& put, const Runs& runs, const Composite& c) {
  using accumulator = typename Composite::accumulator_type;
  constexpr bool by_threads = splits_by_threads<Composite>;
  cuda_plan plan;
  if constexpr (by_threads) {
    plan.kernel = detail::kernel_pointer(&runs_by_warps_kernel<Runs, Composite, Put>);
    plan.launch.strategy = "runs";
    plan.launch.block_size = threads_of_runs;
    plan = detail::complete_plan<Composite, by_warps, Runs, Put>(session, tuning, plan);
  } else {
    plan = detail::plan_by_block<Composite, by_block, Runs, Put>(
        session, tuning,
        detail::kernel_pointer(&runs_by_block_kernel<alone<cuda_strategy::one_pass>, Runs, Composite, Put>),
        "runs by block", count_unknown, count_unknown);
  }
  const runs_chunks chunks = detail::plan_chunks<accumulator>(session, plan, runs.elements, by_threads);
  plan.launch.grid_size = static_cast<int>(chunks.count);
  if constexpr (by_threads) {
    void* arguments[] = {detail::argument(runs), detail::argument(c), detail::argument(put), argument(chunks),
                         argument(count)};
    session.launch(plan.kernel, plan.launch, arguments, plan.options);
  } else {
    void* arguments[] = {detail::argument(runs), detail::argument(c), detail::argument(put), argument(chunks),
                         argument(count)};
    session.launch(plan.kernel, plan.launch, arguments, plan.options);
  }
  session.record(plan.launch);
}

template <class Put, class Runs, class Composite>
void reduce_runs_ordered(const cuda_handle& handle, const char* label, std::int64_t* count, const Put& put,
                         const Runs& runs, const Composite& c) {
  check_reducers<cuda_strategy::one_pass, typename Composite::one_type>();
  cuda_session session(handle, label, cuda_session::mode::ordered, "fanin::parallel_reduce_into");
  detail::split_runs(session, handle.tuning, {count, {}}, put, runs, c);
}

/// How many there are, as soon as that is known: keys and results come in the stream's order.
template <class Put, class Runs, class Composite>
std::int64_t reduce_runs_blocking(const cuda_handle& handle, const char* label, const Put& put, const Runs& runs,
                                  const Composite& c) {
  check_reducers<cuda_strategy::one_pass, typename Composite::one_type>();
  cuda_session session(handle, label, cuda_session::mode::blocking, "fanin::parallel_reduce");
  constexpr int words = mailbox_words(sizeof(std::int64_t));
  const cuda_mailbox mailbox = session.mailbox(words);
  detail::split_runs(session, handle.tuning, {nullptr, mailbox}, put, runs, c);
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
  return pending<std::int64_t>(
      detail::launch_and_tell_end<mailbox_words(sizeof(std::int64_t))>(session, [&](const cuda_mailbox& mailbox) {
        detail::split_runs(session, handle.tuning, {nullptr, mailbox}, put, runs, c);
      }));
}

}  // namespace fanin::detail
