// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulator/calls.hpp"
#include "support/user_reducers.hpp"

namespace simulator_test {

namespace rows = fanin::cuda_strategy;
using fanin::cuda_stage::grid;

namespace {

/// None is 0, which is what memory holds that nobody filled.
std::shared_ptr<const std::vector<std::int64_t>> make_positive() {
  auto all = std::make_shared<std::vector<std::int64_t>>(few_elements);
  for (std::size_t k = 0; k < all->size(); ++k) (*all)[k] = 1 + static_cast<std::int64_t>(fanin_test::mix(k) >> 2);
  return all;
}

/// As make_wide_range, for many tiles of the bulk copy engine.
std::shared_ptr<const std::vector<float>> make_long_wide_range() {
  const auto some = make_wide_range();
  auto all = std::make_shared<std::vector<float>>(many_elements);
  for (std::size_t k = 0; k < all->size(); ++k) (*all)[k] = (*some)[fanin_test::mix(k) % some->size()];
  return all;
}

}  // namespace

/// What the others leave out: places and exact sums of so many elements that they come through the ring of the bulk
/// copy engine; reducers beside a spill that the last block joins, in registers and through slots; spills of which few
/// fit; and so much of every block that they do not post it, by a functor that gives no value like 0.
std::vector<call> calls_of_edges() {
  std::vector<call> calls;
  const as_array<std::int32_t> pairs{make_elements<std::int32_t>(fanin_test::data::pairs, many_elements)};
  const as_array<float> wide_range{make_long_wide_range()};
  add_calls<stages::own>(calls, list<rows::one_pass_bulk>{}, "a place", pairs, fanin::min_loc<std::int32_t>{});
  add_calls<stages::own>(calls, list<rows::one_pass_bulk>{}, "an exact sum", wide_range, fanin::exact_sum<float>{});

  const as_array<std::uint32_t> counted{make_elements<std::uint32_t>(fanin_test::data::random_signed, 1'500)};
  using last_block = list<rows::finished_by<rows::one_pass, grid::last_block>>;
  add_calls<stages::own>(calls, last_block{}, "a small tally and a sum", counted, fanin_test::small_tally{3},
                         fanin::sum<std::uint32_t>{});
  add_calls<stages::own>(calls, last_block{}, "a small tally and 600 bytes", counted, fanin_test::small_tally{3},
                         fanin_test::wide_counts{});

  // The largest accumulator there may be, and one of which beside the ring of the bulk copy engine one alone fits.
  add_calls<stages::own>(calls, list<rows::one_pass>{}, "40 KiB of counters", counted, fanin_test::tally<5'120>{});
  add_calls<stages::own>(calls, list<rows::one_pass_bulk>{}, "counters that fill the block's memory", counted,
                         fanin_test::tally<2'000>{});

  add_calls<stages::own>(calls, list<rows::one_pass>{}, "56 bytes by f(i)",
                         by_functor<std::int64_t, fanin_test::at>{make_positive()}, fanin::min_max_loc<std::int64_t>{},
                         fanin::min_loc<std::int64_t>{}, fanin::sum<std::int64_t>{});
  return calls;
}

}  // namespace simulator_test
