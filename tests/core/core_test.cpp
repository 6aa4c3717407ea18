// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <fanin/fanin.hpp>

#include "support/expect_invalid.hpp"
#include "support/functors.hpp"
#include "support/user_reducers.hpp"

/// Tuples, ranges, functor traits, errors, version macros.
namespace fanin_test {
namespace {

TEST(tuple, is_an_aggregate_with_bindings) {
  const fanin::tuple<int, double, char> t{1, 2.5, 'x'};
  const auto& [a, b, c] = t;
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 2.5);
  EXPECT_EQ(c, 'x');
  EXPECT_EQ(fanin::get<1>(t), 2.5);
  static_assert(std::is_trivially_copyable_v<fanin::tuple<int, double, char>>);
  static_assert(std::is_aggregate_v<fanin::tuple<int, double, char>>);
  static_assert(std::tuple_size_v<fanin::tuple<int, int>> == 2);
  static_assert(std::is_same_v<std::tuple_element_t<1, fanin::tuple<int, double>>, double>);
}

TEST(tuple, compares_and_assigns) {
  fanin::tuple t{1, 2L};
  static_assert(std::is_same_v<decltype(t), fanin::tuple<int, long>>);
  auto u = t;
  EXPECT_EQ(t, u);
  fanin::get<1>(u) = 3;
  EXPECT_NE(t, u);
  EXPECT_EQ(fanin::get<0>(fanin::tuple{7, 8}), 7);
  EXPECT_EQ(fanin::tuple<>{}, fanin::tuple<>{});
}

TEST(range, says_what_it_is) {
  const fanin::serial exec;
  const auto r = fanin::range(exec, -3, 4U);
  EXPECT_EQ(r.first(), -3);
  EXPECT_EQ(r.last(), 4);
  EXPECT_EQ(r.size(), 7);
  static_assert(std::is_same_v<decltype(r.size()), std::int64_t>);
  static_assert(std::is_same_v<decltype(fanin::range(exec, 3)), fanin::range_policy<fanin::serial>>);
  EXPECT_EQ(fanin::range(exec, std::size_t{9}).size(), 9);
  EXPECT_EQ(fanin::range(exec, std::uint8_t{9}).size(), 9);
}

struct by_reference {
  void operator()(std::int64_t, double&) const {}
};
struct by_copy {
  void operator()(std::int64_t, double) const {}
};
struct narrow {
  double operator()(int) const { return 0; }
};
struct generic {
  template <class Index>
  Index operator()(Index i) const {
    return i;
  }
};
struct unsigned_index {
  double operator()(std::uint64_t) const { return 0; }
};

using fanin::detail::functor_traits;
static_assert(functor_traits<by_reference, double>::takes_accumulator);
static_assert(!functor_traits<by_reference, double>::takes_value);
static_assert(!functor_traits<by_reference, double>::takes_copy);
static_assert(functor_traits<by_copy, double>::takes_copy);
static_assert(functor_traits<index_itself, double>::takes_value);
static_assert(functor_traits<index_itself, double>::takes_64_bit_index());
static_assert(!functor_traits<narrow, double>::takes_64_bit_index());
static_assert(functor_traits<generic, double>::takes_64_bit_index());
static_assert(functor_traits<unsigned_index, double>::takes_64_bit_index());

std::int64_t twice(std::int64_t i) { return 2 * i; }

TEST(functors, may_be_generic_or_plain_functions) {
  const auto range = fanin::range(fanin::serial{}, 5);
  EXPECT_EQ(fanin::parallel_reduce(range, generic{}, fanin::sum<std::int64_t>{}), 10);
  EXPECT_EQ(fanin::parallel_reduce(range, &twice, fanin::sum<std::int64_t>{}), 20);
  EXPECT_EQ(fanin::parallel_reduce(range, [](auto i) { return i; }, fanin::max<std::int64_t>{}), 4);
}

/// What std::mdspan shows of itself, with rows of 3 elements that begin `stride` apart.
struct rows_of_three {
  using element_type = const double;
  using reference = const double&;
  const double* data;
  std::size_t rows;
  std::size_t row_stride;
  const double* const& data_handle() const { return data; }
  std::size_t size() const { return 3 * rows; }
  bool is_exhaustive() const { return row_stride == 3; }
  static std::size_t rank() { return 2; }
  std::size_t extent(std::size_t r) const { return r == 0 ? rows : 3; }
  std::size_t stride(std::size_t r) const { return r == 0 ? row_stride : 1; }
};

/// What Kokkos::View shows of itself.
struct says_so {
  std::vector<double> elements;
  std::size_t first, count, spanned;
  bool contiguous;
  const double* data() const { return elements.data() + first; }
  std::size_t size() const { return count; }
  std::size_t span() const { return spanned; }
  bool span_is_contiguous() const { return contiguous; }
};

TEST(arrays, are_what_is_known_to_be_contiguous) {
  const fanin::serial exec;
  const fanin::sum<double> sum;
  const double values[] = {1, 2, 4, 8, 16, 32, 64, 128};
  const auto product = [](double x, double y) { return x * y; };
  EXPECT_EQ(fanin::reduce(exec, values, sum), 255);
  EXPECT_EQ(fanin::reduce(exec, std::array{1.0, 2.0}, sum), 3);
  EXPECT_EQ(fanin::reduce(exec, std::initializer_list<double>{1, 2}, sum), 3);

  EXPECT_EQ(fanin::reduce(exec, rows_of_three{values, 2, 3}, sum), 63);
  EXPECT_EQ(fanin::transform_reduce(exec, rows_of_three{values, 2, 3}, std::vector<double>(6, 2), product, sum), 126);
  EXPECT_EQ(fanin::reduce(exec, rows_of_three{values, 0, 4}, sum), 0);
  expect_invalid([&] { fanin::reduce(exec, rows_of_three{values, 2, 4}, sum); },
                 "fanin::reduce: the array is not cont");
  expect_invalid([&] { fanin::transform_reduce(exec, values, rows_of_three{values, 2, 4}, product, sum); },
                 "fanin::transform_reduce: the array is not contiguous");

  const std::vector<double> host(values, values + 8);
  EXPECT_EQ(fanin::reduce(exec, says_so{host, 1, 3, 3, true}, sum), 14);
  EXPECT_EQ(fanin::reduce(exec, says_so{host, 0, 0, 5, false}, sum), 0);
  expect_invalid([&] { fanin::reduce(exec, says_so{host, 1, 3, 3, false}, sum); }, "not contiguous");
  expect_invalid([&] { fanin::reduce(exec, says_so{host, 1, 3, 5, true}, sum); }, "not contiguous");
}

/// An mdspan of which each element has two places (a packed symmetric matrix), and one whose places have no strides.
struct packed_matrix {
  using element_type = const double;
  using reference = const double&;
  const double* data;
  bool unique;
  const double* const& data_handle() const { return data; }
  static std::size_t size() { return 6; }
  static bool is_exhaustive() { return true; }
  bool is_unique() const { return unique; }
  static constexpr bool is_always_strided() { return false; }
  static std::size_t rank() { return 2; }
  static std::size_t extent(std::size_t r) { return r + 2; }
  template <class R>
  std::size_t stride(R r) const {
    return r.does_not_compile();
  }
};

TEST(arrays, without_strides_are_taken_as_they_lie) {
  const fanin::serial exec;
  const fanin::sum<double> sum;
  const double values[] = {1, 2, 4, 8, 16, 32};
  const auto product = [](double x, double y) { return x * y; };
  EXPECT_EQ(fanin::reduce(exec, packed_matrix{values, true}, sum), 63);
  expect_invalid([&] { fanin::reduce(exec, packed_matrix{values, false}, sum); }, "not contiguous");
  const packed_matrix tiled{values, true};
  const rows_of_three rows{values, 2, 3};
  expect_invalid([&] { fanin::transform_reduce(exec, tiled, rows, product, sum); }, "dimensions differ");
  expect_invalid([&] { fanin::transform_reduce(exec, tiled, tiled, product, sum); }, "laid out differently");
}

TEST(errors, derive_from_one_base) {
  static_assert(std::is_base_of_v<std::runtime_error, fanin::error>);
  static_assert(std::is_base_of_v<fanin::error, fanin::invalid_argument>);
  static_assert(std::is_base_of_v<fanin::error, fanin::state_error>);
  EXPECT_STREQ(fanin::invalid_argument("words").what(), "words");
}

TEST(config, has_a_version) {
  static_assert(FANIN_VERSION == FANIN_VERSION_MAJOR * 10000 + FANIN_VERSION_MINOR * 100 + FANIN_VERSION_PATCH);
  EXPECT_EQ(std::string(FANIN_VERSION_STRING), std::to_string(FANIN_VERSION_MAJOR) + "." +
                                                   std::to_string(FANIN_VERSION_MINOR) + "." +
                                                   std::to_string(FANIN_VERSION_PATCH));
  static_assert(FANIN_HAS_SERIAL == 1);
  EXPECT_STREQ(fanin::version(), FANIN_VERSION_STRING);
  const fanin::build_options build = fanin::build_info();
  EXPECT_STREQ(build.version, FANIN_VERSION_STRING);
  EXPECT_EQ(std::string(build.backends).substr(0, 6), "serial");
  EXPECT_EQ(std::string(build.kokkos).empty(), FANIN_HAS_KOKKOS == 0);
  EXPECT_EQ(std::string(build.cuda).empty(), FANIN_HAS_CUDA == 0);
  EXPECT_FALSE(std::string(build.compiler).empty());
}

TEST(composite, keeps_the_largest_accumulator) {
  using fanin::detail::composite;
  static_assert(composite<fanin::sum<double>, wide_counts>::largest_accumulator == 600);
  static_assert(!composite<fanin::sum<double>>::has_any_spill);
  static_assert(composite<fanin::sum<double>, histogram>::has_any_spill);
  static_assert(std::is_same_v<composite<fanin::sum<double>>::result_type, double>);
  static_assert(
      std::is_same_v<composite<fanin::sum<double>, mean_above>::result_type, fanin::tuple<double, mean_above::means>>);
}

/// Clang and nvcc ask for the result of overloads that do not apply, with an array, a functor or an object as reducer.
TEST(composite, has_a_result_type_that_never_fails) {
  using fanin::detail::result_t;
  static_assert(std::is_same_v<result_t<fanin::sum<float>>, float>);
  static_assert(
      std::is_same_v<result_t<fanin::sum<float>, fanin::min_loc<int>>, fanin::tuple<float, fanin::value_index<int>>>);
  static_assert(std::is_void_v<result_t<>>);
  static_assert(std::is_void_v<result_t<fanin::serial>>);
  static_assert(std::is_void_v<result_t<generic, fanin::sum<float>>>);
  static_assert(std::is_void_v<result_t<fanin::sum<float>, double*>>);
  static_assert(std::is_same_v<result_t<std::vector<int>>, int>);
}

}  // namespace
}  // namespace fanin_test
