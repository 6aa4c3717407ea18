// SPDX-License-Identifier: Apache-2.0
#include "mpi/shapes.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
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
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
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

/// A reducer of one's own that begins as a built-in one, gets numbers all the same.
struct own_min_loc : fanin::min_loc<std::int64_t> {};

TEST(ranks_shapes, numbers_that_reducers_of_ones_own_get) {
  const fanin::mpi comm(MPI_COMM_WORLD, {.check_calls = true});
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const sliced_box<3> box(comm, seed);
    const auto part = fanin::over(comm, fanin::md_range(exec, box.own_lower, box.own_upper));
    // That of the whole is the smallest box that holds the parts, which may be of no indices.
    const auto whole = fanin::md_range(exec, box.lower, box.upper);
    if (whole.size() == 0) continue;
    EXPECT_EQ(fanin::parallel_reduce(part, height_at{}, first_negative{}),
              fanin::parallel_reduce(whole, height_at{}, first_negative{}))
        << seed;
    EXPECT_TRUE(fanin::parallel_reduce(part, height_at{}, own_min_loc{}, fanin::min_loc<std::int64_t>{}) ==
                fanin::parallel_reduce(whole, height_at{}, own_min_loc{}, fanin::min_loc<std::int64_t>{}))
        << seed;
  }
}

/// Indices of 32 bits on one rank, and a box far beyond them on another.
TEST(ranks_shapes, boxes_of_different_indices) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const fanin::max_loc<std::int64_t> most;
  const std::int64_t far = std::int64_t{1} << 33;
  const auto f = [](auto i, auto j) { return std::int64_t{i} + std::int64_t{j}; };
  const auto found =
      comm.rank() == 0
          ? fanin::parallel_reduce(fanin::over(comm, fanin::md_range<std::int32_t>(exec, {2, 2})), f, most)
          : fanin::parallel_reduce(fanin::over(comm, fanin::md_range(exec, {far, 0}, {far + 2, 2})), f, most);
  EXPECT_EQ(found.index, (fanin::md_index<2>{comm.size() == 1 ? 1 : far + 1, 1}));
}

/// Boxes of different dimensions, and of different reducers: found where calls are compared.
TEST(ranks_shapes, different_boxes) {
  const fanin::mpi comm(MPI_COMM_WORLD, {.check_calls = true});
  if (comm.size() == 1) return;
  const fanin::min_loc<std::int64_t> least;
  const auto of_rank = [&] {
    if (comm.rank() == 0) {
      (void)fanin::parallel_reduce(fanin::over(comm, fanin::md_range(exec, {2, 2})), height_at{}, least);
    } else {
      (void)fanin::parallel_reduce(fanin::over(comm, fanin::md_range(exec, {2, 2, 2})), height_at{}, least);
    }
  };
  const std::string words = words_of_refusal(of_rank);
  EXPECT_NE(words.find("the reducers fanin::min_loc<"), std::string::npos) << words;
  EXPECT_TRUE(words.ends_with(comm.rank() == 0 ? ", over 2 dimensions (iterate::right)"
                                               : ", over 3 dimensions (iterate::right)"))
      << words;
  EXPECT_EQ(words.find("detail"), std::string::npos) << words;
  const auto of_reducers = [&] {
    const auto part = fanin::over(comm, fanin::md_range(exec, {2, 2}));
    if (comm.rank() == 0) {
      (void)fanin::parallel_reduce(part, height_at{}, least);
    } else {
      (void)fanin::parallel_reduce(part, height_at{}, fanin::max_loc<std::int64_t>{});
    }
  };
  EXPECT_THROW(of_reducers(), fanin::state_error);
  // Behind the bounds: what reducers stand there for these is nobody's business, nor what gives places.
  const auto square = fanin::over(comm, fanin::md_range(exec, {2, 2}));
  const std::string of_label = words_of_refusal([&] {
    (void)fanin::parallel_reduce(comm.rank() == 0 ? "one" : "another", square, height_at{}, least, first_negative{});
  });
  EXPECT_NE(of_label.find("the reducers fanin::min_loc<"), std::string::npos) << of_label;
  EXPECT_TRUE(of_label.ends_with(", fanin_test::first_negative")) << of_label;
  EXPECT_EQ(of_label.find("detail"), std::string::npos) << of_label;
  const std::string of_finish = words_of_refusal([&] {
    if (comm.rank() == 0) {
      const auto g = [](const auto& found) { return found.value; };
      (void)fanin::parallel_reduce(square, height_at{}, fanin::finished(g, least));
    } else {
      (void)fanin::parallel_reduce(square, height_at{}, least);
    }
  });
  EXPECT_NE(of_finish, "");
  EXPECT_EQ(of_finish.find(", finished") != std::string::npos, comm.rank() == 0) << of_finish;
  EXPECT_EQ(fanin::parallel_reduce(fanin::over(comm, fanin::md_range(exec, {2, 2})), height_at{}, least).value,
            fanin::parallel_reduce(fanin::md_range(exec, {2, 2}), height_at{}, least).value);
}

