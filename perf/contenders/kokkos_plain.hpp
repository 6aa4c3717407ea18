// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plain Kokkos at its best: a range with a 64-bit index (faster than the default `int`, whose loop
// is not unrolled on CUDA) and Kokkos's built-in reducers.

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <utility>

#include "contenders/functors.hpp"
#include "harness/contender.hpp"

namespace fanin_perf {

template <class T, bool Least>
struct take_extreme {
  const T* x;
  KOKKOS_FUNCTION void operator()(std::int64_t i, T& acc) const {
    const T value = x[i];
    if (Least ? value < acc : acc < value) acc = value;
  }
};

template <class T, bool Least>
struct take_place {
  const T* x;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Kokkos::ValLocScalar<T, std::int64_t>& acc) const {
    const T value = x[i];
    if (Least ? value < acc.val : acc.val < value) {
      acc.val = value;
      acc.loc = i;
    }
  }
};

/// What an operation's call leaves behind.
template <class T, operation Op>
struct kokkos_result {
  using type = T;
};
template <class T>
struct kokkos_result<T, operation::min_loc> {
  using type = Kokkos::ValLocScalar<T, std::int64_t>;
};
template <class T>
struct kokkos_result<T, operation::max_loc> {
  using type = Kokkos::ValLocScalar<T, std::int64_t>;
};

template <class T>
struct kokkos_result<T, operation::several> {
  using type = four<T>;
};

/// Runs the operation; `to` is a scalar on the host (the call then waits) or a View of rank 0.
template <class T, operation Op, class Space, class Result>
void kokkos_reduce(const Space& space, const T* x, [[maybe_unused]] const T* y, std::int64_t n, Result& to) {
  using policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  using memory = typename Space::memory_space;
  using target = std::conditional_t<Kokkos::is_view_v<Result>, memory, Kokkos::HostSpace>;
  const policy range(space, 0, n);
  if constexpr (Op == operation::several) {
    // Several reducers: Kokkos waits and copies the values, whatever they go to.
    auto* const four = [&] {
      if constexpr (Kokkos::is_view_v<Result>) {
        return to.data();
      } else {
        return &to;
      }
    }();
    Kokkos::parallel_reduce(range, add_to_four<T>{x}, Kokkos::Sum<T, target>(four->sum),
                            Kokkos::Min<T, target>(four->least), Kokkos::Max<T, target>(four->greatest),
                            Kokkos::Sum<T, target>(four->squares));
  } else if constexpr (Op == operation::sum) {
    Kokkos::parallel_reduce(range, add_element<T>{x}, Kokkos::Sum<T, target>(to));
  } else if constexpr (Op == operation::sum_of_squares) {
    Kokkos::parallel_reduce(range, add_square<T>{x}, Kokkos::Sum<T, target>(to));
  } else if constexpr (Op == operation::dot) {
    Kokkos::parallel_reduce(range, add_product<T>{x, y}, Kokkos::Sum<T, target>(to));
  } else if constexpr (Op == operation::min) {
    Kokkos::parallel_reduce(range, take_extreme<T, true>{x}, Kokkos::Min<T, target>(to));
  } else if constexpr (Op == operation::max) {
    Kokkos::parallel_reduce(range, take_extreme<T, false>{x}, Kokkos::Max<T, target>(to));
  } else if constexpr (Op == operation::min_loc) {
    Kokkos::parallel_reduce(range, take_place<T, true>{x}, Kokkos::MinLoc<T, std::int64_t, target>(to));
  } else {
    Kokkos::parallel_reduce(range, take_place<T, false>{x}, Kokkos::MaxLoc<T, std::int64_t, target>(to));
  }
}

/// The value, or value and index, of what kokkos_reduce() left.
template <class Result>
auto kokkos_value(const Result& found) {
  if constexpr (requires { found.loc; }) {
    return std::pair(found.val, found.loc);
  } else {
    return found;
  }
}

/// A host space, to a scalar.
template <class Space>
struct kokkos_on_host {
  template <class T, operation Op>
  static constexpr bool offers() {
    return Op != operation::several || std::is_floating_point_v<T>;
  }

  template <class T, operation Op>
  std::unique_ptr<call> make(const workload& work) const {
    return make_blocking<T>(work, [space = Space()](const T* x, const T* y, std::int64_t n) {
      typename kokkos_result<T, Op>::type found;
      kokkos_reduce<T, Op>(space, x, y, n, found);
      return kokkos_value(found);
    });
  }
};

inline contender kokkos_described(const char* backend, place where) {
  contender who;
  who.name = "kokkos";
  who.backend = backend;
  who.where = where;
  who.is_baseline = true;
  who.is_peer = true;
  who.smallest_index = false;
  who.propagates_nan = false;
  return who;
}

}  // namespace fanin_perf
