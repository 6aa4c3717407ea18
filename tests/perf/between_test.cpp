// SPDX-License-Identifier: Apache-2.0

// How fanin-perf times calls behind kernels of a user's.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/contender.hpp"
#include "harness/options.hpp"
#include "harness/runner.hpp"
#include "harness/timing.hpp"
#include "harness_runs.hpp"
#include "host_as_device.hpp"

namespace {

using namespace fanin_perf;

options between(std::vector<std::int64_t> sizes) {
  options chosen = i64_sums(std::move(sizes));
  chosen.timings = {timing::between_small, timing::between_small_hot, timing::between_axpy, timing::between_axpy_hot};
  return chosen;
}

// A device whose pools take 256 KiB has so many arrays of these sizes: 256, 32, which is less than the calls of a
// graph, and two.
constexpr std::size_t small_device = 512 << 10;
const std::vector<std::int64_t> sizes_between{100, 1000, 1 << 14};

// A device whose clock stands still but in kernels and calls.
class ticking_device final : public host_as_device {
 public:
  ticking_device() : host_as_device(small_device) {}

  void enqueue_small() override {
    host_as_device::enqueue_small();
    now_us += 3;
  }
  void enqueue_axpy(element type, int a, const std::byte* x, int b, std::byte* y, std::int64_t n) override {
    host_as_device::enqueue_axpy(type, a, x, b, y, n);
    now_us += 7;
  }
  double time(const std::function<void()>& enqueue) override {
    const double begin = now_us;
    enqueue();
    return (now_us - begin) * 1e-6;
  }

  double now_us = 0;
  std::set<std::int64_t> buffers;  // from which runs of calls began
};

// Sums that take so long on it.
struct ticking_sum final : call {
  ticking_sum(std::unique_ptr<call> what, ticking_device& where, double time_us)
      : prepared(std::move(what)), gpu(where), us(time_us) {}
  void run(std::int64_t first, std::int64_t count) override {
    prepared->run(first, count);
    gpu.buffers.insert(first);
    gpu.now_us += us * static_cast<double>(count);
  }
  answer last() override { return prepared->last(); }

  std::unique_ptr<call> prepared;
  ticking_device& gpu;
  double us;
};

contender ticking(const char* name, ticking_device& gpu, double time_us) {
  contender who = on_device(name, destination::device, true);
  who.prepare = [&gpu, time_us, prepare = who.prepare](const workload& work) -> std::unique_ptr<call> {
    return std::make_unique<ticking_sum>(prepare(work), gpu, time_us);
  };
  return who;
}

TEST(between, the_kernels_before_calls_are_taken_off) {
  ticking_device gpu;
  contender_list contenders{ticking("mine", gpu, 2), ticking("cub", gpu, 5)};
  contenders.back().is_peer = true;
  const run_result result = run_all(between(sizes_between), contenders, &gpu);
  EXPECT_TRUE(result.all_right);
  ASSERT_EQ(result.rows.size(), 3 * 2 * 4u);
  for (const row& r : result.rows) {
    const bool mine = r.who->name == "mine";
    EXPECT_EQ(r.fault, "");
    ASSERT_EQ(r.series_us.size(), 3u);
    for (const double us : r.series_us) EXPECT_NEAR(us, mine ? 2 : 5, 1e-6);
    EXPECT_NEAR(r.time_us, mine ? 2 : 5, 1e-6);
    EXPECT_NEAR(r.kernel_us, is_behind_axpy(r.how) ? 7 : 3, 1e-6);
    EXPECT_EQ(r.bytes, r.n * 8);
    EXPECT_EQ(r.calls % r.graph_nodes, 0);
    ASSERT_EQ(r.ratios.size(), mine ? 1u : 0u);
    for (const peer_ratio& ratio : r.ratios) EXPECT_NEAR(ratio.times.mean, 2.5, 1e-6);
  }
  EXPECT_GT(gpu.small_kernels, 0);
  EXPECT_GT(gpu.axpys, 0);
}

TEST(between, caches_are_cold_but_where_it_says_hot) {
  for (const timing how :
       {timing::between_small, timing::between_small_hot, timing::between_axpy, timing::between_axpy_hot}) {
    ticking_device gpu;
    options chosen = i64_sums({1000});
    chosen.timings = {how};
    const run_result result = run_all(chosen, {ticking("mine", gpu, 2)}, &gpu);
    EXPECT_TRUE(result.all_right) << name(how);
    EXPECT_EQ(gpu.cold_times == 0, is_hot(how)) << name(how);
    EXPECT_EQ(gpu.buffers.size() == 1, is_hot(how)) << name(how);
  }
}

TEST(between, a_call_that_does_not_wait_for_its_kernel_is_wrong) {
  for (const std::int64_t n : sizes_between) {
    host_as_device gpu(small_device);
    gpu.late = true;
    const run_result result = run_all(between({n}), {on_device("early", destination::device, true)}, &gpu);
    ASSERT_EQ(result.rows.size(), 4u);
    for (const row& r : result.rows) EXPECT_EQ(r.fault.empty(), !is_behind_axpy(r.how)) << name(r.how) << " of " << n;
  }
}

TEST(between, a_call_that_takes_no_time_beside_its_kernel_is_no_measurement) {
  ticking_device gpu;
  const run_result result = run_all(between({1000}), {ticking("mine", gpu, 0)}, &gpu);
  EXPECT_FALSE(result.all_right);
  for (const row& r : result.rows) {
    EXPECT_NE(r.fault.find("took as long without it"), std::string::npos) << r.fault;
    EXPECT_TRUE(r.series_us.empty());
  }
}

// Launches that take so many us each, one after the other.
struct scripted final : call {
  scripted(ticking_device& where, std::vector<double> launches_us) : gpu(where), us(std::move(launches_us)) {}
  void run(std::int64_t, std::int64_t) override { gpu.now_us += us.at(at++); }
  answer last() override { return {}; }

