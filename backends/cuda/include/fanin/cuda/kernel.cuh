// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <fanin/cuda/block/combine.cuh>
#include <fanin/cuda/device/grid_order.cuh>
#include <fanin/cuda/grid/cluster.cuh>
#include <fanin/cuda/grid/last_block.cuh>
#include <fanin/cuda/grid/watched_flushes.cuh>
#include <fanin/cuda/grid/watching_block.cuh>
#include <fanin/cuda/recipe.hpp>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/thread/bulk.cuh>
#include <fanin/cuda/thread/fold_n.cuh>
#include <fanin/cuda/thread/grid_stride.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/vectorised.cuh>
#include <fanin/detail/composite.hpp>
#include <fanin/reducer.hpp>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// Where a kernel leaves its result: in device memory, or in a mailbox that the host watches.
template <class Result>
struct cuda_destination {
  Result* out = nullptr;
  cuda_mailbox mailbox = {};
  bool takes_partials = false;  ///< of every block, which the host joins: no block waits for another

  __device__ void deliver(const Result& result) const {
    if (mailbox.words == nullptr) {
      *out = result;
    } else {
      post(result, 0);
    }
  }

  /// Writes `value` as the mailbox's item number `index`.
  template <class T>
  __device__ void post(const T& value, unsigned index) const {
    constexpr int words = mailbox_words(sizeof(T));
    std::uint32_t word[words] = {};
    memcpy(word, &value, sizeof(T));
    volatile std::uint64_t* const to = mailbox.words + std::size_t{index} * words;
#pragma unroll(words <= 16 ? words : 1)
    for (int k = 0; k < words; ++k) to[k] = std::uint64_t{mailbox.sequence} << 32 | word[k];
  }
};

/// A composite as later passes see it: elements are accumulators, and are joined.
template <class Composite>
struct merging : Composite {
  using state_type = typename Composite::accumulator_type;
  static constexpr bool has_any_state = false;

  FANIN_FUNCTION state_type begin(const state_type&) const { return this->identity(); }
  FANIN_FUNCTION void finish(const state_type& state, state_type& scratch) const { scratch = state; }
};

template <class Strategy, class Source, class Composite>
__device__ void gather(const Source& source, const Composite& c, typename Composite::state_type& state, int chunks,
                       [[maybe_unused]] void* shared) {
  using cuda_stage::thread;
  constexpr cuda_recipe recipe = Strategy::recipe;
  constexpr bool is_wide = recipe.thread == thread::vectorised || recipe.thread == thread::bulk;
  if constexpr (recipe.thread == thread::bulk && is_one_array<Source>) {
    gather_bulk<recipe.loads>(source, c, state, shared);
  } else if constexpr (is_wide) {
    gather_vectorised<units_in_flight<Source>(recipe)>(source, c, state);
  } else if constexpr (recipe.thread == thread::grid_stride) {
    gather_grid_stride(source, c, state);
  } else {
    gather_fold_n(source, c, state, chunks);
  }
}

/// Whether the first step of a block's tree is done while gathering: in global memory, where one element a thread would
/// have to be copied to scratch first. What takes in the step reads both elements and writes one value.
template <class Strategy, class Composite>
inline constexpr bool gathers_pairs =
    Strategy::recipe.thread == cuda_stage::thread::one && Strategy::recipe.memory == cuda_stage::memory::global &&
    (Strategy::recipe.block == cuda_stage::block::interleaved ||
     Strategy::recipe.block == cuda_stage::block::neighbored_divergent) &&
    !Composite::has_any_state;

