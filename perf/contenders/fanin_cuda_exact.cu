// SPDX-License-Identifier: Apache-2.0

// Fanin's CUDA backend over arrays: exact sums, in the default strategy.

#include "contenders/fanin_cuda_calls.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {
namespace {

struct choice_of_exact_sums {
  static constexpr bool takes_exact_sums = true;

  template <class T, operation Op>
  static constexpr bool offers() {
    return Op == operation::exact_sum;
  }
};

}  // namespace

void add_fanin_cuda_exact(registry& to) {
  add_fanin_cuda_rows<span_form, fanin::cuda_strategy::one_pass, choice_of_exact_sums>(to);
}

}  // namespace fanin_perf
