// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fanin::detail {

/// A word of global memory that is needed much later: it comes to memory of the block, past the first-level cache,
/// while its thread goes on, and takes no register meanwhile. The three words behind it come along; it is aligned as
/// all four.
struct word_ahead {
  alignas(16) unsigned words[4];

  __device__ void load(const unsigned* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(words))),
        "l"(__cvta_generic_to_global(from))
        : "memory");
#else
    words[0] = __ldcg(from);
#endif
  }
  /// By the thread that called load().
  __device__ unsigned when_loaded() const {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    return words[0];
  }
};

}  // namespace fanin::detail
