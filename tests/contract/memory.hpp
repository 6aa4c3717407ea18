// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "contract/contract.hpp"

/// Buffers, copies, and parallel_for over the same ranges.
namespace fanin_test {

struct write_index {
  std::int64_t* y;
  std::int64_t first;
  FANIN_FUNCTION void operator()(std::int64_t i) const { y[i - first] = i; }
};

struct add_one {
  std::uint8_t* y;
  FANIN_FUNCTION void operator()(std::int64_t i) const { y[i] = static_cast<std::uint8_t>(y[i] + 1); }
};

template <class Fixture>
class memory : public contract<Fixture> {};
TYPED_TEST_SUITE(memory, fixtures, fixture_names);

TYPED_TEST(memory, a_buffer_of_nothing) {
  fanin::buffer<double, typename TypeParam::exec_type> none(this->exec(), 0);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(none.span().empty());
  none.copy_from({});
  none.copy_to({});
}

TYPED_TEST(memory, there_and_back) {
  for (const std::size_t n : few_sizes()) {
    const auto host = make_data<std::int64_t>(data::random_signed, n);
    fanin::buffer<std::int64_t, typename TypeParam::exec_type> x(this->exec(), host);
    ASSERT_EQ(x.size(), n);
    EXPECT_EQ(x.empty(), n == 0);
    EXPECT_EQ(x.span().data(), x.data());
    EXPECT_EQ(std::as_const(x).span().size(), n);
    std::vector<std::int64_t> back(n);
    x.copy_to(back);
    EXPECT_EQ(back, host);
  }
}

/// A vector load of the first element needs an alignment of 16 and more.
TYPED_TEST(memory, is_aligned) {
  for (const int n : {1, 3, 100}) {
    fanin::buffer<std::uint8_t, typename TypeParam::exec_type> x(this->exec(), n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data()) % 64, 0U);
  }
}

TYPED_TEST(memory, moves_and_does_not_copy) {
  using buffer = fanin::buffer<std::int32_t, typename TypeParam::exec_type>;
  static_assert(!std::is_copy_constructible_v<buffer> && !std::is_copy_assignable_v<buffer>);
  static_assert(std::is_nothrow_move_constructible_v<buffer> && std::is_nothrow_move_assignable_v<buffer>);
  const std::vector<std::int32_t> host{4, 5, 6};
  buffer a(this->exec(), host);
  const auto* const where = a.data();
  buffer b(std::move(a));
  EXPECT_EQ(b.data(), where);
  EXPECT_EQ(a.data(), nullptr);  // NOLINT(bugprone-use-after-move): a moved-from buffer is empty
  EXPECT_EQ(a.size(), 0U);
  buffer c(this->exec(), 100);
  c = std::move(b);
  EXPECT_EQ(c.data(), where);
  EXPECT_EQ(b.size(), 0U);
  auto& self = c;
  c = std::move(self);
  std::vector<std::int32_t> back(3);
  c.copy_to(back);
  EXPECT_EQ(back, host);
}

/// It owns what it needs to copy and to free, whatever became of the object.
TYPED_TEST(memory, a_buffer_may_outlive_its_object) {
  using exec_type = typename TypeParam::exec_type;
  using buffer = fanin::buffer<std::int64_t, exec_type>;
  std::optional<exec_type> own(std::in_place);
  std::optional<buffer> x(std::in_place, *own, 1'000);
  buffer never_copied(*own, 1'000);
  fanin::parallel_for(fanin::range(*own, 1'000), write_index{x->data(), 0});
  own.reset();
  std::vector<std::int64_t> back(1'000);
  x->copy_to(back);
  for (std::int64_t i = 0; i < 1'000; ++i) ASSERT_EQ(back[static_cast<std::size_t>(i)], i);
  std::fill(back.begin(), back.end(), 3);
  x->copy_from(back);
  EXPECT_EQ(fanin::reduce(this->exec(), *x, fanin::sum<std::int64_t>{}), 3'000);
  buffer moved(std::move(*x));
  x.emplace(this->exec(), 5);
  *x = std::move(moved);
  EXPECT_EQ(x->size(), 1'000U);
}

TYPED_TEST(memory, free_copies) {
  auto& exec = this->exec();
  const auto host = make_data<float>(data::random_signed, 1'000);
  fanin::buffer<float, typename TypeParam::exec_type> x(exec, host.size());
  fanin::copy_from_host(exec, host, x.span());
  std::vector<float> back(host.size());
  fanin::copy_to_host(exec, x.span(), std::span(back));
  EXPECT_EQ(back, host);

  // A part: the rest stays.
  const std::vector<float> nines(10, 9.0F);
  fanin::copy_from_host(exec, nines, x.span().subspan(500, 10));
  fanin::copy_to_host(exec, x.span(), std::span(back));
  auto expected = host;
  std::fill(expected.begin() + 500, expected.begin() + 510, 9.0F);
  EXPECT_EQ(back, expected);

  // Nothing, from nowhere.
  fanin::copy_from_host(exec, std::span<const float>{}, std::span<float>{});
  fanin::copy_to_host(exec, std::span<const float>{}, std::span<float>{});
}

TYPED_TEST(memory, a_copy_waits_for_earlier_work) {
  auto& exec = this->exec();
  const std::int64_t n = 500'000;
  fanin::buffer<std::int64_t, typename TypeParam::exec_type> x(exec, n);
  std::vector<std::int64_t> back(static_cast<std::size_t>(n));
  for (std::int64_t round = 1; round < 5; ++round) {
    fanin::parallel_for(fanin::range(exec, n), fill<std::int64_t>{x.data(), round});
    x.copy_to(back);
    EXPECT_EQ(std::accumulate(back.begin(), back.end(), std::int64_t{0}), n * round);
  }
}

TYPED_TEST(memory, parallel_for_visits_every_index_once) {
  auto& exec = this->exec();
  for (const std::size_t n : sizes()) {
    placed<std::uint8_t, typename TypeParam::exec_type> y(exec, std::vector<std::uint8_t>(n + 1, 7));
    fanin::parallel_for("add one", fanin::range(exec, n), add_one{y.data()});
    auto back = y.host();
    EXPECT_EQ(back.back(), 7) << "one too many";
    back.pop_back();
    EXPECT_EQ(back, std::vector<std::uint8_t>(n, 8)) << "n = " << n;
  }
}

TYPED_TEST(memory, parallel_for_from_anywhere) {
  auto& exec = this->exec();
  const std::int64_t n = 1'025;
  for (const std::int64_t first : {std::int64_t{-600}, std::int64_t{1} << 40, INT64_MIN, INT64_MAX - n}) {
    fanin::buffer<std::int64_t, typename TypeParam::exec_type> y(exec, n);
    fanin::parallel_for(fanin::range(exec, first, first + n), write_index{y.data(), first});
    std::vector<std::int64_t> back(static_cast<std::size_t>(n));
    y.copy_to(back);
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(back[static_cast<std::size_t>(i)], first + i);
  }
}

TYPED_TEST(memory, parallel_for_of_nothing) {
  fanin::parallel_for(fanin::range(this->exec(), 0), fill<double>{nullptr, 1.0});
  synchronize(this->exec());
}

}  // namespace fanin_test
