// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include <mpi.h>

#include "messages_in_rounds.hpp"

namespace fanin::detail {

/// A block of every rank on every rank: in each round one sends those that it has so far, and gets those that the rank
/// behind it has (J. Bruck et al., 1997). As in messages_in_rounds.
class gather_in_rounds {
 public:
  gather_in_rounds(MPI_Comm comm, int number) : messages_{comm, number} {}

  /// Of `blocks`, one for each rank, one's own is the first. Behind it come those of the next ranks, from the last one
  /// on those of rank 0 and so on. They stay where they are, and as they are, until it is over.
  void begin(std::byte* blocks, std::size_t bytes) {
    blocks_ = blocks;
    bytes_ = bytes;
    for (std::size_t round = 0; round < messages_.rounds(); ++round) {
      const auto behind = static_cast<std::size_t>(messages_.distance(round));
      messages_.receive(round, blocks_ + behind * bytes_, bytes_in(round));
    }
    send();
  }
  /// Whether it is, now; goes on with it where it may.
  bool is_over() {
    while (round_ < messages_.rounds()) {
      if (!messages_.is_received(round_)) return false;
      ++round_;
      send();
    }
    return messages_.are_sent();
  }
  /// Which of the blocks is that of rank 0.
  int first() const noexcept { return (messages_.size() - messages_.rank()) % messages_.size(); }

 private:
  void send() {
    if (round_ < messages_.rounds()) messages_.send(round_, blocks_, bytes_in(round_));
  }
  /// The last round may have fewer blocks than there are so far.
  std::size_t bytes_in(std::size_t round) const noexcept {
    const int distance = messages_.distance(round);
    return static_cast<std::size_t>(std::min(distance, messages_.size() - distance)) * bytes_;
  }

  messages_in_rounds messages_;
  std::byte* blocks_ = nullptr;
  std::size_t bytes_ = 0;  ///< of a block
  std::size_t round_ = 0;  ///< whose blocks are to come
};

}  // namespace fanin::detail