  ticking_device& gpu;
  std::vector<double> us;
  std::size_t at = 0;
};

TEST(between, each_series_takes_its_own_kernels_off) {
  ticking_device gpu;
  contender who = on_device("mine", destination::device, true);
  row found;
  found.who = &who;
  found.how = timing::between_small;
  found.graph_nodes = 2;
  // The first launch says how many a series takes: one.
  scripted calls(gpu, {9000, 9000, 8000, 9500});
  scripted kernels(gpu, {6000, 6000, 7000, 5500});
  std::vector<racer> racers{{&found, &calls, &kernels}};
  race(racers, 1, {.series = 3}, &gpu);
  ASSERT_EQ(found.series_us.size(), 3u);
  EXPECT_NEAR(found.series_us[0], 1500, 1e-6);
  EXPECT_NEAR(found.series_us[1], 500, 1e-6);
  EXPECT_NEAR(found.series_us[2], 2000, 1e-6);
  EXPECT_NEAR(found.time_us, 1500, 1e-6);
  EXPECT_NEAR(found.kernel_us, 3000, 1e-6);
}

TEST(between, what_cannot_be_timed_so_is_left_out) {
  host_as_device gpu;
  contender who = on_device("all", destination::device, true);
  who.several_waits = true;
  who.offers = [](element, operation) { return true; };
  who.prepare = [](const workload&) -> std::unique_ptr<call> { throw std::runtime_error("asked"); };
  const auto asked = [&](element type, operation op) {
    options chosen = between({1000});
    chosen.timings.push_back(timing::graph);
    chosen.types = {type};
    chosen.operations = {op};
    return run_all(chosen, {who}, &gpu).rows.size();
  };
  EXPECT_EQ(asked(element::f32, operation::sum), 5u);
  EXPECT_EQ(asked(element::i8, operation::sum), 3u);
  EXPECT_EQ(asked(element::f32, operation::several), 0u);
}

TEST(between, is_asked_for_by_name) {
  const auto timings = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "fanin-perf");
    int exit_code = 0;
    return read_options(static_cast<int>(arguments.size()), arguments.data(), {}, true, exit_code)->timings;
  };
  EXPECT_EQ(timings({}), options{}.timings);
  EXPECT_EQ(timings({"--timings", "between"}), between({}).timings);
  EXPECT_EQ(timings({"--timings", "graph,between_axpy"}), (std::vector{timing::graph, timing::between_axpy}));
  EXPECT_EQ(timings({"--timings", "all"}).size(), timing_names.size());
}

}  // namespace
