// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/finished.hpp>
#include <fanin/pending.hpp>
#include <fanin/runs.hpp>
#include <fanin/segments.hpp>
#include <fanin/view.hpp>

#include "contract/contract.hpp"
#include "contract/many.hpp"
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

// --- Many results

/// Some numbers, and as many places of poison for each of two forms of a call.
template <class Exec>
struct both_forms {
  placed<double, Exec> now;
  placed<double, Exec> later;
  both_forms(Exec& exec, std::int64_t results)
      : now(exec, std::vector<double>(static_cast<std::size_t>(results), -7)),
        later(exec, std::vector<double>(static_cast<std::size_t>(results), -7)) {}
  std::span<double> span_later() { return {later.data(), later.size()}; }
};

/// Those of the `_into` form, of short rows and long ones, of none, and of long segments; got in another order.
TYPED_TEST(async, many_results_have_the_bits_of_the_into_form) {
  using exec_type = typename TypeParam::exec_type;
  const fanin::sum<double> sum;
  for (const auto& [n, m] : {matrix_shape{33, 31}, {2, 40'000}, {40'000, 3}, {700, 64}, {0, 3}, {3, 0}}) {
    const std::string what = std::to_string(n) + " x " + std::to_string(m);
    placed<double, exec_type> x(this->exec(), make_data<double>(data::random_signed, static_cast<std::size_t>(n * m)));
    placed<std::int64_t, exec_type> offsets(this->exec(), {0, n * m / 7, n * m / 7, n * m});
    const fanin::view<const double, 2> matrix(x.data(), {n, m});
    both_forms<exec_type> of_rows(this->exec(), n);
    both_forms<exec_type> of_columns(this->exec(), m);
    both_forms<exec_type> of_segments(this->exec(), 3);
    fanin::pending<void> rows = fanin::reduce_async(of_rows.later.data(), this->exec(), fanin::rows(matrix), sum);
    fanin::pending<void> columns =
        fanin::reduce_async("columns", of_columns.span_later(), this->exec(), fanin::columns(matrix), sum);
    fanin::pending<void> segments =
        fanin::reduce_async(of_segments.later.data(), this->exec(), fanin::segments(x.span(), offsets.span()), sum);
    fanin::reduce_into(of_rows.now.data(), this->exec(), fanin::rows(matrix), sum);
    fanin::reduce_into(of_columns.now.data(), this->exec(), fanin::columns(matrix), sum);
    fanin::reduce_into(of_segments.now.data(), this->exec(), fanin::segments(x.span(), offsets.span()), sum);
    EXPECT_TRUE(n * m != 0 || (n == 0 ? rows : columns).ready()) << what << ": nothing has to come";
    segments.get();
    rows.get();
    columns.get();
    EXPECT_TRUE(is_same(of_rows.later.host(), of_rows.now.host())) << what;
    EXPECT_TRUE(is_same(of_columns.later.host(), of_columns.now.host())) << what;
    EXPECT_TRUE(is_same(of_segments.later.host(), of_segments.now.host())) << what;
    EXPECT_FALSE(rows.valid());
    EXPECT_THROW(rows.get(), fanin::state_error);
  }
}

