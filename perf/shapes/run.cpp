// SPDX-License-Identifier: Apache-2.0
#include "shapes/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <utility>

#include "harness/host.hpp"
#include "harness/numbers.hpp"
#include "harness/options.hpp"
#include "npy.hpp"
#include "shapes/box.hpp"
#include "shapes/input.hpp"
#include "shapes/matrix.hpp"

namespace fanin_perf::shapes {
namespace {

constexpr double series_seconds = 0.02;
constexpr double quick_series_seconds = 0.0005;
constexpr int most_calls = 2000;
constexpr int most_nodes_of_graph = 20;

/// Arrays for calls to rotate over, and results behind them.
template <class T>
class case_data {
 public:
  /// Synthetic, or of these numbers.
  case_data(const shape& of, element type, device* gpu, const std::byte* numbers) {
    constexpr std::int64_t beyond_caches = std::int64_t{512} << 20;
    constexpr std::int64_t beyond_host_caches = std::int64_t{128} << 20;
    const auto in_lines = [](std::int64_t n) { return (n * std::int64_t{sizeof(T)} + 255) / 256 * 256; };
    const std::int64_t bytes = in_lines(of.elements());
    const std::int64_t vector = of.what == kind::spmv ? in_lines(of.n) : 0;
    const std::int64_t rotating = bytes + of.columns_stride() * std::int64_t{sizeof(std::int32_t)};
    std::int64_t arrays = std::max<std::int64_t>((gpu ? beyond_caches : beyond_host_caches) / rotating, 1);
    if (gpu != nullptr) arrays = std::min<std::int64_t>(arrays, most_nodes_of_graph);
    const std::int64_t all = vector + bytes * arrays + of.results() * std::int64_t{sizeof(T)};
    host_ = std::make_unique<host_pool>(gpu != nullptr ? vector + bytes : all);
    std::byte* const pool = gpu != nullptr ? gpu->pool(all) : host_->data();
    const auto fill = [&](auto& memory) {
      if (numbers == nullptr) {
        memory.fill(type, data_kind{}, 1);
      } else {
        memory.fill_copies(numbers, of.elements() * std::int64_t{sizeof(T)}, bytes);
      }
    };
    fill(*host_);
    if (gpu != nullptr) fill(*gpu);
    problem_ = {of,
                reinterpret_cast<const T*>(pool + vector),
                bytes / std::int64_t{sizeof(T)},
                arrays,
                reinterpret_cast<T*>(pool + vector + bytes * arrays),
                gpu != nullptr ? gpu->stream() : nullptr,
                reinterpret_cast<const T*>(pool)};
    expect(of, reinterpret_cast<const T*>(host_->data()), reinterpret_cast<const T*>(host_->data() + vector));
  }

  const problem<T>& get() const { return problem_; }
  std::int64_t arrays() const { return problem_.arrays; }

  /// The largest error, relative to the sum of the magnitudes. A file may hold infinities and NaN.
  double error_of(const std::vector<T>& found) const {
    double most = 0;
    for (std::size_t k = 0; k < sums_.size(); ++k) {
      const auto sum = static_cast<double>(found[k]);
      if (sum == sums_[k] || (std::isnan(sum) && std::isnan(sums_[k]))) continue;
      const double error = std::abs(sum - sums_[k]) / std::max(magnitudes_[k], 1e-300);
      most = error <= most ? most : error;  // a NaN stays
    }
    return most;
  }

 private:
  void expect(const shape& of, const T* vector, const T* x) {
    sums_.assign(static_cast<std::size_t>(of.results()), 0);
    magnitudes_ = sums_;
    const std::int32_t* const column = of.what == kind::spmv ? of.given->columns.data() : nullptr;
    const auto add = [&](std::int64_t result, std::int64_t element) {
      const double factor = column != nullptr ? static_cast<double>(vector[column[element]]) : 1;
      const double value = static_cast<double>(x[element]) * factor;
      sums_[static_cast<std::size_t>(result)] += value;
      magnitudes_[static_cast<std::size_t>(result)] += std::abs(value);
    };
    if (of.has_offsets() || column != nullptr) {
      const std::vector<std::int64_t> offsets = column != nullptr ? of.given->offsets : of.offsets();
      for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        for (std::int64_t k = offsets[s]; k < offsets[s + 1]; ++k) add(static_cast<std::int64_t>(s), k);
      }
      return;
    }
    if (of.is_box()) {
      shapes::with_box(of, x, [&](const auto& within, const auto& f) {
        shapes::for_each_in(within, [&](auto... i) {
          const auto value = static_cast<double>(f(i...));
          sums_[0] += value;
          magnitudes_[0] += std::abs(value);
        });
      });
      return;
    }
    for (std::int64_t i = 0; i < of.n; ++i) {
      const std::int64_t count = of.what == kind::triangle ? in_triangle(i, of.n, of.m) : of.m;
      for (std::int64_t j = 0; j < count; ++j) {
        for (std::int64_t k = 0; k < of.inner; ++k) {
          const std::int64_t result = of.what == kind::triangle ? 0 : of.what == kind::columns ? j : i * of.inner + k;
          add(result, (i * of.m + j) * of.inner + k);
        }
      }
    }
  }

