// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "cuda/catalogue_support.hpp"

/// What every row of the catalogue is tested for. Each unit instantiates it for the rows of one list.
namespace fanin_test {

using fanin::cuda_stage::grid;

/// Which grid stages have a meaning for a row, said a second time: the recipe's why_invalid must agree.
constexpr bool may_finish(const fanin::cuda_recipe& recipe, grid stage) {
  if (recipe.thread == fanin::cuda_stage::thread::pairs) return stage == grid::launch_per_halving;
  if (stage == grid::launch_per_halving) return false;
  if (recipe.block == fanin::cuda_stage::block::none) return stage == grid::host_finish;
  if (recipe.cluster_size > 1) return stage == grid::last_block || stage == grid::watching_block;
  return true;
}

/// Rows whose races racecheck does not see: it looks at shared memory alone.
constexpr bool is_beyond_racecheck(const fanin::cuda_recipe& recipe) {
  return recipe.memory == fanin::cuda_stage::memory::global || recipe.grid == grid::watching_block;
}

template <class Strategy>
class catalogue : public strategy_test<Strategy> {
 protected:
  /// The row finished by another grid stage, where that has a meaning.
  template <grid Stage>
  static void check_finish(fanin::cuda& gpu, const mirrored<std::int64_t>& x) {
    using other = fanin::cuda_strategy::finished_by<Strategy, Stage>;
    static_assert(fanin::cuda_strategy_tag<other> == may_finish(Strategy::recipe, Stage));
    if constexpr (fanin::cuda_strategy_tag<other> && Stage != Strategy::recipe.grid) {
      for (const std::size_t n : row_sizes()) {
        for (const int block : {0, 96}) expect_sum<other>(gpu, x, n, {.block_size = block});
      }
    }
  }
};
TYPED_TEST_SUITE_P(catalogue);

TYPED_TEST_P(catalogue, sum_of_64_bit_integers) {
  fanin::cuda gpu;
  const auto x = integers(gpu);
  for (const std::size_t n : row_sizes()) {
    for (const int block : row_blocks()) expect_sum<TypeParam>(gpu, x, n, {.block_size = block});
  }
  // From every start that an array of 8-byte elements can have.
  for (const std::size_t start : {0, 1, 2, 3}) {
    const auto view = gpu.with<TypeParam>();
    const std::size_t n = 66'001;
    EXPECT_TRUE(is_sum_of(x.host(start, n), fanin::reduce(view, x.there(start, n), fanin::sum<std::int64_t>{}), 0.0));
  }
  EXPECT_TRUE(x.is_as_it_was()) << "the input was changed";
}

TYPED_TEST_P(catalogue, min_loc_of_doubles) {
  fanin::cuda gpu;
  const mirrored<double> x(gpu, make_data<double>(data::pairs, most_elements + starts));
  const fanin::min_loc<double> least;
  expect_as_serial<TypeParam>(
      gpu, row_sizes(), row_blocks(),
      [&](const auto& view, std::size_t start, std::size_t n) {
        return fanin::parallel_reduce(fanin::range(view, n), at<double>{x.there(start, n).data()}, least);
      },
      [&](std::size_t start, std::size_t n) { return fanin::reduce(fanin::serial{}, x.host(start, n), least); });
  EXPECT_TRUE(x.is_as_it_was()) << "the input was changed";
}

TYPED_TEST_P(catalogue, struct_of_64_bytes) {
  fanin::cuda gpu;
  const mirrored<octet> x(gpu, make_octets(most_elements + starts));
  expect_as_serial<TypeParam>(
      gpu, row_sizes(), row_blocks(),
      [&](const auto& view, std::size_t start, std::size_t n) {
        return fanin::reduce(view, x.there(start, n), lanewise{});
      },
      [&](std::size_t start, std::size_t n) { return fanin::reduce(fanin::serial{}, x.host(start, n), lanewise{}); });
  EXPECT_TRUE(x.is_as_it_was()) << "the input was changed";
}

TYPED_TEST_P(catalogue, other_grid_stages) {
  fanin::cuda gpu;
  const auto x = integers(gpu);
  this->template check_finish<grid::host_finish>(gpu, x);
  this->template check_finish<grid::second_pass>(gpu, x);
  this->template check_finish<grid::last_block>(gpu, x);
  this->template check_finish<grid::watching_block>(gpu, x);
  this->template check_finish<grid::launch_per_halving>(gpu, x);
  // And the row's own again, on the same object and its workspace.
  for (const std::size_t n : row_sizes()) expect_sum<TypeParam>(gpu, x, n, {});
}

TYPED_TEST_P(catalogue, chunks_of_fold_n) {
  fanin::cuda gpu;
  const auto x = integers(gpu);
  if constexpr (TypeParam::recipe.thread == fanin::cuda_stage::thread::fold_n) {
    for (const int chunks : {1, 2, 3, 8, 16}) {
      for (const std::size_t n : row_sizes()) {
        for (const int block : {0, 96}) {
          expect_sum<TypeParam>(gpu, x, n, {.block_size = block, .chunks = chunks});
          const auto launch = gpu.last_launch();
          const auto of_block = static_cast<std::size_t>(launch.block_size * chunks);
          if (n > 0) EXPECT_EQ(static_cast<std::size_t>(launch.grid_size), (n + of_block - 1) / of_block);
        }
      }
    }
  } else {
    expect_invalid([&] { expect_sum<TypeParam>(gpu, x, 1'000, {.chunks = 2}); }, "only fold_n folds several chunks");
    expect_sum<TypeParam>(gpu, x, 1'000, {});
  }
}

TYPED_TEST_P(catalogue, grids) {
  fanin::cuda gpu;
  const auto x = integers(gpu);
  if constexpr (fanin::is_persistent(TypeParam::recipe)) {
    for (const int clusters : {1, 2, 37, 1'000}) {
      const int blocks = clusters * TypeParam::recipe.cluster_size;
      for (const std::size_t n : {std::size_t{1}, std::size_t{1'025}, most_elements}) {
        expect_sum<TypeParam>(gpu, x, n, {.grid_size = blocks});
        EXPECT_EQ(gpu.last_launch().grid_size, blocks);
      }
    }
    expect_sum<TypeParam>(gpu, x, most_elements, {.blocks_per_sm = 1});
    expect_sum<TypeParam>(gpu, x, most_elements, {.block_size = 64, .blocks_per_sm = 32});
    if constexpr (TypeParam::recipe.cluster_size > 1) {
      expect_invalid([&] { expect_sum<TypeParam>(gpu, x, 1'000, {.grid_size = 12}); }, "is not made of clusters of 8");
    }
  } else {
    const auto* const words = "its grid follows from the number of elements";
    expect_invalid([&] { expect_sum<TypeParam>(gpu, x, 1'000, {.grid_size = 2}); }, words);
    expect_invalid([&] { expect_sum<TypeParam>(gpu, x, 1'000, {.blocks_per_sm = 2}); }, words);
    expect_sum<TypeParam>(gpu, x, 1'000, {});
  }
}

TYPED_TEST_P(catalogue, block_sizes_that_are_refused) {
  fanin::cuda gpu;
  const auto x = integers(gpu);
  for (const int block : {-32, 1, 16, 31, 1'025, 1'056, 2'048}) {
    expect_invalid([&] { expect_sum<TypeParam>(gpu, x, 1'000, {.block_size = block}); },
                   "a block has 32 to 1024 threads");
  }
  for (const int block : {33, 100, 1'000}) {
    expect_invalid([&] { expect_sum<TypeParam>(gpu, x, 1'000, {.block_size = block}); }, "a multiple of 32 threads");
  }
  expect_sum<TypeParam>(gpu, x, 1'000, {});
}

/// In the stream's order: by a graph, replayed with other numbers. A row that the host finishes is refused while a
/// stream captures, and is captured with another grid stage.
TYPED_TEST_P(catalogue, into_and_in_graphs) {
  using other = fanin::cuda_strategy::finished_by<TypeParam, grid::last_block>;
  using ordered = std::conditional_t<fanin::is_stream_ordered(TypeParam::recipe), TypeParam, other>;
  fanin::cuda gpu;
  const std::size_t n = 100'003;
  const fanin::sum<std::int64_t> sum;
  mirrored<std::int64_t> x(gpu, make_data<std::int64_t>(data::random_signed, n));
  destination<std::int64_t, fanin::cuda> out(gpu);
  if constexpr (fanin::cuda_strategy_tag<ordered>) {
    for (const std::size_t few : {std::size_t{0}, std::size_t{1}, std::size_t{1'025}, n}) {
      fanin::reduce_into(out.pointer(), gpu.with<ordered>(), x.there(0, few), sum);
      EXPECT_TRUE(is_sum_of(x.host(0, few), out.get(), 0.0)) << "n = " << few;
    }
    const captured graph(gpu.stream(),
                         [&] { fanin::reduce_into(out.pointer(), gpu.with<ordered>(), x.there(0, n), sum); });
    EXPECT_STREQ(gpu.last_launch().strategy, TypeParam::name);
    for (std::size_t round = 0; round < 20; ++round) {
      auto numbers = make_data<std::int64_t>(data::random_signed, n + round);
      numbers.erase(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(round));
      x.renew(std::move(numbers));
      graph.launch(gpu.stream());
      ASSERT_TRUE(is_sum_of(x.host(0, n), out.get(), 0.0)) << "replay " << round;
      // A blocking call between replays has workspace of its own.
      if (round % 5 == 0) {
        expect_sum<TypeParam>(gpu, x, 99'999, {});
      }
    }
    for (int round = 0; round < 20; ++round) graph.launch(gpu.stream());
    EXPECT_TRUE(is_sum_of(x.host(0, n), out.get(), 0.0)) << "20 replays in a row";
  }
  if constexpr (!fanin::is_stream_ordered(TypeParam::recipe)) {
    check(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal));
    EXPECT_THROW(fanin::reduce(gpu.with<TypeParam>(), x.there(0, n), sum), fanin::state_error);
    cudaGraph_t nothing = nullptr;
    check(cudaStreamEndCapture(gpu.stream(), &nothing));
    check(cudaGraphDestroy(nothing));
    expect_sum<TypeParam>(gpu, x, 99'999, {});
  }
}

TYPED_TEST_P(catalogue, the_same_bits_again_and_again) {
  fanin::cuda gpu;
  const std::size_t n = 100'003;
  if constexpr (is_beyond_racecheck(TypeParam::recipe)) {
    const mirrored<double> x(gpu, make_data<double>(data::random_signed, n));
    const fanin::sum<double> sum;
    const auto view = gpu.with<TypeParam>();
    const double first = fanin::reduce(view, x.there(0, n), sum);
    EXPECT_TRUE(is_sum_of(x.host(0, n), first, static_cast<double>(n)));
    for (int round = 0; round < 1'000; ++round) {
      ASSERT_TRUE(is_same(fanin::reduce(view, x.there(0, n), sum), first)) << "run " << round;
    }
  }
  const auto x = integers(gpu);
  for (int round = 0; round < 200; ++round) {
    expect_sum<TypeParam>(gpu, x, n, {});
    if (this->HasFatalFailure()) return;
  }
}

REGISTER_TYPED_TEST_SUITE_P(catalogue, sum_of_64_bit_integers, min_loc_of_doubles, struct_of_64_bytes,
                            other_grid_stages, chunks_of_fold_n, grids, block_sizes_that_are_refused,
                            into_and_in_graphs, the_same_bits_again_and_again);

}  // namespace fanin_test
