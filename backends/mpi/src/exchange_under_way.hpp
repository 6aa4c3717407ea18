// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include <fanin/error.hpp>
#include <fanin/mpi/exchange.hpp>

#include "state.hpp"

namespace fanin::detail {

/// An exchange by what does not wait in MPI: begun in its turn, and gone on with in looks, until it is complete; then
/// put together by the thread that takes it.
class exchange_under_way : public rank_exchange {
 public:
  explicit exchange_under_way(mpi_state& state) : state_{&state} {}

  bool is_done() override {
    if (is_complete_ || state_ == nullptr) return true;
    state_->require_mpi("fanin::pending::ready");
    advance_all();
    return is_complete_;
  }
  void wait() override {
    if (!is_complete_) {
      if (state_ == nullptr) refuse_what_is_gone();
      state_->require_mpi("fanin::pending::get");
      for (int looks = 0; !is_complete_; ++looks) {
        if (looks > most_looks) std::this_thread::yield();
        advance_all();
      }
    }
    if (error_ != nullptr) std::rethrow_exception(error_);
    if (!std::exchange(is_put_together_, true)) put_together();
  }
  /// Its communicator goes away and has not got it.
  void abandon() noexcept { state_ = nullptr; }

  bool is_complete() const noexcept { return is_complete_; }
  /// Whether MPI may write to it for ever, as one of its functions failed.
  bool may_be_written() const noexcept { return is_under_way_ && error_ != nullptr; }
  /// MPI does not go on with it: whoever waits for it is told.
  void fail(std::exception_ptr why) noexcept {
    error_ = std::move(why);
    is_complete_ = true;
  }
  /// Whether it has, now. Those of all calls before it have.
  bool has_begun() {
    if (has_begun_) return true;
    if (!is_part_ready()) return false;
    has_begun_ = true;
    try {
      if (state_->has_lost_queue()) throw state_error(std::string("fanin::mpi") + mpi_state::why_not_in_step);
      begin();
    } catch (const std::bad_alloc&) {
      if (!is_under_way_) state_->leave_step_of_queue();
      fail(std::current_exception());
    } catch (...) {
      fail(std::current_exception());
    }
    return true;
  }
  /// One look; goes on to steps behind those of other exchanges where it may.
  void look(bool may_go_on) {
    if (!is_complete_) is_complete_ = is_over(may_go_on);
  }

 protected:
  /// Whether begin() would not wait. Does not wait.
  virtual bool is_part_ready() noexcept = 0;
  /// What may be refused, alike on all ranks, and memory come first: MPI writes to what has begun, is_under_way().
  virtual void begin() = 0;
  /// Whether it is, now; goes on with it.
  virtual bool is_over(bool may_go_on) = 0;
  /// By the thread that takes it.
  virtual void put_together() = 0;

  mpi_state& state() const noexcept { return *state_; }
  void is_under_way() noexcept { is_under_way_ = true; }

 private:
  [[noreturn]] static void refuse_what_is_gone() {
    throw state_error(
        "fanin::pending::get: the communicator of this result went away and MPI could not complete what was under way");
  }

  mpi_state* state_;
  bool is_under_way_ = false;     ///< MPI knows of it
  bool is_put_together_ = false;  ///< what came from the ranks
  bool has_begun_ = false;
  std::atomic<bool> is_complete_ = false;  ///< set with all_states' mutex held
  std::exception_ptr error_;               ///< of MPI's, or memory's, when it began
};

}  // namespace fanin::detail
