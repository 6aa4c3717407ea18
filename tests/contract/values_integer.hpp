// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "contract/values.hpp"

namespace fanin_test {

template <class Fixture>
class integer_values : public contract<Fixture> {};
TYPED_TEST_SUITE(integer_values, fixtures, fixture_names);

TYPED_TEST(integer_values, int32) { check_values<TypeParam, std::int32_t>(this->exec()); }
TYPED_TEST(integer_values, int64) { check_values<TypeParam, std::int64_t>(this->exec()); }
TYPED_TEST(integer_values, uint32) {
  if constexpr (TypeParam::breadth != coverage::spot) {
    check_values<TypeParam, std::uint32_t>(this->exec());
  } else {
    GTEST_SKIP() << left_to_the_default;
  }
}
TYPED_TEST(integer_values, uint64) {
  if constexpr (TypeParam::breadth != coverage::spot) {
    check_values<TypeParam, std::uint64_t>(this->exec());
  } else {
    GTEST_SKIP() << left_to_the_default;
  }
}

/// Integers wrap, in sums and in products, at both ends.
TYPED_TEST(integer_values, wrap) {
  const std::vector<std::int32_t> two{INT32_MAX, 1};
  placed<std::int32_t, typename TypeParam::exec_type> x(this->exec(), two);
  EXPECT_EQ(fanin::reduce(this->exec(), x.span(), fanin::sum<std::int32_t>{}), INT32_MIN);
  EXPECT_EQ(fanin::reduce(this->exec(), x.span(), fanin::prod<std::int32_t>{}), INT32_MAX);

  const std::vector<std::int64_t> many(70'000, INT64_MIN + 1);
  placed<std::int64_t, typename TypeParam::exec_type> y(this->exec(), many);
  EXPECT_EQ(fanin::reduce(this->exec(), y.span(), fanin::sum<std::int64_t>{}), 70'000);
  EXPECT_EQ(fanin::reduce(this->exec(), y.span(), fanin::prod<std::int64_t>{}), 1);
}

/// One bit an element: the sum and the or of 64 have every bit, and a missing one is named.
TYPED_TEST(integer_values, bit_per_index_names_the_missing_element) {
  for (std::size_t n = 0; n <= 64; ++n) {
    const auto host = make_data<std::uint64_t>(data::bit_per_index, n);
    placed<std::uint64_t, typename TypeParam::exec_type> x(this->exec(), host);
    const std::uint64_t expected = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
    const std::uint64_t sum = fanin::reduce(this->exec(), x.span(), fanin::sum<std::uint64_t>{});
    const std::uint64_t all = fanin::reduce(this->exec(), x.span(), fanin::bor<std::uint64_t>{});
    EXPECT_EQ(sum, expected) << "bits of missing or doubled elements: " << std::hex << (sum ^ expected);
    EXPECT_EQ(all, expected) << "bits of missing elements: " << std::hex << (all ^ expected);
  }
}

/// Where a wrong order of indices would show: the answer's place moves through the array.
TYPED_TEST(integer_values, an_extreme_is_found_wherever_it_stands) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{33}, std::size_t{257}, std::size_t{1025}}) {
    for (std::size_t where = 0; where < n; where += n / 37 + 1) {
      auto host = make_data<std::int32_t>(data::whole_numbers, n);
      host[where] = -1'000;
      placed<std::int32_t, typename TypeParam::exec_type> x(this->exec(), host);
      const auto [value, index] = fanin::reduce(this->exec(), x.span(), fanin::min_loc<std::int32_t>{});
      EXPECT_EQ(value, -1'000);
      EXPECT_EQ(index, static_cast<std::int64_t>(where)) << "n = " << n;
    }
  }
}

/// The same elements in another order: the same sum, product, and bits.
TYPED_TEST(integer_values, permutations_do_not_change_the_answer) {
  auto host = make_data<std::int64_t>(data::random_signed, 10'007);
  placed<std::int64_t, typename TypeParam::exec_type> x(this->exec(), host);
  const auto sum = fanin::reduce(this->exec(), x.span(), fanin::sum<std::int64_t>{});
  const auto least = fanin::reduce(this->exec(), x.span(), fanin::min<std::int64_t>{});
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    permute(host, seed);
    placed<std::int64_t, typename TypeParam::exec_type> y(this->exec(), host);
    EXPECT_EQ(fanin::reduce(this->exec(), y.span(), fanin::sum<std::int64_t>{}), sum);
    EXPECT_EQ(fanin::reduce(this->exec(), y.span(), fanin::min<std::int64_t>{}), least);
  }
}

}  // namespace fanin_test
