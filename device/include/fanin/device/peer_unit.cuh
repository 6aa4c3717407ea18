// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/device/tagged_unit.cuh>

/// Units in the memory of another device, which this one reaches, and in this one's, to which others write: as
/// store_unit and load_unit, which are for the blocks of one.
namespace fanin::detail {

__device__ inline void store_unit_of_peer(tagged_unit* to, const tagged_unit& unit) {
  const unit_halves halves = unit_halves::of(unit);
  asm volatile("{ .reg .b128 unit; mov.b128 unit, {%1, %2}; st.relaxed.sys.global.b128 [%0], unit; }" ::"l"(to),
               "l"(halves.low), "l"(halves.high)
               : "memory");
}

__device__ inline tagged_unit load_unit_of_peer(const tagged_unit* from) {
  unit_halves halves;
  asm volatile("{ .reg .b128 unit; ld.relaxed.sys.global.b128 unit, [%2]; mov.b128 {%0, %1}, unit; }"
               : "=l"(halves.low), "=l"(halves.high)
               : "l"(from)
               : "memory");
  return halves.unit();
}

}  // namespace fanin::detail
