// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/cuda/split/array_rows.cuh>
#include <fanin/cuda/split/launch.cuh>
#include <fanin/cuda/split/rows_by_vectors.cuh>
#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/reducers.hpp>
#include <fanin/view.hpp>

#include "simulator/simulated.hpp"
#include "support/data.hpp"

/// Rows of an array by vectors of 16 bytes, that are whole ones, and others.
namespace fanin_test {
namespace {

template <class T>
struct rows_of_arrays : ::testing::Test, new_device {
  static constexpr std::int64_t width = static_cast<std::int64_t>(16 / sizeof(T));

  /// Its first element at a multiple of 16 bytes.
  static T* at_sixteen_bytes(std::vector<T>& memory) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (16 - address % 16) % 16 / sizeof(T);
  }
  /// Rows of `m` elements, `apart` in memory, the first one `first` elements behind a multiple of 16 bytes.
  void expect_sums(std::int64_t n, std::int64_t m, std::int64_t apart, std::int64_t first, bool are_vectors) {
    const std::string what = std::to_string(n) + " rows of " + std::to_string(m) + ", " + std::to_string(apart) +
                             " apart, from " + std::to_string(first);
    std::vector<T> memory(static_cast<std::size_t>(n * apart + first + width));
    T* const x = at_sixteen_bytes(memory) + first;
    std::vector<std::int64_t> sums;
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t sum = 0;
      std::int64_t least = 0;
      for (std::int64_t j = 0; j < m; ++j) {
        T& one = x[i * apart + j];
        one = static_cast<T>(static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(i * m + j)) % 90) - 40);
        sum += static_cast<std::int64_t>(one);
        if (one < x[i * apart + least]) least = j;
      }
      sums.push_back(sum);
      places.push_back(least);
    }
    const fanin::cuda gpu;
    const fanin::view<const T, 2> rows(x, {n, m}, {apart, 1});
    std::vector<T> got(static_cast<std::size_t>(n), -1);
    std::vector<fanin::value_index<T>> least(static_cast<std::size_t>(n));
    fanin::reduce_into(std::tuple(std::span(got), std::span(least)), gpu, fanin::rows(rows), fanin::sum<T>{},
                       fanin::min_loc<T>{});
    EXPECT_EQ(gpu.last_launch().strategy == std::string("rows by vectors"), are_vectors) << what;
    gpu.synchronize();
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_EQ(static_cast<std::int64_t>(got[at]), sums[at]) << what << ", row " << i;
      ASSERT_EQ(least[at].index, places[at]) << what << ", row " << i;
    }
  }
};

using types = ::testing::Types<float, double, std::int32_t>;
TYPED_TEST_SUITE(rows_of_arrays, types);

TYPED_TEST(rows_of_arrays, of_whole_vectors) {
  constexpr std::int64_t least = sizeof(TypeParam) == 4 ? 8 : 18;
  for (const std::int64_t n : {1, 2, 7, 333}) {
    for (const std::int64_t vectors : {1, 2, 3, 4, 7, 8, 9, 16, 31, 65, 130, 255, 257}) {
      const std::int64_t m = vectors * this->width;
      const bool may_be = m >= least && m <= 512;
      if (m <= 512 || n < 300) {
        this->expect_sums(n, m, m, 0, may_be);
        this->expect_sums(n, m, m + this->width, this->width, may_be);
      }
    }
  }
}

/// Rows that begin and end anywhere between multiples of 16 bytes.
TYPED_TEST(rows_of_arrays, of_vectors_and_single_elements) {
  constexpr std::int64_t least = sizeof(TypeParam) == 4 ? 17 : 9;
  for (const std::int64_t n : {1, 2, 7, 133}) {
    for (const std::int64_t m : {7, 9, 15, 17, 18, 19, 31, 33, 65, 131, 257, 511}) {
      for (std::int64_t first = 0; first < this->width; ++first) {
        for (const std::int64_t apart : {m, m + 1, m + 2}) {
          if ((m % this->width != 0 || first > 0 || apart % this->width != 0) && (n < 100 || apart == m)) {
            this->expect_sums(n, m, apart, first, m >= least);
          }
        }
      }
    }
    this->expect_sums(n, 64, 65, 0, true);
    this->expect_sums(n, 64, 64, 1, true);
  }
}

