// SPDX-License-Identifier: Apache-2.0
#include "cuda/catalogue_support.hpp"

/// Rows over more than 2^31 elements, where the GPU has the memory.
namespace fanin_test {
namespace {

/// x[i] = i mod 2^32: a dropped or doubled element changes the sum.
struct write_low_word {
  std::uint32_t* x;
  FANIN_FUNCTION void operator()(std::int64_t i) const { x[i] = static_cast<std::uint32_t>(i); }
};

template <class Strategy>
class catalogue_large : public strategy_test<Strategy> {};

using rows_of_large_arrays = ::testing::Types<fanin::cuda_strategy::one_pass_bulk, fanin::cuda_strategy::cluster,
                                              fanin::cuda_strategy::shared_shuffle>;
TYPED_TEST_SUITE(catalogue_large, rows_of_large_arrays, row_names);

TYPED_TEST(catalogue_large, words_beyond_two_to_the_31) {
  const std::int64_t n = (std::int64_t{1} << 31) + 3;
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  if (free < static_cast<std::size_t>(n) * 4 + (std::size_t{1} << 30)) {
    GTEST_SKIP() << "8.6 GB of GPU memory and some workspace are not free";
  }
  fanin::cuda gpu;
  fanin::buffer<std::uint32_t, fanin::cuda> x(gpu, n);
  fanin::parallel_for(fanin::range(gpu, n), write_low_word{x.data()});
  // The sum of i, modulo 2^32.
  const auto expected =
      static_cast<std::uint32_t>(static_cast<std::uint64_t>((n - 1) / 2) * static_cast<std::uint64_t>(n));
  const auto view = gpu.with<TypeParam>();
  EXPECT_EQ(fanin::reduce(view, x, fanin::sum<std::uint32_t>{}), expected);
  expect_ran<TypeParam>(gpu, static_cast<std::size_t>(n), 0);
  // From an odd start.
  EXPECT_EQ(fanin::reduce(view, x.span().subspan(3), fanin::sum<std::uint32_t>{}), expected - 3);
  const auto most = fanin::reduce(view, x, fanin::max_loc<std::uint32_t>{});
  EXPECT_EQ(most.value, static_cast<std::uint32_t>(n - 1));
  EXPECT_EQ(most.index, n - 1);
}

}  // namespace
}  // namespace fanin_test
