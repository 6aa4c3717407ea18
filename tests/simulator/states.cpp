// SPDX-License-Identifier: Apache-2.0
#include "simulator/calls.hpp"
#include "support/user_reducers.hpp"

namespace simulator_test {

namespace rows = fanin::cuda_strategy;
using fanin::cuda_stage::grid;

namespace {
as_array<std::uint32_t> words() { return {make_elements<std::uint32_t>(fanin_test::data::random_signed, 1'500)}; }
}  // namespace

/// Accumulators of 600 bytes, which travel through slots.
std::vector<call> calls_of_wide() {
  std::vector<call> calls;
  add_calls<stages::own>(calls, catalogue{}, "600 bytes", words(), fanin_test::wide_counts{});
  using others = list<rows::finished_by<rows::shuffle, grid::last_block>,
                      rows::finished_by<rows::shared_tree, grid::watching_block>>;
  add_calls<stages::own>(calls, others{}, "600 bytes", words(), fanin_test::wide_counts{});
  return calls;
}

/// A reducer with a spill, a histogram, alone and beside another reducer; counters, of which a block has several sets;
/// and exact sums where blocks do not hand over what their threads hold, but all of it in spills.
std::vector<call> calls_of_states() {
  std::vector<call> calls;
  const as_array<std::uint32_t> input = words();
  add_calls<stages::own>(calls, catalogue{}, "a histogram", input, fanin_test::histogram{});
  using some = list<rows::one_pass, rows::finished_by<rows::shared_shuffle, grid::last_block>,
                    rows::finished_by<rows::shared_tree, grid::watching_block>>;
  add_calls<stages::own>(calls, some{}, "a histogram and 600 bytes", input, fanin_test::histogram{},
                         fanin_test::wide_counts{});
  using of_clusters = list<rows::one_pass, rows::cluster, rows::finished_by<rows::cluster, grid::last_block>>;
  add_calls<stages::own>(calls, of_clusters{}, "a small tally", input, fanin_test::small_tally{3});
  // 568 bytes of counters, of which a block has several.
  using of_long_threads =
      list<rows::one_pass, rows::one_pass_bulk, rows::shuffle, rows::cluster,
           rows::finished_by<rows::one_pass, grid::last_block>, rows::finished_by<rows::one_pass, grid::second_pass>,
           rows::finished_by<rows::shared_tree, grid::watching_block>>;
  add_calls<stages::own>(calls, of_long_threads{}, "a tally", input, fanin_test::tally<71>{});
  using of_several = list<rows::one_pass, rows::shared_tree, rows::finished_by<rows::cluster, grid::last_block>>;
  add_calls<stages::own>(calls, of_several{}, "a tally, a histogram and a place", input, fanin_test::tally<71>{},
                         fanin_test::histogram{}, fanin::min_loc<std::uint32_t>{});
  using of_exact_sums = list<rows::shuffle, rows::shared_tree, rows::finished_by<rows::one_pass, grid::last_block>,
                             rows::finished_by<rows::global_unroll, grid::last_block>>;
  add_calls<stages::own>(calls, of_exact_sums{}, "an exact sum", as_array<float>{make_wide_range()},
                         fanin::exact_sum<float>{});
  return calls;
}

}  // namespace simulator_test
