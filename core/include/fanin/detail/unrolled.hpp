// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <fanin/macros.hpp>

namespace fanin::detail {

/// Calls visit(k) for 0 <= k < Count, each with a constant: what is indexed by it can stay in registers, and loads of
/// different k do not wait for each other.
template <int Count, class Visit>
FANIN_FUNCTION constexpr void unrolled(const Visit& visit) {
  [&]<int... K>(std::integer_sequence<int, K...>) { (visit(K), ...); }(std::make_integer_sequence<int, Count>{});
}

}  // namespace fanin::detail
