// SPDX-License-Identifier: Apache-2.0
#include "simulator/schedules.hpp"

#include <algorithm>

#include "simulator/seeds.hpp"

namespace simulator_test {
namespace {

request draw_request(choices& draw, const call& of, blocks size) {
  using fanin::cuda_stage::thread;
  const fanin::cuda_recipe& recipe = of.recipe;
  request asked{};
  asked.start = draw.below(most_starts + 1);
  asked.blocking = draw.below(2) == 0;
  constexpr int threads[] = {32, 32, 64, 64, 96, 128, 256};
  asked.tuning.block_size = draw.one_of(threads);
  if (size == blocks::large) asked.tuning.block_size = draw.below(2) == 0 ? 512 : 1024;
  asked.tuning.block_size = std::min(asked.tuning.block_size, simulator::most_threads);
  std::size_t of_grid = 1;
  if (is_persistent(recipe)) {
    constexpr int grids[] = {1, 2, 2, 3, 3, 5, 8};
    asked.tuning.grid_size =
        recipe.cluster_size > 1 ? recipe.cluster_size * (1 + static_cast<int>(draw.below(2))) : draw.one_of(grids);
    if (recipe.grid == fanin::cuda_stage::grid::watching_block && recipe.cluster_size == 1 && draw.below(6) == 0) {
      // From 162 blocks on all warps of the watching one gather, where a partial result is one unit.
      constexpr int many[] = {33, 34, 40, 161, 162};
      asked.tuning = {.block_size = 64, .grid_size = draw.one_of(many)};
    }
    of_grid = static_cast<std::size_t>(asked.tuning.grid_size);
  } else if (recipe.thread == thread::fold_n) {
    asked.tuning.chunks = 1 + static_cast<int>(draw.below(4));
    of_grid = static_cast<std::size_t>(asked.tuning.chunks);
  }
  const bool one_each = recipe.thread == thread::one || recipe.thread == thread::pairs;
  const bool many_blocks = !is_persistent(recipe) && draw.below(6) == 0;  // a second pass of several blocks
  if (many_blocks) asked.tuning.block_size = 32;
  const std::size_t elements = of_grid * static_cast<std::size_t>(asked.tuning.block_size);
  const std::size_t few = many_blocks ? 70 * elements : one_each ? 9 * elements : few_elements;
  const std::size_t most = recipe.thread == thread::bulk ? of.most_elements : std::min(of.most_elements, few);
  const std::size_t edges[] = {0, 1, 2, 31, 32, 33, elements - 1, elements, elements + 1, 2 * elements + 1, most};
  asked.n = std::min(draw.below(2) == 0 ? draw.one_of(edges) : draw.below(most + 1), most);
  return asked;
}

std::string text_of(const request& asked) {
  return "n = " + std::to_string(asked.n) + " from element " + std::to_string(asked.start) + ", blocks of " +
         std::to_string(asked.tuning.block_size) + ", grid " + std::to_string(asked.tuning.grid_size) + ", chunks " +
         std::to_string(asked.tuning.chunks) + (asked.blocking ? ", blocking" : ", into");
}

}  // namespace

std::string run_schedule(std::uint64_t seed, const std::vector<call>& calls, std::size_t tested, blocks size) {
  return run_seed(seed, [&](choices& draw, std::string& text) -> std::string {
    const fanin::cuda gpu;
    std::vector<check> checks;
    const std::size_t count = 1 + draw.below(3);
    const std::size_t other = draw.below(3) == 0 ? tested : draw.below(calls.size());
    for (std::size_t k = 0; k < count; ++k) {
      const call& one = calls[k % 2 == 0 ? tested : other];
      const request asked = draw_request(draw, one, size);
      text += "\n  " + one.name + ", " + text_of(asked);
      checks.push_back(one.run(gpu, asked));
    }
    gpu.synchronize();
    for (std::size_t k = 0; k < checks.size(); ++k) {
      if (const std::string wrong = checks[k](); !wrong.empty()) return "call " + std::to_string(k + 1) + ": " + wrong;
    }
    return "";
  });
}

}  // namespace simulator_test
