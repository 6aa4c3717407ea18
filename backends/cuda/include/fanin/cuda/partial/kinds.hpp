// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include <fanin/cuda/recipe.hpp>
#include <fanin/detail/composite.hpp>

/// What a block hands to the grid stage, by strategy and reducers. The *spill* is an accumulator in memory of
/// the block, which takes what no thread can hold: see fanin/gathering.hpp.
namespace fanin::detail {

/// Accumulators that do not travel through shuffles are not passed by value, either: the compiler would take them apart
/// into a register a word, and of thousands of words take minutes.
template <class Composite>
inline constexpr bool is_passed_by_value = Composite::largest_accumulator <= largest_shuffled_accumulator;

/// Whether the first step of a block's tree is done while gathering: in global memory, where one element a thread would
/// have to be copied first. What takes in the step reads both elements and writes one value.
template <class Strategy, class Composite>
inline constexpr bool gathers_pairs =
    Strategy::recipe.thread == cuda_stage::thread::one && Strategy::recipe.memory == cuda_stage::memory::global &&
    (Strategy::recipe.block == cuda_stage::block::interleaved ||
     Strategy::recipe.block == cuda_stage::block::neighbored_divergent) &&
    !Composite::has_any_spill;

/// Whether the block's accumulators stay in its spill to the end: a block of the same launch joins those of all blocks.
template <class Strategy, class Composite>
inline constexpr bool finishes_in_spill = Composite::joins_spills && Strategy::recipe.cluster_size == 1 &&
                                          (Strategy::recipe.grid == cuda_stage::grid::watching_block ||
                                           Strategy::recipe.grid == cuda_stage::grid::last_block);

/// Whether they stay there: also where nobody joins them on the device, or a later launch does. A copy in registers of
/// what does not fit them took twice the time (shared_shuffle of exact sums on an H200).
template <class Strategy, class Composite>
inline constexpr bool stays_in_spill =
    finishes_in_spill<Strategy, Composite> || (Composite::has_any_spill && Strategy::recipe.cluster_size == 1 &&
                                               (Strategy::recipe.grid == cuda_stage::grid::host_finish ||
                                                Strategy::recipe.grid == cuda_stage::grid::second_pass));

/// Whether blocks hand their parcels to the watching block.
template <class Strategy, class Composite>
inline constexpr bool hands_over_parcels = finishes_in_spill<Strategy, Composite> && Composite::hands_over_partials &&
                                           Strategy::recipe.grid == cuda_stage::grid::watching_block &&
                                           Strategy::recipe.memory != cuda_stage::memory::global &&
                                           Composite::largest_beside_spills <= largest_shuffled_accumulator;

/// Whether accumulators are too large to travel through shuffles: one of them, or all together, of which the block's
/// warps then leave one each in shared memory.
template <class Composite>
inline constexpr bool travels_through_slots = Composite::largest_accumulator > largest_shuffled_accumulator ||
                                              32 * sizeof(typename Composite::accumulator_type) > 40 * 1024;

/// Of the accumulators that threads hand each other: one reducer's after the other's, but through slots all together.
template <class Strategy, class Composite>
inline constexpr std::size_t largest_travelling =
    finishes_in_spill<Strategy, Composite> ? Composite::largest_beside_spills
    : travels_through_slots<Composite>     ? sizeof(typename Composite::accumulator_type)
                                           : Composite::largest_accumulator;

/// Whether a block may have several spills: where its threads go on for so long that these pay, and hand over no
/// parcels. They stand in what is asked for at launch, behind what the stages need.
template <class Strategy, class Composite>
inline constexpr bool splits_spill =
    Composite::has_any_spill && Composite::splits_any_spill && fanin::is_persistent(Strategy::recipe) &&
    Strategy::recipe.block != cuda_stage::block::none && !hands_over_parcels<Strategy, Composite>;

/// What the stages need of the memory that is asked for at launch.
template <class Strategy, class Composite>
constexpr std::size_t shared_bytes_of_stages(int block_size) {
  constexpr std::size_t largest = largest_travelling<Strategy, Composite>;
  constexpr std::size_t accumulator_bytes =
      finishes_in_spill<Strategy, Composite> ? largest : sizeof(typename Composite::accumulator_type);
  constexpr cuda_recipe recipe = Strategy::recipe;  // on a device that is no object
  return dynamic_shared_bytes(recipe, block_size, accumulator_bytes, largest);
}

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
template <class Composite>
  requires Composite::is_finished
inline constexpr bool computes_long_doubles<Composite> = computes_long_doubles<typename Composite::plain_type>;

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

/// Whether the blocks' partial results are handed over in tagged units: those in spills or slots are not.
template <class Strategy, class Composite>
inline constexpr bool is_watched =
    hands_over_parcels<Strategy, Composite> ||
    (Strategy::recipe.grid == cuda_stage::grid::watching_block && !finishes_in_spill<Strategy, Composite> &&
     !fanin::goes_through_slots(Strategy::recipe, largest_travelling<Strategy, Composite>));

/// What a block hands over.
template <class Strategy, class Composite>
using partial_of = std::conditional_t<hands_over_parcels<Strategy, Composite>, typename Composite::parcel_type,
                                      typename Composite::accumulator_type>;

/// A strategy whose grid is one block of threads that join in registers: see grid/lone_block.cuh.
template <class Strategy>
struct alone : Strategy {};
template <class Strategy>
inline constexpr bool is_alone = false;
template <class Strategy>
inline constexpr bool is_alone<alone<Strategy>> = true;

enum class partial_kind {
  of_threads,    ///< one accumulator a thread, in the workspace
  in_registers,  ///< the block's accumulator, in its thread 0
  in_spill,      ///< the same, in the block's spill
  parcel,        ///< what the threads drained, joined, in thread 0; and the spill where something is there
};

template <class Strategy, class Composite>
inline constexpr partial_kind partial_kind_of =
    Strategy::recipe.block == cuda_stage::block::none ? partial_kind::of_threads
    : hands_over_parcels<Strategy, Composite>         ? partial_kind::parcel
    : stays_in_spill<Strategy, Composite>             ? partial_kind::in_spill
                                                      : partial_kind::in_registers;

/// Whether a grid of one block has a kernel of its own.
template <class Strategy, class Composite>
inline constexpr bool works_alone =
    Strategy::recipe.thread == cuda_stage::thread::vectorised &&
    Strategy::recipe.block == cuda_stage::block::warp_shuffle &&
    Strategy::recipe.grid == cuda_stage::grid::watching_block && Strategy::recipe.cluster_size == 1 &&
    partial_kind_of<Strategy, Composite> == partial_kind::in_registers && !Composite::has_any_spill &&
    is_passed_by_value<Composite>;

}  // namespace fanin::detail
