// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "contract/contract.hpp"
#include "support/in_threads.hpp"

/// Host threads: objects of their own freely; one object from two threads safely or refused, never corrupt.
namespace fanin_test {

template <class Fixture>
class threads : public contract<Fixture> {};
TYPED_TEST_SUITE(threads, fixtures, fixture_names);

TYPED_TEST(threads, each_with_an_object_of_its_own) {
  using exec_type = typename TypeParam::exec_type;
  in_threads(2, [](int t) {
    TypeParam own;
    auto& exec = own.exec();
    for (int round = 0; round < 50; ++round) {
      const std::size_t n = 1'000 + 977 * static_cast<std::size_t>(round + t);
      const auto host = make_data<std::int64_t>(data::random_signed, n);
      placed<std::int64_t, exec_type> x(exec, host);
      destination<std::int64_t, exec_type> out(exec);
      fanin::reduce_into(out.pointer(), exec, x.span(), fanin::sum<std::int64_t>{});
      const auto sum = fanin::reduce(exec, x.span(), fanin::sum<std::int64_t>{});
      EXPECT_TRUE(is_sum_of(std::span<const std::int64_t>(host), sum, 0)) << "thread " << t;
      EXPECT_EQ(out.get(), sum) << "thread " << t;
    }
  });
}

/// Two threads, one object: every call gives its own right answer, or is refused with an error.
TYPED_TEST(threads, sharing_an_object) {
  using exec_type = typename TypeParam::exec_type;
  auto& exec = this->exec();
  const auto host = make_data<std::int64_t>(data::random_signed, 30'011);
  placed<std::int64_t, exec_type> x(exec, host);
  std::atomic<int> answered{0};
  in_threads(2, [&](int t) {
    for (int round = 0; round < 200; ++round) {
      const std::size_t n = host.size() - static_cast<std::size_t>(t * 10'000 + round);
      try {
        const auto sum = fanin::reduce(exec, x.span().first(n), fanin::sum<std::int64_t>{});
        EXPECT_TRUE(is_sum_of(std::span<const std::int64_t>(host).first(n), sum, 0)) << "thread " << t;
        const auto indices = fanin::parallel_reduce(fanin::range(exec, n), index_itself{}, fanin::sum<std::int64_t>{});
        EXPECT_EQ(indices, static_cast<std::int64_t>(n * (n - 1) / 2)) << "thread " << t;
        ++answered;
      } catch (const fanin::error&) {
        // Refused: allowed, as long as nothing is corrupt.
      }
    }
  });
  EXPECT_GT(answered, 0);
  EXPECT_TRUE(
      is_sum_of(std::span<const std::int64_t>(host), fanin::reduce(exec, x.span(), fanin::sum<std::int64_t>{}), 0));
}

}  // namespace fanin_test