/// Every second and every third element, forwards and backwards, along rows and across them.
TYPED_TEST(rows_of_arrays, of_elements_that_lie_apart) {
  constexpr std::int64_t n = 70;
  for (const std::int64_t m : {5, 33, 97}) {
    for (const auto& [step, gap] : {std::pair<std::int64_t, std::int64_t>{-1, 0}, {2, 1}, {3, 0}, {9, 0}, {2, 300}}) {
      const std::int64_t apart = m * (step < 0 ? -step : step) + gap;
      std::vector<TypeParam> memory(static_cast<std::size_t>(n * apart));
      for (std::int64_t k = 0; k < n * apart; ++k) {
        memory[static_cast<std::size_t>(k)] = static_cast<TypeParam>(mix(static_cast<std::uint64_t>(k)) % 50);
      }
      const fanin::view<const TypeParam, 2> all(memory.data() + (step < 0 ? m - 1 : 0), {n, m}, {apart, step});
      std::vector<TypeParam> rows(static_cast<std::size_t>(n));
      std::vector<TypeParam> columns(static_cast<std::size_t>(m));
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < m; ++j) {
          rows[static_cast<std::size_t>(i)] += all(i, j);
          columns[static_cast<std::size_t>(j)] += all(i, j);
        }
      }
      const fanin::cuda gpu;
      std::vector<TypeParam> of_rows(rows.size(), -1);
      std::vector<TypeParam> of_columns(columns.size(), -1);
      std::vector<TypeParam> most(of_rows.size() + of_columns.size());
      fanin::reduce_into(std::tuple(std::span(of_rows), most.data()), gpu, fanin::rows(all), fanin::sum<TypeParam>{},
                         fanin::max<TypeParam>{});
      EXPECT_EQ(gpu.last_launch().strategy, std::string("rows by lanes"));
      fanin::reduce_into(std::tuple(std::span(of_columns), most.data()), gpu, fanin::columns(all),
                         fanin::sum<TypeParam>{}, fanin::max<TypeParam>{});
      gpu.synchronize();
      EXPECT_EQ(of_rows, rows) << m << ", " << step;
      EXPECT_EQ(of_columns, columns) << m << ", " << step;
    }
  }
}

/// Two of them are a vector, which may begin between two of a vector's.
struct two_floats {
  float a;
  float b;
  friend FANIN_FUNCTION two_floats operator+(const two_floats& x, const two_floats& y) {
    return {x.a + y.a, x.b + y.b};
  }
  friend bool operator==(const two_floats&, const two_floats&) = default;
};

TEST(rows_of_arrays, of_elements_that_ask_for_less_than_their_size) {
  const new_device device;
  constexpr std::int64_t n = 9;
  constexpr std::int64_t m = 33;
  alignas(16) float memory[2 * n * m + 2];
  for (const bool is_between : {false, true}) {
    float* const first = memory + (is_between ? 1 : 2);
    for (std::int64_t k = 0; k < 2 * n * m; ++k) first[k] = static_cast<float>(k % 101);
    const fanin::cuda gpu;
    const fanin::view<const two_floats, 2> rows(reinterpret_cast<const two_floats*>(first), {n, m});
    two_floats got[n];
    fanin::reduce_into(std::span(got), gpu, fanin::rows(rows), fanin::sum<two_floats>{});
    EXPECT_EQ(gpu.last_launch().strategy, std::string(is_between ? "rows by lanes" : "rows by vectors"));
    gpu.synchronize();
    for (std::int64_t i = 0; i < n; ++i) {
      two_floats sum{};
      for (std::int64_t j = 0; j < m; ++j) sum = sum + rows(i, j);
      EXPECT_EQ(got[i], sum) << i;
    }
  }
}

