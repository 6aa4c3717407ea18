// SPDX-License-Identifier: Apache-2.0
#include "harness/timing.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "harness/host.hpp"
#include "harness/numbers.hpp"

namespace fanin_perf {
namespace {

// A series is long enough for the clock, and holds enough calls for a mean where calls are short.
constexpr double host_series_seconds = 2e-3;
constexpr double device_series_seconds = 4e-3;
constexpr double quick_series_seconds = 1e-3;
constexpr std::int64_t fewest_device_calls = 5;  // of less than device_series_seconds each
constexpr std::int64_t most_calls = 20000;

class rotation {
 public:
  explicit rotation(std::int64_t buffers) : buffers_(buffers) {}
  std::int64_t take(std::int64_t calls) {
    const std::int64_t first = at_;
    at_ = (at_ + calls) % buffers_;
    return first;
  }

 private:
  std::int64_t buffers_;
  std::int64_t at_ = 0;
};

// What has a turn in each series: a racer, or the kernels before calls alone.
struct turn {
  call* prepared;
  timing how;
  bool on_gpu;
  std::int64_t at_once;  // calls in a run of `prepared`
  std::int64_t runs = 0;
  std::vector<double> series_us{};  // time of one call
};

double seconds_of(const turn& one, rotation& buffers, std::int64_t runs, device* gpu) {
  if (is_graph(one.how)) {
    double seconds = 0;
    for (std::int64_t i = 0; i < runs; ++i) {
      const auto launch = [&] { one.prepared->run(0, 1); };
      if (is_hot(one.how)) launch();
      seconds += is_hot(one.how) ? gpu->time(launch) : gpu->time_cold(launch);
    }
    return seconds;
  }
  const std::int64_t first = buffers.take(runs);
  if (one.how == timing::calls) {
    return gpu->time([&] { one.prepared->run(first, runs); });
  }
  const double begin = host_seconds();
  one.prepared->run(first, runs);
  return host_seconds() - begin;
}

std::int64_t runs_per_series(const turn& one, rotation& buffers, const timing_plan& plan, device* gpu) {
  double target = one.on_gpu ? device_series_seconds : host_series_seconds;
  if (plan.quick) target = quick_series_seconds;
  std::int64_t runs = 1;
  double seconds = seconds_of(one, buffers, runs, gpu);
  // Short calls are looked at twice, since the first ones also warm up.
  if (seconds < target / 4) {
    runs = std::clamp(static_cast<std::int64_t>(target / 4 / std::max(seconds, 1e-7)), runs, most_calls);
    seconds = seconds_of(one, buffers, runs, gpu);
  }
  const double each = std::max(seconds / static_cast<double>(runs), 1e-8);
  const std::int64_t fewest = one.on_gpu && !is_graph(one.how) ? fewest_device_calls : 1;
  return std::clamp(static_cast<std::int64_t>(std::ceil(target / each)), fewest, most_calls);
}

// The racers, in their order, then the kernels of each way to stand between them.
std::vector<turn> turns_of(const std::vector<racer>& racers) {
  std::vector<turn> turns;
  for (const racer& one : racers) {
    const row& result = *one.result;
    turns.push_back(
        {one.prepared, result.how, result.who->where == place::gpu, std::max<std::int64_t>(1, result.graph_nodes)});
  }
  for (const racer& one : racers) {
    const bool known =
        std::any_of(turns.begin(), turns.end(), [&](const turn& other) { return other.prepared == one.kernels; });
    if (one.kernels != nullptr && !known)
      turns.push_back({one.kernels, one.result->how, true, one.result->graph_nodes});
  }
  return turns;
}

// Takes the kernels' own time off.
void subtract(const std::vector<double>& kernels_us, row& result) {
  for (std::size_t k = 0; k < result.series_us.size(); ++k) {
    result.series_us[k] -= kernels_us[k];
    if (result.series_us[k] > 0) continue;
    result.fault = "the kernels before it took as long without it: measure again, where nothing else runs";
    result.series_us.clear();
    return;
  }
  result.kernel_us = median(kernels_us);
}

}  // namespace

void race(std::vector<racer>& racers, std::int64_t buffers, const timing_plan& plan, device* gpu) {
  rotation going_round(buffers);
  std::vector<turn> turns = turns_of(racers);
  for (turn& one : turns) one.runs = runs_per_series(one, going_round, plan, gpu);
  // The order is drawn anew each time: whoever follows threads that still spin, say, is another one in each series.
  std::vector<turn*> order;
  for (turn& one : turns) order.push_back(&one);
  std::minstd_rand random(1);
  for (int series = 0; series < plan.series; ++series) {
    std::shuffle(order.begin(), order.end(), random);
    for (turn* one : order) {
      const double seconds = seconds_of(*one, going_round, one->runs, gpu);
      one->series_us.push_back(seconds / static_cast<double>(one->runs * one->at_once) * 1e6);
    }
  }
  for (std::size_t k = 0; k < racers.size(); ++k) {
    row& result = *racers[k].result;
    result.calls = turns[k].runs * turns[k].at_once;
    result.series_us = turns[k].series_us;
    if (racers[k].kernels != nullptr) {
      const auto kernels = std::find_if(turns.begin(), turns.end(),
                                        [&](const turn& other) { return other.prepared == racers[k].kernels; });
      subtract(kernels->series_us, result);
      if (!result.fault.empty()) continue;
    }
    result.time_us = result.who->where == place::gpu ? median(result.series_us) : smallest(result.series_us);
    result.gbs = static_cast<double>(result.bytes) / result.time_us * 1e-3;
  }
}

}  // namespace fanin_perf
