// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <fanin/md_range.hpp>

#include "contract/contract.hpp"

/// How a functor may be written, and several reducers in one pass.
namespace fanin_test {

/// Two accumulators: the sum and the sum of squares.
struct two_moments {
  const std::int64_t* x;
  FANIN_FUNCTION void operator()(std::int64_t i, std::int64_t& sum, std::int64_t& squares) const {
    sum += x[i];
    squares += x[i] * x[i];
  }
};

/// One value for each of three reducers, of three types.
struct three_values {
  const std::int32_t* x;
  FANIN_FUNCTION fanin::tuple<std::int64_t, std::int32_t, double> operator()(std::int64_t i) const {
    return {std::int64_t{x[i]}, x[i], static_cast<double>(x[i]) / 2};
  }
};

/// acc& may be of another type than what the array holds, and a plain function object may be stateless.
struct count_even {
  const std::int32_t* x;
  FANIN_FUNCTION void operator()(std::int64_t i, std::uint64_t& count) const {
    if (x[i] % 2 == 0) ++count;
  }
};

/// The comparisons of an `acc&` form are the user's own.
struct keep_last_multiple {
  const std::int32_t* x;
  FANIN_FUNCTION void operator()(std::int64_t i, fanin::value_index<std::int32_t>& acc) const {
    if (x[i] % 7 == 0 && i > acc.index) acc = {-1, i};
  }
};

struct last_index {
  using value_type = std::int32_t;
  using accumulator_type = fanin::value_index<std::int32_t>;
  FANIN_FUNCTION accumulator_type identity() const { return {0, -1}; }
  FANIN_FUNCTION void fold(accumulator_type& acc, std::int32_t value, std::int64_t i) const {
    if (i > acc.index) acc = {value, i};
  }
  FANIN_FUNCTION void join(accumulator_type& into, const accumulator_type& from) const {
    if (from.index > into.index) into = from;
  }
};

/// Extended lambdas stand in free functions with a stated return type.
template <class Exec>
double norm2_by_lambda(Exec& exec, const double* x, std::size_t n) {
  return fanin::parallel_reduce(
      "norm2", fanin::range(exec, n), FANIN_LAMBDA(std::int64_t i, double& acc) { acc += x[i] * x[i]; },
      fanin::sum<double>{});
}

template <class Exec>
fanin::value_index<double> least_by_lambda(Exec& exec, const double* x, std::size_t n) {
  return fanin::parallel_reduce(
      fanin::range(exec, n), FANIN_LAMBDA(std::int64_t i) { return x[i]; }, fanin::min_loc<double>{});
}

/// A captured member, through a copy of *this.
struct scaled {
  double scale;
  template <class Exec>
  double sum(Exec& exec, const double* x, std::size_t n) const {
    return fanin::parallel_reduce(
        fanin::range(exec, n), FANIN_CLASS_LAMBDA(std::int64_t i) { return scale * x[i]; }, fanin::sum<double>{});
  }
};

/// f(i) and f(i, acc&...) of ranges whose indices are ints; the index has to be one.
struct int_index {
  std::int32_t first;
  FANIN_FUNCTION std::int64_t operator()(int i) const { return i - first; }
};
struct add_int_index {
  std::int32_t* visits;
  std::int32_t first;
  template <class Index>
  FANIN_FUNCTION void operator()(Index i, std::int64_t& sum, std::uint64_t& bytes) const {
    ++visits[i - first];
    sum += i - first;
    bytes += sizeof i;
  }
};
struct visit_ints {
  std::int32_t* visits;
  FANIN_FUNCTION void operator()(std::int32_t i) const { ++visits[i]; }
};
struct planar_ints {
  FANIN_FUNCTION std::int64_t operator()(int i, int j) const { return std::int64_t{i} * 1'000 + j; }
};
struct add_planar_ints {
  FANIN_FUNCTION void operator()(int i, int j, std::int64_t& sum) const { sum += std::int64_t{i} * 1'000 + j; }
};

/// One functor with several calls; ranges say which.
struct twice {};
struct thrice {};
struct planar_tag {};
struct mark {};
struct tagged_calls {
  std::int32_t* visits;
  FANIN_FUNCTION std::int64_t operator()(twice, std::int64_t i) const { return 2 * i; }
  FANIN_FUNCTION void operator()(thrice, int i, std::int64_t& sum) const { sum += std::int64_t{3} * i; }
  FANIN_FUNCTION void operator()(mark, std::int64_t i) const { ++visits[i]; }
  FANIN_FUNCTION void operator()(mark, std::int64_t i, std::int64_t j) const { ++visits[7 * i + j]; }
  FANIN_FUNCTION std::int64_t operator()(planar_tag, std::int32_t i, std::int32_t j) const { return 2 * (7 * i + j); }
  FANIN_FUNCTION std::int64_t operator()(std::int64_t) const { return 0; }
};

template <class Fixture>
class functors : public contract<Fixture> {};
TYPED_TEST_SUITE(functors, fixtures, fixture_names);

TYPED_TEST(functors, value_and_accumulator_forms_agree) {
  for (const std::size_t n : sizes()) {
    const auto host = make_data<std::int64_t>(data::random_signed, n);
    placed<std::int64_t, typename TypeParam::exec_type> x(this->exec(), host);
    const auto range = fanin::range(this->exec(), n);
    const auto by_value = fanin::parallel_reduce(range, at<std::int64_t>{x.data()}, fanin::sum<std::int64_t>{});
    EXPECT_TRUE(is_sum_of(std::span<const std::int64_t>(host), by_value, 0));
    if constexpr (TypeParam::breadth != coverage::spot) {
      // Unsigned, so that the user's own += may wrap.
      const auto* const words = reinterpret_cast<const std::uint64_t*>(x.data());
      const auto by_acc = fanin::parallel_reduce(range, add_at<std::uint64_t>{words}, fanin::sum<std::uint64_t>{});
      EXPECT_EQ(static_cast<std::uint64_t>(by_value), by_acc) << "n = " << n;
    }
  }
}

TYPED_TEST(functors, several_accumulators) {
  for (const std::size_t n : few_sizes()) {
    const auto host = make_data<std::int64_t>(data::whole_numbers, n);
    placed<std::int64_t, typename TypeParam::exec_type> x(this->exec(), host);
    const auto [sum, squares] = fanin::parallel_reduce(fanin::range(this->exec(), n), two_moments{x.data()},
                                                       fanin::sum<std::int64_t>{}, fanin::sum<std::int64_t>{});
    std::int64_t expected_sum = 0;
    std::int64_t expected_squares = 0;
    for (const auto value : host) {
      expected_sum += value;
      expected_squares += value * value;
    }
    EXPECT_EQ(sum, expected_sum) << "n = " << n;
    EXPECT_EQ(squares, expected_squares) << "n = " << n;
  }
}

TYPED_TEST(functors, one_value_for_several_reducers) {
  if constexpr (TypeParam::breadth != coverage::spot) {
    for (const std::size_t n : few_sizes()) {
      const auto host = make_data<std::int32_t>(data::pairs, n);
      placed<std::int32_t, typename TypeParam::exec_type> x(this->exec(), host);
      const at<std::int32_t> f{x.data()};
      const auto range = fanin::range(this->exec(), n);
      const auto all = fanin::parallel_reduce(range, f, fanin::sum<std::int32_t>{}, fanin::min<std::int32_t>{},
                                              fanin::max_loc<std::int32_t>{});
      static_assert(std::is_trivially_copyable_v<std::remove_const_t<decltype(all)>>);
      EXPECT_TRUE(is_same(fanin::get<0>(all), fanin::parallel_reduce(range, f, fanin::sum<std::int32_t>{})));
      EXPECT_TRUE(is_same(fanin::get<1>(all), fanin::reduce(this->exec(), x.span(), fanin::min<std::int32_t>{})));
      EXPECT_TRUE(is_same(fanin::get<2>(all), fanin::reduce(this->exec(), x.span(), fanin::max_loc<std::int32_t>{})));
    }
  } else {
    GTEST_SKIP() << left_to_the_default;
  }
}

TYPED_TEST(functors, a_tuple_with_one_value_each) {
  for (const std::size_t n : few_sizes()) {
    const auto host = make_data<std::int32_t>(data::whole_numbers, n);
    placed<std::int32_t, typename TypeParam::exec_type> x(this->exec(), host);
    const auto all =
        fanin::parallel_reduce("three", fanin::range(this->exec(), n), three_values{x.data()},
                               fanin::sum<std::int64_t>{}, fanin::max_loc<std::int32_t>{}, fanin::min<double>{});
    const auto expected =
        fanin::parallel_reduce(fanin::range(in_order, n), three_values{host.data()}, fanin::sum<std::int64_t>{},
                               fanin::max_loc<std::int32_t>{}, fanin::min<double>{});
    EXPECT_TRUE(is_same(all, expected)) << "n = " << n;
  }
}

TYPED_TEST(functors, accumulators_of_another_type) {
  const auto host = make_data<std::int32_t>(data::whole_numbers, 5'003);
  placed<std::int32_t, typename TypeParam::exec_type> x(this->exec(), host);
  const auto range = fanin::range(this->exec(), host.size());
  std::uint64_t even = 0;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (host[i] % 2 == 0) ++even;
    if (host[i] % 7 == 0) last = static_cast<std::int64_t>(i);
  }
  EXPECT_EQ(fanin::parallel_reduce(range, count_even{x.data()}, fanin::sum<std::uint64_t>{}), even);
  EXPECT_EQ(fanin::parallel_reduce(range, keep_last_multiple{x.data()}, last_index{}).index, last);
}

TYPED_TEST(functors, lambdas) {
  const auto host = make_data<double>(data::whole_numbers, 10'001);
  placed<double, typename TypeParam::exec_type> x(this->exec(), host);
  double expected = 0;
  double sum = 0;
  for (const double value : host) {
    expected += value * value;
    sum += value;
  }
  EXPECT_EQ(norm2_by_lambda(this->exec(), x.data(), host.size()), expected);
  if constexpr (TypeParam::breadth != coverage::spot) {
    const auto least = fanin::reduce(in_order, host, fanin::min_loc<double>{});
    EXPECT_TRUE(is_same(least_by_lambda(this->exec(), x.data(), host.size()), least));
    EXPECT_EQ(scaled{4}.sum(this->exec(), x.data(), host.size()), 4 * sum);
  }
}

/// A label names the call for profilers and changes nothing; it may be null, empty, or hold anything.
TYPED_TEST(functors, indices_of_32_bits) {
  if constexpr (TypeParam::breadth != coverage::spot) {
    using exec_type = typename TypeParam::exec_type;
    for (const std::int32_t n : {0, 1, 77, 1'025, 100'003}) {
      for (const std::int32_t first : {0, -100, INT32_MIN, INT32_MAX - n}) {
        const std::int64_t expected = std::int64_t{n} * (n - 1) / 2;
        const auto range = fanin::range<std::int32_t>(this->exec(), first, first + n);
        const auto [sum, most] =
            fanin::parallel_reduce(range, int_index{first}, fanin::sum<std::int64_t>{}, fanin::max_loc<std::int64_t>{});
        EXPECT_EQ(sum, expected) << "[" << first << ", +" << n << ")";
        static_assert(std::is_same_v<decltype(most.index), std::int64_t>);
        EXPECT_EQ(most.index, n > 0 ? std::int64_t{first} + n - 1 : -1);

        placed<std::int32_t, exec_type> visits(this->exec(), std::vector<std::int32_t>(static_cast<std::size_t>(n), 0));
        const auto [added, bytes] = fanin::parallel_reduce(range, add_int_index{visits.data(), first},
                                                           fanin::sum<std::int64_t>{}, fanin::sum<std::uint64_t>{});
        EXPECT_EQ(added, expected);
        EXPECT_EQ(bytes, 4 * static_cast<std::uint64_t>(n));
        EXPECT_EQ(visits.host(), std::vector<std::int32_t>(static_cast<std::size_t>(n), 1));
      }
      placed<std::int32_t, exec_type> visits(this->exec(), std::vector<std::int32_t>(static_cast<std::size_t>(n), 0));
      fanin::parallel_for(fanin::range<std::int32_t>(this->exec(), n), visit_ints{visits.data()});
      this->exec().synchronize();
      EXPECT_EQ(visits.host(), std::vector<std::int32_t>(static_cast<std::size_t>(n), 1));
      // A functor of 64 bits takes ints.
      EXPECT_EQ(fanin::parallel_reduce(fanin::range<std::int32_t>(this->exec(), n), index_itself{},
                                       fanin::sum<std::int64_t>{}),
                std::int64_t{n} * (n - 1) / 2);
    }
  } else {
    GTEST_SKIP() << left_to_the_default;
  }
}

TYPED_TEST(functors, indices_of_32_bits_in_two_dimensions) {
  if constexpr (TypeParam::breadth != coverage::spot) {
    const fanin::sum<std::int64_t> sum;
    for (const std::int32_t low : {0, -3, INT32_MIN, INT32_MAX - 66}) {
      const std::int64_t expected = [&] {
        std::int64_t total = 0;
        for (std::int64_t i = -2; i < 31; ++i) {
          for (std::int64_t j = low; j < std::int64_t{low} + 66; ++j) total += i * 1'000 + j;
        }
        return total;
      }();
      const fanin::md_index<2> lower{{-2, low}};
      const fanin::md_index<2> upper{{31, std::int64_t{low} + 66}};
      const auto right = fanin::md_range<std::int32_t>(this->exec(), lower, upper);
      const auto left = fanin::md_range<fanin::iterate::left, std::int32_t>(this->exec(), lower, upper);
      EXPECT_EQ(fanin::parallel_reduce(right, planar_ints{}, sum), expected);
      EXPECT_EQ(fanin::parallel_reduce(right, add_planar_ints{}, sum), expected);
      const auto most = fanin::parallel_reduce(left, planar_ints{}, fanin::max_loc<std::int64_t>{});
      EXPECT_EQ(most.value, 30'000 + std::int64_t{low} + 65);
      EXPECT_EQ(most.index, (fanin::md_index<2>{{30, std::int64_t{low} + 65}}));
    }
  } else {
    GTEST_SKIP() << left_to_the_default;
  }
}

TYPED_TEST(functors, indices_that_do_not_fit_32_bits) {
  if constexpr (TypeParam::breadth != coverage::spot) {
    constexpr std::int64_t beyond = std::int64_t{INT32_MAX} + 1;
    EXPECT_NO_THROW(fanin::range<std::int32_t>(this->exec(), beyond - 1));
    EXPECT_THROW(fanin::range<std::int32_t>(this->exec(), beyond), fanin::invalid_argument);
    EXPECT_THROW(fanin::range<std::int32_t>(this->exec(), -beyond - 1, 0), fanin::invalid_argument);
    EXPECT_NO_THROW(fanin::md_range<std::int32_t>(this->exec(), {-beyond, 0}, {0, beyond - 1}));
    EXPECT_THROW(fanin::md_range<std::int32_t>(this->exec(), {1, beyond}), fanin::invalid_argument);
    EXPECT_THROW(fanin::md_range<std::int32_t>(this->exec(), {-beyond - 1, 0}, {0, 1}), fanin::invalid_argument);
  } else {
    GTEST_SKIP() << left_to_the_default;
  }
}

TYPED_TEST(functors, tags) {
  if constexpr (TypeParam::breadth != coverage::spot) {
    using exec_type = typename TypeParam::exec_type;
    const fanin::sum<std::int64_t> sum;
    for (const std::int32_t n : {0, 7, 7'007}) {
      placed<std::int32_t, exec_type> visits(this->exec(), std::vector<std::int32_t>(static_cast<std::size_t>(n), 0));
      const tagged_calls f{visits.data()};
      const std::int64_t all = std::int64_t{n} * (n - 1) / 2;
      EXPECT_EQ(fanin::parallel_reduce(fanin::range<twice>(this->exec(), n), f, sum), 2 * all);
      EXPECT_EQ(fanin::parallel_reduce(fanin::range<thrice, std::int32_t>(this->exec(), 0, n), f, sum), 3 * all);
      EXPECT_EQ(fanin::parallel_reduce(fanin::md_range<std::int32_t, planar_tag>(this->exec(), {n / 7, 7}), f, sum),
                2 * all);
      EXPECT_EQ(fanin::parallel_reduce(fanin::range(this->exec(), n), f, sum), 0);
      // Tags say nothing of the index.
      const std::int64_t high = std::int64_t{1} << 40;
      EXPECT_EQ(fanin::parallel_reduce(fanin::range<twice>(this->exec(), high, high + n), f, sum),
                2 * (n * high + all));
      fanin::parallel_for(fanin::range<mark>(this->exec(), n), f);
      fanin::parallel_for(fanin::md_range<fanin::iterate::left, mark>(this->exec(), {n / 7, 7}), f);
      this->exec().synchronize();
      EXPECT_EQ(visits.host(), std::vector<std::int32_t>(static_cast<std::size_t>(n), 2));
    }
  } else {
    GTEST_SKIP() << left_to_the_default;
  }
}

TYPED_TEST(functors, labels) {
  const auto host = make_data<std::int64_t>(data::random_signed, 1'000);
  placed<std::int64_t, typename TypeParam::exec_type> x(this->exec(), host);
  const auto range = fanin::range(this->exec(), host.size());
  const at<std::int64_t> f{x.data()};
  const auto expected = fanin::parallel_reduce(range, f, fanin::sum<std::int64_t>{});
  const std::string long_label(1'000, '%');
  for (const char* label : {static_cast<const char*>(nullptr), "", "%s%n", long_label.c_str()}) {
    EXPECT_EQ(fanin::parallel_reduce(label, range, f, fanin::sum<std::int64_t>{}), expected);
    EXPECT_EQ(fanin::reduce(label, this->exec(), x.span(), fanin::sum<std::int64_t>{}), expected);
  }
}

}  // namespace fanin_test