/// Shaped like mdspan, of extents that are none.
struct no_array {
  using element_type = double;
  std::int64_t rows;
  const double* data() const { return nullptr; }
  std::size_t size() const { return 4; }
  static constexpr std::size_t rank() { return 2; }
  std::int64_t extent(std::size_t r) const { return r == 0 ? rows : 4; }
  std::int64_t stride(std::size_t r) const { return r == 0 ? 4 : 1; }
};
TEST(ranks_shapes, an_array_that_is_none_on_one_rank) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const auto call = [&] {
    (void)fanin::reduce(exec, fanin::over(comm, no_array{comm.rank() == 0 ? -1 : 0}), fanin::sum<double>{});
  };
  if (comm.rank() == 0) {
    EXPECT_THROW(call(), fanin::invalid_argument);
  } else {
    EXPECT_THROW(call(), fanin::rank_error);
  }
}

/// As arrays without ranks.
TEST(ranks_shapes, on_the_default_object) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const std::vector<std::int64_t> x{3, 1, 2};
  const fanin::sum<std::int64_t> sum;
  const std::int64_t expected = 6 * comm.size();
  const auto xs = fanin::over(comm, x);
  std::int64_t out = 0;
  EXPECT_EQ(fanin::reduce(xs, sum), expected);
  EXPECT_EQ(fanin::reduce("label", xs, sum), expected);
  fanin::reduce_into(&out, xs, sum);
  EXPECT_EQ(out, expected);
  EXPECT_EQ(fanin::reduce_async(xs, sum).get(), expected);
  EXPECT_EQ(fanin::transform_reduce(xs, negative{}, sum), -expected);
  fanin::transform_reduce_into("label", &out, xs, xs, product{}, sum);
  EXPECT_EQ(out, 14 * comm.size());
  EXPECT_EQ(fanin::transform_reduce_async("label", xs, xs, product{}, sum).get(), out);
}

/// A reducer of one's own is joined by its join, whatever its accumulators are.
TEST(ranks_shapes, reducers_with_exact_accumulators) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const auto range = fanin::over(comm, fanin::range(exec, 3 * comm.rank(), 3 * comm.rank() + 3));
  EXPECT_EQ(fanin::parallel_reduce(range, unit_at{}, greatest_exactly{}),
            fanin::parallel_reduce(fanin::range(exec, 3 * comm.size()), unit_at{}, fanin::max<double>{}));
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
  // A lambda of a template is another type on each backend.
  const fanin::mpi compared(MPI_COMM_WORLD, {.check_calls = true});
  const auto twice = [&](const auto& object) {
    const auto part = fanin::over(compared, fanin::md_range(object, {2, 2}));
    const auto g = fanin::finished([](const auto& least) { return 2 * least.value; }, fanin::min_loc<std::int64_t>{});
    return fanin::parallel_reduce(part, height_at{}, g);
  };
  if (comm.rank() % 2 == 0) {
    EXPECT_EQ(twice(fanin::kokkos<Kokkos::Serial>()), twice(exec));
  } else {
    EXPECT_EQ(twice(exec), twice(exec));
  }
  if (comm.rank() % 2 == 0) {
    on(fanin::kokkos<Kokkos::Serial>());
  } else {
    on(exec);
  }
}
#endif

}  // namespace
}  // namespace fanin_test
