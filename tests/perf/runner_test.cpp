// SPDX-License-Identifier: Apache-2.0

// How fanin-perf runs its contenders: what is timed, in which ways, and what becomes of a wrong one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/contender.hpp"
#include "harness/device.hpp"
#include "harness/host.hpp"
#include "harness/json_report.hpp"
#include "harness/numbers.hpp"
#include "harness/options.hpp"
#include "harness/runner.hpp"
#include "harness/timing.hpp"
#include "harness/tuning.hpp"
#include "harness/values.hpp"
#include "harness_runs.hpp"

namespace {

using namespace fanin_perf;

TEST(sizes, lists_and_ranges) {
  EXPECT_EQ(parse_sizes("1000"), (std::vector<std::int64_t>{1000}));
  EXPECT_EQ(parse_sizes("2^3..2^5,7"), (std::vector<std::int64_t>{7, 8, 16, 32}));
  EXPECT_EQ(parse_sizes("2^4..2^8:4"), (std::vector<std::int64_t>{16, 64, 256}));
  EXPECT_EQ(parse_sizes("2^33"), (std::vector<std::int64_t>{std::int64_t{1} << 33}));
  for (const char* wrong : {"", "x", "2^", "3^4", "2^41", "0", "-5", "2^5..2^3", "8..64:1", "99999999999999999999"}) {
    EXPECT_THROW(parse_sizes(wrong), std::invalid_argument) << wrong;
  }
}

run_result run_with(const contender_list& contenders) { return run_all(i64_sums({1000, 4096}), contenders, nullptr); }

TEST(run, right_contenders_are_timed_in_every_series) {
  contender who;
  who.name = "plain";
  who.is_baseline = true;
  const contender_list contenders{of_family(who, sum_family{}), of_family(who, sum_family{})};
  const run_result result = run_with(contenders);
  EXPECT_TRUE(result.all_right);
  ASSERT_EQ(result.rows.size(), 4u);
  for (const row& r : result.rows) {
    EXPECT_EQ(r.fault, "");
    EXPECT_EQ(r.series_us.size(), 3u);
    EXPECT_GT(r.time_us, 0);
    EXPECT_EQ(r.bytes, r.n * 8);
    ASSERT_TRUE(r.ratio_to_kokkos.has_value());
    EXPECT_LE(*r.ratio_to_kokkos, 1.0);
  }
  EXPECT_GT(result.bandwidth.host_gbs, 0);
}

// A device in host memory, of 32 MiB for data and 100 GB/s, whose graphs are loops.
class host_as_device : public device {
 public:
  explicit host_as_device(std::size_t bytes = std::size_t{32} << 20) : bytes_(bytes) {
    facts_.memory = static_cast<std::int64_t>(2 * bytes);
    facts_.gpu = "host";
  }

  const device_facts& facts() const override { return facts_; }
  void* stream() override { return nullptr; }
  std::byte* pool(std::int64_t bytes) override {
    if (bytes > static_cast<std::int64_t>(bytes_.size())) throw std::runtime_error("more than there is");
    return bytes_.data();
  }
  void fill(element type, std::uint64_t seed) override {
    with_type(type, [&](auto t) {
      using value = typename decltype(t)::type;
      for (std::size_t i = 0; i < bytes_.size() / sizeof(value); ++i) {
        const auto made = value_at<value>(seed, i);
        std::memcpy(bytes_.data() + i * sizeof(value), &made, sizeof(value));
      }
    });
  }
  void fill_copies(const std::byte*, std::int64_t, std::int64_t) override {}
  std::byte* copy_pool() override {
    copy_ = bytes_;
    return copy_.data();
  }
  void enqueue_small() override { ++small_kernels; }
  void enqueue_axpy(element type, int a, const std::byte* x, int b, std::byte* y, std::int64_t n) override {
    ++axpys;
    ASSERT_EQ(type, element::i64);
    const auto axpy = [=] {
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i * size_of(type));
        std::int64_t xi = 0;
        std::int64_t yi = 0;
        std::memcpy(&xi, x + at, sizeof xi);
        std::memcpy(&yi, y + at, sizeof yi);
        yi = wrapping_sum(product<std::int64_t>(a, xi), product<std::int64_t>(b, yi));
        std::memcpy(y + at, &yi, sizeof yi);
      }
    };
    if (!late) return axpy();
    if (unfinished) unfinished();
    unfinished = axpy;
  }
  double time(const std::function<void()>& enqueue) override {
    const double begin = host_seconds();
    enqueue();
    return host_seconds() - begin;
  }
  double time_cold(const std::function<void()>& enqueue) override {
    ++cold_times;
    return time(enqueue);
  }
  std::unique_ptr<call> capture(std::unique_ptr<call> prepared, std::int64_t first, std::int64_t count) override {
    if (refuses) throw std::runtime_error("cannot be captured");
    return std::make_unique<loop>(std::move(prepared), first, count - dropped);
  }
  double measure_read() override { return 100; }
  double measure_blocking_floor() override { return 1e-6; }

  bool refuses = false;
  bool late = false;  // an axpy is done when the next one begins
  std::function<void()> unfinished;
  std::int64_t dropped = 0;  // of the calls of a graph
  std::int64_t cold_times = 0;
  std::int64_t small_kernels = 0;
  std::int64_t axpys = 0;

 private:
  struct loop final : call {
    loop(std::unique_ptr<call> what, std::int64_t from, std::int64_t times)
        : prepared(std::move(what)), first(from), count(times) {}
    void run(std::int64_t, std::int64_t launches) override {
      for (std::int64_t i = 0; i < launches; ++i) prepared->run(first, count);
    }
    answer last() override { return prepared->last(); }

    std::unique_ptr<call> prepared;
    std::int64_t first;
    std::int64_t count;
  };

  device_facts facts_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> copy_;
};