  std::unique_ptr<host_pool> host_;
  problem<T> problem_{};
  std::vector<double> sums_;
  std::vector<double> magnitudes_;
};

template <class T>
struct racer {
  row* result;
  prepared<T> made;
  std::unique_ptr<call> graph;
  int nodes = 1;  ///< of the graph
  int calls = 1;
  std::int64_t next = 0;  ///< the array of the next call
};

template <class T>
class one_case {
 public:
  one_case(const options& chosen, const registry& all, device* gpu, const shape& of, element type)
      : chosen_(chosen), gpu_(gpu), data_(of, type, gpu, chosen.numbers) {
    for (const contender& who : all.contenders) {
      if (!who.offers(of.what) || !is_chosen(who)) continue;
      rows_.push_back(std::make_unique<row>(row{.who = &who, .type = type, .of = of}));
      prepare(*rows_.back());
    }
  }

  std::vector<row> run() {
    const double target = chosen_.quick ? quick_series_seconds : series_seconds;
    for (racer<T>& one : racers_) {
      (void)seconds_of(one);
      const double seconds = std::max(seconds_of(one), 1e-9);
      one.calls = std::clamp(static_cast<int>(std::ceil(target / seconds)), 1, most_calls);
    }
    std::vector<racer<T>*> order;
    for (racer<T>& one : racers_) order.push_back(&one);
    std::minstd_rand random(1);
    for (int series = 0; series < chosen_.series; ++series) {
      std::shuffle(order.begin(), order.end(), random);
      for (racer<T>* one : order) one->result->series_us.push_back(seconds_of(*one) / one->calls * 1e6);
    }
    std::vector<row> found;
    for (const auto& one : rows_) complete(*one);
    for (auto& one : rows_) found.push_back(std::move(*one));
    return found;
  }

 private:
  bool is_chosen(const contender& who) const {
    return chosen_.contenders.empty() ||
           std::find(chosen_.contenders.begin(), chosen_.contenders.end(), who.name) != chosen_.contenders.end();
  }

  // What cannot run, or gives wrong answers, is not timed.
  void prepare(row& result) {
    try {
      racer<T> made{&result, result.who->makes<T>()(data_.get()), nullptr};
      result.before = made.made.before;
      made.made.calls->run(0, 1);
      result.error = data_.error_of(made.made.results());
      const double tolerance = sizeof(T) == sizeof(float) ? 1e-4 : 1e-12;
      if (!(result.error <= tolerance)) throw std::runtime_error(fmt::format("wrong by {:.1e}", result.error));
      if (gpu_ != nullptr) {
        const double seconds = std::max(gpu_->time([&] { made.made.calls->run(0, 1); }), 1e-9);
        made.nodes = std::clamp(static_cast<int>(series_seconds / seconds), 1, most_nodes_of_graph);
        made.graph = gpu_->capture(std::move(made.made.calls), 0, made.nodes);
      }
      racers_.push_back(std::move(made));
    } catch (const std::exception& error) {
      result.fault = error.what();
    }
  }

  double seconds_of(racer<T>& one) {
    if (one.graph != nullptr) {
      // Whole graphs; one before it keeps the device busy until the one that is timed has arrived.
      const int launches = std::max(one.calls / one.nodes, 1);
      one.graph->run(0, 1);
      const double seconds = gpu_->time([&] { one.graph->run(0, launches); });
      return seconds / (launches * one.nodes) * one.calls;
    }
    const double begin = host_seconds();
    one.made.calls->run(one.next, one.calls);
    one.next = (one.next + one.calls) % data_.arrays();
    return host_seconds() - begin;
  }

  void complete(row& result) {
    result.time_us = median(result.series_us);
    if (result.time_us > 0) result.gb_per_s = result.of.bytes(sizeof(T)) / result.time_us * 1e-3;
    for (const racer<T>& other : racers_) {
      if (!other.result->who->is_peer || result.who->is_peer || !result.fault.empty()) continue;
      result.ratios.push_back({other.result->who, paired_ratio(other.result->series_us, result.series_us)});
    }
  }

  const options& chosen_;
  device* gpu_;
  case_data<T> data_;
  std::vector<std::unique_ptr<row>> rows_;
  std::vector<racer<T>> racers_;
};

std::int64_t parse_extent(std::string_view text) {
  const std::vector<std::int64_t> sizes = parse_sizes(text);
  if (sizes.size() != 1 || sizes.front() < 1) {
    throw std::invalid_argument(fmt::format("{} is no extent; write 1000 or 2^10", text));
  }
  return sizes.front();
}

bool is_file(std::string_view name) { return name.find_first_not_of("0123456789^x") != name.npos; }

// "offsets.npy", "matrix.npz", "matrix.npz:indptr"
shape segments_in(std::string_view name) {
  constexpr std::string_view of_archive = ".npz:";
  const std::size_t at = name.rfind(of_archive);
  const std::size_t file = at == name.npos ? name.size() : at + of_archive.size() - 1;
  return segments_by(load_array(name.substr(0, file), name.substr(std::min(file + 1, name.size()))), std::string(name));
}

}  // namespace

