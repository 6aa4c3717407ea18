// SPDX-License-Identifier: Apache-2.0

// The standard library, sequential: std::reduce, std::transform_reduce, std::min_element and
// std::max_element.

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "contenders/functors.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {
namespace {

template <class T>
struct add {
  T operator()(T x, T y) const { return wrapping_sum(x, y); }
};

template <class T>
struct lesser {
  T operator()(T x, T y) const { return y < x ? y : x; }
};

template <class T>
struct greater {
  T operator()(T x, T y) const { return x < y ? y : x; }
};

template <class T, operation Op>
auto std_reduce(const T* x, const T* y, std::int64_t n) {
  const T* end = x + n;
  if constexpr (Op == operation::sum) {
    return std::reduce(x, end, T{}, add<T>{});
  } else if constexpr (Op == operation::min) {
    return std::reduce(x, end, *x, lesser<T>{});
  } else if constexpr (Op == operation::max) {
    return std::reduce(x, end, *x, greater<T>{});
  } else if constexpr (Op == operation::min_loc) {
    const T* at = std::min_element(x, end);
    return std::pair<T, std::int64_t>(*at, at - x);
  } else if constexpr (Op == operation::max_loc) {
    const T* at = std::max_element(x, end);
    return std::pair<T, std::int64_t>(*at, at - x);
  } else if constexpr (Op == operation::sum_of_squares) {
    return std::transform_reduce(x, end, T{}, add<T>{}, square<T>{});
  } else {
    return std::transform_reduce(x, end, y, T{}, add<T>{}, multiply<T>{});
  }
}

struct family {
  template <class T, operation Op>
  static constexpr bool offers() {
    return Op != operation::several;
  }

  template <class T, operation Op>
  std::unique_ptr<call> make(const workload& work) const {
    return make_blocking<T>(work, std_reduce<T, Op>);
  }
};

}  // namespace

void add_std_reduce(registry& to) {
  contender who;
  who.name = "std";
  who.backend = "serial";
  who.propagates_nan = false;
  to.add(of_family(who, family{}));
}

}  // namespace fanin_perf
