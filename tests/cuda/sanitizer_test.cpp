// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fanin/exact_sum.hpp>
#include <fanin/runs.hpp>
#include <fanin/segments.hpp>

#include "cuda/block_stages.hpp"
#include "cuda/catalogue_support.hpp"
#include "exact/values.hpp"

/// Small sizes of everything that runs on the device, for compute-sanitizer: each stage, one block and several, tails
/// and misaligned heads. racecheck sees shared memory only: the stages of the rows in global memory run there too.
namespace fanin_test {
namespace {

using cuda_sanitizer = gpu_test;

const std::size_t small_sizes[] = {1, 31, 33, 257, 5'003};

template <class Strategy>
void check_strategy(fanin::cuda& gpu) {
  for (const std::size_t n : small_sizes) {
    for (const fanin::cuda_tuning tuning :
         {fanin::cuda_tuning{}, fanin::cuda_tuning{.block_size = 96, .grid_size = 3}}) {
      SCOPED_TRACE(std::string(Strategy::name) + ", n = " + std::to_string(n));
      const auto view = gpu.with<Strategy>(tuning);
      const auto host = make_data<std::uint32_t>(data::random_signed, n);
      const placed<std::uint32_t, fanin::cuda> x(gpu, host, 1);
      const auto as_serial = [&](const auto& reducer) {
        return fanin::reduce(view, x.span(), reducer) == fanin::reduce(fanin::serial{}, host, reducer);
      };
      EXPECT_TRUE(as_serial(fanin::sum<std::uint32_t>{}));
      EXPECT_TRUE(as_serial(fanin::min_max_loc<std::uint32_t>{}));
      EXPECT_TRUE(as_serial(wide_counts{}));
      EXPECT_TRUE(as_serial(histogram{}));
      const auto all = fanin::parallel_reduce(fanin::range(view, n), at<std::uint32_t>{x.data()}, histogram{},
                                              fanin::max_loc<std::uint32_t>{});
      EXPECT_EQ(fanin::get<0>(all), fanin::reduce(fanin::serial{}, host, histogram{}));
      EXPECT_EQ(fanin::get<1>(all), fanin::reduce(fanin::serial{}, host, fanin::max_loc<std::uint32_t>{}));
    }
  }
}

TEST_F(cuda_sanitizer, one_pass) {
  fanin::cuda gpu;
  check_strategy<fanin::cuda_strategy::one_pass>(gpu);
}
TEST_F(cuda_sanitizer, shuffle) {
  fanin::cuda gpu;
  check_strategy<fanin::cuda_strategy::shuffle>(gpu);
}
TEST_F(cuda_sanitizer, shared_tree) {
  fanin::cuda gpu;
  check_strategy<fanin::cuda_strategy::shared_tree>(gpu);
}

/// Every row, by a span and by a functor.
template <class Strategy>
void check_row(fanin::cuda& gpu, const mirrored<std::int64_t>& x) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{33}, std::size_t{1'025}, std::size_t{5'003}}) {
    for (const int block : {0, 96}) {
      expect_sum<Strategy>(gpu, x, n, {.block_size = block});
      const fanin::min_loc<std::int64_t> least;
      const auto view = gpu.with<Strategy>({.block_size = block});
      EXPECT_TRUE(is_same(fanin::parallel_reduce(fanin::range(view, n), at<std::int64_t>{x.there(1, n).data()}, least),
                          fanin::reduce(fanin::serial{}, x.host(1, n), least)))
          << Strategy::name << ", n = " << n;
    }
  }
}

