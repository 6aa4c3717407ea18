// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "contract/contract.hpp"
#include "support/user_reducers.hpp"

/// The reducer protocol in full: types, folds, results, thread states, sizes of accumulators.
namespace fanin_test {

struct spread {
  const std::uint32_t* x;
  FANIN_FUNCTION octet operator()(std::int64_t i) const {
    octet o{};
    o.lane[i % 8] = x[i];
    o.lane[7] += i;
    return o;
  }
};

struct triple_at {
  FANIN_FUNCTION triple operator()(std::int64_t i) const {
    return {static_cast<std::int32_t>(i % 100), static_cast<std::int32_t>(i % 7), 1};
  }
};

/// The accumulator form binds to the state of a gathering.
struct count_by_state {
  const std::uint32_t* x;
  FANIN_FUNCTION void operator()(std::int64_t i, histogram::cache& state) const { histogram{}.fold(state, x[i], i); }
};

template <class Fixture>
class user_reducers : public contract<Fixture> {};
TYPED_TEST_SUITE(user_reducers, fixtures, fixture_names);

TYPED_TEST(user_reducers, of_five_lines) {
  for (const std::size_t n : few_sizes()) {
    const auto host = make_data<double>(data::whole_numbers, n);
    placed<double, typename TypeParam::exec_type> x(this->exec(), host);
    EXPECT_TRUE(is_same(fanin::reduce(this->exec(), x.span(), sum_of_doubles{}),
                        fanin::reduce(in_order, host, sum_of_doubles{})))
        << "n = " << n;
  }
}

TYPED_TEST(user_reducers, three_types_and_an_index) {
  for (const std::size_t n : few_sizes()) {
    const auto host = make_data<std::int32_t>(data::random_signed, n);
    placed<std::int32_t, typename TypeParam::exec_type> x(this->exec(), host);
    const mean_above reducer{1'000'000'000};
    std::int64_t sum = 0;
    std::int64_t places = 0;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (host[i] <= reducer.bound) continue;
      sum += host[i];
      places += static_cast<std::int64_t>(i);
      ++count;
    }
    const auto expected = reducer.result({sum, places, count});
    EXPECT_EQ(fanin::reduce(this->exec(), x.span(), reducer), expected) << "n = " << n;
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(this->exec(), n), at<std::int32_t>{x.data()}, reducer), expected)
        << "n = " << n;
    if constexpr (has_into<TypeParam>) {
      destination<mean_above::means, typename TypeParam::exec_type> out(this->exec());
      fanin::reduce_into(out.pointer(), this->exec(), x.span(), reducer);
      EXPECT_EQ(out.get(), expected) << "n = " << n;
    }
  }
}

TYPED_TEST(user_reducers, an_accumulator_of_600_bytes) {
  for (const std::size_t n : few_sizes()) {
    const auto host = make_data<std::uint32_t>(data::random_signed, n);
    placed<std::uint32_t, typename TypeParam::exec_type> x(this->exec(), host);
    std::uint64_t expected = 0;
    for (const auto value : host) expected += mix(value % wide_counts::bins);
    EXPECT_EQ(fanin::reduce(this->exec(), x.span(), wide_counts{}), expected) << "n = " << n;
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(this->exec(), n), at<std::uint32_t>{x.data()}, wide_counts{}),
              expected)
        << "n = " << n;
  }
}

TYPED_TEST(user_reducers, a_state_beside_a_spill) {
  for (const std::size_t n : few_sizes()) {
    auto host = make_data<std::uint32_t>(data::random_signed, n);
    for (std::size_t i = n / 3; i < n / 2; ++i) host[i] = 5;  // runs, so that a cache holds something
    placed<std::uint32_t, typename TypeParam::exec_type> x(this->exec(), host);
    std::vector<std::int64_t> counts(histogram::bins, 0);
    for (const auto value : host) ++counts[value % histogram::bins];
    histogram::counters acc{};
    for (std::size_t i = 0; i < counts.size(); ++i) acc.count[i] = counts[i];
    const auto expected = histogram{}.result(acc);
    EXPECT_EQ(fanin::reduce(this->exec(), x.span(), histogram{}), expected) << "n = " << n;
    const auto range = fanin::range(this->exec(), n);
    EXPECT_EQ(fanin::parallel_reduce(range, at<std::uint32_t>{x.data()}, histogram{}), expected) << "n = " << n;
    EXPECT_EQ(fanin::parallel_reduce(range, count_by_state{x.data()}, histogram{}), expected) << "n = " << n;
  }
}

