// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/cuda/split/launch.cuh>
#include <fanin/md_range.hpp>
#include <many_reduction.cuh>

#include "simulator/seeds.hpp"
#include "simulator/simulated.hpp"
#include "support/functors.hpp"

// The contract of many results, on the simulated device.
#include "contract/arrays_of_many.hpp"
#include "contract/axes.hpp"

namespace fanin::detail {
template struct cuda_many_reduction<sum<double>, rows_of_matrix<double, 0>>;
template struct cuda_many_reduction<sum<double>, rows_of_matrix<double, 1>>;
template struct cuda_many_reduction<exact_sum<double>, rows_of_matrix<double, 0>>;
template struct cuda_many_reduction<exact_sum<double>, rows_of_matrix<double, 1>>;
}  // namespace fanin::detail

namespace fanin_test {
namespace {

struct planar_by_hand {};
struct of_ints {
  FANIN_FUNCTION std::int64_t operator()(int i) const { return i; }
  FANIN_FUNCTION void operator()(planar_by_hand, int i, int j, std::int64_t& sum) const { sum += 1'000 * i + j; }
};
struct mark_int {
  std::int32_t* visits;
  FANIN_FUNCTION void operator()(int i) const { ++visits[i]; }
};

/// Functors of ints, from any first index to the last that there is, and with a tag.
TEST(indices, of_32_bits) {
  const fanin::sum<std::int64_t> sum;
  for (std::uint64_t seed = 0; seed < simulator_test::count_of_seeds(20); ++seed) {
    const new_device drawn;
    const fanin::cuda gpu;
    for (const std::int32_t n : {1, 77, 1'500}) {
      for (const std::int32_t first : {0, -700, INT32_MIN, INT32_MAX - n}) {
        const std::int64_t expected = std::int64_t{first} * n + std::int64_t{n} * (n - 1) / 2;
        const auto range = fanin::range<std::int32_t>(gpu, first, first + n);
        EXPECT_EQ(fanin::parallel_reduce(range, of_ints{}, sum), expected) << "[" << first << ", +" << n << ")";
        const auto most = fanin::parallel_reduce(range, of_ints{}, fanin::max_loc<std::int64_t>{});
        EXPECT_EQ(most.index, std::int64_t{first} + n - 1);
      }
      const auto box = fanin::md_range<std::int32_t, planar_by_hand>(gpu, {-n, -3}, {0, 4});
      EXPECT_EQ(fanin::parallel_reduce(box, of_ints{}, sum), -7'000 * (std::int64_t{n} * (n + 1) / 2));
      std::vector<std::int32_t> visits(static_cast<std::size_t>(n), 0);
      fanin::parallel_for(fanin::range<std::int32_t>(gpu, n), mark_int{visits.data()});
      gpu.synchronize();
      EXPECT_EQ(visits, std::vector<std::int32_t>(static_cast<std::size_t>(n), 1));
    }
  }
}

template <std::size_t Rank>
struct value_at_indices {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const { return 1'000 * i + j; }
};
template <>
struct value_at_indices<3> {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return 1'000 * (1'000 * i + j) + k;
  }
};

/// Values at the indices of a box, of which a thread takes several, of one row or of two.
template <fanin::iterate Order, std::size_t Rank>
void expect_sum_of_box(const fanin::cuda& gpu, const std::array<std::int64_t, Rank>& extents) {
  std::array<std::int64_t, Rank> lower{};
  std::array<std::int64_t, Rank> upper{};
  std::int64_t count = 1;
  for (std::size_t d = 0; d < Rank; ++d) {
    lower[d] = 1 + static_cast<std::int64_t>(d);
    upper[d] = lower[d] + extents[d];
    count *= extents[d];
  }
  std::int64_t expected = 0;
  for (std::size_t d = 0; d < Rank; ++d) expected = expected * 1'000 + (lower[d] + upper[d] - 1) * count / 2;
  const auto box = fanin::md_range<Order>(gpu, lower, upper);
  EXPECT_EQ(fanin::parallel_reduce(box, value_at_indices<Rank>{}, fanin::sum<std::int64_t>{}), expected);
  const auto most = fanin::parallel_reduce(box, value_at_indices<Rank>{}, fanin::max_loc<std::int64_t>{});
  for (std::size_t d = 0; d < Rank; ++d) EXPECT_EQ(most.index[d], upper[d] - 1);
}

TEST(indices, values_of_md_range) {
  for (const std::int64_t n : {1, 2, 31, 64, 257, 2'048, 9'999}) {
    const new_device drawn;
    const fanin::cuda gpu;
    expect_sum_of_box<fanin::iterate::right, 2>(gpu, {20'000 / n, n});
    expect_sum_of_box<fanin::iterate::left, 2>(gpu, {n, 20'000 / n});
    expect_sum_of_box<fanin::iterate::right, 3>(gpu, {3, 7'000 / n + 1, n});
    expect_sum_of_box<fanin::iterate::left, 3>(gpu, {n, 7'000 / n + 1, 3});
  }
}

/// Counts how often a result was finished.
struct counts_results {
  std::int32_t* calls;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t sum, std::int64_t row) const {
    ++calls[row];
    return sum;
  }
};

/// Small elements, of which a thread has more in flight, and goes on in other steps.
struct small_value_at_indices {
  FANIN_FUNCTION std::uint32_t operator()(std::int64_t i, std::int64_t j) const {
    return static_cast<std::uint32_t>(value_at_indices<2>{}(i, j));
  }
};

/// Rows and columns in one tile or several, of one piece or many, which blocks of the same launch join or of another;
/// and counters that are 0 again, for a call that counts with them, too. The least, beside the sum, tells zeros that
/// are no piece.
TEST(tiles, join_their_pieces) {
  constexpr fanin::sum<std::int64_t> sum;
  using both = fanin::tuple<std::int64_t, std::int64_t>;
  using by_tickets =
      fanin::cuda_strategy::finished_by<fanin::cuda_strategy::shuffle, fanin::cuda_stage::grid::last_block>;
  std::set<std::string> seen;
  struct shape {
    std::int64_t n;
    std::int64_t m;
    int multiprocessors;
  };
  // Of 100 columns 30 pieces, 15 a thread, and 48; of 300, in three tiles, some of each; of rows 4, and 70, which are
  // more than a warp waits for.
  for (const auto& [n, m, multiprocessors] :
       {shape{3'001, 2, 24}, {1'600, 100, 15}, {1'600, 100, 24}, {1'600, 300, 24}, {2, 17'000, 24}, {2, 290'000, 40}}) {
    simulator::schedule how(static_cast<std::uint64_t>(n));
    how.multiprocessors = multiprocessors;
    simulator::begin(how);
    const fanin::cuda gpu;
    const auto reduce = [&](std::vector<both>& out, const auto& range) {
      fanin::parallel_reduce_into(out.data(), range, value_at_indices<2>{}, sum, fanin::min<std::int64_t>{});
      seen.insert(std::string(gpu.last_launch().strategy) + ", " + std::to_string(gpu.last_launch().launches));
    };
    for (int call = 0; call < 2; ++call) {
      std::vector<both> of_rows(static_cast<std::size_t>(n), both{-1, -1});
      std::vector<both> of_columns(static_cast<std::size_t>(m), both{-1, -1});
      reduce(of_rows, fanin::rows(gpu, n, m));
      reduce(of_columns, fanin::columns(gpu, n, m));
      EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu.with<by_tickets>(), n), index_itself{}, sum), n * (n - 1) / 2);
      std::vector<std::int64_t> sums(static_cast<std::size_t>(m));
      std::vector<std::int32_t> calls(static_cast<std::size_t>(m), 0);
      fanin::parallel_reduce_into(sums.data(), fanin::columns(gpu, n, m), value_at_indices<2>{},
                                  fanin::finished(counts_results{calls.data()}, sum));
      std::vector<std::uint32_t> small_sums(static_cast<std::size_t>(n), 0);
      fanin::parallel_reduce_into(small_sums.data(), fanin::rows(gpu, n, m), small_value_at_indices{},
                                  fanin::sum<std::uint32_t>{});
      gpu.synchronize();
      EXPECT_EQ(calls, std::vector<std::int32_t>(static_cast<std::size_t>(m), 1));
      for (std::int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(of_rows[static_cast<std::size_t>(i)], (both{1'000 * i * m + m * (m - 1) / 2, 1'000 * i}))
            << "row " << i;
        EXPECT_EQ(small_sums[static_cast<std::size_t>(i)], static_cast<std::uint32_t>(1'000 * i * m + m * (m - 1) / 2))
            << "row " << i;
      }
      for (std::int64_t j = 0; j < m; ++j) {
        EXPECT_EQ(of_columns[static_cast<std::size_t>(j)], (both{500 * n * (n - 1) + j * n, j})) << "column " << j;
      }
    }
  }
  for (const char* const launched : {"rows by blocks, 1", "columns by tiles, 1", "columns by tiles, 2"}) {
    EXPECT_TRUE(seen.contains(launched)) << launched;
  }
}

/// Columns by blocks of as many threads as make whole lines of memory, no powers of two, nor all with an element.
/// (Those of warps that are not whole are the GPU's, cuda_large.a_few_columns_of_many_elements.)
TEST(tiles, of_blocks_of_any_size) {
  namespace detail = fanin::detail;
  using axes = detail::axes_of<2, 0>;
  using line = detail::md_shape<1, fanin::iterate::right>;
  using put_type = detail::results_in_order<std::uint32_t>;
  using all_type = detail::axes_functor<small_value_at_indices, axes, fanin::iterate::right>;
  const new_device drawn;
  const fanin::cuda gpu;
  struct shape {
    unsigned threads;
    std::int64_t m;
  };
  for (const auto& [threads, m] : {shape{224, 7}, {288, 9}, {352, 11}, {416, 13}, {448, 7}, {480, 15}, {512, 31}}) {
    const std::int64_t n = 1'000 + threads;
    const std::int64_t parts = threads / m;
    const std::int64_t elements = (n / 5 / parts + 1) * parts;
    const auto pieces = static_cast<int>((n - 1) / elements + 1);
    const line left({}, {m}, m);
    const line reduced({}, {n}, n);
    const all_type all{left, reduced, m, n, {}};
    const auto c = detail::make_axes_composite<axes>(reduced, fanin::sum<std::uint32_t>{});
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(m));
    std::vector<std::uint32_t> partials(static_cast<std::size_t>(m * pieces));
    unsigned arrived = 0;
    const put_type put{sums.data()};
    const detail::tiles_share share{static_cast<unsigned>(m), false, pieces, elements};
    std::uint32_t* const to = partials.data();
    unsigned* const counter = &arrived;
    cudaLaunchConfig_t config{};
    config.gridDim.x = static_cast<unsigned>(pieces);
    config.blockDim.x = threads;
    config.dynamicSmemBytes = threads * sizeof(std::uint32_t);
    config.stream = gpu.stream();
    void* arguments[] = {detail::argument(all),   detail::argument(c),  detail::argument(put),
                         detail::argument(share), detail::argument(to), detail::argument(counter)};
    const void* const kernel =
        detail::kernel_pointer(&detail::rows_by_tiles_kernel<all_type, std::remove_const_t<decltype(c)>, put_type>);
    ASSERT_EQ(cudaLaunchKernelExC(&config, kernel, arguments), cudaSuccess);
    gpu.synchronize();
    EXPECT_EQ(arrived, 0U);
    for (std::int64_t j = 0; j < m; ++j) {
      EXPECT_EQ(sums[static_cast<std::size_t>(j)], static_cast<std::uint32_t>(500 * n * (n - 1) + j * n))
          << "column " << j << " by " << threads << " threads";
    }
  }
}

struct quotient {
  FANIN_FUNCTION float operator()(std::int64_t i, std::int64_t j) const { return 1.0F / static_cast<float>(1 + i + j); }
};

/// A tuning counts for no row, a lone one as little as several.
TEST(rows, take_no_tuning) {
  const new_device drawn;
  const fanin::cuda gpu;
  for (const std::int64_t n : {1, 2}) {
    std::vector<float> plain(2);
    std::vector<float> tuned(2);
    fanin::parallel_reduce_into(plain.data(), fanin::rows(gpu, n, 1'003), quotient{}, fanin::sum<float>{});
    const auto other = gpu.with({.block_size = 96, .blocks_per_sm = 1, .chunks = 2});
    fanin::parallel_reduce_into(tuned.data(), fanin::rows(other, n, 1'003), quotient{}, fanin::sum<float>{});
    gpu.synchronize();
    EXPECT_EQ(plain, tuned) << n;
  }
}

}  // namespace
}  // namespace fanin_test
