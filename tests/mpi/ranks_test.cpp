// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fanin/fanin.hpp>
#include <fanin/mpi/over.hpp>

#include "mpi/parts.hpp"
#include "support/data.hpp"

/// So many of MPI's tests fail next; else they are MPI's own.
static int tests_of_mpi_that_fail = 0;
extern "C" int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (tests_of_mpi_that_fail == 0) return PMPI_Test(request, flag, status);
  --tests_of_mpi_that_fail;
  return MPI_ERR_OTHER;
}

/// Reductions over ranks: every test is run by all of them, whatever their number.
namespace fanin_test {
namespace {

int size_of_world() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Of all ranks at once, and of groups of two and of three.
std::vector<fanin::mpi_options> all_options() {
  return {{}, {.gather_up_to = 2}, {.gather_up_to = 3, .check_calls = true}};
}

const fanin::serial exec;

TEST(ranks, exact_sums_have_the_same_bits_for_every_split) {
  const fanin::exact_sum<double> sum;
  const fanin::exact_sum<float, double> of_floats;
  const fanin::exact_sum<std::complex<double>> of_complex;
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (const std::int64_t n : {0, 1, 5, 1'000, 20'011}) {
      const double expected = fanin::parallel_reduce(fanin::range(exec, n), element_at{}, sum);
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const own_part part(n, comm, seed);
        const auto range = fanin::over(comm, fanin::range(exec, part.begin, part.end));
        EXPECT_EQ(std::bit_cast<std::uint64_t>(fanin::parallel_reduce("sum", range, element_at{}, sum)),
                  std::bit_cast<std::uint64_t>(expected))
            << n;
        double into = 1;
        fanin::parallel_reduce_into(&into, range, element_at{}, sum);
        EXPECT_EQ(into, expected);
        EXPECT_EQ(fanin::parallel_reduce_async(range, element_at{}, sum).get(), expected);
        const auto both = fanin::parallel_reduce(
            range,
            [](std::int64_t i) {
              return fanin::tuple<float, std::complex<double>>{{{float(i % 7)}, {{-element(i), element(i)}}}};
            },
            of_floats, of_complex);
        EXPECT_EQ(fanin::get<0>(both), static_cast<double>(n / 7 * 21 + n % 7 * (n % 7 - 1) / 2));
        EXPECT_EQ(fanin::get<1>(both), (std::complex<double>{expected == 0 ? 0.0 : -expected, expected}));
      }
    }
  }
}

TEST(ranks, exact_products_have_the_same_bits_for_every_split) {
  constexpr std::int64_t n = 3'001;
  std::vector<double> x;
  std::vector<double> y;
  std::vector<float> z;
  for (std::int64_t i = 0; i < n; ++i) {
    x.push_back(element(i));
    y.push_back(element(n - i / 2));
    z.push_back(static_cast<float>(std::ldexp(element(i), -40)));
  }
  const double dot = fanin::exact_dot(exec, x, y);
  const double square = fanin::exact_norm2_squared(exec, x);
  const float of_floats = fanin::exact_norm2_squared(exec, z);
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    const fanin::mpi other(MPI_COMM_WORLD);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const own_part part(n, comm, seed);
      const auto mine = [&](const auto& of) {
        return std::span(of.data() + part.begin, static_cast<std::size_t>(part.end - part.begin));
      };
      EXPECT_EQ(fanin::exact_dot(exec, fanin::over(comm, mine(x)), fanin::over(comm, mine(y))), dot);
      EXPECT_EQ(fanin::exact_norm2_squared(exec, fanin::over(comm, mine(x))), square);
      EXPECT_EQ(fanin::exact_norm2_squared(exec, fanin::over(comm, mine(z))), of_floats);
      double into[2] = {};
      fanin::exact_dot_into(&into[0], exec, fanin::over(comm, mine(x)), fanin::over(comm, mine(y)));
      fanin::exact_norm2_squared_into(&into[1], exec, fanin::over(comm, mine(x)));
      EXPECT_EQ(into[0], dot);
      EXPECT_EQ(into[1], square);
    }
    EXPECT_THROW(fanin::exact_norm2_squared_into(nullptr, exec, fanin::over(comm, x)), fanin::invalid_argument);
    EXPECT_THROW((void)fanin::exact_dot(exec, fanin::over(comm, x), fanin::over(other, y)), fanin::invalid_argument);
    const auto differ = [&] {
      (void)fanin::exact_dot(exec, fanin::over(comm, x),
                             fanin::over(comm, std::span(y).first(comm.rank() == 0 ? 5 : n)));
    };
    if (comm.rank() == 0) {
      EXPECT_THROW(differ(), fanin::invalid_argument);
    } else {
      EXPECT_THROW(differ(), fanin::rank_error);
    }
  }
}

