// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <fanin/cuda/block/combine.cuh>
#include <fanin/cuda/block/joined_partials.cuh>
#include <fanin/cuda/partial/block_task.cuh>
#include <fanin/cuda/partial/spill.cuh>
#include <fanin/cuda/thread/gather.cuh>
#include <fanin/detail/exact_part.hpp>
#include <fanin/reducer.hpp>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// What a block's threads drained, joined, which is small; valid in thread 0. The spill goes along only where something
/// is in it, which mostly is not so. Its members are inlined: an object whose
/// address a call takes lies in local memory.
template <class Strategy, class Composite>
struct partial_parcel : block_task<Strategy, Composite> {
  using task = block_task<Strategy, Composite>;
  using accumulator = typename Composite::accumulator_type;
  using parcel_type = typename Composite::parcel_type;
  using result_type = typename Composite::result_type;
  using value_type = parcel_type;
  using task::block, task::c, task::chunks, task::shared;
  using typename task::memory_type;

  accumulator* spill;
  parcel_type& parcel;
  typename Composite::state_type state;

  /// The block's memory is ready behind it, also before the grids before have ended.
  template <class Workspace>
  __device__ __forceinline__ partial_parcel(const Composite& composite, const Workspace& work, memory_type& of_block,
                                            void* of_launch, parcel_type& of_kernel)
      : task(composite, work, of_block, of_launch),
        spill{&detail::begin_spill(composite, of_block.spill.address())},
        parcel{of_kernel},
        state{composite.begin(*spill)} {}

  /// What the block's threads gather, joined. Ends with a barrier.
  template <class Source>
  __device__ __forceinline__ void gather(const Source& source) {
    fanin::detail::gather<Strategy>(source, c, state, chunks, block, shared);
    parcel = for_all([&]<std::size_t K>(index<K>) {
      if constexpr (has_spill<K>) {
        return gathering<K>::drain(reducer<K>(), get<K>(state));
      } else {
        return get<K>(state);
      }
    });
    for_each([&]<std::size_t K>(index<K> k) {
      if constexpr (!drains_block<K>) combine_one(k, blockDim.x / warp_size);
    });
  }

  /// Joins the parcels of the block's first `threads` threads, whose others hold nothing; valid in thread 0. Ends with
  /// a barrier.
  __device__ __forceinline__ void combine(unsigned threads) {
    const unsigned all = blockDim.x / warp_size;
    const unsigned some = (threads + warp_size - 1) / warp_size;
    for_each([&]<std::size_t K>(index<K> k) { combine_one(k, some < all ? some : all); });
  }

  /// In threads that hold nothing yet.
  __device__ __forceinline__ void clear() {
    parcel = for_all([&]<std::size_t K>(index<K>) {
      if constexpr (has_spill<K>) {
        return typename gathering<K>::partial_type{};
      } else {
        return static_cast<reducer_accumulator_t<reducer_type<K>>>(reducer<K>().identity());
      }
    });
  }

  /// Whether something of it is in the spill of its block.
  __device__ __forceinline__ bool is_in_spill(const parcel_type& of) const { return is_in_spill(of, indices{}); }

  /// One thread joins another block's parcel to what it holds.
  __device__ __forceinline__ void join(parcel_type& from) {
    for_each([&]<std::size_t K>(index<K>) {
      const auto& by = reducer<K>();
      if constexpr (has_spill<K>) {
        const int of_parcel = gathering<K>::scale(by, get<K>(parcel));
        const int of_from = gathering<K>::scale(by, get<K>(from));
        const int least = of_from < of_parcel ? of_from : of_parcel;
        detail::rescale_or_deposit(by, get<K>(parcel), least, get<K>(*spill));
        detail::rescale_or_deposit(by, get<K>(from), least, get<K>(*spill));
        gathering<K>::join_partials(by, get<K>(parcel), get<K>(from));
      } else {
        by.join(get<K>(parcel), get<K>(from));
      }
    });
  }

