// SPDX-License-Identifier: Apache-2.0
#pragma once

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
};

}  // namespace fanin::detail
