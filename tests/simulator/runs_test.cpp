// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/cuda/split/launch_runs.cuh>
#include <fanin/runs.hpp>

#include "simulator/simulated.hpp"

// The contract of runs, on the simulated device.
#include "contract/runs.hpp"

namespace fanin_test {
namespace {

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
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
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

/// Captured once, with workspace of its own, and run with other keys of as many elements.
TEST(runs, of_a_graph_that_runs_again) {
  for (int seed = 0; seed < 10; ++seed) {
    const new_device drawn;
    const fanin::cuda gpu;
    constexpr std::size_t n = 6'000;
    std::vector<std::int32_t> keys(n, 0);
    std::vector<std::int64_t> xs(n, 1);
    std::vector<std::int32_t> to_keys(n, -1);
    std::vector<std::int64_t> sums(n, -1);
    std::int64_t told = -1;
    ASSERT_EQ(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal), cudaSuccess);
    fanin::reduce_into(fanin::runs_to(to_keys, sums, &told), gpu, fanin::runs(xs, keys), fanin::sum<std::int64_t>{});
    EXPECT_THROW(fanin::reduce(fanin::runs_to(to_keys, sums), gpu, fanin::runs(xs, keys), fanin::sum<std::int64_t>{}),
                 fanin::state_error);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(gpu.stream(), &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    for (const std::size_t length : {n, std::size_t{1}, std::size_t{70}, std::size_t{5'000}, n}) {
      for (std::size_t k = 0; k < n; ++k) keys[k] = static_cast<std::int32_t>(k / length);
      ASSERT_EQ(cudaGraphLaunch(executable, gpu.stream()), cudaSuccess);
      gpu.synchronize();
      const std::size_t count = (n - 1) / length + 1;
      ASSERT_EQ(told, static_cast<std::int64_t>(count)) << length;
      for (std::size_t r = 0; r < count; ++r) {
        ASSERT_EQ(to_keys[r], static_cast<std::int32_t>(r)) << length;
        ASSERT_EQ(sums[r], static_cast<std::int64_t>(std::min(length, n - r * length))) << length << ", run " << r;
      }
    }
    ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  }
}

/// Marks where a thread sums several tiles of a chunk, which its block's memory holds or not, and several chunks.
TEST(runs, marks_of_many_tiles) {
  namespace detail = fanin::detail;
  constexpr std::int64_t tiles = 1'201;
  constexpr std::int64_t n = tiles * detail::keys_of_tile - 100;
  std::vector<std::int8_t> keys(static_cast<std::size_t>(n), 0);
  std::vector<detail::runs_mark> of_tile(tiles, {0, detail::no_run});
  for (std::int64_t k = 0; k < n; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const std::uint64_t kind = mix(at / 700) % 3;  // some tiles have many, some few, some none
    const bool begins = k == 0 || (kind != 0 && mix(at) % (kind == 1 ? 4 : 600) == 0);
    keys[at] = static_cast<std::int8_t>((k == 0 ? 0 : keys[at - 1]) ^ (begins ? 1 : 0));
    detail::runs_mark& mark = of_tile[at / detail::keys_of_tile];
    if (begins && mark.runs++ == 0) mark.first = k;
  }
  static_assert(tiles > detail::most_marks);
  for (const std::int64_t tiles_of_chunk : {tiles, tiles / 2 + 1, std::int64_t{2}}) {
    const new_device drawn;
    const fanin::cuda gpu;
    const std::int64_t chunks = (tiles - 1) / tiles_of_chunk + 1;
    std::vector<detail::runs_mark> marks(tiles);
    std::vector<detail::runs_mark> marks_of_chunks(static_cast<std::size_t>(chunks));
    std::vector<std::uint32_t> begins(tiles * detail::words_of_tile);
    const detail::runs_keys<std::int8_t> all{keys.data(), n};
    const detail::runs_marks where{marks.data(), marks_of_chunks.data(), begins.data(), tiles,
                                   detail::divider(tiles_of_chunk)};
    unsigned counters[2] = {0, 9};
    unsigned* const ticket = counters;
    unsigned* const listed = counters + 1;
    std::int64_t told = -1;
    const detail::cuda_destination<std::int64_t> count{&told, {}};
    void* arguments[] = {detail::argument(all), detail::argument(where), detail::argument(ticket),
                         detail::argument(listed), detail::argument(count)};
    cudaLaunchConfig_t config{};
    config.gridDim.x = static_cast<unsigned>(chunks);
    config.blockDim.x = detail::threads_of_runs;
    config.stream = gpu.stream();
    ASSERT_EQ(cudaLaunchKernelExC(&config, detail::kernel_pointer(&detail::mark_runs_kernel<std::int8_t>), arguments),
              cudaSuccess);
    gpu.synchronize();
    EXPECT_EQ(counters[0] + counters[1], 0U);
    std::int64_t behind = detail::no_run;
    std::int64_t before = told;
    for (std::int64_t tile = tiles; tile-- > 0;) {
      const detail::runs_mark& mark = marks[static_cast<std::size_t>(tile)];
      const detail::runs_mark& chunk = marks_of_chunks[static_cast<std::size_t>(tile / tiles_of_chunk)];
      const detail::runs_mark& own = of_tile[static_cast<std::size_t>(tile)];
      before -= own.runs;
      ASSERT_EQ(mark.runs + chunk.runs, before) << tile << ", chunks of " << tiles_of_chunk;
      ASSERT_EQ(std::min(mark.first, chunk.first), behind) << tile << ", chunks of " << tiles_of_chunk;
      behind = std::min(behind, own.first);
    }
    EXPECT_EQ(before, 0);
  }
}

/// How many launches, and of what name.
TEST(runs, launches) {
  const new_device drawn;
  const fanin::cuda gpu;
  std::vector<std::int32_t> keys(6'000);
  std::vector<double> sums(keys.size());
  std::vector<std::int32_t> to_keys(keys.size());
  std::int64_t told = -1;
  const auto launched = [&](std::size_t n, std::size_t room, const auto& reducer) {
    const std::vector<double> xs(n, 1);
    const std::vector<std::int32_t> of(n, 1);
    fanin::reduce_into(fanin::runs_to(std::span(to_keys).first(room), sums.data(), &told), gpu, fanin::runs(xs, of),
                       reducer);
    gpu.synchronize();
    EXPECT_EQ(told, n == 0 ? 0 : 1);
    return std::string(gpu.last_launch().strategy) + ", " + std::to_string(gpu.last_launch().launches);
  };
  EXPECT_EQ(launched(4'097, 5, fanin::sum<double>{}), "runs, 3");
  EXPECT_EQ(launched(4'096, 5, fanin::sum<double>{}), "runs, 2");
  EXPECT_EQ(launched(4'097, 0, fanin::sum<double>{}), "runs, 1");
  EXPECT_EQ(launched(0, 5, fanin::sum<double>{}), "runs, 1");
  EXPECT_EQ(launched(4'097, 5, fanin::exact_sum<double>{}), "runs by block, 2");
}

}  // namespace
}  // namespace fanin_test