TYPED_TEST(user_reducers, counters) {
  for (const std::size_t n : few_sizes()) {
    auto host = make_data<std::uint32_t>(data::random_signed, n);
    for (std::size_t i = n / 3; i < n / 2; ++i) host[i] = 5;  // where all threads meet
    placed<std::uint32_t, typename TypeParam::exec_type> x(this->exec(), host);
    counters_of<71> expected{};
    for (const auto value : host) ++expected.of[value % 71];
    EXPECT_EQ(fanin::reduce(this->exec(), x.span(), tally<71>{}), expected) << "n = " << n;
  }
}

TYPED_TEST(user_reducers, a_spill_beside_a_plain_reducer) {
  const auto host = make_data<std::uint32_t>(data::random_signed, 10'001);
  placed<std::uint32_t, typename TypeParam::exec_type> x(this->exec(), host);
  const auto got = fanin::parallel_reduce(fanin::range(this->exec(), host.size()), at<std::uint32_t>{x.data()},
                                          histogram{}, fanin::max_loc<std::uint32_t>{}, wide_counts{});
  EXPECT_EQ(fanin::get<0>(got), fanin::reduce(in_order, host, histogram{}));
  EXPECT_EQ(fanin::get<1>(got), fanin::reduce(in_order, host, fanin::max_loc<std::uint32_t>{}));
  EXPECT_EQ(fanin::get<2>(got), fanin::reduce(in_order, host, wide_counts{}));
}

TYPED_TEST(user_reducers, structs_of_64_and_12_bytes) {
  for (const std::size_t n : few_sizes()) {
    const auto host = make_data<std::uint32_t>(data::random_signed, n);
    placed<std::uint32_t, typename TypeParam::exec_type> x(this->exec(), host);
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(this->exec(), n), spread{x.data()}, fanin::sum<octet>{}),
              fanin::parallel_reduce(fanin::range(in_order, n), spread{host.data()}, fanin::sum<octet>{}))
        << "n = " << n;
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(this->exec(), n), triple_at{}, fanin::sum<triple>{}),
              fanin::parallel_reduce(fanin::range(in_order, n), triple_at{}, fanin::sum<triple>{}))
        << "n = " << n;
  }
}

TYPED_TEST(user_reducers, arrays_of_structs) {
  for (const std::size_t n : few_sizes()) {
    std::vector<triple> triples(n);
    std::vector<octet> octets(n);
    for (std::size_t i = 0; i < n; ++i) {
      triples[i] = triple_at{}(static_cast<std::int64_t>(i));
      octets[i] = {};
      octets[i].lane[i % 8] = static_cast<std::int64_t>(i);
    }
    placed<triple, typename TypeParam::exec_type> x(this->exec(), triples);
    placed<octet, typename TypeParam::exec_type> y(this->exec(), octets);
    EXPECT_EQ(fanin::reduce(this->exec(), x.span(), fanin::sum<triple>{}),
              fanin::reduce(in_order, triples, fanin::sum<triple>{}))
        << "n = " << n;
    EXPECT_EQ(fanin::reduce(this->exec(), y.span(), fanin::sum<octet>{}),
              fanin::reduce(in_order, octets, fanin::sum<octet>{}))
        << "n = " << n;
  }
}

TYPED_TEST(user_reducers, pairs_and_types_without_plus) {
  for (const std::size_t n : few_sizes()) {
    std::vector<std::pair<std::int32_t, std::int64_t>> pairs(n);
    std::vector<compound> compounds(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto k = static_cast<std::int64_t>(i);
      pairs[i] = {static_cast<std::int32_t>(k * 7'919 % 100'003), k * k};
      compounds[i].value = k - 5;
    }
    placed<std::pair<std::int32_t, std::int64_t>, typename TypeParam::exec_type> x(this->exec(), pairs);
    placed<compound, typename TypeParam::exec_type> y(this->exec(), compounds);
    EXPECT_EQ(fanin::reduce(this->exec(), x.span(), largest_and_sum{}),
              fanin::reduce(in_order, pairs, largest_and_sum{}))
        << "n = " << n;
    EXPECT_EQ(fanin::reduce(this->exec(), y.span(), fanin::sum<compound>{}),
              fanin::reduce(in_order, compounds, fanin::sum<compound>{}))
        << "n = " << n;
  }
}

TYPED_TEST(user_reducers, with_values_of_their_own) {
  const auto host = make_data<double>(data::random_signed, 20'001);
  placed<double, typename TypeParam::exec_type> x(this->exec(), host);
  const within lower{-0.5, 0.0};
  const within upper{0.25, 0.75};
  EXPECT_EQ(fanin::reduce(this->exec(), x.span(), lower, upper), fanin::reduce(in_order, host, lower, upper));
}

}  // namespace fanin_test
