// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include <fanin/macros.hpp>

namespace fanin::detail {

/// Nanoseconds of a clock that all threads of a device share; it may go on in steps of up to a microsecond. On a host
/// those of std::chrono::steady_clock, which is another one.
FANIN_FUNCTION inline std::uint64_t nanoseconds_now() {
#if defined(__CUDA_ARCH__)
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
#else
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
#endif
}

}  // namespace fanin::detail
