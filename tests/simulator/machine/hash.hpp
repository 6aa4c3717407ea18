// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/machine/generator.hpp"

namespace simulator {

inline std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
  return generator(state ^ word * 0x9fb21c651e98df25ULL).next();
}
inline std::uint64_t mixed(std::uint64_t state, const void* bytes, std::size_t count) {
  const auto* const from = static_cast<const unsigned char*>(bytes);
  for (std::size_t k = 0; k < count; ++k) state = (state ^ from[k]) * 0x100000001b3ULL;
  return mixed(state, count);
}

}  // namespace simulator
