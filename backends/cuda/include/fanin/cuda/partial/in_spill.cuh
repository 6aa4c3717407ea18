// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include <fanin/cuda/block/combine.cuh>
#include <fanin/cuda/partial/block_task.cuh>
#include <fanin/cuda/partial/spill.cuh>
#include <fanin/cuda/thread/gather.cuh>
#include <fanin/cuda/workspace.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>
#include <fanin/reducer.hpp>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// The block's accumulators, in its spill.
template <class Strategy, class Composite>
struct partial_in_spill : block_task<Strategy, Composite> {
  using task = block_task<Strategy, Composite>;
  using accumulator = typename Composite::accumulator_type;
  struct value_type {};
  using task::block, task::c, task::chunks, task::memory, task::shared;
  using typename task::memory_type;

  accumulator* spill = nullptr;

  template <class Workspace>
  __device__ partial_in_spill(const Composite& composite, const Workspace& work, memory_type& of_block, void* of_launch,
                              value_type&)
      : task(composite, work, of_block, of_launch) {}

  /// What the block's threads gather, combined.
  template <class Source>
  __device__ void gather(const Source& source) {
    const spill_of<Strategy, Composite> spills(block);
    spill = &spills.begin(c);
    auto state = c.begin(*spill, spills.of_thread());
    fanin::detail::gather<Strategy>(source, c, state, chunks, block, shared);
    detail::combine_states(*this, state, *spill);
    spills.join(c);
  }

  /// In the last block: the partial results of all blocks, of which the spill holds this one's. Ends with a barrier.
  __device__ void join_all(const accumulator* partials, const contributor& self) {
    join_all(partials, self, typename Composite::indices{});
  }

  /// In thread 0.
  __device__ const accumulator& total() const { return *spill; }
  __device__ typename Composite::result_type result() const { return c.result(*spill); }

 private:
  template <std::size_t... I>
  __device__ void join_all(const accumulator* partials, const contributor& self, std::index_sequence<I...>) {
    (join_all_of<I>(partials, self), ...);
    __syncthreads();
  }
  template <std::size_t K>
  __device__ void join_all_of(const accumulator* partials, const contributor& self) {
    const auto& reducer = get<K>(c.reducers);
    if constexpr (Composite::template has_spill<K>) {
      const auto of_another = [&](unsigned k) -> const auto& { return get<K>(partials[k < self.index ? k : k + 1]); };
      Composite::template gathering_at<K>::join_spills(reducer, get<K>(*spill), of_another, self.count - 1, threadIdx.x,
                                                       blockDim.x);
    } else {
      const unsigned threads = fanin::goes_through_slots(Strategy::recipe, task::largest) ? warp_size : blockDim.x;
      reducer_accumulator_t<typename Composite::template reducer_type<K>> value = reducer.identity();
      if (threadIdx.x < threads) {
        for (unsigned k = threadIdx.x; k < self.count; k += threads) {
          decltype(value) partial;
          detail::load_from_other_block(partial, &get<K>(partials[k]));
          reducer.join(value, partial);
        }
      }
      detail::combine_in_block<Strategy, task::largest>(reducer, value, memory, threads);
      if (threadIdx.x == 0) get<K>(*spill) = value;
    }
  }
};

}  // namespace fanin::detail
