// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <fanin/detail/composite.hpp>
#include <fanin/detail/ranks.hpp>

/// What NCCL's ranks hand each other of a call, in device memory: whether the rank has failed, as a word that is zero
/// where it has not, and accumulators.
namespace fanin::detail {

template <class Plain>
struct nccl_message;
template <class... R>
struct nccl_message<composite<R...>> {
  /// What the part's reducers give: the accumulator of one, a tuple of several's.
  using value_type = typename part_composite<composite<R...>>::result_type;
  static constexpr bool is_sum = (hands_over_words<R> && ...);
  static constexpr std::size_t alignment = alignof(value_type) > 16 ? alignof(value_type) : 16;
  static constexpr std::size_t offset = alignof(value_type) > sizeof(std::uint64_t) ? alignof(value_type)
                                                                                    : sizeof(std::uint64_t);
  static constexpr std::size_t bytes = (offset + sizeof(value_type) + alignment - 1) / alignment * alignment;
  /// Of so many results.
  static constexpr std::size_t bytes_of(std::size_t results) {
    return (offset + results * sizeof(value_type) + alignment - 1) / alignment * alignment;
  }
};

}  // namespace fanin::detail
