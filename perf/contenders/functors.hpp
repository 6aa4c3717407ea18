// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functors of all contenders. Named structs, not lambdas: units that nvcc compiles for the host
// (Kokkos's host spaces beside CUDA) would run its host-device lambdas slowly.

#include <cstdint>

#include "harness/values.hpp"

namespace fanin_perf {

template <class T>
struct square {
  FANIN_PERF_FUNCTION T operator()(T x) const { return product(x, x); }
};

template <class T>
struct multiply {
  FANIN_PERF_FUNCTION T operator()(T x, T y) const { return product(x, y); }
};

/// x[i]
template <class T>
struct element_value {
  const T* x;
  FANIN_PERF_FUNCTION T operator()(std::int64_t i) const { return x[i]; }
};

/// x[i] * y[i]
template <class T>
struct element_product {
  const T* x;
  const T* y;
  FANIN_PERF_FUNCTION T operator()(std::int64_t i) const { return product(x[i], y[i]); }
};

/// acc += x[i]
template <class T>
struct add_element {
  const T* x;
  FANIN_PERF_FUNCTION void operator()(std::int64_t i, T& acc) const { acc = wrapping_sum(acc, x[i]); }
};

/// acc += x[i] * x[i]
template <class T>
struct add_square {
  const T* x;
  FANIN_PERF_FUNCTION void operator()(std::int64_t i, T& acc) const { acc = wrapping_sum(acc, product(x[i], x[i])); }
};

/// acc += x[i] * y[i]
template <class T>
struct add_product {
  const T* x;
  const T* y;
  FANIN_PERF_FUNCTION void operator()(std::int64_t i, T& acc) const { acc = wrapping_sum(acc, product(x[i], y[i])); }
};

/// The four accumulators of operation::several, by what its x[i] is to each.
template <class T>
struct add_to_four {
  const T* x;
  FANIN_PERF_FUNCTION void operator()(std::int64_t i, T& sum, T& least, T& greatest, T& squares) const {
    const T value = x[i];
    sum = wrapping_sum(sum, value);
    if (value < least) least = value;
    if (greatest < value) greatest = value;
    squares = wrapping_sum(squares, product(value, value));
  }
};

}  // namespace fanin_perf
