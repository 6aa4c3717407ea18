// SPDX-License-Identifier: Apache-2.0

// Fanin's CUDA backend over arrays: every strategy of the catalogue.

#include <string>
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

// A strategy's own choice, and blocks and grids around it.
template <class Strategy, class Choice>
void add_tunings(contender_list& to) {
  constexpr int most_threads_of_multiprocessor = 2048;
  contender who = describe_fanin_cuda<span_form, Strategy>();
  who.to = destination::device;
  who.capturable = true;
  const auto add = [&](const fanin::cuda_tuning& tuning) {
    to.push_back(of_family(who, fanin_cuda_family<span_form, Strategy, Choice, destination::device>{tuning}));
  };
  add({});
  for (const int block_size : {128, 256, 512, 1024}) {
    for (const int blocks_per_sm : {1, 2, 4, 8}) {
      if (block_size * blocks_per_sm > most_threads_of_multiprocessor) continue;
      who.tuning =
          "{.block_size = " + std::to_string(block_size) + ", .blocks_per_sm = " + std::to_string(blocks_per_sm) + "}";
      add({.block_size = block_size, .blocks_per_sm = blocks_per_sm});
    }
  }
}

}  // namespace

void add_fanin_cuda_tunings(registry& to) {
  add_tunings<fanin::cuda_strategy::one_pass, choice_of_default>(to.contenders);
  add_tunings<fanin::cuda_strategy::one_pass_bulk, choice_of_others>(to.contenders);
}

void add_fanin_cuda(registry& to) {
  fanin::cuda_catalogue::for_each([&](auto strategy) {
    using tag = decltype(strategy);
    using is_default = std::is_same<tag, fanin::cuda_strategy::one_pass>;
    add_fanin_cuda_rows<span_form, tag, std::conditional_t<is_default::value, choice_of_default, choice_of_others>>(to);
  });
}

}  // namespace fanin_perf
