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
#include "exchange_in_slices.hpp"
#include "exchange_under_way.hpp"
#include "gather_in_rounds.hpp"
#include "messages.hpp"
#include "state.hpp"

namespace fanin::detail {

/// Of a call with many results: few of them are gathered and joined by every rank, more in slices, by one each. Joined
/// in the order of the ranks in any case.
class exchange_of_many final : public exchange_under_way {
 public:
  exchange_of_many(mpi_state& state, std::shared_ptr<many_to_come> many, bool waits)
      : exchange_under_way{state},
        many_{std::move(many)},
        are_few_{!state.is_grouped() && many_->accumulator_bytes * many_->results <=
                                            most_gathered_bytes / static_cast<std::size_t>(state.size)},
        waits_{waits},
        size_{state.size} {}

 private:
  /// Of all ranks' parts.
  static constexpr std::size_t most_gathered_bytes = 1 << 16;

  bool is_part_ready() noexcept override { return many_->is_ready(); }
  void begin() override {
    std::byte* const part = many_->take();
    if (!are_few_) {
      const int number = state().next_number();
      slices_.emplace(state().comm(), number, state().next_number(), *many_);
      if (part == nullptr) slices_->make_nothing();
      is_under_way();
      return slices_->begin(part);
    }
    bytes_ = status_bytes + many_->results * many_->accumulator_bytes;
    all_.resize(bytes_ * static_cast<std::size_t>(size_ + (waits_ ? 0 : 1)));
    if (waits_) rounds_.emplace(state().comm(), state().next_number());
    const std::uint64_t status = part == nullptr ? 1 : 0;
    std::memcpy(all_.data(), &status, status_bytes);
    if (part != nullptr) std::copy_n(part, bytes_ - status_bytes, all_.data() + status_bytes);
    is_under_way();
    if (waits_) {
      rounds_->begin(all_.data(), bytes_);
    } else {
      const int count = count_for_mpi(bytes_);
      check_mpi(MPI_Iallgather(all_.data(), count, MPI_BYTE, all_.data() + bytes_, count, MPI_BYTE, state().comm(),
                               &gathered_),
                "MPI_Iallgather");
    }
  }
  bool is_over(bool) override {
    if (slices_) return slices_->is_over();
    return rounds_ ? rounds_->is_over() : is_request_over(gathered_);
  }
  void put_together() override {
    if (slices_) {
      failed_ = slices_->failed();
      return slices_.reset();
    }
    const auto join = [this](std::byte* into, const std::byte* from) { many_->join(into, from, many_->results); };
    const std::byte* const whole =
        join_messages(waits_ ? all_.data() : all_.data() + bytes_, rounds_ ? rounds_->first() : 0, size_, bytes_, join);
    std::uint64_t failed = 0;
    std::memcpy(&failed, whole, status_bytes);
    failed_ = static_cast<std::int64_t>(failed);
    if (failed_ != 0) return;
    many_->check_place();
    try {
      many_->make_results(many_->place_of_results(), whole + status_bytes, many_->results);
    } catch (...) {
      failed_ = 1;  // as in a slice
    }
  }

  std::shared_ptr<many_to_come> many_;
  bool are_few_;
  bool waits_;
  int size_;
  std::optional<exchange_in_slices> slices_;
  // Of few.
  std::size_t bytes_ = 0;
  std::vector<std::byte> all_;
  std::optional<gather_in_rounds> rounds_;  ///< of calls that wait
  MPI_Request gathered_ = MPI_REQUEST_NULL;
};

/// Of one rank, where whoever looks takes the part.
class exchange_of_many_of_one final : public rank_exchange {
 public:
  explicit exchange_of_many_of_one(std::shared_ptr<many_to_come> many) : many_{std::move(many)} {}
  bool is_done() override { return many_ == nullptr || many_->is_ready(); }
  void wait() override {
    if (many_ == nullptr) return;
    const std::shared_ptr<many_to_come> many = std::exchange(many_, nullptr);
    const std::byte* const part = many->take();
    failed_ = part == nullptr ? 1 : 0;
    if (part != nullptr) many->make_results(many->place_of_results(), part, many->results);
  }

 private:
  std::shared_ptr<many_to_come> many_;
};

}  // namespace fanin::detail
