// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/exact_sum.hpp>

/// Products that a functor rounds: what -ffp-contract=fast must not fuse into the addition that follows.
namespace fanin_test {

/// f(i): x[i] * y[i].
struct rounded_products {
  const double* x;
  const double* y;
  double operator()(std::int64_t i) const { return x[i] * y[i]; }
};

/// f(i, acc): acc += x[i] * y[i].
struct add_rounded_products {
  const double* x;
  const double* y;
  void operator()(std::int64_t i, fanin::exact_sum<double>::thread_state& acc) const { acc += x[i] * y[i]; }
};

}  // namespace fanin_test
