// SPDX-License-Identifier: Apache-2.0
#include "simulator/calls.hpp"
#include "support/user_reducers.hpp"

namespace simulator_test {

namespace rows = fanin::cuda_strategy;
using fanin::cuda_stage::grid;

/// Accumulators of 600 bytes, which travel through slots, and of 64, the largest that do not.
std::vector<call> calls_of_wide() {
  std::vector<call> calls;
  const as_array<std::uint32_t> input{make_elements<std::uint32_t>(fanin_test::data::random_signed, 1'500)};
  add_calls<stages::own>(calls, catalogue{}, "600 bytes", input, fanin_test::wide_counts{});
  add_calls<stages::own>(calls,
                         list<rows::finished_by<rows::shuffle, grid::last_block>,
                              rows::finished_by<rows::shared_tree, grid::watching_block>>{},
                         "600 bytes", input, fanin_test::wide_counts{});
  return calls;
}

}  // namespace simulator_test
