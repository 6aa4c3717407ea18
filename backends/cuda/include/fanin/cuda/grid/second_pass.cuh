// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/workspace.cuh>
#include <fanin/macros.hpp>

namespace fanin::detail {

/// Partial results of an earlier launch; reduced with a merging composite.
template <class Accumulator>
struct partials_source {
  static constexpr bool has_vectors = false;
  static constexpr std::size_t words = 1;
  static constexpr std::size_t value_size = 0;
  const Accumulator* data;
  std::int64_t count;

  template <class Merging>
  __device__ void accumulate(const Merging& c, Accumulator& state, std::int64_t i) const {
    c.join(state, data[i]);
  }
};

/// A composite as later passes see it: elements are accumulators, and are joined.
template <class Composite>
struct merging : Composite {
  using state_type = typename Composite::accumulator_type;
  static constexpr bool has_any_spill = false;

  FANIN_FUNCTION state_type begin(const state_type&) const { return this->identity(); }
  FANIN_FUNCTION void finish(const state_type& state, state_type& value) const { value = state; }
};

/// The same strategy is launched again on the partial results, until one block is enough and delivers.
template <class Strategy, class Composite>
struct second_pass : delivering_stage<second_pass<Strategy, Composite>, Composite> {
  using accumulator = typename Composite::accumulator_type;
  using result_type = typename Composite::result_type;
  using workspace = cuda_workspace<workspace_memory>;
  static constexpr bool starts_early = false;

  // --- On the device
  const workspace& work;
  const cuda_destination<result_type>& destination;

  __device__ second_pass(const workspace& of_launch, const cuda_destination<result_type>& to,
                         const block_memory<Strategy, Composite>&)
      : work{of_launch}, destination{to} {}

  template <class Partial, class Source>
  __device__ void finish(const Partial& partial, const Source&) const {
    if (threadIdx.x != 0) return;
    if (gridDim.x == 1) {
      destination.deliver(partial.result());
    } else {
      detail::partials_in<accumulator>(work.memory)[blockIdx.x] = partial.total();
    }
  }

  // --- On the host
  template <class Source>
  static void enqueue(cuda_session& session, const cuda_tuning& tuning, const Source& source, const Composite& c,
                      const cuda_destination<result_type>& destination) {
    using partials = partials_source<accumulator>;
    const void* const kernel = detail::kernel_pointer(&reduce_kernel<Strategy, Source, Composite>);
    cuda_plan plan = detail::make_plan<Strategy, Composite>(session, tuning, kernel, source, starts_early);
    const std::int64_t elements_of_block = static_cast<std::int64_t>(plan.launch.block_size) * plan.chunks;
    const auto blocks_for = [&](std::int64_t count) { return (count - 1) / elements_of_block + 1; };
    const auto bytes_of = [](std::int64_t count) {
      return round_up(static_cast<std::size_t>(count) * sizeof(accumulator));
    };
    // Two rooms, one of which is read while the other is written.
    const std::size_t first_bytes = bytes_of(plan.largest_grid);
    const std::size_t second_bytes = bytes_of(blocks_for(plan.largest_grid));

    workspace_of<Strategy, Composite> work;
    work.memory = session.workspace(cuda_session::partials::plain,
                                    first_bytes + second_bytes + detail::bytes_of_threads<Strategy, accumulator>(plan));
    auto* const first = static_cast<unsigned char*>(work.memory.partials);
    work.values = first + first_bytes + second_bytes;
    work.chunks = plan.chunks;
    const merging<Composite> merge{c};
    cuda_plan pass = plan;
    pass.kernel = detail::kernel_pointer(&reduce_kernel<Strategy, partials, merging<Composite>>);
    pass.launch.shared_bytes = detail::shared_bytes_of_stages<Strategy, merging<Composite>>(pass.launch.block_size);
    pass.spills = {};
    detail::check_fits<Strategy, Composite>(detail::facts_of<Strategy, partials, merging<Composite>>(session, pass),
                                            pass.launch);
    detail::launch_reduce<Strategy>(session, plan, source, c, work, destination);

    workspace_of<Strategy, merging<Composite>> of_pass;
    static_cast<workspace&>(of_pass) = work;
    partials from{reinterpret_cast<const accumulator*>(first), plan.launch.grid_size};
    for (bool into_second = true; from.count > 1; into_second = !into_second) {
      of_pass.memory.partials = into_second ? first + first_bytes : first;
      pass.launch.grid_size = static_cast<int>(blocks_for(from.count));
      detail::launch_reduce<Strategy>(session, pass, from, merge, of_pass, destination);
      ++plan.launch.launches;
      from = {static_cast<const accumulator*>(of_pass.memory.partials), pass.launch.grid_size};
      if (pass.launch.grid_size == 1) break;
    }
    session.record(plan.launch);
  }
};

}  // namespace fanin::detail
