// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/finished.hpp>
#include <fanin/segments.hpp>
#include <fanin/view.hpp>

#include "contract/contract.hpp"
#include "contract/many.hpp"

/// Many results of arrays: axes, rows, columns and segments of them; and a destination for each of several reducers.
namespace fanin_test {

template <class Fixture>
class arrays_of_many : public contract<Fixture> {};
TYPED_TEST_SUITE(arrays_of_many, fixtures, fixture_names);

/// How a box lies in memory: `first` elements behind its start element (0, 0, 0).
struct box_layout {
  fanin::md_index<3> extents;
  fanin::md_index<3> strides;
  std::int64_t first = 0;
  std::int64_t room = 0;
};

/// Each order of dimensions, packed, with gaps, one backwards, one of no step.
inline std::vector<box_layout> box_layouts(const fanin::md_index<3>& extents) {
  std::vector<box_layout> layouts;
  constexpr std::size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    for (const int kind : {0, 1, 2, 3}) {
      box_layout one{extents, {}};
      std::int64_t step = kind == 1 ? 3 : 1;
      for (const std::size_t d : {order[2], order[1], order[0]}) {
        one.strides[d] = step;
        step *= extents[d];
        if (kind == 1) step += 2;
      }
      one.room = step;
      if (kind == 2) {
        const std::size_t d = order[1];
        one.first = (extents[d] - 1) * one.strides[d];
        one.strides[d] = -one.strides[d];
      }
      if (kind == 3) one.strides[order[0]] = 0;
      layouts.push_back(one);
    }
  }
  return layouts;
}

/// Axes Axis of a box of small numbers with many equals; sums and least ones to destinations of their own.
template <std::size_t... Axis, class Exec>
void reduce_boxes(Exec& exec, const fanin::md_index<3>& extents) {
  constexpr std::size_t reduced = sizeof...(Axis);
  constexpr bool is_reduced[] = {((Axis == 0) || ...), ((Axis == 1) || ...), ((Axis == 2) || ...)};
  using place = std::conditional_t<reduced == 1, std::int64_t, fanin::md_index<reduced>>;
  using least = fanin::value_index<std::int64_t, place>;
  fanin::md_index<3 - reduced> left{};
  std::int64_t results = 1;
  for (std::size_t d = 0, at = 0; d < 3; ++d) {
    if (is_reduced[d]) continue;
    left[at++] = extents[d];
    results *= extents[d];
  }
  for (const box_layout& layout : box_layouts(extents)) {
    std::vector<std::int64_t> host;
    for (std::int64_t k = 0; k < layout.room; ++k) {
      host.push_back(static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(k)) % 50));
    }
    placed<std::int64_t, Exec> memory(exec, host);
    const fanin::view<const std::int64_t, 3> box(memory.data() + layout.first, extents, layout.strides);
    const fanin::view<const std::int64_t, 3> on_host(host.data() + layout.first, extents, layout.strides);
    std::vector<std::int64_t> sums(static_cast<std::size_t>(results), 0);
    std::vector<least> leasts(sums.size(), least{std::numeric_limits<std::int64_t>::max(), {}});
    for (std::int64_t i = 0; i < extents[0]; ++i) {
      for (std::int64_t j = 0; j < extents[1]; ++j) {
        for (std::int64_t k = 0; k < extents[2]; ++k) {
          const std::int64_t index[] = {i, j, k};
          std::int64_t at = 0;
          fanin::md_index<reduced> along{};
          for (std::size_t d = 0, r = 0; d < 3; ++d) {
            if (is_reduced[d]) {
              along[r++] = index[d];
            } else {
              at = at * extents[d] + index[d];
            }
          }
          const std::int64_t value = on_host(i, j, k);
          sums[static_cast<std::size_t>(at)] += value;
          least& so_far = leasts[static_cast<std::size_t>(at)];
          if (value < so_far.value) {
            if constexpr (reduced == 1) {
              so_far = {value, along[0]};
            } else {
              so_far = {value, along};
            }
          }
        }
      }
    }
    // Sums stand in a view whose first index is the fastest, with a gap behind each.
    fanin::md_index<3 - reduced> strides{};
    std::int64_t step = 2;
    for (std::size_t d = 0; d < 3 - reduced; ++d) {
      strides[d] = step;
      step *= left[d];
    }
    placed<std::int64_t, Exec> of_sums(exec, std::vector<std::int64_t>(static_cast<std::size_t>(2 * results), -1));
    placed<least, Exec> of_leasts(exec, std::vector<least>(leasts.size()));
    fanin::reduce_into(
        std::tuple(fanin::view<std::int64_t, 3 - reduced>(of_sums.data(), left, strides), of_leasts.data()), exec,
        fanin::axes<Axis...>(box), fanin::sum<std::int64_t>{}, fanin::min_loc<std::int64_t>{});
    std::vector<std::int64_t> apart(of_sums.size(), -1);
    for (std::int64_t at = 0; at < results; ++at) {
      std::int64_t offset = 0;
      std::int64_t rest = at;
      for (std::size_t d = 3 - reduced; d-- > 0; rest /= left[d]) offset += rest % left[d] * strides[d];
      apart[static_cast<std::size_t>(offset)] = sums[static_cast<std::size_t>(at)];
    }
    const std::string where = std::to_string(layout.strides[0]) + ", " + std::to_string(layout.strides[1]) + ", " +
                              std::to_string(layout.strides[2]);
    EXPECT_EQ(of_sums.host(), apart) << where;
    EXPECT_TRUE(is_same(of_leasts.host(), leasts)) << where;
  }
}

