// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/schedules.hpp"
#include "simulator/seeds.hpp"

/// Every call under schedules that are drawn.
namespace simulator_test {
namespace {

/// The seed says which call is tested.
void run_schedules(const std::vector<call>& calls, std::uint64_t of_call) {
  for_each_seed(count_of_seeds(of_call) * calls.size(), [&](std::uint64_t seed) {
    return run_schedule(seed, calls, static_cast<std::size_t>(seed % calls.size()));
  });
}

TEST(simulated, sums) { run_schedules(calls_of_sums(), 60); }
TEST(simulated, several) { run_schedules(calls_of_several(), 100); }
TEST(simulated, wide) { run_schedules(calls_of_wide(), 100); }
TEST(simulated, states) { run_schedules(calls_of_states(), 90); }
/// A few calls: a schedule of them takes ten times as long.
TEST(simulated, large_blocks) {
  const std::vector<call> calls = calls_of_sums();
  for_each_seed(count_of_seeds(144), [&](std::uint64_t seed) {
    return run_schedule(seed, calls, static_cast<std::size_t>(7 * seed % calls.size()), blocks::large);
  });
}
TEST(simulated, parcels) { run_schedules(calls_of_parcels(), 80); }
TEST(simulated, updates) { run_schedules(calls_of_updates(), 40); }

}  // namespace
}  // namespace simulator_test
