// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <fanin/pending.hpp>

#include "contract/contract.hpp"
#include "support/expect_invalid.hpp"

/// The forms whose result is got later: the same answers and bits, any number at once, in any order, from any thread,
/// dropped, beyond the object's end.
namespace fanin_test {

template <class Fixture>
class async : public contract<Fixture> {};
TYPED_TEST_SUITE(async, fixtures, fixture_names);

TYPED_TEST(async, the_bits_of_the_blocking_form) {
  using exec_type = typename TypeParam::exec_type;
  for (const std::size_t n : few_sizes()) {
    placed<double, exec_type> x(this->exec(), make_data<double>(data::random_signed, n), n % 3);
    placed<std::int64_t, exec_type> y(this->exec(), make_data<std::int64_t>(data::whole_numbers, n));
    const fanin::sum<double> sum;
    const fanin::min_loc<double> least;
    const fanin::sum<std::int64_t> whole;
    auto of_array = fanin::reduce_async(this->exec(), x.span(), sum);
    auto of_two = fanin::reduce_async("labelled", this->exec(), x.span(), sum, least);
    auto of_indices = fanin::parallel_reduce_async(fanin::range(this->exec(), n), at<std::int64_t>{y.data()}, whole);
    auto of_products = fanin::transform_reduce_async(this->exec(), y.span(), y.span(), multiply{}, whole);
    EXPECT_TRUE(
        is_same(of_products.get(), fanin::transform_reduce(this->exec(), y.span(), y.span(), multiply{}, whole)))
        << "n = " << n;
    EXPECT_TRUE(is_same(of_two.get(), fanin::reduce(this->exec(), x.span(), sum, least))) << "n = " << n;
    EXPECT_TRUE(is_same(of_array.get(), fanin::reduce(this->exec(), x.span(), sum))) << "n = " << n;
    EXPECT_TRUE(is_sum_of(std::span<const std::int64_t>(y.host()), of_indices.get(), 0)) << "n = " << n;
  }
}

/// No elements: the identity.
TYPED_TEST(async, nothing_gives_the_identity) {
  auto sum = fanin::reduce_async(this->exec(), std::span<const double>{}, fanin::sum<double>{});
  auto index_sum =
      fanin::parallel_reduce_async(fanin::range(this->exec(), 5, 5), index_itself{}, fanin::sum<std::int64_t>{});
  EXPECT_TRUE(is_same(sum.get(), 0.0));
  EXPECT_EQ(index_sum.get(), 0);
}

inline std::int64_t sum_below(std::size_t n) { return static_cast<std::int64_t>(n * (n - 1) / 2); }

/// More than there were before, in another order, some dropped unread, blocking calls among them.
TYPED_TEST(async, any_number_is_outstanding) {
  for (int round = 0; round < 3; ++round) {
    std::vector<fanin::pending<std::int64_t>> all;
    for (std::size_t n = 1; n <= 150; ++n) {
      all.push_back(
          fanin::parallel_reduce_async(fanin::range(this->exec(), n), index_itself{}, fanin::sum<std::int64_t>{}));
      if (n % 10 == 0) all[n / 2] = {};
      if (n % 40 == 0) {
        const auto blocking =
            fanin::parallel_reduce(fanin::range(this->exec(), n), index_itself{}, fanin::sum<std::int64_t>{});
        EXPECT_EQ(blocking, sum_below(n));
      }
    }
    for (std::size_t k = all.size(); k-- > 0;) {
      if (!all[k].valid()) continue;
      if (k % 7 == 0) {
        while (!all[k].ready()) continue;
      }
      EXPECT_EQ(all[k].get(), sum_below(k + 1));
      EXPECT_FALSE(all[k].valid());
    }
  }
}

/// In the order of the object: it reads what an earlier call wrote, and not what a later one does.
TYPED_TEST(async, calls_are_ordered) {
  using exec_type = typename TypeParam::exec_type;
  const std::int64_t n = 50'000;
  fanin::buffer<std::int64_t, exec_type> x(this->exec(), n);
  std::vector<fanin::pending<std::int64_t>> sums;
  for (std::int64_t round = 0; round < 8; ++round) {
    fanin::parallel_for(fanin::range(this->exec(), n), fill<std::int64_t>{x.data(), round});
    sums.push_back(fanin::reduce_async(this->exec(), x, fanin::sum<std::int64_t>{}));
  }
  for (std::int64_t round = 7; round >= 0; --round) EXPECT_EQ(sums[static_cast<std::size_t>(round)].get(), n * round);
}

TYPED_TEST(async, outlives_its_object_and_goes_to_another_thread) {
  const std::size_t n = 30'011;
  std::vector<fanin::pending<std::int64_t>> all;
  {
    std::optional<TypeParam> own(std::in_place);
    for (int k = 0; k < 3; ++k) {
      all.push_back(
          fanin::parallel_reduce_async(fanin::range(own->exec(), n), index_itself{}, fanin::sum<std::int64_t>{}));
    }
    std::thread([early = std::move(all[1])]() mutable { EXPECT_EQ(early.get(), sum_below(n)); }).join();
  }
  EXPECT_EQ(all[0].get(), sum_below(n));
  std::thread([late = std::move(all[2])]() mutable {
    EXPECT_TRUE(late.ready());
    EXPECT_EQ(late.get(), sum_below(n));
  }).join();
}

/// Bad arguments are told by the call.
TYPED_TEST(async, bad_arguments_are_refused_by_the_call) {
  const std::span<const std::int64_t> null(static_cast<const std::int64_t*>(nullptr), 3);
  const fanin::sum<std::int64_t> sum;
  expect_invalid([&] { static_cast<void>(fanin::reduce_async(this->exec(), null, sum)); }, "fanin::reduce_async");
  expect_invalid([&] { static_cast<void>(fanin::transform_reduce_async(this->exec(), null, multiply{}, sum)); },
                 "fanin::transform_reduce_async");
}

}  // namespace fanin_test
