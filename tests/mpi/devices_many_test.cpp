// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <fanin/mpi/over.hpp>

#include "devices.hpp"
#include "mpi/many.hpp"

/// Many results over ranks, of which every other one has its part on a device.
namespace fanin_test {
namespace {

#if !FANIN_TEST_ON_PRETENDED_DEVICE
struct unit_of_rows {
  FANIN_FUNCTION double operator()(std::int64_t, std::int64_t) const { return 1; }
};
#endif

TEST_F(devices, rows_columns_and_segments) {
  for (const auto& options : {fanin::mpi_options{}, fanin::mpi_options{.gather_up_to = 2, .check_calls = true}}) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      begin(seed);
      const auto check = [&](const auto& object) {
        check_axes_over_ranks<fanin::iterate::right, 2, 0>(comm, object, first_seed() + seed);
        check_matrix_over_ranks(comm, object, first_seed() + seed);
        check_segments_over_ranks<std::int32_t>(comm, object, first_seed() + seed);
        check_large_results_over_ranks(comm, object);
        check_failed_parts_of_many(comm, object);
      };
      if ((seed + static_cast<std::uint64_t>(comm.rank())) % 2 == 0) {
        check(device());
      } else {
        check(exec);
      }
    }
  }
}

#if !FANIN_TEST_ON_PRETENDED_DEVICE
/// On the last rank, whose stream captures, or whose destination the device does not reach.
TEST_F(devices, rows_where_they_cannot_be) {
  for (const bool captures : {true, false}) {
#if FANIN_TEST_ON_SIMULATOR  // whose device reaches all memory
    if (!captures) continue;
#endif
    const fanin::mpi comm(MPI_COMM_WORLD);
    const device gpu;
    held<double, device> out(gpu, 3);
    double on_host[3] = {};
    const bool fails = comm.rank() + 1 == comm.size();
    double* const to = fails && !captures ? on_host : out.data();
    const auto rows = fanin::over(comm, fanin::rows(gpu, 3, 5));
    cudaGraph_t graph = nullptr;
    if (fails && captures) cudaStreamBeginCapture(stream_of(gpu), cudaStreamCaptureModeThreadLocal);
    const auto check = [&](const auto& call) {
      if (fails && captures) {
        EXPECT_THROW(call(), fanin::state_error);
      } else if (fails) {
        EXPECT_THROW(call(), fanin::invalid_argument);
      } else {
        EXPECT_THROW(call(), fanin::rank_error);
      }
    };
    check([&] { fanin::parallel_reduce_into(to, rows, unit_of_rows{}, fanin::sum<double>{}); });
    if (comm.size() > 1) {
      auto later = fanin::parallel_reduce_async(to, rows, unit_of_rows{}, fanin::sum<double>{});
      check([&] { later.get(); });
    }
    if (fails && captures) {
      ASSERT_EQ(cudaStreamEndCapture(stream_of(gpu), &graph), cudaSuccess);
      cudaGraphDestroy(graph);
    }
    fanin::parallel_reduce_into(out, rows, unit_of_rows{}, fanin::sum<double>{});
    EXPECT_EQ(to_host(out)[2], 5.0 * comm.size());
  }
}
#endif

#if FANIN_TEST_ON_SIMULATOR
/// A context that goes when all ranks' parts have come, few or in slices: what is new in its device's memory stays.
TEST_F(devices, a_context_that_goes_before_results_are_got) {
  for (const std::int64_t m : {5, 20'000}) {
    begin(1);
    const fanin::mpi comm(MPI_COMM_WORLD);
    std::optional<device> gpu(std::in_place);
    std::vector<double> out(static_cast<std::size_t>(m));  // which a simulated device reaches
    auto later = fanin::parallel_reduce_async(out, fanin::over(comm, fanin::columns(*gpu, 3, m)), unit_of_rows{},
                                              fanin::sum<double>{});
    while (!later.ready()) continue;
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm.rank() + 1 < comm.size()) {
      later.get();
      EXPECT_EQ(out.back(), 3.0 * comm.size());
      continue;
    }
    begin(9);
    constexpr std::size_t bytes = 1 << 19;
    auto* const fresh = static_cast<unsigned char*>(simulator::allocate(bytes));
    std::fill_n(fresh, bytes, 0x5a);
    EXPECT_THROW(later.get(), fanin::state_error);
    EXPECT_EQ(std::count(fresh, fresh + bytes, 0x5a), std::ptrdiff_t{bytes});
    gpu.reset();
  }
}
#endif

}  // namespace
}  // namespace fanin_test
