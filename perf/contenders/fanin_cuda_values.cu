// SPDX-License-Identifier: Apache-2.0

// Fanin's CUDA backend over an index space with f(i), a value, in the default strategy.

#include <type_traits>

#include "contenders/fanin_cuda_calls.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {
namespace {

// A selection: each combination costs seconds of compilation.
struct choice_of_values {
  template <class T, operation Op>
  static constexpr bool offers() {
    if (Op == operation::sum) return !std::is_unsigned_v<T>;
    return std::is_floating_point_v<T> &&
           (Op == operation::min || Op == operation::max || Op == operation::min_loc || Op == operation::dot);
  }
};

}  // namespace

void add_fanin_cuda_values(registry& to) {
  add_fanin_cuda_rows<value_form, fanin::cuda_strategy::one_pass, choice_of_values>(to);
}

}  // namespace fanin_perf
