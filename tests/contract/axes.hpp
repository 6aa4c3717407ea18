// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/finished.hpp>
#include <fanin/view.hpp>

#include "contract/contract.hpp"
#include "contract/many.hpp"

/// A result for each index that is left: rows, columns, axes.
namespace fanin_test {

template <class Fixture>
class axes : public contract<Fixture> {};
TYPED_TEST_SUITE(axes, fixtures, fixture_names);

TYPED_TEST(axes, rows_and_columns_of_every_shape) {
  using exec_type = typename TypeParam::exec_type;
  const fanin::sum<std::int64_t> sum;
  const fanin::min_loc<std::int64_t> least;
  for (const auto& [n, m] : matrix_shapes()) {
    placed<std::int32_t, exec_type> visits(this->exec(), std::vector<std::int32_t>(static_cast<std::size_t>(n * m), 0));
    placed<sum_and_place, exec_type> of_rows(this->exec(), std::vector<sum_and_place>(static_cast<std::size_t>(n)));
    placed<sum_and_place, exec_type> of_columns(this->exec(), std::vector<sum_and_place>(static_cast<std::size_t>(m)));
    const mark_matrix f{m, visits.data()};
    fanin::parallel_reduce_into(of_rows.data(), fanin::rows(this->exec(), n, m), f, sum, least);
    fanin::parallel_reduce_into("columns", of_columns.data(), fanin::columns(this->exec(), n, m), f, sum, least);
    synchronize(this->exec());
    std::vector<sum_and_place> expected;
    const std::int64_t columns = m;
    for (std::int64_t i = 0; i < n; ++i) {
      expected.push_back(expected_of(m, [&](std::int64_t j) { return i * columns + j; }));
    }
    EXPECT_TRUE(is_same(of_rows.host(), expected)) << n << " x " << m;
    expected.clear();
    for (std::int64_t j = 0; j < m; ++j) {
      expected.push_back(expected_of(n, [&](std::int64_t i) { return i * columns + j; }));
    }
    EXPECT_TRUE(is_same(of_columns.host(), expected)) << n << " x " << m;
    EXPECT_EQ(visits.host(), std::vector<std::int32_t>(visits.size(), 2)) << n << " x " << m;
  }
}

/// A digit of the indices.
struct spatial_digit {
  FANIN_FUNCTION std::int32_t operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return static_cast<std::int32_t>(mix(static_cast<std::uint64_t>((i * 64 + j) * 64 + k)) % 20);
  }
};
using in_plane = fanin::md_index<2>;
using digit_in_plane = fanin::tuple<fanin::value_index<std::int32_t, in_plane>, std::int64_t>;

/// Axes 0 and 2 of 3, by either order of ties.
template <fanin::iterate Order, class Exec>
void reduce_two_axes(Exec& exec) {
  constexpr std::int64_t lower[] = {-3, 2, 5};
  constexpr std::int64_t upper[] = {80, 9, 36};
  const auto box = fanin::md_range<Order>(exec, {lower[0], lower[1], lower[2]}, {upper[0], upper[1], upper[2]});
  std::vector<digit_in_plane> expected;
  for (std::int64_t j = lower[1]; j < upper[1]; ++j) {
    fanin::value_index<std::int32_t, in_plane> most{-1, {}};
    std::int64_t sum = 0;
    const auto take = [&](std::int64_t i, std::int64_t k) {
      const std::int32_t value = spatial_digit{}(i, j, k);
      if (value > most.value) most = {value, {{i, k}}};
      sum += value;
    };
    if (Order == fanin::iterate::right) {
      for (std::int64_t i = lower[0]; i < upper[0]; ++i) {
        for (std::int64_t k = lower[2]; k < upper[2]; ++k) take(i, k);
      }
    } else {
      for (std::int64_t k = lower[2]; k < upper[2]; ++k) {
        for (std::int64_t i = lower[0]; i < upper[0]; ++i) take(i, k);
      }
    }
    expected.push_back({{{most}, {sum}}});
  }
  placed<digit_in_plane, Exec> out(exec, std::vector<digit_in_plane>(expected.size()));
  fanin::parallel_reduce_into(out.data(), fanin::axes<0, 2>(box), spatial_digit{}, fanin::max_loc<std::int32_t>{},
                              fanin::sum<std::int32_t, std::int64_t>{});
  EXPECT_TRUE(is_same(out.host(), expected));
}

