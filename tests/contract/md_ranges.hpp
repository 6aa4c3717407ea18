// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <fanin/finished.hpp>
#include <fanin/md_range.hpp>

#include "contract/contract.hpp"
#include "support/boxes.hpp"

/// Ranges of several dimensions: every index once, in bounds; places, and ties in the order of the tag; all forms.
namespace fanin_test {

using planar = fanin::md_index<2>;
using spatial = fanin::md_index<3>;

struct planar_box {
  planar lower;
  planar upper;
};

inline const std::vector<planar_box>& planar_boxes() {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  static const std::vector<planar_box> boxes{
      {{0, 0}, {1, 1}},
      {{0, 0}, {1, 100'003}},
      {{0, 0}, {100'003, 1}},
      {{-1, -1}, {31, 33}},
      {{1, 2}, {257, 66}},
      {{-500, 7}, {-198, 1'032}},
      {{0, 0}, {1'000, 3}},
      {{0, 0}, {7, 1'025}},
      {{0, 0}, {0, 5}},
      {{3, 3}, {9, 3}},
      {{most - 9, -most - 1}, {most, 90 - most}},
      {{-most - 1, most - 64}, {64 - most, most}},
  };
  return boxes;
}

/// A small number with many equals, and a mark at the place: two visits of one index show as 2.
struct mark_planar {
  planar lower;
  std::int64_t columns;
  std::int32_t* visits;
  FANIN_FUNCTION std::int64_t place(std::int64_t i, std::int64_t j) const {
    return (i - lower[0]) * columns + (j - lower[1]);
  }
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const {
    const std::int64_t at = place(i, j);
    ++visits[at];
    return static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(at)) % 50);
  }
};

struct planar_facts {
  std::int64_t sum = 0;
  fanin::value_index<std::int64_t, planar> least{std::numeric_limits<std::int64_t>::max(), {{-1, -1}}};
  friend bool operator==(const planar_facts&, const planar_facts&) = default;
};

template <class Fixture>
class md_ranges : public contract<Fixture> {};
TYPED_TEST_SUITE(md_ranges, fixtures, fixture_names);

TYPED_TEST(md_ranges, two_dimensions_in_every_form) {
  using exec_type = typename TypeParam::exec_type;
  using result = fanin::tuple<std::int64_t, fanin::value_index<std::int64_t, planar>>;
  const fanin::sum<std::int64_t> sum;
  const fanin::min_loc<std::int64_t> least;
  for (const auto& [lower, upper] : planar_boxes()) {
    const std::int64_t rows = upper[0] - lower[0];
    const std::int64_t columns = upper[1] - lower[1];
    placed<std::int32_t, exec_type> visits(this->exec(),
                                           std::vector<std::int32_t>(static_cast<std::size_t>(rows * columns), 0));
    const mark_planar f{lower, columns, visits.data()};
    const auto range = fanin::md_range(this->exec(), std::array{lower[0], lower[1]}, std::array{upper[0], upper[1]});
    EXPECT_EQ(range.size(), rows * columns);

    planar_facts expected;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto value = static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(i * columns + j)) % 50);
        expected.sum += value;
        if (value < expected.least.value) expected.least = {value, {{lower[0] + i, lower[1] + j}}};
      }
    }
    destination<result, exec_type> out(this->exec());
    const result blocking = fanin::parallel_reduce(range, f, sum, least);
    fanin::parallel_reduce_into(out.pointer(), range, f, sum, least);
    auto later = fanin::parallel_reduce_async(range, f, sum, least);
    const result written = out.get();
    const result got = later.get();
    for (const result& one : {blocking, written, got}) {
      EXPECT_EQ((planar_facts{fanin::get<0>(one), fanin::get<1>(one)}), expected) << rows << " x " << columns;
    }
    synchronize(this->exec());
    EXPECT_EQ(visits.host(), std::vector<std::int32_t>(visits.size(), 3)) << rows << " x " << columns;
  }
}

/// acc += x[..] in the order of Fortran's arrays.
struct add_spatial {
  const double* x;
  std::int64_t nx;
  std::int64_t ny;
  FANIN_FUNCTION void operator()(std::int64_t i, std::int64_t j, std::int64_t k, double& acc) const {
    acc += x[(k * ny + j) * nx + i];
  }
};

TYPED_TEST(md_ranges, three_dimensions_with_a_halo_and_accumulators) {
  using exec_type = typename TypeParam::exec_type;
  for (const auto& [nx, ny, nz] :
       std::vector<std::array<int, 3>>{{3, 3, 3}, {40, 30, 20}, {5, 300, 7}, {1'025, 4, 4}}) {
    std::vector<double> host(static_cast<std::size_t>(nx * ny * nz));
    for (std::size_t at = 0; at < host.size(); ++at) host[at] = static_cast<double>(mix(at) % 1'000) - 500;
    double expected = 0;
    for (int k = 1; k < nz - 1; ++k) {
      for (int j = 1; j < ny - 1; ++j) {
        for (int i = 1; i < nx - 1; ++i) expected += host[static_cast<std::size_t>((k * ny + j) * nx + i)];
      }
    }
    placed<double, exec_type> x(this->exec(), host);
    const auto inner = fanin::md_range<fanin::iterate::left>(this->exec(), {1, 1, 1}, {nx - 1, ny - 1, nz - 1});
    EXPECT_EQ(fanin::parallel_reduce(inner, add_spatial{x.data(), nx, ny}, fanin::sum<double>{}), expected);
  }
}

/// A digit of each index; equal for many of them.
struct digits {
  FANIN_FUNCTION std::int32_t operator()(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d, std::int64_t e,
                                         std::int64_t f) const {
    return static_cast<std::int32_t>(b == 2 && e == 3 ? 7 : (a + c + d + f) % 3);
  }
};
using six = fanin::md_index<6>;
struct first_and_last {
  FANIN_FUNCTION fanin::tuple<std::int64_t, six> operator()(
      std::int64_t sum, const fanin::min_max_index<std::int32_t, six>& extremes) const {
    return {{{sum}, {extremes.max_index}}};
  }
};

TYPED_TEST(md_ranges, six_dimensions_finished_with_a_place) {
  const auto both =
      fanin::finished(first_and_last{}, fanin::sum<std::int32_t, std::int64_t>{}, fanin::min_max_loc<std::int32_t>{});
  std::int64_t sum = 0;
  for (std::int64_t at = 0; at < 2 * 3 * 4 * 5 * 6 * 7; ++at) {
    sum += digits{}(at / 2'520, at / 840 % 3, at / 210 % 4, at / 42 % 5, at / 7 % 6, at % 7);
  }
  const auto right = fanin::md_range(this->exec(), {2, 3, 4, 5, 6, 7});
  const auto [right_sum, right_place] = fanin::parallel_reduce(right, digits{}, both);
  EXPECT_EQ(right_sum, sum);
  EXPECT_EQ(right_place, (six{{0, 2, 0, 0, 3, 0}}));
  const auto none = fanin::md_range(this->exec(), {2, 3, 0, 5, 6, 7});
  const auto [nothing, nowhere] = fanin::parallel_reduce(none, digits{}, both);
  EXPECT_EQ(nothing, 0);
  EXPECT_EQ(nowhere, (six{{-1, -1, -1, -1, -1, -1}}));
}

/// g may give a reference to a result, which is a temporary.
struct first_result {
  template <class First, class Second>
  FANIN_FUNCTION const First& operator()(const First& first, const Second&) const {
    return first;
  }
};

/// Counts values below 10, and has the result type of a place without being one.
struct count_low {
  using value_type = std::int64_t;
  using accumulator_type = fanin::value_index<std::int64_t>;
  FANIN_FUNCTION accumulator_type identity() const { return {0, 0}; }
  FANIN_FUNCTION void fold(accumulator_type& acc, std::int64_t value, std::int64_t) const {
    if (value < 10) acc = {acc.value + value, acc.index + 1};
  }
  FANIN_FUNCTION void join(accumulator_type& into, const accumulator_type& from) const {
    into = {into.value + from.value, into.index + from.index};
  }
};

struct tens {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const { return 10 * i + j; }
};

template <fanin::iterate Order, std::size_t Rank, class Exec>
void expect_each_once(Exec& exec, const std::array<std::int64_t, Rank>& extents) {
  placed<std::int32_t, Exec> visits(exec, std::vector<std::int32_t>(static_cast<std::size_t>(count_of(extents)), 0));
  const mark_box<Rank> f{visits.data(), strides_of<Order>(extents)};
  const auto [sum, least] = fanin::parallel_reduce(fanin::md_range<Order>(exec, lower_of<Rank>(), upper_of(extents)), f,
                                                   fanin::sum<std::int64_t>{}, fanin::min_loc<std::int64_t>{});
  const box_facts<Rank> expected = facts_of_box<Order>(extents);
  EXPECT_EQ(sum, expected.sum);
  EXPECT_EQ(least, expected.least);
  EXPECT_EQ(visits.host(), std::vector<std::int32_t>(visits.size(), 1));
}

template <fanin::iterate Order, std::size_t Rank, class Exec>
void expect_each_added_once(Exec& exec, const std::array<std::int64_t, Rank>& extents) {
  placed<std::int32_t, Exec> visits(exec, std::vector<std::int32_t>(static_cast<std::size_t>(count_of(extents)), 0));
  const add_box<Rank> f{{visits.data(), strides_of<Order>(extents)}};
  const auto [sum, count] = fanin::parallel_reduce(fanin::md_range<Order>(exec, lower_of<Rank>(), upper_of(extents)), f,
                                                   fanin::sum<std::int64_t>{}, fanin::sum<std::int32_t>{});
  EXPECT_EQ(sum, facts_of_box<Order>(extents).sum);
  EXPECT_EQ(count, count_of(extents));
  EXPECT_EQ(visits.host(), std::vector<std::int32_t>(visits.size(), 1));
}

/// Large ones, which the CUDA backend takes by tiles of 8 x 32: rows and columns of whole tiles, one less and one more.
TYPED_TEST(md_ranges, large_boxes) {
  expect_each_once<fanin::iterate::right, 2>(this->exec(), {1'000, 1'024});
  expect_each_once<fanin::iterate::right, 2>(this->exec(), {33'001, 31});
  expect_each_once<fanin::iterate::left, 2>(this->exec(), {100'001, 15});
  expect_each_once<fanin::iterate::left, 3>(this->exec(), {97, 95, 101});
  expect_each_once<fanin::iterate::right, 4>(this->exec(), {3, 301, 30, 33});
  expect_each_added_once<fanin::iterate::left, 2>(this->exec(), {1'001, 801});
  expect_each_added_once<fanin::iterate::right, 3>(this->exec(), {97, 95, 101});
}

TYPED_TEST(md_ranges, results_that_are_no_places_stay_what_they_are) {
  const auto range = fanin::md_range(this->exec(), {30, 5});
  const auto least = fanin::parallel_reduce(
      range, tens{}, fanin::finished(first_result{}, fanin::max_loc<std::int64_t>{}, count_low{}));
  EXPECT_TRUE(is_same(least, fanin::value_index<std::int64_t, planar>{294, {{29, 4}}}));
  const auto [low, place] = fanin::parallel_reduce(range, tens{}, count_low{}, fanin::min_loc<std::int64_t>{});
  EXPECT_TRUE(is_same(low, fanin::value_index<std::int64_t>{0 + 1 + 2 + 3 + 4, 5}));
  EXPECT_EQ(place.index, (planar{{0, 0}}));
}

/// 1 but at two places.
struct two_low {
  planar first;
  planar second;
  FANIN_FUNCTION double operator()(std::int64_t i, std::int64_t j) const {
    return (i == first[0] && j == first[1]) || (i == second[0] && j == second[1]) ? -1 : 1;
  }
};

/// Of equals the first in the tag's order; which is another place in the other order.
TYPED_TEST(md_ranges, ties_by_the_order_of_the_tag) {
  const two_low f{{{3, 900}}, {{70, 5}}};
  const auto least = fanin::parallel_reduce(fanin::md_range(this->exec(), {100, 1'000}), f, fanin::min_loc<double>{});
  EXPECT_EQ(least.index, f.first);
  const auto other = fanin::parallel_reduce(fanin::md_range<fanin::iterate::left>(this->exec(), {100, 1'000}), f,
                                            fanin::min_loc<double>{});
  EXPECT_EQ(other.index, f.second);
}

struct count_planar {
  std::int32_t* visits;
  std::int64_t columns;
  FANIN_FUNCTION void operator()(std::int64_t i, std::int64_t j) const { ++visits[(i + 2) * columns + (j - 1)]; }
};

TYPED_TEST(md_ranges, parallel_for_calls_each_once) {
  using exec_type = typename TypeParam::exec_type;
  for (const auto& [rows, columns] :
       std::vector<std::array<std::int64_t, 2>>{{1, 1}, {33, 129}, {0, 4}, {5'000, 2}, {1'001, 1'023}}) {
    placed<std::int32_t, exec_type> visits(this->exec(),
                                           std::vector<std::int32_t>(static_cast<std::size_t>(rows * columns), 0));
    fanin::parallel_for(fanin::md_range(this->exec(), {-2, 1}, {rows - 2, columns + 1}),
                        count_planar{visits.data(), columns});
    synchronize(this->exec());
    EXPECT_EQ(visits.host(), std::vector<std::int32_t>(visits.size(), 1)) << rows << " x " << columns;
  }
}

struct far_corner {
  std::int64_t i;
  std::int64_t j;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t at_i, std::int64_t at_j) const {
    return at_i == i && at_j == j ? 2 : 1;
  }
};

/// More than 2^31 of them, where it takes no minutes.
TYPED_TEST(md_ranges, extents_beyond_32_bits) {
  if constexpr (requires { TypeParam::runs_long_ranges; }) {
    const std::int64_t rows = 3;
    const std::int64_t columns = (std::int64_t{1} << 30) + 1;
    const auto [sum, most] =
        fanin::parallel_reduce(fanin::md_range(this->exec(), {rows, columns}), far_corner{rows - 1, columns - 2},
                               fanin::sum<std::int64_t>{}, fanin::max_loc<std::int64_t>{});
    EXPECT_EQ(sum, rows * columns + 1);
    EXPECT_EQ(most.index, (planar{{rows - 1, columns - 2}}));
  } else {
    GTEST_SKIP() << "3 x 2^30 calls of a functor take seconds on " << TypeParam::name;
  }
}

TYPED_TEST(md_ranges, what_does_not_fit_is_refused) {
  auto& exec = this->exec();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(fanin::md_range(exec, {5, -1}), fanin::invalid_argument);
  EXPECT_THROW(fanin::md_range(exec, {0, 3}, {4, 2}), fanin::invalid_argument);
  EXPECT_THROW(fanin::md_range(exec, {std::uint64_t{1} << 63, std::uint64_t{1}}), fanin::invalid_argument);
  EXPECT_THROW(fanin::md_range(exec, {-2, 0}, {most, 1}), fanin::invalid_argument);
  EXPECT_THROW(fanin::md_range(exec, {std::int64_t{1} << 32, std::int64_t{1} << 31}), fanin::invalid_argument);
  EXPECT_EQ(fanin::md_range(exec, {std::int64_t{1} << 31, std::int64_t{1} << 31}).size(), std::int64_t{1} << 62);
  EXPECT_EQ(fanin::md_range(exec, {most, most, std::int64_t{0}}).size(), 0);
}

}  // namespace fanin_test
