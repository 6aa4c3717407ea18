// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/cuda/split/launch.cuh>
#include <fanin/cuda/split/launch_runs.cuh>
#include <fanin/runs.hpp>
#include <fanin/segments.hpp>
#include <fanin/serial/serial.hpp>
#include <fanin/view.hpp>

#include "simulator/seeds.hpp"
#include "simulator/simulated.hpp"

/// Calls with many results that begin before the call before has ended.
namespace fanin_test {
namespace {

constexpr std::int64_t count_of_numbers = 6'000;
using numbers = std::vector<double>;

/// A number of those that the call before wrote, of which sums are exact.
struct number_before {
  const double* before;
  FANIN_FUNCTION double operator()(std::int64_t i, std::int64_t j) const {
    const auto number = static_cast<std::int64_t>(before[static_cast<std::size_t>(i * 7 + j * 3) % count_of_numbers]);
    return static_cast<double>(number % 1'000 + j % 5);
  }
};
/// The same one for many rows, so that these are a long run and some short ones.
struct one_for_many_rows {
  const double* before;
  FANIN_FUNCTION double operator()(std::int64_t i, std::int64_t j) const {
    return j == 0 ? before[i < 4'500 ? 0 : i / 30] : 0.0;
  }
};

/// Of short ones and a long one.
std::vector<std::int64_t> offsets_of_segments(std::int64_t count) {
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t s = 0; s < count; ++s) offsets.push_back(offsets.back() + (s == count / 2 ? 20'000 : s % 9));
  return offsets;
}

struct results {
  std::vector<numbers> numbers_of_call;
  std::int64_t runs[4] = {};  ///< how many
};

/// Each call reads what the one before wrote, by every kernel of those for many results on a device of one size or
/// another. Gives the results of all calls, and says what was launched.
template <class Exec>
void reduce_in_turn(const Exec& exec, results& to, std::set<std::string>* launched = nullptr) {
  static const std::vector<std::int64_t> few_segments{0, 3, 5'000, 5'040, 25'000};
  static const std::vector<std::int64_t> some_segments = offsets_of_segments(60);
  static const std::vector<std::int64_t> many_segments = offsets_of_segments(900);
  constexpr fanin::sum<double> sum;
  constexpr fanin::exact_sum<double> by_blocks;
  std::vector<numbers>& all = to.numbers_of_call;
  all.reserve(40);
  std::int64_t* count = to.runs;
  const auto new_numbers = [&]() -> numbers& {
    numbers& some = all.emplace_back(count_of_numbers);
    for (std::size_t k = 0; k < some.size(); ++k) some[k] = static_cast<double>(mix(k + all.size()) % 1'000);
    return some;
  };
  new_numbers();
  const auto note = [&] {
    if constexpr (requires { exec.last_launch(); }) {
      launched->insert(std::string(exec.last_launch().strategy) + ", " + std::to_string(exec.last_launch().launches));
    }
  };
  const auto call = [&](const auto& range, const auto& reducer) {
    const number_before f{all.back().data()};
    fanin::parallel_reduce_into(new_numbers().data(), range, f, reducer);
    note();
  };
  for (int round = 0; round < 2; ++round) {
    call(fanin::rows(exec, 300, 20), sum);
    const fanin::view<const double, 3> written(all.back().data(), {5, 15, 80});
    fanin::reduce_into(new_numbers().data(), exec, fanin::axes<2>(written), sum);
    note();
    call(fanin::rows(exec, 3, 3'000), sum);
    call(fanin::rows(exec, 3, 17'000), sum);
    call(fanin::columns(exec, 4, 2'100), sum);
    call(fanin::columns(exec, 1'600, 100), sum);
    for (const auto* const offsets : {&few_segments, &some_segments, &many_segments})
      call(fanin::segments(exec, *offsets), sum);
    call(fanin::rows(exec, 5, 40), by_blocks);
    for (const bool blocks : {false, true}) {
      const one_for_many_rows f{all.back().data()};
      numbers& keys = new_numbers();
      fanin::parallel_reduce_into(keys.data(), fanin::rows(exec, count_of_numbers, 2), f, sum);
      numbers& to_keys = new_numbers();
      numbers& sums = new_numbers();
      const auto to_runs = fanin::runs_to(to_keys, sums, count++);
      if (blocks) {
        fanin::reduce_into(to_runs, exec, fanin::runs(keys, keys), by_blocks);
      } else {
        fanin::reduce_into(to_runs, exec, fanin::runs(keys, keys), sum);
      }
      note();
    }
  }
}

TEST(many_results, begin_early_and_wait_for_the_call_before) {
  results expected;
  reduce_in_turn(fanin::serial{}, expected);
  std::set<std::string> launched;
  const std::uint64_t seeds = 3 * simulator_test::count_of_seeds(4);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    simulator::schedule how(seed);
    how.multiprocessors = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 15 : 24;
    simulator::begin(how);
    const fanin::cuda gpu;
    results got;
    reduce_in_turn(gpu, got, &launched);
    gpu.synchronize();
    ASSERT_EQ(got.numbers_of_call.size(), expected.numbers_of_call.size());
    for (std::size_t k = 0; k < expected.numbers_of_call.size(); ++k) {
      ASSERT_EQ(got.numbers_of_call[k], expected.numbers_of_call[k]) << "seed " << seed << ", call " << k;
    }
    for (std::size_t k = 0; k < std::size(expected.runs); ++k) ASSERT_EQ(got.runs[k], expected.runs[k]) << k;
  }
  for (const char* const one : {"rows by lanes, 1", "rows by vectors, 1", "rows by blocks, 1", "columns by threads, 1",
                                "columns by tiles, 1", "columns by tiles, 2", "segments, 2", "segments by warps, 1",
                                "segments by blocks, 1", "rows by block, 1", "runs, 1", "runs by block, 1"}) {
    EXPECT_TRUE(launched.contains(one)) << one;
  }
}

/// Whose blocks have much to do and leave room starts behind the grid before.
TEST(many_results, begin_early_where_that_leaves_them_even) {
  const auto starts_early = [](int blocks, std::int64_t elements_of_thread) {
    fanin::detail::cuda_plan plan;
    plan.largest_grid = 660;
    plan.launch.grid_size = blocks;
    plan.options.can_start_early = true;
    fanin::detail::start_evenly(plan, elements_of_thread);
    return plan.options.can_start_early;
  };
  EXPECT_TRUE(starts_early(512, 64));
  EXPECT_FALSE(starts_early(512, 65));
  EXPECT_TRUE(starts_early(660, 65));
  EXPECT_TRUE(starts_early(5'000, 4'096));
}

}  // namespace
}  // namespace fanin_test
