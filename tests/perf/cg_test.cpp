// SPDX-License-Identifier: Apache-2.0

// fanin-perf-cg: that each form solves the equation, and what becomes of one that does not.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "host_as_device.hpp"
#include "loop/reference.hpp"
#include "loop/report.hpp"
#include "loop/run.hpp"

namespace {

using namespace fanin_perf;

// One for all tests: Kokkos starts once in a process.
const cg::registry& on_host() {
  static const cg::registry all = cg::all_contenders(false);
  return all;
}

// |b - A x| over |b|, with A by coordinates.
template <class T>
double residual(const cg::box& points, const std::vector<T>& x) {
  const int w = 1 << points.x_bits();
  const int h = 1 << points.y_bits();
  const int d = 1 << points.z_bits();
  const auto at = [&](int i, int j, int k) {
    if (i < 0 || j < 0 || k < 0 || i >= w || j >= h || k >= d) return 0.0;
    return static_cast<double>(x[static_cast<std::size_t>((k * h + j) * w + i)]);
  };
  double of_residual = 0;
  double of_right_side = 0;
  for (int k = 0; k < d; ++k) {
    for (int j = 0; j < h; ++j) {
      for (int i = 0; i < w; ++i) {
        const auto b = static_cast<double>(cg::right_side<T>((k * h + j) * w + i));
        const double around =
            at(i - 1, j, k) + at(i + 1, j, k) + at(i, j - 1, k) + at(i, j + 1, k) + at(i, j, k - 1) + at(i, j, k + 1);
        const double r = b - (6 * at(i, j, k) - around);
        of_residual += r * r;
        of_right_side += b * b;
      }
    }
  }
  return std::sqrt(of_residual / of_right_side);
}

template <class T>
std::vector<T> solve_with(const cg::contender& who, const cg::box& points, std::int64_t iterations) {
  const auto n = static_cast<std::size_t>(points.points());
  std::vector<T> x(n), r(n), q(n);
  for (std::size_t i = 0; i < n; ++i) r[i] = cg::right_side<T>(static_cast<std::int64_t>(i));
  std::vector<T> p = r;
  T square = 0;
  for (const T value : r) square += value * value;
  cg::scalars<T> at{.squares = {square, 0}, .product = 0, .alpha = 0, .last = {square, 0}, .zero = 0, .one = 1};
  const auto solver = who.makes<T>()({{points, x.data(), r.data(), p.data(), q.data()}, &at, square, nullptr});
  // Both ways to iterate, an odd number of times each.
  const std::int64_t enqueued = iterations / 2 | 1;
  solver->run(0, enqueued);
  EXPECT_GT(solver->last().template value<double>(), 0);
  for (std::int64_t k = enqueued; k < iterations; ++k) square = solver->step(k);
  EXPECT_EQ(square, solver->last().template value<T>());
  return solver->solution();
}

TEST(cg, boxes_are_as_alike_in_all_directions_as_can_be) {
  for (int bits = 6; bits <= 24; ++bits) {
    const cg::box points{bits};
    EXPECT_EQ(points.x_bits() + points.y_bits() + points.z_bits(), bits);
    EXPECT_LE(points.x_bits() - points.z_bits(), 1);
    EXPECT_GE(points.x_bits(), points.y_bits());
    EXPECT_GE(points.y_bits(), points.z_bits());
  }
}

TEST(cg, every_form_of_the_host_solves_it) {
  int forms = 0;
  for (const cg::contender& who : on_host().contenders) {
    if (who.is_kernels) continue;
    ++forms;
    for (const int bits : {9, 10, 11}) {
      const cg::box points{bits};
      EXPECT_LT(residual(points, solve_with<double>(who, points, 80)), 1e-12) << who.label() << ", 2^" << bits;
      EXPECT_LT(residual(points, solve_with<float>(who, points, 40)), 1e-5) << who.label() << ", 2^" << bits;
    }
  }
  EXPECT_GE(forms, 4);
}

TEST(cg, the_reference_solves_it) {
  const cg::box points{10};
  EXPECT_LT(residual(points, cg::solve<double>(points, 70).x), 1e-12);
}

// The serial forms as if they were on the device; that over arrays as if it were a peer's.
cg::registry on_device() {
  cg::registry all;
  cg::add_serial(all);
  for (cg::contender& who : all.contenders) {
    who.on_gpu = true;
    who.is_peer = who.form == "arrays";
  }
  return all;
}

cg::options quick_run() {
  cg::options chosen;
  chosen.sizes = {4096, 8192};
  chosen.types = {element::f64, element::f32};
  chosen.series = 3;
  chosen.quick = true;
  return chosen;
}

constexpr std::size_t device_bytes = std::size_t{1} << 20;

TEST(cg, right_forms_are_timed_in_every_mode) {
  host_as_device gpu(device_bytes);
  const cg::registry all = on_device();
  const std::vector<cg::row> rows = cg::run_all(quick_run(), all, &gpu);
  // Kernels, finished, fused and arrays in three modes, blocking in one.
  EXPECT_EQ(rows.size(), 2u * 2u * 13u);
  EXPECT_EQ(gpu.graphs, 2 * 2 * 4);
  for (const cg::row& r : rows) {
    EXPECT_EQ(r.fault, "") << r.who->label();
    EXPECT_EQ(r.series_us.size(), 3u);
    EXPECT_GT(r.time_us, 0);
    if (r.who->is_kernels) continue;
    EXPECT_GT(r.kernels.mean, 0);
    EXPECT_EQ(r.ratios.size(), r.who->is_peer ? 0u : 1u);
  }
}

TEST(cg, a_wrong_form_is_not_timed) {
  host_as_device gpu(device_bytes);
  gpu.dropped = 1;
  cg::registry all = on_device();
  all.contenders[0].is_kernels = false;  // they solve nothing
  cg::options chosen = quick_run();
  chosen.sizes = {4096};
  const std::vector<cg::row> rows = cg::run_all(chosen, all, &gpu);
  for (const cg::row& r : rows) {
    const bool wrong = r.how == cg::mode::graph || r.who == &all.contenders[0];
    EXPECT_EQ(!r.fault.empty(), wrong) << r.who->label() << " " << r.fault;
    EXPECT_EQ(r.series_us.empty(), wrong);
  }
  EXPECT_NE(cg::to_table(rows).find("WRONG: the last r.r is "), std::string::npos);
  EXPECT_NE(cg::to_json(rows, chosen, {}, nullptr).find("\"fault\""), std::string::npos);
}

TEST(cg, shares_and_ratios_are_those_of_paired_series) {
  const cg::registry all = on_device();
  const cg::contender* const arrays = &all.contenders[3];
  cg::row own{.who = &all.contenders[1], .type = element::f64, .n = 4096, .how = cg::mode::graph};
  own.series_us = {10, 20, 40};
  own.time_us = 20;
  own.kernels = paired_ratio({5, 10, 20}, own.series_us);
  own.ratios = {{arrays, paired_ratio({11, 24, 52}, own.series_us)}};
  const std::string table = cg::to_table({own});
  EXPECT_NE(table.find(" 50%  1.20 ("), std::string::npos) << table;
  const auto json = nlohmann::json::parse(cg::to_json({own}, quick_run(), {{"cub", "1.2.3"}}, nullptr));
  EXPECT_EQ(json["meta"]["versions"]["cub"], "1.2.3");
  const auto& row = json["cases"][0]["rows"][0];
  EXPECT_EQ(json["cases"][0]["mode"], "graph");
  EXPECT_EQ(row["kernels_share"], 0.5);
  EXPECT_EQ(row["kernels_within_percent"], 0.0);
  EXPECT_NEAR(row["ratios"][arrays->label()][0].get<double>(), std::cbrt(1.1 * 1.2 * 1.3), 1e-3);
  EXPECT_GT(row["ratios"][arrays->label()][1].get<double>(), 0);
}

}  // namespace
