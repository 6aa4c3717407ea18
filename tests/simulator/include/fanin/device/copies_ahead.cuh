// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simulator/thread.hpp"

/// The simulator's copies ahead: as device/include/fanin/device/copies_ahead.cuh. Those of some blocks come at once,
/// those of others as late as they may.
namespace fanin::detail {

class copies_ahead {
 public:
  template <int Count, class T>
  void copy(T* to, int to_step, const T* from, std::int64_t from_step) {
    for (int k = 0; k < Count; ++k) begin({to + k * to_step, from + k * from_step, sizeof(T)});
  }
  void wait() {
    for (; asked_ > 0; --asked_) arrive(waiting_[asked_ - 1]);
  }

 private:
  struct one_copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  static constexpr std::size_t most = 64;

  static void arrive(const one_copy& what) { std::memcpy(what.to, what.from, what.bytes); }
  void begin(const one_copy& what) {
    if (!simulator::is_memory_of_block(what.to)) simulator::fault("a copy ahead to what is no memory of the block");
    if (blockIdx.x % 2 == 0 || asked_ == most) return arrive(what);
    waiting_[asked_++] = what;
  }

  std::array<one_copy, most> waiting_;
  std::size_t asked_ = 0;
};

}  // namespace fanin::detail
