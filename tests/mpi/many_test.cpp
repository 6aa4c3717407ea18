// SPDX-License-Identifier: Apache-2.0
#include "mpi/many.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <fanin/fanin.hpp>
#include <fanin/mpi/over.hpp>

/// Many results over ranks, on hosts: part of mpi_ranks_test.
namespace fanin_test {
namespace {

/// Of all ranks at once, and of groups of two; calls compared.
std::vector<fanin::mpi_options> all_options() { return {{}, {.gather_up_to = 2, .check_calls = true}}; }
const fanin::serial exec;

TEST(ranks_many, axes_of_boxes) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      check_axes_over_ranks<fanin::iterate::right, 0>(comm, exec, seed);
      check_axes_over_ranks<fanin::iterate::left, 1>(comm, exec, seed);
      check_axes_over_ranks<fanin::iterate::right, 2, 0>(comm, exec, seed);
      check_axes_over_ranks<fanin::iterate::left, 1, 2>(comm, exec, seed);
    }
  }
}

TEST(ranks_many, matrices_and_segments) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      check_matrix_over_ranks(comm, exec, seed);
      check_segments_over_ranks<std::int32_t>(comm, exec, seed);
      check_segments_over_ranks<std::uint64_t>(comm, exec, seed);
    }
    check_large_results_over_ranks(comm, exec);
    check_failed_parts_of_many(comm, exec);
  }
}

/// Two dimensions are left: ranks whose arrays and destinations have other layouts.
TEST(ranks_many, arrays_of_three) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const std::int64_t own = 1 + comm.rank() % 3;
  std::int64_t first = 0;
  std::int64_t all = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (rank == comm.rank()) first = all;
    all += 1 + rank % 3;
  }
  const bool is_left = comm.rank() % 2 == 0;
  const fanin::md_index<3> extents{3, own, 4};
  const fanin::md_index<3> strides = is_left ? fanin::md_index<3>{1, 3, 3 * own} : fanin::md_index<3>{4 * own, 4, 1};
  std::vector<std::int64_t> elements(static_cast<std::size_t>(12 * own));
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < own; ++j) {
      for (std::int64_t k = 0; k < 4; ++k) {
        elements[static_cast<std::size_t>(i * strides[0] + j * strides[1] + k * strides[2])] = height(i, first + j, k);
      }
    }
  }
  const fanin::view<const std::int64_t, 3> xs(elements.data(), extents, strides);
  std::vector<std::int64_t> sums(12);
  const fanin::md_index<2> left{3, 4};
  const fanin::md_index<2> strides_of_left = is_left ? fanin::md_index<2>{4, 1} : fanin::md_index<2>{1, 3};
  const fanin::view<std::int64_t, 2> to(sums.data(), left, strides_of_left);
  fanin::reduce_into(to, exec, fanin::over(comm, fanin::axes<1>(xs)), fanin::sum<std::int64_t>{});
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t k = 0; k < 4; ++k) {
      std::int64_t sum = 0;
      for (std::int64_t j = 0; j < all; ++j) sum += height(i, j, k);
      EXPECT_EQ(to(i, k), sum);
    }
  }
}

