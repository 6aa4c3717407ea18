// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cuda/gate.hpp"
#include "cuda/gpu_test.hpp"
#include "support/user_reducers.hpp"

/// Faulting kernels: they throw within a second and do not hang. The context is lost afterwards, so that each case runs
/// in a process of its own.
namespace fanin_test {
namespace {

class cuda_faults : public gpu_test {
 protected:
  void SetUp() override {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    gpu_test::SetUp();
  }
};

/// An address that no allocation has.
FANIN_FUNCTION const double* nowhere() { return reinterpret_cast<const double*>(std::uintptr_t{0x7000'0000'0000}); }

struct write_nowhere {
  double* y;
  FANIN_FUNCTION void operator()(std::int64_t i) const { y[i] = 1.0; }
};

[[noreturn]] void leave(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::fflush(stderr);
  std::exit(why[0] == 'o' && why[1] == 'k' ? 0 : 1);
}

/// Runs `call`, which must throw a cuda_error of an illegal address, in words, within a second.
template <class Call>
void expect_fault(const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    call();
    leave("nothing was thrown");
  } catch (const fanin::cuda_error& e) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::string what = e.what();
    if (e.code() != cudaErrorIllegalAddress) leave(("another error: " + what).c_str());
    if (what.find("cudaErrorIllegalAddress") == std::string::npos) leave(("lacks CUDA's name: " + what).c_str());
    if (what.find(".cpp:") == std::string::npos) leave(("lacks file:line: " + what).c_str());
    if (seconds > 1.0) leave("it took more than a second");
  }
}

/// The context is lost: the next call says so too, and the object goes away without a crash or a hang.
void expect_lost(fanin::cuda& gpu) {
  try {
    fanin::parallel_reduce(fanin::range(gpu, 10), index_itself{}, fanin::sum<std::int64_t>{});
    leave("the context is lost, and a later call answered");
  } catch (const fanin::cuda_error&) {
  }
}

