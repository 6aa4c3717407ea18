// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fanin/error.hpp>
#include <fanin/mpi/exchange.hpp>

#include "communicators.hpp"
#include "gather_in_rounds.hpp"
#include "messages.hpp"
#include "state.hpp"
#include "sum_in_rounds.hpp"

namespace fanin::detail {

/// By what does not wait in MPI. Words are summed up by one collective over all ranks. What is gathered, too, where
/// there are no groups; else it goes from group to group, gathered up to the first rank of all, and broadcast down.
/// Calls that wait do without collectives where there are no groups: all ranks come back until it is over, and messages
/// in rounds are faster.
class exchange_under_way final : public rank_exchange {
 public:
  exchange_under_way(mpi_state& state, std::shared_ptr<part_to_come> part, join_parts join)
      : state_{&state},
        part_{std::move(part)},
        join_{std::move(join)},
        is_grouped_{state.is_grouped()},
        size_{state.size} {}
  /// Of a call that waits, whose part is there.
  exchange_under_way(mpi_state& state, rank_part part, join_parts join)
      : exchange_under_way(state, std::shared_ptr<part_to_come>{}, std::move(join)) {
    waits_ = true;
    whole_ = std::move(part);
  }

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
    if (part_ != nullptr && !part_->is_ready()) return false;
    has_begun_ = true;
    try {
      if (state_->has_lost_queue()) throw state_error(std::string("fanin::mpi") + mpi_state::why_not_in_step);
      if (part_ != nullptr) whole_ = std::exchange(part_, nullptr)->take();
      begin();
    } catch (const std::bad_alloc&) {
      if (!is_under_way_) state_->leave_step_of_queue();
      fail(std::current_exception());
    } catch (...) {
      fail(std::current_exception());
    }
    return true;
  }
  /// One look; goes on to further steps where it may.
  void look(bool may_go_on) {
    if (is_complete_) return;
    const bool are_summed = are_sums_over();
    while (has_gathered_ && !is_over_everywhere_) {
      if (!is_step_over()) return;
      if (is_grouped_) {
        if (!may_go_on) return;
        finish_step();
      } else {
        is_over_everywhere_ = true;
      }
    }
    is_complete_ = are_summed;
  }

 private:
  [[noreturn]] static void refuse_what_is_gone() {
    throw state_error(
        "fanin::pending::get: the communicator of this result went away and MPI could not complete what was under way");
  }
  bool goes_in_rounds() const noexcept { return waits_ && !is_grouped_; }
  bool are_sums_over() { return sum_rounds_ ? sum_rounds_->is_over() : is_request_over(of_sums_); }
  bool is_step_over() { return gather_rounds_ ? gather_rounds_->is_over() : is_request_over(of_step_); }

