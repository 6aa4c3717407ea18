// SPDX-License-Identifier: Apache-2.0

// What series of one run say, and against a stored one: confidence, noise, drift.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/baseline.hpp"
#include "harness/confidence.hpp"
#include "harness/host.hpp"
#include "harness/json_report.hpp"
#include "harness/runner.hpp"
#include "harness_runs.hpp"

namespace {

using namespace fanin_perf;

TEST(confidence, quantiles_are_those_of_the_tables) {
  const std::pair<int, double> table[] = {{1, 12.7062}, {2, 4.3027}, {3, 3.1824},  {4, 2.7764},
                                          {6, 2.4469},  {9, 2.2622}, {30, 2.0423}, {120, 1.9799}};
  for (const auto& [degrees, t] : table) EXPECT_NEAR(student_t95(degrees), t, 1e-4) << degrees;
}

// Logarithms -1, 0 and 1: mean 0, deviation 1, so the bounds are exp(-+ 4.3027 / sqrt(3)).
TEST(confidence, of_three_series_by_hand) {
  const interval found = geometric_mean({std::exp(-1.0), 1.0, std::exp(1.0)});
  EXPECT_NEAR(found.mean, 1, 1e-12);
  EXPECT_NEAR(std::log(found.high), 2.48414, 1e-4);
  EXPECT_NEAR(std::log(found.low), -2.48414, 1e-4);
  EXPECT_NEAR(found.half_width(), std::exp(2.48414) - 1, 1e-3);
}

// The machine slows down from series to series, both contenders alike: the pairs still say 2 exactly.
TEST(confidence, pairs_leave_out_what_both_have_in_common) {
  const interval exact = paired_ratio({2, 4, 8, 16}, {1, 2, 4, 8});
  EXPECT_NEAR(exact.mean, 2, 1e-12);
  EXPECT_NEAR(exact.low, 2, 1e-9);
  EXPECT_NEAR(exact.high, 2, 1e-9);
  // Pairs 1 and 4: the mean is 2, the logarithms deviate by log(4) / sqrt(2), so the bounds are 2 * 4^(-+ 12.7062 / 2).
  const interval of_two = paired_ratio({3, 20}, {3, 5});
  EXPECT_NEAR(of_two.mean, 2, 1e-12);
  EXPECT_NEAR(std::log(of_two.high / 2), std::log(4.0) / 2 * 12.7062, 1e-3);
  EXPECT_NEAR(std::log(2 / of_two.low), std::log(4.0) / 2 * 12.7062, 1e-3);
}

TEST(confidence, one_series_has_no_bounds) {
  const interval found = paired_ratio({3}, {2});
  EXPECT_DOUBLE_EQ(found.mean, 1.5);
  EXPECT_EQ(found.low, 0);
  EXPECT_TRUE(std::isinf(found.high));
}

// A run of one case on an H200, as JSON: series of a contender, around `us` with `spread` in turn above and below.
struct made_row {
  const char* contender;
  double us;
  double spread = 0.002;
  const char* timing = "calls";

  bool is_peer() const { return contender == std::string_view("cub") || contender == std::string_view("kokkos"); }
  std::vector<double> series() const {
    std::vector<double> found;
    for (const double sign : {1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 0.0}) found.push_back(us * (1 + sign * spread));
    return found;
  }
};

nlohmann::json percent(const interval& found) { return found.half_width() * 100; }

std::string made_run(const std::vector<made_row>& rows, const char* gpu = "NVIDIA H200", const char* cpu = "Xeon") {
  nlohmann::json all{{"schema", 2}, {"inputs", nlohmann::json::array()}, {"columns", json_columns}};
  all["meta"] = {{"program", "fanin-perf"}, {"commit", "0123456789abcdef"}, {"date", "2026-01-01T00:00:00Z"}};
  all["meta"]["gpu"] = {{"name", gpu}};
  all["meta"]["host"] = {{"cpu", cpu}};
  nlohmann::json made_case{{"type", "f32"}, {"operation", "sum"}, {"n", 1048576}, {"input", nullptr}};
  for (const made_row& made : rows) {
    all["ways"].push_back({{"contender", made.contender},
                           {"label", made.contender},
                           {"backend", "cuda"},
                           {"strategy", ""},
                           {"form", ""},
                           {"place", "gpu"},
                           {"timing", made.timing},
                           {"destination", made.timing == std::string_view("blocking") ? "host" : "device"},
                           {"is_peer", made.is_peer()}});
    const interval time = geometric_mean(made.series());
    nlohmann::json ratios = nlohmann::json::array();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (made.is_peer() || !rows[k].is_peer() || rows[k].timing != std::string_view(made.timing)) continue;
      const interval ratio = paired_ratio(rows[k].series(), made.series());
      ratios.push_back({k, ratio.mean, percent(ratio)});
    }
    made_case["rows"].push_back({all["ways"].size() - 1, made.us, time.mean, percent(time), ratios});
  }
  all["cases"].push_back(made_case);
  return all.dump();
}

