// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "contract/contract.hpp"

/// Ranges: where they begin, every index once, 64 bits throughout; empty ones; the same bits from run to run.
namespace fanin_test {

/// The last index that satisfies a cheap condition, anywhere in 64 bits.
struct low_bits {
  std::int64_t mask;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const { return i & mask; }
};

template <class Fixture>
class ranges : public contract<Fixture> {};
TYPED_TEST_SUITE(ranges, fixtures, fixture_names);

TYPED_TEST(ranges, begin_anywhere) {
  const std::vector<std::int64_t> firsts{0,
                                         1,
                                         -1,
                                         -500,
                                         12'345,
                                         INT32_MAX - std::int64_t{3},
                                         std::int64_t{1} << 40,
                                         -(std::int64_t{1} << 40),
                                         INT64_MIN,
                                         INT64_MAX - 100'003};
  for (const std::int64_t first : firsts) {
    for (const std::int64_t n : {0, 1, 2, 33, 257, 1'025, 100'003}) {
      const auto [sum, least, most] = fanin::parallel_reduce(
          fanin::range(this->exec(), first, first + n), index_itself{}, fanin::sum<std::int64_t>{},
          fanin::min_loc<std::int64_t>{}, fanin::max_loc<std::int64_t>{});
      // n * first + n (n - 1) / 2, modulo 2^64.
      const auto expected =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(first) +
                                    static_cast<std::uint64_t>(n * (n - 1) / 2));
      EXPECT_EQ(sum, expected) << "[" << first << ", +" << n << ")";
      if (n == 0) continue;
      EXPECT_EQ(least.value, first);
      EXPECT_EQ(most.value, first + n - 1);
      if (first >= 0) {
        EXPECT_EQ(least.index, first);
        EXPECT_EQ(most.index, first + n - 1);
      }
    }
  }
}

/// Every index once: a second visit and a missing one are named.
TYPED_TEST(ranges, every_index_is_visited_once) {
  using exec_type = typename TypeParam::exec_type;
  for (const std::size_t n : sizes()) {
    if (n == 0) continue;
    placed<std::uint8_t, exec_type> visits(this->exec(), std::vector<std::uint8_t>(n, 0));
    const std::int64_t first = -100;
    const auto count = fanin::parallel_reduce(fanin::range(this->exec(), first, first + static_cast<std::int64_t>(n)),
                                              visit{visits.data(), first}, fanin::sum<std::int64_t>{});
    EXPECT_EQ(count, static_cast<std::int64_t>(n));
    const auto seen = visits.host();
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(seen[i], 1) << "index " << i << " of " << n << " was visited " << int{seen[i]} << " times";
    }
  }
}

