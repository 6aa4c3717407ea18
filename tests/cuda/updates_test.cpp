// SPDX-License-Identifier: Apache-2.0
#include "support/updates.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/gpu_test.hpp"
#include "cuda/replay.hpp"

/// Functors that write, and results that are finished on the device, in every row; and in graphs.
namespace fanin_test {
namespace {

namespace rows = fanin::cuda_strategy;
using fanin::cuda_stage::grid;
using cuda_updates = gpu_test;

template <class Strategy>
void expect_updates(const fanin::cuda& gpu) {
  for (const std::size_t n : {0UL, 1UL, 33UL, 1'025UL, 8'192UL, 8'193UL, 100'003UL, 1'000'001UL}) {
    const auto elements = make_data<std::int64_t>(data::whole_numbers, n);
    const auto blocking = run_update<Strategy>(gpu, {}, elements, true);
    const auto into = run_update<Strategy>(gpu, {}, elements, false);
    EXPECT_EQ(blocking(), "") << Strategy::name << ", blocking, n = " << n;
    EXPECT_EQ(into(), "") << Strategy::name << ", into, n = " << n;
  }
}

TEST_F(cuda_updates, every_row) {
  const fanin::cuda gpu;
  fanin::cuda_catalogue::for_each([&]<class Row>(Row) { expect_updates<Row>(gpu); });
  expect_updates<rows::finished_by<rows::one_pass, grid::last_block>>(gpu);
  expect_updates<rows::finished_by<rows::one_pass, grid::second_pass>>(gpu);
}

TEST_F(cuda_updates, elements_are_visited_once) {
  const fanin::cuda gpu;
  for (const std::size_t n : {0UL, 1UL, 5UL, 1'025UL, 16'385UL, 1'000'003UL}) {
    for (const std::size_t start : {0UL, 1UL, 3UL}) {
      for (const bool two : {false, true}) {
        EXPECT_EQ(run_visit<rows::one_pass>(gpu, {}, start, n, two)(), "") << "n = " << n << " from " << start;
        EXPECT_EQ(run_visit<rows::one_pass_bulk>(gpu, {}, start, n, two)(), "") << "n = " << n << " from " << start;
      }
    }
  }
}

/// g divides what was there by the sum, so that each replay sees what the one before left.
struct next_ratio {
  const double* last;
  FANIN_FUNCTION double operator()(double sum) const { return sum / *last; }
};

/// Once a replay, each after the other, with kernels of the same object before it that let it start early, and others.
TEST_F(cuda_updates, once_a_replay) {
  const fanin::cuda gpu;
  for (const std::size_t n : {std::size_t{100}, std::size_t{50'000}}) {
    fanin::buffer<double, fanin::cuda> x(gpu, n);
    fanin::buffer<double, fanin::cuda> out(gpu, 1);
    const std::vector<double> ones(n, 1);
    const std::vector<double> two{2};
    x.copy_from(ones);
    out.copy_from(two);
    cudaGraph_t captured = nullptr;
    check(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeThreadLocal));
    const auto finished = fanin::finished(next_ratio{out.data()}, fanin::sum<double>{});
    fanin::reduce_into(out.data(), gpu, x, finished);
    fanin::reduce_into(out.data(), gpu, x, finished);
    fanin::parallel_for(fanin::range(gpu, n), fill<double>{x.data(), 2});
    fanin::reduce_into(out.data(), gpu, x, finished);
    check(cudaStreamEndCapture(gpu.stream(), &captured));
    replay graph(captured);
    double expected = 2;
    const auto count = static_cast<double>(n);
    for (int k = 0; k < 3; ++k) {
      graph.launch(gpu.stream());
      const double sum = k == 0 ? count : 2 * count;
      expected = 2 * count / (sum / (sum / expected));
    }
    gpu.synchronize();
    EXPECT_EQ(on_host(out)[0], expected) << "n = " << n;
  }
}

}  // namespace
}  // namespace fanin_test
