// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The bulk copy engine, which devices have from compute capability 9.0 on (PTX ISA, cp.async.bulk and mbarrier).
namespace fanin::detail {

#if __CUDA_ARCH__ >= 900
inline constexpr bool has_bulk_copies = true;

/// A barrier in shared memory that counts bytes of bulk copies.
struct copy_barrier {
  std::uint64_t word;

  __device__ std::uint32_t address() { return static_cast<std::uint32_t>(__cvta_generic_to_shared(&word)); }
  __device__ void init() { asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address()) : "memory"); }
  __device__ void copy(void* to, const void* from, std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(bytes), "r"(address())
                 : "memory");
  }
  __device__ void wait(std::uint32_t parity) {
    std::uint32_t done = 0;
    while (done == 0) {
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(address()), "r"(parity)
                   : "memory");
    }
  }
};

/// After init(), by the thread that called it, before anybody copies.
__device__ inline void publish_copy_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
#else
inline constexpr bool has_bulk_copies = false;

struct copy_barrier {
  __device__ void init() {}
  __device__ void copy(void*, const void*, std::uint32_t) {}
  __device__ void wait(std::uint32_t) {}
};
__device__ inline void publish_copy_barriers() {}
#endif

}  // namespace fanin::detail
