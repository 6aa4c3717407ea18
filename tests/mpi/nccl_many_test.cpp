// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/finished.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/view.hpp>

#include "nccl_ranks.hpp"
// whose over() is one of those in
#include "mpi/many.hpp"

/// Many results over NCCL's ranks: part of nccl_simulated_test and nccl_devices_test.
namespace fanin_test {
namespace {

TEST_P(nccl_ranks, rows_columns_and_segments) {
  for (std::uint64_t schedule = 0; schedule < 2; ++schedule) {
    begin(schedule);
    auto options = through_nccl;
    options.check_calls = schedule == 1;
    const auto comm = make_comm(options);  // a second, on GPUs
    const fanin::cuda gpu;
    for (std::uint64_t seed = first_seed() + 3 * schedule; seed < first_seed() + 3 * schedule + 3; ++seed) {
      check_axes_over_ranks<fanin::iterate::left, 1>(*comm, gpu, seed);
      check_axes_over_ranks<fanin::iterate::right, 2, 0>(*comm, gpu, seed);
      check_matrix_over_ranks(*comm, gpu, seed);
      check_segments_over_ranks<std::int32_t>(*comm, gpu, seed);
    }
  }
}

struct height_in_plane {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const { return height(i, j, 7); }
};

/// All ranks say so, where any differ, and then go on.
TEST_P(nccl_ranks, different_calls_are_found) {
  auto options = through_nccl;
  options.check_calls = true;
  const auto comm = make_comm(options);
  const fanin::cuda gpu;
  const fanin::sum<std::int64_t> sum;
  const auto range = fanin::over(*comm, fanin::range(gpu, 10));
  const bool is_last = comm->rank() == comm->size() - 1;
  fanin::buffer<std::int64_t, fanin::cuda> two(gpu, 2);
  const auto into_columns = [&](std::int64_t m) {
    fanin::parallel_reduce_into(two.data(), fanin::over(*comm, fanin::columns(gpu, 3, m)), height_in_plane{}, sum);
  };
  if (comm->size() > 1) {
    EXPECT_THROW((void)fanin::parallel_reduce(is_last ? "one" : "another", range, small_at{}, sum), fanin::state_error);
    EXPECT_THROW(into_columns(is_last ? 1 : 2), fanin::state_error);
    EXPECT_THROW(is_last ? into_columns(2) : fanin::parallel_reduce_into(two.data(), range, small_at{}, sum),
                 fanin::state_error);
    const std::string words = words_of_refusal([&] {
      if (is_last) {
        (void)fanin::parallel_reduce_async("sum", range, small_at{}, fanin::max<std::int64_t>{});
      } else {
        (void)fanin::parallel_reduce_async("sum", range, small_at{}, sum);
      }
    });
    EXPECT_NE(words.find("the label \"sum\" and the reducers fanin::"), std::string::npos) << words;
    EXPECT_NE(words.find(is_last ? "max<long" : "sum<long"), std::string::npos) << words;
    EXPECT_NE(words.find("rank " + std::to_string(is_last ? 0 : comm->size() - 1) + " does not"), std::string::npos)
        << words;
  }
  EXPECT_EQ(fanin::parallel_reduce(range, small_at{}, sum),
            comm->size() * fanin::parallel_reduce(fanin::range(exec, 10), small_at{}, sum));
  cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeThreadLocal);
  EXPECT_THROW(into_columns(2), fanin::state_error);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(gpu.stream(), &graph), cudaSuccess);
  cudaGraphDestroy(graph);
#if FANIN_TEST_ON_SIMULATOR  // where what NCCL does itself is none of CUDA's calls
  const fanin::cuda other;   // whose capture the comparison leaves as it is
  cudaStreamBeginCapture(other.stream(), cudaStreamCaptureModeGlobal);
  into_columns(2);
  ASSERT_EQ(cudaStreamEndCapture(other.stream(), &graph), cudaSuccess);
  cudaGraphDestroy(graph);
  static_cast<void>(cudaSetDevice(-1));
  const cudaError_t of_application = cudaPeekAtLastError();
  into_columns(2);
  EXPECT_EQ(cudaGetLastError(), of_application);
#endif
  into_columns(2);
  std::vector<std::int64_t> expected(2);
  fanin::parallel_reduce_into(expected, fanin::columns(exec, 3, 2), height_in_plane{}, sum);
  for (std::int64_t& one : expected) one *= comm->size();
  EXPECT_EQ(to_host(two), expected);
}