TYPED_TEST(arrays_of_many, axes_of_every_layout) {
  reduce_boxes<1>(this->exec(), {{5, 33, 4}});
  reduce_boxes<0, 2>(this->exec(), {{9, 7, 40}});
  if constexpr (TypeParam::breadth == coverage::full) {
    reduce_boxes<2>(this->exec(), {{3, 1, 70}});
    reduce_boxes<1, 2>(this->exec(), {{6, 8, 9}});
  }
}

/// g gets the indices as they were declared, however the array lies.
struct mark_place {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t sum, std::int64_t i, std::int64_t k) const {
    return sum * 10'000 + i * 100 + k;
  }
};

TYPED_TEST(arrays_of_many, finished_with_their_indices) {
  using exec_type = typename TypeParam::exec_type;
  std::vector<std::int64_t> host;
  for (std::int64_t k = 0; k < 6 * 5 * 7; ++k) host.push_back(k % 11);
  placed<std::int64_t, exec_type> memory(this->exec(), host);
  for (const fanin::md_index<3>& strides : {fanin::md_index<3>{{35, 7, 1}}, fanin::md_index<3>{{1, 6, 30}}}) {
    const fanin::view<const std::int64_t, 3> box(memory.data(), fanin::md_index<3>{{6, 5, 7}}, strides);
    const fanin::view<const std::int64_t, 3> on_host(host.data(), fanin::md_index<3>{{6, 5, 7}}, strides);
    std::vector<std::int64_t> expected;
    for (std::int64_t i = 0; i < 6; ++i) {
      for (std::int64_t k = 0; k < 7; ++k) {
        std::int64_t sum = 0;
        for (std::int64_t j = 0; j < 5; ++j) sum += on_host(i, j, k);
        expected.push_back(mark_place{}(sum, i, k));
      }
    }
    placed<std::int64_t, exec_type> out(this->exec(), std::vector<std::int64_t>(expected.size()));
    fanin::reduce_into("finished", out.data(), this->exec(), fanin::axes<1>(box),
                       fanin::finished(mark_place{}, fanin::sum<std::int64_t>{}));
    EXPECT_EQ(out.host(), expected) << strides[0];
  }
}

/// Large numbers that cancel, of matrices whose rows, or columns, lie side by side; and matrices without elements.
TYPED_TEST(arrays_of_many, exact_sums_of_rows_and_columns) {
  using exec_type = typename TypeParam::exec_type;
  const fanin::exact_sum<double> sum;
  for (const auto& [n, m] : std::vector<matrix_shape>{{37, 21}, {2, 20'001}, {4, 0}, {0, 4}}) {
    std::vector<double> host;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < m; ++j) {
        host.push_back(j == m - 1 ? static_cast<double>(i + 1) : j % 2 == 0 ? 0x1p200 : -0x1p200);
      }
    }
    std::vector<double> expected;
    for (std::int64_t i = 0; i < n; ++i) expected.push_back(m == 0 ? 0 : static_cast<double>(i + 1));
    placed<double, exec_type> x(this->exec(), host);
    placed<double, exec_type> out(this->exec(), std::vector<double>(static_cast<std::size_t>(n), -1));
    fanin::reduce_into(out.data(), this->exec(), fanin::rows(fanin::view<const double, 2>(x.data(), {n, m})), sum);
    EXPECT_EQ(out.host(), expected) << n << " x " << m;
    const fanin::view<const double, 2> across(x.data(), {m, n}, {1, m});
    fanin::reduce_into(std::span<double>(out.data(), out.size()), this->exec(), fanin::columns(across), sum);
    EXPECT_EQ(out.host(), expected) << n << " x " << m;
  }
}

