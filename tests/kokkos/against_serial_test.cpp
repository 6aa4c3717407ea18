// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "spaces.hpp"
#include "support/in_order.hpp"

namespace {

constexpr std::int64_t sizes[] = {0, 1, 2, 31, 32, 33, 1000, (std::int64_t{1} << 20) + 7};

template <class T>
std::vector<T> random_values(std::int64_t n, T low, T high) {
  std::mt19937_64 engine(static_cast<std::uint64_t>(n) + 17);
  std::vector<T> values(static_cast<std::size_t>(n));
  if constexpr (std::is_floating_point_v<T>) {
    std::uniform_real_distribution<T> pick(low, high);
    for (T& value : values) value = pick(engine);
  } else {
    std::uniform_int_distribution<T> pick(low, high);
    for (T& value : values) value = pick(engine);
  }
  return values;
}

/// Sums and products of floats round in another order: each of n - 1 operations of either order errs by at most one
/// epsilon of the largest partial result, which `scale` bounds.
template <class R>
void expect_same(const R& got, const R& oracle, std::int64_t n, double scale) {
  if constexpr (std::is_floating_point_v<R>) {
    if (scale > 0) {
      const double bound =
          2.0 * static_cast<double>(n) * static_cast<double>(std::numeric_limits<R>::epsilon()) * scale;
      EXPECT_NEAR(static_cast<double>(got), static_cast<double>(oracle), bound) << "n = " << n;
      return;
    }
  }
  EXPECT_EQ(got, oracle) << "n = " << n;
}

/// f(i), f(i, acc&), and a span into the space's memory: all ways to a result with the fewest kernels to compile.
template <class Space, class Reducer, class T>
void compare(const std::vector<T>& values, Reducer reducer, double scale = 0) {
  fanin::kokkos<Space> exec;
  const auto n = static_cast<std::int64_t>(values.size());
  const auto data = to_space(exec, values);
  const auto oracle = fanin::reduce(fanin_test::in_order, values, reducer);
  using result = std::remove_cv_t<decltype(oracle)>;

  const load<T> f{data.data()};
  const fold_in<Reducer> g{data.data(), reducer};
  const auto range = fanin::range(exec, n);
  const result first = fanin::parallel_reduce(range, f, reducer);
  expect_same<result>(first, oracle, n, scale);
  expect_same<result>(fanin::parallel_reduce(range, g, reducer), oracle, n, scale);
  EXPECT_EQ(fanin::parallel_reduce(range, f, reducer), first) << "another run, other bits; n = " << n;

  fanin::buffer<result, fanin::kokkos<Space>> out(exec, 1);
  fanin::reduce_into(out.data(), exec, data, reducer);
  expect_same<result>(value_of(out), oracle, n, scale);
}

template <class Space, class T>
void compare_ordered() {
  for (const std::int64_t n : sizes) {
    const auto values = random_values<T>(n, T{-100}, T{100});
    compare<Space>(values, fanin::min<T>{});
    compare<Space>(values, fanin::max<T>{});
    compare<Space>(values, fanin::min_loc<T>{});
    compare<Space>(values, fanin::max_loc<T>{});
    compare<Space>(values, fanin::min_max<T>{});
    compare<Space>(values, fanin::min_max_loc<T>{});
  }
}

template <class Space>
using kokkos_against_serial = kokkos_case<Space>;
TYPED_TEST_SUITE(kokkos_against_serial, all_spaces);

TYPED_TEST(kokkos_against_serial, sums_and_products_of_integers) {
  for (const std::int64_t n : sizes) {
    const auto values = random_values<std::int32_t>(n, INT32_MIN, INT32_MAX);
    compare<TypeParam>(values, fanin::sum<std::int32_t>{});
    compare<TypeParam>(values, fanin::prod<std::int32_t>{});
    compare<TypeParam>(values, fanin::band<std::int32_t>{});
    compare<TypeParam>(values, fanin::bor<std::int32_t>{});
    compare<TypeParam>(values, fanin::land<std::int32_t>{});
    compare<TypeParam>(values, fanin::lor<std::int32_t>{});
    const auto words = random_values<std::uint64_t>(n, 0, UINT64_MAX);
    compare<TypeParam>(words, fanin::sum<std::uint64_t>{});
    compare<TypeParam>(words, fanin::prod<std::uint64_t>{});
  }
}

TYPED_TEST(kokkos_against_serial, sums_and_products_of_floats) {
  for (const std::int64_t n : sizes) {
    const auto signed_values = random_values<double>(n, -1, 1);
    compare<TypeParam>(signed_values, fanin::sum<double>{}, 0.5 * static_cast<double>(n) + 1);
    compare<TypeParam>(random_values<double>(n, 0.999999, 1.000001), fanin::prod<double>{}, 4);
    compare<TypeParam>(random_values<float>(n, -1, 1), fanin::sum<float>{}, 0.5 * static_cast<double>(n) + 1);
  }
}

TYPED_TEST(kokkos_against_serial, ordered_reducers) {
  compare_ordered<TypeParam, double>();
  compare_ordered<TypeParam, std::int32_t>();
}

TYPED_TEST(kokkos_against_serial, nan_is_found_wherever_it_stands) {
  constexpr std::size_t n = 1001;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
    auto values = random_values<double>(static_cast<std::int64_t>(n), -1, 1);
    values[at] = nan;
    fanin::kokkos<TypeParam> exec;
    const auto data = to_space(exec, values);
    EXPECT_TRUE(std::isnan(fanin::reduce(exec, data, fanin::min<double>{})));
    EXPECT_TRUE(std::isnan(fanin::reduce(exec, data, fanin::max<double>{})));
    EXPECT_EQ(fanin::reduce(exec, data, fanin::min_loc<double>{}).index, static_cast<std::int64_t>(at));
    EXPECT_EQ(fanin::reduce(exec, data, fanin::max_loc<double>{}).index, static_cast<std::int64_t>(at));
  }
}

