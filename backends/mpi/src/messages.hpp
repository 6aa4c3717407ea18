// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <fanin/error.hpp>
#include <fanin/mpi/exchange.hpp>

/// What ranks send each other.
namespace fanin::detail {

/// Messages begin with whether their rank has failed.
inline constexpr std::size_t status_bytes = sizeof(std::uint64_t);

/// Before the words that are summed up: how many have failed.
inline std::vector<std::uint64_t> message_to_sum(const rank_part& part) {
  std::vector<std::uint64_t> words;
  words.reserve(1 + part.summed.size());
  words.push_back(part.has_failed ? 1 : 0);
  words.insert(words.end(), part.summed.begin(), part.summed.end());
  return words;
}
inline std::vector<std::byte> message_to_gather(const rank_part& part) {
  std::vector<std::byte> bytes(status_bytes + part.gathered.size());
  const std::uint64_t status = part.has_failed ? 1 : 0;
  std::memcpy(bytes.data(), &status, status_bytes);
  std::copy(part.gathered.begin(), part.gathered.end(), bytes.begin() + status_bytes);
  return bytes;
}
/// Of `count` messages one behind the other that of rank 0, the `first` one, becomes what all of them together say. The
/// other ranks' stand behind it, from the last one on at the beginning. A join that throws counts as a rank that
/// failed, on whichever rank it is. Behind the first failure nothing is joined.
inline std::byte* join_messages(std::byte* messages, int first, int count, std::size_t bytes, const join_parts& join) {
  const auto message_of = [=](int rank) { return messages + static_cast<std::size_t>((first + rank) % count) * bytes; };
  std::byte* const whole = message_of(0);
  std::uint64_t failed = 0;
  std::memcpy(&failed, whole, status_bytes);
  for (int rank = 1; rank < count; ++rank) {
    const std::byte* const from = message_of(rank);
    std::uint64_t status = 0;
    std::memcpy(&status, from, status_bytes);
    failed += status;
    if (failed != 0) continue;
    try {
      join(whole + status_bytes, from + status_bytes);
    } catch (...) {
      ++failed;
    }
  }
  std::memcpy(whole, &failed, status_bytes);
  return whole;
}

inline int count_for_mpi(std::size_t count) {
  if (count > static_cast<std::size_t>(INT_MAX)) {
    throw invalid_argument("fanin::mpi: the accumulators of a call have " + std::to_string(count) +
                           " bytes, and MPI counts to 2^31 - 1");
  }
  return static_cast<int>(count);
}

}  // namespace fanin::detail
