// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "cuda/gate.hpp"
#include "cuda/gpu_test.hpp"
#include "support/in_threads.hpp"
#include "support/user_reducers.hpp"

/// Streams: who waits for whom, and what may run beside what; workspace while work is in flight.
namespace fanin_test {
namespace {

using cuda_streams = gpu_test;
using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

TEST_F(cuda_streams, a_blocking_call_waits_for_its_own_stream_only) {
  fanin::cuda busy;
  fanin::cuda gpu;
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, 1'000), index_itself{}, int64_sum), 499'500);
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(busy, 1), index_itself{}, int64_sum), 0);
  gate held;
  held.close(busy);
  const auto begin = clock::now();
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, 1'000), index_itself{}, int64_sum), 499'500);
  EXPECT_LT(seconds_since(begin), 1.0) << "it waited for another object's stream";
}

TEST_F(cuda_streams, an_into_call_returns_at_once) {
  fanin::cuda gpu;
  destination<std::int64_t, fanin::cuda> out(gpu);
  placed<std::int64_t, fanin::cuda> x(gpu, make_data<std::int64_t>(data::pairs, 100'000));
  fanin::reduce_into(out.pointer(), gpu, x.span(), int64_sum);
  fanin::parallel_reduce_into(out.pointer(), fanin::range(gpu, 100'000), index_itself{}, int64_sum);
  gpu.synchronize();
  gate held;
  const auto begin = clock::now();
  held.close(gpu);
  fanin::reduce_into(out.pointer(), gpu, x.span(), int64_sum);
  fanin::parallel_reduce_into(out.pointer(), fanin::range(gpu, 100'000), index_itself{}, int64_sum);
  EXPECT_LT(seconds_since(begin), 1.0) << "it waited for the stream";
  held.open();
  EXPECT_EQ(out.get(), std::int64_t{100'000} * 99'999 / 2);
}

/// Two streams of one thread, the calls of both in flight at once.
TEST_F(cuda_streams, two_streams_side_by_side) {
  test_stream first;
  test_stream second;
  fanin::cuda a(first.get());
  fanin::cuda b(second.get());
  const auto host_a = make_data<std::int64_t>(data::random_signed, 1'000'003);
  const auto host_b = make_data<std::int64_t>(data::pairs, 700'001);
  placed<std::int64_t, fanin::cuda> x(a, host_a);
  placed<std::int64_t, fanin::cuda> y(b, host_b, 1);
  constexpr std::size_t rounds = 200;
  fanin::buffer<std::int64_t, fanin::cuda> sums_a(a, rounds);
  fanin::buffer<std::int64_t, fanin::cuda> sums_b(b, rounds);
  for (std::size_t k = 0; k < rounds; ++k) {
    fanin::reduce_into(sums_a.data() + k, a, x.span().subspan(k), int64_sum);
    fanin::reduce_into(sums_b.data() + k, b, y.span().subspan(k), int64_sum);
  }
  std::vector<std::int64_t> got_a(rounds);
  std::vector<std::int64_t> got_b(rounds);
  sums_a.copy_to(got_a);
  sums_b.copy_to(got_b);
  for (std::size_t k = 0; k < rounds; ++k) {
    ASSERT_TRUE(is_sum_of(std::span<const std::int64_t>(host_a).subspan(k), got_a[k], 0)) << "round " << k;
    ASSERT_TRUE(is_sum_of(std::span<const std::int64_t>(host_b).subspan(k), got_b[k], 0)) << "round " << k;
  }
}

/// A borrowed stream's earlier work, not Fanin's own, comes first.
TEST_F(cuda_streams, earlier_work_of_a_borrowed_stream_comes_first) {
  test_stream stream;
  fanin::cuda gpu(stream.get());
  const std::size_t n = 1'000'000;
  fanin::buffer<std::uint8_t, fanin::cuda> x(gpu, n);
  for (int value = 1; value < 20; ++value) {
    check(cudaMemsetAsync(x.data(), value, n, stream.get()));
    EXPECT_EQ(fanin::reduce(gpu, x, fanin::sum<std::uint64_t>{}), n * static_cast<std::size_t>(value));
  }
}

/// After the first call of a kind, no more memory is asked for; neither for fewer elements.
TEST_F(cuda_streams, nothing_is_allocated_after_the_first_call) {
  fanin::cuda gpu;
  placed<std::int64_t, fanin::cuda> x(gpu, make_data<std::int64_t>(data::random_signed, 3'000'000));
  fanin::buffer<std::int64_t, fanin::cuda> out(gpu, 1);
  const auto tree = gpu.with<fanin::cuda_strategy::shared_tree>();
  const auto all_calls = [&](std::size_t n) {
    const auto part = x.span().first(n);
    fanin::reduce(gpu, part, int64_sum);
    fanin::reduce(tree, part, int64_sum);
    fanin::reduce(gpu, part, fanin::min_max_loc<std::int64_t>{});
    fanin::parallel_reduce(fanin::range(gpu, n), at<std::int64_t>{x.data()}, int64_sum);
    fanin::reduce_into(out.data(), gpu, part, int64_sum);
    gpu.synchronize();
  };
  EXPECT_EQ(gpu.workspace_allocations(), 0);
  all_calls(x.size());
  const auto after_first = gpu.workspace_allocations();
  EXPECT_GT(after_first, 0);
  EXPECT_GT(gpu.workspace_bytes(), 0U);
  std::size_t free_before = 0;
  std::size_t free_after = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free_before, &total));
  for (int round = 0; round < 100; ++round) all_calls(x.size() >> (round % 20));
  EXPECT_EQ(gpu.workspace_allocations(), after_first);
  check(cudaMemGetInfo(&free_after, &total));
  EXPECT_EQ(free_before, free_after);
}

/// Workspace grows by larger accumulators while smaller ones are in flight: all of them arrive whole.
TEST_F(cuda_streams, workspace_grows_under_way) {
  for (int round = 0; round < 20; ++round) {
    fanin::cuda gpu;
    const std::size_t n = 2'000'001;
    const auto host = make_data<std::uint32_t>(data::random_signed, n);
    placed<std::uint32_t, fanin::cuda> x(gpu, host);
    fanin::buffer<std::uint32_t, fanin::cuda> sums(gpu, 10);
    fanin::buffer<std::uint64_t, fanin::cuda> wide(gpu, 1);
    fanin::buffer<fanin::min_max_index<std::uint32_t>, fanin::cuda> extremes(gpu, 1);
    for (std::size_t k = 0; k < 5; ++k) fanin::reduce_into(sums.data() + k, gpu, x, fanin::sum<std::uint32_t>{});
    fanin::reduce_into(extremes.data(), gpu, x, fanin::min_max_loc<std::uint32_t>{});
    fanin::reduce_into(wide.data(), gpu, x, wide_counts{});
    for (std::size_t k = 5; k < 10; ++k) fanin::reduce_into(sums.data() + k, gpu, x, fanin::sum<std::uint32_t>{});
    std::vector<std::uint32_t> got(10);
    std::vector<std::uint64_t> got_wide(1);
    std::vector<fanin::min_max_index<std::uint32_t>> got_extremes(1);
    sums.copy_to(got);
    wide.copy_to(got_wide);
    extremes.copy_to(got_extremes);
    static const auto expected_wide = fanin::reduce(fanin::serial{}, host, wide_counts{});
    static const auto expected_extremes = fanin::reduce(fanin::serial{}, host, fanin::min_max_loc<std::uint32_t>{});
    for (const auto value : got) ASSERT_TRUE(is_sum_of(std::span<const std::uint32_t>(host), value, 0));
    ASSERT_EQ(got_wide[0], expected_wide);
    ASSERT_TRUE(is_same(got_extremes[0], expected_extremes));
  }
}

/// Thousands of launches in flight, of accumulators of several sizes by turns: no launch takes another one's partial
/// results for its own.
TEST_F(cuda_streams, launches_back_to_back) {
  fanin::cuda gpu;
  const std::size_t n = 300'000;
  constexpr std::size_t rounds = 3'000;
  const auto host = make_data<std::int64_t>(data::random_signed, n);
  placed<std::int64_t, fanin::cuda> x(gpu, host);
  fanin::buffer<std::int64_t, fanin::cuda> sums(gpu, rounds);
  fanin::buffer<fanin::value_index<std::int64_t>, fanin::cuda> places(gpu, rounds);
  fanin::buffer<fanin::tuple<std::int64_t, std::int64_t>, fanin::cuda> pairs(gpu, rounds);
  for (std::size_t k = 0; k < rounds; ++k) {
    const auto part = x.span().subspan(k);
    fanin::reduce_into(sums.data() + k, gpu, part, int64_sum);
    fanin::reduce_into(places.data() + k, gpu, part, fanin::min_loc<std::int64_t>{});
    fanin::reduce_into(pairs.data() + k, gpu, part, int64_sum, fanin::bor<std::int64_t>{});
  }
  std::vector<std::int64_t> got(rounds);
  std::vector<fanin::value_index<std::int64_t>> got_places(rounds);
  std::vector<fanin::tuple<std::int64_t, std::int64_t>> got_pairs(rounds);
  sums.copy_to(got);
  places.copy_to(got_places);
  pairs.copy_to(got_pairs);
  auto expected = static_cast<std::uint64_t>(fanin::reduce(fanin::serial{}, host, int64_sum));
  const auto least = fanin::reduce(fanin::serial{}, host, fanin::min_loc<std::int64_t>{});
  ASSERT_GE(least.index, static_cast<std::int64_t>(rounds)) << "the data was chosen so that the least comes later";
  for (std::size_t k = 0; k < rounds; ++k) {
    ASSERT_EQ(static_cast<std::uint64_t>(got[k]), expected) << "round " << k;
    ASSERT_EQ(got_places[k].value, least.value) << "round " << k;
    ASSERT_EQ(got_places[k].index, least.index - static_cast<std::int64_t>(k)) << "round " << k;
    ASSERT_EQ(static_cast<std::uint64_t>(fanin::get<0>(got_pairs[k])), expected) << "round " << k;
    ASSERT_EQ(fanin::get<1>(got_pairs[k]), -1) << "round " << k;
    expected -= static_cast<std::uint64_t>(host[k]);
  }
}

/// Writing and reading by turns, with no wait between: neither starts before the other is done.
TEST_F(cuda_streams, writes_and_reductions_by_turns) {
  fanin::cuda gpu;
  const std::int64_t n = 200'000;
  constexpr std::int64_t rounds = 2'000;
  fanin::buffer<std::int64_t, fanin::cuda> x(gpu, n);
  fanin::buffer<std::int64_t, fanin::cuda> sums(gpu, rounds);
  for (std::int64_t k = 0; k < rounds; ++k) {
    fanin::parallel_for(fanin::range(gpu, n), fill<std::int64_t>{x.data(), k});
    fanin::reduce_into(sums.data() + k, gpu, x, int64_sum);
  }
  std::vector<std::int64_t> got(rounds);
  sums.copy_to(got);
  for (std::int64_t k = 0; k < rounds; ++k) ASSERT_EQ(got[static_cast<std::size_t>(k)], n * k) << "round " << k;
}

/// An object that goes away waits for its work.
TEST_F(cuda_streams, a_destructor_waits) {
  fanin::cuda other;
  fanin::buffer<std::int64_t, fanin::cuda> out(other, 50);
  for (std::size_t k = 0; k < 50; ++k) {
    fanin::cuda gpu;
    fanin::parallel_reduce_into(out.data() + k, fanin::range(gpu, 1'000'000), index_itself{}, int64_sum);
  }
  std::vector<std::int64_t> got(50);
  out.copy_to(got);
  EXPECT_EQ(got, std::vector<std::int64_t>(50, 499'999'500'000));
}

/// Values that a functor writes beside what it gives.
struct writes_along {
  std::int64_t* y;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const {
    y[i] = 3 * i;
    return i;
  }
};

/// What a functor wrote during a blocking call is there for later calls on the object, and for the host after
/// synchronize().
TEST_F(cuda_streams, what_a_functor_writes_is_there_after_synchronize) {
  fanin::cuda gpu;
  const std::int64_t n = 100'000;
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, n * sizeof(std::int64_t), cudaHostAllocMapped));
  auto* const y = static_cast<std::int64_t*>(memory);
  for (int round = 0; round < 200; ++round) {
    std::fill_n(y, n, -1);
    ASSERT_EQ(fanin::parallel_reduce(fanin::range(gpu, n), writes_along{y}, int64_sum), n * (n - 1) / 2);
    ASSERT_EQ(fanin::parallel_reduce(fanin::range(gpu, n), at<std::int64_t>{y}, int64_sum), 3 * (n * (n - 1) / 2));
    std::fill_n(y, n, -1);
    fanin::parallel_reduce(fanin::range(gpu, n), writes_along{y}, int64_sum);
    gpu.synchronize();
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], 3 * i) << "round " << round;
  }
  check(cudaFreeHost(memory));
}

/// Kernels as another library may have them: one lets the next start before it writes, one waits for nothing.
__global__ void writes_at_its_end(std::int64_t* x, std::int64_t n, std::int64_t value) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  for (int k = 0; k < 200; ++k) __nanosleep(1'000);
  for (std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += std::int64_t{gridDim.x} * blockDim.x) {
    x[i] = value;
  }
}
__global__ void waits_for_nothing() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

template <class... Parameter>
void launch_early(cudaStream_t stream, void (*kernel)(Parameter...), int grid,
                  std::type_identity_t<Parameter>... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid));
  config.blockDim = dim3(128);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, arguments...));
}

