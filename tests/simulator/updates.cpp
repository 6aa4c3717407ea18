// SPDX-License-Identifier: Apache-2.0
#include "support/updates.hpp"

#include "simulator/calls.hpp"

namespace simulator_test {

namespace rows = fanin::cuda_strategy;
using fanin::cuda_stage::grid;

/// Functors that write, in every row; what they reduce is finished on the device, where the row does.
std::vector<call> calls_of_updates() {
  std::vector<call> calls;
  const auto elements = make_elements<std::int64_t>(fanin_test::data::whole_numbers);
  const std::size_t most = elements->size() - most_starts;
  const auto update = [elements]<class Row>(std::type_identity<Row>, const fanin::cuda& gpu, const request& asked) {
    const auto part = std::span<const std::int64_t>(*elements).subspan(asked.start, asked.n);
    return fanin_test::run_update<Row>(gpu, asked.tuning, {part.begin(), part.end()}, asked.blocking);
  };
  add_rows<stages::own>(calls, catalogue{}, "an update", most, update);
  using others =
      list<rows::finished_by<rows::one_pass, grid::last_block>, rows::finished_by<rows::one_pass, grid::second_pass>,
           rows::finished_by<rows::cluster, grid::last_block>,
           rows::finished_by<rows::global_interleaved, grid::watching_block>>;
  add_rows<stages::own>(calls, others{}, "an update", most, update);

  const auto visit = []<class Row>(std::type_identity<Row>, const fanin::cuda& gpu, const request& asked) {
    return fanin_test::run_visit<Row>(gpu, asked.tuning, asked.start, asked.n, asked.blocking);
  };
  add_rows<stages::own>(calls, list<rows::one_pass, rows::one_pass_bulk, rows::cluster, rows::shared_unroll>{},
                        "visits of elements", most, visit);
  return calls;
}

}  // namespace simulator_test
