// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "simulator/thread.hpp"

/// The simulator's loads ahead: as device/include/fanin/device/word_ahead.cuh. Some words come at once, others as late
/// as they may.
namespace fanin::detail {

struct word_ahead {
  alignas(16) const unsigned* from;
  unsigned word;

  void load(const unsigned* address) {
    from = reinterpret_cast<std::uintptr_t>(address) % 16 == 0 ? address : nullptr;  // a device would fault
    if (blockIdx.x % 2 == 0) word = __ldcg(from);
  }
  unsigned when_loaded() const { return blockIdx.x % 2 == 0 ? word : __ldcg(from); }
};

}  // namespace fanin::detail