bool starts_kernels_early() {
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  return major >= 9;
}

/// Runs `calls` on the stream as they are, or as a graph.
template <class Calls>
void run_or_replay(cudaStream_t stream, bool as_graph, const Calls& calls) {
  if (!as_graph) {
    calls();
    return;
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  calls();
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  check(cudaGraphLaunch(executable, stream));
  check(cudaStreamSynchronize(stream));
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(graph));
}

/// A kernel that started early, waited for nothing and has ended says nothing of those before it.
TEST_F(cuda_streams, early_kernels_of_others_do_not_hide_those_before_them) {
  if (!starts_kernels_early()) GTEST_SKIP() << "kernels start early from compute capability 9.0 on";
  for (const bool is_borrowed : {false, true}) {
    test_stream stream;
    fanin::cuda gpu = is_borrowed ? fanin::cuda(stream.get()) : fanin::cuda();
    const std::int64_t n = 100'000;
    fanin::buffer<std::int64_t, fanin::cuda> x(gpu, n);
    destination<std::int64_t, fanin::cuda> out(gpu);
    for (std::int64_t round = 1; round <= 30; ++round) {
      for (const bool as_graph : {false, true}) {
        for (const int between : {1, 3}) {
          check(cudaMemsetAsync(x.data(), 0, n * sizeof(std::int64_t), gpu.stream()));
          gpu.synchronize();
          run_or_replay(gpu.stream(), as_graph, [&] {
            fanin::reduce_into(out.pointer(), gpu, x, int64_sum);
            launch_early(gpu.stream(), writes_at_its_end, 8, x.data(), n, round);
            for (int k = 0; k < between; ++k) launch_early(gpu.stream(), waits_for_nothing, 4);
            fanin::reduce_into(out.pointer(), gpu, x, int64_sum);
          });
          ASSERT_EQ(out.get(), n * round) << "round " << round << (as_graph ? ", graph, " : ", ") << between;
        }
      }
    }
  }
}

