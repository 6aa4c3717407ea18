// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fanin::detail {

/// An accumulator as words, the most significant first, whose order as unsigned integers is the order of preference:
/// the lowest rank is what the join of several gives.
template <int Count>
struct rank_words {
  std::uint32_t words[Count];
};

}  // namespace fanin::detail
