// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <fanin/cuda/block/combine.cuh>
#include <fanin/cuda/block/joined_partials.cuh>
#include <fanin/reducer.hpp>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// Whether a value is zeros alone, as far as the compiler can tell.
template <class T>
  requires std::is_trivially_copyable_v<T>
constexpr bool is_all_zeros(const T& value) {
  struct bytes {
    unsigned char of[sizeof(T)];
  };
  const bytes as_bytes = std::bit_cast<bytes>(value);
  for (const unsigned char byte : as_bytes.of) {
    if (byte != 0) return false;
  }
  return true;
}
template <class Composite>
inline constexpr bool has_zero_identity = false;
template <class Composite>
  requires(Composite::is_stateless && requires { typename std::bool_constant<is_all_zeros(Composite{}.identity())>; })
inline constexpr bool has_zero_identity<Composite> = is_all_zeros(Composite{}.identity());

/// The block's spill, which holds the identity; called once, by all threads. Ends with a barrier.
template <class Composite>
__device__ typename Composite::accumulator_type& begin_spill(const Composite& c, void* memory) {
  auto& spill = *static_cast<typename Composite::accumulator_type*>(memory);
  if constexpr (has_zero_identity<Composite> && sizeof(spill) % sizeof(uint4) == 0) {
    constexpr auto words = static_cast<unsigned>(sizeof(spill) / sizeof(uint4));
    auto* const to = reinterpret_cast<uint4*>(&spill);
    for (unsigned k = threadIdx.x; k < words; k += blockDim.x) to[k] = uint4{0, 0, 0, 0};
  } else if (threadIdx.x == 0) {
    spill = c.identity();
  }
  __syncthreads();
  return spill;
}

/// The block's partial result from what its threads hold, in the spill: one reducer after the other, those that
/// gather no spill by the block stage. Ends with a barrier.
template <class Task, class State, class Accumulator>
__device__ void combine_states(const Task& task, State& state, Accumulator& spill) {
  const auto combine_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    const auto& reducer = get<K>(task.c.reducers);
    using how = gathering_t<std::remove_cvref_t<decltype(reducer)>>;
    if constexpr (how::has_partials) {
      finish_joined(reducer, get<K>(state), get<K>(spill), task.block.of_warps.address());
    } else if constexpr (how::has_spill) {
      how::finish(reducer, get<K>(state), get<K>(spill));
    } else {
      auto value = get<K>(state);
      combine_in_block<typename Task::strategy, Task::largest>(reducer, value, task.memory, blockDim.x);
      if (threadIdx.x == 0) get<K>(spill) = value;
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (combine_one(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<std::tuple_size_v<State>>{});
  __syncthreads();
}

}  // namespace fanin::detail
