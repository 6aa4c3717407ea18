// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/gpu_test.hpp"
#include "support/user_reducers.hpp"

/// Small sizes of everything that runs on the device, for compute-sanitizer: each stage, one block and several, tails
/// and misaligned heads.
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
