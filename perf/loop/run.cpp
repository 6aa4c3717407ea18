// SPDX-License-Identifier: Apache-2.0
#include "loop/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>

#include "harness/host.hpp"
#include "harness/numbers.hpp"
#include "loop/reference.hpp"

namespace fanin_perf::cg {
namespace {

constexpr double series_seconds = 4e-3;
constexpr double quick_series_seconds = 1e-4;
constexpr int most_repeats = 100;

/// The vectors of one case, on the GPU or the host, and what they were at the start.
template <class T>
class case_data {
 public:
  case_data(box points, device* gpu) : gpu_(gpu) {
    const std::int64_t n = points.points();
    const std::int64_t bytes = 4 * n * std::int64_t{sizeof(T)} + std::int64_t{sizeof(scalars<T>)};
    start_.resize(static_cast<std::size_t>(bytes));
    all_ = over(start_.data(), points);
    for (std::int64_t i = 0; i < n; ++i) {
      all_.of.x[i] = all_.of.q[i] = 0;
      all_.of.r[i] = all_.of.p[i] = right_side<T>(i);
    }
    double square = 0;
    for (std::int64_t i = 0; i < n; ++i) square += double{all_.of.r[i]} * double{all_.of.r[i]};
    const T rounded = static_cast<T>(square);
    *all_.at = {.squares = {rounded, 0}, .product = 0, .alpha = 0, .last = {rounded, 0}, .zero = 0, .one = 1};
    if (gpu != nullptr) {
      gpu->pool(bytes);
      gpu->fill_copies(start_.data(), bytes, (bytes + 255) / 256 * 256);
      all_ = over(gpu->copy_pool(), points);
      all_.stream = gpu->stream();
    } else {
      live_ = start_;
      all_ = over(live_.data(), points);
    }
    all_.square = rounded;
  }

  const problem<T>& all() const { return all_; }

  /// On the GPU only enqueued.
  void restart() {
    if (gpu_ != nullptr) {
      gpu_->copy_pool();
    } else {
      std::copy(start_.begin(), start_.end(), live_.begin());
    }
  }
  void wait() {
    if (gpu_ != nullptr) (void)gpu_->time([] {});
  }

 private:
  static problem<T> over(std::byte* memory, box points) {
    T* const x = reinterpret_cast<T*>(memory);
    const std::int64_t n = points.points();
    return {{points, x, x + n, x + 2 * n, x + 3 * n}, reinterpret_cast<scalars<T>*>(x + 4 * n), 0, nullptr};
  }

  device* gpu_;
  std::vector<std::byte> start_;
  std::vector<std::byte> live_;
  problem<T> all_;
};

/// A form in one mode.
template <class T>
struct racer {
  row* result;
  solver<T>* alone;             ///< reads x; does the iterations where there is no graph
  std::unique_ptr<call> graph;  ///< a launch is all iterations
  int repeats = 1;
};

template <class T>
class one_case {
 public:
  one_case(const options& chosen, const registry& all, device* gpu, std::int64_t n, element type)
      : chosen_(chosen), gpu_(gpu), points_{std::countr_zero(static_cast<std::uint64_t>(n))}, data_(points_, gpu) {
    right_ = solve<T>(points_, chosen.iterations);
    for (const contender& who : all.contenders) {
      if (who.on_gpu != (gpu != nullptr) || !is_chosen(who)) continue;
      solvers_.push_back(who.makes<T>()(data_.all()));
      for (const mode how : modes_of(who)) {
        rows_.push_back(std::make_unique<row>(row{.who = &who, .type = type, .n = n, .how = how}));
        prepare(*rows_.back());
      }
    }
  }

  std::vector<row> run() {
    for (racer<T>& one : racers_) {
      const double target = chosen_.quick ? quick_series_seconds : series_seconds;
      (void)seconds_of(one);
      one.repeats = std::clamp(static_cast<int>(std::ceil(target / std::max(seconds_of(one), 1e-9))), 1, most_repeats);
    }
    std::vector<racer<T>*> order;
    for (racer<T>& one : racers_) order.push_back(&one);
    std::minstd_rand random(1);
    for (int series = 0; series < chosen_.series; ++series) {
      std::shuffle(order.begin(), order.end(), random);
      for (racer<T>* one : order) {
        double seconds = 0;
        for (int i = 0; i < one->repeats; ++i) seconds += seconds_of(*one);
        one->result->series_us.push_back(seconds / one->repeats / chosen_.iterations * 1e6);
      }
    }
    for (racer<T>& one : racers_) compare(*one.result);
    std::vector<row> found;
    for (auto& one : rows_) found.push_back(std::move(*one));
    std::stable_sort(found.begin(), found.end(), [](const row& a, const row& b) { return a.how < b.how; });
    return found;
  }

