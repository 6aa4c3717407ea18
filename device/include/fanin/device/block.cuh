// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Memory that the threads of a block share.
namespace fanin::detail {

/// The block's one object of type T, which nobody has constructed.
template <class T>
__device__ __forceinline__ T& object_of_block() {
  __shared__ T object;
  return object;
}

/// The bytes that the launch asked for.
__device__ __forceinline__ unsigned char* memory_of_launch() {
  extern __shared__ __align__(16) unsigned char shared[];
  return shared;
}
/// And how many.
__device__ __forceinline__ unsigned bytes_of_launch() {
  unsigned bytes = 0;
#if defined(__CUDA_ARCH__)
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
#endif
  return bytes;
}

/// blockIdx.x, read where this stands. The compiler otherwise keeps what it read first, in a register that it may not
/// have, and so in memory.
__device__ __forceinline__ unsigned block_index_here() {
#if defined(__CUDA_ARCH__)
  unsigned index = 0;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
  return index;
#else
  return blockIdx.x;
#endif
}

}  // namespace fanin::detail
