// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/workspace.cuh>

namespace fanin::detail {

/// Partial results are copied to the host and folded there, in their order. No _into forms.
template <class Strategy, class Composite>
struct host_finish {
  using accumulator = typename Composite::accumulator_type;
  using result_type = typename Composite::result_type;
  using workspace = cuda_workspace<workspace_memory>;
  static constexpr bool starts_early = false;

  // --- On the device
  const workspace& work;

  __device__ host_finish(const workspace& of_launch, const cuda_destination<result_type>&,
                         const block_memory<Strategy, Composite>&)
      : work{of_launch} {}

  template <class Partial, class Source>
  __device__ void finish(const Partial& partial, const Source&) const {
    if constexpr (partial_kind_of<Strategy, Composite> != partial_kind::of_threads) {
      if (threadIdx.x == 0) detail::partials_in<accumulator>(work.memory)[blockIdx.x] = partial.total();
    }
  }

  // --- On the host
  template <class Source>
  static result_type reduce(cuda_session& session, const cuda_tuning& tuning, const Source& source,
                            const Composite& c) {
    const auto partials_of = [](int grid, int block) {
      constexpr bool one_a_thread = partial_kind_of<Strategy, Composite> == partial_kind::of_threads;
      return static_cast<std::size_t>(grid) * static_cast<std::size_t>(one_a_thread ? block : 1);
    };
    const void* const kernel = detail::kernel_pointer(&reduce_kernel<Strategy, Source, Composite>);
    const cuda_plan& plan = detail::make_plan<Strategy, Composite>(session, tuning, kernel, source, starts_early);
    workspace_of<Strategy, Composite> work;
    detail::allocate_plain<Strategy, accumulator>(session, plan, work,
                                                  partials_of(plan.largest_grid, plan.launch.block_size));
    detail::launch_reduce<Strategy>(session, plan, source, c, work, {});
    session.record(plan.launch);

    const std::size_t count = partials_of(plan.launch.grid_size, plan.launch.block_size);
    const auto* const fetched =
        static_cast<const unsigned char*>(session.fetch(work.memory.partials, count * sizeof(accumulator)));
    accumulator total = c.identity();
    for (std::size_t k = 0; k < count; ++k) {
      accumulator partial;
      std::memcpy(static_cast<void*>(&partial), fetched + k * sizeof(accumulator), sizeof(accumulator));
      c.join(total, partial);
    }
    return c.result(total);
  }
};

}  // namespace fanin::detail