/// Infinities of one sign, of both, NaN, and sums that are negative, or too large for a double on the way.
TEST(ranks, exact_sums_of_special_values) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double largest = std::numeric_limits<double>::max();
  const auto sum = [&](double first, double last) {
    const std::vector<double> mine{comm.rank() == 0 ? first : 0.0, comm.rank() + 1 == comm.size() ? last : 0.0};
    return fanin::reduce(exec, fanin::over(comm, mine), fanin::exact_sum<double>{});
  };
  EXPECT_EQ(sum(infinity, 1), infinity);
  EXPECT_EQ(sum(1, -infinity), -infinity);
  EXPECT_TRUE(std::isnan(sum(infinity, -infinity)));
  EXPECT_EQ(sum(infinity, infinity), infinity);
  EXPECT_EQ(sum(-infinity, -infinity), -infinity);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(sum(nan, 1)));
  EXPECT_TRUE(std::isnan(sum(nan, nan)));
  EXPECT_EQ(sum(-3, 1), -2);
  EXPECT_EQ(sum(-0x1p-1074, 0), -0x1p-1074);
  EXPECT_EQ(sum(largest, largest), infinity);
  EXPECT_EQ(sum(largest, -largest), 0);
  EXPECT_FALSE(std::signbit(sum(-1, 1)));
}

/// Digits of as many ranks as MPI can have: their sum is made here, as MPI would make it.
TEST(ranks, digits_of_two_to_the_31_ranks) {
  using words = fanin::detail::summed_words<fanin::exact_accumulator>;
  constexpr std::uint64_t ranks = (std::uint64_t{1} << 31) - 1;
  for (const double x : {-0x1.fffffffffffffp+1000, 0x1.fffffffffffffp+900, -0x1.8p-1070, 1.0}) {
    fanin::exact_accumulator one;
    one.add(x);
    std::uint64_t of_all[words::count];
    words::put(one, of_all);
    for (std::uint64_t& word : of_all) word *= ranks;
    fanin::exact_accumulator expected;
    std::int64_t rest = static_cast<std::int64_t>(ranks);
    fanin::exact_accumulator power = one;
    for (; rest > 0; rest /= 2) {
      if (rest % 2 != 0) expected.merge(power);
      const fanin::exact_accumulator same = power;
      power.merge(same);
    }
    EXPECT_EQ(words::get(of_all).serialise(), expected.serialise()) << x;
  }
}

/// Joined in the order of the ranks, of groups in the order of the groups: the same bits in each run.
TEST(ranks, rounded_sums_are_joined_in_order) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    constexpr std::int64_t n = 10'007;
    const auto begins = drawn_split(n, comm.size(), 3);
    std::vector<double> sums;
    for (int rank = 0; rank < comm.size(); ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      sums.push_back(
          fanin::parallel_reduce(fanin::range(exec, begins[at], begins[at + 1]), unit_at{}, fanin::sum<double>{}));
    }
    while (sums.size() > 1) {
      std::vector<double> above;
      const auto group =
          comm.size() > options.gather_up_to ? static_cast<std::size_t>(options.gather_up_to) : sums.size();
      for (std::size_t at = 0; at < sums.size(); ++at) {
        if (at % group == 0) {
          above.push_back(sums[at]);
        } else {
          above.back() += sums[at];
        }
      }
      sums = above;
    }
    const own_part part(n, comm, 3);
    for (int run = 0; run < 3; ++run) {
      if (mix(static_cast<std::uint64_t>(run * 100 + comm.rank())) % 3 == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      const double sum = fanin::parallel_reduce(fanin::over(comm, fanin::range(exec, part.begin, part.end)), unit_at{},
                                                fanin::sum<double>{});
      EXPECT_EQ(std::bit_cast<std::uint64_t>(sum), std::bit_cast<std::uint64_t>(sums[0])) << options.gather_up_to;
    }
  }
}

