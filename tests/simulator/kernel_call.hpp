// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <tuple>
#include <utility>

/// How the simulated runtime calls a kernel of which it has a pointer and the arguments' addresses.
namespace simulator {

/// Copies the arguments, as a launch does; calling what it gives runs the kernel as one thread.
using kernel_binder = std::function<void()> (*)(const void* kernel, void** arguments);
void know_kernel(const void* kernel, kernel_binder binder);

template <class... Parameter>
std::function<void()> bind_kernel(const void* kernel, void** arguments) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) -> std::function<void()> {
    const auto held = std::make_shared<const std::tuple<std::remove_const_t<Parameter>...>>(
        *static_cast<const Parameter*>(arguments[I])...);
    const auto call = reinterpret_cast<void (*)(Parameter...)>(const_cast<void*>(kernel));
    return [held, call] { std::apply(call, *held); };
  }(std::index_sequence_for<Parameter...>{});
}

}  // namespace simulator

namespace fanin::detail {

/// Every kernel goes through the backend's kernel_pointer(void (*)(Parameter...)) on its way to the runtime. This one
/// is the better match, and there a kernel's parameters are known for the last time.
template <class First, class... Others>
const void* kernel_pointer(void (*kernel)(First, Others...)) {
  const void* const address = reinterpret_cast<const void*>(kernel);
  simulator::know_kernel(address, &simulator::bind_kernel<First, Others...>);
  return address;
}

}  // namespace fanin::detail
