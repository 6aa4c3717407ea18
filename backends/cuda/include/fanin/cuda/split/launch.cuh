// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/destination.cuh>
#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/kernel.cuh>
#include <fanin/cuda/launch.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/plan.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/split/array_rows.cuh>
#include <fanin/cuda/split/kernels.cuh>
#include <fanin/cuda/split/launch_prepared.cuh>
#include <fanin/cuda/split/launch_rows.cuh>
#include <fanin/cuda/split/launch_segments.cuh>
#include <fanin/cuda/split/plan_of_split.cuh>
#include <fanin/cuda/split/rows_by_blocks.cuh>
#include <fanin/cuda/split/rows_by_vectors.cuh>
#include <fanin/device/kernel_pointer.cuh>
#include <fanin/pending.hpp>

/// What a call with many results does on CUDA: which split it takes.
namespace fanin::detail {

/// By launches of their own, as of a flat sum. A tuning does not count here either.
template <class Put, class All, class Composite>
void launch_each(cuda_session& session, const cuda_tuning& tuning, const Put& put, const All& all, const Composite& c) {
  using stage = grid_stage_of<cuda_strategy::one_pass, typename Composite::one_type>;
  for (std::int64_t row = 0; row < all.results; ++row) {
    const md_index<All::axes::left_rank> place = all.place(row);
    const index_source<axes_row<All>> source{{all, place}, all.first(), all.count};
    stage::enqueue(session, cuda_tuning{.early_start = tuning.early_start}, source, c.at(place),
                   {put.address(row), {}});
  }
}

/// Rows of reducers whose states stay in the block are worth launches of their own, each of the whole device, where
/// there are few and they are long; and longer ones than a block takes. By the figures of flat sums on an H200 (a
/// launch in a row of them 2.5 us, a block about 40 GB/s).
inline bool takes_launch_each(std::int64_t results, std::int64_t count) {
  constexpr std::int64_t most_of_block = std::int64_t{1} << 24;
  constexpr std::int64_t elements_worth_a_launch = 16'384;
  return count > most_of_block || (results < count / elements_worth_a_launch);
}

/// Rows that lie across each other in memory, or along it though their range does not say so.
template <class Put, class All, class Composite>
void split_across(cuda_session& session, const cuda_tuning& tuning, const Put& put, const All& all, const Composite& c,
                  bool is_long, std::int64_t threads) {
  constexpr std::int64_t short_column = 16;
  const bool are_many = all.results >= (all.count <= short_column ? threads : 4 * threads);
  const bool is_along = all.elements_apart() == 1;
  if (are_many && (!is_along || all.count <= short_column))
    return detail::split_by_threads(session, tuning, put, all, c);
  if (!is_along) {
    return detail::split_by_tiles(session, tuning, put, all, c, detail::columns_of_tile(all.results, all.count), false);
  }
  detail::split_by_tiles(session, tuning, put, all, c, is_long ? 1 : detail::rows_of_tile(all.count), true);
}

/// Segments, by the list that was made ready for them.
template <class Put, class F, class Offset, class Composite>
void split_many(cuda_session& session, const cuda_tuning& tuning, const Put& put,
                const prepared_segments_functor<F, Offset, prepared_list>& all, const Composite& c) {
  if constexpr (splits_by_threads<Composite>) {
    detail::split_prepared_segments(session, tuning, put, all, c);
  } else {
    detail::split_by_block(session, tuning, put, static_cast<const segments_functor<F, Offset>&>(all), c);
  }
}

/// Many results, by the split for their shape.
template <class Put, class All, class Composite>
void split_many(cuda_session& session, const cuda_tuning& tuning, const Put& put, const All& all, const Composite& c) {
  if constexpr (!All::has_equal_rows) {
    if constexpr (splits_by_threads<Composite>) {
      detail::split_segments(session, tuning, put, all, c);
    } else {
      detail::split_by_block(session, tuning, put, all, c);
    }
  } else if constexpr (splits_by_threads<Composite>) {
    constexpr std::int64_t threads_of_multiprocessor = 2048;
    constexpr std::int64_t short_row = 512;
    using source = source_in_rows<All>;
    constexpr std::int64_t row_of_warp = is_of_small_elements<source, Composite> ? 2047
                                         : is_of_one_array<source, Composite>    ? 1023
                                                                                 : 4096;
    const std::int64_t threads = threads_of_multiprocessor * session.multiprocessors();
    if constexpr (Put::has_addresses) {
      if (all.results == 1) return detail::launch_each(session, tuning, put, all, c);
    }
    const bool is_long = all.count > row_of_warp || (all.count > short_row && all.results < threads / warp_size);
    if constexpr (All::reduces_fastest) {
      if (is_long && all.results <= most_rows_of_blocks) return detail::split_by_blocks(session, tuning, put, all, c);
      if constexpr (may_be_vectors<All>) {
        const bool are_whole = detail::are_whole_vectors(all);
        if (!is_long && detail::takes_vectors(all, are_whole)) {
          if (are_whole) return detail::split_by_vectors<true>(session, tuning, put, all, c, threads);
          return detail::split_by_vectors<false>(session, tuning, put, all, c, threads);
        }
      }
      constexpr bool is_of_small = sizeof(typename Composite::accumulator_type) <= sizeof(float);
      detail::split_by_lanes(session, tuning, put, all, c,
                             detail::log_lanes_of(all.results, all.count, threads, is_of_small));
    } else {
      if constexpr (are_across<All>) {
        if (detail::fill_lines(all))
          return detail::split_across(session, tuning, put, detail::by_lines(all), c, is_long, threads);
      }
      detail::split_across(session, tuning, put, all, c, is_long, threads);
    }
  } else {
    if constexpr (Put::has_addresses) {
      if (detail::takes_launch_each(all.results, all.count)) return detail::launch_each(session, tuning, put, all, c);
    }
    detail::split_by_block(session, tuning, put, all, c);
  }
}

/// Many results in the stream's order.
template <class Put, class All, class Composite>
void reduce_many_ordered(const cuda_handle& handle, const char* label, const Put& put, const All& all,
                         const Composite& c) {
  check_reducers<cuda_strategy::one_pass, typename Composite::one_type>();
  cuda_session session(handle, label, cuda_session::mode::ordered, "fanin::parallel_reduce_into");
  detail::split_many(session, handle.tuning, put, all, c);
}

/// By one thread, behind a call's launches: posts the mailbox's last word, before which `Words` are the call's own. It
/// does not start early, so that all that the call wrote has been written, and the fence has the host, who sees the
/// word, see that, too.
template <int Words>
__global__ void __launch_bounds__(32) tell_end_kernel(const cuda_mailbox mailbox) {
  if (threadIdx.x != 0) return;
  __threadfence_system();
  cuda_destination<std::uint32_t>{nullptr, mailbox}.post(std::uint32_t{0}, Words);
}

/// launch(mailbox) and who gets what that posts, of `Words` words, when all of it has ended. What may lack memory comes
/// before the first launch.
template <int Words, class Launch>
pending_handle launch_and_tell_end(cuda_session& session, const Launch& launch) {
  cuda_pending made = session.pending_mailbox(Words + 1);
  launch(made.mailbox);
  cuda_plan telling;
  telling.kernel = detail::kernel_pointer(&tell_end_kernel<Words>);
  telling.launch.grid_size = 1;
  telling.launch.block_size = warp_size;
  void* arguments[] = {argument(made.mailbox)};
  session.launch(telling.kernel, telling.launch, arguments, telling.options);
  return std::move(made.slot);
}

/// Many results in the stream's order, and a mailbox that says when they are there.
template <class Put, class All, class Composite>
pending<void> reduce_many_pending(const cuda_handle& handle, const char* label, const Put& put, const All& all,
                                  const Composite& c) {
  check_reducers<cuda_strategy::one_pass, typename Composite::one_type>();
  cuda_session session(handle, label, cuda_session::mode::blocking, "fanin::parallel_reduce_async");
  return pending<void>(detail::launch_and_tell_end<0>(
      session, [&](const cuda_mailbox&) { detail::split_many(session, handle.tuning, put, all, c); }));
}

}  // namespace fanin::detail