TYPED_TEST(kokkos_against_serial, equal_elements_give_the_smallest_index) {
  fanin::kokkos<TypeParam> exec;
  std::vector<double> values(100000, 2.0);
  for (const std::size_t at : {77777u, 501u, 99999u}) values[at] = 1.0;
  const auto data = to_space(exec, values);
  const auto [lowest, index] = fanin::reduce(exec, data, fanin::min_loc<double>{});
  EXPECT_EQ(lowest, 1.0);
  EXPECT_EQ(index, 501);
  EXPECT_EQ(fanin::reduce(exec, data, fanin::max_loc<double>{}).index, 0);
}

TYPED_TEST(kokkos_against_serial, identities_are_fanins_own) {
  fanin::kokkos<TypeParam> exec;
  const auto empty = fanin::range(exec, 0);
  const load<double> f{nullptr};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(fanin::parallel_reduce(empty, f, fanin::min<double>{}), infinity);
  EXPECT_EQ(fanin::parallel_reduce(empty, f, fanin::max<double>{}), -infinity);
  const auto data = to_space(exec, std::vector<double>{infinity, infinity});
  EXPECT_EQ(fanin::reduce(exec, data, fanin::min<double>{}), infinity);
  const auto zero = to_space(exec, std::vector<double>{-0.0});
  EXPECT_FALSE(std::signbit(fanin::reduce(exec, zero, fanin::sum<double>{})));
}

TYPED_TEST(kokkos_against_serial, several_reducers_in_one_pass) {
  for (const std::int64_t n : sizes) {
    const auto values = random_values<std::int64_t>(n, INT64_MIN, INT64_MAX);
    fanin::kokkos<TypeParam> exec;
    const auto data = to_space(exec, values);
    const fanin::sum<std::int64_t> sum{};
    const fanin::min_loc<std::int64_t> least{};
    const fanin::bor<std::int64_t> bits{};
    const auto oracle = fanin::reduce(fanin_test::in_order, values, sum, least, bits);
    using result = std::remove_cv_t<decltype(oracle)>;
    EXPECT_EQ(fanin::reduce(exec, data, sum, least, bits), oracle);
    const load<std::int64_t> f{data.data()};
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec, n), f, sum, least, bits), oracle);
    fanin::buffer<result, fanin::kokkos<TypeParam>> out(exec, 1);
    fanin::parallel_reduce_into(out.data(), fanin::range(exec, n), f, sum, least, bits);
    EXPECT_EQ(value_of(out), oracle);
  }
}

}  // namespace
