// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fanin::detail {

/// 16 bytes that are written and read as a whole, in no order with any others: three words and what says that they are
/// there.
struct tagged_unit {
  std::uint32_t payload[3];
  std::uint32_t tag;
};

/// The same word at each use from here on; by a warp's first lane alone. What an object's gaps hold is not said: of two
/// uses of such a word a compiler takes what it likes, ptxas also behind an empty assembly. An instruction has one
/// result.
__device__ inline std::uint32_t settled_in_first_lane(std::uint32_t word) { return __shfl_sync(1U, word, 0); }

/// A unit as the hardware moves it.
struct unit_halves {
  std::uint64_t low;
  std::uint64_t high;

  __device__ static unit_halves of(const tagged_unit& unit) {
    return {std::uint64_t{unit.payload[1]} << 32 | unit.payload[0], std::uint64_t{unit.tag} << 32 | unit.payload[2]};
  }
  __device__ tagged_unit unit() const {
    return {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32), static_cast<std::uint32_t>(high)},
            static_cast<std::uint32_t>(high >> 32)};
  }
};

__device__ inline void store_unit(tagged_unit* to, const tagged_unit& unit) {
  const unit_halves halves = unit_halves::of(unit);
  asm volatile("{ .reg .b128 unit; mov.b128 unit, {%1, %2}; st.relaxed.gpu.global.b128 [%0], unit; }" ::"l"(to),
               "l"(halves.low), "l"(halves.high)
               : "memory");
}

__device__ inline tagged_unit load_unit(const tagged_unit* from) {
  unit_halves halves;
  asm volatile("{ .reg .b128 unit; ld.relaxed.gpu.global.b128 unit, [%2]; mov.b128 {%0, %1}, unit; }"
               : "=l"(halves.low), "=l"(halves.high)
               : "l"(from)
               : "memory");
  return halves.unit();
}
/// The first two words alone, the first one lowest.
__device__ inline std::uint64_t load_half_unit(const tagged_unit* from) {
  std::uint64_t half;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(half) : "l"(from) : "memory");
  return half;
}

}  // namespace fanin::detail
