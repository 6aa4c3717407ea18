// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "simulator/thread.hpp"

/// The simulator's 16-byte accesses: as device/include/fanin/device/tagged_unit.cuh.
namespace fanin::detail {

struct tagged_unit {
  std::uint32_t payload[3];
  std::uint32_t tag;
};

inline std::uint32_t settled_in_first_lane(std::uint32_t word) { return word; }

inline void store_unit(tagged_unit* to, const tagged_unit& unit, simulator::place here = simulator::place::current()) {
  simulator::store_relaxed_16(to, &unit, here);
}

inline tagged_unit load_unit(const tagged_unit* from, simulator::place here = simulator::place::current()) {
  tagged_unit unit;
  simulator::load_relaxed_16(&unit, from, here);
  return unit;
}
inline std::uint64_t load_half_unit(const tagged_unit* from, simulator::place here = simulator::place::current()) {
  const tagged_unit unit = load_unit(from, here);
  return std::uint64_t{unit.payload[1]} << 32 | unit.payload[0];
}

}  // namespace fanin::detail
