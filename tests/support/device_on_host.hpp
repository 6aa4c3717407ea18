// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Just enough of CUDA's language for a host compiler to run what one thread of a grid does. Included before any header
/// of the CUDA backend, in units of a C++ compiler.

#if defined(__CUDACC__)
#error "for a C++ compiler only"
#endif

#define __host__
#define __device__

namespace fanin_test {

struct dimension {
  unsigned x = 0;
};

}  // namespace fanin_test

inline thread_local fanin_test::dimension threadIdx;
inline thread_local fanin_test::dimension blockIdx;
inline thread_local fanin_test::dimension blockDim;
inline thread_local fanin_test::dimension gridDim;

// A warp, a block and a grid of the one thread that runs.
inline int __all_sync(unsigned, int predicate) { return predicate; }
inline unsigned __ballot_sync(unsigned, int predicate) { return predicate != 0 ? 1 : 0; }
inline int __shfl_sync(unsigned, int value, int) { return value; }
inline void __threadfence() {}
inline unsigned atomicInc(unsigned* counter, unsigned last) {
  const unsigned before = *counter;
  *counter = before >= last ? 0 : before + 1;
  return before;
}
template <class T>
T __shfl_xor_sync(unsigned, T value, unsigned) {
  return value;
}

namespace fanin_test {

/// Runs `thread` once for every thread of a grid, one after the other.
template <class Thread>
void for_every_thread(unsigned blocks, unsigned threads, const Thread& thread) {
  gridDim.x = blocks;
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) thread();
  }
}

}  // namespace fanin_test
