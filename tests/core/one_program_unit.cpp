// SPDX-License-Identifier: Apache-2.0
#include "core/one_program.hpp"

#include <cstdint>
#include <vector>

#include <fanin/fanin.hpp>

#include "support/functors.hpp"

// Compiled several times for one program, without optimisation so that the linker decides which functions serve, each
// time as namespace UNIT with another default backend or for another machine.

namespace fanin_test::UNIT {

facts look() {
  using backend = fanin::backend<fanin::default_backend>;
  facts seen{};
  seen.default_backend = backend::name;
  seen.has_its_own_default_object =
      static_cast<const void*>(&fanin::default_execution()) == static_cast<const void*>(&backend::default_object());
  seen.rounds_to_nearest = reinterpret_cast<const void*>(&fanin::detail::rounds_to_nearest);

  // Five reductions on the default object.
  const std::vector<std::int64_t> xs(1000, 3);
  const fanin::sum<std::int64_t> sum;
  std::int64_t out = 0;
  fanin::reduce_into(&out, xs, sum);
  seen.sum = out + fanin::reduce(xs, sum) + fanin::reduce("labelled", xs, sum) +
             fanin::transform_reduce(xs, multiply{}, sum) +
             fanin::parallel_reduce(fanin::range(1000), index_itself{}, sum);

  std::vector<double> numbers(4096, 1e-30);
  numbers.front() = 1e30;
  numbers.back() = -1e30;
  seen.exact_sum = fanin::reduce(fanin::serial{}, numbers, fanin::exact_sum<double>{});
  return seen;
}

}  // namespace fanin_test::UNIT
