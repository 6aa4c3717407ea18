// SPDX-License-Identifier: Apache-2.0

// fanin::serial in its orders.

#include "contenders/fanin_calls.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {
namespace {

template <class Make>
struct family : fanin_blocking<Make> {
  static constexpr bool takes_all_types = true;
};

// Halving keeps an accumulator for every two elements: of exact sums that says nothing but that it is slow.
template <class Make>
struct family_of_rounding : family<Make> {
  static constexpr bool takes_exact_sums = false;
};

struct lanes {
  fanin::serial operator()(const workload&) const { return fanin::serial{}; }
};

struct left_to_right {
  fanin::serial operator()(const workload&) const { return fanin::serial(fanin::serial_order::left_to_right); }
};

struct recursive_halving {
  fanin::serial operator()(const workload&) const { return fanin::serial(fanin::serial_order::recursive_halving); }
};

contender described(const char* strategy) {
  contender who;
  who.name = "fanin";
  who.backend = "serial";
  who.strategy = strategy;
  who.form = "span";
  who.rounds_once = true;
  return who;
}

}  // namespace

void add_fanin_serial(registry& to) {
  to.add(of_family(described("lanes"), family<lanes>{}));
  to.add(of_family(described("left_to_right"), family<left_to_right>{}));
  contender halving = described("recursive_halving");
  halving.halving = true;
  // Each call takes workspace for n / 2 accumulators from the system.
  halving.largest = std::int64_t{1} << 22;
  to.add(of_family(halving, family_of_rounding<recursive_halving>{}));
}

}  // namespace fanin_perf