template <class Strategy, class Source, class Composite>
__device__ void combine_gathered_pairs(const Source& source, const Composite& c,
                                       typename Composite::accumulator_type& value,
                                       typename Composite::accumulator_type* memory) {
  const std::int64_t first = first_of_block(1);
  const std::int64_t rest = source.count - first;
  const unsigned left = rest < blockDim.x ? static_cast<unsigned>(rest) : blockDim.x;
  const auto take_pair = [&](unsigned distance) {
    auto state = c.begin(value);
    if (threadIdx.x < left) source.accumulate(c, state, first + threadIdx.x);
    if (threadIdx.x + distance < left) source.accumulate(c, state, first + threadIdx.x + distance);
    c.finish(state, value);
    memory[threadIdx.x] = value;
  };
  if constexpr (Strategy::recipe.block == cuda_stage::block::interleaved) {
    const unsigned half = left - left / 2;
    if (threadIdx.x < half || threadIdx.x == 0) take_pair(half);
    __syncthreads();
    combine_interleaved(c, memory, half);
  } else {
    if (threadIdx.x % 2 == 0) take_pair(1);
    __syncthreads();
    combine_neighbored_divergent(c, memory, left, 2);
  }
  if (threadIdx.x == 0) value = memory[0];
}

/// Whether accumulators of a thread_state stay in the blocks' scratch, where the last block joins those of all blocks:
/// with every strategy that finishes in a block of its one launch.
template <class Strategy, class Composite>
inline constexpr bool finishes_in_scratch = Composite::has_state_in_scratch && Strategy::recipe.cluster_size == 1 &&
                                            (Strategy::recipe.grid == cuda_stage::grid::watching_block ||
                                             Strategy::recipe.grid == cuda_stage::grid::last_block);

/// Whether blocks hand their parcels to the watching block.
template <class Strategy, class Composite>
inline constexpr bool hands_over_parcels = finishes_in_scratch<Strategy, Composite> && Composite::hands_over_flushes &&
                                           Strategy::recipe.grid == cuda_stage::grid::watching_block &&
                                           Strategy::recipe.memory != cuda_stage::memory::global &&
                                           Composite::largest_beside_scratch <= largest_shuffled_accumulator;

/// Whether accumulators are too large to travel through shuffles: one of them, or all together, of which the block's
/// warps then leave one each in shared memory.
template <class Composite>
inline constexpr bool travels_through_slots = Composite::largest_accumulator > largest_shuffled_accumulator ||
                                              32 * sizeof(typename Composite::accumulator_type) > 40 * 1024;

/// Of the accumulators that threads hand each other: one reducer's after the other's, but through slots all together.
template <class Strategy, class Composite>
inline constexpr std::size_t largest_travelling =
    finishes_in_scratch<Strategy, Composite> ? Composite::largest_beside_scratch
    : travels_through_slots<Composite>       ? sizeof(typename Composite::accumulator_type)
                                             : Composite::largest_accumulator;

/// What a kernel needs of a block's shared memory before any of it is asked for at launch, for accumulators alone.
template <class Strategy, class Composite>
inline constexpr std::size_t accumulators_in_block =
    sizeof(typename Composite::accumulator_type) * (Strategy::recipe.cluster_size > 1 ? 8 : 1);

template <class Composite>
inline constexpr bool computes_long_doubles = false;
template <class... Reducer>
inline constexpr bool computes_long_doubles<composite<Reducer...>> =
    ((std::is_same_v<reducer_value_t<Reducer>, long double> ||
      std::is_same_v<reducer_accumulator_t<Reducer>, long double>) ||
     ...);

/// Refuses what does not fit, with the bytes in the compiler's own words (Bytes).
template <std::size_t Bytes>
constexpr void check_accumulators_fit() {
  constexpr std::size_t most = 40 * 1024;
  static_assert(
      Bytes <= most,
      "fanin: the accumulators of this call (Bytes; those of 8 blocks with clusters) are too large for the CUDA "
      "backend, which holds up to 40 KiB in the shared memory of a block: pass fewer reducers to a call, make "
      "the reducer's accumulator smaller, or reduce in several calls");
}

/// Whether the blocks' partial results are handed over in tagged units: those in scratch or slots are not.
template <class Strategy, class Composite>
inline constexpr bool is_watched =
    hands_over_parcels<Strategy, Composite> ||
    (Strategy::recipe.grid == cuda_stage::grid::watching_block && !finishes_in_scratch<Strategy, Composite> &&
     !goes_through_slots(Strategy::recipe, largest_travelling<Strategy, Composite>));

