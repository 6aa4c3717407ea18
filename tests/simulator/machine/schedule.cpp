// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <sstream>

#include "simulator/machine.hpp"
#include "simulator/machine/generator.hpp"

/// Which schedule follows from a seed.
namespace simulator {

const std::vector<policy>& policies() {
  static const std::vector<policy> all{
      {"fair", order::in_turn, order::in_turn, order::in_turn, false},
      {"reverse", order::highest, order::highest, order::highest, false},
      {"one thread ahead", order::same, order::same, order::same, false},
      {"one warp ahead", order::same, order::same, order::in_turn, false},
      {"one block after the other", order::lowest, order::any, order::any, true},
      {"blocks late", order::highest, order::any, order::any, false},
      {"random", order::any, order::any, order::any, false},
      {"low warps late", order::lowest, order::highest, order::any, false},
      // Each of the orders is drawn.
      {"mixed", order::any, order::any, order::any, false},
      {"mixed", order::any, order::any, order::any, false},
  };
  return all;
}

schedule::schedule(std::uint64_t of_seed) : seed{of_seed} {
  generator random(of_seed ^ 0x5ca1ab1e);
  by = policies()[random.below(policies().size())];
  if (by.name == std::string("mixed")) {
    constexpr order orders[] = {order::lowest, order::highest, order::in_turn, order::any, order::same};
    for (order* const one : {&by.blocks, &by.warps, &by.lanes}) *one = orders[random.below(std::size(orders))];
    by.starts_late = random.one_in(2);
  }
  constexpr unsigned shares[] = {0, 4, 64, 256};
  stores_at_once = shares[random.below(std::size(shares))];
  plain_stores_are_late = random.one_in(2);
  plain_loads_are_new = random.one_in(4);
  constexpr unsigned rates[] = {0, 0, 100, 1'000, 10'000};
  naps = rates[random.below(std::size(rates))];
  constexpr unsigned rates_at_memory[] = {0, 0, 4'096, 16'384};
  naps_at_memory = rates_at_memory[random.below(std::size(rates_at_memory))];
  constexpr unsigned residents[] = {1, 2, 3, 16, 64};
  resident_blocks = residents[random.below(std::size(residents))];
  multiprocessors = static_cast<int>(2 + random.below(3));
}

std::string schedule::text() const {
  constexpr const char* names[] = {"lowest", "highest", "in turn", "any", "same"};
  const auto name_of = [&](order one) { return names[static_cast<int>(one)]; };
  std::ostringstream text;
  text << "seed " << seed << " (" << by.name << ": blocks " << name_of(by.blocks) << ", warps " << name_of(by.warps)
       << ", lanes " << name_of(by.lanes) << "; " << resident_blocks << " resident blocks"
       << (by.starts_late ? ", started late" : "") << "; stores arrive in " << stores_at_once << " of 256 steps"
       << (!plain_stores_are_late ? ""
           : plain_loads_are_new  ? ", plain ones late"
                                  : ", plain ones late, and loads see old values")
       << "; naps in " << naps << " and, at memory, " << naps_at_memory << " of 65536)";
  return text.str();
}

}  // namespace simulator