/// A destination for each reducer, what finished gives, and reducers that keep their state in a CUDA block.
TYPED_TEST(async, many_results_of_a_functor) {
  using exec_type = typename TypeParam::exec_type;
  constexpr std::int64_t n = 130;
  constexpr std::int64_t m = 45;
  placed<std::int32_t, exec_type> visits(this->exec(), std::vector<std::int32_t>(n * m, 0));
  placed<std::int64_t, exec_type> sums(this->exec(), std::vector<std::int64_t>(n));
  placed<std::int64_t, exec_type> again(this->exec(), std::vector<std::int64_t>(n));
  placed<double, exec_type> residuals(this->exec(), std::vector<double>(n));
  placed<double, exec_type> exact(this->exec(), std::vector<double>(m));
  const mark_matrix f{m, visits.data()};
  const fanin::sum<std::int64_t> sum;
  const auto range = fanin::rows(this->exec(), n, m);
  auto first = fanin::parallel_reduce_async(std::tuple(sums.data(), std::span(again.data(), n)), range, f, sum, sum);
  auto second = fanin::parallel_reduce_async("residuals", residuals.data(), range, f,
                                             fanin::finished(residual_of_row{}, fanin::sum<double>{}));
  auto third = fanin::parallel_reduce_async(std::span(exact.data(), m), fanin::columns(this->exec(), n, m), f,
                                            fanin::exact_sum<double>{});
  third.get();
  second.get();
  first.get();
  std::vector<std::int64_t> expected_sums(n, 0);
  std::vector<double> expected_residuals(n, 0);
  std::vector<double> expected_exact(m, 0);
  for (std::int64_t at = 0; at < n * m; ++at) {
    const auto i = static_cast<std::size_t>(at / m);
    const auto value = static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(at)) % 50);
    expected_sums[i] += value;
    expected_exact[static_cast<std::size_t>(at % m)] += static_cast<double>(value);
    expected_residuals[i] = static_cast<double>(i) - static_cast<double>(expected_sums[i]);
  }
  EXPECT_EQ(sums.host(), expected_sums);
  EXPECT_EQ(again.host(), expected_sums);
  EXPECT_EQ(residuals.host(), expected_residuals);
  EXPECT_EQ(exact.host(), expected_exact);
  EXPECT_EQ(visits.host(), std::vector<std::int32_t>(n * m, 3));
}

