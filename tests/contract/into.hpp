// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/contract.hpp"

/// The forms that write to the backend's memory: the same answers, poison overwritten, neighbours untouched.
namespace fanin_test {

template <class Fixture>
class into : public contract<Fixture> {};
TYPED_TEST_SUITE(into, fixtures, fixture_names);

TYPED_TEST(into, parallel_reduce_into) {
  using exec_type = typename TypeParam::exec_type;
  for (const std::size_t n : sizes()) {
    const auto host = make_data<std::int64_t>(data::random_signed, n);
    placed<std::int64_t, exec_type> x(this->exec(), host);
    destination<std::int64_t, exec_type> out(this->exec());
    fanin::parallel_reduce_into(out.pointer(), fanin::range(this->exec(), n), at<std::int64_t>{x.data()},
                                fanin::sum<std::int64_t>{});
    EXPECT_TRUE(is_sum_of(std::span<const std::int64_t>(host), out.get(), 0));
  }
}

TYPED_TEST(into, reduce_into) {
  using exec_type = typename TypeParam::exec_type;
  for (const std::size_t n : sizes()) {
    const auto host = make_data<double>(data::random_signed, n);
    placed<double, exec_type> x(this->exec(), host, n % 3);
    destination<double, exec_type> sum(this->exec());
    destination<fanin::value_index<double>, exec_type> least(this->exec());
    fanin::reduce_into(sum.pointer(), this->exec(), x.span(), fanin::sum<double>{});
    fanin::reduce_into("labelled", least.pointer(), this->exec(), x.span(), fanin::min_loc<double>{});
    EXPECT_TRUE(is_sum_of(std::span<const double>(host), sum.get(), TypeParam::depth(n)));
    EXPECT_TRUE(is_same(least.get(), fanin::reduce(in_order, host, fanin::min_loc<double>{}))) << "n = " << n;
  }
}

/// `_into` and blocking are the same reduction: the same bits.
TYPED_TEST(into, the_bits_of_the_blocking_form) {
  using exec_type = typename TypeParam::exec_type;
  for (const std::size_t n : few_sizes()) {
    placed<double, exec_type> x(this->exec(), make_data<double>(data::random_signed, n));
    destination<double, exec_type> out(this->exec());
    fanin::reduce_into(out.pointer(), this->exec(), x.span(), fanin::sum<double>{});
    EXPECT_TRUE(is_same(out.get(), fanin::reduce(this->exec(), x.span(), fanin::sum<double>{}))) << "n = " << n;
  }
}

TYPED_TEST(into, several_reducers) {
  using exec_type = typename TypeParam::exec_type;
  using results = fanin::tuple<std::int32_t, fanin::value_index<std::int32_t>>;
  for (const std::size_t n : few_sizes()) {
    const auto host = make_data<std::int32_t>(data::pairs, n);
    placed<std::int32_t, exec_type> x(this->exec(), host);
    destination<results, exec_type> out(this->exec());
    fanin::parallel_reduce_into("two", out.pointer(), fanin::range(this->exec(), n), at<std::int32_t>{x.data()},
                                fanin::sum<std::int32_t>{}, fanin::max_loc<std::int32_t>{});
    EXPECT_TRUE(
        is_same(out.get(), fanin::reduce(in_order, host, fanin::sum<std::int32_t>{}, fanin::max_loc<std::int32_t>{})))
        << "n = " << n;
  }
}

TYPED_TEST(into, transform_reduce_into) {
  using exec_type = typename TypeParam::exec_type;
  for (const std::size_t n : few_sizes()) {
    const auto a = make_data<std::int64_t>(data::whole_numbers, n);
    const auto b = make_data<std::int64_t>(data::pairs, n);
    placed<std::int64_t, exec_type> x(this->exec(), a);
    placed<std::int64_t, exec_type> y(this->exec(), b, 1);
    destination<std::int64_t, exec_type> squares(this->exec());
    destination<std::int64_t, exec_type> dot(this->exec());
    std::int64_t expected_squares = 0;
    std::int64_t expected_dot = 0;
    for (std::size_t i = 0; i < n; ++i) {
      expected_squares += a[i] * a[i];
      expected_dot += a[i] * b[i];
    }
    fanin::transform_reduce_into(squares.pointer(), this->exec(), x.span(), multiply{}, fanin::sum<std::int64_t>{});
    fanin::transform_reduce_into(dot.pointer(), this->exec(), x.span(), y.span(), multiply{},
                                 fanin::sum<std::int64_t>{});
    EXPECT_EQ(squares.get(), expected_squares) << "n = " << n;
    EXPECT_EQ(dot.get(), expected_dot) << "n = " << n;
  }
}

/// No elements: the identity is written all the same.
TYPED_TEST(into, nothing_is_written_as_the_identity) {
  using exec_type = typename TypeParam::exec_type;
  destination<double, exec_type> sum(this->exec());
  destination<fanin::value_index<double>, exec_type> least(this->exec());
  destination<std::int64_t, exec_type> index_sum(this->exec());
  fanin::reduce_into(sum.pointer(), this->exec(), std::span<const double>{}, fanin::sum<double>{});
  fanin::reduce_into(least.pointer(), this->exec(), std::span<const double>{}, fanin::min_loc<double>{});
  fanin::parallel_reduce_into(index_sum.pointer(), fanin::range(this->exec(), 5, 5), index_itself{},
                              fanin::sum<std::int64_t>{});
  EXPECT_TRUE(is_same(sum.get(), 0.0));
  EXPECT_TRUE(is_same(least.get(), fanin::value_index<double>{std::numeric_limits<double>::infinity(), -1}));
  EXPECT_EQ(index_sum.get(), 0);
}

/// In the order of the object: a later call reads what an earlier one wrote, with no wait between.
TYPED_TEST(into, calls_are_ordered) {
  using exec_type = typename TypeParam::exec_type;
  const std::int64_t n = 50'000;
  fanin::buffer<std::int64_t, exec_type> x(this->exec(), n);
  fanin::buffer<std::int64_t, exec_type> sums(this->exec(), 8);
  for (std::int64_t round = 0; round < 8; ++round) {
    fanin::parallel_for(fanin::range(this->exec(), n), fill<std::int64_t>{x.data(), round});
    fanin::reduce_into(sums.data() + round, this->exec(), x, fanin::sum<std::int64_t>{});
  }
  // The sum of the sums, of memory that was never on the host.
  EXPECT_EQ(fanin::reduce(this->exec(), sums, fanin::sum<std::int64_t>{}), n * 28);
}

}  // namespace fanin_test
