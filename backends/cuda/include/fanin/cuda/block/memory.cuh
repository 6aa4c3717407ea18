// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/recipe.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/bulk_copy.cuh>
#include <fanin/device/warp.cuh>
#include <fanin/device/word_ahead.cuh>
#include <fanin/reducer.hpp>

namespace fanin::detail {

/// Room for objects that are made by assignment.
template <std::size_t Bytes>
struct raw_memory {
  alignas(16) unsigned char bytes[Bytes];
  __device__ void* address() { return bytes; }
};
template <>
struct raw_memory<0> {
  __device__ void* address() { return nullptr; }
};

/// The next multiple of the alignment that memory of a launch has.
constexpr std::size_t align_in_launch(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

/// The part of a block's memory whose extent a launch decides: behind so many bytes, which are for something else, as
/// many objects as there is room for, an odd number of words apart, so that lanes which touch the same word of one each
/// meet in no bank. Nobody has constructed them.
template <class T>
class objects_of_launch {
 public:
  static constexpr std::size_t word = alignof(T) > sizeof(unsigned) ? alignof(T) : sizeof(unsigned);
  static_assert(word <= 16);
  static constexpr std::size_t bytes_of_one = ((sizeof(T) + word - 1) / word | 1) * word;
  /// What to ask for.
  static constexpr std::size_t bytes(std::size_t behind, int count) {
    return align_in_launch(behind) + static_cast<std::size_t>(count) * bytes_of_one;
  }

  __device__ explicit objects_of_launch(std::size_t behind)
      : first_{memory_of_launch() + align_in_launch(behind)},
        count_{(bytes_of_launch() - static_cast<unsigned>(align_in_launch(behind))) /
               static_cast<unsigned>(bytes_of_one)} {}

  __device__ unsigned count() const { return count_; }
  __device__ T& operator[](unsigned k) const { return *reinterpret_cast<T*>(first_ + k * bytes_of_one); }
  /// By all threads of the block, each its share.
  __device__ void copy_first_to_others() const {
    constexpr auto words_of_one = static_cast<unsigned>(bytes_of_one / sizeof(unsigned));
    auto* const words = reinterpret_cast<unsigned*>(first_);
    for (unsigned k = words_of_one + threadIdx.x; k < count_ * words_of_one; k += blockDim.x) {
      words[k] = words[k % words_of_one];
    }
  }

 private:
  unsigned char* first_;
  unsigned count_;
};

/// The largest of what a warp leaves for the others while a block combines one value of these reducers after the other.
template <class... Reducer>
constexpr std::size_t largest_of_warps(const composite<Reducer...>*, bool by_shuffle) {
  const auto of_reducer = []<class R>(std::type_identity<R>, bool shuffles) -> std::size_t {
    if constexpr (gathering_t<R>::has_partials) {
      return sizeof(typename gathering_t<R>::partial_type);
    } else {
      return shuffles && !gathering_t<R>::has_spill ? sizeof(reducer_accumulator_t<R>) : 0;
    }
  };
  return detail::largest({of_reducer(std::type_identity<Reducer>{}, by_shuffle)...});
}

/// A block's shared memory, but for what is asked for at launch: what stages need there, and spills where there may be
/// several.
template <class Strategy, class Composite>
struct block_memory {
  using accumulator = typename Composite::accumulator_type;
  static constexpr cuda_recipe recipe = Strategy::recipe;
  static constexpr bool combines_by_shuffle =
      recipe.block == cuda_stage::block::warp_shuffle &&
      !fanin::goes_through_slots(recipe, largest_travelling<Strategy, Composite>);
  /// Where values do not stay in the spill, all of an accumulator is combined as well.
  static constexpr std::size_t bytes_of_warp =
      detail::largest({detail::largest_of_warps(static_cast<const Composite*>(nullptr), combines_by_shuffle),
                       combines_by_shuffle && !stays_in_spill<Strategy, Composite> ? sizeof(accumulator) : 0});

  struct no_copies {};
  struct no_launches {};
  using copy_barriers =
      std::conditional_t<recipe.thread == cuda_stage::thread::bulk, copy_barrier[bulk_stages], no_copies>;

  [[no_unique_address]] raw_memory<warp_size * bytes_of_warp> of_warps;  ///< a value of each
  [[no_unique_address]] raw_memory<Composite::has_any_spill && !splits_spill<Strategy, Composite> ? sizeof(accumulator)
                                                                                                  : 0> spill;
  [[no_unique_address]] raw_memory<(recipe.cluster_size > 1 ? recipe.cluster_size * sizeof(accumulator) : 0)>
      of_cluster;
  [[no_unique_address]] copy_barriers copies;
  [[no_unique_address]] std::conditional_t<is_watched<Strategy, Composite>, word_ahead, no_launches> launches;
  unsigned of_grid_stage;  ///< a word of its own
};

}  // namespace fanin::detail
