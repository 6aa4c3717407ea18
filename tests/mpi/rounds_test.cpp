// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gather_in_rounds.hpp"
#include "mpi/parts.hpp"
#include "support/data.hpp"

/// What calls that wait gather by.
namespace fanin_test {
namespace {

std::byte byte_at(std::uint64_t draw, int rank, std::size_t place) {
  return static_cast<std::byte>(mix(draw * 1'000 + static_cast<std::uint64_t>(rank) + place / 8) >> place % 8 * 8);
}

struct one_gather {
  fanin::detail::gather_in_rounds rounds;
  std::uint64_t draw;
  std::size_t bytes;
  std::vector<std::byte> blocks;
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
      for (std::size_t place = 0; place < bytes; ++place) blocks[place] = byte_at(draw, rank, place);
      gathers.push_back({{comm.get(), number}, draw, bytes, std::move(blocks)});
    }
    for (one_gather& gather : gathers) gather.rounds.begin(gather.blocks.data(), gather.bytes);
    for (std::uint64_t looks = 0; !gathers.empty(); ++looks) {
      const std::uint64_t draw = mix(looks * 64 + static_cast<std::uint64_t>(rank));
      const auto one = gathers.begin() + static_cast<std::ptrdiff_t>(draw % gathers.size());
      if (!one->rounds.is_over()) continue;
      bool is_right = true;
      for (int of = 0; of < size; ++of) {
        const auto block = static_cast<std::size_t>((one->rounds.first() + of) % size) * one->bytes;
        for (std::size_t place = 0; place < one->bytes; ++place) {
          is_right = is_right && one->blocks[block + place] == byte_at(one->draw, of, place);
        }
      }
      EXPECT_TRUE(is_right) << one->draw << ", " << one->bytes << " bytes";
      std::fill(one->blocks.begin(), one->blocks.end(), std::byte{0xa5});
      gathers.erase(one);
    }
  }
}

}  // namespace
}  // namespace fanin_test
