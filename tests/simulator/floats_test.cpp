// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <span_reduction.cuh>

#include "simulator/calls.hpp"
#include "simulator/seeds.hpp"

namespace fanin::detail {
template struct cuda_span_reduction<sum<float>>;
}  // namespace fanin::detail

/// Sums of floats, whose order on a device is not stated, but that it is one (docs/contract.md, Determinism): by the
/// tuning and the addresses, whatever the schedule, and the same in a blocking call and in one into memory; and that no
/// chain of additions is long.
namespace simulator_test {
namespace {

namespace rows = fanin::cuda_strategy;
using fanin::cuda_stage::grid;

constexpr std::size_t most = 2'900;

const std::vector<float>& numbers() {
  static const auto all = make_wide_range();
  return *all;
}

struct sums {
  float blocking;
  float into;
};
template <class Strategy>
sums sums_by(const fanin::cuda& gpu, std::span<const float> part, const fanin::cuda_tuning& tuning) {
  const auto view = gpu.with<Strategy>(tuning);
  sums both{};
  fanin::reduce_into(&both.into, view, part, fanin::sum<float>{});
  both.blocking = fanin::reduce(view, part, fanin::sum<float>{});
  gpu.synchronize();
  return both;
}

struct row {
  const char* name;
  int blocks_of_cluster;
  sums (*run)(const fanin::cuda&, std::span<const float>, const fanin::cuda_tuning&);
};
template <class Strategy>
constexpr row row_of{Strategy::name, Strategy::recipe.cluster_size, &sums_by<Strategy>};
constexpr row all_rows[] = {
    row_of<rows::one_pass>,
    row_of<rows::cluster>,
    row_of<rows::one_pass_bulk>,
    row_of<rows::finished_by<rows::one_pass, grid::last_block>>,
    row_of<rows::finished_by<rows::one_pass, grid::second_pass>>,
    row_of<rows::finished_by<rows::shared_tree, grid::watching_block>>,
};

std::string bits_of(float value) {
  return std::to_string(value) + " (" + std::to_string(std::bit_cast<std::uint32_t>(value)) + ")";
}

/// Eight schedules of each call; the first says what the others must give.
std::string run_sum(std::uint64_t seed) {
  const std::uint64_t number = seed / 8;
  choices draw(number);
  const row& of = all_rows[number % std::size(all_rows)];
  const std::size_t first = draw.below(4);
  const std::size_t n = 1 + draw.below(most);
  const fanin::cuda_tuning tuning{.block_size = 32 << draw.below(3),
                                  .grid_size = of.blocks_of_cluster * static_cast<int>(1 + draw.below(5))};
  const auto part = std::span<const float>(numbers()).subspan(first, n);
  const auto run = [&](std::uint64_t of_seed, sums& both) {
    return run_seed(of_seed, [&](choices&, std::string& text) {
      text = "\n  " + std::string(of.name) + ", n = " + std::to_string(n) + " from element " + std::to_string(first) +
             ", blocks of " + std::to_string(tuning.block_size) + ", grid " + std::to_string(tuning.grid_size);
      both = of.run(fanin::cuda(), part, tuning);
      return std::string();
    });
  };
  sums expected{};
  sums got{};
  if (std::string wrong = run(8 * number, expected); !wrong.empty()) return wrong;
  if (std::string wrong = run(seed, got); !wrong.empty()) return wrong;
  double sum = 0;
  double bound = 0;
  for (const float one : part) {
    sum += one;
    bound += std::abs(one);
  }
  std::string wrong;
  for (const float one : {got.into, got.blocking, expected.into}) {
    if (std::bit_cast<std::uint32_t>(one) != std::bit_cast<std::uint32_t>(expected.blocking)) {
      wrong = "got " + bits_of(one) + ", and by another schedule or form " + bits_of(expected.blocking);
    }
    if (!(std::abs(one - sum) <= bound * 1e-4)) wrong += " got " + bits_of(one) + ", expected " + std::to_string(sum);
  }
  return wrong.empty() ? "" : simulator::schedule(seed).text() + "\n  " + of.name + ": " + wrong;
}

/// Counts additions instead: how many an element has gone through at most.
struct chain {
  using value_type = float;
  using accumulator_type = std::int64_t;
  FANIN_FUNCTION std::int64_t identity() const { return 0; }
  FANIN_FUNCTION void fold(std::int64_t& acc, float, std::int64_t) const { ++acc; }
  FANIN_FUNCTION void join(std::int64_t& into, const std::int64_t& from) const {
    into = (into < from ? from : into) + 1;
  }
};

/// The bound of docs/contract.md, CUDA's order.
TEST(floats, an_element_goes_through_few_additions) {
  for_each_seed(count_of_seeds(60), [](std::uint64_t seed) {
    return run_seed(seed, [](choices& draw, std::string& text) -> std::string {
      constexpr int blocks[] = {32, 64};
      constexpr int grids[] = {1, 2, 5, 40, 70};
      const auto part = std::span<const float>(numbers()).subspan(draw.below(4), 1 + draw.below(most));
      const fanin::cuda gpu;
      const auto view = gpu.with<rows::one_pass>({.block_size = draw.one_of(blocks), .grid_size = draw.one_of(grids)});
      std::int64_t into = 0;
      fanin::reduce_into(&into, view, part, chain{});
      const std::int64_t blocking = fanin::reduce(view, part, chain{});
      gpu.synchronize();
      const std::int64_t block = gpu.last_launch().block_size;
      const std::int64_t grid = gpu.last_launch().grid_size;
      const std::int64_t bound = static_cast<std::int64_t>(part.size()) / (grid * block) + grid / block + 40;
      text = "\n  blocks of " + std::to_string(block) + ", grid " + std::to_string(grid);
      if (into <= bound && blocking <= bound) return "";
      return std::to_string(into) + " or " + std::to_string(blocking) + " additions of at most " +
             std::to_string(bound);
    });
  });
}

TEST(floats, bits_are_those_of_any_schedule) { for_each_seed(count_of_seeds(200) * std::size(all_rows), run_sum); }

}  // namespace
}  // namespace simulator_test
