// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <fanin/macros.hpp>
#include <fanin/reducers.hpp>

/// What a warp can do with a reducer's accumulators by an instruction for all lanes.
namespace fanin::detail {

/// Sums that wrap at 32 bits.
template <class R>
inline constexpr bool is_word_sum = false;
template <class T, class Acc>
inline constexpr bool is_word_sum<sum<T, Acc>> = std::is_integral_v<Acc> && sizeof(Acc) == 4;

/// Words, the most significant first, whose order as unsigned integers is the order of preference: the lowest rank is
/// what the join of several gives.
template <int Count>
struct rank_words {
  std::uint32_t words[Count];
};

/// Reducers of Fanin's own with rank(acc) and of_rank(rank). Told of each, not asked of its members: a user's reducer
/// may have a rank of its own.
template <class R>
inline constexpr bool is_ranked = false;

}  // namespace fanin::detail
