// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "simulator/thread.hpp"

/// The simulator's bulk copies: as device/include/fanin/device/bulk_copy.cuh, of a device that has the engine.
namespace fanin::detail {

inline constexpr bool has_bulk_copies = true;

struct copy_barrier {
  std::uint64_t word;

  void init() { simulator::init_copy_barrier(this); }
  void copy(void* to, const void* from, std::uint32_t bytes, simulator::place here = simulator::place::current()) {
    simulator::begin_bulk_copy(this, to, from, bytes, here);
  }
  void wait(std::uint32_t parity, simulator::place here = simulator::place::current()) {
    simulator::wait_for_bulk_copy(this, parity, here);
  }
};

inline void publish_copy_barriers(simulator::place here = simulator::place::current()) {
  simulator::publish_copy_barriers(here);
}

}  // namespace fanin::detail
