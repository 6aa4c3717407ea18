// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <fanin/fanin.hpp>

#include "support/functors.hpp"
#include "support/in_order.hpp"
#include "support/same.hpp"
#include "support/user_reducers.hpp"

/// What holds for any array, on generated ones that shrink to the smallest counterexample. The objects: the orders
/// of serial, and Kokkos's default host space where g++ may see it. (The CUDA backend's are in cuda/.)
namespace fanin_test {
namespace {

using integers = std::vector<std::int64_t>;

/// Calls `check` with every host object.
template <class Check>
void on_every_host_object(const Check& check) {
  fanin::serial lanes;
  check(lanes);
  fanin::serial left_to_right(fanin::serial_order::left_to_right);
  check(left_to_right);
  fanin::serial halving(fanin::serial_order::recursive_halving);
  check(halving);
#if FANIN_HAS_KOKKOS && !FANIN_KOKKOS_NEEDS_CUDA
  static fanin::kokkos<Kokkos::DefaultHostExecutionSpace> space;
  check(space);
#endif
}

template <class T>
struct merge_through {
  template <class Reducer>
  static auto of(const Reducer& r, std::span<const T> x, std::int64_t first) {
    auto acc = r.identity();
    for (std::size_t i = 0; i < x.size(); ++i) {
      fanin::detail::fold_value(r, acc, x[i], first + static_cast<std::int64_t>(i));
    }
    return acc;
  }
};

/// An array cut anywhere: the joined parts are the whole, in either order.
template <class T, class Reducer>
void expect_split(const Reducer& r, const std::vector<T>& x, std::size_t cut) {
  const std::span<const T> all(x);
  const auto left = merge_through<T>::of(r, all.first(cut), 0);
  const auto right = merge_through<T>::of(r, all.subspan(cut), static_cast<std::int64_t>(cut));
  auto forward = left;
  r.join(forward, right);
  auto backward = right;
  r.join(backward, left);
  const auto whole = fanin::reduce(in_order, x, r);
  RC_ASSERT(same(fanin::detail::result_value(r, forward), whole));
  RC_ASSERT(same(fanin::detail::result_value(r, backward), whole));
}

RC_GTEST_PROP(properties, parts_joined_are_the_whole, (const integers& x)) {
  const auto cut = *rc::gen::inRange<std::size_t>(0, x.size() + 1);
  expect_split(fanin::sum<std::int64_t>{}, x, cut);
  expect_split(fanin::prod<std::int64_t>{}, x, cut);
  expect_split(fanin::min_max<std::int64_t>{}, x, cut);
  expect_split(fanin::min_max_loc<std::int64_t>{}, x, cut);
  expect_split(fanin::band<std::int64_t>{}, x, cut);
  expect_split(fanin::bor<std::int64_t>{}, x, cut);
  expect_split(fanin::land<std::int64_t>{}, x, cut);
  expect_split(fanin::lor<std::int64_t>{}, x, cut);
}

/// Doubles with many NaNs, zeros of both signs, infinities and ties among them.
rc::Gen<std::vector<double>> odd_doubles() {
  const double nan = std::nan("");
  const double infinity = INFINITY;
  return rc::gen::container<std::vector<double>>(
      rc::gen::element(nan, -nan, infinity, -infinity, 0.0, -0.0, 1.0, -1.0, 5e-324, 1e308));
}

RC_GTEST_PROP(properties, odd_doubles_join_too, ()) {
  const auto x = *odd_doubles();
  const auto cut = *rc::gen::inRange<std::size_t>(0, x.size() + 1);
  expect_split(fanin::min<double>{}, x, cut);
  expect_split(fanin::max<double>{}, x, cut);
  expect_split(fanin::min_loc<double>{}, x, cut);
  expect_split(fanin::max_loc<double>{}, x, cut);
}

/// Results of three parts of which any may be empty, merged in either grouping, are those of the whole.
template <class T, class... Reducer>
void expect_merged(const std::vector<T>& x, const Reducer&... reducers) {
  const auto n = static_cast<std::int64_t>(x.size());
  const auto cut = *rc::gen::inRange<std::int64_t>(0, n + 1);
  const auto second_cut = *rc::gen::inRange<std::int64_t>(cut, n + 1);
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return fanin::parallel_reduce(fanin::range(in_order, from, to), at<T>{x.data()}, reducers...);
  };
  const auto whole = part(0, n);
  auto forward = part(0, cut);
  fanin::merge(forward, part(cut, second_cut), reducers...);
  fanin::merge(forward, part(second_cut, n), reducers...);
  auto backward = part(second_cut, n);
  fanin::merge(backward, part(cut, second_cut), reducers...);
  fanin::merge(backward, part(0, cut), reducers...);
  RC_ASSERT(same(forward, whole));
  RC_ASSERT(same(backward, whole));
}

RC_GTEST_PROP(properties, results_merged_are_those_of_the_whole, (const integers& x)) {
  using T = std::int64_t;
  expect_merged(x, fanin::min_max_loc<T>{});
  expect_merged(x, fanin::sum<T>{}, fanin::min_loc<T>{}, fanin::prod<T>{}, fanin::land<T>{}, fanin::lor<T>{},
                fanin::band<T>{}, fanin::max_loc<T>{}, fanin::bor<T>{}, fanin::min_max<T>{}, fanin::max<T>{});
  const auto odd = *odd_doubles();
  expect_merged(odd, fanin::min_loc<double>{}, fanin::max_loc<double>{}, fanin::min<double>{});
  expect_merged(odd, fanin::min_max_loc<double>{});
}

/// -NaN and NaN count as one, -0 as smaller than +0: the order that min_loc and max_loc follow.
bool before(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}
bool behind(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return a > b || (a == b && !std::signbit(a) && std::signbit(b));
}

RC_GTEST_PROP(properties, places_are_those_of_the_standard_algorithms, ()) {
  const auto x = *odd_doubles();
  if (x.empty()) return;
  const auto least = std::min_element(x.begin(), x.end(), before) - x.begin();
  const auto most = std::min_element(x.begin(), x.end(), behind) - x.begin();
  on_every_host_object([&](auto& exec) {
    const auto both = fanin::reduce(exec, x, fanin::min_max_loc<double>{});
    RC_ASSERT(both.min_index == least);
    RC_ASSERT(both.max_index == most);
    RC_ASSERT(same(both.min, x[static_cast<std::size_t>(least)]));
    RC_ASSERT(same(both.max, x[static_cast<std::size_t>(most)]));
  });
}

RC_GTEST_PROP(properties, permutations_change_no_integer_answer, (const integers& x)) {
  auto y = x;
  std::shuffle(y.begin(), y.end(), std::mt19937_64(*rc::gen::arbitrary<std::uint64_t>()));
  on_every_host_object([&](auto& exec) {
    RC_ASSERT(fanin::reduce(exec, x, fanin::sum<std::int64_t>{}) == fanin::reduce(exec, y, fanin::sum<std::int64_t>{}));
    RC_ASSERT(fanin::reduce(exec, x, fanin::prod<std::int64_t>{}) ==
              fanin::reduce(exec, y, fanin::prod<std::int64_t>{}));
    RC_ASSERT(fanin::reduce(exec, x, fanin::min_max<std::int64_t>{}) ==
              fanin::reduce(exec, y, fanin::min_max<std::int64_t>{}));
  });
}

RC_GTEST_PROP(properties, several_reducers_in_one_pass_are_separate_passes, (const integers& x)) {
  const fanin::sum<std::int64_t> sum;
  const fanin::max_loc<std::int64_t> most;
  const fanin::bor<std::int64_t> bits;
  on_every_host_object([&](auto& exec) {
    const auto together = fanin::reduce(exec, x, sum, most, bits);
    RC_ASSERT(fanin::get<0>(together) == fanin::reduce(exec, x, sum));
    RC_ASSERT(fanin::get<1>(together) == fanin::reduce(exec, x, most));
    RC_ASSERT(fanin::get<2>(together) == fanin::reduce(exec, x, bits));
  });
}

RC_GTEST_PROP(properties, every_form_gives_the_same, (const integers& x)) {
  const fanin::sum<std::int64_t> sum;
  const auto expected = static_cast<std::int64_t>(std::accumulate(
      x.begin(), x.end(), std::uint64_t{0}, [](std::uint64_t a, std::int64_t b) { return a + std::uint64_t(b); }));
  on_every_host_object([&](auto& exec) {
    RC_ASSERT(fanin::reduce(exec, x, sum) == expected);
    RC_ASSERT(fanin::parallel_reduce(fanin::range(exec, x.size()), at<std::int64_t>{x.data()}, sum) == expected);
    std::int64_t out = 0x5a5a;
    fanin::reduce_into(&out, exec, x, sum);
    RC_ASSERT(out == expected);
  });
}

RC_GTEST_PROP(properties, a_range_is_the_sum_of_its_parts, ()) {
  const auto first = *rc::gen::inRange<std::int64_t>(-1'000'000'000'000, 1'000'000'000'000);
  const auto n = *rc::gen::inRange<std::int64_t>(0, 3'000);
  const auto cut = *rc::gen::inRange<std::int64_t>(0, n + 1);
  on_every_host_object([&](auto& exec) {
    const auto part = [&](std::int64_t from, std::int64_t to) {
      return fanin::parallel_reduce(fanin::range(exec, from, to), index_itself{}, fanin::sum<std::int64_t>{});
    };
    RC_ASSERT(part(first, first + n) == part(first, first + cut) + part(first + cut, first + n));
  });
}

RC_GTEST_PROP(properties, spills_count_what_was_there, ()) {
  const auto x = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 200));
  histogram::counters counts{};
  for (const auto value : x) ++counts.count[value % histogram::bins];
  const auto expected = histogram{}.result(counts);
  on_every_host_object([&](auto& exec) { RC_ASSERT(fanin::reduce(exec, x, histogram{}) == expected); });
}

