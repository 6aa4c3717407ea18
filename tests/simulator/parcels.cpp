// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <span_reduction.cuh>

#include "simulator/calls.hpp"
#include "support/user_reducers.hpp"

namespace simulator_test {

namespace rows = fanin::cuda_strategy;
using fanin::cuda_stage::grid;

/// Reducers whose threads and blocks hand over what they hold, and leave in spills what that does not take.
std::vector<call> calls_of_parcels() {
  std::vector<call> calls;
  // Small numbers, of which some are multiples of 1024, and a few that no thread can hold.
  auto mixed = std::make_shared<std::vector<std::int64_t>>(1'500);
  for (std::size_t k = 0; k < mixed->size(); ++k) {
    const auto bits = fanin_test::mix(k);
    (*mixed)[k] = static_cast<std::int64_t>(bits % 128) * (bits % 3 == 0 ? 1'024 : 1) * (bits % 97 == 0 ? 1 << 22 : 1);
  }
  const as_array<std::int64_t> numbers{mixed};
  using of_parcels = list<rows::one_pass, rows::shuffle, rows::one_pass_bulk, rows::cluster, rows::shared_warp,
                          rows::finished_by<rows::one_pass, grid::last_block>,
                          rows::finished_by<rows::shared_tree, grid::watching_block>,
                          rows::finished_by<rows::shared_neighbored, grid::watching_block>>;
  add_calls<stages::own>(calls, of_parcels{}, "sums handed on", numbers, fanin_test::handed_sum{});
  add_calls<stages::own>(calls, list<rows::one_pass>{}, "sums handed on and a sum", numbers, fanin_test::handed_sum{},
                         fanin::sum<std::int64_t>{});

  using of_exact_sums = list<rows::one_pass, rows::finished_by<rows::shared_tree, grid::watching_block>, rows::cluster>;
  add_calls<stages::own>(calls, of_exact_sums{}, "an exact sum", as_array<float>{make_wide_range()},
                         fanin::exact_sum<float>{});
  const auto floats = make_wide_range();
  add_calls<stages::own>(
      calls, list<rows::one_pass>{}, "an exact sum of doubles",
      as_array<double>{std::make_shared<const std::vector<double>>(floats->begin(), floats->begin() + 1'500)},
      fanin::exact_sum<double>{});
  auto wide = std::make_shared<std::vector<double>>(floats->begin(), floats->begin() + 1'500);
  for (std::size_t k = 0; k < wide->size(); ++k) {
    (*wide)[k] = std::ldexp((*wide)[k], 200 * (static_cast<int>(k % 5) - 2));
  }
  add_calls<stages::own>(calls, list<rows::one_pass, rows::finished_by<rows::one_pass, grid::last_block>>{},
                         "an exact sum of doubles of all magnitudes", as_array<double>{wide},
                         fanin::exact_sum<double>{});
  auto infinite = std::make_shared<std::vector<float>>(floats->begin(), floats->begin() + 1'500);
  for (const std::size_t k : {300U, 700U, 1'400U}) (*infinite)[k] = -std::numeric_limits<float>::infinity();
  add_calls<stages::own>(calls, list<rows::one_pass>{}, "an exact sum of infinities", as_array<float>{infinite},
                         fanin::exact_sum<float>{});
  return calls;
}

}  // namespace simulator_test
