// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <mpi.h>

#include <fanin/mpi/exchange.hpp>

#include "communicators.hpp"
#include "exchange_under_way.hpp"
#include "gather_in_rounds.hpp"
#include "messages.hpp"
#include "state.hpp"
#include "sum_in_rounds.hpp"

namespace fanin::detail {

/// Of a call with one result. Words are summed up by one collective over all ranks. What is gathered, too, where
/// there are no groups; else it goes from group to group, gathered up to the first rank of all, and broadcast down.
/// Calls that wait do without collectives where there are no groups: all ranks come back until it is over, and messages
/// in rounds are faster.
class exchange_of_result final : public exchange_under_way {
 public:
  exchange_of_result(mpi_state& state, std::shared_ptr<part_to_come> part, join_parts join)
      : exchange_under_way{state},
        part_{std::move(part)},
        join_{std::move(join)},
        is_grouped_{state.is_grouped()},
        size_{state.size} {}
  /// Of a call that waits, whose part is there.
  exchange_of_result(mpi_state& state, rank_part part, join_parts join)
      : exchange_of_result(state, std::shared_ptr<part_to_come>{}, std::move(join)) {
    waits_ = true;
    whole_ = std::move(part);
  }

 private:
  bool goes_in_rounds() const noexcept { return waits_ && !is_grouped_; }
  bool are_sums_over() { return sum_rounds_ ? sum_rounds_->is_over() : is_request_over(of_sums_); }
  bool is_step_over() { return gather_rounds_ ? gather_rounds_->is_over() : is_request_over(of_step_); }

  bool is_part_ready() noexcept override { return part_ == nullptr || part_->is_ready(); }
  void begin() override {
    if (part_ != nullptr) whole_ = std::exchange(part_, nullptr)->take();
    has_sums_ = !whole_.summed.empty();
    has_gathered_ = !whole_.gathered.empty() || !has_sums_;
    if (has_sums_) {
      sums_ = message_to_sum(whole_);
      if (goes_in_rounds()) sum_rounds_.emplace(state().comm(), state().next_number(), sums_.size());
    }
    if (has_gathered_) {
      mine_ = message_to_gather(whole_);
      bytes_ = mine_.size();
      (void)count_for_mpi(bytes_ * static_cast<std::size_t>(std::min(state().size, state().options.gather_up_to)));
      int most = is_grouped_ ? 0 : size_;
      for (const group_level& group : state().levels()) most = group.rank == 0 ? std::max(most, group.size) : most;
      all_.resize(bytes_ * static_cast<std::size_t>(most));
      if (goes_in_rounds()) gather_rounds_.emplace(state().comm(), state().next_number());
    }
    is_under_way();
    if (sum_rounds_) {
      sum_rounds_->begin(sums_);
    } else if (has_sums_) {
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, sums_.data(), count_for_mpi(sums_.size()), MPI_UINT64_T, MPI_SUM,
                               state().comm(), &of_sums_),
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
            MPI_Iallgather(mine_.data(), count, MPI_BYTE, all_.data(), count, MPI_BYTE, state().comm(), &of_step_),
            "MPI_Iallgather");
      }
    }
  }

  void send_up(std::size_t level) {
    group_level& group = state().levels()[level];
    const int count = count_for_mpi(bytes_);
    check_mpi(MPI_Igather(mine_.data(), count, MPI_BYTE, all_.data(), count, MPI_BYTE, 0, group.up.get(), &of_step_),
              "MPI_Igather");
    level_ = level;
  }
  void send_down(std::size_t level) {
    group_level& group = state().levels()[level];
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
  void put_together() override {
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
      group_level& group = state().levels()[level_];
      if (group.rank == 0) {
        join_messages(all_.data(), 0, group.size, bytes_, join_);
        mine_.assign(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(bytes_));
      }
      if (group.rank == 0 && level_ + 1 < state().levels().size()) {
        send_up(level_ + 1);
      } else {
        send_down(level_);
      }
    }
  }

  bool is_over(bool may_go_on) override {
    const bool are_summed = are_sums_over();
    while (has_gathered_ && !is_over_everywhere_) {
      if (!is_step_over()) return false;
      if (is_grouped_) {
        if (!may_go_on) return false;
        finish_step();
      } else {
        is_over_everywhere_ = true;
      }
    }
    return are_summed;
  }

  std::shared_ptr<part_to_come> part_;  ///< until it has begun, unless it was there
  join_parts join_;
  bool is_grouped_;
  int size_;
  bool waits_ = false;  ///< the call that it is of
  bool has_sums_ = false;
  bool has_gathered_ = false;
  bool is_going_down_ = false;
  bool is_over_everywhere_ = false;
  std::size_t bytes_ = 0;
  std::size_t level_ = 0;
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