/// A divider's quotients at its edges and between, by / itself.
RC_GTEST_PROP(properties, division_by_multiplication, ()) {
  const int bits = *rc::gen::inRange(1, 64);
  const auto divisor = static_cast<std::int64_t>((*rc::gen::arbitrary<std::uint64_t>() >> (64 - bits)) | 1U);
  for (const std::int64_t d : {divisor, divisor - 1, std::int64_t{1} << (bits - 1)}) {
    if (d < 1) continue;
    const fanin::detail::divider by(d);
    const auto exact = static_cast<std::uint64_t>(d);
    const std::uint64_t any = *rc::gen::arbitrary<std::uint64_t>() >> 1;
    constexpr std::uint64_t most = INT64_MAX;
    for (const std::uint64_t n : {any, any / exact * exact, any / exact * exact - (any >= exact ? 1 : 0), most,
                                  most / exact * exact, most / exact * exact - 1, std::uint64_t{0}}) {
      RC_ASSERT(by.quotient(n) == n / exact);
      const auto low = static_cast<std::uint32_t>(n & INT32_MAX);
      if (exact <= std::uint64_t{1} << 31) RC_ASSERT(by.quotient(low) == low / exact);
    }
  }
}

template <fanin::iterate Order, std::size_t Rank>
void expect_numbers(const fanin::md_index<Rank>& lower, const fanin::md_index<Rank>& extents, std::int64_t count) {
  const fanin::detail::md_shape<Rank, Order> shape(lower, extents, count);
  const auto expected = [&](std::int64_t n) {
    fanin::md_index<Rank> index{};
    for (std::size_t k = 0; k < Rank; ++k) {
      const std::size_t d = Order == fanin::iterate::right ? Rank - 1 - k : k;
      index[d] = lower[d] + n % extents[d];
      n /= extents[d];
    }
    return index;
  };
  const std::int64_t any = *rc::gen::inRange<std::int64_t>(0, count);
  for (const std::int64_t n : {std::int64_t{0}, any, count - 1, count / 2}) RC_ASSERT(shape.index_of(n) == expected(n));

  // And a walk over stretches, which is what hosts do.
  const std::int64_t end = std::min(count, any + 200);
  std::int64_t next = any;
  const auto itself = [](auto... index) { return fanin::md_index<Rank>{{index...}}; };
  fanin::detail::for_stretches(fanin::detail::md_functor<decltype(itself), Rank, Order>{shape, itself}, any, end,
                               [&](const auto& g, std::int64_t from, std::int64_t until) {
                                 RC_ASSERT(from == next);
                                 for (; next < until; ++next) RC_ASSERT(g(next) == expected(next));
                               });
  RC_ASSERT(next == end);
}

