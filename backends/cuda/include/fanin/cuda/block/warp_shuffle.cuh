// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <fanin/cuda/reducer/warp_instructions.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/device/warp.cuh>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// Lane 0 gets one reducer's 32 values, joined: by redux.sync where a word or a few decide (integers, extremes), else
/// as a tree of shuffles, in 5 steps; no barrier, no memory. On an H200 redux took 0.08 us of 1.2 for 2^10 int32 and
/// 0.2 of 2.9 for 2^18.
template <class R, class T>
__device__ void combine_one_in_warp(const R& reducer, T& value) {
  constexpr warp_instruction by = has_redux ? warp_instruction_of<R> : warp_instruction::shuffle;
  if constexpr (by == warp_instruction::sum) {
    value = static_cast<T>(sum_in_warp(static_cast<std::uint32_t>(value)));
  } else if constexpr (by == warp_instruction::least) {
    auto rank = R::rank(value);
    bool leads = true;
#pragma unroll
    for (std::uint32_t& word : rank.words) {
      const std::uint32_t least = least_in_warp(leads ? word : 0xffffffffu);
      leads = leads & (word == least);
      word = least;
    }
    value = R::of_rank(rank);
  } else {
#pragma unroll
    for (unsigned delta = 16; delta > 0; delta /= 2) reducer.join(value, detail::shuffle_down(value, delta));
  }
}

template <class... R>
void take_composite(const composite<R...>&);
/// A composite or what is derived of one, and no reducer that happens to have a member `reducers`.
template <class Op>
concept joins_several = requires(const Op& op) { detail::take_composite(op); };

/// Lane 0 gets the warp's 32 values, joined. All lanes must take part; they are brought together first, since shuffles
/// of lanes that come one after the other are several times slower.
template <class Op, class T>
__device__ void combine_in_warp(const Op& op, T& value) {
  __syncwarp();
  if constexpr (joins_several<Op>) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (detail::combine_one_in_warp(get<I>(op.reducers), get<I>(value)), ...);
    }(typename Op::indices{});
  } else {
    detail::combine_one_in_warp(op, value);
  }
}

/// The first of each `lanes` lanes, a power of two, gets what they have, joined.
template <class Op, class T>
__device__ void join_lanes(const Op& op, T& value, unsigned lanes) {
  for (unsigned delta = lanes / 2; delta > 0; delta /= 2) op.join(value, detail::shuffle_down(value, delta));
}

/// Up to so many warps' values thread 0 joins from memory, one after the other, which is faster than five shuffles:
/// 0.06 us of 1.6 for 2^12 floats on an H200. Not where redux.sync takes one instruction for five.
inline constexpr unsigned few_warps = 8;
template <class... R>
constexpr bool goes_by_shuffles(const composite<R...>*) {
  return !has_redux || ((warp_instruction_of<R> == warp_instruction::shuffle) && ...);
}
template <class Op, class T>
constexpr bool may_join_few_warps() {
  constexpr std::size_t most_bytes = 16;
  if constexpr (joins_several<Op>) {
    return sizeof(T) <= most_bytes && detail::goes_by_shuffles(static_cast<const typename Op::plain_type*>(nullptr));
  } else {
    return false;
  }
}
template <class Op, class T>
__device__ void join_few_warps(const Op& op, T& value, const T* of_warp, unsigned warps) {
  T other[few_warps];
#pragma unroll
  for (unsigned k = 1; k < few_warps; ++k) other[k] = of_warp[k];  // of all: wide loads
#pragma unroll
  for (unsigned k = 1; k < few_warps; ++k) {
    if (k < warps) op.join(value, other[k]);
  }
}

/// Two levels of shuffles. Phases: every warp combines; lane 0 of each stores to shared memory; barrier; the first
/// warp loads one value a warp (the identity beyond the warps there are) and combines. One barrier; memory for 32
/// accumulators; blocks of whole warps up to 1024 threads; the result is valid in thread 0. The caller puts a barrier
/// before the next use. Wins wherever accumulators are small: least shared-memory traffic, least waiting. IsAlone:
/// nobody has to join in the same order, as a host does for blocks that are several.
template <bool IsAlone = false, class Op, class T>
__device__ void combine_by_warp_shuffle(const Op& op, T& value, T* of_warp) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned warps = blockDim.x / 32;

  detail::combine_in_warp(op, value);
  if (warps == 1) return;
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if constexpr (IsAlone && may_join_few_warps<Op, T>()) {
    if (warps <= few_warps) {
      if (threadIdx.x == 0) detail::join_few_warps(op, value, of_warp, warps);
      return;
    }
  }
  if (warp == 0) {
    value = op.identity();
    if (lane < warps) value = of_warp[lane];
    detail::combine_in_warp(op, value);
  }
}

}  // namespace fanin::detail
