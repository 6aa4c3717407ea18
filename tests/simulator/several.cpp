// SPDX-License-Identifier: Apache-2.0
#include "simulator/calls.hpp"

namespace simulator_test {

namespace rows = fanin::cuda_strategy;
using fanin::cuda_stage::grid;

/// Three reducers at once in every row, and what a functor gives or adds up.
std::vector<call> calls_of_several() {
  std::vector<call> calls;
  const auto elements = make_elements<std::int32_t>(fanin_test::data::pairs);
  const as_array<std::int32_t> array{elements};
  const fanin::sum<std::int32_t, std::int64_t> sum;
  const fanin::min_loc<std::int32_t> least;
  const fanin::max<std::int32_t> most;
  add_calls<stages::own>(calls, catalogue{}, "three reducers", array, sum, least, most);
  add_calls<stages::own>(calls, list<rows::finished_by<rows::one_pass, grid::last_block>>{}, "three reducers", array,
                         sum, least, most);

  const auto words = make_elements<std::int64_t>(fanin_test::data::random_signed);
  const list<rows::one_pass, rows::shuffle, rows::global_interleaved, rows::shared_shrink, rows::global_halving> some;
  add_calls<stages::own>(calls, some, "f(i)", by_functor<std::int64_t, fanin_test::at>{words},
                         fanin::sum<std::int64_t>{}, fanin::min_loc<std::int64_t>{});
  // The functor's += must not wrap.
  const auto small_words = make_elements<std::int64_t>(fanin_test::data::whole_numbers);
  add_calls<stages::own>(calls, some, "f(i, acc)", by_functor<std::int64_t, fanin_test::add_at>{small_words},
                         fanin::sum<std::int64_t>{});
  add_calls<stages::own>(calls, list<rows::one_pass, rows::finished_by<rows::shuffle, grid::last_block>>{}, "f(i, j)",
                         by_planar_functor<std::int64_t>{small_words}, fanin::sum<std::int64_t>{},
                         fanin::max_loc<std::int64_t>{});
  add_calls<stages::own>(calls, list<rows::one_pass>{}, "a view", as_view<std::int64_t>{small_words},
                         fanin::sum<std::int64_t>{});
  add_calls<stages::own>(calls, list<rows::one_pass>{}, "a view", as_view<std::int64_t>{small_words},
                         fanin::min_loc<std::int64_t>{});
  return calls;
}

}  // namespace simulator_test
