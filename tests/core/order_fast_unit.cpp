// SPDX-License-Identifier: Apache-2.0
#define FANIN_TEST_UNIT fast
#include "core/order_unit.hpp"

// Compiled with -ffast-math, and for an FMA where the processor has one.
namespace fanin_test {
std::vector<unsigned char> bytes_by_fast_unit(fanin::serial_order order, const std::vector<double>& x,
                                              const std::vector<double>& y) {
  return fast::bytes_of(order, x, y);
}
}  // namespace fanin_test