struct unit_of_two {
  double operator()(std::int64_t i, std::int64_t j) const { return unit_at{}(i * 100'003 + j); }
};
struct unit_of_three {
  double operator()(std::int64_t, std::int64_t, std::int64_t) const { return 1; }
};
/// The columns' sums of ranks' own rows, joined from the first rank to the last.
std::vector<double> joined_in_order(const fanin::mpi& comm, std::int64_t n, std::int64_t m, std::uint64_t seed) {
  const auto begins = drawn_split(n, comm.size(), seed);
  std::vector<double> all(static_cast<std::size_t>(m));
  std::vector<double> part(all.size());
  for (std::size_t rank = 0; rank + 1 < begins.size(); ++rank) {
    const auto range = fanin::axes<0>(fanin::md_range(exec, {begins[rank], 0}, {begins[rank + 1], m}));
    fanin::parallel_reduce_into(part, range, unit_of_two{}, fanin::sum<double>{});
    for (std::size_t j = 0; j < all.size(); ++j) all[j] = rank == 0 ? part[j] : all[j] + part[j];
  }
  return all;
}

/// Few results, which every rank joins, and so many that each joins a slice of them.
TEST(ranks_many, rounded_sums_are_joined_in_order) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (const std::int64_t m : {1, 2, 5, 1'000, 4'099, 20'000}) {
      const std::int64_t n = m > 1'000 ? 11 : 301;
      const own_part part(n, comm, 3);
      const auto range = fanin::over(comm, fanin::axes<0>(fanin::md_range(exec, {part.begin, 0}, {part.end, m})));
      const std::vector<double> expected = joined_in_order(comm, n, m, 3);
      std::vector<double> exact(expected.size());
      fanin::parallel_reduce_into(exact, fanin::columns(exec, n, m), unit_of_two{}, fanin::exact_sum<double>{});
      std::vector<double> sums(expected.size());
      std::vector<double> sums_later(expected.size());
      std::vector<double> exact_sums(expected.size());
      std::vector<fanin::value_index<double>> least(expected.size());
      fanin::parallel_reduce_into(sums, range, unit_of_two{}, fanin::sum<double>{});
      EXPECT_EQ(sums, expected) << m;
      auto later = fanin::parallel_reduce_async(sums_later, range, unit_of_two{}, fanin::sum<double>{});
      fanin::parallel_reduce_into(std::tie(sums, least, exact_sums), range, unit_of_two{}, fanin::sum<double>{},
                                  fanin::min_loc<double>{}, fanin::exact_sum<double>{});
      EXPECT_NEAR(sums.back(), exact.back(), 1e-9) << m;  // a part's bits depend on what else is reduced
      EXPECT_EQ(exact_sums, exact) << m;
      EXPECT_EQ(least.back().value, unit_of_two{}(least.back().index, m - 1)) << m;
      later.get();
      EXPECT_EQ(sums_later, expected) << m;
    }
  }
}

/// Slices of one call go back while the parts of another one are on their way, over two communicators.
TEST(ranks_many, many_calls_under_way) {
  const fanin::mpi first(MPI_COMM_WORLD);
  const fanin::mpi second(MPI_COMM_WORLD, {.gather_up_to = 2});
  constexpr std::int64_t n = 13;
  const std::int64_t widths[] = {3, 30'000, 1, 10'000, 20'000, 2};
  const std::size_t calls = std::size(widths);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    std::vector<std::vector<double>> sums(calls);
    std::vector<fanin::pending<void>> later(calls);
    double one = 0;
    fanin::pending<double> of_one;
    for (std::size_t call = 0; call < calls; ++call) {
      const fanin::mpi& comm = call % 2 == 0 ? first : second;
      const own_part part(n, comm, seed);
      const auto range =
          fanin::over(comm, fanin::axes<0>(fanin::md_range(exec, {part.begin, 0}, {part.end, widths[call]})));
      sums[call].resize(static_cast<std::size_t>(widths[call]));
      later[call] = fanin::parallel_reduce_async(sums[call], range, unit_of_two{}, fanin::sum<double>{});
      if (call == 3) {
        of_one = fanin::parallel_reduce_async(fanin::over(second, fanin::range(exec, part.begin, part.end)), unit_at{},
                                              fanin::exact_sum<double>{});
      }
    }
    const auto order = mix(seed * 64 + static_cast<std::uint64_t>(first.rank()));
    for (std::size_t k = 0; k < calls; ++k) {
      const std::size_t call = (order + k * (1 + 4 * (order / 8 % 2))) % calls;  // 1 or 5 on
      later[call].get();
      EXPECT_EQ(sums[call], joined_in_order(first, n, widths[call], seed)) << seed;
    }
    one = of_one.get();
    EXPECT_EQ(one, fanin::parallel_reduce(fanin::range(exec, n), unit_at{}, fanin::exact_sum<double>{}));
  }
}

struct throws_on {
  bool fails;
  double operator()(std::int64_t i, std::int64_t j) const {
    if (fails && (i + j) % 14 == 5) throw std::domain_error("the functor's own");
    return 1;
  }
};
/// A join that throws for one of the results, which is in one rank's slice.
struct careful_sum {
  using value_type = double;
  double most;
  double identity() const { return 0; }
  void join(double& into, const double& from) const {
    into += from;
    if (into > most) throw std::range_error("the join's own");
  }
};
/// The same of a result().
struct careful_result {
  using value_type = double;
  using accumulator_type = double;
  using result_type = double;
  double identity() const { return 0; }
  void join(double& into, const double& from) const { into += from; }
  double result(const double& sum) const {
    if (sum > 0) throw std::range_error("the result's own");
    return sum;
  }
};
struct ones_but_one {
  double operator()(std::int64_t, std::int64_t j) const { return j == 7 ? 2 : 1; }
};

TEST(ranks_many, failures) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    if (comm.size() == 1) return;
    for (const std::int64_t m : {9, 20'000}) {
      const bool fails = comm.rank() == 1;
      std::vector<double> out(static_cast<std::size_t>(m), -1);
      const std::vector<double> before = out;
      const auto columns = fanin::over(comm, fanin::columns(exec, 1, m));
      const auto check = [&](const auto& call) {
        if (fails) {
          EXPECT_THROW(call(), std::domain_error);
        } else {
          EXPECT_THROW(call(), fanin::rank_error);
        }
        EXPECT_EQ(out, before);
      };
      const auto rows = fanin::over(comm, fanin::rows(exec, m, 6));
      check([&] { fanin::parallel_reduce_into(out, rows, throws_on{fails}, fanin::sum<double>{}); });
      auto later = fanin::parallel_reduce_async(out, rows, throws_on{fails}, fanin::exact_sum<double>{});
      check([&] { later.get(); });

      const careful_sum sum{comm.size() + 0.5};
      EXPECT_THROW(fanin::parallel_reduce_into(out, columns, ones_but_one{}, sum), fanin::rank_error);
      auto joined_later = fanin::parallel_reduce_async(out, columns, ones_but_one{}, sum);
      EXPECT_THROW(joined_later.get(), fanin::rank_error);
      EXPECT_THROW(fanin::parallel_reduce_into(out, columns, ones_but_one{}, careful_result{}), fanin::rank_error);
      EXPECT_EQ(out, before);
      fanin::parallel_reduce_into(out, columns, ones_but_one{}, fanin::sum<double>{});
      EXPECT_EQ(out[7], 2.0 * comm.size());
    }
    // Of no results nothing is asked.
    fanin::parallel_reduce_into(static_cast<double*>(nullptr), fanin::over(comm, fanin::rows(exec, 0, 10)),
                                throws_on{true}, fanin::sum<double>{});
  }
}