contender on_device(const char* name, destination to, bool capturable) {
  contender who;
  who.name = name;
  who.where = place::gpu;
  who.to = to;
  who.capturable = capturable;
  return of_family(who, sum_family{});
}

TEST(graphs, calls_that_can_be_captured_have_a_row_of_their_own) {
  host_as_device gpu;
  const contender_list contenders{on_device("both", destination::device, true),
                                  on_device("calls", destination::device, false),
                                  on_device("waits", destination::host, false)};
  const run_result result = run_all(i64_sums({1000, 1 << 20, 1 << 21}), contenders, &gpu);
  EXPECT_TRUE(result.all_right);
  ASSERT_EQ(result.rows.size(), 12u);
  // 100 calls, or as many as read for 4 ms at 100 GB/s.
  const std::int64_t nodes[] = {100, 47, 23};
  for (std::size_t k = 0; k < 3; ++k) {
    const row* rows = &result.rows[4 * k];
    EXPECT_EQ(rows[0].how, timing::calls);
    EXPECT_EQ(rows[1].how, timing::graph);
    EXPECT_EQ(rows[1].who, rows[0].who);
    EXPECT_EQ(rows[2].how, timing::calls);
    EXPECT_EQ(rows[3].how, timing::blocking);
    EXPECT_EQ(rows[0].graph_nodes, 0);
    EXPECT_EQ(rows[1].graph_nodes, nodes[k]);
    EXPECT_EQ(rows[1].calls % nodes[k], 0);
    EXPECT_EQ(rows[1].series_us.size(), 3u);
    // The time is of one call, not of the graph.
    EXPECT_LT(rows[1].time_us, 10 * rows[0].time_us);
    EXPECT_GT(rows[1].time_us, rows[0].time_us / 10);
  }
  EXPECT_GE(gpu.cold_times, 3 * 4);
}

TEST(graphs, a_capture_that_fails_is_a_fault_of_its_row_alone) {
  host_as_device gpu;
  gpu.refuses = true;
  const run_result result = run_all(i64_sums({1000}), {on_device("both", destination::device, true)}, &gpu);
  EXPECT_FALSE(result.all_right);
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_EQ(result.rows[0].fault, "");
  EXPECT_EQ(result.rows[0].series_us.size(), 3u);
  EXPECT_EQ(result.rows[1].fault, "cannot be captured");
  EXPECT_TRUE(result.rows[1].series_us.empty());
}

TEST(graphs, the_last_answer_of_a_graph_is_checked) {
  host_as_device gpu;
  gpu.dropped = 1;
  for (const std::int64_t n : {std::int64_t{1000}, std::int64_t{1} << 21}) {
    const run_result result = run_all(i64_sums({n}), {on_device("both", destination::device, true)}, &gpu);
    ASSERT_EQ(result.rows.size(), 2u);
    EXPECT_EQ(result.rows[0].fault, "");
    EXPECT_NE(result.rows[1].fault, "");
  }
}

