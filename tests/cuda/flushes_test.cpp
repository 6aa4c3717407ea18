// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cuda/gpu_test.hpp"
#include "support/user_reducers.hpp"

/// What blocks hand each other of a reducer of one's own: what their threads drained, and spills only where something
/// is there.
namespace fanin_test {
namespace {

using cuda_flushes = gpu_test;

/// Small numbers; multiples of different units; some that only the spill takes; nothing else; blocks of each kind.
std::vector<std::vector<std::int64_t>> telling_arrays(std::size_t n) {
  std::mt19937_64 random(n);
  std::uniform_int_distribution<std::int64_t> small(-3, 3);
  std::uniform_int_distribution<std::int64_t> large(-(std::int64_t{1} << 40), std::int64_t{1} << 40);
  std::vector<std::int64_t> few(n), units(n), spikes(n), huge(n), blocks(n);
  for (std::size_t i = 0; i < n; ++i) {
    few[i] = small(random);
    units[i] = small(random) * (i % 2'000 < 1'000 ? 1'024 : 8);
    spikes[i] = i % 10'007 == 10'006 ? large(random) : small(random);
    huge[i] = large(random);
    blocks[i] = i < n / 3 ? small(random) : (i < n / 2 ? 1'024 * small(random) : large(random));
  }
  return {few, units, spikes, huge, blocks, std::vector<std::int64_t>(n, 0)};
}

TEST_F(cuda_flushes, of_a_reducer_of_ones_own) {
  fanin::cuda gpu;
  destination<std::int64_t, fanin::cuda> out(gpu);
  for (const std::size_t n : {std::size_t{1}, std::size_t{700}, std::size_t{20'000}, std::size_t{600'000}}) {
    for (const auto& host : telling_arrays(n)) {
      const placed<std::int64_t, fanin::cuda> x(gpu, host);
      const std::int64_t expected = std::accumulate(host.begin(), host.end(), std::int64_t{0});
      for (const fanin::cuda_tuning tuning :
           {fanin::cuda_tuning{}, fanin::cuda_tuning{.block_size = 32, .grid_size = 200},
            fanin::cuda_tuning{.block_size = 1024, .grid_size = 3}, fanin::cuda_tuning{.block_size = 96}}) {
        const auto what = "n = " + std::to_string(n) + ", blocks of " + std::to_string(tuning.block_size);
        const auto view = gpu.with(tuning);
        EXPECT_EQ(fanin::reduce(view, x.span(), handed_sum{}), expected) << what;
        fanin::reduce_into(out.pointer(), view, x.span(), handed_sum{});
        EXPECT_EQ(out.get(), expected) << what;
        EXPECT_EQ(fanin::reduce(view, x.span(), handed_sum_joined_by_one{}), expected) << what;
        const auto several =
            fanin::reduce(view, x.span(), fanin::max<std::int64_t>{}, handed_sum{}, fanin::sum<std::int64_t>{});
        EXPECT_EQ(fanin::get<0>(several), *std::max_element(host.begin(), host.end())) << what;
        EXPECT_EQ(fanin::get<1>(several), expected) << what;
        EXPECT_EQ(fanin::get<2>(several), expected) << what;
      }
    }
  }
}

/// Beside a histogram, which hands over its accumulator, all do.
TEST_F(cuda_flushes, beside_a_reducer_without_them) {
  fanin::cuda gpu;
  const std::vector<std::int64_t> host = telling_arrays(50'000).front();
  const placed<std::int64_t, fanin::cuda> x(gpu, host);
  const auto both = fanin::reduce(gpu, x.span(), histogram{}, handed_sum{});
  EXPECT_EQ(fanin::get<0>(both), fanin::reduce(fanin::serial{}, host, histogram{}));
  EXPECT_EQ(fanin::get<1>(both), std::accumulate(host.begin(), host.end(), std::int64_t{0}));
}

TEST_F(cuda_flushes, in_a_graph_that_runs_again) {
  fanin::cuda gpu;
  const std::vector<std::int64_t> host = telling_arrays(300'000)[4];
  const placed<std::int64_t, fanin::cuda> x(gpu, host);
  destination<std::int64_t, fanin::cuda> out(gpu);
  check(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal));
  fanin::reduce_into(out.pointer(), gpu, x.span(), handed_sum{});
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(gpu.stream(), &graph));
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 3; ++round) {
    check(cudaGraphLaunch(executable, gpu.stream()));
    EXPECT_EQ(out.get(), std::accumulate(host.begin(), host.end(), std::int64_t{0}));
  }
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace fanin_test
