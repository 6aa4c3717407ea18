// SPDX-License-Identifier: Apache-2.0

// Fanin's CUDA backend over arrays: every strategy of the catalogue.

#include <type_traits>

#include "contenders/fanin_cuda_calls.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {
namespace {

// The default strategy's reductions are precompiled in the library; products are compiled here.
struct choice_of_default {
  template <class T, operation Op>
  static constexpr bool offers() {
    return (Op != operation::sum_of_squares && Op != operation::dot && Op != operation::several) ||
           std::is_floating_point_v<T> || (Op == operation::sum_of_squares && std::is_same_v<T, std::int32_t>);
  }
};

// The others show a step on the way: a sum is enough, on the types that the documents use and on f32.
struct choice_of_others {
  template <class T, operation Op>
  static constexpr bool offers() {
    return Op == operation::sum && (std::is_floating_point_v<T> || std::is_same_v<T, std::int32_t>);
  }
};

}  // namespace

void add_fanin_cuda(registry& to) {
  fanin::cuda_catalogue::for_each([&](auto strategy) {
    using tag = decltype(strategy);
    using is_default = std::is_same<tag, fanin::cuda_strategy::one_pass>;
    add_fanin_cuda_rows<span_form, tag, std::conditional_t<is_default::value, choice_of_default, choice_of_others>>(
        to.contenders);
  });
}

}  // namespace fanin_perf
