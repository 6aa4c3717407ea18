// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "gather_in_rounds.hpp"
#include "mpi/parts.hpp"
#include "sum_in_rounds.hpp"
#include "support/data.hpp"

/// What calls that wait exchange by.
namespace fanin_test {
namespace {

std::uint64_t word_at(std::uint64_t draw, int rank, std::size_t place) {
  return mix((draw * 1'000 + static_cast<std::uint64_t>(rank)) * 1'000'000 + place);
}
/// Of a block that is drawn by a word.
std::byte byte_at(std::uint64_t word, std::size_t place) {
  return static_cast<std::byte>((word >> place % 8 * 8) + place / 8);
}

struct one_gather {
  fanin::detail::gather_in_rounds rounds;
  std::uint64_t draw;
  std::size_t bytes;
  std::vector<std::byte> blocks;

  bool is_right(int size) const {
    for (int rank = 0; rank < size; ++rank) {
      const auto block = static_cast<std::size_t>((rounds.first() + rank) % size) * bytes;
      const std::uint64_t word = word_at(draw, rank, 0);
      for (std::size_t place = 0; place < bytes; ++place) {
        if (blocks[block + place] != byte_at(word, place)) return false;
      }
    }
    return true;
  }
};

/// Several at once, of blocks of any size, which every rank goes on with in an order of its own. What is over is
/// overwritten at once: no rank still sends from there, and none receives.
TEST(ranks_rounds, gathers_that_are_under_way_together) {
  const fanin::detail::owned_communicator comm(fanin::detail::duplicate_of(MPI_COMM_WORLD));
  const int rank = fanin::detail::rank_in(comm.get());
  const int size = fanin::detail::size_of_comm(comm.get());
  constexpr std::size_t sizes[] = {16, 16, 16, 1, 5'000, 100'000, 1 << 20};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<one_gather> gathers;
    for (int number = 0; number < 12; ++number) {
      const std::uint64_t draw = seed * 12 + static_cast<std::uint64_t>(number);
      const std::size_t bytes = sizes[mix(draw) % (seed % 5 == 0 ? 7 : 5)];
      std::vector<std::byte> blocks(bytes * static_cast<std::size_t>(size));
      const std::uint64_t word = word_at(draw, rank, 0);
      for (std::size_t place = 0; place < bytes; ++place) blocks[place] = byte_at(word, place);
      gathers.push_back({{comm.get(), number}, draw, bytes, std::move(blocks)});
    }
    for (one_gather& gather : gathers) gather.rounds.begin(gather.blocks.data(), gather.bytes);
    for (std::uint64_t looks = 0; !gathers.empty(); ++looks) {
      const std::uint64_t draw = mix(looks * 64 + static_cast<std::uint64_t>(rank));
      const auto one = gathers.begin() + static_cast<std::ptrdiff_t>(draw % gathers.size());
      if (!one->rounds.is_over()) {
        std::this_thread::yield();
        continue;
      }
      EXPECT_TRUE(one->is_right(size)) << one->draw << ", " << one->bytes << " bytes";
      std::fill(one->blocks.begin(), one->blocks.end(), std::byte{0xa5});
      gathers.erase(one);
    }
  }
}

/// Of all ranks, and of the first ones alone, so that their number has any digits.
TEST(ranks_rounds, sums_that_are_under_way_together) {
  const int all = fanin::detail::size_of_comm(MPI_COMM_WORLD);
  for (const int size : {1, 2, 3, 5, 6, 7, 11, all}) {
    const bool is_in = size <= all && rank_of_world() < size;
    const fanin::detail::owned_communicator comm(
        fanin::detail::part_of(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, rank_of_world()));
    if (!is_in) continue;
    const int rank = fanin::detail::rank_in(comm.get());
    for (const std::size_t words : {1, 73, 73, 2'000}) {
      std::vector<fanin::detail::sum_in_rounds> sums;
      for (int number = 0; number < 12; ++number) sums.emplace_back(comm.get(), number, words);
      for (std::size_t at = 0; at < sums.size(); ++at) {
        std::vector<std::uint64_t> own(words);
        for (std::size_t word = 0; word < words; ++word) own[word] = word_at(at, rank, word);
        sums[at].begin(own);
      }
      std::vector<bool> are_over(sums.size());
      for (std::uint64_t looks = 0; std::count(are_over.begin(), are_over.end(), false) != 0; ++looks) {
        const std::size_t at = mix(looks * 64 + static_cast<std::uint64_t>(rank)) % sums.size();
        are_over[at] = sums[at].is_over();
        if (!are_over[at]) std::this_thread::yield();
      }
      for (std::size_t at = 0; at < sums.size(); ++at) {
        bool is_right = true;
        for (std::size_t word = 0; word < words; ++word) {
          std::uint64_t expected = 0;
          for (int of = 0; of < size; ++of) expected += word_at(at, of, word);
          is_right = is_right && sums[at].sums()[word] == expected;
        }
        EXPECT_TRUE(is_right) << size << " ranks, " << words << " words";
      }
    }
  }
}

}  // namespace
}  // namespace fanin_test