comparison compare_runs(const std::string& before, const std::string& now) {
  return compare(as_stored_run(before), as_stored_run(now));
}

TEST(baseline, a_run_equals_itself) {
  const std::string run = made_run({{"fanin", 4}, {"cub", 8}, {"kokkos", 10}, {"fanin", 9, 0.002, "blocking"}});
  const comparison found = compare_runs(run, run);
  ASSERT_EQ(found.rows.size(), 4u);
  EXPECT_EQ(found.count(verdict::same), 4);
  EXPECT_EQ(found.rows[0].peer, "cub");
  EXPECT_EQ(found.rows[1].peer, "");
  EXPECT_EQ(found.rows[2].peer, "");
  EXPECT_EQ(found.rows[3].peer, "");
}

TEST(baseline, ten_percent_beside_peers_that_stayed_is_slower) {
  const std::string before = made_run({{"fanin", 4}, {"cub", 8}, {"fanin", 4, 0.002, "graph"}});
  const comparison found = compare_runs(before, made_run({{"fanin", 4.4}, {"cub", 8}, {"fanin", 4.4, 0.002, "graph"}}));
  ASSERT_EQ(found.rows.size(), 3u);
  EXPECT_EQ(found.rows[0].found, verdict::slower);
  EXPECT_NEAR(found.rows[0].now.mean / found.rows[0].before.mean, 1.1, 1e-9);
  EXPECT_NEAR(found.rows[0].ratio_before.mean, 2, 1e-9);
  EXPECT_NEAR(found.rows[0].ratio_now.mean, 2 / 1.1, 1e-9);
  EXPECT_EQ(found.rows[1].found, verdict::same);
  // No peer in either run: the time alone counts.
  EXPECT_EQ(found.rows[2].peer, "");
  EXPECT_EQ(found.rows[2].found, verdict::slower);
  const std::string text = found.text(as_stored_run(before), "h200.json");
  EXPECT_NE(text.find("3 rows, 2 slower, 0 slower with the machine, 0 faster"), std::string::npos) << text;
  EXPECT_NE(text.find("f32 sum of 1048576, fanin to device (calls)"), std::string::npos) << text;
  EXPECT_NE(text.find("SLOWER (cub over it: 1.82, was 2.00)"), std::string::npos) << text;
}

TEST(baseline, a_machine_that_became_slower_is_no_regression) {
  const std::string before = made_run({{"fanin", 4}, {"kokkos", 8}});
  const comparison found = compare_runs(before, made_run({{"fanin", 4.4}, {"kokkos", 8.8}}));
  EXPECT_EQ(found.count(verdict::drifted), 2);
  const std::string text = found.text(as_stored_run(before), "h200.json");
  EXPECT_NE(text.find("slower, within the noise beside kokkos"), std::string::npos) << text;
  EXPECT_NE(text.find("slower, itself a peer"), std::string::npos) << text;
  EXPECT_EQ(compare_runs(before, made_run({{"fanin", 3.6}, {"kokkos", 8}})).rows[0].found, verdict::faster);
}

TEST(baseline, what_noise_explains_is_no_regression) {
  const auto verdict_of = [](double now, double spread) {
    return compare_runs(made_run({{"fanin", 4}, {"cub", 8}}), made_run({{"fanin", now, spread}, {"cub", 8}}))
        .rows[0]
        .found;
  };
  // The interval of a spread s is s * 2.447 / sqrt(7) = 0.92 s on either side, so that of 10 % would need 30 % at
  // least.
  EXPECT_EQ(verdict_of(4.4, 0.1), verdict::same);
  EXPECT_EQ(verdict_of(4.4, 0.01), verdict::slower);
  EXPECT_EQ(verdict_of(5.6, 0.1), verdict::slower);
  EXPECT_EQ(verdict_of(4.1, 0.002), verdict::same);
}

TEST(baseline, rows_that_one_run_has_not_are_left_out) {
  const comparison found = compare_runs(made_run({{"fanin", 4}, {"cub", 8}}),
                                        made_run({{"fanin", 8}, {"thrust", 20}, {"fanin", 8, 0.002, "blocking"}}));
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.only_now, 2);
  EXPECT_EQ(found.rows[0].peer, "");
  EXPECT_EQ(found.rows[0].found, verdict::slower);
}