/// What a block hands over.
template <class Strategy, class Composite>
using partial_of = std::conditional_t<hands_over_parcels<Strategy, Composite>, typename Composite::parcel_type,
                                      typename Composite::accumulator_type>;

/// What the launches of one reduction share in device memory. `Scratch` is watched_scratch where partial results are
/// handed over in tagged units, and then has room for nothing else.
template <class Scratch>
struct cuda_workspace {
  Scratch scratch = {};
  void* values = nullptr;  ///< one accumulator a thread, for block stages in global memory; or left_scratches
  int chunks = 1;          ///< n of fold_n
};

template <class Accumulator>
__device__ Accumulator* partials_in(const cuda_scratch& scratch) {
  return static_cast<Accumulator*>(scratch.partials);
}

template <class Strategy, class Composite>
struct workspace_of
    : cuda_workspace<std::conditional_t<is_watched<Strategy, Composite>, watched_scratch, cuda_scratch>> {};

/// In the last block: the partial results of all blocks, of which scratch holds this one's. Ends with a barrier.
template <class Strategy, class Composite, std::size_t... I>
__device__ void join_partials_in_scratch(const Composite& c, typename Composite::accumulator_type& scratch,
                                         const typename Composite::accumulator_type* partials, const contributor& self,
                                         void* memory, std::index_sequence<I...>) {
  constexpr std::size_t largest = largest_travelling<Strategy, Composite>;
  const auto join_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    const auto& reducer = get<K>(c.reducers);
    if constexpr (Composite::template has_state<K>) {
      const auto of_another = [&](unsigned k) -> const auto& { return get<K>(partials[k < self.index ? k : k + 1]); };
      reducer.join_shared(get<K>(scratch), of_another, self.count - 1, threadIdx.x, blockDim.x);
    } else {
      const unsigned threads = goes_through_slots(Strategy::recipe, largest) ? 32 : blockDim.x;
      reducer_accumulator_t<typename Composite::template reducer_type<K>> value = reducer.identity();
      if (threadIdx.x < threads) {
        for (unsigned k = threadIdx.x; k < self.count; k += threads) {
          decltype(value) partial;
          load_from_other_block(partial, &get<K>(partials[k]));
          reducer.join(value, partial);
        }
      }
      combine_in_block<Strategy, largest>(reducer, value, memory, threads);
      if (threadIdx.x == 0) get<K>(scratch) = value;
    }
  };
  (join_one(std::integral_constant<std::size_t, I>{}), ...);
  __syncthreads();
}

/// Delivers what the scratches of all blocks hold.
template <class Strategy, class Composite>
__device__ void finish_in_scratch(const Composite& c, typename Composite::accumulator_type& scratch,
                                  const contributor& self, const cuda_workspace<cuda_scratch>& work, void* memory,
                                  const cuda_destination<typename Composite::result_type>& destination) {
  if (self.count > 1) {
    auto* const partials = partials_in<typename Composite::accumulator_type>(work.scratch);
    if (!is_last_block_with(scratch, self, partials, work.scratch.counter)) return;
    join_partials_in_scratch<Strategy>(c, scratch, partials, self, memory, typename Composite::indices{});
  }
  if (threadIdx.x == 0) destination.deliver(c.result(scratch));
}