TEST(ranks_many, different_calls) {
  const fanin::mpi comm(MPI_COMM_WORLD, {.check_calls = true});
  if (comm.size() == 1) return;
  std::vector<double> out(3 + static_cast<std::size_t>(comm.rank()));
  EXPECT_THROW(fanin::parallel_reduce_into(out, fanin::over(comm, fanin::rows(exec, out.size(), 2)), unit_of_two{},
                                           fanin::sum<double>{}),
               fanin::state_error);
  // Of several axes, in one order on all ranks; and one of many results is no lone one.
  double four[2][2];
  const auto in_order = [&]<fanin::iterate Order>(std::integral_constant<fanin::iterate, Order>) {
    const auto box = fanin::axes<2>(fanin::md_range<Order>(exec, {2, 2, 3}));
    fanin::parallel_reduce_into(four, fanin::over(comm, box), unit_of_three{}, fanin::sum<double>{});
  };
  const auto in_other_order = [&] {
    if (comm.rank() == 0) {
      in_order(std::integral_constant<fanin::iterate, fanin::iterate::left>{});
    } else {
      in_order(std::integral_constant<fanin::iterate, fanin::iterate::right>{});
    }
  };
  const std::string words = words_of_refusal(in_other_order);
  EXPECT_NE(words.find("the reducers fanin::sum<double"), std::string::npos) << words;
  EXPECT_TRUE(words.ends_with(comm.rank() == 0 ? ", over 1 dimension (iterate::left), for 4 results"
                                               : ", over 1 dimension (iterate::right), for 4 results"))
      << words;
  EXPECT_EQ(words.find("detail"), std::string::npos) << words;
  double one = 0;
  const auto lone_or_not = [&] {
    if (comm.rank() == 0) {
      fanin::parallel_reduce_into(&one, fanin::over(comm, fanin::range(exec, 2)), unit_at{}, fanin::sum<double>{});
    } else {
      fanin::parallel_reduce_into(&one, fanin::over(comm, fanin::rows(exec, 1, 2)), unit_of_two{},
                                  fanin::sum<double>{});
    }
  };
  EXPECT_THROW(lone_or_not(), fanin::state_error);
  const double xs[2][3] = {};
  const auto data = comm.rank() == 0 ? fanin::over(comm, fanin::columns(xs), 0) : fanin::over(comm, fanin::columns(xs));
  EXPECT_THROW(fanin::reduce_into(out.data(), exec, data, fanin::sum<double>{}), fanin::state_error);
  // Whoever has no results is asked all the same; where nobody has any, nothing is wrong.
  const std::size_t some = comm.rank() == 0 ? 0 : 3;
  const auto columns_of_two = [&](std::size_t n) {
    const auto ones = [](std::int64_t, std::int64_t) { return 1.0; };
    fanin::parallel_reduce_into(out.data(), fanin::over(comm, fanin::columns(exec, 2, n)), ones, fanin::sum<double>{});
  };
  EXPECT_THROW(columns_of_two(some), fanin::state_error);
  EXPECT_THROW((void)fanin::parallel_reduce_async(
                   out.data(), fanin::over(comm, fanin::segments(exec, std::vector<std::int64_t>(some + 1, 0))),
                   unit_of_two{}, fanin::sum<double>{}),
               fanin::state_error);
  const auto no_rows_on_one = fanin::over(comm, fanin::rows(fanin::view<const double, 2>(&xs[0][0], {some, 1})));
  EXPECT_THROW(fanin::reduce_into(out.data(), exec, no_rows_on_one, fanin::sum<double>{}), fanin::state_error);
  columns_of_two(0);
  columns_of_two(2);
  EXPECT_EQ(out[1], 2.0 * comm.size());
}

/// A part that begins near the end of 64 bits.
TEST(ranks_many, indices_that_do_not_fit) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const double xs[2][3] = {{3, 2, 1}, {1, 2, 3}};
  std::vector<fanin::value_index<double>> out(3);
  const bool is_wrong = comm.rank() == comm.size() - 1;
  const auto data = fanin::over(comm, fanin::columns(xs), is_wrong ? INT64_MAX - 1 : 2 * comm.rank());
  if (is_wrong) {
    EXPECT_THROW(fanin::reduce_into(out, exec, data, fanin::min_loc<double>{}), fanin::invalid_argument);
  } else {
    EXPECT_THROW(fanin::reduce_into(out, exec, data, fanin::min_loc<double>{}), fanin::rank_error);
  }
  fanin::reduce_into(out, exec, fanin::over(comm, fanin::columns(xs), 2 * comm.rank() + 5), fanin::min_loc<double>{});
  EXPECT_TRUE(out == (std::vector<fanin::value_index<double>>{{1, 6}, {2, 5}, {1, 5}}));
}

}  // namespace
}  // namespace fanin_test
