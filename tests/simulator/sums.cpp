// SPDX-License-Identifier: Apache-2.0
#include "simulator/calls.hpp"

namespace simulator_test {

/// Every row with every grid stage that it may have.
std::vector<call> calls_of_sums() {
  std::vector<call> calls;
  const as_array<std::int64_t> input{make_elements<std::int64_t>(fanin_test::data::random_signed, many_elements)};
  add_calls<stages::all>(calls, catalogue{}, "a sum", input, fanin::sum<std::int64_t>{});
  return calls;
}

}  // namespace simulator_test
