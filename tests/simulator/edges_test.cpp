// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulator/schedules.hpp"
#include "simulator/seeds.hpp"
#include "support/user_reducers.hpp"

/// Sizes that schedules which are drawn seldom have, or are too small for.
namespace simulator_test {
namespace {

request ask(const call& of, std::size_t n, bool blocking) {
  request asked{1, n, {.block_size = 64}, blocking};
  if (is_persistent(of.recipe)) asked.tuning.grid_size = of.recipe.cluster_size > 1 ? of.recipe.cluster_size : 3;
  return asked;
}

/// Of no elements and of one, behind a call that has filled the workspace.
TEST(edges, of_no_elements_and_of_one) {
  std::uint64_t seed = 0;
  for (const auto& calls : {calls_of_sums(), calls_of_several(), calls_of_wide(), calls_of_states(), calls_of_parcels(),
                            calls_of_edges()}) {
    for (const call& one : calls) {
      const std::string wrong = run_seed(++seed, [&](choices&, std::string&) -> std::string {
        const fanin::cuda gpu;
        for (const bool blocking : {false, true}) {
          for (const std::size_t n : {std::min<std::size_t>(one.most_elements, 300), std::size_t{0}, std::size_t{1}}) {
            const check looks = one.run(gpu, ask(one, n, blocking));
            gpu.synchronize();
            if (const std::string found = looks(); !found.empty()) return "n = " + std::to_string(n) + ": " + found;
          }
        }
        return "";
      });
      EXPECT_EQ(wrong, "") << one.name;
    }
  }
}

/// Under schedules that are drawn, as the other calls.
TEST(simulated, edges) {
  const std::vector<call> calls = calls_of_edges();
  for_each_seed(count_of_seeds(120) * calls.size(), [&](std::uint64_t seed) {
    return run_schedule(seed, calls, static_cast<std::size_t>(seed % calls.size()));
  });
}

const call& find(const std::vector<call>& calls, const std::string& name) {
  const auto found = std::find_if(calls.begin(), calls.end(), [&](const call& one) { return one.name == name; });
  if (found == calls.end()) throw std::runtime_error("there is no " + name);
  return *found;
}

/// The second pass leaves partial results for a third, which leaves some in the room that the first has filled: beside
/// those that it reads.
TEST(edges, three_passes) {
  const auto calls = calls_of_sums();
  const call& one = find(calls, "shared_interleaved finished by second_pass, a sum");
  for (const simulator::policy& by : simulator::policies()) {
    simulator::schedule how(1);
    how.by = by;
    how.resident_blocks = 16;
    how.plain_stores_are_late = false;
    simulator::begin(how);
    const fanin::cuda gpu;
    EXPECT_EQ(one.run(gpu, {0, 33 * 32 * 32, {.block_size = 32}, true})(), "") << by.name;
  }
}

/// Each block has 14 words, of which 120 have more than a mailbox is made for.
TEST(edges, more_words_than_blocks_post) {
  const auto calls = calls_of_edges();
  const call& one = find(calls, "one_pass finished by watching_block, 56 bytes by f(i)");
  for (const int grid : {36, 37, 120}) {
    simulator::begin(simulator::schedule(1));
    const fanin::cuda gpu;
    EXPECT_EQ(one.run(gpu, {0, 5'000, {.block_size = 32, .grid_size = grid}, true})(), "") << grid;
  }
}

/// Whoever joins the blocks' partial results, the watching block or the host.
TEST(edges, both_forms_give_the_same_bits) {
  const auto elements = fanin_test::make_data<float>(fanin_test::data::random_signed, few_elements);
  const fanin_test::at<float> f{elements.data()};
  for_each_seed(from_environment("FANIN_SIMULATOR_COUNT", 60), [&](std::uint64_t seed) {
    return run_seed(seed, [&](choices& draw, std::string& text) -> std::string {
      constexpr int grids[] = {2, 3, 8, 33, 34, 40, 70, 128};
      constexpr int blocks[] = {32, 64, 128};
      const fanin::cuda_tuning tuning{.block_size = draw.one_of(blocks), .grid_size = draw.one_of(grids)};
      const auto n = static_cast<std::int64_t>(1 + draw.below(few_elements));
      text = "blocks of " + std::to_string(tuning.block_size) + ", grid " + std::to_string(tuning.grid_size);
      const fanin::cuda gpu;
      const auto view = gpu.with<fanin::cuda_strategy::one_pass>(tuning);
      float out = 0;
      fanin::parallel_reduce_into(&out, fanin::range(view, n), f, fanin::sum<float>{});
      const float got = fanin::parallel_reduce(fanin::range(view, n), f, fanin::sum<float>{});
      gpu.synchronize();
      return compared(got, out);
    });
  });
}

/// A thread of the watching block joins parcels of which the later ones are of a lower scale.
TEST(edges, more_parcels_than_threads) {
  std::vector<std::int64_t> elements(70 * 32);
  std::int64_t expected = 0;
  for (std::size_t k = 0; k < elements.size(); ++k) {
    elements[k] = static_cast<std::int64_t>(1 + fanin_test::mix(k) % 64) * (k < elements.size() / 2 ? 1'024 : 1);
    expected += elements[k];
  }
  const std::span<const std::int64_t> xs(elements);
  for_each_seed(4, [&](std::uint64_t seed) {
    return run_seed(seed, [&](choices&, std::string&) -> std::string {
      const fanin::cuda gpu;
      const auto view = gpu.with<fanin::cuda_strategy::one_pass>({.block_size = 32, .grid_size = 70});
      return compared(fanin::reduce(view, xs, fanin_test::handed_sum{}), expected);
    });
  });
}

}  // namespace
}  // namespace simulator_test
