// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "contract/values.hpp"

namespace fanin_test {

template <class Fixture>
class float_values : public contract<Fixture> {};
TYPED_TEST_SUITE(float_values, fixtures, fixture_names);

TYPED_TEST(float_values, float32) {
  if constexpr (TypeParam::breadth != coverage::spot) {
    check_values<TypeParam, float>(this->exec());
  } else {
    GTEST_SKIP() << left_to_the_default;
  }
}
TYPED_TEST(float_values, float64) { check_values<TypeParam, double>(this->exec()); }

/// NaN propagates through min and max from any place; of several, `_loc` gives the first.
TYPED_TEST(float_values, nan_propagates_from_any_place) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{2}, std::size_t{33}, std::size_t{1025}, std::size_t{70'001}}) {
    for (const std::size_t where : {std::size_t{0}, n / 2, n - 1}) {
      auto host = make_data<double>(data::random_signed, n);
      if (n > 2) host[(where + 1) % n] = -infinity;
      if (n > 2) host[(where + 2) % n] = infinity;
      host[where] = where % 2 == 0 ? nan : -nan;
      placed<double, typename TypeParam::exec_type> x(this->exec(), host);
      const auto [least, least_at] = fanin::reduce(this->exec(), x.span(), fanin::min_loc<double>{});
      EXPECT_TRUE(std::isnan(least)) << "n = " << n << ", NaN at " << where;
      EXPECT_EQ(least_at, static_cast<std::int64_t>(where)) << "n = " << n;
      const auto [greatest, greatest_at] = fanin::reduce(this->exec(), x.span(), fanin::max_loc<double>{});
      EXPECT_TRUE(std::isnan(greatest)) << "n = " << n << ", NaN at " << where;
      EXPECT_EQ(greatest_at, static_cast<std::int64_t>(where)) << "n = " << n;
      EXPECT_TRUE(std::isnan(fanin::reduce(this->exec(), x.span(), fanin::min<double>{})));
      EXPECT_TRUE(std::isnan(fanin::reduce(this->exec(), x.span(), fanin::max<double>{})));
      const auto both = fanin::reduce(this->exec(), x.span(), fanin::min_max<double>{});
      EXPECT_TRUE(std::isnan(both.min) && std::isnan(both.max));
    }
  }
}

TYPED_TEST(float_values, of_several_nans_the_first_is_named) {
  auto host = make_data<double>(data::random_signed, 5'000);
  for (const std::size_t i : {4'999, 1'234, 77, 3'000}) host[i] = std::numeric_limits<double>::quiet_NaN();
  placed<double, typename TypeParam::exec_type> x(this->exec(), host);
  EXPECT_EQ(fanin::reduce(this->exec(), x.span(), fanin::min_loc<double>{}).index, 77);
  EXPECT_EQ(fanin::reduce(this->exec(), x.span(), fanin::max_loc<double>{}).index, 77);
}

/// -0 < +0, for the value and for the place.
TYPED_TEST(float_values, negative_zero_is_below_positive_zero) {
  for (const std::size_t n : {std::size_t{2}, std::size_t{3}, std::size_t{64}, std::size_t{1'000}}) {
    for (const std::size_t where : {std::size_t{0}, n / 2, n - 1}) {
      std::vector<double> host(n, 0.0);
      host[where] = -0.0;
      placed<double, typename TypeParam::exec_type> x(this->exec(), host);
      const auto least = fanin::reduce(this->exec(), x.span(), fanin::min_loc<double>{});
      EXPECT_TRUE(is_same(least, fanin::value_index<double>{-0.0, static_cast<std::int64_t>(where)})) << "n = " << n;
      EXPECT_TRUE(is_same(fanin::reduce(this->exec(), x.span(), fanin::min<double>{}), -0.0));

      std::vector<double> opposite(n, -0.0);
      opposite[where] = 0.0;
      placed<double, typename TypeParam::exec_type> y(this->exec(), opposite);
      const auto greatest = fanin::reduce(this->exec(), y.span(), fanin::max_loc<double>{});
      EXPECT_TRUE(is_same(greatest, fanin::value_index<double>{0.0, static_cast<std::int64_t>(where)})) << "n = " << n;
      EXPECT_TRUE(is_same(fanin::reduce(this->exec(), y.span(), fanin::max<double>{}), 0.0));
    }
  }
}

/// The identity is always folded in.
TYPED_TEST(float_values, a_sum_of_negative_zeros_is_positive_zero) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{33}, std::size_t{5'000}}) {
    placed<double, typename TypeParam::exec_type> x(this->exec(), std::vector<double>(n, -0.0));
    EXPECT_TRUE(is_same(fanin::reduce(this->exec(), x.span(), fanin::sum<double>{}), 0.0)) << "n = " << n;
    EXPECT_TRUE(
        is_same(fanin::parallel_reduce(fanin::range(this->exec(), n), at<double>{x.data()}, fanin::sum<double>{}), 0.0))
        << "n = " << n;
  }
}

TYPED_TEST(float_values, infinities) {
  const double infinity = std::numeric_limits<double>::infinity();
  auto host = make_data<double>(data::random_signed, 3'001);
  host[1'500] = infinity;
  placed<double, typename TypeParam::exec_type> x(this->exec(), host);
  EXPECT_EQ(fanin::reduce(this->exec(), x.span(), fanin::sum<double>{}), infinity);
  EXPECT_EQ(fanin::reduce(this->exec(), x.span(), fanin::max_loc<double>{}).index, 1'500);
  host[7] = -infinity;
  placed<double, typename TypeParam::exec_type> y(this->exec(), host);
  EXPECT_TRUE(std::isnan(fanin::reduce(this->exec(), y.span(), fanin::sum<double>{})));
  EXPECT_EQ(fanin::reduce(this->exec(), y.span(), fanin::min_loc<double>{}).index, 7);

  // An array of nothing but the identity is not an empty one: it has a place.
  placed<double, typename TypeParam::exec_type> z(this->exec(), std::vector<double>(100, infinity));
  EXPECT_TRUE(is_same(fanin::reduce(this->exec(), z.span(), fanin::min_loc<double>{}),
                      fanin::value_index<double>{infinity, 0}));
}

}  // namespace fanin_test
