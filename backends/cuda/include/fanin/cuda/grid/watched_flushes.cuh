// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/cuda/block/combine.cuh>
#include <fanin/cuda/grid/last_block.cuh>
#include <fanin/cuda/grid/watching_block.cuh>
#include <fanin/detail/composite.hpp>

/// Reducers with a thread_state and the watching block: a block hands over what its threads drained, joined, which is
/// small; its scratch only where something is there. Mostly nothing is, and no block waits for a fence or a ticket.
namespace fanin::detail {

/// Where blocks leave scratch that something is in, for a grid of so many.
template <class Accumulator>
struct left_scratches {
  unsigned* blocks;  ///< the watching block's list
  Accumulator* of_block;

  static constexpr std::size_t bytes_of_list(std::size_t grid) { return (grid * sizeof(unsigned) + 255) / 256 * 256; }
  static constexpr std::size_t bytes(std::size_t grid) { return bytes_of_list(grid) + grid * sizeof(Accumulator); }
  __device__ left_scratches(void* memory, unsigned grid)
      : blocks{static_cast<unsigned*>(memory)},
        of_block{reinterpret_cast<Accumulator*>(static_cast<unsigned char*>(memory) + bytes_of_list(grid))} {}
};

template <class Composite, std::size_t... I>
__device__ typename Composite::parcel_type drained(const Composite& c, typename Composite::state_type& state,
                                                   std::index_sequence<I...>) {
  const auto drain_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    if constexpr (Composite::template has_state<K>) {
      return get<K>(c.reducers).drain(get<K>(state));
    } else {
      return get<K>(state);
    }
  };
  return {drain_one(std::integral_constant<std::size_t, I>{})...};
}

template <class Composite, std::size_t... I>
__device__ typename Composite::parcel_type empty_parcel(const Composite& c, std::index_sequence<I...>) {
  const auto make_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    if constexpr (Composite::template has_state<K>) {
      return typename Composite::template reducer_type<K>::flush_type{};
    } else {
      return static_cast<reducer_accumulator_t<typename Composite::template reducer_type<K>>>(
          get<K>(c.reducers).identity());
    }
  };
  return {make_one(std::integral_constant<std::size_t, I>{})...};
}

template <class Composite, std::size_t... I>
__device__ bool is_in_scratch(const Composite& c, const typename Composite::parcel_type& parcel,
                              std::index_sequence<I...>) {
  const auto ask_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    if constexpr (Composite::template has_state<K>) {
      return get<K>(c.reducers).in_scratch(get<K>(parcel));
    } else {
      return false;
    }
  };
  return (ask_one(std::integral_constant<std::size_t, I>{}) | ...);
}

/// One thread joins another block's parcel to what it holds.
template <class Composite, std::size_t... I>
__device__ void join_parcel(const Composite& c, typename Composite::parcel_type& into,
                            typename Composite::parcel_type& from, typename Composite::accumulator_type& scratch,
                            std::index_sequence<I...>) {
  const auto join_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    const auto& reducer = get<K>(c.reducers);
    if constexpr (Composite::template has_state<K>) {
      const int of_into = reducer.scale(get<K>(into));
      const int of_from = reducer.scale(get<K>(from));
      const int least = of_from < of_into ? of_from : of_into;
      rescale_or_deposit(reducer, get<K>(into), least, get<K>(scratch));
      rescale_or_deposit(reducer, get<K>(from), least, get<K>(scratch));
      reducer.join(get<K>(into), get<K>(from));
    } else {
      reducer.join(get<K>(into), get<K>(from));
    }
  };
  (join_one(std::integral_constant<std::size_t, I>{}), ...);
}

/// Joins what the block's threads hold; valid in thread 0. Ends with a barrier.
template <class Strategy, std::size_t LargestAccumulator, class Composite, std::size_t... I>
__device__ void join_parcels_in_block(const Composite& c, typename Composite::parcel_type& parcel,
                                      typename Composite::accumulator_type& scratch, void* memory,
                                      std::index_sequence<I...>) {
  const auto join_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    const auto& reducer = get<K>(c.reducers);
    if constexpr (Composite::template has_state<K>) {
      join_flushes_in_block(reducer, get<K>(parcel), get<K>(scratch));
    } else {
      combine_in_block<Strategy, LargestAccumulator>(reducer, get<K>(parcel), memory, blockDim.x);
    }
  };
  (join_one(std::integral_constant<std::size_t, I>{}), ...);
}

