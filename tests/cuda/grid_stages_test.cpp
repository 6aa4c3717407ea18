// SPDX-License-Identifier: Apache-2.0
#include "cuda/catalogue_support.hpp"

/// Every grid stage with one block, two and a thousand: for small accumulators, and for those that go through slots.
namespace fanin_test {
namespace {

using fanin::cuda_stage::grid;
namespace rows = fanin::cuda_strategy;

using cuda_grid_stages = gpu_test;

const std::vector<int> grids{1, 2, 3, 31, 32, 33, 34, 1'000};

/// ceil(log_base(count)): passes that leave one of `count` partial results, `base` at a time.
int passes(std::int64_t count, std::int64_t base) {
  int all = 0;
  for (; count > 1; count = (count + base - 1) / base) ++all;
  return all;
}

/// A grid of a chosen size, in which a block has a few elements, one, or none.
template <class Strategy>
void expect_persistent(fanin::cuda& gpu, const mirrored<std::int64_t>& x, const mirrored<std::uint32_t>& y) {
  for (const int blocks : grids) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{1'000}, std::size_t{300'001}}) {
      for (const int block : {32, 256}) {
        const fanin::cuda_tuning tuning{.block_size = block, .grid_size = blocks * Strategy::recipe.cluster_size};
        expect_sum<Strategy>(gpu, x, n, tuning);
        EXPECT_EQ(gpu.last_launch().grid_size, tuning.grid_size);
        if (Strategy::recipe.grid == grid::second_pass)
          EXPECT_EQ(gpu.last_launch().launches, 1 + passes(blocks, block));
        const auto view = gpu.with<Strategy>(tuning);
        EXPECT_EQ(fanin::reduce(view, y.there(1, n), wide_counts{}),
                  fanin::reduce(fanin::serial{}, y.host(1, n), wide_counts{}))
            << "600 bytes, " << to_string(Strategy::recipe.grid) << ", n = " << n << ", blocks " << blocks << " of "
            << block;
      }
    }
  }
}

/// A grid that follows from the elements: the last block full, and with one element only.
template <class Strategy>
void expect_of_elements(fanin::cuda& gpu, const mirrored<std::int64_t>& x) {
  for (const int blocks : grids) {
    for (const int block : {32, 96, 1024}) {
      const auto full = static_cast<std::size_t>(blocks) * static_cast<std::size_t>(block);
      if (full > most_elements) continue;
      for (const std::size_t n : {full, full - static_cast<std::size_t>(block) + 1}) {
        expect_sum<Strategy>(gpu, x, n, {.block_size = block});
        EXPECT_EQ(gpu.last_launch().grid_size, blocks);
        const int launches = Strategy::recipe.grid == grid::second_pass ? 1 + passes(blocks, block) : 1;
        EXPECT_EQ(gpu.last_launch().launches, launches);
      }
    }
  }
}

class arrays {
 public:
  explicit arrays(fanin::cuda& gpu)
      : integers_{integers(gpu)}, words_(gpu, make_data<std::uint32_t>(data::random_signed, 300'010)) {}
  const mirrored<std::int64_t>& of_integers() const { return integers_; }
  const mirrored<std::uint32_t>& of_words() const { return words_; }

 private:
  mirrored<std::int64_t> integers_;
  mirrored<std::uint32_t> words_;
};

TEST_F(cuda_grid_stages, host_finish) {
  fanin::cuda gpu;
  const arrays x(gpu);
  expect_persistent<rows::shuffle>(gpu, x.of_integers(), x.of_words());
  expect_of_elements<rows::finished_by<rows::shared_interleaved, grid::host_finish>>(gpu, x.of_integers());
}

TEST_F(cuda_grid_stages, second_pass) {
  fanin::cuda gpu;
  const arrays x(gpu);
  expect_persistent<rows::finished_by<rows::shuffle, grid::second_pass>>(gpu, x.of_integers(), x.of_words());
  expect_of_elements<rows::shared_interleaved>(gpu, x.of_integers());
}

TEST_F(cuda_grid_stages, last_block) {
  fanin::cuda gpu;
  const arrays x(gpu);
  expect_persistent<rows::finished_by<rows::shuffle, grid::last_block>>(gpu, x.of_integers(), x.of_words());
  expect_of_elements<rows::finished_by<rows::shared_interleaved, grid::last_block>>(gpu, x.of_integers());
}

TEST_F(cuda_grid_stages, watching_block) {
  fanin::cuda gpu;
  const arrays x(gpu);
  expect_persistent<rows::finished_by<rows::shuffle, grid::watching_block>>(gpu, x.of_integers(), x.of_words());
  expect_of_elements<rows::finished_by<rows::shared_interleaved, grid::watching_block>>(gpu, x.of_integers());
}

TEST_F(cuda_grid_stages, launch_per_halving) {
  fanin::cuda gpu;
  const arrays x(gpu);
  for (const std::size_t blocks : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{1'000}}) {
    for (const int block : {32, 96, 512}) {
      const std::size_t full = 2 * blocks * static_cast<std::size_t>(block);
      if (full > most_elements) continue;
      for (const std::size_t n : {full, full - 1}) {
        expect_sum<rows::global_halving>(gpu, x.of_integers(), n, {.block_size = block});
        EXPECT_EQ(gpu.last_launch().grid_size, static_cast<int>(blocks));
        EXPECT_EQ(gpu.last_launch().launches, passes(static_cast<std::int64_t>(n), 2));
      }
    }
  }
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}}) {
    expect_sum<rows::global_halving>(gpu, x.of_integers(), n, {});
    EXPECT_EQ(gpu.last_launch().launches, 1) << "one element or two need one launch";
  }
}

