// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "spaces.hpp"

namespace {

struct scaled_index {
  std::int64_t scale;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const { return i * scale; }
};

struct scaled_sum {
  std::int64_t scale;
  FANIN_FUNCTION void operator()(std::int64_t i, std::int64_t& acc) const { acc += i * scale; }
};

template <class Space>
using kokkos_threads = kokkos_case<Space>;
TYPED_TEST_SUITE(kokkos_threads, all_spaces);

constexpr int rounds = 300;
constexpr std::int64_t size = 1001;

/// Blocking and _into reductions of this thread's own scale; how many came out wrong.
template <class Space>
int wrong_results(fanin::kokkos<Space>& exec, std::int64_t scale) {
  int wrong = 0;
  fanin::buffer<fanin::tuple<std::int64_t, std::int64_t>, fanin::kokkos<Space>> out(exec, 1);
  for (int round = 0; round < rounds; ++round) {
    // Sizes of accumulators differ between calls, so that Kokkos's workspace grows under way.
    const std::int64_t n = size + round;
    const std::int64_t sum = scale * (n * (n - 1) / 2);
    const auto range = fanin::range(exec, n);
    if (fanin::parallel_reduce(range, scaled_sum{scale}, fanin::sum<std::int64_t>{}) != sum) ++wrong;
    fanin::parallel_reduce_into(out.data(), range, scaled_index{scale}, fanin::sum<std::int64_t>{},
                                fanin::max<std::int64_t>{});
    if (value_of(out) != fanin::tuple<std::int64_t, std::int64_t>{sum, scale * (n - 1)}) ++wrong;
  }
  return wrong;
}

template <class Space>
void expect_no_wrong_results(fanin::kokkos<Space>& first, fanin::kokkos<Space>& second) {
  std::atomic<int> wrong{0};
  std::thread other([&] { wrong += wrong_results(second, 7); });
  wrong += wrong_results(first, 3);
  other.join();
  EXPECT_EQ(wrong.load(), 0);
}

template <class Space>
bool takes_one_thread_only() {
  return fanin::detail::is_kokkos_threads<Space>;
}

TYPED_TEST(kokkos_threads, two_host_threads_on_one_object) {
  if (takes_one_thread_only<TypeParam>()) GTEST_SKIP() << "Kokkos::Threads is launched from one host thread";
  fanin::kokkos<TypeParam> exec;
  expect_no_wrong_results(exec, exec);
}

TYPED_TEST(kokkos_threads, two_host_threads_on_objects_that_share_an_instance) {
  if (takes_one_thread_only<TypeParam>()) GTEST_SKIP() << "Kokkos::Threads is launched from one host thread";
  fanin::kokkos<TypeParam> first;
  fanin::kokkos<TypeParam> second{first.space()};
  expect_no_wrong_results(first, second);
}

TYPED_TEST(kokkos_threads, two_host_threads_on_instances_of_their_own) {
  fanin::kokkos<TypeParam> whole;
  if (takes_one_thread_only<TypeParam>()) GTEST_SKIP() << "Kokkos::Threads is launched from one host thread";
  if (whole.space().concurrency() < 2 && fanin::detail::is_kokkos_openmp<TypeParam>) {
    GTEST_SKIP() << "a space of one thread cannot be partitioned";
  }
  const auto parts = Kokkos::Experimental::partition_space(whole.space(), 1, 1);
  fanin::kokkos<TypeParam> first{parts[0]};
  fanin::kokkos<TypeParam> second{parts[1]};
  expect_no_wrong_results(first, second);
}

TYPED_TEST(kokkos_threads, every_host_thread_has_a_default_object) {
  using backend = fanin::backend<fanin::kokkos<TypeParam>>;
  fanin::kokkos<TypeParam>* const mine = &backend::default_object();
  EXPECT_EQ(&backend::default_object(), mine);
  fanin::kokkos<TypeParam>* theirs = nullptr;
  std::thread([&] { theirs = &backend::default_object(); }).join();
  EXPECT_NE(theirs, mine);
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(*mine, 10), scaled_index{1}, fanin::sum<std::int64_t>{}), 45);
}

TYPED_TEST(kokkos_threads, another_thread_is_refused_where_kokkos_takes_one) {
  if (!takes_one_thread_only<TypeParam>()) GTEST_SKIP() << "this space takes any host thread";
  fanin::kokkos<TypeParam> exec;
  std::thread([&] {
    const auto range = fanin::range(exec, 10);
    EXPECT_THROW(fanin::parallel_reduce(range, scaled_index{1}, fanin::sum<std::int64_t>{}), fanin::state_error);
  }).join();
}

}  // namespace