TEST(graphs, timings_are_chosen) {
  host_as_device gpu;
  contender on_host;
  on_host.name = "host";
  const contender_list contenders{of_family(on_host, sum_family{}), on_device("both", destination::device, true),
                                  on_device("waits", destination::host, false)};
  options chosen = i64_sums({1000});
  for (const timing how : {timing::host, timing::calls, timing::graph, timing::blocking}) {
    chosen.timings = {how};
    const run_result result = run_all(chosen, contenders, &gpu);
    ASSERT_EQ(result.rows.size(), 1u) << name(how);
    EXPECT_EQ(result.rows[0].how, how);
  }
}

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

// Sums of every type, of the elements that a buffer holds.
struct sums_of_all_types {
  static constexpr bool takes_all_types = true;

  template <class T, operation Op>
  static constexpr bool offers() {
    return Op == operation::sum;
  }

  template <class T, operation Op>
  std::unique_ptr<call> make(const workload& work) const {
    return make_blocking<T>(work, [](const T* x, const T*, std::int64_t n) {
      auto sum = static_cast<sum_type<T>>(x[0]);
      for (std::int64_t i = 1; i < n; ++i) sum = wrapping_sum(sum, static_cast<sum_type<T>>(x[i]));
      return sum;
    });
  }
};

// Buffers of 1, 2, 8, 16 and 64 bytes an element, in a pool that has room for some and, of the largest, for one.
TEST(types, are_filled_found_and_counted_on_the_device) {
  host_as_device gpu;
  contender who = on_device("all", destination::device, true);
  who = of_family(who, sums_of_all_types{});
  options chosen = i64_sums({1, 1000, 500000});
  chosen.operations = {operation::sum, operation::min};
  chosen.types.clear();
  for (std::size_t k = 0; k < element_names.size(); ++k) chosen.types.push_back(static_cast<element>(k));
  const run_result result = run_all(chosen, {who}, &gpu);
  EXPECT_TRUE(result.all_right);
  ASSERT_EQ(result.rows.size(), 2 * 3 * element_names.size());
  for (const row& r : result.rows) {
    EXPECT_EQ(r.fault, "") << name(r.type) << " of " << r.n;
    EXPECT_EQ(r.bytes, r.n * size_of(r.type));
    EXPECT_EQ(r.op, operation::sum);
  }
}

TEST(types, a_family_is_asked_about_those_that_it_takes) {
  contender plain;
  const contender all = of_family(plain, sums_of_all_types{});
  EXPECT_TRUE(all.offers(element::i64, operation::sum));
  EXPECT_TRUE(all.offers(element::s64, operation::sum));
  EXPECT_FALSE(all.offers(element::s64, operation::min));
  plain = of_family(plain, sum_family{});
  EXPECT_TRUE(plain.offers(element::i64, operation::sum));
  EXPECT_FALSE(plain.offers(element::i8, operation::sum));
}

TEST(types, joined_contenders_offer_what_either_does) {
  const contender one = of_family(contender{}, sum_family{.throws = true});
  const contender both = joined(one, of_family(contender{}, sums_of_all_types{}));
  EXPECT_TRUE(both.offers(element::i64, operation::sum));
  EXPECT_TRUE(both.offers(element::c64, operation::sum));
  EXPECT_FALSE(both.offers(element::i64, operation::max));
  const std::vector<std::complex<double>> values{{1, 2}, {3, -5}};
  workload work;
  work.type = element::c64;
  work.n = 2;
  work.pool = reinterpret_cast<const std::byte*>(values.data());
  work.buffers = 1;
  const auto prepared = both.prepare(work);
  prepared->run(0, 1);
  EXPECT_EQ(to_text(prepared->last()), "4 -3");
  work.type = element::i64;
  EXPECT_THROW(both.prepare(work), std::runtime_error);  // the first one's
}