class cuda_clusters : public strategy_test<rows::cluster> {};

TEST_F(cuda_clusters, watching_and_last_block) {
  fanin::cuda gpu;
  const arrays x(gpu);
  expect_persistent<rows::cluster>(gpu, x.of_integers(), x.of_words());
  expect_persistent<rows::finished_by<rows::cluster, grid::last_block>>(gpu, x.of_integers(), x.of_words());
}

class cuda_bulk_copies : public strategy_test<rows::one_pass_bulk> {};

/// Few blocks go round the ring of tiles often: whole tiles, one vector more or less, and starts beside a vector's.
TEST_F(cuda_bulk_copies, go_round_the_ring) {
  fanin::cuda gpu;
  const auto x = integers(gpu);
  const std::size_t tile = fanin::bulk_stage_bytes / sizeof(std::int64_t);
  for (const int blocks : {1, 2, 3, 7}) {
    for (const std::size_t tiles : {1, 2, 3, 4, 5, 6, 7, 100}) {
      for (const std::size_t n :
           {tiles * tile - 2, tiles * tile - 1, tiles * tile, tiles * tile + 1, tiles * tile + 3}) {
        for (const int block : {32, 256, 1024}) {
          expect_sum<rows::one_pass_bulk>(gpu, x, n, {.block_size = block, .grid_size = blocks});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

/// One object, whose workspace the stages use in turns: tagged units must not pass for partial results, nor a ticket
/// for a number of launches.
TEST_F(cuda_grid_stages, take_turns) {
  fanin::cuda gpu;
  const arrays x(gpu);
  for (std::size_t round = 0; round < 100; ++round) {
    const std::size_t n = 100'000 + 997 * round;
    const fanin::cuda_tuning tuning{.grid_size = static_cast<int>(1 + 13 * round % 300)};
    expect_sum<rows::finished_by<rows::shuffle, grid::watching_block>>(gpu, x.of_integers(), n, tuning);
    expect_sum<rows::finished_by<rows::shuffle, grid::last_block>>(gpu, x.of_integers(), n, tuning);
    expect_sum<rows::finished_by<rows::shuffle, grid::second_pass>>(gpu, x.of_integers(), n, tuning);
    expect_sum<rows::shuffle>(gpu, x.of_integers(), n, tuning);
    expect_sum<rows::global_halving>(gpu, x.of_integers(), n, {});
    if (HasFatalFailure()) return;
  }
}

/// More blocks than a grid has are refused before anything is allocated.
TEST_F(cuda_grid_stages, a_grid_has_an_end) {
  fanin::cuda gpu;
  const std::int64_t n = std::int64_t{1} << 40;
  expect_invalid(
      [&] {
        const auto view = gpu.with<rows::shared_interleaved>({.block_size = 32});
        fanin::parallel_reduce(fanin::range(view, n), index_itself{}, fanin::sum<std::int64_t>{});
      },
      "more than a grid has");
}

}  // namespace
}  // namespace fanin_test