/// What is loaded as whole vectors begins where these do: here any address would do, and on a GPU none but those.
TEST(rows_of_arrays, are_whole_vectors_where_all_begin_with_one) {
  using values = fanin::detail::strided_values<fanin::detail::itself, 2, float>;
  using rows = fanin::detail::axes_functor<values, fanin::detail::axes_of<2, 1>, fanin::iterate::right>;
  alignas(16) const float x[8] = {};
  const auto are_whole = [&](std::int64_t first, std::int64_t count, std::int64_t apart) {
    values all{{}, {{{x + first}}}, {}};
    all.strides[0] = {{apart, 1}};
    return fanin::detail::are_whole_vectors(rows{{{}, {{7}}, 7}, {{}, {{count}}, count}, 7, count, all});
  };
  EXPECT_TRUE(are_whole(0, 8, 8));
  EXPECT_TRUE(are_whole(4, 8, -12));
  EXPECT_FALSE(are_whole(1, 8, 8));
  EXPECT_FALSE(are_whole(0, 8, 9));
  EXPECT_FALSE(are_whole(0, 7, 8));
}

/// Columns of a matrix and of a part of one, by how many there are, how far apart they lie, and rows of how many.
TEST(rows_of_arrays, fill_lines_where_these_are_theirs) {
  using values = fanin::detail::strided_values<fanin::detail::itself, 2, float>;
  using columns = fanin::detail::axes_functor<values, fanin::detail::axes_of<2, 0>, fanin::iterate::right>;
  const auto fill = [](std::int64_t results, std::int64_t step, std::int64_t row) {
    values all{};
    all.strides[0] = {{row, step}};
    return fanin::detail::fill_lines(columns{{{}, {{results}}, results}, {{}, {{9}}, 9}, results, 9, all});
  };
  EXPECT_TRUE(fill(3, 1, 3));
  EXPECT_TRUE(fill(3, -1, -6));
  EXPECT_FALSE(fill(3, 1, 7));
  EXPECT_TRUE(fill(256, 1, 100'000));
  EXPECT_FALSE(fill(255, 1, 100'000));
  EXPECT_TRUE(fill(1'000, 8, 8'000));
  EXPECT_FALSE(fill(1'000, 9, 9'000));
}

template <class T>
struct sum_and_indices {
  FANIN_FUNCTION T operator()(T sum, std::int64_t i, std::int64_t j) const {
    return sum + static_cast<T>(1'000 * i + 100 * j);
  }
};

/// Dimensions that are left lie apart, in another order than declared, and backwards; a function gets their indices.
TYPED_TEST(rows_of_arrays, of_dimensions_that_lie_anyhow) {
  constexpr std::int64_t n = 5;
  constexpr std::int64_t m = 7;
  constexpr std::int64_t count = 64;
  const std::int64_t apart = count + this->width;
  const std::int64_t further = n * apart + 2 * this->width;
  std::vector<TypeParam> memory(static_cast<std::size_t>(m * further + this->width));
  TypeParam* const x = this->at_sixteen_bytes(memory);
  for (std::int64_t k = 0; k < m * further; ++k) x[k] = static_cast<TypeParam>(mix(static_cast<std::uint64_t>(k)) % 50);
  for (const bool backwards : {false, true}) {
    const std::int64_t first = backwards ? (n - 1) * apart : 0;
    const std::int64_t step = backwards ? -apart : apart;
    const fanin::view<const TypeParam, 3> all(x + first, {n, m, count}, {step, further, 1});
    std::vector<TypeParam> expected;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < m; ++j) {
        TypeParam sum = 0;
        for (std::int64_t k = 0; k < count; ++k) sum += x[first + i * step + j * further + k];
        expected.push_back(sum_and_indices<TypeParam>{}(sum, i, j));
      }
    }
    const fanin::cuda gpu;
    std::vector<TypeParam> got(static_cast<std::size_t>(n * m), -1);
    fanin::reduce_into(got.data(), gpu, fanin::axes<2>(all),
                       fanin::finished(sum_and_indices<TypeParam>{}, fanin::sum<TypeParam>{}));
    EXPECT_EQ(gpu.last_launch().strategy, std::string("rows by vectors"));
    gpu.synchronize();
    EXPECT_EQ(got, expected);
  }
}

}  // namespace
}  // namespace fanin_test
