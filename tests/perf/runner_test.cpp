// SPDX-License-Identifier: Apache-2.0

// How fanin-perf runs its contenders: what is timed, in which ways, and what becomes of a wrong one.

#include <gtest/gtest.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "harness/contender.hpp"
#include "harness/options.hpp"
#include "harness/runner.hpp"
#include "harness/values.hpp"
#include "harness_runs.hpp"
#include "host_as_device.hpp"

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

}  // namespace
