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

/// Who began with which of a block's spills: threads, and a bit for each warp.
struct census {
  struct members {
    std::int32_t threads;
    std::uint32_t warps;
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
      if (threadIdx.x % 32 == 0) fanin::atomic_fetch_add(spill.of[0].warps, 1U << threadIdx.x / 32);
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
template <int Bytes>
struct room {
  using value_type = std::int64_t;
  using accumulator_type = fanin_test::counters_of<Bytes / 4>;
  using gathering = fanin::gathering_in_counters<accumulator_type, std::int32_t>;
  accumulator_type identity() const { return {}; }
  void fold(typename gathering::state_type&, std::int64_t, std::int64_t) const {}
  void join(accumulator_type&, const accumulator_type&) const {}
};

/// A block has a spill for each of its warps, or as many as there is room for: each for its share of the warps.
TEST(spills, are_for_a_warp_each_or_for_several) {
  simulator::begin(simulator::schedule(5));
  const fanin::cuda gpu;
  const auto expect_spills = [&](const auto& found, int warps, int spills) {
    for (int k = 0; k < 33; ++k) {
      census::members expected{};
      for (int warp = 0; warp < warps; ++warp) {
        if (warp % spills == k) expected = {expected.threads + 32, expected.warps | 1U << warp};
      }
      EXPECT_EQ(found.of[k], expected) << warps << " warps, " << spills << " spills, number " << k;
    }
  };
  for (const int warps : {1, 2, 3, 8, 31, 32}) {
    const auto view = gpu.with<rows::one_pass>({.block_size = 32 * warps, .grid_size = 1});
    for (int again = 0; again < 2; ++again) {  // asked of the device, and known
      expect_spills(fanin::parallel_reduce(fanin::range(view, 100), index{}, census{}), warps, warps);
      EXPECT_EQ(gpu.last_launch().shared_bytes, static_cast<std::size_t>(warps) * 272);
    }
  }
  // Of 33,040 bytes three fit where two blocks share a multiprocessor, and seven where it takes one.
  for (const auto& [warps, spills] : {std::pair{16, 3}, std::pair{2, 2}, std::pair{32, 7}}) {
    const auto view = gpu.with<rows::one_pass>({.block_size = 32 * warps, .grid_size = 1});
    const auto got = fanin::parallel_reduce(fanin::range(view, 100), index{}, census{}, room<32'768>{});
    expect_spills(fanin::get<0>(got), warps, spills);
  }
}

/// Without a tuning there are as many as there are elements enough for.
TEST(spills, of_few_elements) {
  simulator::schedule how(6);
  how.multiprocessors = 1;
  simulator::begin(how);
  const fanin::cuda gpu;
  const auto spills_for = [&](std::int64_t n) {
    fanin::parallel_reduce(fanin::range(gpu, n), index{}, room<256>{});
    return gpu.last_launch().shared_bytes / 256;
  };
  constexpr std::int64_t enough = fanin::detail::elements_of_spill;
  EXPECT_EQ(spills_for(1), 1U);
  EXPECT_EQ(spills_for(enough - 1), 1U);
  EXPECT_EQ(spills_for(enough), 2U);
  EXPECT_EQ(spills_for(5 * enough - 1), 5U);
  EXPECT_EQ(spills_for(100 * enough), 32U);
}

}  // namespace
}  // namespace simulator_test