/// Indices beyond 2^32 reach the functor whole.
TYPED_TEST(ranges, indices_beyond_32_bits) {
  const std::int64_t first = (std::int64_t{1} << 40) - 5'000;
  const auto high =
      fanin::parallel_reduce(fanin::range(this->exec(), first, first + 10'000), low_bits{-(std::int64_t{1} << 32)},
                             fanin::sum<std::int64_t>{}, fanin::max_loc<std::int64_t>{});
  const std::int64_t below = ((std::int64_t{1} << 40) - 1) & (-(std::int64_t{1} << 32));
  EXPECT_EQ(fanin::get<0>(high), 5'000 * below + 5'000 * (std::int64_t{1} << 40));
  EXPECT_EQ(fanin::get<1>(high).value, std::int64_t{1} << 40);
  EXPECT_EQ(fanin::get<1>(high).index, std::int64_t{1} << 40);
}

/// More than 2^31 of them, where it takes no minutes.
TYPED_TEST(ranges, extents_beyond_32_bits) {
  if constexpr (requires { TypeParam::runs_long_ranges; }) {
    const std::int64_t n = (std::int64_t{1} << 31) + 3;
    const auto [sum, most] = fanin::parallel_reduce(fanin::range(this->exec(), n), low_bits{INT64_MAX},
                                                    fanin::sum<std::int64_t>{}, fanin::max_loc<std::int64_t>{});
    EXPECT_EQ(sum, (n - 1) / 2 * n);
    EXPECT_EQ(most.value, n - 1);
    EXPECT_EQ(most.index, n - 1);
  } else {
    GTEST_SKIP() << "2^31 + 3 calls of a functor take seconds on " << TypeParam::name;
  }
}

/// Nothing gives the identity's result; `_loc` kinds give index -1.
TYPED_TEST(ranges, empty) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto d = [&](const auto& reducer) { return fanin::reduce(this->exec(), std::span<const double>{}, reducer); };
  const auto i = [&](const auto& reducer) {
    return fanin::reduce(this->exec(), std::span<const std::int32_t>{}, reducer);
  };
  EXPECT_TRUE(is_same(d(fanin::sum<double>{}), 0.0));
  EXPECT_EQ(d(fanin::prod<double>{}), 1.0);
  EXPECT_EQ(d(fanin::min<double>{}), infinity);
  EXPECT_EQ(d(fanin::max<double>{}), -infinity);
  EXPECT_TRUE(is_same(d(fanin::min_loc<double>{}), fanin::value_index<double>{infinity, -1}));
  EXPECT_TRUE(is_same(d(fanin::max_loc<double>{}), fanin::value_index<double>{-infinity, -1}));
  EXPECT_TRUE(is_same(d(fanin::min_max<double>{}), fanin::min_max_value<double>{infinity, -infinity}));
  EXPECT_TRUE(is_same(d(fanin::min_max_loc<double>{}), fanin::min_max_index<double>{infinity, -infinity, -1, -1}));
  EXPECT_EQ(i(fanin::sum<std::int32_t>{}), 0);
  EXPECT_EQ(i(fanin::prod<std::int32_t>{}), 1);
  EXPECT_EQ(i(fanin::min<std::int32_t>{}), INT32_MAX);
  EXPECT_EQ(i(fanin::max<std::int32_t>{}), INT32_MIN);
  EXPECT_EQ(i(fanin::land<std::int32_t>{}), 1);
  EXPECT_EQ(i(fanin::lor<std::int32_t>{}), 0);
  EXPECT_EQ(i(fanin::band<std::int32_t>{}), -1);
  EXPECT_EQ(i(fanin::bor<std::int32_t>{}), 0);
  EXPECT_EQ(i(fanin::min_loc<std::int32_t>{}).index, -1);

  const auto [none, nowhere] = fanin::parallel_reduce(fanin::range(this->exec(), 7, 7), index_itself{},
                                                      fanin::sum<std::int64_t>{}, fanin::max_loc<std::int64_t>{});
  EXPECT_EQ(none, 0);
  EXPECT_TRUE(is_same(nowhere, fanin::value_index<std::int64_t>{INT64_MIN, -1}));
}

/// Ties: the smallest index, wherever the equals stand.
TYPED_TEST(ranges, ties_give_the_smallest_index) {
  for (const std::size_t n : {std::size_t{2}, std::size_t{64}, std::size_t{1'025}, std::size_t{100'003}}) {
    placed<std::int32_t, typename TypeParam::exec_type> equal(this->exec(), std::vector<std::int32_t>(n, 5));
    EXPECT_TRUE(is_same(fanin::reduce(this->exec(), equal.span(), fanin::min_loc<std::int32_t>{}),
                        fanin::value_index<std::int32_t>{5, 0}));
    EXPECT_TRUE(is_same(fanin::reduce(this->exec(), equal.span(), fanin::min_max_loc<std::int32_t>{}),
                        fanin::min_max_index<std::int32_t>{5, 5, 0, 0}));
    auto host = make_data<std::int32_t>(data::flags, n);
    host[n / 2] = host[n - 1] = 9;
    placed<std::int32_t, typename TypeParam::exec_type> x(this->exec(), host);
    EXPECT_TRUE(is_same(fanin::reduce(this->exec(), x.span(), fanin::max_loc<std::int32_t>{}),
                        fanin::value_index<std::int32_t>{9, static_cast<std::int64_t>(n / 2)}));
  }
}

/// The same bits from run to run, though the sum rounds.
TYPED_TEST(ranges, the_same_bits_twenty_times) {
  for (const std::size_t n : {std::size_t{1'025}, std::size_t{100'003}, (std::size_t{1} << 20) + 7}) {
    const auto host = make_data<double>(data::random_signed, n);
    placed<double, typename TypeParam::exec_type> x(this->exec(), host);
    const auto range = fanin::range(this->exec(), n);
    const double span_first = fanin::reduce(this->exec(), x.span(), fanin::sum<double>{});
    const double range_first = fanin::parallel_reduce(range, at<double>{x.data()}, fanin::sum<double>{});
    for (int run = 1; run < 20; ++run) {
      ASSERT_TRUE(is_same(fanin::reduce(this->exec(), x.span(), fanin::sum<double>{}), span_first)) << "run " << run;
      ASSERT_TRUE(is_same(fanin::parallel_reduce(range, at<double>{x.data()}, fanin::sum<double>{}), range_first))
          << "run " << run;
    }
  }
}

}  // namespace fanin_test
