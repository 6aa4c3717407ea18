// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/cuda/block/combine.cuh>
#include <fanin/cuda/block/interleaved.cuh>
#include <fanin/cuda/block/neighbored.cuh>
#include <fanin/cuda/grid/cluster.cuh>
#include <fanin/cuda/partial/block_task.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/partial/spill.cuh>
#include <fanin/cuda/thread/fold_n.cuh>
#include <fanin/cuda/thread/gather.cuh>
#include <fanin/macros.hpp>

namespace fanin::detail {

/// In a function that stands once: a reducer's identity() gives by value, whatever its size.
template <class Composite>
FANIN_DETAIL_NOINLINE __device__ void set_large_identity(const Composite& c,
                                                         typename Composite::accumulator_type& value) {
  value = c.identity();
}

/// value = c.identity().
template <class Composite>
__device__ void set_identity(const Composite& c, typename Composite::accumulator_type& value) {
  if constexpr (is_passed_by_value<Composite>) {
    value = c.identity();
  } else {
    detail::set_large_identity(c, value);
  }
}

/// Gathers two elements a thread and does the first step of the block's tree with them: see gathers_pairs.
template <class Strategy, class Source, class Composite>
__device__ void combine_gathered_pairs(const Source& source, const Composite& c,
                                       typename Composite::accumulator_type& value,
                                       typename Composite::accumulator_type* memory) {
  const std::int64_t first = first_of_block(1);
  const std::int64_t rest = source.count - first;
  const unsigned left = rest < blockDim.x ? static_cast<unsigned>(rest) : blockDim.x;
  const auto take_pair = [&](unsigned distance) {
    auto state = c.begin(value);
    if (threadIdx.x < left) source.accumulate(c, state, first + threadIdx.x);
    if (threadIdx.x + distance < left) source.accumulate(c, state, first + threadIdx.x + distance);
    c.finish(state, value);
    memory[threadIdx.x] = value;
  };
  if constexpr (Strategy::recipe.block == cuda_stage::block::interleaved) {
    const unsigned half = left - left / 2;
    if (threadIdx.x < half || threadIdx.x == 0) take_pair(half);
    __syncthreads();
    detail::combine_interleaved(c, memory, half);
  } else {
    if (threadIdx.x % 2 == 0) take_pair(1);
    __syncthreads();
    detail::combine_neighbored_divergent(c, memory, left, 2);
  }
  if (threadIdx.x == 0) value = memory[0];
}

/// The block's accumulator; valid in thread 0.
template <class Strategy, class Composite>
struct partial_in_registers : block_task<Strategy, Composite> {
  using task = block_task<Strategy, Composite>;
  using accumulator = typename Composite::accumulator_type;
  using value_type = accumulator;
  using task::block, task::c, task::chunks, task::memory, task::shared;
  using typename task::memory_type;

  accumulator& value;

  template <class Workspace>
  __device__ partial_in_registers(const Composite& composite, const Workspace& work, memory_type& of_block,
                                  void* of_launch, accumulator& of_kernel)
      : task(composite, work, of_block, of_launch), value{of_kernel} {}

  /// What the block's threads gather, combined.
  template <class Source>
  __device__ void gather(const Source& source) {
    if constexpr (Composite::has_any_spill) {
      const spill_of<Strategy, Composite> spills(block);
      accumulator& spill = spills.begin(c);
      auto state = c.begin(spill, spills.of_thread());
      fanin::detail::gather<Strategy>(source, c, state, chunks, block, shared);
      detail::combine_states(*this, state, spill);
      spills.join(c);
      if (threadIdx.x == 0) value = spill;
    } else if constexpr (gathers_pairs<Strategy, Composite>) {
      detail::set_identity(c, value);
      detail::combine_gathered_pairs<Strategy>(source, c, value, static_cast<accumulator*>(memory));
    } else {
      detail::set_identity(c, value);
      if constexpr (is_passed_by_value<Composite>) {
        auto state = c.begin(value);
        fanin::detail::gather<Strategy>(source, c, state, chunks, block, shared);
        c.finish(state, value);
      } else {
        fanin::detail::gather<Strategy>(source, c, value, chunks, block, shared);
      }
      if constexpr (is_alone<Strategy> && Strategy::recipe.block == cuda_stage::block::warp_shuffle &&
                    !fanin::goes_through_slots(Strategy::recipe, task::largest)) {
        detail::combine_by_warp_shuffle<true>(c, value,
                                              static_cast<accumulator*>(memory));  // the memory is nobody's after that
      } else {
        detail::combine_in_block<Strategy, task::largest>(c, value, memory, blockDim.x);
      }
    }
  }

  /// True in the first block of the cluster, whose value is then that of all.
  __device__ bool combine_in_cluster() {
    return fanin::detail::combine_in_cluster(c, value, static_cast<accumulator*>(block.of_cluster.address()));
  }

  /// In thread 0.
  __device__ const accumulator& total() const { return value; }
  __device__ typename Composite::result_type result() const { return c.result(value); }
};

}  // namespace fanin::detail