  /// All threads join spill_of(0), ..., spill_of(count - 1) to the block's own. Ends with a barrier: whoever joins them
  /// may take the spill to be their own meanwhile.
  template <class SpillOf>
  __device__ __forceinline__ void join_spills(const SpillOf& spill_of, unsigned count) {
    for_each([&]<std::size_t K>(index<K>) {
      if constexpr (has_spill<K>) {
        const auto of = [&](unsigned k) -> const auto& { return get<K>(spill_of(k)); };
        gathering<K>::join_spills(reducer<K>(), get<K>(*spill), of, count, threadIdx.x, blockDim.x);
      }
    });
    __syncthreads();
  }

  /// In thread 0.
  __device__ __forceinline__ result_type result() {
    return result_by([this](const auto&... results) { return c.of_results(results...); });
  }
  template <class Finish>
  __device__ __forceinline__ result_type result_by(const Finish& finish) {
    const auto result_one = [&]<std::size_t K>(index<K>) {
      const auto& by = reducer<K>();
      if constexpr (has_spill<K>) {
        if constexpr (!is_deposited<K>) {
          if (!gathering<K>::is_in_spill(by, get<K>(parcel))) {
            return static_cast<reducer_result_t<reducer_type<K>>>(gathering<K>::result(by, get<K>(parcel)));
          }
        }
        gathering<K>::deposit(by, get<K>(parcel), get<K>(*spill));
        return detail::result_value(by, get<K>(*spill));
      } else {
        return detail::result_value(by, get<K>(parcel));
      }
    };
    return [&]<std::size_t... K>(std::index_sequence<K...>) { return finish(result_one(index<K>{})...); }(indices{});
  }

 private:
  using indices = typename Composite::indices;
  template <std::size_t K>
  using index = std::integral_constant<std::size_t, K>;
  template <std::size_t K>
  using reducer_type = typename Composite::template reducer_type<K>;
  template <std::size_t K>
  using gathering = typename Composite::template gathering_at<K>;
  template <std::size_t K>
  static constexpr bool has_spill = Composite::template has_spill<K>;
  template <std::size_t K>
  static constexpr bool drains_block = gathering<K>::drains_block;
  /// Whether a result is an accumulator that is made by atomics: in the spill, since a thread's own memory takes none.
  template <std::size_t K>
  static constexpr bool is_deposited =
      is_of_accumulator<reducer_result_t<reducer_type<K>>, reducer_accumulator_t<reducer_type<K>>> && !drains_block<K>;

  template <std::size_t K>
  __device__ __forceinline__ void combine_one(index<K>, [[maybe_unused]] unsigned warps) {
    if constexpr (has_spill<K>) {
      detail::join_partials_in_block(reducer<K>(), get<K>(parcel), get<K>(*spill), this->block.of_warps.address(),
                                     warps);
    } else {
      detail::combine_in_block<Strategy, task::largest>(reducer<K>(), get<K>(parcel), this->memory, blockDim.x);
    }
  }

  template <std::size_t K>
  __device__ __forceinline__ const reducer_type<K>& reducer() const {
    return get<K>(c.reducers);
  }
  /// visit(index<0>), visit(index<1>), ...; as a tuple.
  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) {
    [&]<std::size_t... K>(std::index_sequence<K...>) { (visit(index<K>{}), ...); }(indices{});
  }
  template <class Visit>
  __device__ __forceinline__ auto for_all(const Visit& visit) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) { return tuple{visit(index<K>{})...}; }(indices{});
  }
  template <std::size_t... K>
  __device__ __forceinline__ bool is_in_spill(const parcel_type& of, std::index_sequence<K...>) const {
    return (is_in_spill<K>(of) | ...);
  }
  template <std::size_t K>
  __device__ __forceinline__ bool is_in_spill(const parcel_type& of) const {
    if constexpr (has_spill<K>) {
      return gathering<K>::is_in_spill(reducer<K>(), get<K>(of));
    } else {
      return false;
    }
  }
};

}  // namespace fanin::detail