std::vector<std::int64_t> shape::offsets() const {
  std::vector<std::int64_t> all;
  if (has_offsets() && given != nullptr) {
    all = given->offsets;
  } else if (what == kind::segments) {
    for (std::int64_t s = 0; s <= n; ++s) all.push_back(s * m);
  } else if (what == kind::giant) {
    all.assign(static_cast<std::size_t>(n) + 1, 0);
    std::fill(all.begin() + n / 2 + 1, all.end(), elements());
  } else if (what == kind::powerlaw) {
    // One in x is longer than x^(5/6) times the shortest: half of them have a quarter of the average or less.
    std::minstd_rand random(1);
    double sum = 0;
    std::vector<double> before{0};
    for (std::int64_t s = 0; s < n; ++s) {
      before.push_back(sum += std::pow(std::uniform_real_distribution<double>(1e-9, 1)(random), -5.0 / 6));
    }
    for (const double some : before) all.push_back(std::llround(some / sum * static_cast<double>(elements())));
  }
  return all;
}

std::string shape::text() const {
  const std::string_view name = kind_names[static_cast<std::size_t>(what)];
  if (given != nullptr) return fmt::format("{}:{}", name, given->name);
  return inner > 1 || what == kind::middle ? fmt::format("{}:{}x{}x{}", name, n, m, inner)
                                           : fmt::format("{}:{}x{}", name, n, m);
}

shape parse_shape(std::string_view text) {
  if (constexpr std::string_view segments = "segments:"; text.starts_with(segments)) {
    if (const std::string_view name = text.substr(segments.size()); is_file(name)) return segments_in(name);
  }
  if (constexpr std::string_view product = "spmv:"; text.starts_with(product)) {
    return sparse_matrix(text.substr(product.size()));
  }
  const std::size_t colon = text.find(':');
  const auto* const name = std::find(std::begin(kind_names), std::end(kind_names), text.substr(0, colon));
  std::vector<std::int64_t> extents;
  for (std::size_t at = colon; at < text.size();) {
    const std::size_t by = std::min(text.find('x', at + 1), text.size());
    extents.push_back(parse_extent(text.substr(at + 1, by - at - 1)));
    at = by;
  }
  const auto what = static_cast<kind>(name - std::begin(kind_names));
  const bool may_be_box = what == kind::md || what == kind::stencil;
  const bool fits =
      may_be_box ? extents.size() == 2 || extents.size() == 3 : extents.size() == (what == kind::middle ? 3 : 2);
  if (name == std::end(kind_names) || !fits) {
    throw std::invalid_argument(fmt::format(
        "{} is no shape; write rows:2^20x256, columns:1000x33, md:512x512, stencil:256x256x256, "
        "middle:512x512x512, "
        "segments:2^20x16, segments:offsets.npy, powerlaw:2^20x16, giant:2^20x16, runs:2^20x16, triangle:4096x4096 or "
        "spmv:stencil7:2^20",
        text));
  }
  const shape found{what, extents[0], extents[1], extents.size() == 3 ? extents[2] : 1};
  if (constexpr std::int64_t most = std::int64_t{1} << 40; found.n > most / found.m / found.inner) {
    throw std::invalid_argument(fmt::format("{} has more than 2^40 elements, which are the most", text));
  }
  if (found.is_box() && *std::min_element(extents.begin(), extents.end()) < 3) {
    throw std::invalid_argument(fmt::format("{} has nothing within its halo; extents of 3 are the least", text));
  }
  return found;
}

std::vector<row> run_all(const options& chosen, const registry& all, device* gpu,
                         const std::function<void(const std::vector<row>&)>& tell) {
  std::vector<row> rows;
  const auto add = [&](std::vector<row> more) {
    tell(more);
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  for (const shape& of : chosen.shapes) {
    for (const element type : chosen.types) {
      fmt::print(stderr, "fanin-perf-shapes: {} of {}\n", of.text(), name(type));
      try {
        if (type == element::f32) {
          add(one_case<float>(chosen, all, gpu, of, type).run());
        } else {
          add(one_case<double>(chosen, all, gpu, of, type).run());
        }
      } catch (const std::bad_alloc&) {
        throw std::runtime_error(
            fmt::format("{} of {}: there is no memory for {} elements and what belongs to them; take fewer", of.text(),
                        name(type), of.elements()));
      }
    }
  }
  return rows;
}

}  // namespace fanin_perf::shapes
