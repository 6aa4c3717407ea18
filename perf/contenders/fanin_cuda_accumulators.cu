// SPDX-License-Identifier: Apache-2.0

// Fanin's CUDA backend over an index space with f(i, acc), which combines by itself, in the default strategy.

#include <type_traits>

#include "contenders/fanin_cuda_calls.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {
namespace {

// A selection: each combination costs seconds of compilation.
struct choice_of_accumulators {
  template <class T, operation Op>
  static constexpr bool offers() {
    return std::is_floating_point_v<T> &&
           (Op == operation::sum || Op == operation::min || Op == operation::max || Op == operation::dot);
  }
};

}  // namespace

void add_fanin_cuda_accumulators(registry& to) {
  add_fanin_cuda_rows<accumulating_form, fanin::cuda_strategy::one_pass, choice_of_accumulators>(to);
}

}  // namespace fanin_perf