TEST(ranks, every_kind_of_reducer_at_once) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (const std::int64_t n : {0, 1, 3, 500, 4'001}) {
      const auto all = [&](const auto& range) {
        return fanin::parallel_reduce(range, small_at{}, fanin::sum<std::int64_t>{}, fanin::prod<std::uint64_t>{},
                                      fanin::min<std::int64_t>{}, fanin::max_loc<std::int64_t>{},
                                      fanin::min_loc<std::int64_t>{}, fanin::min_max_loc<std::int64_t>{},
                                      fanin::lor<std::int64_t>{}, fanin::land<std::int64_t>{},
                                      fanin::bor<std::uint64_t>{}, mean{}, fanin::exact_sum<double>{});
      };
      const own_part part(n, comm, static_cast<std::uint64_t>(n));
      const auto whole = all(fanin::range(exec, -7, n - 7));
      EXPECT_TRUE(all(fanin::over(comm, fanin::range(exec, part.begin - 7, part.end - 7))) == whole) << n;
      const auto finished = fanin::parallel_reduce(
          fanin::over(comm, fanin::range(exec, part.begin, part.end)), small_at{},
          fanin::finished([](double of_all, std::int64_t most) { return of_all + 1'000.0 * static_cast<double>(most); },
                          mean{}, fanin::max<std::int64_t>{}));
      const auto expected =
          fanin::parallel_reduce(fanin::range(exec, n), small_at{}, mean{}, fanin::max<std::int64_t>{});
      EXPECT_EQ(finished, fanin::get<0>(expected) + 1'000.0 * static_cast<double>(fanin::get<1>(expected)));
    }
  }
}

/// Boxes of several dimensions, and functors that combine by themselves.
TEST(ranks, boxes) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const own_part rows(40, comm, 9);
  const auto range = fanin::over(comm, fanin::md_range(exec, {rows.begin, -3}, {rows.end, 20}));
  const auto f = [](std::int64_t i, std::int64_t j, std::int64_t& sum, std::int64_t& most) {
    sum += i * j;
    most = std::max(most, i + j);
  };
  const auto [sum, most] = fanin::parallel_reduce(range, f, fanin::sum<std::int64_t>{}, fanin::max<std::int64_t>{});
  EXPECT_EQ(sum, 780 * (190 - 6));
  EXPECT_EQ(most, 39 + 19);
}

TEST(ranks, data_have_the_indices_of_the_whole) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    constexpr std::int64_t n = 3'001;
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(small_at{}(i));
    all[n - 5] = -1;  // the least, of the last of the ranks that have any
    const auto whole = fanin::reduce(exec, all, fanin::min_loc<std::int64_t>{}, fanin::sum<std::int64_t>{});
    const own_part part(n, comm, 5);
    const std::span<const std::int64_t> mine(all.data() + part.begin, static_cast<std::size_t>(part.end - part.begin));
    const auto least = fanin::min_loc<std::int64_t>{};
    const auto sum = fanin::sum<std::int64_t>{};
    EXPECT_TRUE(fanin::reduce(exec, fanin::over(comm, mine), least, sum) == whole);
    EXPECT_TRUE(fanin::reduce_async("data", exec, fanin::over(comm, mine), least, sum).get() == whole);
    auto shifted = fanin::get<0>(whole);
    shifted.index += 1'000'000;
    fanin::value_index<std::int64_t> into{};
    fanin::reduce_into(&into, exec, fanin::over(comm, mine, 1'000'000 + part.begin), least);
    EXPECT_TRUE(into == shifted);
    EXPECT_EQ(fanin::reduce(exec, fanin::over(comm, mine), sum), fanin::get<1>(whole));
  }
}

