// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/plan.cuh>
#include <fanin/cuda/session.hpp>

namespace fanin::detail {

/// Completes a plan of which the kernel and its block are known: how many blocks work at once (largest_grid), and that
/// it may start early, since every kernel of a split waits for the grid before it. `Key` is facts_of's.
template <class Composite, class... Key>
cuda_plan complete_plan(const cuda_session& session, const cuda_tuning& tuning, cuda_plan plan) {
  const cuda_kernel_facts facts = detail::facts_of<Key..., Composite>(session, plan);
  detail::check_fits<cuda_strategy::one_pass, Composite>(facts, plan.launch);
  plan.options.can_start_early = facts.starts_early;
  plan.options.early_start = tuning.early_start;
  plan.largest_grid = facts.resident_blocks * session.multiprocessors();
  return plan;
}

/// As many blocks, up to those that work at once.
inline int blocks_at_once(const cuda_plan& plan, std::int64_t blocks) {
  return static_cast<int>(std::min<std::int64_t>(blocks, plan.largest_grid));
}

/// Blocks of a grid that starts early go where those of the grid before leave room, and not evenly. So one that does
/// not fill the device, and whose threads have much to do, starts behind it (2^26 doubles along a
/// middle axis by 512 blocks, of 660 that fit: 122 us instead of 141 on an H200).
inline void start_evenly(cuda_plan& plan, std::int64_t elements_of_thread, std::int64_t much = 64) {
  if (plan.launch.grid_size < plan.largest_grid && elements_of_thread > much) plan.options.can_start_early = false;
}

}  // namespace fanin::detail
