// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/device/timer.hpp>
#include <fanin/finished.hpp>
#include <fanin/runs.hpp>

#include "cuda/gate.hpp"
#include "cuda/gpu_test.hpp"

/// Results that are got later, on a GPU: what waits for what, beside captures and other threads. What is said of every
/// backend: tests/contract/async.hpp; under every schedule: tests/simulator/pending_test.cpp.
namespace fanin_test {
namespace {

using cuda_pending = gpu_test;

struct of_column {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t, std::int64_t j) const { return j; }
};

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

/// Memory of the host that the device writes to.
template <class T>
class shared_memory {
 public:
  explicit shared_memory(std::size_t count) : count_{count} {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocMapped));
    memory_ = static_cast<T*>(memory);
    std::fill(memory_, memory_ + count, T{-1});
  }
  ~shared_memory() {
    cudaDeviceSynchronize();
    cudaFreeHost(memory_);
  }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;
  std::span<T> span() const { return {memory_, count_}; }

 private:
  T* memory_ = nullptr;
  std::size_t count_;
};

/// Many results in memory that the host shares: all of them can be read as soon as they are got, by columns in tiles
/// and pieces, and of runs, while what came later holds the stream up.
TEST_F(cuda_pending, many_results_are_there_when_they_are_got) {
  fanin::cuda gpu;
  constexpr std::int64_t rows = 100'000;
  constexpr std::int64_t columns = 60;
  const shared_memory<std::int64_t> sums(columns);
  const shared_memory<std::int64_t> keys(rows);
  const shared_memory<std::int64_t> counts(rows);
  const shared_memory<std::int64_t> by(rows);
  for (std::size_t k = 0; k < rows; ++k) by.span()[k] = static_cast<std::int64_t>(k / 3);
  for (int round = 0; round < 50; ++round) {
    std::fill(sums.span().begin(), sums.span().end(), -1);
    std::fill(counts.span().begin(), counts.span().end(), -1);
    auto of_columns =
        fanin::parallel_reduce_async(sums.span(), fanin::columns(gpu, rows, columns), of_column{}, int64_sum);
    auto runs = fanin::reduce_async(fanin::runs_to(keys.span(), counts.span()), gpu, fanin::runs(by.span(), by.span()),
                                    int64_sum);
    gate held;
    if (round > 0) held.close(gpu);  // at first CUDA loads kernels, for which it may wait for the device
    expect_at_once("get()", [&] {
      if (round % 2 == 0) {
        while (!of_columns.ready()) continue;
      }
      of_columns.get();
      for (std::int64_t j = 0; j < columns; ++j) ASSERT_EQ(sums.span()[static_cast<std::size_t>(j)], rows * j);
      ASSERT_EQ(runs.get(), rows / 3 + 1);
      for (std::int64_t r = 0; r <= rows / 3; ++r) {
        const auto at = static_cast<std::size_t>(r);
        ASSERT_EQ(keys.span()[at], r);
        ASSERT_EQ(counts.span()[at], r * (r == rows / 3 ? 1 : 3));
      }
    });
  }
}

/// When something on a stream began and ended, by the device's clock.
struct stamps {
  std::uint64_t begin;
  std::uint64_t end;
};

struct stamp_begin {
  stamps* at;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const {
    if (i == 0) at->begin = fanin::detail::nanoseconds_now();
    return i;
  }
};
struct stamp_end {
  stamps* at;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t sum) const {
    at->end = fanin::detail::nanoseconds_now();
    return sum;
  }
};

/// The application's: ten microseconds of work.
__global__ void work_and_stamp(stamps* at) {
  at->begin = fanin::detail::nanoseconds_now();
  do at->end = fanin::detail::nanoseconds_now();
  while (at->end - at->begin < 10'000);
}

enum class first_and_last { kernels, reductions, reductions_behind_the_host };

/// Nanoseconds from the end of one thing on a stream to the beginning of the next, the median: two things and a kernel
/// between them, again and again. The host enqueues all of it before the first begins.
std::uint64_t idle_between(fanin::cuda& gpu, first_and_last what) {
  constexpr std::size_t rounds = 50;
  constexpr std::int64_t n = 100'000;
  fanin::buffer<stamps, fanin::cuda> at(gpu, 3 * rounds);
  stamps* next = at.data();
  std::vector<to_come> all;
  const auto enqueue = [&](bool is_kernel) {
    stamps* const mine = next++;
    if (is_kernel || what == first_and_last::kernels) {
      work_and_stamp<<<1, 1, 0, gpu.stream()>>>(mine);
      return;
    }
    if (what == first_and_last::reductions_behind_the_host) {
      check(cudaLaunchHostFunc(gpu.stream(), [](void*) {}, nullptr));
    }
    all.push_back(fanin::parallel_reduce_async(fanin::range(gpu, n), stamp_begin{mine},
                                               fanin::finished(stamp_end{mine}, int64_sum)));
  };
  for (const bool is_measured : {false, true}) {  // at first CUDA loads kernels, for which it may wait for the device
    next = at.data();
    gate held;
    if (is_measured) held.close(gpu);
    for (std::size_t round = 0; round < rounds; ++round) {
      for (const bool is_kernel : {false, true, false}) enqueue(is_kernel);
    }
    held.open();
    for (to_come& one : all) EXPECT_EQ(one.get(), sum_of_first(n));
    all.clear();
  }
  std::vector<stamps> seen(at.size());
  at.copy_to(seen);
  std::vector<std::uint64_t> gaps;
  for (std::size_t k = 1; k < seen.size(); ++k) gaps.push_back(seen[k].begin - seen[k - 1].end);
  std::nth_element(gaps.begin(), gaps.begin() + gaps.size() / 2, gaps.end());
  return gaps[gaps.size() / 2];
}

/// Two reductions outstanding and a kernel between them: the stream idles no longer than between plain kernels. A trip
/// to the host takes several microseconds, and would be seen.
TEST_F(cuda_pending, the_stream_does_not_idle) {
  constexpr std::uint64_t most_longer = 3'000;
  fanin::cuda gpu;
  const std::uint64_t of_kernels = idle_between(gpu, first_and_last::kernels);
  const std::uint64_t of_reductions = idle_between(gpu, first_and_last::reductions);
  const std::uint64_t by_the_host = idle_between(gpu, first_and_last::reductions_behind_the_host);
  std::cout << "idle between kernels " << of_kernels << " ns, reductions " << of_reductions
            << " ns, reductions with the host between them " << by_the_host << " ns\n";
  EXPECT_LT(of_reductions, of_kernels + most_longer);
  EXPECT_GT(by_the_host, of_kernels + most_longer) << "what is wrong is not seen";
}

}  // namespace
}  // namespace fanin_test
