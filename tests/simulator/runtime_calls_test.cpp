// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/runs.hpp>

#include <span_reduction.cuh>

#include "simulator/machine.hpp"
#include "support/failing_runtime.hpp"
#include "support/functors.hpp"

/// What a call asks of the CUDA runtime and the driver, each time, on an object that has made such a call before. Some
/// of them cost more than all that Fanin does beside them: a list that grows is a reason to think again.
namespace fanin::detail {
template struct cuda_span_reduction<sum<std::int64_t>>;
}  // namespace fanin::detail

namespace simulator_test {
namespace {

using fanin_test::index_itself;
using integers = fanin::sum<std::int64_t>;

struct in_plane {
  std::int64_t operator()(std::int64_t i, std::int64_t j) const { return i + j; }
};

/// The second time, so that nothing is made or asked once.
template <class Call>
std::string calls_of(const Call& call) {
  call();
  const fanin_test::noted_calls noted;
  call();
  return noted.text();
}

TEST(runtime_calls, of_a_call) {
  simulator::begin(simulator::schedule(1));
  const fanin::cuda gpu;
  const std::vector<std::int64_t> xs(100, 1);
  std::int64_t out = 0;
  const auto all = fanin::range(gpu, 100);
  EXPECT_EQ(calls_of([&] { fanin::reduce(gpu, xs, integers{}); }),
            "cudaPointerGetAttributes cuCtxGetId cuStreamIsCapturing cudaLaunchKernelExC");
  EXPECT_EQ(calls_of([&] { fanin::parallel_reduce(all, index_itself{}, integers{}); }),
            "cuCtxGetId cuStreamIsCapturing cudaLaunchKernelExC");
  EXPECT_EQ(calls_of([&] { fanin::reduce_into(&out, gpu, xs, integers{}); }),
            "cudaPointerGetAttributes cudaPointerGetAttributes cuCtxGetId cuStreamIsCapturing cudaLaunchKernelExC");
  EXPECT_EQ(calls_of([&] { fanin::parallel_reduce_into(&out, all, index_itself{}, integers{}); }),
            "cudaPointerGetAttributes cuCtxGetId cuStreamIsCapturing cudaLaunchKernelExC");
  EXPECT_EQ(calls_of([&] { fanin::parallel_reduce_async(all, index_itself{}, integers{}).get(); }),
            "cuCtxGetId cuStreamIsCapturing cudaLaunchKernelExC cuCtxGetId");
  EXPECT_EQ(calls_of([&] { fanin::parallel_for(all, index_itself{}); }),
            "cuCtxGetId cuStreamIsCapturing cudaLaunchKernelExC");
  std::vector<std::int64_t> sums(100);
  std::vector<std::int64_t> keys(100);
  EXPECT_EQ(calls_of([&] { fanin::reduce(fanin::runs_to(keys, sums), gpu, fanin::runs(xs, xs), integers{}); }),
            "cudaPointerGetAttributes cudaPointerGetAttributes cudaPointerGetAttributes cudaPointerGetAttributes "
            "cudaPointerGetAttributes cudaPointerGetAttributes cudaPointerGetAttributes cuCtxGetId cuStreamIsCapturing "
            "cudaLaunchKernelExC");
  EXPECT_EQ(
      calls_of([&] { fanin::parallel_reduce_into(sums.data(), fanin::rows(gpu, 100, 9), in_plane{}, integers{}); }),
      "cudaPointerGetAttributes cuCtxGetId cuStreamIsCapturing cudaLaunchKernelExC");
  // Blocks of two sizes in turn.
  EXPECT_EQ(calls_of([&] {
              fanin::parallel_reduce_into(sums.data(), fanin::rows(gpu, 90, 600), in_plane{}, integers{});
              const int threads = gpu.last_launch().block_size;
              fanin::parallel_reduce_into(sums.data(), fanin::rows(gpu, 2, 9'000), in_plane{}, integers{});
              EXPECT_NE(gpu.last_launch().block_size, threads);
            }),
            "cudaPointerGetAttributes cuCtxGetId cuStreamIsCapturing cudaLaunchKernelExC "
            "cudaPointerGetAttributes cuCtxGetId cuStreamIsCapturing cudaLaunchKernelExC");
  // And a launch that tells their end.
  EXPECT_EQ(
      calls_of(
          [&] { fanin::parallel_reduce_async(sums.data(), fanin::rows(gpu, 100, 9), in_plane{}, integers{}).get(); }),
      "cudaPointerGetAttributes cuCtxGetId cuStreamIsCapturing cudaLaunchKernelExC cudaLaunchKernelExC cuCtxGetId");
  EXPECT_EQ(
      calls_of([&] { fanin::reduce_async(fanin::runs_to(keys, sums), gpu, fanin::runs(xs, xs), integers{}).get(); }),
      "cudaPointerGetAttributes cudaPointerGetAttributes cudaPointerGetAttributes cudaPointerGetAttributes "
      "cudaPointerGetAttributes cudaPointerGetAttributes cudaPointerGetAttributes cuCtxGetId cuStreamIsCapturing "
      "cudaLaunchKernelExC cudaLaunchKernelExC cuCtxGetId");
}

}  // namespace
}  // namespace simulator_test
