// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/recipe.hpp>

/// Recipes and the catalogue, by a C++ compiler alone: what is illegal and why, what is derived, what the rows say.
namespace fanin_test {
namespace {

using fanin::cuda_recipe;
using fanin::why_invalid;
using fanin::cuda_stage::block;
using fanin::cuda_stage::grid;
using fanin::cuda_stage::memory;
using fanin::cuda_stage::thread;
namespace rows = fanin::cuda_strategy;

constexpr bool says(const char* why, std::string_view words) {
  return why != nullptr && std::string_view(why).find(words) != std::string_view::npos;
}

/// A legal recipe, to be spoilt.
constexpr cuda_recipe legal{.thread = thread::one,
                            .block = block::interleaved,
                            .memory = memory::shared,
                            .grid = grid::second_pass,
                            .block_size = 256};
constexpr cuda_recipe wide = rows::one_pass::recipe;
static_assert(why_invalid(legal) == nullptr);

template <class Spoil>
constexpr bool refused(cuda_recipe recipe, const Spoil& spoil, std::string_view words) {
  spoil(recipe);
  return says(why_invalid(recipe), words);
}

// Block sizes.
static_assert(refused(legal, [](auto& r) { r.block_size = 0; }, "32 to 1024 threads"));
static_assert(refused(legal, [](auto& r) { r.block_size = -32; }, "32 to 1024 threads"));
static_assert(refused(legal, [](auto& r) { r.block_size = 1'056; }, "32 to 1024 threads"));
static_assert(refused(legal, [](auto& r) { r.block_size = 48; }, "a multiple of 32 threads"));
static_assert(fanin::why_invalid_block_size(96) == nullptr && fanin::why_invalid_block_size(1'024) == nullptr);

// Stages that do not go together.
static_assert(refused(legal, [](auto& r) { r.thread = thread::pairs; }, "each needs the other"));
static_assert(refused(legal, [](auto& r) { r.grid = grid::launch_per_halving; }, "each needs the other"));
static_assert(
    refused(rows::global_halving::recipe, [](auto& r) { r.block = block::interleaved; }, "its block stage is none"));
static_assert(refused(legal, [](auto& r) { r.block = block::none; }, "only the host can finish"));
static_assert(
    refused(rows::thread_partials::recipe, [](auto& r) { r.grid = grid::last_block; }, "only the host can finish"));
static_assert(refused(legal, [](auto& r) { r.block = block::warp_shuffle; }, "shuffles move no memory"));
static_assert(refused(legal, [](auto& r) { r.memory = memory::registers; }, "no thread reads another's registers"));
static_assert(refused(
    rows::one_pass_bulk::recipe,
    [](auto& r) {
      r.block = block::interleaved;
      r.memory = memory::shared;
    },
    "bulk copies fill the shared memory"));

// Clusters.
static_assert(refused(wide, [](auto& r) { r.cluster_size = 16; }, "up to 8 blocks on every device"));
static_assert(refused(wide, [](auto& r) { r.cluster_size = 0; }, "up to 8 blocks on every device"));
static_assert(refused(legal, [](auto& r) { r.cluster_size = 2; }, "gather with a persistent grid"));
static_assert(refused(
    rows::cluster::recipe, [](auto& r) { r.grid = grid::second_pass; }, "finish in the last or the watching block"));
static_assert(refused(
    rows::cluster::recipe, [](auto& r) { r.grid = grid::host_finish; }, "finish in the last or the watching block"));
static_assert(refused(
    rows::cluster::recipe,
    [](auto& r) {
      r.block = block::interleaved;
      r.memory = memory::shared;
    },
    "what they hold in registers"));

// Counts.
static_assert(refused(wide, [](auto& r) { r.blocks_per_sm = 0; }, "a persistent grid needs a size"));
static_assert(refused(legal, [](auto& r) { r.chunks = 0; }, "at least one element"));
static_assert(refused(wide, [](auto& r) { r.loads = 0; }, "at least one element"));
static_assert(refused(wide, [](auto& r) { r.elements = 0; }, "at least one element"));
static_assert(refused(legal, [](auto& r) { r.chunks = 4; }, "only fold_n folds several chunks"));
static_assert(refused(legal, [](auto& r) { r.loads = 4; }, "only vectorised gathering has several loads in flight"));

/// Whether a row finished by another grid stage is a strategy: what with() and range() ask.
template <class Strategy, grid Stage>
inline constexpr bool is_strategy = requires { requires fanin::cuda_strategy_tag<rows::finished_by<Strategy, Stage>>; };
template <class Strategy, grid Stage>
constexpr bool is_refused(std::string_view words) {
  return !is_strategy<Strategy, Stage> && says(why_invalid(rows::finished_by<Strategy, Stage>::recipe), words);
}

static_assert(is_strategy<rows::shuffle, grid::second_pass> && is_strategy<rows::shared_unroll, grid::host_finish>);
static_assert(is_strategy<rows::global_interleaved, grid::watching_block>);
static_assert(is_strategy<rows::one_pass, grid::second_pass> && is_strategy<rows::one_pass_bulk, grid::last_block>);
static_assert(is_strategy<rows::cluster, grid::last_block>);
static_assert(is_refused<rows::cluster, grid::second_pass>("finish in the last or the watching block"));
static_assert(is_refused<rows::cluster, grid::host_finish>("finish in the last or the watching block"));
static_assert(is_refused<rows::thread_partials, grid::second_pass>("only the host can finish"));
static_assert(is_refused<rows::thread_partials, grid::last_block>("only the host can finish"));
static_assert(is_refused<rows::thread_partials, grid::watching_block>("only the host can finish"));
static_assert(is_refused<rows::global_halving, grid::host_finish>("each needs the other"));
static_assert(is_refused<rows::global_halving, grid::second_pass>("each needs the other"));
static_assert(is_refused<rows::global_halving, grid::last_block>("each needs the other"));
static_assert(is_refused<rows::global_halving, grid::watching_block>("each needs the other"));

/// What lacks a name, a purpose, a source or a legal recipe is no strategy.
struct nameless {
  [[maybe_unused]] static constexpr const char* purpose = "";
  [[maybe_unused]] static constexpr const char* source = "";
  [[maybe_unused]] static constexpr cuda_recipe recipe = legal;
};
static_assert(!fanin::cuda_strategy_tag<nameless> && !fanin::cuda_strategy_tag<int>);

template <class Visit>
void for_each_row(const Visit& visit) {
  fanin::cuda_catalogue::for_each(visit);
}

/// launch_per_halving refuses everything else for the rows that combine in blocks.
TEST(cuda_recipe, no_block_finishes_by_halvings) {
  int pairs = 0;
  for_each_row([&](auto row) {
    using other = rows::finished_by<decltype(row), grid::launch_per_halving>;
    pairs += row.recipe.thread == thread::pairs ? 1 : 0;
    EXPECT_EQ(fanin::cuda_strategy_tag<other>, row.recipe.thread == thread::pairs) << row.name;
  });
  EXPECT_EQ(pairs, 1);
}

TEST(cuda_recipe, finished_by_changes_nothing_else) {
  for_each_row([](auto row) {
    using other = rows::finished_by<decltype(row), grid::last_block>;
    auto recipe = other::recipe;
    EXPECT_EQ(recipe.grid, grid::last_block);
    recipe.grid = row.recipe.grid;
    EXPECT_EQ(recipe, row.recipe);
    EXPECT_STREQ(other::name, row.name);
    EXPECT_STREQ(other::purpose, row.purpose);
    EXPECT_STREQ(other::source, row.source);
  });
}

TEST(cuda_recipe, derived_properties) {
  for_each_row([](auto row) {
    const cuda_recipe& recipe = row.recipe;
    EXPECT_EQ(fanin::is_stream_ordered(recipe), recipe.grid != grid::host_finish) << row.name;
    EXPECT_EQ(fanin::is_single_launch(recipe),
              recipe.grid != grid::second_pass && recipe.grid != grid::launch_per_halving)
        << row.name;
    EXPECT_TRUE(fanin::is_deterministic(recipe)) << row.name;
    const bool is_new = recipe.thread == thread::bulk || recipe.cluster_size > 1;
    EXPECT_EQ(fanin::least_compute_capability(recipe), is_new ? 90 : 70) << row.name;
    EXPECT_EQ(fanin::is_persistent(recipe), recipe.blocks_per_sm > 0 || recipe.grid_size > 0) << row.name;
  });
  EXPECT_EQ(fanin::least_compute_capability(rows::one_pass_bulk::recipe), 90);
  EXPECT_EQ(fanin::least_compute_capability(rows::cluster::recipe), 90);
}

TEST(cuda_recipe, shared_memory) {
  constexpr auto shared = rows::shared_tree::recipe;
  EXPECT_EQ(fanin::dynamic_shared_bytes(shared, 256, 8, 8), 256U * 8);
  EXPECT_EQ(fanin::dynamic_shared_bytes(shared, 1'024, 64, 64), 65'536U);
  // Large accumulators go through slots, of which there is one at least, whatever the block.
  EXPECT_TRUE(fanin::goes_through_slots(shared, 600));
  EXPECT_EQ(fanin::dynamic_shared_bytes(shared, 256, 608, 600), fanin::slot_bytes(600));
  EXPECT_EQ(fanin::dynamic_shared_bytes(shared, 1'024, 608, 600), fanin::slot_bytes(600));
  EXPECT_EQ(fanin::dynamic_shared_bytes(rows::shuffle::recipe, 256, 608, 600), fanin::slot_bytes(600));
  EXPECT_GE(fanin::slot_bytes(600), 600U);
  EXPECT_GE(fanin::slot_bytes(40 * 1'024), 40U * 1'024);
  EXPECT_FALSE(fanin::goes_through_slots(shared, 64));
  // In global memory there is room for any.
  EXPECT_FALSE(fanin::goes_through_slots(rows::global_interleaved::recipe, 600));
  EXPECT_EQ(fanin::dynamic_shared_bytes(rows::global_interleaved::recipe, 256, 600, 600), 0U);
  EXPECT_FALSE(fanin::goes_through_slots(rows::thread_partials::recipe, 600));
  EXPECT_EQ(fanin::dynamic_shared_bytes(rows::shuffle::recipe, 256, 8, 8), 0U);
  EXPECT_EQ(fanin::dynamic_shared_bytes(rows::one_pass_bulk::recipe, 256, 8, 8),
            static_cast<std::size_t>(fanin::bulk_stages) * fanin::bulk_stage_bytes);
  EXPECT_EQ(fanin::dynamic_shared_bytes(rows::one_pass_bulk::recipe, 256, 600, 600),
            static_cast<std::size_t>(fanin::bulk_stages) * fanin::bulk_stage_bytes);
}

TEST(cuda_catalogue, rows_say_who_they_are) {
  std::set<std::string> names;
  for_each_row([&](auto row) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    EXPECT_NE(std::string_view(row.name), "");
    EXPECT_GT(std::string_view(row.purpose).size(), 10U) << row.name;
    EXPECT_NE(std::string_view(row.source), "") << row.name;
    EXPECT_EQ(why_invalid(row.recipe), nullptr) << row.name;
  });
  EXPECT_EQ(names.size(), static_cast<std::size_t>(fanin::cuda_catalogue::size));
}

TEST(cuda_catalogue, holds_what_the_documents_describe) {
  const std::vector<std::string> expected{"one_pass",
                                          "thread_partials",
                                          "shared_thread0",
                                          "shared_tree",
                                          "shared_tree_last_warp",
                                          "shuffle",
                                          "global_interleaved",
                                          "global_neighbored",
                                          "global_unroll",
                                          "shared_interleaved",
                                          "shared_neighbored",
                                          "shared_neighbored_strided",
                                          "shared_shrink",
                                          "shared_warp",
                                          "shared_unroll",
                                          "shared_shuffle_tail",
                                          "shared_shuffle",
                                          "global_halving",
                                          "one_pass_bulk",
                                          "cluster"};
  std::vector<std::string> names;
  for_each_row([&](auto row) { names.emplace_back(row.name); });
  EXPECT_EQ(names, expected) << "the default first; a new row is added here too";
}

/// No two rows are the same composition: each teaches something of its own.
TEST(cuda_catalogue, recipes_differ) {
  std::vector<cuda_recipe> recipes;
  for_each_row([&](auto row) {
    for (const auto& other : recipes) EXPECT_FALSE(other == row.recipe) << row.name;
    recipes.push_back(row.recipe);
  });
}

TEST(cuda_recipe, stages_have_names) {
  std::set<std::string> names;
  for (int k = 0; k <= static_cast<int>(thread::bulk); ++k) names.insert(to_string(static_cast<thread>(k)));
  EXPECT_EQ(names.size(), 6U);
  for (int k = 0; k <= static_cast<int>(block::own); ++k) names.insert(to_string(static_cast<block>(k)));
  EXPECT_EQ(names.size(), 16U);
  for (int k = 0; k <= static_cast<int>(memory::registers); ++k) names.insert(to_string(static_cast<memory>(k)));
  EXPECT_EQ(names.size(), 19U);
  for (int k = 0; k <= static_cast<int>(grid::launch_per_halving); ++k) names.insert(to_string(static_cast<grid>(k)));
  EXPECT_EQ(names.size(), 24U);
  EXPECT_STREQ(to_string(thread::bulk), "bulk");
  EXPECT_STREQ(to_string(block::own), "own");
  EXPECT_STREQ(to_string(memory::registers), "registers");
  EXPECT_STREQ(to_string(grid::launch_per_halving), "launch_per_halving");
}

}  // namespace
}  // namespace fanin_test