/// All threads join the scratches that other blocks left.
template <class Composite, std::size_t... I>
__device__ void join_left_scratches(const Composite& c, typename Composite::accumulator_type& scratch,
                                    const left_scratches<typename Composite::accumulator_type>& left, unsigned count,
                                    std::index_sequence<I...>) {
  const auto join_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    if constexpr (Composite::template has_state<K>) {
      const auto of = [&](unsigned k) -> const auto& { return get<K>(left.of_block[left.blocks[k]]); };
      get<K>(c.reducers).join_shared(get<K>(scratch), of, count, threadIdx.x, blockDim.x);
    }
  };
  (join_one(std::integral_constant<std::size_t, I>{}), ...);
}

template <class Composite, std::size_t... I>
__device__ typename Composite::result_type result_of_parcel(const Composite& c, typename Composite::parcel_type& parcel,
                                                            typename Composite::accumulator_type& scratch,
                                                            std::index_sequence<I...>) {
  const auto result_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    using reducer_type = typename Composite::template reducer_type<K>;
    const reducer_type& reducer = get<K>(c.reducers);
    if constexpr (Composite::template has_state<K>) {
      if (!reducer.in_scratch(get<K>(parcel))) {
        return static_cast<reducer_result_t<reducer_type>>(reducer.result(get<K>(parcel)));
      }
      reducer.deposit(get<K>(parcel), get<K>(scratch));
      return result_value(reducer, get<K>(scratch));
    } else {
      return result_value(reducer, get<K>(parcel));
    }
  };
  if constexpr (sizeof...(I) == 1) {
    return result_one(std::integral_constant<std::size_t, 0>{});
  } else {
    return {result_one(std::integral_constant<std::size_t, I>{})...};
  }
}

/// By the block's first warp: hands over its parcel, lane 0's, and scratch where something is there.
template <class Composite>
__device__ void publish_parcel(const Composite& c, const typename Composite::parcel_type& parcel,
                               const typename Composite::accumulator_type& scratch, const contributor& self,
                               const left_scratches<typename Composite::accumulator_type>& left,
                               const watched_scratch& shared, std::uint32_t number) {
  const bool leaves = of_lane_0(is_in_scratch(c, parcel, typename Composite::indices{}));
  if (leaves) {
    copy_by_threads(left.of_block + self.index, scratch, threadIdx.x, 32);
    __syncwarp();
    if (threadIdx.x == 0) __threadfence();
  }
  if (threadIdx.x == 0) publish_partial(parcel, self.index, shared, number);
}

/// In the watching block, whose scratch something may be in: all others' parcels joined to its own, thread 0's; what
/// they left in scratch to its own scratch. The result is valid in thread 0.
template <class Strategy, std::size_t LargestAccumulator, class Composite>
__device__ void gather_parcels(const Composite& c, typename Composite::parcel_type& parcel,
                               typename Composite::accumulator_type& scratch, const contributor& self,
                               const left_scratches<typename Composite::accumulator_type>& left,
                               const watched_scratch& shared, std::uint32_t number, void* memory) {
  constexpr typename Composite::indices indices{};
  __shared__ unsigned blocks_that_left;
  if (threadIdx.x == 0) blocks_that_left = 0;
  __syncthreads();

  using parcel_type = typename Composite::parcel_type;
  if (threadIdx.x != 0) parcel = empty_parcel(c, indices);
  for_watched<parcel_type>(self, shared, number, [&](parcel_type& partial, unsigned block) {
    if (is_in_scratch(c, partial, indices)) {
      __threadfence();
      left.blocks[atomicAdd(&blocks_that_left, 1u)] = block;
    }
    join_parcel(c, parcel, partial, scratch, indices);
  });
  __syncthreads();
  if (blocks_that_left > 0) join_left_scratches(c, scratch, left, blocks_that_left, indices);
  join_parcels_in_block<Strategy, LargestAccumulator>(c, parcel, scratch, memory, indices);
}

}  // namespace fanin::detail
