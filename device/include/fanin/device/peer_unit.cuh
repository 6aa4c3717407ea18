// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/device/tagged_unit.cuh>

/// Units in the memory of another device, which this one reaches, and in this one's, to which others write.
namespace fanin::detail {

__device__ inline void store_unit_of_peer(tagged_unit* to, const tagged_unit& unit) {
  const std::uint64_t low = std::uint64_t{unit.payload[1]} << 32 | unit.payload[0];
  const std::uint64_t high = std::uint64_t{unit.tag} << 32 | unit.payload[2];
  asm volatile("{ .reg .b128 unit; mov.b128 unit, {%1, %2}; st.relaxed.sys.global.b128 [%0], unit; }" ::"l"(to),
               "l"(low), "l"(high)
               : "memory");
}

__device__ inline tagged_unit load_unit_of_peer(const tagged_unit* from) {
  std::uint64_t low;
  std::uint64_t high;
  asm volatile("{ .reg .b128 unit; ld.relaxed.sys.global.b128 unit, [%2]; mov.b128 {%0, %1}, unit; }"
               : "=l"(low), "=l"(high)
               : "l"(from)
               : "memory");
  return {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32), static_cast<std::uint32_t>(high)},
          static_cast<std::uint32_t>(high >> 32)};
}

}  // namespace fanin::detail
