// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/gate.hpp"
#include "cuda/gpu_test.hpp"

/// Results that are got later, on a GPU: what waits for what, beside captures and other threads. What is said of every
/// backend: tests/contract/async.hpp; under every schedule: tests/simulator/pending_test.cpp.
namespace fanin_test {
namespace {

using cuda_pending = gpu_test;
using pending_clock = std::chrono::steady_clock;
using to_come = fanin::pending<std::int64_t>;

/// The sum of so many indices.
to_come sum_later(const fanin::cuda& gpu, std::int64_t n) {
  return fanin::parallel_reduce_async(fanin::range(gpu, n), index_itself{}, int64_sum);
}
constexpr std::int64_t sum_of_first(std::int64_t n) { return n * (n - 1) / 2; }

/// Less than a gate's two seconds.
template <class Call>
void expect_at_once(const char* what, const Call& call) {
  const auto begin = pending_clock::now();
  call();
  EXPECT_LT(std::chrono::duration<double>(pending_clock::now() - begin).count(), 1.0) << what << " waited";
}

TEST_F(cuda_pending, get_waits_for_its_own_result_only) {
  fanin::cuda gpu;
  EXPECT_EQ(sum_later(gpu, 100'000).get(), sum_of_first(100'000));
  gate held;
  to_come before = sum_later(gpu, 100'000);
  held.close(gpu);
  to_come behind = sum_later(gpu, 1'000);
  expect_at_once("get()", [&] { EXPECT_EQ(before.get(), sum_of_first(100'000)); });
  held.open();
  EXPECT_EQ(behind.get(), sum_of_first(1'000));
}

TEST_F(cuda_pending, calls_and_looks_do_not_wait) {
  fanin::cuda gpu;
  const fanin::cuda other;
  EXPECT_EQ(sum_later(gpu, 1'000).get() + sum_later(other, 1'000).get(), 2 * sum_of_first(1'000));
  gate held;
  held.close(gpu);
  std::vector<to_come> all;
  expect_at_once("a call or a look", [&] {
    for (std::int64_t n = 1; n <= 200; ++n) all.push_back(sum_later(gpu, n * 100));
    for (const to_come& one : all) EXPECT_FALSE(one.ready());
    all.erase(all.begin(), all.begin() + 100);
    EXPECT_EQ(sum_later(other, 1'000).get(), sum_of_first(1'000));
  });
  held.open();
  while (!all.back().ready()) continue;
  for (std::int64_t n = 200; n > 100; --n, all.pop_back()) EXPECT_EQ(all.back().get(), sum_of_first(n * 100));
}

/// Whoever waits holds nothing that others need.
TEST_F(cuda_pending, other_threads_call_while_one_waits) {
  fanin::cuda gpu;
  destination<std::int64_t, fanin::cuda> out(gpu);
  EXPECT_EQ(sum_later(gpu, 1'000).get(), sum_of_first(1'000));
  fanin::parallel_reduce_into(out.pointer(), fanin::range(gpu, 500), index_itself{}, int64_sum);
  EXPECT_EQ(out.get(), sum_of_first(500));
  gate held;
  held.close(gpu);
  std::thread waits([one = sum_later(gpu, 1'000)]() mutable { EXPECT_EQ(one.get(), sum_of_first(1'000)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  to_come other;
  expect_at_once("a call beside get()", [&] {
    fanin::parallel_reduce_into(out.pointer(), fanin::range(gpu, 700), index_itself{}, int64_sum);
    other = sum_later(gpu, 300);
  });
  held.open();
  waits.join();
  EXPECT_EQ(other.get(), sum_of_first(300));
  EXPECT_EQ(out.get(), sum_of_first(700));
}

/// While one thread waits or looks, another one destroys the object.
TEST_F(cuda_pending, its_object_goes_meanwhile) {
  for (int round = 0; round < 200; ++round) {
    auto gpu = std::make_unique<fanin::cuda>();
    std::vector<to_come> all;
    for (std::int64_t n = 1; n <= 3; ++n) all.push_back(sum_later(*gpu, n * 100'000));
    std::thread other([&] {
      while (!all[0].ready()) continue;
      for (std::int64_t n = 3; n >= 1; --n)
        EXPECT_EQ(all[static_cast<std::size_t>(n - 1)].get(), sum_of_first(n * 100'000));
    });
    if (round % 2 == 0) std::this_thread::yield();
    gpu.reset();
    other.join();
  }
}

/// On every other stream all calls work while one captures; what was called before is got while its own does.
TEST_F(cuda_pending, captures_stay_valid) {
  for (const auto mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    const fanin::cuda captures;
    const fanin::cuda gpu;
    to_come before = sum_later(captures, 1'000'000);
    const to_come dropped = sum_later(captures, 1'000'000);
    check(cudaStreamBeginCapture(captures.stream(), mode));
    EXPECT_THROW(static_cast<void>(sum_later(captures, 100)), fanin::state_error);
    while (!before.ready()) continue;
    EXPECT_EQ(before.get(), sum_of_first(1'000'000));
    std::vector<to_come> all;
    for (std::int64_t n = 1; n <= 100; ++n) all.push_back(sum_later(gpu, n));  // and allocates
    for (std::int64_t n = 1; n <= 100; ++n) EXPECT_EQ(all[static_cast<std::size_t>(n - 1)].get(), sum_of_first(n));
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(captures.stream(), &graph));
    EXPECT_NE(graph, nullptr);
    check(cudaGraphDestroy(graph));
  }
}

/// Behind each other, each with what stood there when its turn came; many more than a launch takes.
TEST_F(cuda_pending, thousands_of_them) {
  fanin::cuda gpu;
  fanin::buffer<std::int64_t, fanin::cuda> x(gpu, 4'096);
  for (int round = 0; round < 2; ++round) {
    std::vector<to_come> all;
    for (std::int64_t k = 0; k < 5'000; ++k) {
      fanin::parallel_for(fanin::range(gpu, x.size()), fill<std::int64_t>{x.data(), k});
      all.push_back(fanin::reduce_async(gpu, x, int64_sum));
      if (k % 3 == 0) all.back() = {};
    }
    for (std::int64_t k = 4'999; k >= 0; --k) {
      to_come& one = all[static_cast<std::size_t>(k)];
      if (one.valid()) ASSERT_EQ(one.get(), 4'096 * k);
    }
    if (round == 0) continue;
    const std::int64_t allocations = gpu.workspace_allocations();
    for (std::int64_t k = 0; k < 3'000; ++k) all.push_back(sum_later(gpu, 100));
    EXPECT_EQ(gpu.workspace_allocations(), allocations);
  }
}

}  // namespace
}  // namespace fanin_test
