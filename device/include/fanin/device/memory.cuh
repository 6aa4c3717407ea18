// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fanin/device/tagged_unit.cuh>

/// How threads of different blocks read and write the same memory, and what the compiler may not move.
namespace fanin::detail {

/// Keeps the compiler from moving loads across: to save registers it otherwise folds between two loads of a round, so
/// that each waits for the one before (1.1 us more for 2^12 doubles in one block).
__device__ inline void all_loads_first() {
#if defined(__CUDA_ARCH__)
  asm volatile("" ::: "memory");
#endif
}

/// Brings the line of memory around an address to the second-level cache. A hint, which waits for nothing.
__device__ inline void prefetch_line([[maybe_unused]] const void* address) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(address)));
#endif
}
inline constexpr std::size_t line_bytes = 128;

/// An element, for which the second-level cache asks memory for the whole line, where it asks for half of it otherwise:
/// for those whose neighbours in the line are read by another load.
template <class T>
__host__ __device__ T load_with_line(const T* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
  if constexpr (std::is_trivially_copyable_v<T> && alignof(T) == sizeof(T)) {
    if constexpr (sizeof(T) == 4) {
      std::uint32_t bits;
      asm("ld.global.L2::128B.b32 %0, [%1];" : "=r"(bits) : "l"(from) : "memory");
      return std::bit_cast<T>(bits);
    } else if constexpr (sizeof(T) == 8) {
      std::uint64_t bits;
      asm("ld.global.L2::128B.b64 %0, [%1];" : "=l"(bits) : "l"(from) : "memory");
      return std::bit_cast<T>(bits);
    }
  }
#endif
  return *from;
}

/// Reads what another block wrote in this launch: past the first-level cache, which is not coherent between blocks.
template <class T>
__device__ void load_from_other_block(T& to, const T* from) {
  using unit = std::conditional_t<alignof(T) % 4 == 0, std::uint32_t, unsigned char>;
  constexpr int units = static_cast<int>(sizeof(T) / sizeof(unit));
  constexpr int most_at_once = 256;
  const auto* const source = reinterpret_cast<const unit*>(from);
  if constexpr (units <= most_at_once) {
    unit all[units];
#pragma unroll
    for (int k = 0; k < units; ++k) all[k] = __ldcg(source + k);
    ::memcpy(&to, all, sizeof(T));
  } else {
    auto* const bytes = reinterpret_cast<unsigned char*>(&to);
    for (int k = 0; k < units; ++k) {
      const unit one = __ldcg(source + k);
      ::memcpy(bytes + k * static_cast<int>(sizeof(unit)), &one, sizeof(unit));
    }
  }
}

/// Copies word by word, each of `workers` threads its share.
template <class T>
__device__ void copy_by_threads(T* to, const T& from, unsigned worker, unsigned workers) {
  using unit = std::conditional_t<alignof(T) % 4 == 0, std::uint32_t, unsigned char>;
  const auto* const source = reinterpret_cast<const unit*>(&from);
  auto* const target = reinterpret_cast<unit*>(to);
  for (unsigned k = worker; k < sizeof(T) / sizeof(unit); k += workers) target[k] = source[k];
}

/// By one thread, whose writes come before: draws the next of tickets 0 .. count - 1; is_last says whether it was the
/// last, and then all writes of those that drew before are seen. The counter wraps to 0.
__device__ inline void draw_ticket(unsigned* counter, unsigned count, unsigned& is_last) {
  __threadfence();
  is_last = atomicInc(counter, count - 1) == count - 1 ? 1 : 0;
  __threadfence();
}

}  // namespace fanin::detail
