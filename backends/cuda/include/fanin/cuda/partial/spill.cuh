// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <fanin/cuda/block/combine.cuh>
#include <fanin/cuda/block/joined_partials.cuh>
#include <fanin/cuda/block/memory.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/device/warp.cuh>
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
  requires(Composite::is_stateless &&
           requires { typename std::bool_constant<detail::is_all_zeros(Composite{}.identity())>; })
inline constexpr bool has_zero_identity<Composite> = detail::is_all_zeros(Composite{}.identity());

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

/// The spill of a block that has one, in its memory.
template <class Strategy, class Composite>
class whole_spill {
 public:
  using accumulator = typename Composite::accumulator_type;
  __device__ explicit whole_spill(block_memory<Strategy, Composite>& block)
      : spill_{*static_cast<accumulator*>(block.spill.address())} {}

  __device__ accumulator& begin(const Composite& c) const { return detail::begin_spill(c, &spill_); }
  __device__ accumulator& of_thread() const { return spill_; }
  __device__ void join(const Composite&) const {}

 private:
  accumulator& spill_;
};

/// The spills of a block that may have several: its threads' in turn, so that lanes of a warp, which gather at once,
/// share none where there are 32. The first is the block's.
template <class Strategy, class Composite>
class split_spill {
 public:
  using accumulator = typename Composite::accumulator_type;
  __device__ explicit split_spill(block_memory<Strategy, Composite>&)
      : spills_{detail::shared_bytes_of_stages<Strategy, Composite>(static_cast<int>(blockDim.x))} {}

  /// The block's; all hold the identity. Called once, by all threads. Ends with a barrier.
  __device__ accumulator& begin(const Composite& c) const {
    accumulator& first = detail::begin_spill(c, &spills_[0]);
    if (spills_.count() > 1) {
      spills_.copy_first_to_others();
      __syncthreads();
    }
    return first;
  }

  /// That of the calling thread.
  __device__ accumulator& of_thread() const { return spills_[threadIdx.x % spills_.count()]; }

  /// All to the block's, behind a barrier, by all threads. Ends with a barrier.
  __device__ void join(const Composite& c) const { join(c, typename Composite::indices{}); }

 private:
  template <std::size_t... I>
  __device__ void join(const Composite& c, std::index_sequence<I...>) const {
    if (spills_.count() == 1) return;
    (join_of<I>(c), ...);
    __syncthreads();
  }
  template <std::size_t K>
  __device__ void join_of(const Composite& c) const {
    if constexpr (Composite::template splits_spill<K>) {
      const auto of_another = [&](unsigned k) -> const auto& { return get<K>(spills_[k + 1]); };
      Composite::template gathering_at<K>::join_spills(get<K>(c.reducers), get<K>(spills_[0]), of_another,
                                                       spills_.count() - 1, threadIdx.x, blockDim.x);
    }
  }

  objects_of_launch<accumulator> spills_;
};

/// What the threads of a block gather beside their states.
template <class Strategy, class Composite>
using spill_of = std::conditional_t<splits_spill<Strategy, Composite>, split_spill<Strategy, Composite>,
                                    whole_spill<Strategy, Composite>>;

/// The block's partial result from what its threads hold, in the spill: one reducer after the other, those that
/// gather no spill by the block stage. Ends with a barrier.
template <class Task, class State, class Accumulator>
__device__ void combine_states(const Task& task, State& state, Accumulator& spill) {
  const auto combine_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    const auto& reducer = get<K>(task.c.reducers);
    using how = gathering_t<std::remove_cvref_t<decltype(reducer)>>;
    if constexpr (how::has_partials) {
      detail::finish_joined(reducer, get<K>(state), get<K>(spill), task.block.of_warps.address());
    } else if constexpr (how::has_spill) {
      how::finish(reducer, get<K>(state), get<K>(spill));
    } else {
      auto value = get<K>(state);
      detail::combine_in_block<typename Task::strategy, Task::largest>(reducer, value, task.memory, blockDim.x);
      if (threadIdx.x == 0) get<K>(spill) = value;
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (combine_one(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<std::tuple_size_v<State>>{});
  __syncthreads();
}

}  // namespace fanin::detail