/// Got in another order than they were begun, dropped, and over two communicators in turn.
TEST(ranks, results_that_come_later) {
  for (const auto& options : all_options()) {
    std::optional<fanin::mpi> comm(std::in_place, MPI_COMM_WORLD, options);
    const fanin::mpi other(MPI_COMM_WORLD, options);
    std::vector<fanin::pending<std::int64_t>> pendings;
    const auto begin = [&](const fanin::mpi& over, std::int64_t n) {
      const own_part part(n, over, static_cast<std::uint64_t>(n));
      return fanin::parallel_reduce_async(fanin::over(over, fanin::range(exec, part.begin, part.end)), small_at{},
                                          fanin::sum<std::int64_t>{});
    };
    const auto expected = [](std::int64_t n) {
      return fanin::parallel_reduce(fanin::range(exec, n), small_at{}, fanin::sum<std::int64_t>{});
    };
    for (std::int64_t n = 0; n < 20; ++n) {
      if (mix(static_cast<std::uint64_t>(n * 64 + comm->rank())) % 4 == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      pendings.push_back(begin(n % 3 == 0 ? other : *comm, n));
      if (n % 5 == 4) (void)begin(*comm, 1'000 + n);  // which nobody gets
    }
    // Each rank in an order of its own, and one of them after the communicator has gone.
    auto last = std::move(pendings.back());
    pendings.pop_back();
    const auto shift = static_cast<std::size_t>(comm->rank());
    for (std::size_t k = 0; k < pendings.size(); ++k) {
      const std::size_t at = (shift + k * 7) % pendings.size();
      (void)pendings[at].ready();
      EXPECT_EQ(pendings[at].get(), expected(static_cast<std::int64_t>(at)));
    }
    comm.reset();
    EXPECT_EQ(last.get(), expected(19));
  }
}

/// Ranks that wait for a call's result, and ranks that are in the next call, over another communicator, and have yet to
/// hand on what goes from group to group.
TEST(ranks, a_call_that_waits_while_another_one_is_under_way) {
  const fanin::mpi grouped(MPI_COMM_WORLD, {.gather_up_to = 2});
  const fanin::mpi plain(MPI_COMM_WORLD);
  for (std::uint64_t draw = 0; draw < 20; ++draw) {
    auto later = fanin::parallel_reduce_async(
        fanin::over(grouped, fanin::range(exec, 1)), [&](std::int64_t) { return std::int64_t{1}; },
        fanin::sum<std::int64_t>{});
    const bool gets_first = mix(draw * 64 + static_cast<std::uint64_t>(plain.rank())) % 2 == 0;
    if (gets_first) {
      EXPECT_EQ(later.get(), plain.size());
    }
    EXPECT_EQ(fanin::parallel_reduce(
                  fanin::over(plain, fanin::range(exec, 1)), [&](std::int64_t) { return std::int64_t{2}; },
                  fanin::sum<std::int64_t>{}),
              2 * plain.size());
    if (!gets_first) {
      EXPECT_EQ(later.get(), plain.size());
    }
  }
}

/// What ranks gave is joined by the thread that waits for it, with its rounding mode, and not by a call in between.
TEST(ranks, joins_round_as_the_call_that_takes_the_result) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const fanin::mpi another(MPI_COMM_WORLD);
  const auto one_and_little = [&](std::int64_t) { return comm.rank() == 0 ? 1.0 : 0x1p-60; };
  const auto over_one = [&](const fanin::mpi& of) { return fanin::over(of, fanin::range(exec, 1)); };
  const double above = comm.size() == 1 ? 1 : std::nextafter(1.0, 2.0);
  for (int round = 0; round < 50; ++round) {
    std::fesetround(FE_DOWNWARD);
    auto later = fanin::parallel_reduce_async(over_one(comm), one_and_little, fanin::sum<double>{});
    std::fesetround(FE_UPWARD);
    const double upwards = fanin::parallel_reduce(over_one(another), one_and_little, fanin::sum<double>{});
    std::fesetround(FE_DOWNWARD);
    const double downwards = later.get();
    std::fesetround(FE_TONEAREST);
    EXPECT_GE(upwards, above);
    EXPECT_EQ(downwards, 1);
  }
}

/// What MPI fails at comes from the call whose exchange it is, and from no other one.
TEST(ranks, an_error_of_mpi_is_told_to_whom_it_concerns) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const fanin::mpi healthy(MPI_COMM_WORLD);
  const auto ones = [](std::int64_t) { return std::int64_t{1}; };
  const auto over_one = [&](const fanin::mpi& of) { return fanin::over(of, fanin::range(exec, 1)); };
  for (const bool goes_on : {false, true}) {
    // The others begin when the first rank has, so that its exchange is not over before MPI fails at it.
    int go = 0;
    if (comm.rank() != 0) MPI_Recv(&go, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    auto later = fanin::parallel_reduce_async(over_one(comm), ones, fanin::sum<std::int64_t>{});
    const bool fails = comm.rank() == 0 && comm.size() > 1;
    tests_of_mpi_that_fail = fails ? 1 : 0;
    for (int rank = 1; comm.rank() == 0 && rank < comm.size(); ++rank) {
      MPI_Send(&go, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    }
    if (goes_on) {
      EXPECT_EQ(fanin::parallel_reduce(over_one(healthy), ones, fanin::sum<std::int64_t>{}), comm.size());
    }
    if (fails) {
      EXPECT_THROW(later.get(), fanin::mpi_error);
      EXPECT_EQ(tests_of_mpi_that_fail, 0);
    } else {
      EXPECT_EQ(later.get(), comm.size());
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// Calls that wait, over any of three communicators, while calls of each of them that do not wait are under way, which
/// ranks make in turns of their own.
TEST(ranks, calls_that_wait_beside_results_that_come_later) {
  const fanin::mpi one(MPI_COMM_WORLD);
  const fanin::mpi another(MPI_COMM_WORLD);
  const fanin::mpi grouped(MPI_COMM_WORLD, {.gather_up_to = 2});
  const fanin::mpi* const comms[] = {&one, &another, &grouped};
  const auto range_of = [](const fanin::mpi& comm, std::int64_t n) {
    const own_part part(n, comm, static_cast<std::uint64_t>(n));
    return fanin::over(comm, fanin::range(exec, part.begin, part.end));
  };
  for (std::uint64_t round = 0; round < 100; ++round) {
    std::vector<fanin::pending<double>> laters;
    std::int64_t begun[3] = {};
    while (laters.size() < 9) {
      const std::uint64_t draw = mix((round * 64 + laters.size()) * 64 + static_cast<std::uint64_t>(one.rank()));
      std::size_t at = draw % 3;
      while (begun[at] == 3) at = (at + 1) % 3;
      ++begun[at];
      laters.push_back(fanin::parallel_reduce_async(range_of(*comms[at], 100), small_at{}, mean{}));
    }
    const auto n = static_cast<std::int64_t>(mix(round) % 50);
    EXPECT_EQ(fanin::parallel_reduce(range_of(*comms[round % 3], n), small_at{}, mean{}),
              fanin::parallel_reduce(fanin::range(exec, n), small_at{}, mean{}));
    const double expected = fanin::parallel_reduce(fanin::range(exec, 100), small_at{}, mean{});
    for (auto& later : laters) EXPECT_EQ(later.get(), expected);
  }
}

/// So large that MPI does not send before the other rank receives.
struct counts {
  struct of_values {
    std::int64_t counts[1 << 13];
  };
  using value_type = std::int64_t;
  using accumulator_type = of_values;
  using result_type = std::int64_t;
  of_values identity() const { return {}; }
  void fold(of_values& acc, std::int64_t value, std::int64_t) const { ++acc.counts[value]; }
  void join(of_values& into, const of_values& from) const {
    for (std::size_t value = 0; value < std::size(into.counts); ++value) into.counts[value] += from.counts[value];
  }
  std::int64_t result(const of_values& acc) const {
    std::int64_t sum = 0;
    for (std::size_t value = 0; value < std::size(acc.counts); ++value) {
      sum += static_cast<std::int64_t>(value) * acc.counts[value];
    }
    return sum;
  }
};
TEST(ranks, accumulators_of_64_kib) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    const own_part part(5'000, comm, 8);
    const auto range = fanin::over(comm, fanin::range(exec, part.begin, part.end));
    const auto expected = fanin::parallel_reduce(fanin::range(exec, 5'000), small_at{}, fanin::sum<std::int64_t>{});
    for (int round = 0; round < 5; ++round) {
      auto later = fanin::parallel_reduce_async(range, small_at{}, counts{});
      EXPECT_EQ(fanin::parallel_reduce(range, small_at{}, counts{}), expected);
      EXPECT_EQ(later.get(), expected);
    }
  }
}

/// A rank that comes to a call over groups when two others, which are in it, have a result over themselves.
TEST(ranks, a_call_over_groups_that_waits_for_one_over_some_of_them) {
  if (size_of_world() < 4) GTEST_SKIP() << "there are fewer than 4 ranks";
  const int rank = rank_of_world();
  MPI_Comm first_two = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : 1, rank, &first_two), MPI_SUCCESS);
  {
    const fanin::mpi grouped(MPI_COMM_WORLD, {.gather_up_to = 2});
    const fanin::mpi some(first_two);
    int word = 0;
    if (rank == 3) MPI_Recv(&word, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    auto later = fanin::parallel_reduce_async(
        fanin::over(grouped, fanin::range(exec, 1)), [](std::int64_t) { return std::int64_t{1}; },
        fanin::sum<std::int64_t>{});
    if (rank < 2) {
      EXPECT_EQ(fanin::parallel_reduce(
                    fanin::over(some, fanin::range(exec, 1)), [](std::int64_t) { return std::int64_t{2}; },
                    fanin::sum<std::int64_t>{}),
                4);
    }
    if (rank == 0) MPI_Send(&word, 1, MPI_INT, 3, 7, MPI_COMM_WORLD);
    EXPECT_EQ(later.get(), size_of_world());
  }
  MPI_Comm_free(&first_two);
}

TEST(ranks, parts_of_a_communicator) {
  MPI_Comm half = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_split(MPI_COMM_WORLD, rank_of_world() % 2, -rank_of_world(), &half), MPI_SUCCESS);
  std::int64_t sum = 0;
  std::int64_t expected = 0;
  {
    const fanin::mpi comm(half);
    sum = fanin::parallel_reduce(
        fanin::over(comm, fanin::range(exec, 1)), [](std::int64_t) { return std::int64_t{1} + rank_of_world(); },
        fanin::sum<std::int64_t>{});
  }
  MPI_Comm_free(&half);
  for (int rank = rank_of_world() % 2; rank < size_of_world(); rank += 2) expected += 1 + rank;
  EXPECT_EQ(sum, expected);
}

#if FANIN_HAS_KOKKOS && !FANIN_KOKKOS_NEEDS_CUDA
/// Some ranks on Kokkos, the others on serial.
TEST(ranks, of_several_backends) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const own_part part(30'000, comm, 2);
  const fanin::exact_sum<double> sum;
  const double expected = fanin::parallel_reduce(fanin::range(exec, 30'000), element_at{}, sum);
  if (comm.rank() % 2 == 0) {
    fanin::kokkos<Kokkos::DefaultHostExecutionSpace> threads;
    EXPECT_EQ(fanin::parallel_reduce(fanin::over(comm, fanin::range(threads, part.begin, part.end)), element_at{}, sum),
              expected);
  } else {
    EXPECT_EQ(fanin::parallel_reduce(fanin::over(comm, fanin::range(exec, part.begin, part.end)), element_at{}, sum),
              expected);
  }
}
#endif

/// Of which one rank has no beginning, and whose join looks at what it gets.
struct no_beginning {
  struct marked {
    double sum;
    std::int64_t mark;
  };
  using value_type = double;
  using accumulator_type = marked;
  using result_type = double;
  bool throws;
  bool* has_joined_others;

  marked identity() const {
    if (throws) throw std::domain_error("no such beginning");
    return {0, 1};
  }
  void fold(marked& acc, double value, std::int64_t) const { acc.sum += value; }
  void join(marked& into, const marked& from) const {
    if (into.mark != 1 || from.mark != 1) *has_joined_others = true;
    into.sum += from.sum;
  }
  double result(const marked& acc) const { return acc.sum; }
};
/// The part of the last rank throws; nobody waits for it, nor joins what stands for it.
TEST(ranks, a_part_that_throws) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    const bool fails = comm.rank() + 1 == comm.size();
    const auto throws = [fails](std::int64_t i) {
      if (fails) throw std::domain_error("no such number");
      return static_cast<double>(i);
    };
    const auto range = fanin::over(comm, fanin::range(exec, 10));
    const auto call_all = [&](const auto& f, const auto& reducer) {
      const auto refused = [&](const auto& call) {
        try {
          call();
          ADD_FAILURE() << "nothing was thrown";
        } catch (const std::domain_error&) {
          EXPECT_TRUE(fails);
        } catch (const fanin::rank_error& error) {
          EXPECT_FALSE(fails);
          EXPECT_NE(std::string(error.what()).find("over ranks: 1 rank has failed"), std::string::npos) << error.what();
        }
      };
      refused([&] { (void)fanin::parallel_reduce(range, f, reducer); });
      auto later = fanin::parallel_reduce_async(range, f, reducer);
      refused([&] { (void)later.get(); });
    };
    call_all(throws, fanin::sum<double>{});
    call_all(throws, fanin::exact_sum<double>{});
    bool has_joined_others = false;
    call_all(element_at{}, no_beginning{fails, &has_joined_others});
    EXPECT_FALSE(has_joined_others);
    // The communicator goes on.
    EXPECT_EQ(
        fanin::parallel_reduce(range, [](std::int64_t) { return 1.0; }, fanin::sum<double>{}), 10.0 * comm.size());
  }
}

/// A join that throws fails the call on all ranks, and no other.
struct no_joins : fanin::sum<double> {
  using value_type = double;
  using accumulator_type = double;
  double identity() const { return 0; }
  void fold(double& acc, double value, std::int64_t) const { acc += value; }
  void join(double&, const double&) const { throw std::domain_error("not these"); }
};
TEST(ranks, a_join_that_throws) {
  const auto refused = [](const auto& call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const fanin::rank_error& error) {
      EXPECT_NE(std::string(error.what()).find("or in a reducer's join() or result()"), std::string::npos)
          << error.what();
    }
  };
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    const std::vector<double> one{1.0};
    for (int round = 0; round < 3; ++round) {
      if (comm.size() > 1) {
        refused([&] {
          const fanin::serial in_order(fanin::serial_order::left_to_right);
          (void)fanin::parallel_reduce(fanin::over(comm, fanin::range(in_order, 1)), element_at{}, no_joins{});
        });
        refused([&] {
          (void)fanin::parallel_reduce(fanin::over(comm, fanin::range(exec, 1)), element_at{}, no_joins{},
                                       fanin::exact_sum<double>{});
        });
      }
      EXPECT_EQ(fanin::reduce(exec, fanin::over(comm, one), fanin::sum<double>{}), comm.size());
    }
  }
}

TEST(ranks, indices_that_do_not_fit) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const std::vector<double> three{5, 3, 4};
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW((void)fanin::reduce(exec, fanin::over(comm, three, last - 2), fanin::min_loc<double>{}),
               fanin::invalid_argument);
  EXPECT_EQ(fanin::reduce(exec, fanin::over(comm, three, last - 3), fanin::min_loc<double>{}).index, last - 2);
  const auto beyond = static_cast<std::uint64_t>(last) + 6;
  EXPECT_THROW((void)fanin::reduce(exec, fanin::over(comm, three, beyond), fanin::min_loc<double>{}),
               fanin::invalid_argument);
  const std::optional<std::uint64_t> maybe = beyond;
  EXPECT_THROW((void)fanin::reduce(exec, fanin::over(comm, three, maybe), fanin::min_loc<double>{}),
               fanin::invalid_argument);
  const std::optional<short> four = 4;
  EXPECT_EQ(fanin::reduce(exec, fanin::over(comm, three, four), fanin::min_loc<double>{}).index, 5);
  const double row[1][3] = {{5, 3, 4}};
  fanin::value_index<double> least[3];
  EXPECT_THROW(
      fanin::reduce_into(least, exec, fanin::over(comm, fanin::columns(row), beyond), fanin::min_loc<double>{}),
      fanin::invalid_argument);
}

TEST(ranks, different_calls_are_found) {
  const fanin::mpi comm(MPI_COMM_WORLD, {.check_calls = true});
  const auto range = fanin::over(comm, fanin::range(exec, 10));
  if (comm.size() > 1) {
    EXPECT_THROW(
        (void)fanin::parallel_reduce(comm.rank() == 0 ? "one" : "another", range, element_at{}, fanin::sum<double>{}),
        fanin::state_error);
    const auto differ = [&] {
      if (comm.rank() == 0) {
        (void)fanin::parallel_reduce(range, element_at{}, fanin::sum<double>{});
      } else {
        (void)fanin::parallel_reduce(range, element_at{}, fanin::max<double>{});
      }
    };
    EXPECT_THROW(differ(), fanin::state_error);
    const std::vector<double> one{1.0};
    const auto first = comm.rank() == 0 ? std::optional<std::int64_t>(0) : std::nullopt;
    EXPECT_THROW((void)fanin::reduce(exec, fanin::over(comm, one, first), fanin::min_loc<double>{}),
                 fanin::state_error);
    const std::string words = words_of_refusal([&] {
      const auto g = fanin::finished([](double sum) { return sum; }, fanin::sum<double>{});
      if (comm.rank() == 0) {
        (void)fanin::parallel_reduce("sum", range, element_at{}, g);
      } else {
        (void)fanin::parallel_reduce("sum", range, element_at{}, fanin::sum<double>{}, mean{});
      }
    });
    EXPECT_NE(words.find("the label \"sum\" and the reducers fanin::sum<double"), std::string::npos) << words;
    EXPECT_EQ(words.ends_with(", finished"), comm.rank() == 0) << words;
    EXPECT_EQ(words.ends_with(", fanin_test::mean"), comm.rank() != 0) << words;
    EXPECT_EQ(words.find("detail"), std::string::npos) << words;
    EXPECT_EQ(words.find("tuple"), std::string::npos) << words;
  }
  EXPECT_EQ(fanin::parallel_reduce(range, [](std::int64_t) { return 1; }, fanin::sum<int>{}), 10 * comm.size());
}

TEST(ranks, wrong_arguments) {
  EXPECT_THROW(fanin::mpi(MPI_COMM_NULL), fanin::invalid_argument);
  EXPECT_THROW(fanin::mpi(MPI_COMM_WORLD, {.gather_up_to = 1}), fanin::invalid_argument);
  const fanin::mpi comm(MPI_COMM_WORLD);
  const auto range = fanin::over(comm, fanin::range(exec, 10));
  EXPECT_THROW(fanin::parallel_reduce_into(static_cast<double*>(nullptr), range, element_at{}, fanin::sum<double>{}),
               fanin::invalid_argument);
  const std::span<const double> null_elements(static_cast<const double*>(nullptr), 3);
  EXPECT_THROW((void)fanin::reduce(exec, fanin::over(comm, null_elements), fanin::sum<double>{}),
               fanin::invalid_argument);
  EXPECT_EQ(comm.size(), size_of_world());
  EXPECT_EQ(comm.rank(), rank_of_world());
}

/// MPI is initialised for the main thread alone.
TEST(ranks, another_thread_is_refused) {
  int level = 0;
  MPI_Query_thread(&level);
  if (level >= MPI_THREAD_SERIALIZED) GTEST_SKIP() << "this MPI takes calls of any thread";
  const fanin::mpi comm(MPI_COMM_WORLD);
  std::thread([&] {
    EXPECT_THROW(
        (void)fanin::parallel_reduce(fanin::over(comm, fanin::range(exec, 10)), element_at{}, fanin::sum<double>{}),
        fanin::state_error);
  }).join();
}

/// Many calls of forms and reducers drawn from a seed.
TEST(ranks, a_thousand_rounds) {
  const fanin::mpi flat(MPI_COMM_WORLD);
  const fanin::mpi grouped(MPI_COMM_WORLD, {.gather_up_to = 2});
  std::vector<std::function<void()>> later;
  for (std::uint64_t round = 0; round < 1'000; ++round) {
    const std::uint64_t draw = mix(round + 77);
    const fanin::mpi& comm = draw % 2 == 0 ? flat : grouped;
    const auto n = static_cast<std::int64_t>(draw / 2 % 50);
    const own_part part(n, comm, round);
    const auto range = fanin::over(comm, fanin::range(exec, part.begin, part.end));
    const auto whole = fanin::range(exec, n);
    const auto reduce = [&](const auto&... reducers) {
      const auto expected = fanin::parallel_reduce(whole, small_at{}, reducers...);
      if (draw / 100 % 3 == 0) {
        auto pending = std::make_shared<fanin::pending<std::remove_const_t<decltype(expected)>>>(
            fanin::parallel_reduce_async(range, small_at{}, reducers...));
        later.push_back([pending, expected] { EXPECT_TRUE(pending->get() == expected); });
      } else {
        EXPECT_TRUE(fanin::parallel_reduce(range, small_at{}, reducers...) == expected);
      }
    };
    switch (draw / 300 % 4) {
      case 0: reduce(fanin::sum<std::int64_t>{}); break;
      case 1: reduce(fanin::exact_sum<double>{}); break;
      case 2: reduce(fanin::max_loc<std::int64_t>{}, fanin::exact_sum<double>{}); break;
      default: reduce(mean{}); break;
    }
    if (later.size() > 10) {
      std::rotate(later.begin(), later.begin() + flat.rank() % 5, later.end());
      for (const auto& get : later) get();
      later.clear();
    }
  }
  for (const auto& get : later) get();
}

}  // namespace
}  // namespace fanin_test

int main(int argc, char** argv) {
  // Before MPI there is none.
  bool is_refused = false;
  try {
    const fanin::mpi comm(MPI_COMM_WORLD);
  } catch (const fanin::state_error&) {
    is_refused = true;
  }
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  testing::InitGoogleTest(&argc, argv);
  int failed = is_refused ? 0 : 1;
  {
#if FANIN_HAS_KOKKOS && !FANIN_KOKKOS_NEEDS_CUDA
    const Kokkos::ScopeGuard kokkos(argc, argv);
#endif
    failed += RUN_ALL_TESTS();
  }
  // Red on any rank is red.
  int anywhere = 0;
  MPI_Allreduce(&failed, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return anywhere;
}
