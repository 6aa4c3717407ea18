// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include <mpi.h>

#include "communicators.hpp"
#include "messages.hpp"

namespace fanin::detail {

/// A block of every rank on every rank, by messages between two of them, in as many rounds as the number of the last
/// rank has binary digits (J. Bruck et al., 1997): in the round of distance 1, 2, 4, ... a rank sends the blocks that
/// it has so far to the one so far before it, and gets those that this one's counterpart behind it has. Waits for
/// nothing; every rank has to come back to it until it is over there.
class gather_in_rounds {
 public:
  /// `number`, a tag, is alike on all ranks, and of no other one that may be under way over `comm` at the same time.
  gather_in_rounds(MPI_Comm comm, int number)
      : comm_{comm}, tag_{number}, rank_{rank_in(comm)}, size_{size_of_comm(comm)} {
    const auto rounds = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(size_ - 1)));
    received_.resize(rounds, MPI_REQUEST_NULL);
    sent_.resize(rounds, MPI_REQUEST_NULL);
  }

  /// Among `blocks`, one for each rank, one's own is the first. Behind it come those of the next ranks, from the last
  /// one on those of rank 0 and so on. They stay where they are, and as they are, until it is over.
  void begin(std::byte* blocks, std::size_t bytes) {
    blocks_ = blocks;
    bytes_ = bytes;
    for (std::size_t round = 0; round < received_.size(); ++round) {
      check_mpi(MPI_Irecv(blocks_ + static_cast<std::size_t>(distance(round)) * bytes_, bytes_in(round), MPI_BYTE,
                          (rank_ + distance(round)) % size_, tag_, comm_, &received_[round]),
                "MPI_Irecv");
    }
    send_in_round();
  }
  /// Whether it is, now; goes on with it where it may.
  bool is_over() {
    while (round_ < received_.size()) {
      if (!is_request_over(received_[round_])) return false;
      ++round_;
      send_in_round();
    }
    return are_requests_over(sent_);
  }
  /// Which of the blocks is that of rank 0.
  int first() const noexcept { return (size_ - rank_) % size_; }

 private:
  static int distance(std::size_t round) noexcept { return 1 << round; }
  /// The last round may have fewer blocks than there are so far.
  int bytes_in(std::size_t round) const {
    return count_for_mpi(static_cast<std::size_t>(std::min(distance(round), size_ - distance(round))) * bytes_);
  }
  /// What there is so far; nothing behind the last round.
  void send_in_round() {
    if (round_ == sent_.size()) return;
    check_mpi(MPI_Isend(blocks_, bytes_in(round_), MPI_BYTE, (rank_ + size_ - distance(round_)) % size_, tag_, comm_,
                        &sent_[round_]),
              "MPI_Isend");
  }

  MPI_Comm comm_;
  int tag_;
  int rank_;
  int size_;
  std::byte* blocks_ = nullptr;
  std::size_t bytes_ = 0;  ///< of a block
  std::size_t round_ = 0;  ///< whose blocks are to come
  std::vector<MPI_Request> received_;
  std::vector<MPI_Request> sent_;
};

}  // namespace fanin::detail
