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
static_assert(functor_traits<index_itself, double>::takes_whole_index());
static_assert(!functor_traits<narrow, double>::takes_whole_index());
static_assert(functor_traits<generic, double>::takes_whole_index());
static_assert(functor_traits<unsigned_index, double>::takes_whole_index());

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
  static constexpr std::size_t rank() { return 2; }
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
  EXPECT_EQ(fanin::reduce(exec, rows_of_three{values, 2, 4}, sum), 119);
  expect_invalid([&] { fanin::transform_reduce(exec, values, rows_of_three{values, 2, 4}, product, sum); },
                 "fanin::transform_reduce: the array is not contiguous");

  const std::vector<double> host(values, values + 8);
  EXPECT_EQ(fanin::reduce(exec, says_so{host, 1, 3, 3, true}, sum), 14);
  EXPECT_EQ(fanin::reduce(exec, says_so{host, 0, 0, 5, false}, sum), 0);
  expect_invalid([&] { fanin::reduce(exec, says_so{host, 1, 3, 3, false}, sum); }, "not contiguous");
  expect_invalid([&] { fanin::reduce(exec, says_so{host, 1, 3, 5, true}, sum); }, "not contiguous");
}

TEST(arrays, of_several_dimensions_are_c_arrays_too) {
  const fanin::serial exec;
  const fanin::sum<double> sum;
  const auto product = [](double x, double y) { return x * y; };
  double x[2][3] = {{1, 2, 4}, {8, 16, 32}};
  const float cube[2][3][2] = {{{1, 2}, {4, 8}, {16, 32}}, {{64, 128}, {256, 2048}, {1024, 512}}};
  EXPECT_EQ(fanin::reduce(exec, x, sum), 63);
  EXPECT_EQ(fanin::reduce(exec, cube, fanin::max_loc<float>{}).index, (fanin::md_index<3>{{1, 1, 1}}));
  EXPECT_EQ(fanin::reduce(exec, cube, fanin::sum<float>{}), 4095);
  const double flat[] = {1, 1, 1, 1, 1, 1};
  EXPECT_EQ(fanin::transform_reduce(exec, x, flat, product, sum), 63);
  EXPECT_EQ(fanin::transform_reduce(exec, x, x, product, sum), 1365);
  EXPECT_EQ(fanin::transform_reduce(exec, x, rows_of_three{flat, 2, 3}, product, sum), 63);
  const double across[3][2] = {{1, 1}, {1, 1}, {1, 1}};
  expect_invalid([&] { fanin::transform_reduce(exec, x, across, product, sum); }, "dimensions differ");
  expect_invalid([&] { fanin::transform_reduce(exec, cube, rows_of_three{flat, 4, 3}, product, sum); }, "differ");
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

/// A sum of bytes that takes batches of anything, as they are.
struct sum_of_bytes {
  using value_type = std::uint8_t;
  using accumulator_type = std::int64_t;
  std::int64_t identity() const { return 0; }
  void fold(std::int64_t& acc, std::uint8_t value, std::int64_t) const { acc += value; }
  void join(std::int64_t& into, const std::int64_t& from) const { into += from; }
  template <class Batch>
  void fold_batch(std::int64_t& acc, const Batch& batch) const {
    acc += 1'000'000;
    for (int k = 0; k < 2; ++k) acc += batch.values[k];
  }
};

TEST(composite, gives_batches_of_the_value_type_alone) {
  using fanin::detail::composite;
  const auto c = fanin::detail::make_composite(sum_of_bytes{});
  const int numbers[] = {257, 258};
  const std::uint8_t bytes[] = {1, 2};
  const auto folded = [&](const auto& batch) {
    auto spill = c.identity();
    auto state = c.begin(spill);
    c.fold_batch(state, batch);
    return fanin::get<0>(state);
  };
  EXPECT_EQ(folded(fanin::tile_batch<1, 2, int>{numbers, 0, 0}), 3);
  EXPECT_EQ(folded(fanin::span_batch<int>{numbers, 2, 0}), 3);
  EXPECT_EQ(folded(fanin::tile_batch<1, 2, std::uint8_t>{bytes, 0, 0}), 1'000'003);
  EXPECT_EQ(folded(fanin::span_batch<std::uint8_t>{bytes, 2, 0}), 1'000'003);
}

/// Values that nobody can make an array of before there are some.
struct metres {
  double of;
  explicit metres(double x) : of{x} {}
};
struct sum_of_metres {
  using value_type = metres;
  using accumulator_type = double;
  double identity() const { return 0; }
  void fold(double& acc, const metres& value, std::int64_t) const { acc += value.of; }
  void join(double& into, const double& from) const { into += from; }
  void fold_batch(double& acc, const fanin::span_batch<metres>& batch) const {
    for (std::int64_t k = 0; k < batch.count; ++k) acc += batch.values[k].of;
  }
};

TEST(composite, values_without_a_default_are_not_gathered_in_blocks) {
  const auto f = [](std::int64_t i) { return metres(static_cast<double>(i)); };
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(fanin::serial{}, 5), f, sum_of_metres{}), 10);
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
