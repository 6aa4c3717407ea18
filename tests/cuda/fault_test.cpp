// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cuda/gpu_test.hpp"

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

TEST_F(cuda_faults, of_a_functor_in_a_blocking_call) {
  EXPECT_EXIT(blocking_functor(), ::testing::ExitedWithCode(0), "ok");
}
TEST_F(cuda_faults, of_a_strategy_that_finishes_on_the_host) {
  EXPECT_EXIT(blocking_on_the_host_finish(), ::testing::ExitedWithCode(0), "ok");
}
TEST_F(cuda_faults, of_blocks_that_post) { EXPECT_EXIT(blocks_that_post(), ::testing::ExitedWithCode(0), "ok"); }
TEST_F(cuda_faults, of_an_ordered_call) { EXPECT_EXIT(ordered_functor(), ::testing::ExitedWithCode(0), "ok"); }
TEST_F(cuda_faults, of_parallel_for) { EXPECT_EXIT(fault_of_parallel_for(), ::testing::ExitedWithCode(0), "ok"); }
TEST_F(cuda_faults, met_by_the_next_call) { EXPECT_EXIT(met_by_the_next_call(), ::testing::ExitedWithCode(0), "ok"); }

}  // namespace
}  // namespace fanin_test