TYPED_TEST(axes, places_along_several_axes) {
  reduce_two_axes<fanin::iterate::right>(this->exec());
  reduce_two_axes<fanin::iterate::left>(this->exec());
}

/// The one axis that is left in the middle, and two of them; places are indices, which may be below 0.
TYPED_TEST(axes, an_axis_in_the_middle) {
  using exec_type = typename TypeParam::exec_type;
  using place = fanin::value_index<std::int32_t>;
  for (const std::int64_t depth : {3, 40}) {
    const auto box = fanin::md_range(this->exec(), {0, -11, 0}, {4, 22, depth});
    std::vector<place> expected;
    for (std::int64_t i = 0; i < 4; ++i) {
      for (std::int64_t k = 0; k < depth; ++k) {
        place least{99, 0};
        for (std::int64_t j = -11; j < 22; ++j) {
          const std::int32_t value = spatial_digit{}(i, j, k);
          if (value < least.value) least = {value, j};
        }
        expected.push_back(least);
      }
    }
    placed<place, exec_type> out(this->exec(), std::vector<place>(expected.size()));
    fanin::parallel_reduce_into(out.data(), fanin::axes<1>(box), spatial_digit{}, fanin::min_loc<std::int32_t>{});
    EXPECT_TRUE(is_same(out.host(), expected)) << depth;
  }
}