/// Many blocks that take a while each.
struct slow_index {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const {
#if defined(__CUDA_ARCH__)
    if (i % 64 == 0) __nanosleep(20'000);
#endif
    return i;
  }
};

/// The same between two reductions of one object, which have one workspace.
TEST_F(cuda_streams, early_kernels_of_others_between_reductions) {
  if (!starts_kernels_early()) GTEST_SKIP() << "kernels start early from compute capability 9.0 on";
  fanin::cuda gpu;
  const std::int64_t n = 100'000;
  fanin::buffer<std::int64_t, fanin::cuda> out(gpu, 30);
  for (int round = 0; round < 20; ++round) {
    for (std::size_t k = 0; k < out.size(); ++k) {
      fanin::parallel_reduce_into(out.data() + k, fanin::range(gpu, n + static_cast<std::int64_t>(k)), slow_index{},
                                  int64_sum);
      launch_early(gpu.stream(), waits_for_nothing, 4);
    }
    std::vector<std::int64_t> got(out.size());
    out.copy_to(got);
    for (std::size_t k = 0; k < got.size(); ++k) {
      const std::int64_t m = n + static_cast<std::int64_t>(k);
      ASSERT_EQ(got[k], m * (m - 1) / 2) << "round " << round;
    }
  }
}

/// Many threads, each with an object on a stream of its own, all kinds of calls.
TEST_F(cuda_streams, threads_with_streams_of_their_own) {
  in_threads(4, [](int t) {
    test_stream stream;
    fanin::cuda gpu(stream.get());
    for (int round = 0; round < 100; ++round) {
      const std::size_t n = 50'000 + 1'000 * static_cast<std::size_t>(t) + static_cast<std::size_t>(round);
      EXPECT_EQ(fanin::parallel_reduce("thread", fanin::range(gpu, n), index_itself{}, int64_sum),
                static_cast<std::int64_t>(n * (n - 1) / 2));
    }
  });
}

/// Default objects: one a thread, used at once.
TEST_F(cuda_streams, threads_with_default_objects) {
  in_threads(4, [](int t) {
    auto& gpu = fanin::backend<fanin::cuda>::default_object();
    for (int round = 0; round < 100; ++round) {
      const std::size_t n = 1'000 * static_cast<std::size_t>(t + 1) + static_cast<std::size_t>(round);
      EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, n), index_itself{}, int64_sum),
                static_cast<std::int64_t>(n * (n - 1) / 2));
    }
  });
}

}  // namespace
}  // namespace fanin_test
