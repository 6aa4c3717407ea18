// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <mpi.h>

#include <fanin/mpi/exchange.hpp>

#include "communicators.hpp"
#include "messages.hpp"

namespace fanin::detail {

/// Many results, of which each rank makes a slice: it gets that of every rank's part, and sends every rank what comes
/// of it. So a rank sends and receives about the bytes of its part and those of all results, however many ranks there
/// are. None of it waits; every rank has to come back until it is over there.
class exchange_in_slices {
 public:
  /// The numbers, tags, are alike on all ranks, and of no other messages that may be under way over `comm` at the same
  /// time.
  exchange_in_slices(MPI_Comm comm, int number_of_parts, int number_of_results, const many_to_come& many)
      : comm_{comm},
        tag_of_parts_{number_of_parts},
        tag_of_results_{number_of_results},
        rank_{rank_in(comm)},
        size_{size_of_comm(comm)},
        many_{many},
        failed_(static_cast<std::size_t>(size_)) {
    (void)count_for_mpi(length(0) * std::max(many.accumulator_bytes, many.result_bytes));  // none is longer
    received_ = rank_array<std::byte>(static_cast<std::size_t>(size_ - 1) * length(rank_) * many.accumulator_bytes);
    slices_.resize(static_cast<std::size_t>(size_));
    requests_.reserve(4 * static_cast<std::size_t>(size_ - 1));
  }
  /// What a part that has failed sends. Before begin().
  void make_nothing() { nothing_.resize(length(0) * many_.accumulator_bytes); }

  /// Null where the part has failed, of which there is nothing.
  void begin(std::byte* part) {
    failed_[static_cast<std::size_t>(rank_)] = part == nullptr ? 1 : 0;
    std::byte* room = received_.data();
    for_others([&](int rank, std::size_t at) {
      receive(rank, &failed_[at], sizeof(failed_[at]), tag_of_parts_);
      slices_[at] = room;
      receive(rank, room, length(rank_) * many_.accumulator_bytes, tag_of_parts_);
      room += length(rank_) * many_.accumulator_bytes;
    });
    for_others([&](int rank, std::size_t) {
      send(rank, &failed_[static_cast<std::size_t>(rank_)], sizeof(failed_[0]), tag_of_parts_);
      const std::byte* const slice = part == nullptr ? nothing_.data() : part + before(rank) * many_.accumulator_bytes;
      send(rank, slice, length(rank) * many_.accumulator_bytes, tag_of_parts_);
    });
    if (part == nullptr) return;
    results_ = many_.place_of_results();
    slices_[static_cast<std::size_t>(rank_)] = part + before(rank_) * many_.accumulator_bytes;
  }
  /// Whether it is, now; goes on with it where it may.
  bool is_over() {
    if (!are_requests_over(requests_)) return false;
    if (std::exchange(has_made_slice_, true)) return true;
    if (failed() != 0) return true;  // which all ranks know
    requests_.clear();
    make_slice();
    for_others([&](int rank, std::size_t at) {
      receive(rank, &failed_[at], sizeof(failed_[at]), tag_of_results_);
      receive(rank, results_of(rank), length(rank) * many_.result_bytes, tag_of_results_);
    });
    for_others([&](int rank, std::size_t) {
      send(rank, &failed_[static_cast<std::size_t>(rank_)], sizeof(failed_[0]), tag_of_results_);
      send(rank, results_of(rank_), length(rank_) * many_.result_bytes, tag_of_results_);
    });
    return are_requests_over(requests_);
  }

  /// How many ranks have, when it is over.
  std::int64_t failed() const {
    return static_cast<std::int64_t>(std::accumulate(failed_.begin(), failed_.end(), std::uint64_t{0}));
  }

 private:
  /// Of the first rank's, to which the others' are joined in turn. One that throws is a rank's that failed.
  void make_slice() {
    try {
      many_.check_place();
      for (std::size_t rank = 1; rank < slices_.size(); ++rank) many_.join(slices_[0], slices_[rank], length(rank_));
      many_.make_results(results_of(rank_), slices_[0], length(rank_));
    } catch (...) {
      failed_[static_cast<std::size_t>(rank_)] = 1;
    }
  }

  template <class Use>
  void for_others(const Use& use) const {
    for (int rank = 0; rank < size_; ++rank) {
      if (rank != rank_) use(rank, static_cast<std::size_t>(rank));
    }
  }
  /// How many results ranks before this one make.
  std::size_t before(int rank) const {
    const auto ranks = static_cast<std::size_t>(size_);
    const auto at = static_cast<std::size_t>(rank);
    return many_.results / ranks * at + std::min(many_.results % ranks, at);
  }
  std::size_t length(int rank) const { return before(rank + 1) - before(rank); }
  std::byte* results_of(int rank) const { return results_ + before(rank) * many_.result_bytes; }

  void receive(int from, void* to, std::size_t bytes, int tag) {
    requests_.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Irecv(to, count_for_mpi(bytes), MPI_BYTE, from, tag, comm_, &requests_.back()), "MPI_Irecv");
  }
  void send(int to, const void* from, std::size_t bytes, int tag) {
    requests_.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Isend(from, count_for_mpi(bytes), MPI_BYTE, to, tag, comm_, &requests_.back()), "MPI_Isend");
  }

  MPI_Comm comm_;
  int tag_of_parts_;
  int tag_of_results_;
  int rank_;
  int size_;
  const many_to_come& many_;
  bool has_made_slice_ = false;
  std::vector<std::uint64_t> failed_;  ///< of each rank: 1, or 0
  std::byte* results_ = nullptr;       ///< of all
  rank_array<std::byte> received_;
  std::vector<std::byte> nothing_;
  std::vector<std::byte*> slices_;  ///< of each rank's part
  std::vector<MPI_Request> requests_;
};

}  // namespace fanin::detail
