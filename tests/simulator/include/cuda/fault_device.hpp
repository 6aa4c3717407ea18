// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "simulator/machine.hpp"
#include "support/failing_runtime.hpp"

/// In place of tests/cuda's: the device that faults are injected on is the simulated one.
namespace fanin_test {

/// A graph's memory is Fanin's again as soon as the graph is gone.
inline constexpr int graphs_that_end_late = 0;
/// As new, since one runs so many steps and no more. What is tested is the host's half: the schedules are such as cost
/// little.
inline void renew_fault_device(unsigned seed = 1) {
  simulator::schedule how(seed);
  how.plain_stores_are_late = false;
  how.naps = how.naps_at_memory = 0;
  simulator::begin(how);
  forget_held_of_runtime();
}
inline std::string no_fault_device() {
  renew_fault_device();
  return "";
}
/// Whether who calls or allocates is the device.
inline bool is_fault_device() { return simulator::works_while_host_waits(); }

}  // namespace fanin_test
