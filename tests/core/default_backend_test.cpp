// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <fanin/fanin.hpp>

#include "support/data.hpp"
#include "support/functors.hpp"
#if FANIN_HAS_CUDA
#include "contract/fixtures/cuda_device.hpp"
#endif

/// What an application gets that names no execution object; compiled once for every backend that is enabled.
namespace fanin_test {
namespace {

class default_backend : public ::testing::Test {
 protected:
  void SetUp() override {
#if FANIN_DEFAULT_BACKEND == FANIN_BACKEND_CUDA || \
    (FANIN_DEFAULT_BACKEND == FANIN_BACKEND_KOKKOS && FANIN_KOKKOS_NEEDS_CUDA)
    if (const std::string why = no_gpu(); !why.empty()) GTEST_SKIP() << why;
#endif
  }
};

double norm2(const double* x, std::size_t n) {
  return fanin::parallel_reduce(
      "norm2", fanin::range(n), FANIN_LAMBDA(std::int64_t i, double& acc) { acc += x[i] * x[i]; },
      fanin::sum<double>{});
}

TEST_F(default_backend, is_the_configured_one) {
#if FANIN_DEFAULT_BACKEND == FANIN_BACKEND_CUDA
  EXPECT_STREQ(fanin::backend<fanin::default_backend>::name, "cuda");
#elif FANIN_DEFAULT_BACKEND == FANIN_BACKEND_KOKKOS
  EXPECT_STREQ(fanin::backend<fanin::default_backend>::name, "kokkos");
#else
  static_assert(std::is_same_v<fanin::default_backend, fanin::serial>);
  EXPECT_STREQ(fanin::backend<fanin::default_backend>::name, "serial");
#endif
  static_assert(std::is_same_v<decltype(fanin::range(3)), fanin::range_policy<fanin::default_backend>>);
  static_assert(std::is_same_v<fanin::buffer<int>, fanin::buffer<int, fanin::default_backend>>);
}

std::int64_t sum_of_places(std::int64_t rows, std::int64_t columns) {
  const auto f = FANIN_LAMBDA(std::int64_t i, std::int64_t j) { return i * 100 + j; };
  const fanin::md_index<2> none{};
  const fanin::md_index<2> all{{rows, columns}};
  const std::int64_t in_braces =
      fanin::parallel_reduce(fanin::md_range({rows, columns}), f, fanin::sum<std::int64_t>{});
  const auto sum = [&](const auto& range) { return fanin::parallel_reduce(range, f, fanin::sum<std::int64_t>{}); };
  for (const std::int64_t other :
       {sum(fanin::md_range({0, 0}, {rows, columns})), sum(fanin::md_range(all)), sum(fanin::md_range(none, all))}) {
    if (other != in_braces) return -1;
  }
  return in_braces;
}

std::int64_t sums_of_rows_and_columns(std::int64_t rows, std::int64_t columns) {
  const auto f = FANIN_LAMBDA(std::int64_t i, std::int64_t j) { return i * 100 + j; };
  fanin::buffer<std::int64_t> sums(static_cast<std::size_t>(rows + columns));
  fanin::parallel_reduce_into(sums.data(), fanin::rows(rows, columns), f, fanin::sum<std::int64_t>{});
  fanin::parallel_reduce_into("columns", sums.data() + rows, fanin::columns(rows, columns), f,
                              fanin::sum<std::int64_t>{});
  std::vector<std::int64_t> host(sums.size());
  sums.copy_to(host);
  std::int64_t weighed = 0;
  for (std::size_t k = 0; k < host.size(); ++k) weighed += host[k] * static_cast<std::int64_t>(k + 1);
  return weighed;
}

TEST_F(default_backend, has_rows_and_columns) {
  // Rows: 6, 406, 806; columns: 300, 303, 306, 309.
  EXPECT_EQ(sums_of_rows_and_columns(3, 4), 6 + 2 * 406 + 3 * 806 + 4 * 300 + 5 * 303 + 6 * 306 + 7 * 309);
}

TEST_F(default_backend, reduces_rows_and_segments_of_arrays) {
  fanin::buffer<std::int64_t> x(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  fanin::buffer<std::int32_t> offsets(std::vector<std::int32_t>{0, 4, 6});
  fanin::buffer<std::int64_t> out(4);
  const fanin::sum<std::int64_t> sum;
  const fanin::view<const std::int64_t, 2> matrix(x.data(), {2, 3});
  fanin::reduce_into(out.data(), fanin::rows(matrix), sum);
  fanin::reduce_into("segments", std::span(out.data() + 2, 2), fanin::segments(x, offsets), sum);
  std::vector<std::int64_t> host(4);
  out.copy_to(host);
  EXPECT_EQ(host, (std::vector<std::int64_t>{6, 15, 10, 11}));
}

TEST_F(default_backend, reduces_runs) {
  fanin::buffer<std::int64_t> x(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  fanin::buffer<std::int32_t> keys(std::vector<std::int32_t>{7, 7, 8, 8, 8, 7});
  fanin::buffer<std::int32_t> to_keys(4);
  fanin::buffer<std::int64_t> sums(5);
  const fanin::sum<std::int64_t> sum;
  EXPECT_EQ(fanin::reduce("runs", fanin::runs_to(to_keys, sums.data()), fanin::runs(x, keys), sum), 3);
  std::vector<std::int64_t> host(5);
  sums.copy_to(host);
  host.resize(3);
  EXPECT_EQ(host, (std::vector<std::int64_t>{3, 12, 6}));
  fanin::reduce_into(fanin::runs_to(to_keys, sums.data(), sums.data() + 4), fanin::runs(x, keys), sum);
  host.resize(5);
  sums.copy_to(host);
  EXPECT_EQ(host[4], 3);
}

TEST_F(default_backend, has_ranges_of_several_dimensions) {
  EXPECT_EQ(sum_of_places(3, 4), 4 * 100 * (0 + 1 + 2) + 3 * (0 + 1 + 2 + 3));
  static_assert(std::is_same_v<decltype(fanin::md_range<fanin::iterate::left>({3, 4, 5})),
                               fanin::md_range_policy<fanin::default_backend, 3, fanin::iterate::left>>);
}

TEST_F(default_backend, runs_without_an_object_named) {
  const std::size_t n = 10'001;
  const auto host = make_data<double>(data::whole_numbers, n);
  fanin::buffer<double> x(n);
  x.copy_from(host);
  double squares = 0;
  for (const double value : host) squares += value * value;
  EXPECT_EQ(norm2(x.data(), n), squares);
  EXPECT_EQ(fanin::reduce(x, fanin::sum<double>{}), fanin::reduce(fanin::serial{}, host, fanin::sum<double>{}));
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(-2, 3), index_itself{}, fanin::min<std::int64_t>{}), -2);

  fanin::parallel_for(fanin::range(n), fill<double>{x.data(), 0.5});
  EXPECT_EQ(fanin::reduce(x, fanin::sum<double>{}), static_cast<double>(n) / 2);

  EXPECT_THROW(fanin::range(-1), fanin::invalid_argument);
  EXPECT_THROW(fanin::range(2, 1), fanin::invalid_argument);
}

TEST_F(default_backend, has_one_object_a_thread) {
  const auto* const here = &fanin::default_execution();
  EXPECT_EQ(&fanin::default_execution(), here);
  const fanin::default_backend* there = nullptr;
  std::int64_t sum = 0;
  std::thread([&] {
    there = &fanin::default_execution();
    sum = fanin::parallel_reduce(fanin::range(101), index_itself{}, fanin::sum<std::int64_t>{});
  }).join();
  EXPECT_NE(there, here);
  EXPECT_EQ(sum, 5'050);
}

TEST_F(default_backend, buffers_are_made_of_host_arrays) {
  const std::vector<std::int32_t> host{4, 5, 6};
  const std::int32_t plain[] = {1, 2};
  const fanin::sum<std::int32_t> sum;
  EXPECT_EQ(fanin::reduce(fanin::buffer<std::int32_t>(host), sum), 15);
  EXPECT_EQ(fanin::reduce(fanin::buffer<std::int32_t>(plain), sum), 3);
  EXPECT_EQ(fanin::reduce(fanin::buffer<std::int32_t>(std::span(host).last(2)), sum), 11);
  EXPECT_EQ(fanin::buffer<std::int32_t>(std::vector<std::int32_t>{}).size(), 0U);
}

/// The object is the thread's and goes with it; the buffer stays.
TEST_F(default_backend, buffers_outlive_their_thread) {
  const auto host = make_data<double>(data::whole_numbers, 1'000);
  std::optional<fanin::buffer<double>> made;
  std::thread([&] {
    made.emplace(host.size());
    made->copy_from(host);
    fanin::parallel_for(fanin::range(1), fill<double>{made->data(), 7.0});
  }).join();
  std::vector<double> back(host.size());
  made->copy_to(back);
  EXPECT_EQ(back.front(), 7.0);
  back.front() = host.front();
  EXPECT_EQ(back, host);
  made->copy_from(host);
  EXPECT_EQ(fanin::reduce(*made, fanin::sum<double>{}), fanin::reduce(fanin::serial{}, host, fanin::sum<double>{}));
}

/// Freed after the main thread's default object: ctest runs this case alone, and it fails where the process does not
/// end well.
TEST_F(default_backend, buffers_may_be_static) {
  static const fanin::buffer<double> memory(100);
  EXPECT_EQ(memory.size(), 100U);
}

}  // namespace
}  // namespace fanin_test
