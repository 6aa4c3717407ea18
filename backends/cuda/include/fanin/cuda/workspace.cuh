// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <fanin/cuda/destination.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/device/memory.cuh>

/// What the launches of one reduction share.
namespace fanin::detail {

/// What hands over one partial result: a block, or the first block of a cluster.
struct contributor {
  unsigned index;
  unsigned count;
  __device__ bool finishes() const { return index == count - 1; }
};

/// Where the blocks of a launch leave tagged units. Nothing else is ever written there: a later launch takes every 16
/// bytes for a unit, and values left there may pass for one of its own. Hence a type of its own, which no stage can
/// take for memory of values; launches of all kinds may share it, as the tag is a unit's last word in each.
struct watched_memory {
  tagged_unit* units = nullptr;
  std::size_t bytes = 0;
  unsigned* launches = nullptr;  ///< how many were closed
};

/// Device memory of a reduction. `Memory` is watched_memory where partial results are handed over in tagged units,
/// and then has room for nothing else.
template <class Memory>
struct cuda_workspace {
  Memory memory = {};
  void* values = nullptr;  ///< one accumulator a thread, for block stages in global memory; or left_spills
  int chunks = 1;          ///< n of fold_n
};

template <class Accumulator>
__device__ Accumulator* partials_in(const workspace_memory& memory) {
  return static_cast<Accumulator*>(memory.partials);
}

/// The workspace of the strategy's grid stage.
template <class Strategy, class Composite>
struct workspace_of;

/// In kernel.cuh.
template <class Strategy, class Source, class Composite>
__global__ void __launch_bounds__(1024)
    reduce_kernel(const Source source, const Composite c, const workspace_of<Strategy, Composite> work,
                  const cuda_destination<typename Composite::result_type> destination);

}  // namespace fanin::detail
