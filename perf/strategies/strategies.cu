// SPDX-License-Identifier: Apache-2.0

// fanin-strategies: the comparison that the documents make. Sums by every strategy of the catalogue, each at its own
// settings, all at one setting, and each at the best of a sweep over block size, n of fold_n and grid; time from the
// call to the value on the host. Answers are checked before anything is timed. With --once, one reduction for a
// profiler.

#include <cuda_runtime_api.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "fanin_perf_commit.hpp"
#include "harness/build.hpp"
#include "harness/cuda_check.hpp"
#include "harness/numbers.hpp"

namespace {

using json = nlohmann::json;

template <class T>
struct fill {
  T* x;
  FANIN_FUNCTION void operator()(std::int64_t i) const {
    const auto mixed = static_cast<std::uint32_t>(i) * 2654435761u;
    x[i] = static_cast<T>(static_cast<std::int32_t>(mixed >> 24) - 128);
  }
};

template <class T>
struct widened {
  const T* x;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const { return static_cast<std::int64_t>(x[i]); }
};

struct settings {
  std::vector<std::int64_t> sizes;
  int series = 7;
  bool tune = false;
  std::string only;
};

/// Elements in memory of the device, and their exact sum at every size.
template <class T>
class numbers {
 public:
  numbers(fanin::cuda& gpu, std::int64_t n) : gpu_{gpu}, buffer_(gpu, n) {
    fanin::parallel_for(fanin::range(gpu, 0, n), fill<T>{buffer_.data()});
  }
  std::span<const T> first(std::int64_t n) const { return buffer_.span().first(static_cast<std::size_t>(n)); }
  /// Integers exactly. Floats within what rounding may do to chains of n / 256 additions (one block of 256 threads): a
  /// dropped element shows in the integers of the same run.
  bool is_right(T value, std::int64_t n) const {
    const std::int64_t exact =
        fanin::parallel_reduce(fanin::range(gpu_, 0, n), widened<T>{buffer_.data()}, fanin::sum<std::int64_t>{});
    if constexpr (std::is_integral_v<T>) {
      return value == static_cast<T>(exact);
    } else {
      const double count = static_cast<double>(n);
      const double half_ulp = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
      return std::abs(static_cast<double>(value) - static_cast<double>(exact)) <=
             (count / 256 + 64) * half_ulp * 128 * count;
    }
  }

