// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/runs.hpp>

#include "simulator/seeds.hpp"
#include "simulator/simulated.hpp"
#include "support/data.hpp"

/// Calls over runs under many schedules, also where ThreadSanitizer looks on.
namespace fanin_test {
namespace {

/// Says so where a sanitizer saw a race.
struct no_races {
  std::uint64_t before = simulator::races_seen();
  ~no_races() { EXPECT_EQ(simulator::races_seen(), before); }
};

/// Keys of runs of drawn lengths, some of them long; what plain loops make of them.
struct drawn_runs {
  std::vector<std::int16_t> keys;
  std::vector<double> xs;
  std::vector<std::int16_t> run_keys;
  std::vector<std::int64_t> lengths;

  explicit drawn_runs(std::uint64_t seed) {
    const auto n = static_cast<std::size_t>(mix(seed) % 12'000);
    const std::uint64_t most = std::uint64_t{1} << mix(seed + 1) % 14;
    for (std::uint64_t k = 0; keys.size() < n; ++k) {
      const std::uint64_t draw = mix(seed * 1'000 + k);
      const std::uint64_t length = 1 + (draw % 50 == 0 ? draw / 64 % 9'000 : draw / 64 % most);
      run_keys.push_back(static_cast<std::int16_t>(k == 0 ? 3 : run_keys.back() + 1 + static_cast<int>(draw % 3)));
      lengths.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(length, n - keys.size())));
      keys.insert(keys.end(), static_cast<std::size_t>(lengths.back()), run_keys.back());
    }
    for (std::size_t k = 0; k < n; ++k) xs.push_back(static_cast<double>(mix(k + seed) % 1'000));
  }
  std::vector<double> sums() const {
    std::vector<double> all;
    std::size_t k = 0;
    for (const std::int64_t length : lengths) {
      double sum = 0;
      for (const std::size_t end = k + static_cast<std::size_t>(length); k < end; ++k) sum += xs[k];
      all.push_back(sum);
    }
    return all;
  }
};

/// Each with another schedule and another room; blocking calls and others in turn on one object, whose workspace grows.
TEST(runs, drawn_ones_under_drawn_schedules) {
  const no_races here;
  for (std::uint64_t seed = 1; seed <= simulator_test::count_of_seeds(40); ++seed) {
    const new_device drawn;
    const fanin::cuda gpu;
    for (std::uint64_t call = 0; call < 3; ++call) {
      const drawn_runs of(seed * 8 + call);
      const auto count = of.lengths.size();
      const auto room = static_cast<std::size_t>(call == 1 ? mix(seed) % (count + 1) : count);
      std::vector<std::int16_t> keys(count + 1, -5);
      std::vector<double> sums(count + 1, -5);
      std::int64_t told = -1;
      const auto data = fanin::runs(of.xs, of.keys);
      if (call == 2) {
        told = fanin::reduce(fanin::runs_to(std::span(keys).first(room), sums.data()), gpu, data, fanin::sum<double>{});
      } else {
        fanin::reduce_into(fanin::runs_to(std::span(keys).first(room), sums.data(), &told), gpu, data,
                           fanin::sum<double>{});
      }
      gpu.synchronize();
      std::vector<std::int16_t> expected_keys = of.run_keys;
      std::vector<double> expected = of.sums();
      expected_keys.resize(room);
      expected.resize(room);
      expected_keys.resize(count + 1, -5);
      expected.resize(count + 1, -5);
      ASSERT_EQ(told, static_cast<std::int64_t>(count)) << seed << ", " << call;
      ASSERT_EQ(keys, expected_keys) << seed << ", " << call;
      ASSERT_EQ(sums, expected) << seed << ", " << call;
    }
  }
}

/// Calls whose long runs are in pieces, which blocks hand over in the same memory as those of flat calls and of rows,
/// with launch numbers that wrap: two results a run, and less room than there are runs now and then.
TEST(runs, in_pieces_among_other_calls) {
  using both = fanin::tuple<std::int64_t, std::int64_t>;
  const no_races here;
  for (std::uint64_t seed = 1; seed <= simulator_test::count_of_seeds(30); ++seed) {
    const new_device drawn;
    const fanin::cuda gpu;
    constexpr std::size_t calls = 7;
    constexpr std::size_t most = 40'000;
    std::vector<std::vector<std::int16_t>> keys(calls);
    std::vector<std::vector<std::int64_t>> xs(calls);
    std::vector<std::vector<both>> sums(calls);
    std::vector<std::int64_t> told(calls, -1);
    std::vector<std::int64_t> flat(calls, -1);
    for (std::size_t call = 0; call < calls; ++call) {
      const std::uint64_t draw = mix(seed * 100 + call);
      const std::size_t n = call == 0 ? most : 1 + draw % most;  // workspace stays where it is
      std::int16_t key = 0;
      for (std::size_t k = 0; k < n; ++key) {
        const std::size_t length = 1 + mix(draw + k) % (mix(k) % 2 == 0 ? 300 : 20'000);
        for (const std::size_t end = std::min(n, k + length); k < end; ++k) {
          keys[call].push_back(key);
          xs[call].push_back(static_cast<std::int64_t>(mix(k + draw) % 1'000));
        }
      }
      const auto count = static_cast<std::size_t>(key);
      const std::size_t room = draw % 4 == 0 ? mix(draw) % count : count;
      sums[call].assign(room + 1, both{-1, -1});
      std::vector<std::int16_t> to_keys(room, -1);
      const std::int64_t* const x = xs[call].data();
      fanin::parallel_reduce_into(
          fanin::runs_to(to_keys, sums[call].data(), &told[call]), fanin::runs(gpu, keys[call]),
          [x](std::int64_t k) { return x[k]; }, fanin::sum<std::int64_t>{}, fanin::max<std::int64_t>{});
      gpu.synchronize();  // to_keys ends
      fanin::reduce_into(&flat[call], gpu.with({.block_size = 32}), xs[call], fanin::sum<std::int64_t>{});
      if (call == 0) {
        gpu.synchronize();
        const std::uint32_t near_the_end = 0x7fffffffU - static_cast<std::uint32_t>(mix(seed) % 5) - 1;
        std::memcpy(simulator::allocations().at(0).memory, &near_the_end, sizeof(near_the_end));
      }
      std::vector<both> expected;
      for (std::size_t k = 0; k < n; ++k) {
        if (k == 0 || keys[call][k] != keys[call][k - 1]) expected.push_back(both{0, 0});
        get<0>(expected.back()) += x[k];
        get<1>(expected.back()) = std::max(get<1>(expected.back()), x[k]);
      }
      ASSERT_EQ(told[call], static_cast<std::int64_t>(count)) << seed << ", " << call;
      for (std::size_t r = 0; r < room; ++r) {
        ASSERT_EQ(sums[call][r], expected[r]) << seed << ", " << call << ", run " << r;
        ASSERT_EQ(to_keys[r], static_cast<std::int16_t>(r)) << seed << ", " << call;
      }
      ASSERT_EQ(sums[call][room], (both{-1, -1})) << seed << ", " << call;
    }
    gpu.synchronize();
    for (std::size_t call = 0; call < calls; ++call) {
      ASSERT_EQ(flat[call], std::accumulate(xs[call].begin(), xs[call].end(), std::int64_t{0})) << seed << ", " << call;
    }
  }
}

}  // namespace
}  // namespace fanin_test
