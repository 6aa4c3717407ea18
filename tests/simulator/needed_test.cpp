// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/needed.hpp"
#include "simulator/schedules.hpp"
#include "simulator/seeds.hpp"

/// That nothing which orders threads could be left out of the code.
namespace simulator_test {
namespace {

/// Places without which nothing goes wrong here, and why they are there.
const std::map<std::string, std::string>& needless() {
  static const std::map<std::string, std::string> all = [] {
    const std::string together = "brings lanes together, which makes the shuffles behind it faster";
    std::map<std::string, std::string> some{
        {"__syncwarp 1 of block/warp_shuffle.cuh", together},
        {"__syncwarp 1 of block/joined_partials.cuh", together},
        {"__syncwarp 2 of block/joined_partials.cuh", together},
        {"__syncwarp 1 of block/interleaved.cuh", "a step reads the upper half of the values and writes the lower one"},
        {"__syncthreads 3 of block/joined_partials.cuh", "combine_states ends with one"},
        {"__syncthreads 1 of partial/parcel.cuh", "a GPU shows it, where one thread joins spills and others deposit"},
    };
    if (simulator::sees_races) {
      some["__syncthreads 1 of block/combine.cuh"] = "of hundreds of schedules one shows it";
    } else {
      some["atomicExch 1 of columns/columns.cuh"] = "threads that store at once store the same";
      some["load_unit 1 of grid/tagged_units.cuh"] = "a unit that comes in pieces hardly ever has the launch's tag";
    }
    return some;
  }();
  return all;
}

/// Schedules of a kind. Where races are seen one takes a hundred times as long, and nearly all show what is missing.
struct {
  std::uint64_t that_note_places = simulator::sees_races ? 1 : 4;  ///< of each call
  std::uint64_t with_all = simulator::sees_races ? 20 : 100;
  std::uint64_t most = from_environment("FANIN_SIMULATOR_COUNT", simulator::sees_races ? 100 : 4'000);
  std::uint64_t most_of_needless = simulator::sees_races ? 5 : 100;
} const schedules;

/// Of places that few schedules show, a little before one that did: which are tried first, then the others. Without
/// them the two take as long as all others.
std::uint64_t first_schedule_of(const std::string& name) {
  if (simulator::sees_races) return 0;
  if (name == "__syncthreads 1 of grid/watching_block.cuh") return 1'480;
  if (name == "__syncthreads 1 of block/combine.cuh") return 840;
  return 0;
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

/// Every so manieth place, from the parameter on: the longest test by far, in parts that run at the same time.
constexpr int parts = 2;
class needed : public testing::TestWithParam<int> {};

/// Each place that orders threads, or makes an access one, is left out in turn: a call that passes there must go wrong.
/// With FANIN_SIMULATOR_TABLE set all FANIN_SIMULATOR_COUNT schedules are run, and counted by policy.
TEST_P(needed, everything_that_orders_threads) {
  const std::vector<std::vector<call>> kinds{calls_of_sums(), calls_of_wide(), calls_of_states(), calls_of_parcels()};
  const bool counts_all = std::getenv("FANIN_SIMULATOR_TABLE") != nullptr;

  using passing = std::pair<const std::vector<call>*, std::size_t>;
  std::map<simulator::ordering_place, std::vector<passing>> passed_by;
  for (const std::vector<call>& calls : kinds) {
    for (std::size_t k = 0; k < calls.size(); ++k) {
      std::set<simulator::ordering_place> seen;
      simulator::note_places(&seen);
      for (std::uint64_t seed = 0; seed < schedules.that_note_places; ++seed) run_schedule(seed, {calls[k]}, 0);
      simulator::note_places(nullptr);
      for (const simulator::ordering_place& one : seen) passed_by[one].push_back({&calls, k});
    }
  }
  const outcome with_all = in_child([&](const auto& tell) {
    for (std::uint64_t n = 0; n < schedules.with_all; ++n) {
      const std::vector<call>& calls = kinds[n % kinds.size()];
      tell("any");
      if (!run_schedule(n, calls, n % calls.size()).empty()) tell("red any");
    }
  });
  EXPECT_EQ(with_all.schedules, schedules.with_all);
  EXPECT_TRUE(with_all.red.empty());
  const auto names = names_of(passed_by);
  int number = 0;
  for (const auto& entry : passed_by) {
    if (number++ % parts != GetParam()) continue;
    const simulator::ordering_place& place = entry.first;
    const std::vector<passing>& by = entry.second;
    const std::string& name = names.at(place);
    const bool is_needless = needless().contains(name);
    const outcome found = in_child([&](const auto& tell) {
      simulator::leave_out(&place);
      const std::uint64_t first = counts_all ? 0 : first_schedule_of(name);
      const std::uint64_t count = is_needless && !counts_all ? schedules.most_of_needless : schedules.most;
      for (std::uint64_t k = 0; k < count; ++k) {
        const std::uint64_t n = (first + k) % count;
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

INSTANTIATE_TEST_SUITE_P(parts, needed, testing::Range(0, parts));

}  // namespace
}  // namespace simulator_test
