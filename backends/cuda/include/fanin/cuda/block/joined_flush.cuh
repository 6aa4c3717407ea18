// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/device/warp.cuh>
#include <fanin/reducer.hpp>

namespace fanin::detail {

/// To a scale; what cannot be brought there goes to scratch.
template <class R>
__device__ void rescale_or_deposit(const R& reducer, typename R::flush_type& held, int scale,
                                   reducer_accumulator_t<R>& scratch) {
  if (reducer.rescale(held, scale)) return;
  reducer.deposit(held, scratch);
  reducer.rescale(held, scale);
}

/// Lane 0 gets what the warp's 32 lanes hold: brought to one scale, and joined at once or as a tree of shuffles.
template <class R>
__device__ void join_flushes_in_warp(const R& reducer, typename R::flush_type& held,
                                     reducer_accumulator_t<R>& scratch) {
  __syncwarp();
  rescale_or_deposit(reducer, held, least_in_warp(reducer.scale(held)), scratch);
  __syncwarp();
  const auto sum = [](std::uint32_t value) { return sum_in_warp(value); };
  if constexpr (requires { reducer.join_lanes(held, sum); }) {
    reducer.join_lanes(held, sum);
  } else {
#pragma unroll
    for (unsigned delta = 16; delta > 0; delta /= 2) reducer.join(held, shuffle_down(held, delta));
  }
}

/// Joins what a block's threads hold, as combine_by_warp_shuffle: thread 0 gets it, but for what went to scratch. Two
/// barriers; 32 flush_types at of_warps; blocks of whole warps up to 1024 threads. Ends with a barrier.
template <class R>
__device__ void join_flushes_in_block(const R& reducer, typename R::flush_type& held, reducer_accumulator_t<R>& scratch,
                                      void* of_warps) {
  using held_type = typename R::flush_type;
  held_type* const of_warp = static_cast<held_type*>(of_warps);
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned warps = blockDim.x / 32;

  join_flushes_in_warp(reducer, held, scratch);
  if (warps > 1) {
    if (lane == 0) of_warp[warp] = held;
    __syncthreads();
    if (warp == 0) {
      held = held_type{};
      if (lane < warps) held = of_warp[lane];
      join_flushes_in_warp(reducer, held, scratch);
    }
  }
  __syncthreads();
}

/// Empties the states of a block's threads into `scratch`, so that mostly one thread touches it, whose atomics nobody
/// waits for. Ends with a barrier.
template <class R>
__device__ void flush_joined(const R& reducer, reducer_state_t<R>& state, reducer_accumulator_t<R>& scratch,
                             void* of_warps) {
  typename R::flush_type held = reducer.drain(state);
  join_flushes_in_block(reducer, held, scratch, of_warps);
  if (threadIdx.x == 0) reducer.deposit(held, scratch);
  __syncthreads();
}

}  // namespace fanin::detail
