// SPDX-License-Identifier: Apache-2.0

// What becomes of the rows of fanin-perf: ratios, JSON, the table of tunings.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/contender.hpp"
#include "harness/json_report.hpp"
#include "harness/numbers.hpp"
#include "harness/runner.hpp"
#include "harness/tuning.hpp"
#include "harness_runs.hpp"
#include "host_as_device.hpp"

namespace {

using namespace fanin_perf;

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
  EXPECT_DOUBLE_EQ(own[1].get<double>(), 0.36788);
  EXPECT_NEAR(own[2].get<double>(), 1, 1e-4);
  EXPECT_EQ(own[3].get<double>(), 1100);  // of 100 * (std::exp(2.48414) - 1), two digits
  ASSERT_EQ(own[4].size(), 3u);
  EXPECT_EQ(own[4][0][0], 0);
  EXPECT_NEAR(own[4][0][1].get<double>(), 2, 1e-4);
  EXPECT_NEAR(own[4][0][2].get<double>(), 0, 1e-6);
  EXPECT_NEAR(own[4][1][1].get<double>(), 3, 1e-4);
  EXPECT_EQ(own[4][1][2].get<double>(), 1100);
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