/// What offsets say beyond the array is not there; every second element, and the first of equals.
TYPED_TEST(arrays_of_many, segments_of_an_array) {
  using exec_type = typename TypeParam::exec_type;
  constexpr std::int64_t count = 5'000;
  std::vector<std::int64_t> host;
  for (std::int64_t k = 0; k < 2 * count; ++k) {
    host.push_back(static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(k)) % 50));
  }
  placed<std::int64_t, exec_type> memory(this->exec(), host);
  const std::vector<std::int32_t> bounds{-7, 3, 3, 40, 39, 2'000, 4'999, 2'000'000'000, 4'000, 5'000, 5'001, 6'000};
  placed<std::int32_t, exec_type> offsets(this->exec(), bounds);
  for (const std::int64_t stride : {1, 2}) {
    std::vector<sum_and_place> expected;
    for (std::size_t s = 0; s + 1 < bounds.size(); ++s) {
      const std::int64_t begin = std::clamp<std::int64_t>(bounds[s], 0, count);
      const std::int64_t end = std::clamp<std::int64_t>(bounds[s + 1], 0, count);
      expected.push_back(
          expected_of(std::max<std::int64_t>(end - begin, 0), [&](std::int64_t k) { return (begin + k) * stride; }));
      auto& [least, at] = fanin::get<1>(expected.back());
      if (at >= 0) at += begin;
    }
    const fanin::view<const std::int64_t, 1> xs(memory.data(), {count}, {stride});
    placed<sum_and_place, exec_type> out(this->exec(), std::vector<sum_and_place>(expected.size()));
    fanin::reduce_into(out.data(), this->exec(), fanin::segments(xs, offsets.span()), fanin::sum<std::int64_t>{},
                       fanin::min_loc<std::int64_t>{});
    EXPECT_TRUE(is_same(out.host(), expected)) << stride;
  }
}

/// Of ranges too: one long row and many, and reducers that keep their state in a block.
TYPED_TEST(arrays_of_many, a_destination_for_each_reducer) {
  using exec_type = typename TypeParam::exec_type;
  using least = fanin::value_index<std::int32_t>;
  for (const auto& [n, m] : std::vector<matrix_shape>{{1, 100'001}, {600, 11}, {11, 600}}) {
    placed<double, exec_type> sums(this->exec(), std::vector<double>(static_cast<std::size_t>(2 * n), -1));
    placed<least, exec_type> leasts(this->exec(), std::vector<least>(static_cast<std::size_t>(n)));
    const fanin::view<double, 1> apart(sums.data(), {n}, {2});
    auto to = std::tuple(apart, std::span<least>(leasts.data(), leasts.size()));
    fanin::parallel_reduce_into(to, fanin::rows(this->exec(), n, m), small_number{}, fanin::exact_sum<double>{},
                                fanin::min_loc<std::int32_t>{});
    std::vector<double> expected(sums.size(), -1);
    std::vector<least> expected_leasts;
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      least one{100, 0};
      for (std::int64_t j = 0; j < m; ++j) {
        const std::int32_t value = small_number{}(i, j);
        sum += value;
        if (value < one.value) one = {value, j};
      }
      expected[static_cast<std::size_t>(2 * i)] = sum;
      expected_leasts.push_back(one);
    }
    EXPECT_EQ(sums.host(), expected) << n << " x " << m;
    EXPECT_TRUE(is_same(leasts.host(), expected_leasts)) << n << " x " << m;
  }
}

TYPED_TEST(arrays_of_many, wrong_arguments) {
  using exec_type = typename TypeParam::exec_type;
  const fanin::sum<double> sum;
  placed<double, exec_type> x(this->exec(), std::vector<double>(12, 1));
  placed<double, exec_type> out(this->exec(), std::vector<double>(8, -1));
  const fanin::view<const double, 2> matrix(x.data(), {3, 4});
  const std::span<double> three(out.data(), 3);
  const std::span<double> four(out.data(), 4);
  const auto refused = [&](const auto& call, const char* words) {
    try {
      call();
      ADD_FAILURE() << "not refused: " << words;
    } catch (const fanin::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  refused([&] { fanin::reduce_into(four, this->exec(), fanin::rows(matrix), sum); },
          "the destination's extents are 4, and those of the indices that are left 3");
  refused([&] { fanin::reduce_into(std::tuple(three, four), this->exec(), fanin::rows(matrix), sum, sum); },
          "the destination's extents are 4, and those of the indices that are left 3");
  refused([&] { fanin::reduce_into(static_cast<double*>(nullptr), this->exec(), fanin::rows(matrix), sum); },
          "the destination is null");
  refused(
      [&] {
        const fanin::view<double, 1> on_each_other(out.data(), {3}, {0});
        fanin::reduce_into(std::tuple(three, on_each_other), this->exec(), fanin::rows(matrix), sum, sum);
      },
      "elements of the destination lie on each other");
  refused(
      [&] {
        const fanin::view<const double, 2> nothing(nullptr, {3, 4});
        fanin::reduce_into(three, this->exec(), fanin::rows(nothing), sum);
      },
      "the array is null");
  refused([&] { (void)fanin::segments(x.span(), std::span<const std::int32_t>()); }, "there are no offsets");
  const fanin::view<const double, 2> no_rows(nullptr, {0, 4});
  fanin::reduce_into(static_cast<double*>(nullptr), this->exec(), fanin::rows(no_rows), sum);
  synchronize(this->exec());
  EXPECT_EQ(out.host(), std::vector<double>(8, -1));
}

}  // namespace fanin_test
