// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fanin/error.hpp>
#include <fanin/mpi/mpi.hpp>

#include "communicators.hpp"

namespace fanin::detail {

class exchange_under_way;

/// Goes on with what is under way over any communicator: what another rank waits for may need a step of this one's.
void advance_all();
/// Looks before a thread gives its core away between them: a result of two ranks' 600 bytes takes 0.7 us without, 2.3
/// with. MPI's own looks do where it knows that there are more ranks than cores.
inline constexpr int most_looks = 1'000;

/// A communicator, and what is under way over it.
class mpi_state {
 public:
  mpi_state(MPI_Comm communicator, const mpi_options& options);
  mpi_state(const mpi_state&) = delete;
  mpi_state& operator=(const mpi_state&) = delete;
  ~mpi_state();

  void require_mpi(const char* call) const {
    const std::string why = why_no_mpi();
    if (!why.empty()) throw state_error(std::string(call) + " over ranks: " + why);
    if (needs_its_thread_ && std::this_thread::get_id() != thread_) {
      throw state_error(std::string(call) +
                        " over ranks: MPI was initialised for calls of one thread, which this one is not; call "
                        "MPI_Init_thread with MPI_THREAD_SERIALIZED or more");
    }
  }

  /// Begins what may begin, in the order of the calls, and makes way for what has been begun: the oldest first, which
  /// alone is between groups.
  void advance();
  void add(std::shared_ptr<exchange_under_way> one);
  bool has_under_way() const;
  bool is_grouped() const noexcept { return !levels_.empty(); }

  /// This rank had no memory to take part in a call: the next one's messages would be taken for that one's.
  void leave_step() noexcept { has_left_step_ = size > 1; }
  bool has_left_step() const noexcept { return has_left_step_; }
  /// The same when an exchange should have begun, behind which others wait to begin.
  void leave_step_of_queue() noexcept {
    leave_step();
    has_lost_queue_ = true;
  }
  bool has_lost_queue() const noexcept { return has_lost_queue_; }
  static constexpr const char* why_not_in_step =
      " over ranks: this rank ran out of memory in a call before, of which the other ranks could not be told and for "
      "which they wait; end the program, since no further call over this communicator can be right";

  MPI_Comm comm() const noexcept { return comm_.get(); }
  /// For what a call tells the others before its exchange, which may have to wait for the exchanges of calls before it.
  MPI_Comm ahead() const noexcept { return ahead_.get(); }
  std::vector<group_level>& levels() noexcept { return levels_; }
  /// The tag of messages that may be under way together with others: alike on all ranks, since exchanges begin in the
  /// order of the calls.
  int next_number() noexcept { return number_ = (number_ + 1) % tags; }

  const mpi_options options;
  int rank = 0;
  int size = 1;

 private:
  static constexpr int tags = 32'768;  ///< that every MPI has

  owned_communicator comm_;
  owned_communicator ahead_;
  std::vector<group_level> levels_;  ///< that this rank is in, from the bottom
  std::deque<std::shared_ptr<exchange_under_way>> under_way_;
  int number_ = 0;
  std::thread::id thread_;
  bool needs_its_thread_ = false;
  std::atomic<bool> has_left_step_ = false;
  bool has_lost_queue_ = false;  ///< with all_states' mutex held
};

}  // namespace fanin::detail