template <class... Strategy>
void check_rows(fanin::cuda_strategy_list<Strategy...>) {
  fanin::cuda gpu;
  const mirrored<std::int64_t> x(gpu, make_data<std::int64_t>(data::random_signed, 5'010));
  (check_row<Strategy>(gpu, x), ...);
}

TEST_F(cuda_sanitizer, rows_of_partials) { check_rows(rows_of_partials{}); }
TEST_F(cuda_sanitizer, rows_of_global_memory) { check_rows(rows_of_global_memory{}); }
TEST_F(cuda_sanitizer, rows_of_shared_memory) { check_rows(rows_of_shared_memory{}); }
TEST_F(cuda_sanitizer, rows_of_unrolled_trees) { check_rows(rows_of_unrolled_trees{}); }

class cuda_sanitizer_of_hopper : public strategy_test<fanin::cuda_strategy::cluster> {};

static_assert(rows_of_one_launch::size == 3, "one_pass, one_pass_bulk and cluster; a new row needs a test here");

/// Tiles of the bulk copy engine, several rounds of the ring, and several clusters.
TEST_F(cuda_sanitizer_of_hopper, one_pass_bulk_and_cluster) {
  check_rows(fanin::cuda_strategy_list<fanin::cuda_strategy::one_pass_bulk, fanin::cuda_strategy::cluster>{});
  fanin::cuda gpu;
  const mirrored<std::int64_t> x(gpu, make_data<std::int64_t>(data::random_signed, 50'003));
  expect_sum<fanin::cuda_strategy::one_pass_bulk>(gpu, x, 50'000, {.grid_size = 2});
  expect_sum<fanin::cuda_strategy::cluster>(gpu, x, 50'000, {.grid_size = 24});
}

/// Grid stages that no row has with this block stage, and accumulators that go through slots.
TEST_F(cuda_sanitizer, other_grid_stages) {
  using fanin::cuda_stage::grid;
  namespace rows = fanin::cuda_strategy;
  fanin::cuda gpu;
  const mirrored<std::int64_t> x(gpu, make_data<std::int64_t>(data::random_signed, 5'010));
  for (const std::size_t n : {std::size_t{1}, std::size_t{5'003}}) {
    expect_sum<rows::finished_by<rows::shuffle, grid::last_block>>(gpu, x, n, {.grid_size = 37});
    expect_sum<rows::finished_by<rows::shuffle, grid::watching_block>>(gpu, x, n, {.grid_size = 37});
    expect_sum<rows::finished_by<rows::shared_tree, grid::watching_block>>(gpu, x, n, {.grid_size = 37});
    expect_sum<rows::finished_by<rows::global_unroll, grid::last_block>>(gpu, x, n, {.block_size = 96});
  }
}

TEST_F(cuda_sanitizer, block_stages) {
  fanin::cuda gpu;
  expect_all_block_stages(gpu, fanin::sum<std::uint64_t>{}, make_data<std::uint64_t>(data::random_signed, 1'024),
                          telling_counts(1'024));
}

TEST_F(cuda_sanitizer, into_and_parallel_for) {
  fanin::cuda gpu;
  for (const std::size_t n : small_sizes) {
    fanin::buffer<double, fanin::cuda> x(gpu, n);
    destination<double, fanin::cuda> out(gpu);
    fanin::parallel_for(fanin::range(gpu, n), fill<double>{x.data(), 0.5});
    fanin::reduce_into(out.pointer(), gpu, x, fanin::sum<double>{});
    EXPECT_EQ(out.get(), 0.5 * static_cast<double>(n));
  }
}

TEST_F(cuda_sanitizer, elements_of_every_size) {
  fanin::cuda gpu;
  for (const std::size_t n : small_sizes) {
    const auto bytes = make_data<std::uint8_t>(data::random_signed, n);
    const placed<std::uint8_t, fanin::cuda> x(gpu, bytes, 5);
    EXPECT_EQ(fanin::reduce(gpu, x.span(), fanin::sum<std::uint8_t>{}),
              fanin::reduce(fanin::serial{}, bytes, fanin::sum<std::uint8_t>{}));
    const placed<octet, fanin::cuda> octets(gpu, std::vector<octet>(n, octet{{1, 2, 3, 4, 5, 6, 7, 8}}));
    EXPECT_EQ(fanin::reduce(gpu, octets.span(), fanin::sum<octet>{}).lane[7], static_cast<std::int64_t>(8 * n));
    const placed<triple, fanin::cuda> triples(gpu, std::vector<triple>(n, triple{1, 2, 3}), 1);
    EXPECT_EQ(fanin::reduce(gpu, triples.span(), fanin::sum<triple>{}).c, static_cast<std::int32_t>(3 * n));
  }
}

/// Of moderate numbers, which stay out of workspace, and of any.
TEST_F(cuda_sanitizer, exact_sums) {
  fanin::cuda gpu;
  for (const std::size_t n : small_sizes) {
    for (const bool is_moderate : {true, false}) {
      std::vector<double> host = of_all_exponents<double>(n, 3);
      if (is_moderate) {
        for (std::size_t i = 0; i < n; ++i) host[i] = 0.1 * static_cast<double>(i + 1);
      }
      const placed<double, fanin::cuda> x(gpu, host, 1);
      const double expected = fanin::reduce(fanin::serial{}, host, fanin::exact_sum<double>{});
      for (const fanin::cuda_tuning tuning :
           {fanin::cuda_tuning{}, fanin::cuda_tuning{.block_size = 96, .grid_size = 3}}) {
        EXPECT_EQ(fanin::reduce(gpu.with(tuning), x.span(), fanin::exact_sum<double>{}), expected);
      }
    }
  }
}

/// Short and long ones, and by a block each.
TEST_F(cuda_sanitizer, runs) {
  fanin::cuda gpu;
  for (const std::size_t length : {1, 7, 40, 700, 10'000}) {
    const std::size_t n = 20'003;
    std::vector<std::int32_t> host(n);
    for (std::size_t k = 0; k < n; ++k) host[k] = static_cast<std::int32_t>(k / length);
    const std::size_t count = (n - 1) / length + 1;
    const placed<std::int32_t, fanin::cuda> keys(gpu, host);
    const placed<double, fanin::cuda> x(gpu, std::vector<double>(n, 0.5));
    fanin::buffer<std::int32_t, fanin::cuda> to_keys(gpu, count);
    fanin::buffer<double, fanin::cuda> sums(gpu, count);
    const auto reduce = [&](const auto& reducer) {
      EXPECT_EQ(fanin::reduce(fanin::runs_to(to_keys, sums), gpu, fanin::runs(x.span(), keys.span()), reducer),
                static_cast<std::int64_t>(count));
      gpu.synchronize();
      std::vector<double> got(count);
      sums.copy_to(got);
      EXPECT_EQ(got.front(), 0.5 * static_cast<double>(length));
      EXPECT_EQ(got.back(), 0.5 * static_cast<double>(n - (count - 1) * length));
    };
    reduce(fanin::sum<double>{});
    reduce(fanin::exact_sum<double>{});
  }
}

/// Of an array, a block each where that is one launch and where it is two, of which the second has some that are long.
TEST_F(cuda_sanitizer, segments) {
  fanin::cuda gpu;
  int multiprocessors = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  for (const int launches : {1, 2}) {
    const int n = (launches == 1 ? 8 : 36) * multiprocessors;
    std::vector<std::int64_t> offsets{0};
    for (int s = 0; s < n; ++s) {
      const int some[] = {4'000, 4'097, 0, 4'800, 3'585, 20'000, 5'121, 100};
      offsets.push_back(offsets.back() + some[s % 8]);
    }
    std::vector<float> host(static_cast<std::size_t>(offsets.back()));
    for (std::size_t k = 0; k < host.size(); ++k) host[k] = static_cast<float>(mix(k) % 8);
    std::vector<float> expected;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      float sum = 0;  // of small numbers, exactly
      for (std::int64_t k = offsets[s]; k < offsets[s + 1]; ++k) sum += host[static_cast<std::size_t>(k)];
      expected.push_back(sum);
    }
    const placed<float, fanin::cuda> x(gpu, host, 1);
    const placed<std::int64_t, fanin::cuda> there(gpu, offsets);
    fanin::buffer<float, fanin::cuda> sums(gpu, expected.size());
    fanin::reduce_into(sums.span(), gpu, fanin::segments(x.span(), there.span()), fanin::sum<float>{});
    gpu.synchronize();
    EXPECT_STREQ(gpu.last_launch().strategy, "segments by blocks");
    EXPECT_EQ(gpu.last_launch().launches, launches);
    std::vector<float> got(expected.size());
    sums.copy_to(got);
    EXPECT_EQ(got, expected);
  }
}

TEST_F(cuda_sanitizer, graph_with_a_reduction) {
  fanin::cuda gpu;
  const std::size_t n = 20'003;
  placed<std::int64_t, fanin::cuda> x(gpu, make_data<std::int64_t>(data::random_signed, n));
  destination<std::int64_t, fanin::cuda> out(gpu);
  check(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal));
  fanin::reduce_into(out.pointer(), gpu, x.span(), fanin::sum<std::int64_t>{});
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(gpu.stream(), &graph));
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 3; ++round) check(cudaGraphLaunch(executable, gpu.stream()));
  EXPECT_EQ(out.get(), fanin::reduce(fanin::serial{}, x.host(), fanin::sum<std::int64_t>{}));
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace fanin_test