/// Delivers what the threads of all blocks drained, and what is in scratch.
template <class Strategy, class Composite>
__device__ void finish_parcels(const Composite& c, typename Composite::state_type& state,
                               typename Composite::accumulator_type& scratch, const contributor& self,
                               const cuda_workspace<watched_scratch>& work, void* memory, std::uint32_t number,
                               const cuda_destination<typename Composite::result_type>& destination) {
  using accumulator = typename Composite::accumulator_type;
  constexpr std::size_t largest = largest_travelling<Strategy, Composite>;
  constexpr typename Composite::indices indices{};
  auto parcel = drained(c, state, indices);
  join_parcels_in_block<Strategy, largest>(c, parcel, scratch, memory, indices);
  if (self.count > 1) {
    const left_scratches<accumulator> left(work.values, gridDim.x);
    if (!self.finishes()) {
      constexpr unsigned warp = 32;
      if (threadIdx.x < warp) publish_parcel(c, parcel, scratch, self, left, work.scratch, number);
      return;
    }
    gather_parcels<Strategy, largest>(c, parcel, scratch, self, left, work.scratch, number, memory);
  }
  if (threadIdx.x == 0) destination.deliver(result_of_parcel(c, parcel, scratch, indices));
  if (self.count > 1) close_launch(work.scratch, number);
}

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

/// Scratch of a block at its beginning, by all its threads. Ends with a barrier.
template <class Composite>
__device__ void begin_scratch(const Composite& c, typename Composite::accumulator_type& scratch) {
  if constexpr (has_zero_identity<Composite> && sizeof(scratch) % sizeof(uint4) == 0) {
    constexpr auto words = static_cast<unsigned>(sizeof(scratch) / sizeof(uint4));
    auto* const to = reinterpret_cast<uint4*>(&scratch);
    for (unsigned k = threadIdx.x; k < words; k += blockDim.x) to[k] = uint4{0, 0, 0, 0};
  } else if (threadIdx.x == 0) {
    scratch = c.identity();
  }
  __syncthreads();
}

