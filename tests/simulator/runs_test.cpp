// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/cuda/split/launch_runs.cuh>
#include <fanin/parallel_reduce.hpp>
#include <fanin/runs.hpp>
#include <fanin/segments.hpp>

#include "simulator/seeds.hpp"
#include "simulator/simulated.hpp"

// The contract of runs, on the simulated device.
#include "contract/runs.hpp"

namespace fanin_test {
namespace {

/// Captured once, with workspace of its own, and run with other keys of as many elements.
TEST(runs, of_a_graph_that_runs_again) {
  for (std::uint64_t seed = 0; seed < simulator_test::count_of_seeds(10); ++seed) {
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

/// Runs that begin farther before the tile in which they end than 16 bits can say.
TEST(runs, that_began_far_before) {
  const new_device drawn;
  const fanin::cuda gpu;
  const std::vector<std::int64_t> lengths = {65'546, 65'300, 7, 131'080};
  std::vector<std::int8_t> keys;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    keys.insert(keys.end(), static_cast<std::size_t>(lengths[r]), static_cast<std::int8_t>(r));
  }
  const std::vector<std::int64_t> ones(keys.size(), 1);
  std::vector<std::int8_t> to_keys(lengths.size());
  std::vector<std::int64_t> counts(lengths.size(), -1);
  std::int64_t told = -1;
  fanin::reduce_into(fanin::runs_to(to_keys, counts, &told), gpu, fanin::runs(ones, keys), fanin::sum<std::int64_t>{});
  gpu.synchronize();
  EXPECT_EQ(told, 4);
  EXPECT_EQ(counts, lengths);
}

/// A run of more pieces than a warp waits for at once, and one of pieces alone.
TEST(runs, of_many_pieces) {
  const new_device drawn;
  const fanin::cuda gpu;
  const std::vector<std::int64_t> lengths = {3, 150 * 4'096 + 77, 5 * 4'096};
  std::vector<std::int8_t> keys;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    keys.insert(keys.end(), static_cast<std::size_t>(lengths[r]), static_cast<std::int8_t>(r));
  }
  std::vector<std::int8_t> to_keys(lengths.size());
  std::vector<std::int64_t> sums(lengths.size(), -1);
  std::int64_t told = -1;
  fanin::parallel_reduce_into(
      fanin::runs_to(to_keys, sums.data(), &told), fanin::runs(gpu, keys), [](std::int64_t k) { return k; },
      fanin::sum<std::int64_t>{});
  gpu.synchronize();
  EXPECT_EQ(told, 3);
  std::int64_t first = 0;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    EXPECT_EQ(sums[r], lengths[r] * (2 * first + lengths[r] - 1) / 2) << r;
    first += lengths[r];
  }
}

/// A run has a segment's bits, up to the length of a piece, but between those that a lane has and those of a warp; and
/// the same bits wherever it lies, also in pieces.
TEST(runs, bits_of_each_length) {
  const std::vector<std::int64_t> lengths = {1,     16,    129,   511,   512,   513,   1'024, 1'025, 1'300,
                                             2'048, 3'584, 4'095, 4'096, 4'097, 8'192, 8'193, 9'000, 12'289};
  for (std::uint64_t seed = 0; seed < simulator_test::count_of_seeds(4); ++seed) {
    const new_device drawn;
    const fanin::cuda gpu;
    std::vector<std::int32_t> keys;
    std::vector<std::int64_t> offsets{0};
    std::vector<double> xs;
    for (int round = 0; round < 2; ++round) {
      for (const std::int64_t length : lengths) {
        const auto shift = static_cast<std::int64_t>(mix(seed * 99 + keys.size()) % 700 + 1);
        for (const std::int64_t n : {shift, length}) {
          const auto key = static_cast<std::int32_t>(offsets.size());
          keys.insert(keys.end(), static_cast<std::size_t>(n), key);
          offsets.push_back(offsets.back() + n);
          for (std::int64_t k = 0; k < n; ++k) xs.push_back(1.0 / static_cast<double>(1 + mix(k) % 1'000));
        }
      }
    }
    const std::size_t count = offsets.size() - 1;
    std::vector<std::int32_t> to_keys(count);
    std::vector<double> of_runs(count);
    std::vector<double> of_segments(count);
    std::int64_t told = -1;
    fanin::reduce_into(fanin::runs_to(to_keys, of_runs, &told), gpu, fanin::runs(xs, keys), fanin::sum<double>{});
    fanin::reduce_into(of_segments.data(), gpu, fanin::segments(xs, offsets), fanin::sum<double>{});
    gpu.synchronize();
    ASSERT_EQ(told, static_cast<std::int64_t>(count));
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      const std::size_t at = 2 * k + 1;
      EXPECT_EQ(of_runs[at], of_runs[2 * lengths.size() + at]) << lengths[k];
      if (lengths[k] <= 4'096) {
        EXPECT_EQ(of_runs[at], of_segments[at]) << lengths[k];
      }
      EXPECT_NEAR(of_runs[at], of_segments[at], 1e-11) << lengths[k];
    }
  }
}

/// What is before each tile, as blocks find it.
__global__ void tell_tiles_kernel(const fanin::detail::runs_keys<std::int8_t> runs,
                                  const fanin::detail::runs_chunks chunks,
                                  const fanin::detail::cuda_destination<std::int64_t> count,
                                  fanin::detail::runs_mark* of_tile) {
  namespace detail = fanin::detail;
  detail::wait_for_grid_before();
  auto& block = detail::object_of_block<detail::memory_of_chunk>();
  detail::mark_chunk(runs, chunks, block, [] {});
  if (threadIdx.x < detail::warp_size) detail::ask_for_chunk(chunks, count, block);
  __syncthreads();
  const std::int64_t begin = chunks.first_key(blockIdx.x);
  for (int tile = 0; tile < chunks.tiles_in(blockIdx.x); ++tile) {
    const detail::tile_mark mark = block.before_tile(tile);
    if (threadIdx.x == 0) {
      of_tile[chunks.first_tile(blockIdx.x) + tile] = block.with(mark, begin);
    }
  }
  detail::close_chunks(chunks, block.launches);
}

/// By several launches that share units, of more chunks than are asked at once, in which many, few or no runs begin.
/// The second launch uses up the tags.
TEST(runs, chunks_ask_those_before) {
  namespace detail = fanin::detail;
  constexpr std::int64_t tiles = 301;
  constexpr std::int64_t n = tiles * detail::keys_of_tile - 100;
  std::vector<std::int8_t> keys(static_cast<std::size_t>(n), 0);
  std::vector<detail::runs_mark> expected(tiles);
  detail::runs_mark before{0, detail::no_run};
  for (std::int64_t k = 0; k < n; ++k) {
    if (k % detail::keys_of_tile == 0) expected[static_cast<std::size_t>(k / detail::keys_of_tile)] = before;
    const auto at = static_cast<std::size_t>(k);
    const std::uint64_t kind = k > n / 2 ? 0 : mix(at / 7'000) % 3;
    const bool begins = k == 0 || k == n - 1 || (kind != 0 && mix(at) % (kind == 1 ? 4 : 600) == 0);
    keys[at] = static_cast<std::int8_t>((k == 0 ? 0 : keys[at - 1]) ^ (begins ? 1 : 0));
    if (begins) before = {before.runs + 1, k};
  }
  const new_device drawn;
  const fanin::cuda gpu;
  static_assert(tiles > 2 * detail::runs_chunks::asked);
  std::vector<detail::tagged_unit> units(detail::runs_chunks::units(tiles));
  alignas(16) unsigned closed = detail::is_published - 2;
  for (const int tiles_of_chunk : {1, 1, 16, 3}) {
    const auto chunks = static_cast<unsigned>((tiles - 1) / tiles_of_chunk + 1);
    std::int64_t told = -1;
    std::vector<detail::runs_mark> found(tiles, {-5, -5});
    const detail::runs_keys<std::int8_t> all{keys.data(), n};
    const detail::runs_chunks where{
        {units.data(), units.size() * sizeof(detail::tagged_unit), &closed}, tiles, chunks, tiles_of_chunk};
    const detail::cuda_destination<std::int64_t> count{&told, {}};
    detail::runs_mark* const to = found.data();
    void* arguments[] = {detail::argument(all), detail::argument(where), detail::argument(count), detail::argument(to)};
    cudaLaunchConfig_t config{};
    config.gridDim.x = chunks;
    config.blockDim.x = 64;
    config.stream = gpu.stream();
    ASSERT_EQ(cudaLaunchKernelExC(&config, detail::kernel_pointer(&tell_tiles_kernel), arguments), cudaSuccess);
    gpu.synchronize();
    EXPECT_EQ(told, before.runs);
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      ASSERT_EQ(found[tile].runs, expected[tile].runs) << tile << ", chunks of " << tiles_of_chunk;
      ASSERT_EQ(found[tile].last, expected[tile].last) << tile << ", chunks of " << tiles_of_chunk;
    }
    const auto is_clear = [](const detail::tagged_unit& unit) {
      return (unit.payload[0] | unit.payload[1] | unit.payload[2] | unit.tag) == 0;
    };
    EXPECT_EQ(std::all_of(units.begin(), units.end(), is_clear), closed == 0);
  }
  EXPECT_EQ(closed, 2U);
}

/// One block tells of 64 chunks, the last one first, each with one run; another one asks.
__global__ void tell_backwards_kernel(const fanin::detail::runs_chunks chunks, fanin::detail::runs_mark* found) {
  namespace detail = fanin::detail;
  constexpr unsigned told = 64;
  if (blockIdx.x == 0) {
    for (unsigned k = told; threadIdx.x == 0 && k-- > 0;) {
      detail::store_unit(chunks.of_chunk(k), detail::unit_of(detail::tile_mark{1, 6}, 7));
    }
    return;
  }
  const detail::runs_mark before = detail::ask_before(chunks, told, 7);
  if (threadIdx.x == 0) *found = before;
}

/// In whichever order chunks are there, the last run before is that of the last of them.
TEST(runs, chunks_that_are_told_late) {
  namespace detail = fanin::detail;
  for (std::uint64_t seed = 0; seed < simulator_test::count_of_seeds(20); ++seed) {
    const new_device drawn;
    const fanin::cuda gpu;
    std::vector<detail::tagged_unit> units(detail::runs_chunks::units(65));
    alignas(16) unsigned closed = 7;
    detail::runs_mark found{};
    const detail::runs_chunks chunks{{units.data(), units.size() * sizeof(detail::tagged_unit), &closed}, 65, 65, 1};
    detail::runs_mark* const to = &found;
    void* arguments[] = {detail::argument(chunks), detail::argument(to)};
    cudaLaunchConfig_t config{};
    config.gridDim.x = 2;
    config.blockDim.x = 32;
    config.stream = gpu.stream();
    ASSERT_EQ(cudaLaunchKernelExC(&config, detail::kernel_pointer(&tell_backwards_kernel), arguments), cudaSuccess);
    gpu.synchronize();
    ASSERT_EQ(found.runs, 64) << seed;
    ASSERT_EQ(found.last, 63 * detail::keys_of_tile + 5) << seed;
  }
}

/// What the chunks until one tell holds numbers of 48 bits.
TEST(runs, units_of_chunks) {
  namespace detail = fanin::detail;
  constexpr std::int64_t most = (std::int64_t{1} << 48) - 1;
  for (const std::int64_t runs : {std::int64_t{0}, std::int64_t{1}, std::int64_t{0xaaaa'5555'aaaa}, most}) {
    for (const std::int64_t last : {detail::no_run, std::int64_t{0}, (std::int64_t{1} << 32) - 1, most - 1}) {
      const detail::tagged_unit unit = detail::unit_of(detail::runs_mark{runs, last}, 7);
      EXPECT_TRUE(detail::is_of_launch(unit, 7));
      EXPECT_EQ(detail::mark_of(unit).runs, runs);
      EXPECT_EQ(detail::mark_of(unit).last, last);
    }
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
  EXPECT_EQ(launched(6'000, 5, fanin::sum<double>{}), "runs, 1");
  EXPECT_EQ(launched(6'000, 0, fanin::sum<double>{}), "runs, 1");
  EXPECT_EQ(launched(0, 5, fanin::sum<double>{}), "runs, 1");
  EXPECT_EQ(launched(4'097, 5, fanin::exact_sum<double>{}), "runs by block, 1");
}

}  // namespace
}  // namespace fanin_test