 private:
  bool is_chosen(const contender& who) const {
    return who.is_kernels || chosen_.libraries.empty() ||
           std::find(chosen_.libraries.begin(), chosen_.libraries.end(), who.library) != chosen_.libraries.end();
  }

  std::vector<mode> modes_of(const contender& who) const {
    if (gpu_ == nullptr) return {mode::checked};
    std::vector<mode> modes = chosen_.modes;
    if (who.blocks) std::erase_if(modes, [](mode how) { return how != mode::checked; });
    return modes;
  }

  // What cannot run, or gives wrong answers, is not timed.
  void prepare(row& result) {
    racer<T> made{&result, solvers_.back().get(), nullptr};
    try {
      if (result.how == mode::graph) {
        made.graph = gpu_->capture(result.who->makes<T>()(data_.all()), 0, chosen_.iterations);
      }
      if (!result.who->is_kernels) check(made);
    } catch (const std::exception& error) {
      result.fault = error.what();
    }
    if (result.fault.empty()) racers_.push_back(std::move(made));
  }

  void check(racer<T>& one) {
    row& result = *one.result;
    const auto note = [&](double error, const std::string& what) {
      result.error = std::max(result.error, error);
      if (error <= tolerance<T>() || !result.fault.empty()) return;
      result.fault = fmt::format("{} is {:.1e} from the serial solution's", what, error);
    };
    data_.restart();
    if (result.how == mode::checked) {
      for (std::int64_t k = 0; k < chosen_.iterations; ++k) {
        const auto after = static_cast<std::size_t>(k + 1);
        note(relative_error(double{one.alone->step(k)}, right_.squares[after]),
             fmt::format("r.r after iteration {}", after));
      }
    } else {
      iterate(one);
      const answer last = one.graph != nullptr ? one.graph->last() : one.alone->last();
      note(relative_error(last.value<double>(), right_.squares.back()), "the last r.r");
    }
    note(relative_error(one.alone->solution(), right_.x), "x");
  }

  // All iterations, enqueued.
  void iterate(racer<T>& one) {
    if (one.graph != nullptr) {
      one.graph->run(0, 1);
    } else {
      one.alone->run(0, chosen_.iterations);
    }
  }

  // Of all iterations, from the start.
  double seconds_of(racer<T>& one) {
    data_.restart();
    if (one.result->how == mode::checked) {
      data_.wait();
      const double begin = host_seconds();
      for (std::int64_t k = 0; k < chosen_.iterations; ++k) (void)one.alone->step(k);
      return host_seconds() - begin;
    }
    if (one.graph != nullptr) {
      // A launch before it keeps the device busy until the one that is timed has arrived.
      iterate(one);
      data_.restart();
    }
    return gpu_->time([&] { iterate(one); });
  }

  void compare(row& result) {
    result.time_us = median(result.series_us);
    for (const racer<T>& other : racers_) {
      const row& beside = *other.result;
      if (beside.how != result.how || result.who->is_kernels) continue;
      const interval times = paired_ratio(beside.series_us, result.series_us);
      if (beside.who->is_kernels) result.kernels = times;
      if (beside.who->is_peer && !result.who->is_peer) result.ratios.push_back({beside.who, times});
    }
  }

  const options& chosen_;
  device* gpu_;
  box points_;
  case_data<T> data_;
  reference right_;
  std::vector<std::unique_ptr<solver<T>>> solvers_;
  std::vector<std::unique_ptr<row>> rows_;
  std::vector<racer<T>> racers_;
};

}  // namespace

std::vector<row> run_all(const options& chosen, const registry& all, device* gpu) {
  std::vector<row> rows;
  const auto add = [&](std::vector<row> more) {
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  // Types within a size: what one leaves of memory is of the size that the next one needs.
  for (const std::int64_t n : chosen.sizes) {
    for (const element type : chosen.types) {
      fmt::print(stderr, "fanin-perf-cg: {} points of {}\n", n, name(type));
      if (type == element::f32) {
        add(one_case<float>(chosen, all, gpu, n, type).run());
      } else {
        add(one_case<double>(chosen, all, gpu, n, type).run());
      }
    }
  }
  return rows;
}

}  // namespace fanin_perf::cg
