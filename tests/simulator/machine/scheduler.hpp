// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "simulator/machine.hpp"
#include "simulator/machine/fences.hpp"
#include "simulator/machine/generator.hpp"
#include "simulator/machine/grids.hpp"
#include "simulator/machine/memory.hpp"

namespace simulator {

/// Places in the code that are noted, or left out.
class ordering_places {
 public:
  std::set<ordering_place>* seen = nullptr;
  void leave_out(const ordering_place* one);
  bool is_left_out(const char* what, const place& here) const;

 private:
  ordering_place left_out_;
  bool leaves_out_ = false;
};

/// The device: whose turn it is.
class machine {
 public:
  machine() : how{0}, random{0}, memory{random} {}

  schedule how;
  generator random;
  device_memory memory;
  mapped_memory mailboxes;
  fences orders;
  ordering_places places;
  exploration* search = nullptr;
  std::string fault_text;
  counts so_far;
  std::vector<std::unique_ptr<stream>> streams;
  thread* current = nullptr;

  void begin(const schedule& next);
  void end();
  bool failed() const { return !fault_text.empty(); }

  // --- The host's side
  bool run(const std::function<bool()>& until);
  void run_some(std::uint64_t most);
  /// Of a host that does not wait: where nobody can go on it may still launch what others wait for.
  void run_while_host_goes_on(std::uint64_t most);
  /// While the host does something else; what the device wrote to it arrives, or a part.
  void run_beside_host();
  bool is_idle() const;
  /// The same, and what the device wrote for the host is there.
  bool finish(const std::function<bool()>& until);

  // --- A thread's side: instructions.cpp calls it
  /// Lets others go on. `naps` of 65536 times until nobody else can.
  void suspend(unsigned naps);
  void suspend() { suspend(how.naps); }
  /// Around an access to memory that others access.
  void suspend_at_memory() { suspend(how.naps_at_memory); }
  void set_ready(thread& one);
  void wait(const char* what, const place& here);
  /// A thread that looks at memory again and again, which does not change, waits until it does.
  void look_again(const void* at, const place& here);
  void wait_until(bool (*there)(const void*), const void* of_what, const char* what, const place& here);
  /// Something on which threads may wait has happened.
  void note_event() { something_changed_ = true; }
  [[noreturn]] void fault_in_thread(const std::string& what, const place& here);
  void observe(const void* bytes, std::size_t count);

  // --- Grids: grids.cpp
  void note_work() { streams_may_advance_ = true; }
  void let_next_grid_start(block& b);
  std::vector<grid*> kernels() const;

 private:
  static bool is_ready(const thread& one) { return (one.of->warps[one.warp()].ready >> one.lane() & 1) != 0; }
  void set_waiting(thread& one, const char* what, const place& here);

  bool step();
  block* pick_block();
  unsigned pick(std::uint32_t mask, order by, unsigned last);
  void run_thread(thread& one);
  bool do_something_else();
  bool wake_waiters();
  bool wake_lookers();
  bool wake_napper();
  /// Forgets all kernels.
  void stop();
  /// What every thread that has not ended does, and whom it waits for: report.cpp.
  std::string where_all_are() const;

  // exploration.cpp
  bool step_of_search();
  std::uint64_t state_of_all();

  // grids.cpp
  bool start_next();
  void start_block(grid& g, const std::shared_ptr<cluster>& together);
  void retire(block& b);
  void complete(grid& g);
  bool complete_one();
  void advance_streams();

  std::vector<block*> running_;
  block* last_block_ = nullptr;
  std::size_t turn_ = 0;
  std::vector<std::unique_ptr<strand>> strands_;
  std::vector<thread*> lookers_;
  std::uint64_t version_of_lookers_ = 0;
  unsigned rounds_ = 0;
  std::vector<thread*> waiters_;
  std::vector<thread*> nappers_;
  bool something_changed_ = false;
  bool host_goes_on_ = false;
  bool streams_may_advance_ = false;
  bool may_start_ = false;  ///< there may be blocks that have not started, of grids that have begun
  std::uint64_t steps_ = 0;
};

inline machine& device() {
  static machine one;
  return one;
}

/// file:line
std::string name_of(const place& here);

/// The engine that brings memory of the device into blocks: bulk_copies.cpp.
bool move_bulk_copy(machine& of);
bool has_bulk_copies_to_move();
void forget_bulk_copies();

}  // namespace simulator
