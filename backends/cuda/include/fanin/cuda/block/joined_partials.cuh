// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/device/warp.cuh>
#include <fanin/gathering.hpp>
#include <fanin/reducer.hpp>

namespace fanin::detail {

/// To a scale; what cannot be brought there goes to the spill.
template <class R>
__device__ void rescale_or_deposit(const R& reducer, typename gathering_t<R>::partial_type& partial, int scale,
                                   reducer_accumulator_t<R>& spill) {
  using how = gathering_t<R>;
  if (how::rescale(reducer, partial, scale)) return;
  how::deposit(reducer, partial, spill);
  how::rescale(reducer, partial, scale);
}

/// What a gathering's join_in_warp joins with.
struct lanes_of_warp {
  __device__ std::uint32_t sum(std::uint32_t word) const { return sum_in_warp(word); }
  template <class Partial, class Join>
  __device__ void join(Partial& partial, const Join& by) const {
#pragma unroll
    for (unsigned delta = 16; delta > 0; delta /= 2) by(partial, detail::shuffle_down(partial, delta));
  }
};

/// Lane 0 gets what the warp's 32 lanes hold, brought to one scale.
template <class R>
__device__ void join_partials_in_warp(const R& reducer, typename gathering_t<R>::partial_type& partial,
                                      reducer_accumulator_t<R>& spill) {
  using how = gathering_t<R>;
  __syncwarp();
  detail::rescale_or_deposit(reducer, partial, detail::least_in_warp(how::scale(reducer, partial)), spill);
  __syncwarp();
  how::join_in_warp(reducer, partial, lanes_of_warp{});
}

/// Joins what a block's threads hold, as combine_by_warp_shuffle: thread 0 gets it, but for what went to the spill. Two
/// barriers; 32 partials at of_warps; blocks of whole warps up to 1024 threads, of which the first `warps` hold
/// anything. Ends with a barrier.
template <class R>
__device__ void join_partials_in_block(const R& reducer, typename gathering_t<R>::partial_type& partial,
                                       reducer_accumulator_t<R>& spill, void* of_warps, unsigned warps) {
  using partial_type = typename gathering_t<R>::partial_type;
  partial_type* const of_warp = static_cast<partial_type*>(of_warps);
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;

#pragma unroll 1
  for (unsigned holding = warps;; holding = 1) {
    if (warp < holding) detail::join_partials_in_warp(reducer, partial, spill);
    if (holding == 1) break;
    if (lane == 0 && warp < holding) of_warp[warp] = partial;
    __syncthreads();
    if (warp == 0) {
      partial = partial_type{};
      if (lane < holding) partial = of_warp[lane];
    }
  }
  __syncthreads();
}

/// Empties the states of a block's threads into its spill, so that mostly one thread touches it, whose atomics nobody
/// waits for. Ends with a barrier.
template <class R>
__device__ void finish_joined(const R& reducer, reducer_state_t<R>& state, reducer_accumulator_t<R>& spill,
                              void* of_warps) {
  using how = gathering_t<R>;
  typename how::partial_type partial = how::drain(reducer, state);
  detail::join_partials_in_block(reducer, partial, spill, of_warps, blockDim.x / 32);
  if (threadIdx.x == 0) how::deposit(reducer, partial, spill);
  __syncthreads();
}

}  // namespace fanin::detail