/// As many results as blocks have threads, and more, on objects in turn.
TEST_P(nccl_ranks, many_columns) {
  const auto comm = make_comm();
  const fanin::cuda objects[2];
  const std::int64_t ranks = comm->size();
  for (const std::int64_t m : {1, 255, 256, 257, 3'000}) {
    for (const fanin::cuda& gpu : objects) {
      const auto columns =
          fanin::over(*comm, fanin::axes<0>(fanin::md_range(gpu, {comm->rank(), 0}, {comm->rank() + 1, m})));
      fanin::buffer<std::int64_t, fanin::cuda> sums(gpu, static_cast<std::size_t>(m));
      const fanin::sum<std::int64_t> sum;
      fanin::parallel_reduce_into(sums, columns, height_in_plane{}, sum);
      const fanin::sum<double> of_doubles;
      EXPECT_EQ(fanin::parallel_reduce(fanin::over(*comm, fanin::range(gpu, comm->rank(), comm->rank() + 1)), unit_at{},
                                       of_doubles),
                fanin::parallel_reduce(fanin::range(exec, ranks), unit_at{}, of_doubles));
      std::vector<std::int64_t> expected(sums.size());
      fanin::parallel_reduce_into(expected, fanin::columns(exec, ranks, m), height_in_plane{}, sum);
      EXPECT_EQ(to_host(sums), expected) << m;
    }
  }
}

/// An _into form is captured, and each replay exchanges anew; the form that waits is refused.
TEST_P(nccl_ranks, graphs_of_columns) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  std::vector<double> elements{1.0 + comm->rank(), 2, 3, 4, 5, 6};
  auto mine = copy_of<double>(gpu, std::span<const double>(elements));
  const fanin::view<const double, 2> matrix(mine.data(), {2, 3});
  const auto data = fanin::over(*comm, fanin::columns(matrix));
  held<double, fanin::cuda> sums(gpu, 3);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeThreadLocal);
  fanin::reduce_into(sums, gpu, data, fanin::sum<double>{});
  EXPECT_THROW((void)fanin::reduce_async(sums, gpu, data, fanin::sum<double>{}), fanin::state_error);
  ASSERT_EQ(cudaStreamEndCapture(gpu.stream(), &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  const int ranks = comm->size();
  for (int round = 0; round < 3; ++round) {
    elements[0] = round + 1.0 + comm->rank();
    mine.copy_from(elements);
    cudaGraphLaunch(executable, gpu.stream());
    const double first = ranks * (round + 5.0) + ranks * (ranks - 1) / 2.0;
    EXPECT_EQ(to_host(sums), (std::vector<double>{first, ranks * 7.0, ranks * 9.0}));
  }
  gpu.synchronize();
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

struct counting_columns {
  std::int64_t* calls;
  FANIN_FUNCTION double operator()(double sum, std::int64_t) const {
    ++*calls;
    return sum;
  }
};

/// A part that is refused: nothing is written, nor g called, and check() tells of an _into form.
TEST_P(nccl_ranks, a_part_of_columns_that_fails) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  const bool fails = comm->rank() + 1 == comm->size();
  const std::vector<double> six{1, 2, 3, 4, 5, 6};
  const auto mine = copy_of<double>(gpu, std::span<const double>(six));
  const auto right = fanin::over(*comm, fanin::columns(fanin::view<const double, 2>(mine.data(), {2, 3})));
  const auto data =
      fanin::over(*comm, fanin::columns(fanin::view<const double, 2>(fails ? nullptr : mine.data(), {2, 3})));
  const std::vector<double> before{7, 8, 9};
  auto out = copy_of<double>(gpu, std::span<const double>(before));
  auto calls = copy_of<std::int64_t>(gpu, std::vector<std::int64_t>{0});
  const auto finished = fanin::finished(counting_columns{calls.data()}, fanin::sum<double>{});
  for (int round = 0; round < 2; ++round) {
    const auto into = [&] { fanin::reduce_into(out, gpu, data, finished); };
    if (fails) {
      EXPECT_THROW(into(), fanin::invalid_argument);
    } else {
      EXPECT_NO_THROW(into());
    }
    gpu.synchronize();
    if (!fails) {
      EXPECT_THROW(comm->check(), fanin::rank_error);
    }
    EXPECT_NO_THROW(comm->check());  // it has been told
    auto later = fanin::reduce_async(out, gpu, data, finished);
    if (fails) {
      EXPECT_THROW(later.get(), fanin::invalid_argument);
    } else {
      EXPECT_THROW(later.get(), fanin::rank_error);
    }
    EXPECT_EQ(to_host(out), before);
    EXPECT_EQ(value_of(calls), 0);
  }
  fanin::reduce_into(out, gpu, right, finished);
  EXPECT_EQ(to_host(out), (std::vector<double>{5.0 * comm->size(), 7.0 * comm->size(), 9.0 * comm->size()}));
  comm->check();
}

/// Nobody tells where a part is.
TEST_P(nccl_ranks, places_in_columns_need_the_first_index) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  const auto mine = copy_of<double>(gpu, std::vector<double>{1, 2, 3, 4, 5, 6});
  const auto data = fanin::over(*comm, fanin::columns(fanin::view<const double, 2>(mine.data(), {2, 3})));
  held<fanin::value_index<double>, fanin::cuda> out(gpu, 3);
  EXPECT_THROW(fanin::reduce_into(out, gpu, data, fanin::min_loc<double>{}), fanin::invalid_argument);
}

}  // namespace
}  // namespace fanin_test
