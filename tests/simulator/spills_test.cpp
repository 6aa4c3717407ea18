// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include <fanin/cuda/cuda.hpp>
#include <fanin/gathering.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>

#include "simulator/seeds.hpp"
#include "support/user_reducers.hpp"

/// How many spills a block has, and whose they are.
namespace simulator_test {
namespace {

namespace rows = fanin::cuda_strategy;

struct index {
  std::int64_t operator()(std::int64_t i) const { return i; }
};

/// Who began with which of a block's spills: how many threads, and their indices' sum.
struct census {
  struct members {
    std::int32_t threads;
    std::int32_t indices;
    friend bool operator==(const members&, const members&) = default;
  };
  struct spills {
    members of[33];
  };
  using value_type = std::int64_t;
  using accumulator_type = spills;
  struct gathering : fanin::gathering_in_spill<fanin::spill_reference<spills>> {
    static constexpr bool joins_spills = true;
    static constexpr bool splits_spill = true;
    static state_type begin(const census&, spills& spill) {
      fanin::atomic_fetch_add(spill.of[0].threads, 1);
      fanin::atomic_fetch_add(spill.of[0].indices, static_cast<std::int32_t>(threadIdx.x));
      return state_type(spill);
    }
    static void join_spills(const census&, spills& spill, const auto& of, unsigned count, unsigned worker, unsigned) {
      for (unsigned k = 0; worker == 0 && k < count; ++k) spill.of[k + 1] = of(k).of[0];
    }
  };
  spills identity() const { return {}; }
  void fold(gathering::state_type&, std::int64_t, std::int64_t) const {}
  void join(spills&, const spills&) const {}
};

/// Counters of so many bytes, which a thread need not count.
template <int Bytes, class Count = std::int64_t>
struct room {
  using value_type = std::int64_t;
  struct accumulator_type {
    Count of[Bytes / sizeof(Count)];
  };
  using gathering = fanin::gathering_in_counters<accumulator_type, Count>;
  accumulator_type identity() const { return {}; }
  void fold(typename gathering::state_type&, std::int64_t, std::int64_t) const {}
  void join(accumulator_type&, const accumulator_type&) const {}
};

/// A block has a spill for each lane of a warp, or as many as there is room for: each for its share of the threads.
TEST(spills, are_for_a_lane_each_or_for_several) {
  simulator::begin(simulator::schedule(5));
  const fanin::cuda gpu;
  const auto expect_spills = [&](const auto& found, int threads, int spills) {
    for (int k = 0; k < 33; ++k) {
      census::members expected{};
      for (int t = 0; t < threads; ++t) {
        if (t % spills == k) expected = {expected.threads + 1, expected.indices + t};
      }
      EXPECT_EQ(found.of[k], expected) << threads << " threads, " << spills << " spills, number " << k;
    }
  };
  for (const int threads : {32, 64, 96, 256, 992, 1024}) {
    const auto view = gpu.with<rows::one_pass>({.block_size = threads, .grid_size = 1});
    for (int again = 0; again < 2; ++again) {  // asked of the device, and known
      expect_spills(fanin::parallel_reduce(fanin::range(view, 100), index{}, census{}), threads, 32);
      EXPECT_EQ(gpu.last_launch().shared_bytes, 32U * 268) << "an odd number of words apart";
    }
  }
  // Of 33,032 bytes three fit where two blocks share a multiprocessor, and seven where it takes one.
  for (const auto& [threads, spills] : {std::pair{512, 3}, std::pair{64, 3}, std::pair{1024, 7}}) {
    const auto view = gpu.with<rows::one_pass>({.block_size = threads, .grid_size = 1});
    const auto got = fanin::parallel_reduce(fanin::range(view, 100), index{}, census{}, room<32'768>{});
    expect_spills(fanin::get<0>(got), threads, spills);
  }
}

/// Where the tuning leaves the blocks open, there are more than one where there are elements enough.
TEST(spills, of_few_elements) {
  simulator::schedule how(6);
  how.multiprocessors = 1;
  simulator::begin(how);
  const fanin::cuda gpu;
  for (const auto early : {fanin::cuda_early_start::automatic, fanin::cuda_early_start::off}) {
    const auto view = gpu.with<rows::one_pass>({.early_start = early});
    const auto spills_for = [&](std::int64_t n) {
      fanin::parallel_reduce(fanin::range(view, n), index{}, room<264>{});
      return gpu.last_launch().shared_bytes / 264;
    };
    constexpr std::int64_t enough = fanin::detail::elements_of_split_block;
    EXPECT_EQ(spills_for(1), 1U);
    EXPECT_EQ(spills_for(enough - 1), 1U);
    EXPECT_EQ(spills_for(enough), 32U);
  }
}

/// Counters of 4 bytes gain nothing: their block has one spill, which is none of the launch's memory.
TEST(spills, of_small_counters) {
  simulator::begin(simulator::schedule(7));
  const fanin::cuda gpu;
  fanin::parallel_reduce(fanin::range(gpu.with<rows::one_pass>({.grid_size = 1}), 100), index{},
                         room<256, std::int32_t>{});
  EXPECT_EQ(gpu.last_launch().shared_bytes, 0U);
}

}  // namespace
}  // namespace simulator_test
