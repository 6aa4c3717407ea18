// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fanin/detail/exact_limbs.hpp>
#include <fanin/device/tagged_unit.cuh>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// Types all of whose bytes are set: no gaps between members, and none that somebody leaves as it is.
template <class T>
inline constexpr bool is_whole = std::is_arithmetic_v<T>;
template <class... Ts>
inline constexpr bool is_whole<tuple<Ts...>> = (is_whole<Ts> && ...) && sizeof(tuple<Ts...>) == (sizeof(Ts) + ...);
template <int Limbs, bool HoldsAll>
inline constexpr bool is_whole<exact_limbs<Limbs, HoldsAll>> = true;

/// A value's bytes as words that leave the block, those of its gaps whatever they are, but the same at each use. By a
/// warp's first lane. Of a byte that nobody set ptxas may keep a register that holds more than a byte: where such a
/// word stood in the lower half of 64 bits, it set bits of the upper half, by which a mailbox tells its launches.
template <class T, int Words>
__device__ void settled_words(const T& value, std::uint32_t (&word)[Words]) {
  static_assert(sizeof(T) <= sizeof word);
  ::memcpy(word, &value, sizeof(T));
  if constexpr (!is_whole<T>) {
#pragma unroll
    for (std::uint32_t& one : word) one = settled_in_first_lane(one);
  }
}

}  // namespace fanin::detail
