// SPDX-License-Identifier: Apache-2.0

// Fanin's CUDA backend over an index space, with both kinds of functor, in the default strategy.

#include <type_traits>

#include "contenders/fanin_cuda_calls.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {
namespace {

// A selection: each combination costs seconds of compilation.
struct choice_of_values {
  template <class T, operation Op>
  static constexpr bool offers() {
    return Op == operation::sum ? !std::is_unsigned_v<T> : std::is_floating_point_v<T> && Op == operation::min_loc;
  }
};

struct choice_of_accumulators {
  template <class T, operation Op>
  static constexpr bool offers() {
    return std::is_floating_point_v<T> && (Op == operation::sum || Op == operation::dot);
  }
};

}  // namespace

void add_fanin_cuda_index(registry& to) {
  using strategy = fanin::cuda_strategy::one_pass;
  add_fanin_cuda_rows<value_form, strategy, choice_of_values>(to.contenders);
  add_fanin_cuda_rows<accumulating_form, strategy, choice_of_accumulators>(to.contenders);
}

}  // namespace fanin_perf
