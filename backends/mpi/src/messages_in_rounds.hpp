// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

#include <mpi.h>

#include "communicators.hpp"
#include "messages.hpp"

namespace fanin::detail {

/// A message to one rank and another one from a second in each round, of which there are as many as the number of the
/// last rank has binary digits: in the round of distance 1, 2, 4, ... to the rank so far before it, from the one so far
/// behind it, in a ring. None of it waits; every rank has to come back until it is over there.
class messages_in_rounds {
 public:
  /// `number`, a tag, is alike on all ranks, and of no others that may be under way over `comm` at the same time.
  messages_in_rounds(MPI_Comm comm, int number)
      : comm_{comm}, tag_{number}, rank_{rank_in(comm)}, size_{size_of_comm(comm)} {
    const auto rounds = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(size_ - 1)));
    received_.resize(rounds, MPI_REQUEST_NULL);
    sent_.resize(rounds, MPI_REQUEST_NULL);
  }

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  std::size_t rounds() const noexcept { return sent_.size(); }
  static int distance(std::size_t round) noexcept { return 1 << round; }

  void receive(std::size_t round, void* to, std::size_t bytes) {
    const int source = (rank_ + distance(round)) % size_;
    check_mpi(MPI_Irecv(to, count_for_mpi(bytes), MPI_BYTE, source, tag_, comm_, &received_[round]), "MPI_Irecv");
  }
  void send(std::size_t round, const void* from, std::size_t bytes) {
    const int target = (rank_ + size_ - distance(round)) % size_;
    check_mpi(MPI_Isend(from, count_for_mpi(bytes), MPI_BYTE, target, tag_, comm_, &sent_[round]), "MPI_Isend");
  }
  bool is_received(std::size_t round) { return is_request_over(received_[round]); }
  bool are_sent() { return are_requests_over(sent_); }

 private:
  MPI_Comm comm_;
  int tag_;
  int rank_;
  int size_;
  std::vector<MPI_Request> received_;
  std::vector<MPI_Request> sent_;
};

}  // namespace fanin::detail
