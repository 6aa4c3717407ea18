// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <fanin/cuda/reducer/ordered.hpp>
#include <fanin/cuda/reducer/packed_sum.hpp>
#include <fanin/reducers.hpp>

/// By which instructions a warp joins the accumulators of its lanes, reducer by reducer. Told of each, not asked of its
/// members: a user's reducer may have a rank of its own.
namespace fanin::detail {

enum class warp_instruction {
  shuffle,  ///< five steps, each a word at a time
  sum,      ///< redux.sync.add of one word
  least,    ///< redux.sync.min of its rank (rank.hpp), word by word
};

template <class R>
inline constexpr warp_instruction warp_instruction_of = warp_instruction::shuffle;
template <class T, class Acc>
inline constexpr warp_instruction warp_instruction_of<sum<T, Acc>> =
    std::is_integral_v<Acc> && sizeof(Acc) == 4 ? warp_instruction::sum : warp_instruction::shuffle;
template <class T, class Acc>
inline constexpr warp_instruction warp_instruction_of<packed_sum<T, Acc>> = warp_instruction_of<sum<T, Acc>>;
template <class T, bool Least>
inline constexpr warp_instruction warp_instruction_of<ordered_extreme<T, Least>> = warp_instruction::least;
template <class T, bool Least>
inline constexpr warp_instruction warp_instruction_of<ordered_place<T, Least>> = warp_instruction::least;
template <class T, bool Least>
inline constexpr warp_instruction warp_instruction_of<handed_over_place<T, Least>> = warp_instruction::least;

}  // namespace fanin::detail
