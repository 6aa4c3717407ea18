// SPDX-License-Identifier: Apache-2.0
// With -ffast-math: <fanin/fanin.hpp> compiles, exact sums do not.
#if defined(THE_HEADER)
#include <fanin/exact_sum.hpp>
#else
#include <fanin/fanin.hpp>
#endif

#include <vector>

double f(const std::vector<double>& x) {
#if defined(THE_SUM)
  return fanin::reduce(fanin::serial{}, x, fanin::exact_sum<double>{});
#elif defined(THE_DOT)
  fanin::exact_dot(fanin::serial{}, x, x);
#elif defined(THE_DOT_INTO)
  double dot = 0;
  fanin::exact_dot_into(&dot, fanin::serial{}, x, x);
#endif
  return x.empty() ? 0 : x.front();
}