/// Rows whose elements lie side by side, since the axes behind the reduced one have one index, and rows whose elements
/// lie near to each other: from one to as many as take a device, short ones and long ones.
struct digit_near_others {
  std::int64_t rows;
  std::int64_t depth;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t) const {
    return static_cast<std::int64_t>(mix(static_cast<std::uint64_t>((i * rows + j) * depth + k)) % 50);
  }
};
struct digit_behind_others : digit_near_others {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t one, std::int64_t k, std::int64_t j, std::int64_t i) const {
    return digit_near_others::operator()(i, j, k, one);
  }
};
TYPED_TEST(axes, elements_of_a_row_near_to_each_other) {
  using exec_type = typename TypeParam::exec_type;
  const fanin::sum<std::int64_t> sum;
  const fanin::min_loc<std::int64_t> least;
  struct shape {
    std::int64_t n, m, depth;
  };
  for (const auto& [n, m, depth] : std::vector<shape>{{1, 1, 1},
                                                      {5, 7, 1},
                                                      {20'000, 5, 1},
                                                      {17'000, 20, 1},
                                                      {700, 100, 1},
                                                      {40, 600, 1},
                                                      {300, 513, 1},
                                                      {9, 5'000, 1},
                                                      {2, 70'003, 1},
                                                      {1, 900, 3},
                                                      {50, 300, 2},
                                                      {9'000, 17, 2},
                                                      {6, 40, 31},
                                                      {6, 40, 33},
                                                      {3, 11'000, 5},
                                                      {2, 3'000, 12},
                                                      {3, 0, 1},
                                                      {0, 3, 1}}) {
    std::vector<sum_and_place> expected;
    for (std::int64_t row = 0; row < n * depth; ++row) {
      const auto at = [&, rows = m, deep = depth](std::int64_t j) {
        return ((row / deep) * rows + j) * deep + row % deep;
      };
      expected.push_back(expected_of(m, at));
    }
    placed<sum_and_place, exec_type> out(this->exec(), std::vector<sum_and_place>(expected.size()));
    const digit_near_others f{m, depth};
    fanin::parallel_reduce_into(out.data(), fanin::axes<1>(fanin::md_range(this->exec(), {n, m, depth, 1})), f, sum,
                                least);
    synchronize(this->exec());
    EXPECT_TRUE(is_same(out.host(), expected)) << n << " x " << m << " x " << depth;
    // The first index fastest.
    placed<sum_and_place, exec_type> out_of_left(this->exec(), std::vector<sum_and_place>(expected.size()));
    fanin::parallel_reduce_into(out_of_left.data(),
                                fanin::axes<2>(fanin::md_range<fanin::iterate::left>(this->exec(), {1, depth, m, n})),
                                digit_behind_others{f}, sum, least);
    synchronize(this->exec());
    EXPECT_TRUE(is_same(out_of_left.host(), expected)) << n << " x " << m << " x " << depth;
  }
}

/// acc += x[i][j].
struct add_in_matrix {
  const double* x;
  std::int64_t columns;
  template <class State>
  FANIN_FUNCTION void operator()(std::int64_t i, std::int64_t j, State& acc) const {
    acc += x[i * columns + j];
  }
};
struct element_across {
  const double* x;
  std::int64_t rows;
  FANIN_FUNCTION double operator()(std::int64_t i, std::int64_t j) const { return x[j * rows + i]; }
};
/// What cancels but for one number of each row: its index.
TYPED_TEST(axes, exact_sums_of_rows_and_columns_finished_with_their_index) {
  using exec_type = typename TypeParam::exec_type;
  for (const auto& [n, m] : std::vector<matrix_shape>{{37, 21}, {3, 1'500}, {2, 40'001}}) {
    std::vector<double> host(static_cast<std::size_t>(n * m));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < m; ++j) {
        const double large = 0x1p200 * static_cast<double>(1 + j % m / 2);
        host[static_cast<std::size_t>(i * m + j)] = j == m - 1 ? static_cast<double>(i) : j % 2 == 0 ? large : -large;
      }
      if (m % 2 == 0) host[static_cast<std::size_t>(i * m + m - 2)] = 0;
    }
    placed<double, exec_type> x(this->exec(), host);
    placed<double, exec_type> out(this->exec(), std::vector<double>(static_cast<std::size_t>(n), -1));
    fanin::parallel_reduce_into(out.data(), fanin::rows(this->exec(), n, m), add_in_matrix{x.data(), m},
                                fanin::finished(residual_of_row{}, fanin::exact_sum<double>{}));
    EXPECT_EQ(out.host(), std::vector<double>(static_cast<std::size_t>(n), 0)) << n << " x " << m;
    // The same memory as a matrix of m rows, whose columns are these rows.
    const auto across = fanin::axes<0>(fanin::md_range<fanin::iterate::left>(this->exec(), {m, n}));
    fanin::parallel_reduce_into(out.data(), across, element_across{x.data(), m}, fanin::exact_sum<double>{});
    std::vector<double> indices;
    for (std::int64_t i = 0; i < n; ++i) indices.push_back(static_cast<double>(i));
    EXPECT_EQ(out.host(), indices) << n << " x " << m;
    const auto down = fanin::columns(this->exec(), m, n);
    fanin::parallel_reduce_into(out.data(), down, element_across{x.data(), m}, fanin::exact_sum<double>{});
    EXPECT_EQ(out.host(), indices) << n << " x " << m;
  }
}

/// Counts values by their last digits: too large to be handed on in registers.
struct count_digits {
  struct counters {
    std::int32_t of[50];
    friend bool operator==(const counters&, const counters&) = default;
  };
  using value_type = std::int64_t;
  using accumulator_type = counters;
  FANIN_FUNCTION counters identity() const { return {}; }
  FANIN_FUNCTION void fold(counters& acc, std::int64_t value, std::int64_t) const { ++acc.of[value]; }
  FANIN_FUNCTION void join(counters& into, const counters& from) const {
    for (int k = 0; k < 50; ++k) into.of[k] += from.of[k];
  }
};

TYPED_TEST(axes, large_accumulators) {
  using exec_type = typename TypeParam::exec_type;
  for (const auto& [n, m] : std::vector<matrix_shape>{{9, 70}, {70, 9}}) {
    placed<std::int32_t, exec_type> visits(this->exec(), std::vector<std::int32_t>(static_cast<std::size_t>(n * m), 0));
    placed<count_digits::counters, exec_type> out(this->exec(),
                                                  std::vector<count_digits::counters>(static_cast<std::size_t>(m)));
    fanin::parallel_reduce_into(out.data(), fanin::columns(this->exec(), n, m), mark_matrix{m, visits.data()},
                                count_digits{});
    std::vector<count_digits::counters> expected(static_cast<std::size_t>(m), count_digits{}.identity());
    for (std::int64_t at = 0; at < n * m; ++at) {
      ++expected[static_cast<std::size_t>(at % m)].of[mix(static_cast<std::uint64_t>(at)) % 50];
    }
    EXPECT_EQ(out.host(), expected) << n << " x " << m;
  }
}

struct element_number {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const { return i * 10 + j; }
};

struct element_of_matrix {
  const double* x;
  std::int64_t columns;
  FANIN_FUNCTION double operator()(std::int64_t i, std::int64_t j) const { return x[i * columns + j]; }
};

/// Bits of one result, whatever the others' elements are, and in each run.
TYPED_TEST(axes, a_result_does_not_see_the_others) {
  using exec_type = typename TypeParam::exec_type;
  for (const auto& [n, m] : std::vector<matrix_shape>{{6, 1'000}, {300, 100}, {3, 50'001}}) {
    std::vector<double> host(static_cast<std::size_t>(n * m));
    for (std::size_t at = 0; at < host.size(); ++at) host[at] = static_cast<double>(mix(at)) * 0x1p-40;
    std::vector<double> results[2][2];
    for (int round = 0; round < 2; ++round) {
      placed<double, exec_type> x(this->exec(), host);
      placed<double, exec_type> of_rows(this->exec(), std::vector<double>(static_cast<std::size_t>(n)));
      placed<double, exec_type> of_columns(this->exec(), std::vector<double>(static_cast<std::size_t>(m)));
      const element_of_matrix f{x.data(), m};
      fanin::parallel_reduce_into(of_rows.data(), fanin::rows(this->exec(), n, m), f, fanin::sum<double>{});
      fanin::parallel_reduce_into(of_columns.data(), fanin::columns(this->exec(), n, m), f, fanin::sum<double>{});
      results[round][0] = of_rows.host();
      results[round][1] = of_columns.host();
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < m; ++j) {
          if (i != 1 && j != 1) host[static_cast<std::size_t>(i * m + j)] = std::numeric_limits<double>::quiet_NaN();
        }
      }
    }
    EXPECT_TRUE(is_same(results[0][0][1], results[1][0][1])) << n << " x " << m;
    EXPECT_TRUE(is_same(results[0][1][1], results[1][1][1])) << n << " x " << m;
  }
}

/// So many short ones that threads work on several at once.
TYPED_TEST(axes, many_short_rows) {
  using exec_type = typename TypeParam::exec_type;
  for (const auto& [n, m] : std::vector<matrix_shape>{{20'003, 7}, {9'001, 20}}) {
    placed<std::int32_t, exec_type> out(this->exec(), std::vector<std::int32_t>(static_cast<std::size_t>(n)));
    fanin::parallel_reduce_into(out.data(), fanin::rows(this->exec(), n, m), small_number{},
                                fanin::sum<std::int32_t>{});
    std::vector<std::int32_t> expected;
    for (std::int64_t i = 0; i < n; ++i) {
      expected.push_back(0);
      for (std::int64_t j = 0; j < m; ++j) expected.back() += small_number{}(i, j);
    }
    EXPECT_EQ(out.host(), expected) << n << " x " << m;
  }
}

/// Layers of a box to the places of a view, and rows to every second element, each at its own index; what lies between
/// stays.
TYPED_TEST(axes, destinations_of_any_layout) {
  using exec_type = typename TypeParam::exec_type;
  const fanin::sum<std::int64_t> sum;
  constexpr std::int64_t n = 7;
  constexpr std::int64_t m = 40;
  const auto box = fanin::md_range(this->exec(), {-2, 0, 3}, {n - 2, 9, m + 3});
  placed<std::int64_t, exec_type> plain(this->exec(), std::vector<std::int64_t>(n * m));
  fanin::parallel_reduce_into(plain.data(), fanin::axes<1>(box), spatial_digit{}, sum);
  const std::vector<std::int64_t> expected = plain.host();
  constexpr std::int64_t strides[][2] = {{m, 1}, {1, n + 2}, {2 * m + 1, 2}, {1, -n}};
  for (const auto& [of_row, of_column] : strides) {
    const std::size_t room = 3 * n * m;
    const std::int64_t first = of_column < 0 ? (m - 1) * n : 0;
    placed<std::int64_t, exec_type> memory(this->exec(), std::vector<std::int64_t>(room, -1));
    const fanin::view<std::int64_t, 2> out(memory.data() + first, {n, m}, {of_row, of_column});
    fanin::parallel_reduce_into(out, fanin::axes<1>(box), spatial_digit{}, sum);
    std::vector<std::int64_t> all(room, -1);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < m; ++j) {
        all[static_cast<std::size_t>(first + i * of_row + j * of_column)] =
            expected[static_cast<std::size_t>(i * m + j)];
      }
    }
    EXPECT_EQ(memory.host(), all) << of_row << ", " << of_column;
  }
  // The destination's own dimensions: of the left order too.
  const auto across = fanin::md_range<fanin::iterate::left>(this->exec(), {-2, 0, 3}, {n - 2, 9, m + 3});
  placed<std::int64_t, exec_type> again(this->exec(), std::vector<std::int64_t>(n * m));
  fanin::parallel_reduce_into(fanin::view<std::int64_t, 2>(again.data(), {n, m}), fanin::axes<1>(across),
                              spatial_digit{}, sum);
  EXPECT_EQ(again.host(), expected);

  placed<std::int64_t, exec_type> two(this->exec(), std::vector<std::int64_t>(4, -1));
  const fanin::view<std::int64_t, 1> second(two.data() + 1, {2}, {2});
  const auto rows = fanin::rows(this->exec(), 2, 3);
  const element_number f;
  fanin::parallel_reduce_into("rows", second, rows, f, sum);
  EXPECT_EQ(two.host(), (std::vector<std::int64_t>{-1, 3, -1, 33}));
  fanin::parallel_reduce_into(std::span(two.data(), 2), rows, f, sum);
  EXPECT_EQ(two.host(), (std::vector<std::int64_t>{3, 33, -1, 33}));

  const auto refused = [&](const auto& out, const auto& range) {
    try {
      fanin::parallel_reduce_into(out, range, f, sum);
    } catch (const fanin::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(std::span(two.data(), 4), rows),
            "fanin::parallel_reduce_into: the destination's extents are 4, and those of the indices that are left 2");
  EXPECT_EQ(refused(fanin::view<std::int64_t, 1>(two.data(), {2}, {0}), rows),
            "fanin::parallel_reduce_into: elements of the destination lie on each other; give one whose strides keep "
            "them apart");
  EXPECT_EQ(refused(fanin::view<std::int64_t, 1>(nullptr, {2}), rows),
            "fanin::parallel_reduce_into: the destination: the array is null and has 2 elements");
  EXPECT_EQ(refused(fanin::view<std::int64_t, 1>(nullptr, {0}), fanin::rows(this->exec(), 0, 3)), "");
}

TYPED_TEST(axes, nothing_left_writes_nothing_and_what_does_not_fit_is_refused) {
  auto& exec = this->exec();
  const fanin::sum<std::int64_t> sum;
  const mark_matrix f{1, nullptr};
  constexpr std::int64_t* nowhere = nullptr;
  fanin::parallel_reduce_into(nowhere, fanin::rows(exec, 0, 5), f, sum);
  EXPECT_THROW(fanin::parallel_reduce_into(nowhere, fanin::rows(exec, 5, 0), f, sum), fanin::invalid_argument);
  alignas(8) unsigned char bytes[16] = {};
  auto* const misaligned = reinterpret_cast<std::int64_t*>(bytes + 1);
  EXPECT_THROW(fanin::parallel_reduce_into(misaligned, fanin::rows(exec, 1, 0), f, sum), fanin::invalid_argument);
  const std::int64_t many = std::int64_t{1} << 32;
  EXPECT_THROW(fanin::axes<2>(fanin::md_range(exec, {many, many, std::int64_t{0}})), fanin::invalid_argument);
  EXPECT_EQ(fanin::axes<1>(fanin::md_range(exec, {many, many, std::int64_t{0}})).results(), 0);
  EXPECT_EQ(fanin::axes<0>(fanin::md_range(exec, {many, many / 4})).results(), many / 4);
}

}  // namespace fanin_test
