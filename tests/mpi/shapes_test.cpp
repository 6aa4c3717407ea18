// SPDX-License-Identifier: Apache-2.0
#include "mpi/shapes.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <limits>
#include <vector>

#include <fanin/fanin.hpp>
#include <fanin/mpi/over.hpp>

/// Boxes, arrays with strides and functors of several arrays over ranks, on hosts: part of mpi_ranks_test.
namespace fanin_test {
namespace {

/// Of all ranks at once, and of groups of two; calls compared.
std::vector<fanin::mpi_options> all_options() { return {{}, {.gather_up_to = 2, .check_calls = true}}; }
const fanin::serial exec;

TEST(ranks_shapes, places_in_boxes) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      check_places<2, fanin::iterate::right>(comm, exec, seed);
      check_places<2, fanin::iterate::left>(comm, exec, seed);
      check_places<3, fanin::iterate::right>(comm, exec, seed);
      check_places<3, fanin::iterate::left>(comm, exec, seed);
    }
  }
}

/// Bounds at the ends of 64 bits; a box of all parts that is too large for its indices to have numbers, on all ranks.
TEST(ranks_shapes, boxes_far_away) {
  constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  const fanin::mpi comm(MPI_COMM_WORLD);
  const fanin::min_loc<std::int64_t> least;
  const std::int64_t rank = comm.rank();
  const std::int64_t size = comm.size();
  const auto height = [](std::int64_t i, std::int64_t j) { return j % 2 == 0 ? i : -i; };
  const auto near_end =
      fanin::parallel_reduce(fanin::over(comm, fanin::md_range(exec, {end - 3 * size + 3 * rank, -end - 1},
                                                               {end - 3 * size + 3 * rank + 3, -end + 1})),
                             height, least);
  EXPECT_EQ(near_end.value, -(end - 1));
  EXPECT_EQ(near_end.index, (fanin::md_index<2>{end - 1, -end}));

  const auto box =
      fanin::over(comm, fanin::md_range(exec, {rank << 40, rank << 40}, {(rank << 40) + 2, (rank << 40) + 2}));
  if (size == 1) {
    EXPECT_EQ(fanin::parallel_reduce(box, height, least).value, -1);
  } else {
    EXPECT_THROW((void)fanin::parallel_reduce(box, height, least), fanin::invalid_argument);
  }
  // An empty part has no place, wherever it lies.
  const std::int64_t width = rank == 0 ? 2 : 0;
  const auto of_first =
      fanin::over(comm, fanin::md_range(exec, {rank << 40, rank << 40}, {(rank << 40) + width, (rank << 40) + 2}));
  const auto found = fanin::parallel_reduce(of_first, height, least);
  EXPECT_EQ(found.value, -1);
  EXPECT_EQ(found.index, (fanin::md_index<2>{1, 1}));
  EXPECT_EQ(fanin::parallel_reduce(
                box, [](std::int64_t, std::int64_t) { return std::int64_t{1}; }, fanin::sum<std::int64_t>{}),
            4 * size);
}

TEST(ranks_shapes, arrays_with_strides) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (std::uint64_t seed = 0; seed < 60; ++seed) check_views(comm, exec, seed);
  }
}

TEST(ranks_shapes, functors_of_several_arrays) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (std::uint64_t seed = 0; seed < 40; ++seed) check_transforms(comm, exec, seed);
    check_misfits(comm, exec);
  }
  const fanin::mpi comm(MPI_COMM_WORLD);
  const fanin::mpi other(MPI_COMM_WORLD);
  const std::vector<double> x(3, 1.0);
  EXPECT_THROW(
      (void)fanin::transform_reduce(exec, fanin::over(comm, x), fanin::over(other, x), product{}, fanin::sum<double>{}),
      fanin::invalid_argument);
}

#if FANIN_HAS_KOKKOS && !FANIN_KOKKOS_NEEDS_CUDA
/// Ranks take turns between serial and Kokkos.
TEST(ranks_shapes, on_kokkos) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const auto on = [&](const auto& object) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      check_places<3, fanin::iterate::left>(comm, object, seed);
      check_views(comm, object, seed);
      check_transforms(comm, object, seed);
    }
  };
  if (comm.rank() % 2 == 0) {
    on(fanin::kokkos<Kokkos::Serial>());
  } else {
    on(exec);
  }
}
#endif

}  // namespace
}  // namespace fanin_test