/// The true number, and no more than fits.
TYPED_TEST(async, runs_give_their_number) {
  using exec_type = typename TypeParam::exec_type;
  const fanin::sum<double> sum;
  for (const std::int64_t length : {1, 5, 6'000}) {
    const std::size_t n = 6'000;
    const std::size_t count = n / static_cast<std::size_t>(length);
    std::vector<std::int32_t> host(n);
    for (std::size_t k = 0; k < n; ++k) host[k] = static_cast<std::int32_t>(k / static_cast<std::size_t>(length));
    placed<std::int32_t, exec_type> keys(this->exec(), host);
    placed<double, exec_type> x(this->exec(), make_data<double>(data::random_signed, n));
    placed<std::int64_t, exec_type> told(this->exec(), {-1});
    std::vector<fanin::pending<std::int64_t>> numbers;
    std::vector<placed<std::int32_t, exec_type>> to_keys;
    std::vector<both_forms<exec_type>> results;
    for (const std::size_t room : {count + 2, count, count / 2, std::size_t{0}}) {
      to_keys.emplace_back(this->exec(), std::vector<std::int32_t>(room + 1, -7));
      results.emplace_back(this->exec(), static_cast<std::int64_t>(room + 1));
      const auto to = [&](double* at) { return fanin::runs_to(std::span(to_keys.back().data(), room), at); };
      const auto data = fanin::runs(x.span(), keys.span());
      numbers.push_back(room == count ? fanin::parallel_reduce_async("runs", to(results.back().later.data()),
                                                                     fanin::runs(this->exec(), keys.span()),
                                                                     at<double>{x.data()}, sum)
                                      : fanin::reduce_async(to(results.back().later.data()), this->exec(), data, sum));
      fanin::reduce_into(fanin::runs_to(std::span(to_keys.back().data(), room), results.back().now.data(), told.data()),
                         this->exec(), data, sum);
    }
    for (std::size_t k = numbers.size(); k-- > 0;) {
      EXPECT_EQ(numbers[k].get(), static_cast<std::int64_t>(count)) << length;
      const std::vector<double> got = results[k].later.host();
      EXPECT_TRUE(is_same(got, results[k].now.host())) << length;
      EXPECT_EQ(got.back(), -7);
      const std::vector<std::int32_t> written = to_keys[k].host();
      for (std::size_t r = 0; r < written.size(); ++r) {
        const bool is_there = r < count && r + 1 < written.size();
        ASSERT_EQ(written[r], is_there ? static_cast<std::int32_t>(r) : -7) << length << ", run " << r;
      }
    }
    EXPECT_EQ(told.host().front(), static_cast<std::int64_t>(count));
  }
  const std::span<double> none;
  auto of_none = fanin::reduce_async(fanin::runs_to(std::span<std::int32_t>(), none), this->exec(),
                                     fanin::runs(std::span<const double>(), std::span<const std::int32_t>()), sum);
  EXPECT_EQ(of_none.get(), 0);
}

/// More than there were before, got in another order, dropped unread, beside single results, beyond the object's end.
TYPED_TEST(async, any_number_of_many_is_outstanding) {
  using exec_type = typename TypeParam::exec_type;
  constexpr std::int64_t n = 300;
  const fanin::sum<std::int64_t> sum;
  placed<std::int64_t, exec_type> out(this->exec(), std::vector<std::int64_t>(100 * n, -1));
  {
    std::optional<TypeParam> own(std::in_place);
    std::vector<fanin::pending<void>> all;
    std::vector<fanin::pending<std::int64_t>> single;
    for (std::int64_t k = 0; k < 100; ++k) {
      all.push_back(
          fanin::parallel_reduce_async(out.data() + k * n, fanin::rows(own->exec(), n, k % 9), small_number{}, sum));
      single.push_back(fanin::parallel_reduce_async(fanin::range(own->exec(), 1'000), index_itself{}, sum));
      if (k % 10 == 3) all[static_cast<std::size_t>(k / 2)] = {};
    }
    while (all.size() > 30) {
      if (all.size() % 7 == 0 && all.back().valid()) {
        while (!all.back().ready()) continue;
      }
      if (all.back().valid()) all.back().get();
      all.pop_back();
      EXPECT_EQ(single[all.size()].get(), sum_below(1'000));
    }
    own.reset();
    for (auto& one : all) {
      if (!one.valid()) continue;
      EXPECT_TRUE(one.ready());
      one.get();
    }
  }
  const std::vector<std::int64_t> got = out.host();
  for (std::int64_t k = 0; k < 100; ++k) {
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t expected = 0;
      for (std::int64_t j = 0; j < k % 9; ++j) expected += small_number{}(i, j);
      ASSERT_EQ(got[static_cast<std::size_t>(k * n + i)], expected) << k << ", row " << i;
    }
  }
}

TYPED_TEST(async, bad_destinations_are_refused_by_the_call) {
  using exec_type = typename TypeParam::exec_type;
  const fanin::sum<std::int64_t> sum;
  placed<std::int64_t, exec_type> x(this->exec(), std::vector<std::int64_t>(12, 1));
  const fanin::view<const std::int64_t, 2> matrix(x.data(), {3, 4});
  std::int64_t* const null = nullptr;
  const std::span<std::int64_t> four(x.data(), 4);
  const auto rows = fanin::rows(this->exec(), 3, 4);
  expect_invalid([&] { static_cast<void>(fanin::parallel_reduce_async(null, rows, small_number{}, sum)); },
                 "fanin::parallel_reduce_async: the destination is null");
  expect_invalid([&] { static_cast<void>(fanin::reduce_async(four, this->exec(), fanin::rows(matrix), sum)); },
                 "fanin::reduce_async: the destination's extents are 4");
  expect_invalid(
      [&] {
        static_cast<void>(
            fanin::reduce_async(fanin::runs_to(four, four), this->exec(), fanin::runs(x.span(), x.span()), sum));
      },
      "fanin::reduce_async: the destination lies among what is read");
  fanin::parallel_reduce_async(null, fanin::rows(this->exec(), 0, 4), small_number{}, sum).get();
}

}  // namespace fanin_test
