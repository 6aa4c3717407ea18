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

double seconds_of(const racer& one, rotation& buffers, std::int64_t calls, device* gpu) {
  if (one.result->how == timing::graph) {
    double seconds = 0;
    for (std::int64_t i = 0; i < calls; ++i) {
      seconds += gpu->time_cold([&] { one.prepared->run(0, 1); });
    }
    return seconds;
  }
  const std::int64_t first = buffers.take(calls);
  if (one.result->how == timing::calls) {
    return gpu->time([&] { one.prepared->run(first, calls); });
  }
  const double begin = host_seconds();
  one.prepared->run(first, calls);
  return host_seconds() - begin;
}

std::int64_t calls_per_series(const racer& one, rotation& buffers, const timing_plan& plan, device* gpu) {
  const bool on_gpu = one.result->who->where == place::gpu;
  double target = on_gpu ? device_series_seconds : host_series_seconds;
  if (plan.quick) target = quick_series_seconds;
  std::int64_t calls = 1;
  double seconds = seconds_of(one, buffers, calls, gpu);
  // Short calls are looked at twice, since the first ones also warm up.
  if (seconds < target / 4) {
    calls = std::clamp(static_cast<std::int64_t>(target / 4 / std::max(seconds, 1e-7)), calls, most_calls);
    seconds = seconds_of(one, buffers, calls, gpu);
  }
  const double each = std::max(seconds / static_cast<double>(calls), 1e-8);
  const std::int64_t fewest = on_gpu && one.result->how != timing::graph ? fewest_device_calls : 1;
  return std::clamp(static_cast<std::int64_t>(std::ceil(target / each)), fewest, most_calls);
}

}  // namespace

void race(std::vector<racer>& racers, std::int64_t buffers, const timing_plan& plan, device* gpu) {
  rotation going_round(buffers);
  for (racer& one : racers) {
    one.result->calls =
        calls_per_series(one, going_round, plan, gpu) * std::max<std::int64_t>(1, one.result->graph_nodes);
  }
  // The order is drawn anew each time: whoever follows threads that still spin, say, is another one in each series.
  std::vector<racer*> order;
  for (racer& one : racers) order.push_back(&one);
  std::minstd_rand random(1);
  for (int series = 0; series < plan.series; ++series) {
    std::shuffle(order.begin(), order.end(), random);
    for (racer* one : order) {
      const std::int64_t at_once = std::max<std::int64_t>(1, one->result->graph_nodes);
      const double seconds = seconds_of(*one, going_round, one->result->calls / at_once, gpu);
      one->result->series_us.push_back(seconds / static_cast<double>(one->result->calls) * 1e6);
    }
  }
  for (racer& one : racers) {
    row& result = *one.result;
    result.time_us = result.who->where == place::gpu ? median(result.series_us) : smallest(result.series_us);
    result.gbs = static_cast<double>(result.bytes) / result.time_us * 1e-3;
  }
}

}  // namespace fanin_perf