[[noreturn]] void blocking_functor() {
  {
    fanin::cuda gpu;
    fanin::parallel_reduce(fanin::range(gpu, 1'000), index_itself{}, fanin::sum<std::int64_t>{});
    expect_fault(
        [&] { fanin::parallel_reduce(fanin::range(gpu, 1'000'000), at<double>{nowhere()}, fanin::sum<double>{}); });
    expect_lost(gpu);
  }
  leave("ok: thrown");
}

[[noreturn]] void blocking_on_the_host_finish() {
  {
    fanin::cuda gpu;
    const auto tree = gpu.with<fanin::cuda_strategy::shared_tree>();
    fanin::parallel_reduce(fanin::range(tree, 1'000), index_itself{}, fanin::sum<std::int64_t>{});
    expect_fault(
        [&] { fanin::parallel_reduce(fanin::range(tree, 1'000'000), at<double>{nowhere()}, fanin::sum<double>{}); });
    expect_lost(gpu);
  }
  leave("ok: thrown");
}

/// Reads nowhere at one index only.
struct one_nowhere {
  std::int64_t where;
  FANIN_FUNCTION double operator()(std::int64_t i) const { return i == where ? *nowhere() : 1.0; }
};

/// Blocks that post their partial results to the host, all of them but one.
[[noreturn]] void blocks_that_post() {
  {
    using composite = fanin::detail::composite<fanin::sum<double>>;
    static_assert(fanin::detail::may_post_partials<fanin::cuda_strategy::one_pass, composite>);
    fanin::cuda gpu;
    const auto view = gpu.with({.grid_size = 64});
    fanin::parallel_reduce(fanin::range(view, 100'000), one_nowhere{-1}, fanin::sum<double>{});
    expect_fault(
        [&] { fanin::parallel_reduce(fanin::range(view, 100'000), one_nowhere{70'000}, fanin::sum<double>{}); });
    expect_lost(gpu);
  }
  leave("ok: thrown");
}

/// Of one whose result is got later, from get(); looks at it end.
template <bool Looks>
[[noreturn]] void results_that_are_got_later() {
  {
    fanin::cuda gpu;
    const fanin::sum<std::int64_t> sum;
    if (fanin::parallel_reduce_async(fanin::range(gpu, 1'000), index_itself{}, sum).get() != 499'500) leave("499500");
    expect_fault([&] {
      auto failed =
          fanin::parallel_reduce_async(fanin::range(gpu, 1'000'000), at<double>{nowhere()}, fanin::sum<double>{});
      while (Looks && !failed.ready()) continue;
      failed.get();
    });
    expect_lost(gpu);
  }
  leave("ok: thrown");
}

/// The stream captures when its kernel fails, and cannot be asked: another one tells.
[[noreturn]] void fault_while_the_stream_captures() {
  {
    gate held;
    fanin::cuda gpu;
    fanin::parallel_reduce(fanin::range(gpu, 1'000), index_itself{}, fanin::sum<std::int64_t>{});
    held.close(gpu);
    auto failed =
        fanin::parallel_reduce_async(fanin::range(gpu, 1'000'000), at<double>{nowhere()}, fanin::sum<double>{});
    if (cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal) != cudaSuccess) leave("no capture");
    held.open();
    expect_fault([&] { failed.get(); });
  }
  leave("ok: thrown");
}

/// The object goes before the result is got.
[[noreturn]] void fault_after_the_object() {
  fanin::pending<double> failed;
  {
    const fanin::cuda gpu;
    failed = fanin::parallel_reduce_async(fanin::range(gpu, 1'000'000), at<double>{nowhere()}, fanin::sum<double>{});
  }
  expect_fault([&] { failed.get(); });
  leave("ok: thrown");
}

/// Destroyed after everything else of the program, CUDA's runtime included.
fanin::pending<std::int64_t>& never_got() {
  static fanin::pending<std::int64_t> one;
  return one;
}
[[noreturn]] void dropped_at_exit() {
  never_got();
  never_got() = fanin::parallel_reduce_async(fanin::range(fanin::backend<fanin::cuda>::default_object(), 1'000),
                                             index_itself{}, fanin::sum<std::int64_t>{});
  leave("ok: dropped");
}

/// Of an ordered call the error comes from synchronize().
[[noreturn]] void ordered_functor() {
  {
    fanin::cuda gpu;
    fanin::buffer<double, fanin::cuda> out(gpu, 1);
    expect_fault([&] {
      fanin::parallel_reduce_into(out.data(), fanin::range(gpu, 1'000'000), at<double>{nowhere()},
                                  fanin::sum<double>{});
      gpu.synchronize();
    });
    expect_lost(gpu);
  }
  leave("ok: thrown");
}

[[noreturn]] void fault_of_parallel_for() {
  {
    fanin::cuda gpu;
    expect_fault([&] {
      fanin::parallel_for(fanin::range(gpu, 100), write_nowhere{const_cast<double*>(nowhere())});
      gpu.synchronize();
    });
    expect_lost(gpu);
  }
  leave("ok: thrown");
}

/// The functor's fault is met by a later blocking call, if nobody synchronised.
[[noreturn]] void met_by_the_next_call() {
  {
    fanin::cuda gpu;
    fanin::buffer<double, fanin::cuda> x(gpu, 100);
    expect_fault([&] {
      fanin::parallel_for(fanin::range(gpu, 100), write_nowhere{const_cast<double*>(nowhere())});
      fanin::reduce(gpu, x, fanin::sum<double>{});
    });
  }
  leave("ok: thrown");
}

/// An application that is given a lot of memory after a reset, at the addresses that were in use before it.
class memory_after_reset {
 public:
  memory_after_reset() {
    for (void*& block : blocks_) {
      if (cudaMalloc(&block, bytes) != cudaSuccess) leave("no memory after the reset");
      if (cudaMemset(block, 0x5a, bytes) != cudaSuccess) leave("the application's own memory was lost");
    }
  }
  /// That all of it is there and as it was.
  void expect_untouched() const {
    std::vector<unsigned char> host(bytes);
    for (const void* block : blocks_) {
      if (cudaMemcpy(host.data(), block, bytes, cudaMemcpyDefault) != cudaSuccess)
        leave("memory of the application's was freed");
      for (const unsigned char byte : host) {
        if (byte != 0x5a) leave("memory of the application's was overwritten");
      }
    }
  }

 private:
  static constexpr std::size_t bytes = 16 * 1024;
  std::array<void*, 400> blocks_{};
};

/// Captures a sum of 0 + 1 + ... on an object of its own and replays it.
void replay_a_captured_sum() {
  fanin::cuda gpu;
  const std::int64_t n = 300'000;
  fanin::buffer<std::int64_t, fanin::cuda> out(gpu, 1);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  if (cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeThreadLocal) != cudaSuccess) leave("no capture");
  for (int k = 0; k < 4; ++k)
    fanin::parallel_reduce_into(out.data(), fanin::range(gpu, n), index_itself{}, fanin::sum<std::int64_t>{});
  if (cudaStreamEndCapture(gpu.stream(), &graph) != cudaSuccess) leave("the capture failed");
  if (cudaGraphInstantiate(&executable, graph, 0) != cudaSuccess) leave("the graph was refused");
  if (cudaGraphLaunch(executable, gpu.stream()) != cudaSuccess) leave("the graph did not start");
  std::int64_t value = 0;
  out.copy_to(std::span(&value, 1));
  if (value != n * (n - 1) / 2) leave("a wrong sum");
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

[[noreturn]] void reset_between_captures() {
  replay_a_captured_sum();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the graph says so later that it is gone
  if (cudaDeviceReset() != cudaSuccess) leave("no reset");
  {
    const memory_after_reset memory;
    replay_a_captured_sum();
    memory.expect_untouched();
  }
  leave("ok: nothing of before the reset was used");
}

struct one_octet {
  FANIN_FUNCTION octet operator()(std::int64_t) const { return {{1}}; }
};

/// By blocks with more shared memory than a kernel has without asking.
void sum_in_large_blocks() {
  const fanin::cuda gpu;
  const auto tree = gpu.with<fanin::cuda_strategy::shared_tree>({.block_size = 1024});
  const octet sum = fanin::parallel_reduce(fanin::range(tree, 3'000), one_octet{}, fanin::sum<octet>{});
  if (gpu.last_launch().shared_bytes <= 48 * 1024) leave("the blocks were not large");
  if (!(sum == octet{{3'000}})) leave("a wrong sum of octets");
}

/// What was made before a reset says so in words, and takes nothing along when it goes away.
[[noreturn]] void objects_after_a_reset() {
  // Of a stream that the reset leaves as it is; its workspace is the first block of all.
  auto legacy = std::make_unique<fanin::cuda>(cudaStream_t{nullptr});
  fanin::parallel_reduce(fanin::range(*legacy, 300'000), index_itself{}, fanin::sum<std::int64_t>{});
  auto& of_thread = fanin::backend<fanin::cuda>::default_object();
  if (fanin::parallel_reduce(fanin::range(of_thread, 4), index_itself{}, fanin::sum<std::int64_t>{}) != 6) leave("6");
  sum_in_large_blocks();
  auto gpu = std::make_unique<fanin::cuda>();
  auto x = std::make_unique<fanin::buffer<std::int64_t, fanin::cuda>>(*gpu, 10'000);
  fanin::parallel_reduce(fanin::range(*gpu, 300'000), index_itself{}, fanin::sum<std::int64_t>{});
  auto to_come = fanin::parallel_reduce_async(fanin::range(*gpu, 300'000), index_itself{}, fanin::sum<std::int64_t>{});
  auto dropped = std::make_unique<fanin::pending<std::int64_t>>(
      fanin::parallel_reduce_async(fanin::range(*gpu, 300'000), index_itself{}, fanin::sum<std::int64_t>{}));
  if (cudaDeviceReset() != cudaSuccess) leave("no reset");
  for (const bool is_in_use_again : {false, true}) {
    if (is_in_use_again) cudaFree(nullptr);
    try {
      fanin::parallel_reduce(fanin::range(*gpu, 300'000), index_itself{}, fanin::sum<std::int64_t>{});
      leave("an object of before the reset answered");
    } catch (const fanin::state_error& e) {
      if (std::string(e.what()).find("cudaDeviceReset") == std::string::npos) leave(e.what());
    }
    try {
      fanin::reduce(*gpu, *x, fanin::sum<std::int64_t>{});
      leave("a buffer of before the reset was read");
    } catch (const fanin::error& e) {
      if (std::string(e.what()).find("cudaDeviceReset") == std::string::npos) leave(e.what());
    }
  }
  try {
    if (!to_come.ready()) leave("a result of before the reset is still to come");
    to_come.get();
    leave("a result of before the reset was got");
  } catch (const fanin::state_error& e) {
    if (std::string(e.what()).find("cudaDeviceReset") == std::string::npos) leave(e.what());
  }
  const memory_after_reset memory;
  dropped.reset();
  x.reset();
  gpu.reset();
  legacy.reset();
  memory.expect_untouched();
  replay_a_captured_sum();
  memory.expect_untouched();
  sum_in_large_blocks();
  auto& anew = fanin::backend<fanin::cuda>::default_object();
  if (fanin::parallel_reduce(fanin::range(anew, 5), index_itself{}, fanin::sum<std::int64_t>{}) != 10) leave("10");
  leave("ok: said in words");
}

TEST_F(cuda_faults, reset_between_captures) {
  EXPECT_EXIT(reset_between_captures(), ::testing::ExitedWithCode(0), "ok");
}
TEST_F(cuda_faults, objects_after_a_reset) { EXPECT_EXIT(objects_after_a_reset(), ::testing::ExitedWithCode(0), "ok"); }
TEST_F(cuda_faults, of_a_functor_in_a_blocking_call) {
  EXPECT_EXIT(blocking_functor(), ::testing::ExitedWithCode(0), "ok");
}
TEST_F(cuda_faults, of_a_strategy_that_finishes_on_the_host) {
  EXPECT_EXIT(blocking_on_the_host_finish(), ::testing::ExitedWithCode(0), "ok");
}
TEST_F(cuda_faults, of_blocks_that_post) { EXPECT_EXIT(blocks_that_post(), ::testing::ExitedWithCode(0), "ok"); }
TEST_F(cuda_faults, of_results_that_are_got_later) {
  EXPECT_EXIT(results_that_are_got_later<false>(), ::testing::ExitedWithCode(0), "ok");
  EXPECT_EXIT(results_that_are_got_later<true>(), ::testing::ExitedWithCode(0), "ok");
}
TEST_F(cuda_faults, of_a_result_while_its_stream_captures) {
  EXPECT_EXIT(fault_while_the_stream_captures(), ::testing::ExitedWithCode(0), "ok");
}
TEST_F(cuda_faults, of_a_result_after_its_object) {
  EXPECT_EXIT(fault_after_the_object(), ::testing::ExitedWithCode(0), "ok");
}
TEST_F(cuda_faults, results_dropped_at_exit) { EXPECT_EXIT(dropped_at_exit(), ::testing::ExitedWithCode(0), "ok"); }
TEST_F(cuda_faults, of_an_ordered_call) { EXPECT_EXIT(ordered_functor(), ::testing::ExitedWithCode(0), "ok"); }
TEST_F(cuda_faults, of_parallel_for) { EXPECT_EXIT(fault_of_parallel_for(), ::testing::ExitedWithCode(0), "ok"); }
TEST_F(cuda_faults, met_by_the_next_call) { EXPECT_EXIT(met_by_the_next_call(), ::testing::ExitedWithCode(0), "ok"); }

}  // namespace
}  // namespace fanin_test
