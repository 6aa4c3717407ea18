// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reduce.hpp>
#include <fanin/segments.hpp>
#include <fanin/view.hpp>

#include "exact/values.hpp"
#include "support/same.hpp"

/// Exact sums of many rows on a host, beside accumulators that take one element after the other: few elements of a
/// row, and many; of one range, of several and of any bits; rows whose elements are neighbours, and columns.
namespace fanin_test {

struct shape_of_sums {
  std::int64_t rows;
  std::int64_t columns;
};
inline constexpr shape_of_sums shapes_of_sums[] = {
    {0, 3},   {3, 0},   {1, 1},   {3, 1},    {1, 3},    {5, 4},    {4, 5},   {2, 40},  {40, 2},    {33, 31},
    {31, 33}, {7, 200}, {200, 7}, {127, 65}, {128, 64}, {129, 32}, {513, 9}, {9, 513}, {1'030, 3}, {3, 1'030}};

template <class T>
std::vector<std::vector<T>> data_of_many(std::size_t n) {
  constexpr int least = std::numeric_limits<T>::min_exponent - 1;
  constexpr int most = std::numeric_limits<T>::max_exponent - 1;
  auto zeros = std::vector<T>(n);
  for (std::size_t k = 0; k < n; k += 3) zeros[k] = -T{0};
  auto special = of_range<T>(n, -3, 3, 5);
  if (n > 0) special[n / 2] = std::numeric_limits<T>::infinity();
  if (n > 40) special[n / 3] = std::numeric_limits<T>::quiet_NaN();
  auto some = of_range<T>(n, -10, 10, 6);
  for (std::size_t k = 0; k < n; k += 50) some[k] = std::ldexp(T{1}, k % 100 == 0 ? least : most);
  return {of_range<T>(n, -3, 3, 1),
          of_range<T>(n, -24, 24, 2),
          of_range<T>(n, -60, 60, 3),
          zeros,
          special,
          some,
          of_range<T>(n, most - 4, most, 4),
          of_range<T>(n, least, least + 9, 7)};
}

template <class T, class Exec>
void check_exact_sums_of_many(const Exec& exec) {
  for (const shape_of_sums& shape : shapes_of_sums) {
    const std::int64_t n = shape.rows;
    const std::int64_t m = shape.columns;
    int data = 0;
    for (const std::vector<T>& x : data_of_many<T>(static_cast<std::size_t>(n * m))) {
      const std::string what = std::to_string(n) + " x " + std::to_string(m) + ", data " + std::to_string(data++);
      const auto rows = static_cast<std::size_t>(n);
      const auto columns = static_cast<std::size_t>(m);
      std::vector<fanin::exact_accumulator> of_row(rows);
      std::vector<fanin::exact_accumulator> of_column(columns);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < m; ++j) {
          of_row[static_cast<std::size_t>(i)].add(x[static_cast<std::size_t>(i * m + j)]);
          of_column[static_cast<std::size_t>(j)].add(x[static_cast<std::size_t>(i * m + j)]);
        }
      }
      std::vector<T> expected_rows;
      std::vector<T> expected_columns;
      for (const auto& one : of_row) expected_rows.push_back(one.template value_as<T>());
      for (const auto& one : of_column) expected_columns.push_back(one.template value_as<T>());

      const fanin::view<const T, 2> view(x.data(), {n, m});
      const T* const data_of = x.data();
      const auto f = [data_of, m](std::int64_t i, std::int64_t j) { return data_of[i * m + j]; };
      const fanin::exact_sum<T> sum;
      const auto expect = [&](const std::vector<T>& expected, const char* form, const auto& call) {
        std::vector<T> sums(expected.size(), -1);
        call(sums);
        EXPECT_TRUE(is_same(sums, expected)) << what << ", " << form;
      };
      expect(expected_rows, "rows", [&](auto& to) { fanin::reduce_into(to, exec, fanin::rows(view), sum); });
      expect(expected_rows, "rows of f",
             [&](auto& to) { fanin::parallel_reduce_into(to, fanin::rows(exec, n, m), f, sum); });
      std::vector<std::int64_t> offsets(rows + 1);
      for (std::size_t at = 0; at <= rows; ++at) offsets[at] = static_cast<std::int64_t>(at) * m;
      const auto segments = fanin::segments(std::span(x), std::span<const std::int64_t>(offsets));
      expect(expected_rows, "segments", [&](auto& to) { fanin::reduce_into(to, exec, segments, sum); });
      expect(expected_columns, "columns", [&](auto& to) { fanin::reduce_into(to, exec, fanin::columns(view), sum); });
      expect(expected_columns, "columns of f",
             [&](auto& to) { fanin::parallel_reduce_into(to, fanin::columns(exec, n, m), f, sum); });
      std::vector<double> wide(columns, -1);
      std::vector<double> expected_wide;
      for (const auto& one : of_column) expected_wide.push_back(one.value());
      expect(expected_columns, "columns of two sums", [&](auto& to) {
        fanin::parallel_reduce_into(std::tie(to, wide), fanin::columns(exec, n, m), f, sum,
                                    fanin::exact_sum<T, double>{});
      });
      EXPECT_TRUE(is_same(wide, expected_wide)) << what << ", columns of two sums, as doubles";
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace fanin_test
