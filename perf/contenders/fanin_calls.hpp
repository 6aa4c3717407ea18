// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fanin's own calls, one per operation, the same for every execution object.

#include <cstddef>
#include <cstdint>
#include <fanin/fanin.hpp>
#include <memory>
#include <span>
#include <utility>

#include "contenders/functors.hpp"
#include "harness/contender.hpp"

namespace fanin_perf {

/// The reducer of an operation.
template <class T, operation Op>
constexpr auto fanin_reducer() {
  if constexpr (is_sum(Op)) return fanin::sum<T>{};
  if constexpr (Op == operation::min) return fanin::min<T>{};
  if constexpr (Op == operation::max) return fanin::max<T>{};
  if constexpr (Op == operation::min_loc) return fanin::min_loc<T>{};
  if constexpr (Op == operation::max_loc) return fanin::max_loc<T>{};
}

/// The value on the host: reduce() over the array, transform_reduce() where terms are products.
template <class T, operation Op, class Exec>
auto fanin_reduce(Exec& exec, const T* x, [[maybe_unused]] const T* y, std::int64_t n) {
  const auto reducer = fanin_reducer<T, Op>();
  const std::span<const T> xs(x, static_cast<std::size_t>(n));
  if constexpr (Op == operation::sum_of_squares) {
    return fanin::transform_reduce(exec, xs, square<T>{}, reducer);
  } else if constexpr (Op == operation::dot) {
    const std::span<const T> ys(y, static_cast<std::size_t>(n));
    return fanin::transform_reduce(exec, xs, ys, multiply<T>{}, reducer);
  } else if constexpr (has_index(Op)) {
    const auto found = fanin::reduce(exec, xs, reducer);
    return std::pair<T, std::int64_t>(found.value, found.index);
  } else {
    return fanin::reduce(exec, xs, reducer);
  }
}

/// A family of blocking calls on an execution object that `Make` makes for each call object.
template <class Make>
struct fanin_blocking {
  template <class T, operation Op>
  static constexpr bool offers() {
    return true;
  }

  Make make_exec;

  template <class T, operation Op>
  std::unique_ptr<call> make(const workload& work) const {
    return make_blocking<T>(work, [exec = make_exec(work)](const T* x, const T* y, std::int64_t n) mutable {
      return fanin_reduce<T, Op>(exec, x, y, n);
    });
  }
};

}  // namespace fanin_perf
