// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/kernel_call.hpp"

/// The simulator's kernels: as device/include/fanin/device/kernel_pointer.cuh, of a runtime that learns how to call
/// them.
namespace fanin::detail {

template <class... Parameter>
const void* kernel_pointer(void (*kernel)(Parameter...)) {
  const void* const address = reinterpret_cast<const void*>(kernel);
  simulator::know_kernel(address, &simulator::bind_kernel<Parameter...>);
  return address;
}

}  // namespace fanin::detail