TEST(ratios, every_row_but_those_of_peers_has_one_to_each_peer_of_its_place_and_timing) {
  host_as_device gpu;
  contender_list contenders;
  for (const char* who : {"mine", "cub", "kokkos"}) {
    // Plain Kokkos's calls are not captured.
    contenders.push_back(on_device(who, destination::device, std::string_view(who) != "kokkos"));
    contenders.back().is_peer = std::string_view(who) != "mine";
  }
  contender on_host;
  on_host.name = "mine";
  contenders.push_back(of_family(on_host, sum_family{}));
  const run_result result = run_all(i64_sums({1000}), contenders, &gpu);
  ASSERT_EQ(result.rows.size(), 6u);
  const auto peers = [&](std::string_view who, timing how) {
    std::vector<std::string> found;
    for (const row& r : result.rows) {
      if (r.who->name != who || r.how != how) continue;
      for (const peer_ratio& ratio : r.ratios) found.push_back(ratio.peer->name);
    }
    return found;
  };
  using names = std::vector<std::string>;
  EXPECT_EQ(peers("mine", timing::calls), (names{"cub", "kokkos"}));
  EXPECT_EQ(peers("mine", timing::graph), names{"cub"});
  EXPECT_EQ(peers("mine", timing::host), names{});
  EXPECT_EQ(peers("cub", timing::calls), names{});
  EXPECT_EQ(peers("kokkos", timing::calls), names{});
  // The ratio is peer over own.
  const auto of = [&](std::string_view who) {
    return *std::find_if(result.rows.begin(), result.rows.end(),
                         [&](const row& r) { return r.who->name == who && r.how == timing::calls; });
  };
  EXPECT_NEAR(of("mine").ratios.front().times.mean,
              geometric_mean(of("cub").series_us).mean / geometric_mean(of("mine").series_us).mean, 1e-9);
}

// What a run of these rows is as JSON, by way of a file.
nlohmann::json written(const run_result& result) {
  const std::string file = (std::filesystem::path(testing::TempDir()) / "fanin_perf_rows.json").string();
  write_json(file, result, {}, {}, nullptr);
  const auto json = nlohmann::json::parse(std::ifstream(file));
  std::filesystem::remove(file);
  return json;
}