 private:
  fanin::cuda& gpu_;
  fanin::buffer<T, fanin::cuda> buffer_;
};

/// The median of the series, in microseconds; a series is as many calls as fill 3 ms, at least two.
template <class Call>
double median_us(int series, const Call& call) {
  using clock = std::chrono::steady_clock;
  const auto once = [&] {
    const auto begin = clock::now();
    call();
    return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
  };
  once();
  const int calls = std::clamp(static_cast<int>(3000.0 / once()), 2, 200);
  std::vector<double> times;
  for (int s = 0; s < series; ++s) {
    double total = 0;
    for (int k = 0; k < calls; ++k) total += once();
    times.push_back(total / calls);
  }
  std::nth_element(times.begin(), times.begin() + series / 2, times.end());
  return times[static_cast<std::size_t>(series / 2)];
}

template <class Strategy, class T>
double measure(fanin::cuda& gpu, const numbers<T>& data, std::int64_t n, const fanin::cuda_tuning& tuning, int series) {
  const auto view = gpu.with<Strategy>(tuning);
  const auto xs = data.first(n);
  const T value = fanin::reduce(view, xs, fanin::sum<T>{});
  if (!data.is_right(value, n)) {
    std::fprintf(stderr, "fanin-strategies: %s gives a wrong sum of %lld elements\n", Strategy::name,
                 static_cast<long long>(n));
    std::exit(1);
  }
  return median_us(series, [&] { static_cast<void>(fanin::reduce(view, xs, fanin::sum<T>{})); });
}

template <class Strategy>
void add_row(json& rows, fanin::cuda& gpu, const char* type, std::int64_t n, const char* setting, double us,
             const fanin::cuda_tuning& tuning) {
  const auto launch = gpu.last_launch();
  rows.push_back({Strategy::name, type, n, setting, fanin_perf::rounded(us, 7), launch.block_size, launch.grid_size,
                  launch.launches, tuning.chunks != 0 ? tuning.chunks : Strategy::recipe.chunks});
}

template <class Strategy, class T>
void tune(json& rows, fanin::cuda& gpu, const numbers<T>& data, const char* type, std::int64_t n) {
  constexpr fanin::cuda_recipe recipe = Strategy::recipe;
  double best = 1e30;
  fanin::cuda_tuning chosen;
  for (const int block : {128, 256, 512, 1024}) {
    std::vector<fanin::cuda_tuning> candidates;
    if (recipe.thread == fanin::cuda_stage::thread::fold_n) {
      for (const int chunks : {2, 4, 8, 16, 32}) candidates.push_back({.block_size = block, .chunks = chunks});
    } else if (recipe.grid_size != 1 && fanin::is_persistent(recipe)) {
      for (const int blocks : {1, 2, 4, 8, 16}) candidates.push_back({.block_size = block, .blocks_per_sm = blocks});
    } else {
      candidates.push_back({.block_size = block});
    }
    for (const auto& candidate : candidates) {
      const double us = measure<Strategy>(gpu, data, n, candidate, 1);
      if (us < best) {
        best = us;
        chosen = candidate;
      }
    }
  }
  const double us = measure<Strategy>(gpu, data, n, chosen, 5);
  add_row<Strategy>(rows, gpu, type, n, "tuned", us, chosen);
}

template <class T>
void compare(json& rows, fanin::cuda& gpu, const char* type, const settings& asked) {
  const std::int64_t largest = *std::max_element(asked.sizes.begin(), asked.sizes.end());
  const numbers<T> data(gpu, largest);
  for (const std::int64_t n : asked.sizes) {
    fanin::cuda_catalogue::for_each([&]<class Strategy>(Strategy) {
      if (!asked.only.empty() && asked.only != Strategy::name) return;
      fanin::cuda own(gpu.stream());  // its workspace goes with it: up to an accumulator for every element
      const fanin::cuda_tuning none;
      add_row<Strategy>(rows, own, type, n, "own", measure<Strategy>(own, data, n, none, asked.series), none);
      const fanin::cuda_tuning same{.block_size = 256};
      add_row<Strategy>(rows, own, type, n, "block 256", measure<Strategy>(own, data, n, same, asked.series), same);
      if (asked.tune) tune<Strategy>(rows, own, data, type, n);
    });
    std::fprintf(stderr, "fanin-strategies: %s, %lld elements done\n", type, static_cast<long long>(n));
  }
}

/// Settings of 001's own table: 2^26 int, block 512 for five kernels, 1024 and n = 8 for the others.
template <class T>
void compare_as_001(json& rows, fanin::cuda& gpu, const char* type) {
  const std::int64_t n = std::int64_t{1} << 26;
  const numbers<T> data(gpu, n);
  fanin::cuda_catalogue::for_each([&]<class Strategy>(Strategy) {
    fanin::cuda own(gpu.stream());
    constexpr fanin::cuda_recipe recipe = Strategy::recipe;
    fanin::cuda_tuning tuning;
    if (recipe.thread == fanin::cuda_stage::thread::one) {
      tuning.block_size = 512;
    } else if (recipe.thread == fanin::cuda_stage::thread::fold_n) {
      tuning.block_size = 1024;
      tuning.chunks = 8;
    } else {
      return;
    }
    add_row<Strategy>(rows, own, type, n, "001", measure<Strategy>(own, data, n, tuning, 7), tuning);
  });
}

/// 004's own setting, 10^8 doubles in blocks of 128, finished on the host as there and in a second pass; and 000's one
/// block of 256 and of 1024 threads.
void compare_as_004_and_000(json& rows, fanin::cuda& gpu) {
  using namespace fanin::cuda_strategy;
  const std::int64_t n = 100'000'000;
  const numbers<double> data(gpu, n);
  const auto add = [&]<class Strategy>(Strategy, const char* setting, int block) {
    fanin::cuda own(gpu.stream());
    const fanin::cuda_tuning tuning{.block_size = block};
    add_row<Strategy>(rows, own, "f64", n, setting, measure<Strategy>(own, data, n, tuning, 5), tuning);
  };
  add(finished_by<global_interleaved, grid::host_finish>{}, "004, host_finish", 128);
  add(finished_by<shared_interleaved, grid::host_finish>{}, "004, host_finish", 128);
  add(global_interleaved{}, "004, second_pass", 128);
  add(shared_interleaved{}, "004, second_pass", 128);
  add(thread_partials{}, "000, one block of 256", 256);
  add(thread_partials{}, "000, one block of 1024", 1024);
}

template <class T>
bool reduce_once(fanin::cuda& gpu, const std::string& name, std::int64_t n, const fanin::cuda_tuning& tuning) {
  const numbers<T> data(gpu, n);
  bool found = false;
  fanin::cuda_catalogue::for_each([&]<class Strategy>(Strategy) {
    if (name != Strategy::name) return;
    found = true;
    static_cast<void>(fanin::reduce(gpu.with<Strategy>(tuning), data.first(n), fanin::sum<T>{}));
  });
  return found;
}

int run(int argc, char** argv) {
  CLI::App app("fanin-strategies compares the strategies of the CUDA catalogue: sums of int32, float and double.");
  std::string out;
  std::string once;
  std::string type = "all";
  std::vector<std::int64_t> sizes{std::int64_t{1} << 24, 100'000'000, std::int64_t{1} << 29};
  settings asked;
  std::int64_t n = 0;
  fanin::cuda_tuning tuning;
  app.add_option("--json", out, "Write all figures to this file");
  app.add_option("--sizes", sizes, "Elements")->capture_default_str();
  app.add_option("--type", type, "i32, f32, f64 or all")->check(CLI::IsMember({"i32", "f32", "f64", "all"}));
  app.add_option("--series", asked.series, "Times that each is timed; the median counts")->capture_default_str();
  app.add_option("--only", asked.only, "One strategy");
  app.add_flag("--tune", asked.tune, "Also sweep block size, n of fold_n and grid, and time the best");
  app.add_option("--once", once, "Reduce once by this strategy, and nothing else: for a profiler");
  app.add_option("--n", n, "Elements for --once");
  app.add_option("--block", tuning.block_size, "Block size for --once");
  app.add_option("--chunks", tuning.chunks, "n of fold_n for --once");
  CLI11_PARSE(app, argc, argv);
  asked.sizes = sizes;

  fanin::cuda gpu;
  if (!once.empty()) {
    const bool found = type == "f64"   ? reduce_once<double>(gpu, once, n, tuning)
                       : type == "f32" ? reduce_once<float>(gpu, once, n, tuning)
                                       : reduce_once<std::int32_t>(gpu, once, n, tuning);
    if (!found) std::fprintf(stderr, "fanin-strategies: there is no strategy %s\n", once.c_str());
    return found ? 0 : 2;
  }

  cudaDeviceProp properties{};
  FANIN_PERF_CHECK(cudaGetDeviceProperties(&properties, gpu.device()));
  json rows = json::array();
  if (type == "all" || type == "i32") compare<std::int32_t>(rows, gpu, "i32", asked);
  if (type == "all" || type == "f32") compare<float>(rows, gpu, "f32", asked);
  if (type == "all" || type == "f64") compare<double>(rows, gpu, "f64", asked);
  if (asked.only.empty()) {
    compare_as_001<std::int32_t>(rows, gpu, "i32");
    compare_as_004_and_000(rows, gpu);
  }
  if (out.empty()) {
    for (const json& row : rows) std::printf("%s\n", row.dump().c_str());
    return 0;
  }
  const json columns{"strategy", "type", "n", "setting", "us", "block", "grid", "launches", "chunks"};
  std::ofstream to(out);
  to << "{\n\"gpu\": " << json(properties.name) << ",\n\"commit\": " << json(FANIN_PERF_COMMIT)
     << ",\n\"columns\": " << columns << ",\n\"rows\": [";
  const char* separator = "\n";
  for (const json& row : rows) {
    to << separator << row;
    separator = ",\n";
  }
  to << "\n]\n}\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "fanin-strategies: %s\n", failure.what());
    return 2;
  }
}
