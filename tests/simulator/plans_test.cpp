// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/error.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/gathering.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reducers.hpp>
#include <fanin/segments.hpp>

#include "simulator/seeds.hpp"
#include "support/user_reducers.hpp"

/// What is launched: how many blocks, of how many threads, with how many spills, and whose these are.
namespace simulator_test {
namespace {

namespace rows = fanin::cuda_strategy;

struct number_of_element {
  std::int64_t operator()(std::int64_t, std::int64_t k) const { return k; }
};

struct small_index {
  std::uint32_t operator()(std::int64_t i) const { return static_cast<std::uint32_t>(i); }
};
struct index {
  std::int64_t operator()(std::int64_t i) const { return i; }
};
template <int Words>
struct index_beside : small_index {
  const void* others[Words] = {};
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
    for (const std::int64_t n : {100, 101}) {  // asked of the device, and known
      expect_spills(fanin::parallel_reduce(fanin::range(view, n), index{}, census{}), threads, 32);
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

template <class View>
void expect_sum(const View& view, std::int64_t n) {
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(view, n), index{}, fanin::sum<std::int64_t>{}), n * (n - 1) / 2);
}

/// On 4 multiprocessors, each of which takes two blocks of 512 threads and one of more.
TEST(plans, have_as_many_blocks_as_the_elements_need) {
  simulator::schedule how(2);
  how.multiprocessors = 4;
  simulator::begin(how);
  const fanin::cuda gpu;
  const auto planned = [&](const auto& view, std::int64_t n) {
    expect_sum(view, n);
    const fanin::cuda_launch launch = gpu.last_launch();
    return std::pair{launch.grid_size, launch.block_size};
  };
  // Indices: a lone block with up to 4 a thread, and then as many threads as there are, up to all blocks that are
  // resident.
  EXPECT_EQ(planned(gpu, 1), std::pair(1, 128));
  EXPECT_EQ(planned(gpu, 512), std::pair(1, 128));
  EXPECT_EQ(planned(gpu, 513), std::pair(1, 256));
  EXPECT_EQ(planned(gpu, 4'096), std::pair(1, 1024));
  EXPECT_EQ(planned(gpu, 4'097), std::pair(8, 512));
  // As many as fit, of one size after the other, also of those for which the device is asked again.
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(planned(gpu.with<>({.block_size = 512}), 500'000), std::pair(8, 512));
    EXPECT_EQ(planned(gpu.with<>({.block_size = 768}), 500'000), std::pair(4, 768));
  }
  // Accumulators that go through memory want small blocks: a lone one for what is one round of 8 a thread, of 2 where a
  // functor is 3 words, and of 1 where it is 9.
  const auto planned_wide = [&](const auto& f, std::int64_t n) {
    fanin::parallel_reduce(fanin::range(gpu, n), f, fanin_test::wide_counts{});
    return std::pair{gpu.last_launch().grid_size, gpu.last_launch().block_size};
  };
  EXPECT_EQ(planned_wide(small_index{}, 1'024), std::pair(1, 128));
  EXPECT_EQ(planned_wide(small_index{}, 1'025), std::pair(8, 128));
  EXPECT_EQ(planned_wide(index_beside<3>{}, 256), std::pair(1, 128));
  EXPECT_EQ(planned_wide(index_beside<3>{}, 257), std::pair(3, 128));
  EXPECT_EQ(planned_wide(index_beside<9>{}, 128), std::pair(1, 128));
  EXPECT_EQ(planned_wide(index_beside<9>{}, 129), std::pair(2, 128));
  // Vectors of two: as few blocks as one round of 4 takes.
  const std::vector<std::int64_t> ones(270'000, 1);
  const auto planned_array = [&](std::size_t n) {
    EXPECT_EQ(fanin::reduce(gpu, std::span(ones).first(n), fanin::sum<std::int64_t>{}), static_cast<std::int64_t>(n));
    const fanin::cuda_launch launch = gpu.last_launch();
    return std::pair{launch.grid_size, launch.block_size};
  };
  EXPECT_EQ(planned_array(1'024), std::pair(1, 128));
  EXPECT_EQ(planned_array(8'192), std::pair(1, 1024));
  EXPECT_EQ(planned_array(8'196), std::pair(3, 512));
  EXPECT_EQ(planned_array(16'384), std::pair(4, 512));
  // Then a block a multiprocessor, of which there are 4: of 512 threads for two rounds and a half, of 1024 for eight,
  // as the blocks of a launch leave no room for those of the next.
  EXPECT_EQ(planned_array(16'386), std::pair(4, 512));
  EXPECT_EQ(planned_array(40'960), std::pair(4, 512));
  EXPECT_EQ(planned_array(40'962), std::pair(4, 1024));
  EXPECT_EQ(planned_array(262'144), std::pair(4, 1024));
  EXPECT_EQ(planned_array(262'146), std::pair(8, 512));
  // As many threads as elements, where the tuning says something.
  using one_pass = rows::one_pass;
  EXPECT_EQ(planned(gpu.with<one_pass>({.block_size = 64}), 63), std::pair(1, 64));
  EXPECT_EQ(planned(gpu.with<one_pass>({.block_size = 64}), 65), std::pair(2, 64));
  EXPECT_EQ(planned(gpu.with<one_pass>({.blocks_per_sm = 1}), 5'000), std::pair(4, 512));
  EXPECT_EQ(planned(gpu.with<one_pass>({.block_size = 1024}), 20'000), std::pair(4, 1024));
  EXPECT_EQ(planned(gpu.with<one_pass>({.block_size = 512}), 20'000), std::pair(8, 512));
  // Whole clusters.
  EXPECT_EQ(planned(gpu.with<rows::cluster>({.block_size = 32}), 10), std::pair(8, 32));
  EXPECT_THROW(expect_sum(gpu.with<rows::cluster>({.grid_size = 12}), 10), fanin::invalid_argument);
}

struct add_index {
  void operator()(std::int64_t i, fanin::exact_sum<double>::thread_state& acc) const { acc += static_cast<double>(i); }
};

/// Of segments a warp has one, or two where three quarters of those that can work at once do. Few of them, or long
/// ones, are one launch.
TEST(plans, of_segments) {
  simulator::schedule how(2);
  how.multiprocessors = 4;
  simulator::begin(how);
  const fanin::cuda gpu;
  const auto launched = [&](int n) {
    const std::vector<int> offsets(static_cast<std::size_t>(n) + 1, 0);
    std::vector<std::int64_t> sums(static_cast<std::size_t>(n));
    fanin::parallel_reduce_into(sums.data(), fanin::segments(gpu, offsets), number_of_element{},
                                fanin::sum<std::int64_t>{});
    gpu.synchronize();
    return gpu.last_launch();
  };
  const auto blocks = [&](int n) { return launched(n).grid_size; };
  const int at_once = blocks(100'000) / 4;  // of many there are four rounds
  const int warps = 8 * at_once;
  EXPECT_EQ(blocks(warps), at_once);
  EXPECT_EQ(blocks(warps + 8), at_once + 1);
  EXPECT_EQ(blocks(warps * 3 / 2 - 8), at_once * 3 / 2 - 1);
  EXPECT_EQ(blocks(warps * 3 / 2), at_once * 3 / 4);
  EXPECT_EQ(blocks(warps * 2 - 1), at_once);
  const auto launches = [&](int n) {
    const auto launch = launched(n);
    return std::pair{std::string(launch.strategy), launch.launches};
  };
  using std::string_literals::operator""s;
  EXPECT_EQ(launches(1), std::pair("segments by blocks"s, 1));
  EXPECT_EQ(launches(at_once), std::pair("segments by blocks"s, 1));
  EXPECT_EQ(launches(2 * at_once), std::pair("segments by warps"s, 1));
  EXPECT_EQ(launches(2 * at_once + 1), std::pair("segments"s, 2));
}

/// Which segments of those that are made ready are listed, how many others a warp has at once beside them, where 100
/// blocks work at once, and that there is one launch, of a block for each long one.
TEST(plans, of_prepared_segments) {
  const auto least_listed = [](std::int64_t results, std::int64_t mean) {
    return fanin::detail::kinds_for(results, mean, 100).most_unlisted + 1;
  };
  EXPECT_EQ(least_listed(200, 3), 513);
  EXPECT_EQ(least_listed(201, 64), 129);
  EXPECT_EQ(least_listed(201, 65), 1'025);
  EXPECT_EQ(least_listed(201, 257), 4'097);
  const auto rows = [](std::int64_t results, bool has_much, std::int64_t room) {
    return fanin::detail::rows_beside(8, results, has_much, room, 100);
  };
  EXPECT_EQ(rows(6'400, false, 80), 10);  // in one round
  EXPECT_EQ(rows(6'401, false, 80), 11);
  EXPECT_EQ(rows(4'000, false, 80), 8);
  EXPECT_EQ(rows(16 * 640 + 1, false, 80), 8);
  EXPECT_EQ(rows(4'000, false, -1), 8);
  EXPECT_EQ(fanin::detail::rows_beside(32, 12'000, true, 1, 100), 12);
  EXPECT_EQ(fanin::detail::rows_beside(32, 24'000, true, 1, 100), 20);
  EXPECT_EQ(fanin::detail::rows_beside(32, 24'000, false, 1, 100), 32);

  simulator::begin(simulator::schedule(2));
  const fanin::cuda gpu;
  std::vector<int> offsets(1'001, 0);
  const auto launched = [&] {
    std::vector<std::int64_t> sums(offsets.size() - 1);
    fanin::parallel_reduce_into(sums.data(), fanin::segments(gpu, offsets).prepared(), number_of_element{},
                                fanin::sum<std::int64_t>{});
    gpu.synchronize();
    EXPECT_STREQ(gpu.last_launch().strategy, "prepared segments");
    EXPECT_EQ(gpu.last_launch().launches, 1);
    return gpu.last_launch().grid_size;
  };
  (void)launched();
  offsets.assign({0, 5'000, 9'000, 9'500, 9'510});  // two pieces, a block's, and two of warps
  EXPECT_EQ(launched(), 2 + 1 + 1);
}

/// Of an array the host knows how long segments are on the average.
TEST(plans, of_segments_of_arrays) {
  simulator::schedule how(2);
  how.multiprocessors = 4;
  simulator::begin(how);
  const fanin::cuda gpu;
  const auto launched = [&](std::int64_t n, std::int64_t mean) {
    const std::vector<int> offsets(static_cast<std::size_t>(n) + 1, 0);
    std::vector<std::int64_t> sums(static_cast<std::size_t>(n));
    const std::int64_t nothing = 0;  // is not read, since all segments are empty
    const fanin::segments_data<std::int64_t, int> all{&nothing, n * mean, 1, offsets.data(), n};
    fanin::reduce_into(std::span(sums), gpu, all, fanin::sum<std::int64_t>{});
    gpu.synchronize();
    return gpu.last_launch();
  };
  // As many blocks share pieces as work at once where segments are long.
  const int at_once = launched(1, 1'000'000'000).grid_size - 1;
  EXPECT_EQ(launched(1, 16'384).grid_size, 1);      // nothing to share
  EXPECT_EQ(launched(1, 16'385).grid_size, 1 + 2);  // two pieces
  EXPECT_EQ(launched(at_once, 4'097).grid_size, at_once + (at_once + 1) / 2);
  EXPECT_STREQ(launched(at_once, 2'048).strategy, "segments by warps");
  EXPECT_STREQ(launched(at_once, 2'049).strategy, "segments by blocks");
}

/// How many segments a warp has, where 6 blocks of a multiprocessor work at once: of floats, whose warps stage 512
/// elements at a time, of doubles, 256, and of functors.
TEST(plans, of_segments_for_a_warp) {
  const auto of = [](std::int64_t of_warp, std::int64_t mean, int staged = 512, bool is_guess = false) {
    return fanin::detail::segments_for_warp({of_warp * 80, mean, is_guess, is_guess ? 0 : mean}, 60, 10, staged);
  };
  EXPECT_EQ(of(1, 16), 1u);
  EXPECT_EQ(of(8, 16), 1u);
  EXPECT_EQ(of(9, 16), 2u);
  EXPECT_EQ(of(17, 16), 2u);
  EXPECT_EQ(of(96, 16), 32u);        // by half of the blocks
  EXPECT_EQ(of(62, 16), 21u);        // three blocks' even shares
  EXPECT_EQ(of(95, 27), 16u);        // staged at once
  EXPECT_EQ(of(95, 27, 256), 16u);   // staged twice
  EXPECT_EQ(of(142, 20, 256), 24u);  // from where 64 bytes begin
  EXPECT_EQ(of(285, 27, 256), 24u);  // from there, too
  EXPECT_EQ(of(249, 64, 256), 23u);  // 32 would leave half of the second time empty
  EXPECT_EQ(of(384, 0), 32u);
  EXPECT_EQ(of(100'000, 27), 18u);  // of many segments as many as are staged at once,
  EXPECT_EQ(of(100'000, 16), 32u);
  EXPECT_EQ(of(100'000, 33), 30u);  // or twice as many
  EXPECT_EQ(of(100'000, 33, 256), 28u);
  EXPECT_EQ(of(100'000, 15), 32u);
  EXPECT_EQ(of(100'000, 512), 32u);
  EXPECT_EQ(of(100'000, 600), 32u);
  EXPECT_EQ(of(100'000, 27, 512, true), 32u);
  EXPECT_EQ(fanin::detail::segments_for_warp({8'000'000, 27, false}, 60, 10, 512), 32u);  // lengths differ
  EXPECT_EQ(of(125, 2'048, 512, true), 21u);
  EXPECT_EQ(of(32, 2'048, 256, true), 7u);
  EXPECT_EQ(of(4'000'000'000, 2'048, 256, true), 32u);
  EXPECT_EQ(of(20, std::int64_t{1} << 60), 4u);
}

/// Whether all segments have one length, but for a shorter one, is told by how many elements there are; and where they
/// have none of 8, 16, 24, 32, 64 and so on, their elements lie without gaps.
TEST(plans, of_gaps_between_staged_elements) {
  using fanin::detail::staged_gaps;
  const auto gaps = [](std::int64_t n, std::int64_t elements) {
    return fanin::detail::gaps_for({n, elements / n, false, fanin::detail::length_of_all(n, elements)});
  };
  for (const std::int64_t n : {std::int64_t{1'000}, std::int64_t{1} << 30}) {
    EXPECT_EQ(gaps(n, 0), staged_gaps::behind_16);
    for (const std::int64_t length : {8, 16, 24, 32, 64, 96, 128}) {
      EXPECT_EQ(gaps(n, n * length), staged_gaps::behind_16) << length;
      EXPECT_EQ(gaps(n, n * length - length + 1), staged_gaps::behind_16) << length;
    }
    for (const std::int64_t length : {10, 15, 17, 20, 30, 31, 33, 40, 48, 60, 65, 100, 127}) {
      EXPECT_EQ(gaps(n, n * length), staged_gaps::none) << length;
      EXPECT_EQ(gaps(n, n * length - length + 1), staged_gaps::none) << length;
      EXPECT_EQ(gaps(n, n * length - length), staged_gaps::behind_16) << length;
      EXPECT_EQ(gaps(n, n * length + 1), staged_gaps::behind_16) << length;
    }
  }
  EXPECT_EQ(fanin::detail::gaps_for({1'000, 2'048, true}), staged_gaps::behind_16);
}

/// In one launch or two, by blocks or by warps, by figures of a GPU on which 500 blocks work at once.
TEST(plans, of_segments_of_known_lengths) {
  using fanin::detail::segments_known;
  const auto launches = [](std::int64_t n, std::int64_t mean, bool is_guess = false, bool may_have_block_each = false) {
    return fanin::detail::go_in_one_launch(segments_known{n, mean, is_guess}, 500, may_have_block_each) ? 1 : 2;
  };
  EXPECT_EQ(launches(2'000, 512), 1);
  EXPECT_EQ(launches(2'001, 512), 2);
  EXPECT_EQ(launches(4'000, 4'096), 1);
  EXPECT_EQ(launches(4'001, 4'096), 2);
  EXPECT_EQ(launches(131'072, 4'097), 1);
  EXPECT_EQ(launches(131'073, 4'097), 2);
  EXPECT_EQ(launches(4'000, 4'097, false, true), 1);
  EXPECT_EQ(launches(4'001, 4'097, false, true), 2);
  EXPECT_EQ(launches(4'001, 16'384, false, true), 2);
  EXPECT_EQ(launches(4'001, 16'385, false, true), 1);
  EXPECT_EQ(launches(1'000, 2'048, true), 1);
  EXPECT_EQ(launches(1'001, 2'048, true), 2);
  const auto warps = [](std::int64_t n, std::int64_t mean, bool is_guess = false, unsigned least = 1) {
    return 1 << fanin::detail::log_warps_of(segments_known{n, mean, is_guess}, 500, least);
  };
  EXPECT_EQ(warps(1, 0), 1);
  EXPECT_EQ(warps(1, 512), 1);
  EXPECT_EQ(warps(1, 513), 2);
  EXPECT_EQ(warps(1, 1'024), 2);
  EXPECT_EQ(warps(1, 1'025), 4);
  EXPECT_EQ(warps(1, 2'049), 8);
  EXPECT_EQ(warps(1'000, 1'025), 4);
  EXPECT_EQ(warps(1'001, 1'025), 2);
  EXPECT_EQ(warps(1'001, 1'025, false, 2), 1);
  EXPECT_EQ(warps(2'000, 4'096), 2);
  EXPECT_EQ(warps(2'001, 4'096), 1);
  EXPECT_EQ(warps(16'000, 4'097), 8);
  EXPECT_EQ(warps(500, 2'048, true), 8);
  EXPECT_EQ(warps(501, 2'048, true), 4);
  const auto block_each = [](std::int64_t n, std::int64_t mean, bool is_guess = false) {
    return fanin::detail::has_block_each(segments_known{n, mean, is_guess}, 500);
  };
  EXPECT_TRUE(block_each(501, 3'585));
  EXPECT_TRUE(block_each(501, 16'384));
  EXPECT_FALSE(block_each(500, 8'192));
  EXPECT_FALSE(block_each(501, 3'584));
  EXPECT_FALSE(block_each(501, 16'385));
  EXPECT_FALSE(block_each(501, 8'192, true));
  const auto most = [](std::int64_t n, std::int64_t mean, bool is_guess = false) {
    return fanin::detail::most_of_block(segments_known{n, mean, is_guess}, 500);
  };
  EXPECT_EQ(most(250, 1'000'000), 16'384);
  EXPECT_EQ(most(251, 100), 16'384);
  EXPECT_EQ(most(500, 40'000), 60'000);
  EXPECT_EQ(most(251, 2'048, true), 65'536);
  const auto sharing = [](std::int64_t mean, bool is_guess, std::int64_t at_once, std::int64_t alone = 5,
                          std::int64_t multiprocessors = 125) {
    return fanin::detail::blocks_that_share(segments_known{5, mean, is_guess}, 4'096, alone, at_once, multiprocessors);
  };
  EXPECT_EQ(sharing(2'048, true, 500), 500);
  EXPECT_EQ(sharing(4'097, false, 500), 500);
  EXPECT_EQ(sharing(4'096, false, 500), 250);
  EXPECT_EQ(sharing(4'096, false, 500, 300), 200);
  EXPECT_EQ(sharing(4'096, false, 500, 437), 63);
  EXPECT_EQ(sharing(4'096, false, 500, 438), 250);
  EXPECT_EQ(sharing(4'096, false, 500, 438, 100), 200);
  for (const std::int64_t alone : {1, 2}) EXPECT_EQ(sharing(4'096, false, 1, alone), 1);  // who else does a long one?
}

/// How many lanes of a warp have a row: of floats and of doubles, and where there are few rows; of 500 blocks of
/// threads.
TEST(plans, of_lanes_of_rows) {
  constexpr std::int64_t threads = 500 * 256;
  const auto lanes = [](std::int64_t count, bool is_of_small, std::int64_t results = 10'000'000) {
    return 1 << fanin::detail::log_lanes_of(results, count, threads, is_of_small);
  };
  const std::pair<std::int64_t, int> of_floats[] = {{0, 1},  {3, 1},  {4, 2},  {7, 2},  {8, 4},   {15, 4},   {16, 8},
                                                    {27, 8}, {28, 4}, {63, 4}, {64, 8}, {127, 8}, {128, 16}, {256, 32}};
  const std::pair<std::int64_t, int> of_doubles[] = {{7, 1},  {8, 2},  {15, 2},  {16, 4},
                                                     {31, 4}, {32, 8}, {127, 8}, {128, 16}};
  for (const auto& [count, expected] : of_floats) EXPECT_EQ(lanes(count, true), expected) << count;
  for (const auto& [count, expected] : of_doubles) EXPECT_EQ(lanes(count, false), expected) << count;
  EXPECT_EQ(lanes(16, false, threads / 8), 8);
  EXPECT_EQ(lanes(16, false, threads / 8 + 1), 4);
  EXPECT_EQ(lanes(5, true, 1), 4);
}

/// Threads of a block that has all columns of many elements: whole lines for each round, if that leaves some.
TEST(plans, of_threads_of_columns) {
  constexpr std::int64_t many = std::int64_t{1} << 26;
  const auto threads = [](std::int64_t results, int most, std::size_t bytes,
                          std::int64_t elements = std::int64_t{1} << 26) {
    return fanin::detail::threads_of_columns(results, (elements - 1) / results + 1, static_cast<unsigned>(results),
                                             most, bytes);
  };
  EXPECT_EQ(threads(3, 256, 4), 192);
  EXPECT_EQ(threads(5, 256, 4), 160);
  EXPECT_EQ(threads(7, 256, 4), 224);
  EXPECT_EQ(threads(48, 256, 4), 192);
  EXPECT_EQ(threads(80, 256, 4), 160);
  EXPECT_EQ(threads(9, 256, 4), 256);  // 288
  EXPECT_EQ(threads(3, 512, 4), 480);
  EXPECT_EQ(threads(7, 512, 4), 448);
  EXPECT_EQ(threads(9, 512, 4), 288);
  EXPECT_EQ(threads(15, 512, 4), 480);
  EXPECT_EQ(threads(17, 512, 4), 256);  // 544
  EXPECT_EQ(threads(3, 256, 8), 192);
  EXPECT_EQ(threads(9, 256, 8), 144);  // a line of doubles at once, as two are too many
  EXPECT_EQ(threads(15, 256, 8), 240);
  EXPECT_EQ(threads(17, 256, 8), 256);  // 272
  EXPECT_EQ(threads(2, 256, 4), 256);
  EXPECT_EQ(threads(96, 512, 4), 256);
  EXPECT_EQ(threads(3, 256, 4, many - 3), 256);
  EXPECT_EQ(fanin::detail::threads_of_columns(6, many, 3, 256, 4), 256);  // others beside them
}

/// Into how many pieces rows and columns are cut: all blocks have one where there are fewer tiles than blocks, and of
/// more only where few would idle at the end.
TEST(plans, of_pieces) {
  const auto pieces = [](std::int64_t tiles, std::int64_t count, std::int64_t parts = 256, std::int64_t line = 64) {
    const auto cut = fanin::detail::cut_tiles(tiles, count, parts, 500, line);
    EXPECT_EQ(cut.elements % line, 0);
    EXPECT_LE((cut.pieces - 1) * cut.elements, count);
    EXPECT_GE(cut.pieces * cut.elements, count);
    return cut.pieces;
  };
  EXPECT_EQ(pieces(1, 0), 1);
  EXPECT_EQ(pieces(1, 64 * 256), 1);  // not worth it
  EXPECT_EQ(pieces(1, 64 * 256 + 1), 4);
  EXPECT_EQ(pieces(1, 100'000'000), 500);
  EXPECT_EQ(pieces(16, 4'096 * 32), 31);
  EXPECT_EQ(pieces(16, 4'096 * 31, 256, 4'096), 31);
  EXPECT_EQ(pieces(16, 4'096 * 32, 256, 4'096), 16);  // two whole rounds each
  EXPECT_EQ(pieces(500, 100'000), 1);
  EXPECT_EQ(pieces(960, 100'000), 1);  // the second round is nearly full
  EXPECT_EQ(pieces(600, 100'000), 3);  // 1800 of 2000
  EXPECT_EQ(pieces(501, 100'000), 3);  // more would be more than four rounds
  EXPECT_EQ(pieces(10'000, 100'000), 1);
}

/// On one multiprocessor, where blocks hand over parcels: two of them where that pays.
TEST(plans, of_exact_sums) {
  simulator::schedule how(2);
  how.multiprocessors = 1;
  simulator::begin(how);
  const fanin::cuda gpu;
  const auto launched = [&] { return std::pair{gpu.last_launch().grid_size, gpu.last_launch().block_size}; };
  const auto planned = [&](const auto& f, std::int64_t n) {
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, n), f, fanin::exact_sum<double>{}),
              static_cast<double>(n * (n - 1) / 2));
    return launched();
  };
  EXPECT_EQ(planned(small_index{}, 1'024), std::pair(1, 256));
  EXPECT_EQ(planned(small_index{}, 4'096), std::pair(1, 512));
  EXPECT_EQ(planned(small_index{}, 4'097), std::pair(2, 512));
  EXPECT_EQ(planned(small_index{}, 131'072), std::pair(2, 512));
  EXPECT_EQ(planned(small_index{}, 131'073), std::pair(1, 1024));
  // Accumulators that f adds to.
  EXPECT_EQ(planned(add_index{}, 4'097), std::pair(2, 512));
  EXPECT_EQ(planned(add_index{}, 16'384), std::pair(2, 512));
  EXPECT_EQ(planned(add_index{}, 16'385), std::pair(1, 1024));
  // Products, in vectors of two.
  const std::vector<double> ones(32'770, 1.0);
  const auto planned_dot = [&](std::size_t n) {
    const auto xs = std::span(ones).first(n);
    EXPECT_EQ(fanin::exact_dot(gpu, xs, xs), static_cast<double>(n));
    return launched();
  };
  EXPECT_EQ(planned_dot(32'768), std::pair(1, 512));
  EXPECT_EQ(planned_dot(32'770), std::pair(1, 1024));
}

/// Rounds are numbered by 32 bits.
TEST(plans, a_round_of_2_to_the_31_is_refused) {
  simulator::begin(simulator::schedule(1));
  const fanin::cuda gpu;
  const auto message_of = [](const auto& view) -> std::string {
    try {
      expect_sum(view, 10);
    } catch (const fanin::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message_of(gpu.with<rows::one_pass>({.block_size = 1024, .grid_size = (1 << 18) + 1})),
            "fanin: strategy one_pass cannot launch: a grid of 262145 blocks of 1024 threads has more to load at once "
            "than 32 bits number; ask for at most 262144");
}

/// Calls of two kernels with several tunings and sizes, and what each launches.
std::vector<fanin::cuda_launch> launches_of(const std::function<const fanin::cuda&()>& next) {
  std::vector<fanin::cuda_launch> launches;
  for (const fanin::cuda_tuning& tuning :
       {fanin::cuda_tuning{}, fanin::cuda_tuning{.grid_size = 3}, fanin::cuda_tuning{.block_size = 64}}) {
    for (const std::int64_t n : {1, 500, 20'000}) {
      const auto launch = [&](const auto& call) {
        const fanin::cuda& gpu = next();
        call(gpu.with<rows::one_pass>(tuning));
        launches.push_back(gpu.last_launch());
      };
      launch([&](const auto& view) { expect_sum(view, n); });
      launch([&](const auto& view) {
        fanin::parallel_reduce(fanin::range(view, n), index{}, fanin::exact_sum<double>{});
      });
    }
  }
  return launches;
}

/// An object that remembers plans launches as one that has made no other call.
TEST(plans, are_remembered_for_calls_like_theirs) {
  simulator::begin(simulator::schedule(4));
  std::optional<fanin::cuda> fresh;
  const auto expected = launches_of([&]() -> const fanin::cuda& { return fresh.emplace(); });
  const fanin::cuda gpu;
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(launches_of([&]() -> const fanin::cuda& { return gpu; }), expected);
    // What cannot launch is refused, as often as it is asked for.
    EXPECT_THROW(expect_sum(gpu.with<rows::cluster>({.grid_size = 12}), 10), fanin::invalid_argument);
  }
}

}  // namespace
}  // namespace simulator_test
