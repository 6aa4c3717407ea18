// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fanin::detail {

/// The upper half is joined to the lower half until one is left. Phases: store; then ceil(log2(block)) steps. One
/// barrier a step and one before; scratch of one accumulator a thread; any block size (the middle one of an odd number
/// waits a step); the result is valid in thread 0. The caller puts a barrier before the next use. The loop stays a
/// loop: no step knows its size at compile time.
template <class Op, class T>
__device__ void combine_interleaved(const Op& op, T& value, void* shared) {
  T* const of_thread = static_cast<T*>(shared);
  of_thread[threadIdx.x] = value;
  __syncthreads();
#pragma unroll 1
  for (unsigned left = blockDim.x; left > 1;) {
    const unsigned half = left - left / 2;
    if (threadIdx.x + half < left) op.join(of_thread[threadIdx.x], of_thread[threadIdx.x + half]);
    __syncthreads();
    left = half;
  }
  if (threadIdx.x == 0) value = of_thread[0];
}

}  // namespace fanin::detail