/// Rows of a box whose indices fit 32 bits and whose numbers do not, as hosts walk through them.
TEST(properties, rows_of_ints_beyond_32_bits) {
  using call = fanin::detail::index_call<std::int32_t, void>;
  const auto itself = [](std::int32_t i, std::int32_t j) { return fanin::md_index<2>{{i, j}}; };
  constexpr std::int64_t extent = 100'000;
  const fanin::detail::md_shape<2, fanin::iterate::right> shape({{-7, INT32_MAX - extent}}, {{extent, extent}},
                                                                extent * extent);
  const auto f = fanin::detail::called<call, 2>(itself);
  for (const std::int64_t begin : {std::int64_t{0}, INT32_MAX - std::int64_t{50}, extent * extent - 100}) {
    std::int64_t next = begin;
    fanin::detail::for_stretches(
        fanin::detail::md_functor<std::remove_const_t<decltype(f)>, 2, fanin::iterate::right>{shape, f}, begin,
        begin + 100, [&](const auto& g, auto from, auto until) {
          EXPECT_EQ(from, next);
          for (; next < until; ++next) EXPECT_EQ(g(next), shape.index_of(next));
        });
    EXPECT_EQ(next, begin + 100);
  }
}

/// The index that a number stands for, in boxes of few and of very many indices.
RC_GTEST_PROP(properties, numbers_of_multidimensional_indices, ()) {
  constexpr std::size_t rank = 4;
  fanin::md_index<rank> lower{};
  fanin::md_index<rank> extents{};
  std::int64_t count = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    lower[d] = *rc::gen::inRange<std::int64_t>(-1'000'000, 1'000'000);
    extents[d] = 1 + static_cast<std::int64_t>(*rc::gen::arbitrary<std::uint16_t>() >> *rc::gen::inRange(1, 16));
    count *= extents[d];
  }
  expect_numbers<fanin::iterate::right>(lower, extents, count);
  expect_numbers<fanin::iterate::left>(lower, extents, count);
  const fanin::md_index<2> below{{lower[0], lower[1]}};
  const fanin::md_index<2> two{{extents[0] * extents[1], extents[2] * extents[3]}};
  expect_numbers<fanin::iterate::right>(below, two, count);
  expect_numbers<fanin::iterate::left>(below, two, count);
}