  /// What may be refused, alike on all ranks, and memory come first: MPI writes to what has begun.
  void begin() {
    has_sums_ = !whole_.summed.empty();
    has_gathered_ = !whole_.gathered.empty() || !has_sums_;
    if (has_sums_) {
      sums_ = message_to_sum(whole_);
      if (goes_in_rounds()) sum_rounds_.emplace(state_->comm(), state_->next_number(), sums_.size());
    }
    if (has_gathered_) {
      mine_ = message_to_gather(whole_);
      bytes_ = mine_.size();
      (void)count_for_mpi(bytes_ * static_cast<std::size_t>(std::min(state_->size, state_->options.gather_up_to)));
      int most = is_grouped_ ? 0 : size_;
      for (const group_level& group : state_->levels()) most = group.rank == 0 ? std::max(most, group.size) : most;
      all_.resize(bytes_ * static_cast<std::size_t>(most));
      if (goes_in_rounds()) gather_rounds_.emplace(state_->comm(), state_->next_number());
    }
    is_under_way_ = true;
    if (sum_rounds_) {
      sum_rounds_->begin(sums_);
    } else if (has_sums_) {
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, sums_.data(), count_for_mpi(sums_.size()), MPI_UINT64_T, MPI_SUM,
                               state_->comm(), &of_sums_),
                "MPI_Iallreduce");
    }
    if (has_gathered_) {
      if (is_grouped_) {
        send_up(0);
      } else if (gather_rounds_) {
        std::copy(mine_.begin(), mine_.end(), all_.begin());
        gather_rounds_->begin(all_.data(), bytes_);
      } else {
        const int count = count_for_mpi(bytes_);
        check_mpi(
            MPI_Iallgather(mine_.data(), count, MPI_BYTE, all_.data(), count, MPI_BYTE, state_->comm(), &of_step_),
            "MPI_Iallgather");
      }
    }
  }

  void send_up(std::size_t level) {
    group_level& group = state_->levels()[level];
    const int count = count_for_mpi(bytes_);
    check_mpi(MPI_Igather(mine_.data(), count, MPI_BYTE, all_.data(), count, MPI_BYTE, 0, group.up.get(), &of_step_),
              "MPI_Igather");
    level_ = level;
  }
  void send_down(std::size_t level) {
    group_level& group = state_->levels()[level];
    check_mpi(MPI_Ibcast(mine_.data(), count_for_mpi(bytes_), MPI_BYTE, 0, group.down.get(), &of_step_), "MPI_Ibcast");
    level_ = level;
    is_going_down_ = true;
  }
  void take_whole(const std::byte* message) {
    std::uint64_t failed = 0;
    std::memcpy(&failed, message, status_bytes);
    failed_ = static_cast<std::int64_t>(failed);
    whole_.gathered = rank_array<std::byte>(message + status_bytes, message + bytes_);
  }
  /// By the thread that takes it.
  void put_together() {
    if (has_gathered_ && is_grouped_) {
      take_whole(mine_.data());
    } else if (has_gathered_) {
      take_whole(join_messages(all_.data(), gather_rounds_ ? gather_rounds_->first() : 0, size_, bytes_, join_));
    }
    if (has_sums_) {
      if (sum_rounds_) std::copy(sum_rounds_->sums().begin(), sum_rounds_->sums().end(), sums_.begin());
      failed_ = std::max(failed_, static_cast<std::int64_t>(sums_[0]));  // a join may have failed, too
      whole_.summed = rank_array<std::uint64_t>(sums_.data() + 1, sums_.data() + sums_.size());
    }
  }
  /// The step between groups is over.
  void finish_step() {
    if (is_going_down_) {
      if (level_ == 0) {
        is_over_everywhere_ = true;
      } else {
        send_down(level_ - 1);
      }
    } else {
      group_level& group = state_->levels()[level_];
      if (group.rank == 0) {
        join_messages(all_.data(), 0, group.size, bytes_, join_);
        mine_.assign(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(bytes_));
      }
      if (group.rank == 0 && level_ + 1 < state_->levels().size()) {
        send_up(level_ + 1);
      } else {
        send_down(level_);
      }
    }
  }

  mpi_state* state_;
  std::shared_ptr<part_to_come> part_;  ///< until it has begun, unless it was there
  join_parts join_;
  bool is_grouped_;
  int size_;
  bool waits_ = false;            ///< the call that it is of
  bool is_under_way_ = false;     ///< MPI knows of it
  bool is_put_together_ = false;  ///< what came from the ranks
  bool has_begun_ = false;
  bool has_sums_ = false;
  bool has_gathered_ = false;
  bool is_going_down_ = false;
  bool is_over_everywhere_ = false;
  std::atomic<bool> is_complete_ = false;  ///< set with all_states' mutex held
  std::size_t bytes_ = 0;
  std::size_t level_ = 0;
  std::exception_ptr error_;  ///< of MPI's, or memory's, when it began
  std::vector<std::uint64_t> sums_;
  std::vector<std::byte> mine_;
  std::vector<std::byte> all_;
  MPI_Request of_sums_ = MPI_REQUEST_NULL;
  MPI_Request of_step_ = MPI_REQUEST_NULL;
  std::optional<sum_in_rounds> sum_rounds_;        ///< instead of of_sums_
  std::optional<gather_in_rounds> gather_rounds_;  ///< instead of of_step_
};

/// Of one rank, where whoever looks takes the part.
class exchange_of_one final : public rank_exchange {
 public:
  explicit exchange_of_one(std::shared_ptr<part_to_come> part) : part_{std::move(part)} {}
  bool is_done() override { return part_ == nullptr || part_->is_ready(); }
  void wait() override {
    if (part_ == nullptr) return;
    whole_ = std::exchange(part_, nullptr)->take();
    failed_ = whole_.has_failed ? 1 : 0;
  }

 private:
  std::shared_ptr<part_to_come> part_;
};

}  // namespace fanin::detail
