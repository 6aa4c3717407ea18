// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/device/memory.cuh>

namespace fanin::detail {

/// Objects of global memory that come to memory of the block while their thread goes on, and take no registers
/// meanwhile: those of a word. Others come at once (H200, 2^26 doubles in runs of 4 292 us, and 302 if they did not).
class copies_ahead {
 public:
  /// Count of them, `from_step` apart, to places `to_step` apart.
  template <int Count, class T>
  __device__ void copy(T* to, int to_step, const T* from, std::int64_t from_step) const {
    if constexpr (is_word<T>) {
#pragma unroll
      for (int k = 0; k < Count; ++k) copy_word(to + k * to_step, from + k * from_step);
    } else {
      T loaded[Count];
#pragma unroll
      for (int k = 0; k < Count; ++k) loaded[k] = from[k * from_step];
      all_loads_first();
#pragma unroll
      for (int k = 0; k < Count; ++k) to[k * to_step] = loaded[k];
    }
  }
  /// By the thread that copies: what it has asked for is there. Other threads see it behind their next barrier.
  __device__ void wait() const {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  }

 private:
#if __CUDA_ARCH__ >= 800
  template <class T>
  static constexpr bool is_word = sizeof(T) == 4 && alignof(T) == 4;
#else
  template <class T>
  static constexpr bool is_word = false;
#endif

  static __device__ void copy_word([[maybe_unused]] void* to, [[maybe_unused]] const void* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
        "l"(__cvta_generic_to_global(from))
        : "memory");
#endif
  }
};

}  // namespace fanin::detail
