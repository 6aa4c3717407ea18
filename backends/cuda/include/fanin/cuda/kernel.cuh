// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fanin/cuda/block/combine.cuh>
#include <fanin/cuda/grid/last_block.cuh>
#include <fanin/cuda/grid/watching_block.cuh>
#include <fanin/cuda/recipe.hpp>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/thread/grid_stride.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/vectorised.cuh>
#include <fanin/detail/composite.hpp>

namespace fanin::detail {

/// Where a kernel leaves its result: in device memory, or in a mailbox that the host watches.
template <class Result>
struct cuda_destination {
  Result* out = nullptr;
  cuda_mailbox mailbox = {};

  __device__ void deliver(const Result& result) const {
    if (mailbox.words == nullptr) {
      *out = result;
    } else {
      constexpr int words = mailbox_words(sizeof(Result));
      std::uint32_t word[words] = {};
      memcpy(word, &result, sizeof(Result));
      volatile std::uint64_t* const to = mailbox.words;
#pragma unroll(words <= 16 ? words : 1)
      for (int k = 0; k < words; ++k)
        to[k] = std::uint64_t{mailbox.sequence} << 32 | word[k];
    }
  }
};

template <class Strategy, class Source, class Composite>
__device__ void gather(const Source& source, const Composite& c, typename Composite::state_type& state) {
  constexpr cuda_recipe recipe = Strategy::recipe;
  if constexpr (recipe.thread == cuda_stage::thread::vectorised) {
    gather_vectorised<Source::has_vectors ? recipe.loads : recipe.elements>(source, c, state);
  } else {
    gather_grid_stride(source, c, state);
  }
}

/// Whether the blocks' partial results are handed over in tagged units: accumulators that go through slots are not.
template <class Strategy, class Composite>
inline constexpr bool is_watched =
    Strategy::recipe.grid == cuda_stage::grid::watching_block && !goes_through_slots(Composite::largest_accumulator);

/// A grid that was started before the end of the one before it in its stream waits for that here, before it touches
/// memory, and lets the next one start. Nothing where the code or the launch does not support it.
__device__ inline void wait_for_grid_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// thread -> block -> grid, as the strategy's recipe says.
template <class Strategy, class Source, class Composite>
__global__ void __launch_bounds__(1024)
    reduce_kernel(const Source source, const Composite c, const cuda_scratch grid_scratch,
                  const cuda_destination<typename Composite::result_type> destination) {
  using accumulator = typename Composite::accumulator_type;
  constexpr cuda_recipe recipe = Strategy::recipe;
  constexpr std::size_t largest = Composite::largest_accumulator;
  extern __shared__ __align__(16) unsigned char shared[];

  [[maybe_unused]] std::uint32_t number = 0;
  if constexpr (recipe.grid == cuda_stage::grid::watching_block) wait_for_grid_before();
  if constexpr (is_watched<Strategy, Composite>) {
    if (gridDim.x > 1 && (threadIdx.x == 0 || is_watching_block())) number = launch_number(grid_scratch);
  }

  accumulator value = c.identity();
  if constexpr (Composite::has_any_state) {
    __shared__ alignas(16) unsigned char storage[sizeof(accumulator)];
    accumulator& scratch = *reinterpret_cast<accumulator*>(storage);
    if (threadIdx.x == 0) scratch = value;
    __syncthreads();
    auto state = c.begin(scratch);
    gather<Strategy>(source, c, state);
    combine_states<recipe.block>(c, state, scratch, shared, typename Composite::indices{});
    if (threadIdx.x == 0) value = scratch;
  } else {
    auto state = c.begin(value);
    gather<Strategy>(source, c, state);
    c.finish(state, value);
    combine_in_block<recipe.block, largest>(c, value, shared, blockDim.x);
  }

  if constexpr (recipe.grid == cuda_stage::grid::host_finish) {
    if (threadIdx.x == 0) static_cast<accumulator*>(grid_scratch.partials)[blockIdx.x] = value;
  } else {
    if (gridDim.x > 1) {
      if constexpr (is_watched<Strategy, Composite>) {
        if (!is_watching_block()) {
          if (threadIdx.x == 0) publish_partial(value, grid_scratch, number);
          return;
        }
        gather_watched(c, value, grid_scratch, number);
        combine_in_block<recipe.block, largest>(c, value, shared, blockDim.x);
        close_launch(grid_scratch, number);
      } else {
        auto* const partials = static_cast<accumulator*>(grid_scratch.partials);
        if (!is_last_block(value, partials, grid_scratch.counter)) return;
        const unsigned threads = goes_through_slots(largest) ? 32 : blockDim.x;
        value = gather_partials(c, partials, threads);
        combine_in_block<recipe.block, largest>(c, value, shared, threads);
      }
    }
    if (threadIdx.x == 0) destination.deliver(c.result(value));
  }
}

template <class F>
__global__ void __launch_bounds__(256) for_kernel(const F f, std::int64_t first, std::int64_t count) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    f(first + i);
  }
}

}  // namespace fanin::detail
