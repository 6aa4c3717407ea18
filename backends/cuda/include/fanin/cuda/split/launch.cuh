// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/kernel.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/plan.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/split/kernels.cuh>
#include <fanin/device/kernel_pointer.cuh>

/// What a call with many results does on CUDA: which split it takes, and its launches.
namespace fanin::detail {

/// Whether what threads hold of a row can be handed on in registers.
template <class Composite>
inline constexpr bool splits_by_threads =
    !Composite::has_any_spill && is_passed_by_value<Composite> && sizeof(typename Composite::accumulator_type) <= 128;

/// Rows are worth launches of their own, each of the whole device, where there are few and they are long; and longer
/// ones than a block takes. By the figures of flat sums on an H200 (a launch in a row of them 2.5 us, a block about 40
/// GB/s); not measured.
inline bool takes_launch_each(std::int64_t results, std::int64_t count) {
  constexpr std::int64_t most_of_block = std::int64_t{1} << 24;
  constexpr std::int64_t elements_worth_a_launch = 16'384;
  return count > most_of_block || (results < count / elements_worth_a_launch);
}

/// The most blocks that work at once, of up to `blocks`.
template <class Composite, class... Key>
int blocks_at_once(const cuda_session& session, const cuda_plan& plan, std::int64_t blocks) {
  const cuda_kernel_facts facts = facts_of<Key..., Composite>(session, plan);
  check_fits<cuda_strategy::one_pass, Composite>(facts, plan.launch);
  return static_cast<int>(
      std::min<std::int64_t>(blocks, std::int64_t{facts.resident_blocks} * session.multiprocessors()));
}

struct by_lanes;
struct by_block;
struct by_columns;
struct by_joined_columns;

inline constexpr int threads_of_split = 256;

template <class Put, class All, class Composite>
void split_by_lanes(cuda_session& session, const Put& put, const All& all, const Composite& c) {
  cuda_plan plan;
  plan.kernel = kernel_pointer(&rows_by_lanes_kernel<All, Composite, Put>);
  plan.launch.strategy = "rows by lanes";
  plan.launch.block_size = threads_of_split;
  const auto log_lanes = static_cast<unsigned>(
      std::bit_width(std::clamp<std::uint64_t>(static_cast<std::uint64_t>(all.count), 1, warp_size)) - 1);
  const std::int64_t groups = threads_of_split >> log_lanes;
  plan.launch.grid_size = blocks_at_once<Composite, by_lanes, All, Put>(session, plan, (all.results - 1) / groups + 1);
  void* arguments[] = {argument(all), argument(c), argument(put), argument(log_lanes)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  session.record(plan.launch);
}

template <class Put, class All, class Composite>
void split_by_block(cuda_session& session, const Put& put, const All& all, const Composite& c) {
  using strategy = alone<cuda_strategy::one_pass>;
  using one = typename Composite::one_type;
  constexpr int most_threads = 512;
  cuda_plan plan;
  plan.kernel = kernel_pointer(&rows_by_block_kernel<strategy, All, Composite, Put>);
  plan_block<strategy, one>(plan.launch, {}, 1, session.multiprocessors());
  plan.launch.strategy = "rows by block";
  if (!goes_through_slots(strategy::recipe, largest_travelling<strategy, one>)) {
    const auto threads = std::bit_ceil(static_cast<std::uint64_t>(all.count / 4 + 1));
    plan.launch.block_size = static_cast<int>(std::clamp<std::uint64_t>(threads, 64, most_threads));
  }
  plan.launch.shared_bytes = shared_bytes_of_stages<strategy, one>(plan.launch.block_size);
  plan_spills<strategy, one>(plan);
  plan.launch.grid_size = blocks_at_once<one, by_block, All, Put>(session, plan, all.results);
  void* arguments[] = {argument(all), argument(c), argument(put)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  session.record(plan.launch);
}

template <class Put, class All, class Composite>
void split_by_columns(cuda_session& session, const Put& put, const All& all, const Composite& c) {
  using accumulator = typename Composite::accumulator_type;
  constexpr std::int64_t most_width = 32;
  constexpr std::int64_t elements_of_thread = 8;  // at the least, before a row has several pieces
  cuda_plan plan;
  plan.kernel = kernel_pointer(&columns_kernel<All, Composite, Put>);
  plan.launch.strategy = "columns";
  plan.launch.block_size = threads_of_split;
  plan.launch.shared_bytes = threads_of_split * sizeof(accumulator);

  columns_share share;
  share.log_width =
      static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(std::min(all.results, most_width) - 1)));
  const std::int64_t tiles = ((all.results - 1) >> share.log_width) + 1;
  const std::int64_t beside = threads_of_split >> share.log_width;
  const std::int64_t most_pieces = std::max<std::int64_t>(all.count / (beside * elements_of_thread), 1);
  const std::int64_t at_once = blocks_at_once<Composite, by_columns, All, Put>(session, plan, INT32_MAX);
  const std::int64_t pieces = std::min(most_pieces, std::max<std::int64_t>(at_once / tiles, 1));
  share.elements_of_piece = (all.count - 1) / pieces + 1;
  if (all.count == 0) share.elements_of_piece = 1;
  share.pieces = all.count == 0 ? 1 : static_cast<int>((all.count - 1) / share.elements_of_piece + 1);
  plan.launch.grid_size = static_cast<int>(std::min(at_once, tiles * share.pieces));

  accumulator* partials = nullptr;
  if (share.pieces > 1) {
    const std::size_t bytes = static_cast<std::size_t>(all.results * share.pieces) * sizeof(accumulator);
    partials = static_cast<accumulator*>(session.workspace(cuda_session::partials::plain, bytes).partials);
  }
  void* arguments[] = {argument(all), argument(c), argument(put), argument(share), argument(partials)};
  session.launch(plan.kernel, plan.launch, arguments, plan.options);
  if (share.pieces > 1) {
    cuda_plan joining = plan;
    joining.kernel = kernel_pointer(&join_columns_kernel<All, Composite, Put>);
    joining.launch.grid_size = blocks_at_once<Composite, by_joined_columns, All, Put>(session, joining, tiles);
    session.launch(joining.kernel, joining.launch, arguments, joining.options);
    plan.launch.launches = 2;
  }
  session.record(plan.launch);
}

template <class Put, class All, class Composite>
void launch_each(cuda_session& session, const cuda_tuning& tuning, const Put& put, const All& all, const Composite& c) {
  using stage = grid_stage_of<cuda_strategy::one_pass, typename Composite::one_type>;
  for (std::int64_t row = 0; row < all.results; ++row) {
    const md_index<All::axes::left_rank> place = all.place(row);
    const index_source<axes_row<All>> source{{all, place}, all.first(), all.count};
    stage::enqueue(session, tuning, source, c.at(place), {put.address(row), {}});
  }
}

/// Many results in the stream's order.
template <class Put, class All, class Composite>
void reduce_many_ordered(const cuda_handle& handle, const char* label, const Put& put, const All& all,
                         const Composite& c) {
  check_reducers<cuda_strategy::one_pass, typename Composite::one_type>();
  cuda_session session(handle, label, cuda_session::mode::ordered, "fanin::parallel_reduce_into");
  if constexpr (splits_by_threads<Composite> && !All::reduces_fastest) {
    split_by_columns(session, put, all, c);
  } else {
    if constexpr (splits_by_threads<Composite>) {
      constexpr std::int64_t short_row = 512;
      if (all.count <= short_row) {
        split_by_lanes(session, put, all, c);
        return;
      }
    }
    if (takes_launch_each(all.results, all.count)) {
      launch_each(session, handle.tuning, put, all, c);
    } else {
      split_by_block(session, put, all, c);
    }
  }
}

}  // namespace fanin::detail
