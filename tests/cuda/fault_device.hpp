// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "contract/fixtures/cuda_device.hpp"

/// The device that faults are injected on; tests/simulator has another one.
namespace fanin_test {

/// Why there is none, in words; empty if there is.
inline std::string no_fault_device() { return no_gpu(); }
/// CUDA tells later that a graph is gone: until then the next one needs memory of its own, which Fanin then keeps.
inline constexpr int graphs_that_end_late = 4;
inline void renew_fault_device(unsigned = 1) {}
/// Whether who calls or allocates is the device, which a simulated one may be.
inline bool is_fault_device() { return false; }

}  // namespace fanin_test
