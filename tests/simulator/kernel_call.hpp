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
