// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simulator/thread.hpp"

/// The simulator's atomics: as device/include/fanin/device/atomics.hpp, also in that 8 bytes of a block's shared memory
/// are two halves.
namespace fanin {

namespace detail {

inline std::uint32_t add_word(std::uint32_t* to, std::uint32_t increment, simulator::place here) {
  return simulator::update("atomic addition", to, here, [&](std::uint32_t before) { return before + increment; });
}

inline void add_halves(void* target, std::uint64_t increment, simulator::place here) {
  auto* const half = static_cast<std::uint32_t*>(target);
  auto high = static_cast<std::uint32_t>(increment >> 32);
  if (const auto low = static_cast<std::uint32_t>(increment); low != 0) {
    const std::uint32_t before = add_word(half, low, here);
    high += before + low < low ? 1 : 0;
  }
  if (high != 0) add_word(half + 1, high, here);
}

template <class T>
using unsigned_word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

}  // namespace detail

template <class T>
  requires(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8))
void atomic_fetch_add(T& target, T increment, simulator::place here = simulator::place::current()) {
  using word = detail::unsigned_word<T>;
  if (!simulator::in_kernel()) {
    target = static_cast<T>(static_cast<word>(target) + static_cast<word>(increment));
  } else if (sizeof(T) == 8 && simulator::is_memory_of_block(&target)) {
    detail::add_halves(&target, static_cast<std::uint64_t>(increment), here);
  } else {
    simulator::update("atomic addition", &target, here, [&](T before) {
      return static_cast<T>(static_cast<word>(before) + static_cast<word>(increment));
    });
  }
}

namespace detail {

inline void atomic_fetch_add_digits(std::int64_t* to, std::uint64_t low, std::uint32_t mid, std::int64_t high,
                                    simulator::place here = simulator::place::current()) {
  if (simulator::in_kernel() && simulator::is_memory_of_block(to)) {
    const auto carry_of_addition = [&](void* at, std::uint64_t increment) -> std::uint64_t {
      const auto word = static_cast<std::uint32_t>(increment);
      return (add_word(static_cast<std::uint32_t*>(at), word, here) + increment) >> 32;
    };
    const std::uint64_t to_mid = mid + carry_of_addition(to, low);
    const std::int64_t rest = high + static_cast<std::int64_t>(carry_of_addition(to + 1, to_mid));
    if (rest != 0) add_halves(to + 2, static_cast<std::uint64_t>(rest), here);
    return;
  }
  fanin::atomic_fetch_add(to[0], static_cast<std::int64_t>(low), here);
  fanin::atomic_fetch_add(to[1], static_cast<std::int64_t>(mid), here);
  fanin::atomic_fetch_add(to[2], high, here);
}

}  // namespace detail

template <class T>
  requires(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8))
T atomic_exchange(T& target, T value, simulator::place here = simulator::place::current()) {
  if (!simulator::in_kernel()) {
    const T held = target;
    target = value;
    return held;
  }
  if (sizeof(T) == 8 && simulator::is_memory_of_block(&target)) {
    const auto exchange = [&](std::uint32_t* half, std::uint32_t word) {
      return simulator::update("atomic exchange", half, here, [&](std::uint32_t) { return word; });
    };
    auto* const halves = reinterpret_cast<std::uint32_t*>(&target);
    const auto word = static_cast<std::uint64_t>(value);
    const std::uint64_t low = exchange(halves, static_cast<std::uint32_t>(word));
    const std::uint64_t high = exchange(halves + 1, static_cast<std::uint32_t>(word >> 32));
    return static_cast<T>(high << 32 | low);
  }
  return simulator::update("atomic exchange", &target, here, [&](T) { return value; });
}

}  // namespace fanin
