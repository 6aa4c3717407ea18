// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <fanin/parallel_reduce.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>
#include <fanin/tuple.hpp>

// A tuple of values, one for each reducer: as many as there are, of types that convert.

struct candidate {
#if defined(TOO_FEW)
  fanin::tuple<double, double> operator()(std::int64_t) const { return {1.0, 2.0}; }
#else
  fanin::tuple<double, double, int> operator()(std::int64_t) const { return {1.0, 2.0, 3}; }
#endif
};

auto use() {
  return fanin::parallel_reduce(fanin::range(fanin::serial{}, 10), candidate{}, fanin::sum<double>{},
                                fanin::max<double>{}, fanin::sum<int>{});
}
