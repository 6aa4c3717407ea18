// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "simulator/machine/scheduler.hpp"
#include "simulator/thread.hpp"

/// The bulk copy engine, and its barriers.
namespace simulator {

namespace {

/// What stands in a barrier: a mark, whether it is published, bytes that are awaited, and how many phases have ended.
struct copy_barrier_state {
  std::uint16_t mark;
  std::uint8_t is_published;
  std::uint8_t phases;
  std::uint32_t awaited;
};
static_assert(sizeof(copy_barrier_state) == sizeof(std::uint64_t));
constexpr std::uint16_t mark = 0x5eed;

copy_barrier_state& state_of(void* barrier) { return *static_cast<copy_barrier_state*>(barrier); }
template <unsigned Parity>
bool phase_has_ended(const void* barrier) {
  return static_cast<const copy_barrier_state*>(barrier)->phases % 2 != Parity;
}

struct bulk_copy {
  void* barrier;
  unsigned char* to;
  const unsigned char* from;
  std::size_t bytes;
};
std::vector<bulk_copy> copies;
std::vector<void*> unpublished;  ///< between init and publish no thread gives way

bool is_aligned(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; }

}  // namespace

void forget_bulk_copies() {
  copies.clear();
  unpublished.clear();
}
bool has_bulk_copies_to_move() { return !copies.empty(); }

/// A piece of one, from either end.
bool move_bulk_copy(machine& of) {
  if (copies.empty()) return false;
  const std::size_t k = of.random.below(copies.size());
  bulk_copy& one = copies[k];
  const std::size_t piece = std::min<std::size_t>(one.bytes, std::size_t{4096} << of.random.below(4));
  if (of.random.one_in(2)) {
    std::memcpy(one.to, one.from, piece);
    one.to += piece;
    one.from += piece;
  } else {
    std::memcpy(one.to + one.bytes - piece, one.from + one.bytes - piece, piece);
  }
  one.bytes -= piece;
  copy_barrier_state& state = state_of(one.barrier);
  if ((state.awaited -= static_cast<std::uint32_t>(piece)) == 0) ++state.phases;
  if (one.bytes == 0) copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(k));
  of.note_event();
  return true;
}

// --- thread.hpp

void init_copy_barrier(void* barrier) {
  const strand::pause now(device().current->fibre.get());
  state_of(barrier) = {mark, 0, 0, 0};
  unpublished.push_back(barrier);
}
void publish_copy_barriers(place here) {
  const strand::pause now(device().current->fibre.get());
  if (device().places.is_left_out("publish_copy_barriers", here)) return;
  for (void* const barrier : unpublished) state_of(barrier).is_published = 1;
  unpublished.clear();
}

void begin_bulk_copy(void* barrier, void* to, const void* from, std::uint32_t bytes, place here) {
  const strand::pause now(device().current->fibre.get());
  machine& m = device();
  copy_barrier_state& state = state_of(barrier);
  if (state.mark != mark) m.fault_in_thread("a bulk copy with a barrier that is not initialised", here);
  if (state.is_published == 0) m.fault_in_thread("a bulk copy with a barrier that is not published", here);
  if (state.awaited != 0) m.fault_in_thread("a second bulk copy in one phase of a barrier", here);
  if (!is_aligned(to) || !is_aligned(from) || bytes % 16 != 0) {
    m.fault_in_thread("a bulk copy that is not aligned", here);
  }
  state.awaited = bytes;
  copies.push_back({barrier, static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), bytes});
  // The engine reads and writes behind what this thread did, and before what those do that wait.
  strand& asks = *m.current->fibre;
  asks.reads(from, bytes);
  asks.writes(to, bytes);
  asks.release(barrier);
  m.suspend();
}

void wait_for_bulk_copy(void* barrier, std::uint32_t parity, place here) {
  const strand::pause now(device().current->fibre.get());
  machine& m = device();
  if (m.places.is_left_out("wait", here)) return;
  if (state_of(barrier).mark != mark) m.fault_in_thread("a wait at a barrier that is not initialised", here);
  m.wait_until(parity == 0 ? phase_has_ended<0> : phase_has_ended<1>, barrier, "a bulk copy", here);
  m.current->fibre->acquire(barrier);
}

}  // namespace simulator
