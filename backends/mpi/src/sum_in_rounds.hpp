// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mpi.h>

#include "messages_in_rounds.hpp"

namespace fanin::detail {

/// The sum of all ranks' words, modulo 2^64, on every rank. Before the round of distance d a rank has two sums, which
/// begin with its own words and go on with those of the ranks behind it: of d ranks, and of the last binary digits of
/// their number, size mod d. In the round it gets both of the rank d behind it, and has them for 2 d. As in
/// messages_in_rounds.
class sum_in_rounds {
 public:
  sum_in_rounds(MPI_Comm comm, int number, std::size_t words)
      : messages_{comm, number},
        words_{words},
        own_(2 * words * (messages_.rounds() + 1)),
        received_(2 * words * messages_.rounds()) {
    (void)count_for_mpi(2 * words * sizeof(std::uint64_t));  // before anything has begun
  }

  void begin(std::span<const std::uint64_t> words) {
    for (std::size_t round = 0; round < messages_.rounds(); ++round) {
      messages_.receive(round, &received_[2 * words_ * round], bytes_in(round));
    }
    std::copy(words.begin(), words.end(), own_.begin());
    send();
  }
  /// Whether it is, now; goes on with it where it may.
  bool is_over() {
    while (round_ < messages_.rounds()) {
      if (!messages_.is_received(round_)) return false;
      add();
      ++round_;
      send();
    }
    return messages_.are_sent();
  }
  /// When it is over.
  std::span<const std::uint64_t> sums() const {
    const bool is_power_of_two = std::has_single_bit(static_cast<unsigned>(messages_.size()));
    return {&own_[2 * words_ * messages_.rounds() + (is_power_of_two ? 0 : words_)], words_};
  }

 private:
  void send() {
    if (round_ < messages_.rounds()) messages_.send(round_, &own_[2 * words_ * round_], bytes_in(round_));
  }
  /// The sum over the rest goes along where there is one that is asked for.
  std::size_t bytes_in(std::size_t round) const noexcept {
    const int distance = messages_.distance(round);
    const bool has_rest = (messages_.size() & distance) != 0 && messages_.size() % distance != 0;
    return (has_rest ? 2 : 1) * words_ * sizeof(std::uint64_t);
  }
  void add() {
    const std::uint64_t* const own = &own_[2 * words_ * round_];
    const std::uint64_t* const received = &received_[2 * words_ * round_];
    std::uint64_t* const next = &own_[2 * words_ * (round_ + 1)];
    const bool is_digit_set = (messages_.size() & messages_.distance(round_)) != 0;
    for (std::size_t word = 0; word < words_; ++word) {
      next[word] = own[word] + received[word];
      const std::size_t of_rest = words_ + word;
      next[of_rest] = is_digit_set ? own[word] + received[of_rest] : own[of_rest];  // none was received: 0
    }
  }

  messages_in_rounds messages_;
  std::size_t words_;
  std::size_t round_ = 0;                ///< whose sums are to come
  std::vector<std::uint64_t> own_;       ///< of each round, both sums
  std::vector<std::uint64_t> received_;  ///< likewise
};

}  // namespace fanin::detail