/// thread -> block -> cluster -> grid, as the strategy's recipe says.
template <class Strategy, class Source, class Composite>
__global__ void __launch_bounds__(1024)
    reduce_kernel(const Source source, const Composite c, const workspace_of<Strategy, Composite> work,
                  const cuda_destination<typename Composite::result_type> destination) {
  using accumulator = typename Composite::accumulator_type;
  constexpr cuda_recipe recipe = Strategy::recipe;
  constexpr std::size_t largest = largest_travelling<Strategy, Composite>;
  extern __shared__ __align__(16) unsigned char shared[];

  if constexpr (recipe.block == cuda_stage::block::none) {
    accumulator& slot =
        partials_in<accumulator>(work.scratch)[static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x];
    slot = c.identity();
    auto state = c.begin(slot);
    gather<Strategy>(source, c, state, work.chunks, shared);
    c.finish(state, slot);
  } else {
    const contributor self{blockIdx.x / recipe.cluster_size, gridDim.x / recipe.cluster_size};
    [[maybe_unused]] std::uint32_t number = 0;
    if constexpr (recipe.grid == cuda_stage::grid::watching_block) wait_for_grid_before();
    if constexpr (is_watched<Strategy, Composite>) {
      if (self.count > 1 && !destination.takes_partials && (threadIdx.x == 0 || self.finishes())) {
        number = launch_number(work.scratch);
      }
    }

    void* memory = shared;
    if constexpr (recipe.memory == cuda_stage::memory::global) {
      memory = static_cast<accumulator*>(work.values) + static_cast<std::int64_t>(blockIdx.x) * blockDim.x;
    }
    accumulator value;
    if constexpr (!Composite::has_any_state) set_identity(c, value);
    if constexpr (Composite::has_any_state) {
      __shared__ alignas(16) unsigned char storage[sizeof(accumulator)];
      accumulator& scratch = *reinterpret_cast<accumulator*>(storage);
      begin_scratch(c, scratch);
      auto state = c.begin(scratch);
      gather<Strategy>(source, c, state, work.chunks, shared);
      if constexpr (hands_over_parcels<Strategy, Composite>) {
        finish_parcels<Strategy>(c, state, scratch, self, work, memory, number, destination);
        return;
      } else {
        combine_states<Strategy, largest>(c, state, scratch, memory, typename Composite::indices{});
        if constexpr (finishes_in_scratch<Strategy, Composite>) {
          finish_in_scratch<Strategy>(c, scratch, self, work, memory, destination);
        } else if (threadIdx.x == 0) {
          value = scratch;
        }
      }
    } else if constexpr (gathers_pairs<Strategy, Composite>) {
      combine_gathered_pairs<Strategy>(source, c, value, static_cast<accumulator*>(memory));
    } else {
      if constexpr (is_passed_by_value<Composite>) {
        auto state = c.begin(value);
        gather<Strategy>(source, c, state, work.chunks, shared);
        c.finish(state, value);
      } else {
        gather<Strategy>(source, c, value, work.chunks, shared);
      }
      combine_in_block<Strategy, largest>(c, value, memory, blockDim.x);
    }
    if constexpr (recipe.cluster_size > 1) {
      if (!combine_in_cluster(c, value)) return;
    }

    if constexpr (recipe.grid == cuda_stage::grid::host_finish) {
      if (threadIdx.x == 0) partials_in<accumulator>(work.scratch)[blockIdx.x] = value;
    } else if constexpr (recipe.grid == cuda_stage::grid::second_pass) {
      if (threadIdx.x == 0) {
        if (gridDim.x == 1) {
          destination.deliver(c.result(value));
        } else {
          partials_in<accumulator>(work.scratch)[blockIdx.x] = value;
        }
      }
    } else if constexpr (!finishes_in_scratch<Strategy, Composite>) {
      if (self.count > 1) {
        if constexpr (is_watched<Strategy, Composite>) {
          if (destination.takes_partials) {
            if (threadIdx.x == 0) destination.post(value, self.index);
            return;
          }
          if (!self.finishes()) {
            if (threadIdx.x == 0) publish_partial(value, self.index, work.scratch, number);
            return;
          }
          gather_watched(c, value, self, work.scratch, number);
          constexpr unsigned warp = 32;
          if (recipe.block == cuda_stage::block::warp_shuffle && self.count <= warp + 1) {
            if (threadIdx.x < warp) combine_in_warp(c, value);  // nobody else gathered anything
          } else {
            combine_in_block<Strategy, largest>(c, value, memory, blockDim.x);
          }
          if (threadIdx.x == 0) destination.deliver(c.result(value));
          close_launch(work.scratch, number);
          return;
        } else {
          auto* const partials = partials_in<accumulator>(work.scratch);
          if (!is_last_block(value, self, partials, work.scratch.counter)) return;
          const unsigned threads = goes_through_slots(recipe, largest) ? 32 : blockDim.x;
          gather_partials(c, value, partials, self.count, threads);
          combine_in_block<Strategy, largest>(c, value, memory, threads);
        }
      }
      if (threadIdx.x == 0) destination.deliver(c.result(value));
    }
  }
}

/// launch_per_halving, the first launch: value i becomes element i and element i + half.
template <class Source, class Composite>
__global__ void __launch_bounds__(1024)
    halve_source_kernel(const Source source, const Composite c, typename Composite::accumulator_type* values,
                        std::int64_t half, const cuda_destination<typename Composite::result_type> destination) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= half && i != 0) return;
  values[i] = c.identity();
  auto state = c.begin(values[i]);
  if (i < source.count) source.accumulate(c, state, i);
  if (i + half < source.count) source.accumulate(c, state, i + half);
  c.finish(state, values[i]);
  if (half <= 1) destination.deliver(c.result(values[i]));
}

/// The later launches: value i + half is joined to value i.
template <class Composite>
__global__ void __launch_bounds__(1024)
    halve_values_kernel(const Composite c, typename Composite::accumulator_type* values, std::int64_t count,
                        std::int64_t half, const cuda_destination<typename Composite::result_type> destination) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= half) return;
  if (i + half < count) c.join(values[i], values[i + half]);
  if (half == 1) destination.deliver(c.result(values[i]));
}

template <class F>
__global__ void __launch_bounds__(256) for_kernel(const F f, std::int64_t first, std::int64_t count) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    f(first + i);
  }
}

}  // namespace fanin::detail