// Logarithms -1, 0 and 1: mean 0, deviation 1, so the bounds are exp(-+ 4.3027 / sqrt(3)) = exp(-+ 2.48414). Of the
// ratios one is 2 exactly, one deviates as the times do, one is of one series alone.
TEST(json, a_row_holds_means_bounds_and_ratios_and_no_series) {
  contender mine;
  mine.name = "mine";
  contender cub = mine;
  cub.name = "cub";
  cub.is_peer = true;
  run_result result;
  row made;
  made.who = &cub;
  made.n = 1000;
  made.time_us = 1;
  made.series_us = {1};
  result.rows.push_back(made);
  made.who = &mine;
  made.time_us = std::exp(-1.0);
  made.series_us = {std::exp(-1.0), 1, std::exp(1.0)};
  made.ratios.push_back({&cub, paired_ratio({2 * std::exp(-1.0), 2, 2 * std::exp(1.0)}, made.series_us)});
  made.ratios.push_back({&cub, paired_ratio({3, 3, 3}, made.series_us)});
  made.ratios.push_back({&cub, paired_ratio({3 * std::exp(-1.0)}, made.series_us)});
  result.rows.push_back(made);
  made.n = 2000;
  made.fault = "7 where 8 is right";
  result.rows.push_back(made);

  const auto json = written(result);
  EXPECT_EQ(json["schema"], 2);
  EXPECT_EQ(json["columns"], nlohmann::json(json_columns));
  ASSERT_EQ(json["ways"].size(), 2u);
  EXPECT_EQ(json["ways"][0]["contender"], "cub");
  EXPECT_EQ(json["ways"][0]["is_peer"], true);
  EXPECT_EQ(json["ways"][1]["is_peer"], false);
  ASSERT_EQ(json["cases"].size(), 2u);
  EXPECT_EQ(json["cases"][1]["n"], 2000);
  const auto& rows = json["cases"][0]["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].dump(), "[0,1.0,1.0,null,[]]");
  const auto& own = rows[1];
  ASSERT_EQ(own.size(), 5u);
  EXPECT_EQ(own[0], 1);
  EXPECT_DOUBLE_EQ(own[1].get<double>(), 0.3678794);
  EXPECT_NEAR(own[2].get<double>(), 1, 1e-4);
  EXPECT_NEAR(own[3].get<double>(), 100 * (std::exp(2.48414) - 1), 1);
  ASSERT_EQ(own[4].size(), 3u);
  EXPECT_EQ(own[4][0][0], 0);
  EXPECT_NEAR(own[4][0][1].get<double>(), 2, 1e-4);
  EXPECT_NEAR(own[4][0][2].get<double>(), 0, 1e-6);
  EXPECT_NEAR(own[4][1][1].get<double>(), 3, 1e-4);
  EXPECT_NEAR(own[4][1][2].get<double>(), 100 * (std::exp(2.48414) - 1), 0.1);
  EXPECT_NEAR(own[4][2][1].get<double>(), 3, 1e-4);
  EXPECT_TRUE(own[4][2][2].is_null());
  // A wrong answer has no time, but what it was.
  const auto& wrong = json["cases"][1]["rows"][0];
  EXPECT_TRUE(wrong[1].is_null());
  EXPECT_EQ(wrong[7], "7 where 8 is right");
}

TEST(json, digits_are_few_and_rounding_them_again_is_rounding_once) {
  EXPECT_EQ(rounded(3.8701647635856022, 4), 3.87);
  EXPECT_EQ(rounded(1234567.8, 3), 1230000);
  EXPECT_EQ(rounded(1.8349, 3), 1.83);
  EXPECT_EQ(rounded(1.8349, 4), 1.8349);    // 1.835 would become 1.84
  EXPECT_EQ(rounded(1.34996, 5), 1.34996);  // so would 1.3500 become 1.4
  EXPECT_EQ(rounded(2.5, 3), 2.5);
  EXPECT_EQ(rounded(0, 3), 0);
}

TEST(json, a_case_holds_the_time_of_kernels_that_were_taken_off) {
  contender who;
  run_result result;
  row made;
  made.who = &who;
  made.how = timing::calls;
  made.time_us = 1;
  made.series_us = {1};
  result.rows.push_back(made);
  made.how = timing::between_axpy;
  made.kernel_us = 2.5;
  result.rows.push_back(made);
  made.n = 1;
  made.kernel_us = 0;
  result.rows.push_back(made);
  const auto json = written(result);
  ASSERT_EQ(json["cases"].size(), 2u);
  EXPECT_EQ(json["cases"][0]["kernel_us"].dump(), R"({"between_axpy":2.5})");
  EXPECT_FALSE(json["cases"][1].contains("kernel_us"));
  EXPECT_EQ(json["ways"][1]["timing"], "between_axpy");
}

TEST(run, wrong_contenders_are_reported_and_not_timed) {
  contender who;
  who.name = "wrong";
  const contender_list contenders{of_family(who, sum_family{}), of_family(who, sum_family{.dropped = 1}),
                                  of_family(who, sum_family{.throws = true})};
  const run_result result = run_with(contenders);
  EXPECT_FALSE(result.all_right);
  ASSERT_EQ(result.rows.size(), 6u);
  for (std::size_t k = 0; k < result.rows.size(); k += 3) {
    EXPECT_EQ(result.rows[k].fault, "");
    EXPECT_NE(result.rows[k + 1].fault, "");
    EXPECT_TRUE(result.rows[k + 1].series_us.empty());
    EXPECT_EQ(result.rows[k + 2].fault, "cannot be prepared");
  }
}

TEST(tuning, the_fastest_is_named_where_it_is_certainly_faster) {
  contender own;
  own.name = "fanin";
  own.strategy = "one_pass";
  contender other = own;
  other.tuning = "{.block_size = 256, .blocks_per_sm = 2}";
  run_result found;
  const auto add = [&](const contender& who, std::int64_t n, std::vector<double> series) {
    row r;
    r.who = &who;
    r.n = n;
    r.how = timing::calls;
    r.time_us = series[1];
    r.series_us = std::move(series);
    found.rows.push_back(r);
  };
  add(own, 1000, {4, 4, 4.1});
  add(other, 1000, {2, 2, 2.05});
  add(own, 2000, {4, 4, 4});
  add(other, 2000, {5, 3.9, 2});
  const std::string text = tuning_table(found);
  EXPECT_NE(text.find("2.000 (2.000 to 2.000) gpu.with<fanin::cuda_strategy::one_pass>({.block_size = 256, "
                      ".blocks_per_sm = 2})"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2000 calls        4.00       3.90                       the default is as fast as any"),
            std::string::npos)
      << text;
}

}  // namespace