/// Views of any extents and strides, in pairs, against loops over their indices.
RC_GTEST_PROP(properties, views_of_any_strides, ()) {
  constexpr std::size_t rank = 4;
  constexpr std::int64_t zero = 3'000;  // where element (0, 0, ...) stands, in the middle
  std::vector<std::int32_t> elements(2 * zero + 1);
  for (std::size_t at = 0; at < elements.size(); ++at) elements[at] = static_cast<std::int32_t>(mix(at) % 20);
  const bool packed = *rc::gen::arbitrary<bool>();
  fanin::md_index<rank> extents{};
  for (std::int64_t& extent : extents.at) extent = *rc::gen::inRange<std::int64_t>(packed ? 1 : 0, 6);
  // In some order of the dimensions each stride is what lies within, or any.
  const auto make_strides = [&] {
    fanin::md_index<rank> strides{};
    std::array<std::size_t, rank> order{0, 1, 2, 3};
    for (std::size_t d = 1; d < rank; ++d) std::swap(order[d], order[*rc::gen::inRange<std::size_t>(0, d + 1)]);
    std::int64_t within = 1;
    for (const std::size_t d : order) {
      const bool fills = packed || *rc::gen::inRange(0, 3) > 0;
      strides[d] = fills ? within : *rc::gen::inRange<std::int64_t>(-20, 21);
      within *= std::max<std::int64_t>(extents[d], 1);
    }
    return strides;
  };
  const fanin::md_index<rank> x_strides = make_strides();
  const fanin::md_index<rank> y_strides = make_strides();
  const std::int32_t* const middle = elements.data() + zero;
  const fanin::view<const std::int32_t, rank> x(middle, extents, x_strides);
  const fanin::view<const std::int32_t, rank> y(middle, extents, y_strides);

  using place = fanin::md_index<rank>;
  std::int64_t x_sum = 0;
  std::int64_t products = 0;
  fanin::value_index<std::int32_t, place> least{INT32_MAX, {{-1, -1, -1, -1}}};
  fanin::value_index<std::int32_t, place> most{INT32_MIN, {{-1, -1, -1, -1}}};
  place at{};
  for (at[0] = 0; at[0] < extents[0]; ++at[0]) {
    for (at[1] = 0; at[1] < extents[1]; ++at[1]) {
      for (at[2] = 0; at[2] < extents[2]; ++at[2]) {
        for (at[3] = 0; at[3] < extents[3]; ++at[3]) {
          const std::int32_t of_x = x(at[0], at[1], at[2], at[3]);
          const std::int32_t product = of_x * y(at[0], at[1], at[2], at[3]);
          x_sum += of_x;
          products += product;
          if (of_x < least.value) least = {of_x, at};
          if (product > most.value) most = {product, at};
        }
      }
    }
  }
  const fanin::serial exec;
  const fanin::sum<std::int32_t, std::int64_t> sum;
  const auto multiply = [](std::int32_t a, std::int32_t b) { return a * b; };
  RC_ASSERT(fanin::reduce(exec, x, sum) == x_sum);
  RC_ASSERT(fanin::reduce(exec, x, fanin::min_loc<std::int32_t>{}) == least);
  RC_ASSERT(fanin::transform_reduce(exec, x, y, multiply, sum) == products);
  RC_ASSERT(fanin::transform_reduce(exec, x, y, multiply, fanin::max_loc<std::int32_t>{}) == most);
}

}  // namespace
}  // namespace fanin_test
