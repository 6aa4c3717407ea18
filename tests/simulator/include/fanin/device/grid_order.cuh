// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/thread.hpp"

/// The simulator's order of grids: as device/include/fanin/device/grid_order.cuh.
namespace fanin::detail {

inline void wait_for_grid_before(simulator::place here = simulator::place::current()) {
  simulator::wait_for_grid_before(here);
}

}  // namespace fanin::detail
