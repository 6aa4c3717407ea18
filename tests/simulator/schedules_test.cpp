// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "simulator/calls.hpp"
#include "simulator/needed.hpp"
#include "simulator/seeds.hpp"

/// Every call under schedules that are drawn, and that nothing which orders threads could be left out of the code.
namespace simulator_test {
namespace {

request draw_request(choices& draw, const call& of) {
  using fanin::cuda_stage::thread;
  const fanin::cuda_recipe& recipe = of.recipe;
  request asked{};
  asked.start = draw.below(most_starts + 1);
  asked.blocking = draw.below(2) == 0;
  constexpr int blocks[] = {32, 32, 64, 64, 96, 128, 256};
  asked.tuning.block_size = draw.one_of(blocks);
  std::size_t of_grid = 1;
  if (is_persistent(recipe)) {
    constexpr int grids[] = {1, 2, 2, 3, 3, 5, 8};
    asked.tuning.grid_size =
        recipe.cluster_size > 1 ? recipe.cluster_size * (1 + static_cast<int>(draw.below(2))) : draw.one_of(grids);
    if (recipe.grid == fanin::cuda_stage::grid::watching_block && recipe.cluster_size == 1 && draw.below(6) == 0) {
      // From 34 blocks on all warps of the watching one gather.
      constexpr int many[] = {33, 34, 40};
      asked.tuning = {.block_size = 64, .grid_size = draw.one_of(many)};
    }
    of_grid = static_cast<std::size_t>(asked.tuning.grid_size);
  } else if (recipe.thread == thread::fold_n) {
    asked.tuning.chunks = 1 + static_cast<int>(draw.below(4));
    of_grid = static_cast<std::size_t>(asked.tuning.chunks);
  }
  const bool one_each = recipe.thread == thread::one || recipe.thread == thread::pairs;
  const bool many_blocks = !is_persistent(recipe) && draw.below(6) == 0;  // a second pass of several blocks
  if (many_blocks) asked.tuning.block_size = 32;
  const std::size_t elements = of_grid * static_cast<std::size_t>(asked.tuning.block_size);
  const std::size_t few = many_blocks ? 70 * elements : one_each ? 9 * elements : few_elements;
  const std::size_t most = recipe.thread == thread::bulk ? of.most_elements : std::min(of.most_elements, few);
  const std::size_t edges[] = {0, 1, 2, 31, 32, 33, elements - 1, elements, elements + 1, 2 * elements + 1, most};
  asked.n = std::min(draw.below(2) == 0 ? draw.one_of(edges) : draw.below(most + 1), most);
  return asked;
}

std::string text_of(const request& asked) {
  return "n = " + std::to_string(asked.n) + " from element " + std::to_string(asked.start) + ", blocks of " +
         std::to_string(asked.tuning.block_size) + ", grid " + std::to_string(asked.tuning.grid_size) + ", chunks " +
         std::to_string(asked.tuning.chunks) + (asked.blocking ? ", blocking" : ", into");
}

/// A few calls on one object: the one that is tested, another one, or the same, and the first again.
std::string run_schedule(std::uint64_t seed, const std::vector<call>& calls, std::size_t tested) {
  return run_seed(seed, [&](choices& draw, std::string& text) -> std::string {
    const fanin::cuda gpu;
    std::vector<check> checks;
    const std::size_t count = 1 + draw.below(3);
    const std::size_t other = draw.below(3) == 0 ? tested : draw.below(calls.size());
    for (std::size_t k = 0; k < count; ++k) {
      const call& one = calls[k % 2 == 0 ? tested : other];
      const request asked = draw_request(draw, one);
      text += "\n  " + one.name + ", " + text_of(asked);
      checks.push_back(one.run(gpu, asked));
    }
    gpu.synchronize();
    for (std::size_t k = 0; k < checks.size(); ++k) {
      if (const std::string wrong = checks[k](); !wrong.empty()) return "call " + std::to_string(k + 1) + ": " + wrong;
    }
    return "";
  });
}

/// The seed says which call is tested.
void run_schedules(const std::vector<call>& calls, std::uint64_t of_call) {
  for_each_seed(from_environment("FANIN_SIMULATOR_COUNT", of_call) * calls.size(), [&](std::uint64_t seed) {
    return run_schedule(seed, calls, static_cast<std::size_t>(seed % calls.size()));
  });
}

/// Places without which nothing goes wrong here, and why they are there.
const std::map<std::string, std::string>& needless() {
  static const std::string together = "brings lanes together, which makes the shuffles behind it faster";
  static const std::map<std::string, std::string> all{
      {"__syncwarp 1 of block/warp_shuffle.cuh", together},
      {"__syncwarp 1 of block/joined_partials.cuh", together},
      {"__syncwarp 2 of block/joined_partials.cuh", together},
      {"__syncwarp 1 of block/interleaved.cuh", "a step reads the upper half of the values and writes the lower one"},
      {"__syncthreads 3 of block/joined_partials.cuh", "combine_states ends with one"},
      {"__syncthreads 1 of partial/parcel.cuh", "a GPU shows it, where one thread joins spills and others deposit"},
  };
  return all;
}

/// By their order in the file: a line would change with each edit.
template <class Passed>
std::map<simulator::ordering_place, std::string> names_of(const Passed& passed_by) {
  std::map<simulator::ordering_place, std::string> names;
  std::map<std::pair<std::string, std::string>, int> count;
  for (const auto& [place, by] : passed_by) {
    names[place] = place.what + " " + std::to_string(++count[{place.what, place.file}]) + " of " + place.file;
  }
  return names;
}

/// Each place that orders threads, or makes an access one, is left out in turn: a call that passes there must go wrong.
/// With FANIN_SIMULATOR_TABLE set all FANIN_SIMULATOR_COUNT schedules are run, and counted by policy.
TEST(needed, everything_that_orders_threads) {
  const std::vector<std::vector<call>> kinds{calls_of_sums(), calls_of_wide(), calls_of_states(), calls_of_parcels()};
  const bool counts_all = std::getenv("FANIN_SIMULATOR_TABLE") != nullptr;
  const std::uint64_t most = from_environment("FANIN_SIMULATOR_COUNT", 4'000);
  const std::uint64_t most_of_needless = 200;

  using passing = std::pair<const std::vector<call>*, std::size_t>;
  std::map<simulator::ordering_place, std::vector<passing>> passed_by;
  for (const std::vector<call>& calls : kinds) {
    for (std::size_t k = 0; k < calls.size(); ++k) {
      std::set<simulator::ordering_place> seen;
      simulator::note_places(&seen);
      for (std::uint64_t seed = 0; seed < 4; ++seed) run_schedule(seed, {calls[k]}, 0);
      simulator::note_places(nullptr);
      for (const simulator::ordering_place& one : seen) passed_by[one].push_back({&calls, k});
    }
  }
  const auto names = names_of(passed_by);
  for (const auto& entry : passed_by) {
    const simulator::ordering_place& place = entry.first;
    const std::vector<passing>& by = entry.second;
    const std::string& name = names.at(place);
    const bool is_needless = needless().contains(name);
    const outcome found = in_child([&](const auto& tell) {
      simulator::leave_out(&place);
      for (std::uint64_t n = 0; n < (is_needless && !counts_all ? most_of_needless : most); ++n) {
        const auto& [calls, tested] = by[n % by.size()];
        const std::string policy = simulator::schedule(n).by.name;
        tell(policy);
        if (run_schedule(n, *calls, tested).empty()) continue;
        tell("red " + policy);
        if (!counts_all) return;
      }
    });
    int red = 0;
    std::string policies;
    for (const auto& [policy, times] : found.red) {
      red += times;
      policies += (policies.empty() ? "" : ", ") + policy + " " + std::to_string(times);
    }
    std::cout << name << " (line " << place.line << "): " << red << " red of " << found.schedules << " (" << policies
              << ")\n";
    if (!counts_all) {
      EXPECT_EQ(red == 0, is_needless) << name;
    }
  }
  for (const auto& [name, why] : needless()) {
    const auto found =
        std::find_if(names.begin(), names.end(), [&, &what = name](const auto& entry) { return entry.second == what; });
    EXPECT_NE(found, names.end()) << name << " is no longer there (" << why << ")";
  }
}

TEST(simulated, sums) { run_schedules(calls_of_sums(), 20); }
TEST(simulated, several) { run_schedules(calls_of_several(), 20); }
TEST(simulated, wide) { run_schedules(calls_of_wide(), 20); }
TEST(simulated, states) { run_schedules(calls_of_states(), 20); }
TEST(simulated, parcels) { run_schedules(calls_of_parcels(), 40); }
TEST(simulated, edges) { run_schedules(calls_of_edges(), 40); }

}  // namespace
}  // namespace simulator_test