TEST(baseline, other_machines_are_named) {
  const stored_run stored = as_stored_run(made_run({{"fanin", 4}}, "NVIDIA H200", "Xeon"));
  EXPECT_EQ(machine_difference(stored, "NVIDIA H200", "Xeon"), "");
  EXPECT_EQ(machine_difference(stored, "", "Xeon"), "its GPU is \"NVIDIA H200\", the one here is none");
  EXPECT_EQ(machine_difference(stored, "NVIDIA H200", "EPYC"), "its host is \"Xeon\", the one here is \"EPYC\"");
  EXPECT_THROW(read_stored_run("/nonesuch/run.json"), std::runtime_error);
  for (const char* wrong : {"", "{}", R"({"schema": 2, "meta": {"program": "fanin-perf"}})"}) {
    EXPECT_ANY_THROW(as_stored_run(wrong)) << wrong;
  }
  auto with_series = nlohmann::json::parse(made_run({{"fanin", 4}}));
  with_series["schema"] = 1;
  try {
    as_stored_run(with_series.dump());
    ADD_FAILURE() << "a file with raw series is read";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "it is of schema 1, this fanin-perf reads and writes 2: measure again");
  }
}

// The wider the stored bounds, the more explains what is slower; bounds on the wrong side explain nothing.
TEST(baseline, bounds_are_those_of_the_file) {
  auto stored = nlohmann::json::parse(made_run({{"fanin", 4}, {"cub", 8}}));
  const std::string now = made_run({{"fanin", 4.4}, {"cub", 8}});
  nlohmann::json& row = stored["cases"][0]["rows"][0];
  const auto first = [&] { return compare_runs(stored.dump(), now).rows[0]; };
  EXPECT_EQ(first().found, verdict::slower);
  row[3] = 10;
  EXPECT_NEAR(first().before.high, 4.4, 1e-4);
  EXPECT_NEAR(first().before.low, 4 / 1.1, 1e-4);
  EXPECT_EQ(first().found, verdict::same);
  row[3] = 0.1;
  row[4][0][2] = 10;
  EXPECT_NEAR(first().ratio_before.low, 2 / 1.1, 1e-4);
  EXPECT_EQ(first().found, verdict::drifted);
  row[3] = nullptr;
  EXPECT_TRUE(std::isinf(first().before.high));
  EXPECT_EQ(first().found, verdict::same);
  row[3] = -1;
  EXPECT_THROW(as_stored_run(stored.dump()), std::runtime_error);
  row[3] = 1;
  row[2] = 0;
  EXPECT_THROW(as_stored_run(stored.dump()), std::runtime_error);
}

TEST(baseline, what_the_program_writes_is_read_back) {
  contender plain;
  plain.name = "plain";
  contender kokkos;
  kokkos.name = "kokkos";
  kokkos.is_peer = true;
  const options chosen = i64_sums({1000, 4096});
  const contender_list contenders{of_family(plain, sum_family{}), of_family(kokkos, sum_family{})};
  const run_result result = run_all(chosen, contenders, nullptr);
  const stored_run stored = as_stored_run(to_json(result, chosen, {}, nullptr));
  EXPECT_EQ(stored.machine_gpu, "");
  EXPECT_EQ(stored.machine_cpu, look_at_host().cpu);
  ASSERT_EQ(stored.rows.size(), 4u);
  const auto expect_alike = [](const interval& read, const interval& made) {
    EXPECT_NEAR(read.mean / made.mean, 1, 1e-3);
    // Of the mean four digits are stored, of how wide it is two.
    const double half_width = made.half_width();
    const double of_digits = 1e-3 + std::log((1 + 1.05 * half_width) / (1 + half_width));
    EXPECT_NEAR(std::log(read.low / made.low), 0, of_digits);
    EXPECT_NEAR(std::log(read.high / made.high), 0, of_digits);
  };
  for (std::size_t k = 0; k < 4; ++k) {
    expect_alike(stored.rows[k].time_us, geometric_mean(result.rows[k].series_us));
    EXPECT_EQ(stored.rows[k].is_peer, k % 2 == 1);
    ASSERT_EQ(stored.rows[k].ratios.size(), k % 2 == 1 ? 0u : 1u);
    if (k % 2 == 1) continue;
    expect_alike(stored.rows[k].ratios.at("kokkos"),
                 paired_ratio(result.rows[k + 1].series_us, result.rows[k].series_us));
  }
  EXPECT_EQ(compare(stored, stored).count(verdict::same), 4);
}

}  // namespace
