// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <fanin/macros.hpp>

/// What threads of a block do to integers that they share, for reducers with a spill (fanin/gathering.hpp).
namespace fanin {

namespace detail {

#if defined(__CUDA_ARCH__)
/// 8 bytes in a block's shared memory as two halves: no device has one instruction for them. The carry out of the lower
/// half goes to the upper one later.
struct shared_counter {
  unsigned int address;
  unsigned int high;

  __device__ void add_low(void* target, unsigned long long increment) {
    address = static_cast<unsigned int>(__cvta_generic_to_shared(target));
    high = static_cast<unsigned int>(increment >> 32);
    if (const auto low = static_cast<unsigned int>(increment); low != 0) {
      unsigned int before;
      asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(address), "r"(low) : "memory");
      high += before + low < low ? 1 : 0;
    }
  }
  __device__ void add_high() const {
    if (high != 0) asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(address + 4), "r"(high) : "memory");
  }
};
#endif

}  // namespace detail

/// Adds to a counter that threads of one block may share: relaxed and atomic on a device, a plain addition on the
/// host, where a spill belongs to one thread. In a block's shared memory 8 bytes are two
/// halves: until the next barrier the upper one may lack a carry, so that atomic_exchange may take out a multiple of
/// 2^32 too little or too much, which the counter then still gets.
template <class T>
  requires(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8))
FANIN_FUNCTION inline void atomic_fetch_add(T& target, T increment) {
#if defined(__CUDA_ARCH__)
  using word = std::conditional_t<sizeof(T) == 4, unsigned int, unsigned long long>;
  if constexpr (sizeof(T) == 8) {
    if (__isShared(&target)) {
      detail::shared_counter counter;
      counter.add_low(&target, static_cast<word>(increment));
      counter.add_high();
      return;
    }
  }
  ::atomicAdd(reinterpret_cast<word*>(&target), static_cast<word>(increment));
#else
  using word = std::make_unsigned_t<T>;
  target = static_cast<T>(static_cast<word>(target) + static_cast<word>(increment));
#endif
}

namespace detail {

/// Adds low + mid * 2^32 + high * 2^64 to the digits to[0], to[1] and to[2], each worth 2^32 times the one before; low
/// is up to 2^32. In a block's shared memory a carry goes to the next digit, not into the upper half of its own: mostly
/// two or three additions of 4 bytes.
FANIN_FUNCTION inline void atomic_fetch_add_digits(std::int64_t* to, std::uint64_t low, std::uint32_t mid,
                                                   std::int64_t high) {
#if defined(__CUDA_ARCH__)
  if (__isShared(to)) {
    const auto address = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    const auto carry_of_addition = [](unsigned int at, std::uint64_t increment) {
      unsigned int before;
      asm volatile("atom.shared.add.u32 %0, [%1], %2;"
                   : "=r"(before)
                   : "r"(at), "r"(static_cast<unsigned int>(increment))
                   : "memory");
      return (before + increment) >> 32;
    };
    const std::uint64_t to_mid = mid + carry_of_addition(address, low);
    const std::int64_t rest = high + static_cast<std::int64_t>(carry_of_addition(address + 8, to_mid));
    if (rest != 0) {
      shared_counter counter;
      counter.add_low(to + 2, static_cast<unsigned long long>(rest));
      counter.add_high();
    }
    return;
  }
#endif
  fanin::atomic_fetch_add(to[0], static_cast<std::int64_t>(low));
  fanin::atomic_fetch_add(to[1], static_cast<std::int64_t>(mid));
  fanin::atomic_fetch_add(to[2], high);
}

}  // namespace detail

/// Takes what such a counter holds and leaves `value`: as atomic_fetch_add.
template <class T>
  requires(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8))
FANIN_FUNCTION inline T atomic_exchange(T& target, T value) {
#if defined(__CUDA_ARCH__)
  using word = std::conditional_t<sizeof(T) == 4, unsigned int, unsigned long long>;
  if constexpr (sizeof(T) == 8) {
    if (__isShared(&target)) {
      auto* const halves = reinterpret_cast<unsigned int*>(&target);
      const unsigned int low = ::atomicExch(halves, static_cast<unsigned int>(static_cast<word>(value)));
      const unsigned int high = ::atomicExch(halves + 1, static_cast<unsigned int>(static_cast<word>(value) >> 32));
      return static_cast<T>(static_cast<word>(high) << 32 | low);
    }
  }
  return static_cast<T>(::atomicExch(reinterpret_cast<word*>(&target), static_cast<word>(value)));
#else
  const T held = target;
  target = value;
  return held;
#endif
}

}  // namespace fanin
