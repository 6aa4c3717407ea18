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

/// A user's reducer: the sum of structs.
struct sum_of_structs {
  using value_type = eight_doubles;
  FANIN_FUNCTION constexpr eight_doubles identity() const { return {}; }
  FANIN_FUNCTION constexpr void join(eight_doubles& into, const eight_doubles& from) const { into = into + from; }
};

/// The reducer of an operation; of a sum, as sum_type says for the element type.
template <class T, operation Op, class Sum = sum_type<T>>
constexpr auto fanin_reducer() {
  if constexpr (std::is_same_v<T, eight_doubles> && Op == operation::sum) {
    return sum_of_structs{};
  } else if constexpr (Op == operation::exact_sum) {
    return fanin::exact_sum<T>{};
  } else if constexpr (is_sum(Op)) {
    return fanin::sum<T, Sum>{};
  }
  if constexpr (Op == operation::min) return fanin::min<T>{};
  if constexpr (Op == operation::max) return fanin::max<T>{};
  if constexpr (Op == operation::min_loc) return fanin::min_loc<T>{};
  if constexpr (Op == operation::max_loc) return fanin::max_loc<T>{};
}

/// An element as each of the reducers of operation::several takes it.
template <class T>
struct values_for_four {
  FANIN_PERF_FUNCTION fanin::tuple<T, T, T, T> operator()(T x) const { return {x, x, x, product(x, x)}; }
};

template <class T>
four<T> four_of(const fanin::tuple<T, T, T, T>& found) {
  return {fanin::get<0>(found), fanin::get<1>(found), fanin::get<2>(found), fanin::get<3>(found)};
}

/// reduce() over the array, transform_reduce() where terms are not its elements. As Fanin gives it.
template <class T, operation Op, class Exec>
auto fanin_reduce_span(Exec& exec, const T* x, [[maybe_unused]] const T* y, std::int64_t n) {
  const std::span<const T> xs(x, static_cast<std::size_t>(n));
  if constexpr (Op == operation::several) {
    return fanin::transform_reduce(exec, xs, values_for_four<T>{}, fanin::sum<T>{}, fanin::min<T>{}, fanin::max<T>{},
                                   fanin::sum<T>{});
  } else if constexpr (Op == operation::sum_of_squares) {
    return fanin::transform_reduce(exec, xs, square<T>{}, fanin_reducer<T, Op>());
  } else if constexpr (Op == operation::dot) {
    const std::span<const T> ys(y, static_cast<std::size_t>(n));
    return fanin::transform_reduce(exec, xs, ys, multiply<T>{}, fanin_reducer<T, Op>());
  } else {
    return fanin::reduce(exec, xs, fanin_reducer<T, Op>());
  }
}

/// The same as blocking_call takes it.
template <class T, operation Op, class Exec>
auto fanin_reduce(Exec& exec, const T* x, const T* y, std::int64_t n) {
  const auto found = fanin_reduce_span<T, Op>(exec, x, y, n);
  if constexpr (Op == operation::several) {
    return four_of(found);
  } else if constexpr (has_index(Op)) {
    return std::pair<T, std::int64_t>(found.value, found.index);
  } else {
    return found;
  }
}

/// A family of blocking calls on an execution object that `Make` makes for each call object.
template <class Make>
struct fanin_blocking {
  static constexpr bool takes_exact_sums = true;

  template <class T, operation Op>
  static constexpr bool offers() {
    return Op != operation::several || std::is_floating_point_v<T>;
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
