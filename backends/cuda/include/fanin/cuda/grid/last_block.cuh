// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <fanin/cuda/block/combine.cuh>
#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/partial/in_registers.cuh>
#include <fanin/cuda/partial/in_spill.cuh>
#include <fanin/cuda/recipe.hpp>
#include <fanin/cuda/workspace.cuh>
#include <fanin/device/grid_order.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>

namespace fanin::detail {

/// Publishes this block's partial result (thread 0's) and draws a ticket. True in every thread of the one block that
/// drew the last, which is_last, in memory of the block, says: all partial results are then there. The ticket wraps to
/// 0 for the next launch. One barrier.
template <class T>
__device__ bool is_last_block(const T& value, const contributor& self, T* partials, unsigned* ticket,
                              unsigned& is_last) {
  if (threadIdx.x == 0) {
    partials[self.index] = value;
    draw_ticket(ticket, self.count, is_last);
  }
  __syncthreads();
  return is_last != 0;
}

/// The same for a partial result in memory of the block, which all threads write out. Two barriers more.
template <class T>
__device__ bool is_last_block_with(const T& shared, const contributor& self, T* partials, unsigned* ticket,
                                   unsigned& is_last) {
  detail::copy_by_threads(partials + self.index, shared, threadIdx.x, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    draw_ticket(ticket, self.count, is_last);
  }
  __syncthreads();
  return is_last != 0;
}

/// What `threads` threads gather of all blocks' partial results, in an order that depends on the grid alone.
template <class Composite>
__device__ void gather_partials(const Composite& c, typename Composite::accumulator_type& value,
                                const typename Composite::accumulator_type* partials, unsigned count,
                                unsigned threads) {
  detail::set_identity(c, value);
  if (threadIdx.x < threads) {
    for (unsigned k = threadIdx.x; k < count; k += threads) {
      typename Composite::accumulator_type partial;
      detail::load_from_other_block(partial, partials + k);
      c.join(value, partial);
    }
  }
}

/// The block that draws the last ticket joins all partial results, in the same launch. Also instead of the watching
/// block, for accumulators that do not fit tagged units; such a grid starts as early as that.
template <class Strategy, class Composite>
struct last_block : delivering_stage<last_block<Strategy, Composite>, Composite> {
  using accumulator = typename Composite::accumulator_type;
  using result_type = typename Composite::result_type;
  using workspace = cuda_workspace<workspace_memory>;
  static constexpr bool starts_early = Strategy::recipe.grid == cuda_stage::grid::watching_block;

  // --- On the device
  const workspace& work;
  const cuda_destination<result_type>& destination;
  contributor self;

  __device__ last_block(const workspace& of_launch, const cuda_destination<result_type>& to,
                        const block_memory<Strategy, Composite>&)
      : work{of_launch},
        destination{to},
        self{blockIdx.x / Strategy::recipe.cluster_size, gridDim.x / Strategy::recipe.cluster_size} {
    if constexpr (starts_early) wait_for_grid_before();
  }

  template <class Source>
  __device__ void finish(partial_in_registers<Strategy, Composite>& partial, const Source&) const {
    if (self.count > 1) {
      auto* const partials = detail::partials_in<accumulator>(work.memory);
      if (!detail::is_last_block(partial.value, self, partials, work.memory.counter, partial.block.of_grid_stage))
        return;
      const unsigned threads = fanin::goes_through_slots(Strategy::recipe, partial.largest) ? warp_size : blockDim.x;
      detail::gather_partials(partial.c, partial.value, partials, self.count, threads);
      detail::combine_in_block<Strategy, largest_travelling<Strategy, Composite>>(partial.c, partial.value,
                                                                                  partial.memory, threads);
    }
    if (threadIdx.x == 0) destination.deliver(partial.result());
  }

  template <class Source>
  __device__ void finish(partial_in_spill<Strategy, Composite>& partial, const Source&) const {
    if (self.count > 1) {
      auto* const partials = detail::partials_in<accumulator>(work.memory);
      if (!detail::is_last_block_with(*partial.spill, self, partials, work.memory.counter, partial.block.of_grid_stage))
        return;
      partial.join_all(partials, self);
    }
    if (threadIdx.x == 0) destination.deliver(partial.result());
  }

  // --- On the host
  template <class Source>
  static void enqueue(cuda_session& session, const cuda_tuning& tuning, const Source& source, const Composite& c,
                      const cuda_destination<result_type>& destination) {
    const void* const kernel = detail::kernel_pointer(&reduce_kernel<Strategy, Source, Composite>);
    const cuda_plan& plan = detail::make_plan<Strategy, Composite>(session, tuning, kernel, source, starts_early);
    workspace_of<Strategy, Composite> work;
    detail::allocate_plain<Strategy, accumulator>(session, plan, work, static_cast<std::size_t>(plan.largest_grid));
    detail::launch_reduce<Strategy>(session, plan, source, c, work, destination);
    session.record(plan.launch);
  }
};

}  // namespace fanin::detail
