// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/cuda/block/memory.cuh>
#include <fanin/cuda/thread/gather.cuh>
#include <fanin/cuda/workspace.cuh>

namespace fanin::detail {

/// Nobody combines: each thread leaves what it gathered in the workspace.
template <class Strategy, class Composite>
struct partials_of_threads {
  using workspace = cuda_workspace<workspace_memory>;
  struct value_type {};
  using memory_type = block_memory<Strategy, Composite>;
  const Composite& c;
  const workspace& work;
  memory_type& block;
  void* shared;

  __device__ partials_of_threads(const Composite& composite, const workspace& of_launch, memory_type& of_block,
                                 void* of_shared, value_type&)
      : c{composite}, work{of_launch}, block{of_block}, shared{of_shared} {}

  template <class Source>
  __device__ void gather(const Source& source) {
    auto& partial = detail::partials_in<typename Composite::accumulator_type>(
        work.memory)[static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x];
    partial = c.identity();
    auto state = c.begin(partial);
    fanin::detail::gather<Strategy>(source, c, state, work.chunks, block, shared);
    c.finish(state, partial);
  }
};

}  // namespace fanin::detail
