// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "simulator/thread.hpp"

/// The simulator's bulk copies: as device/include/fanin/device/bulk_copy.cuh, of a device that has the engine.
namespace fanin::detail {

inline constexpr bool has_bulk_copies = true;

/// `word` holds a mark, whether it is published, bytes that are awaited, and how many phases have ended.
struct copy_barrier {
  std::uint64_t word;

  static constexpr std::uint64_t mark = 0x5eed;
  struct parts {
    std::uint16_t mark;
    std::uint8_t is_published;
    std::uint8_t phases;
    std::uint32_t awaited;
  };
  static_assert(sizeof(parts) == sizeof(word));

  void init() {
    of(this) = {mark, 0, 0, 0};
    if (pending() < most_pending) of_thread()[pending()++] = this;
  }
  void copy(void* to, const void* from, std::uint32_t bytes, simulator::place here = simulator::place::current()) {
    parts& state = of(this);
    if (state.mark != mark) simulator::fault("a bulk copy with a barrier that is not initialised", here);
    if (state.is_published == 0) simulator::fault("a bulk copy with a barrier that is not published", here);
    if (state.awaited != 0) simulator::fault("a second bulk copy in one phase of a barrier", here);
    state.awaited = bytes;
    simulator::begin_bulk_copy(this, to, from, bytes);
  }
  void wait(std::uint32_t parity, simulator::place here = simulator::place::current()) {
    if (simulator::is_left_out("wait", here)) return;
    if (of(this).mark != mark) simulator::fault("a wait at a barrier that is not initialised", here);
    simulator::wait_until(parity == 0 ? phase_has_ended<0> : phase_has_ended<1>, this, "a bulk copy", here);
  }

  /// By the engine, when so many bytes have come.
  static void bytes_came(void* barrier, std::uint32_t bytes) {
    parts& state = of(barrier);
    if ((state.awaited -= bytes) == 0) ++state.phases;
  }
  static void publish() {
    while (pending() > 0) of(of_thread()[--pending()]).is_published = 1;
  }

 private:
  static constexpr int most_pending = 64;
  static parts& of(void* barrier) { return *static_cast<parts*>(barrier); }
  template <unsigned Parity>
  static bool phase_has_ended(const void* barrier) {
    return static_cast<const parts*>(barrier)->phases % 2 != Parity;
  }
  /// Between init() and publish() no thread gives way.
  static int& pending() {
    static int count = 0;
    return count;
  }
  static void** of_thread() {
    static void* barriers[most_pending];
    return barriers;
  }
};

inline void publish_copy_barriers(simulator::place here = simulator::place::current()) {
  if (!simulator::is_left_out("publish_copy_barriers", here)) copy_barrier::publish();
}

}  // namespace fanin::detail
