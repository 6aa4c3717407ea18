// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How the host names a kernel.
namespace fanin::detail {

/// What the runtime takes for a kernel. Every launch asks for it here, where the kernel's parameters are known for the
/// last time.
template <class... Parameter>
const void* kernel_pointer(void (*kernel)(Parameter...)) {
  return reinterpret_cast<const void*>(kernel);
}

}  // namespace fanin::detail
