// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fanin/cuda/grid/watching_block.cuh>

namespace fanin::detail {

/// Reads what another block wrote in this launch: past the first-level cache, which is not coherent between blocks.
template <class T>
__device__ T load_from_other_block(const T* from) {
  if constexpr (alignof(T) % 4 == 0) {
    constexpr int words = static_cast<int>(sizeof(T) / 4);
    std::uint32_t word[words];
    const auto* const source = reinterpret_cast<const std::uint32_t*>(from);
#pragma unroll
    for (int k = 0; k < words; ++k) word[k] = __ldcg(source + k);
    T value;
    memcpy(&value, word, sizeof(T));
    return value;
  } else {
    unsigned char byte[sizeof(T)];
    const auto* const source = reinterpret_cast<const unsigned char*>(from);
#pragma unroll
    for (std::size_t k = 0; k < sizeof(T); ++k) byte[k] = __ldcg(source + k);
    T value;
    memcpy(&value, byte, sizeof(T));
    return value;
  }
}

/// Publishes this block's partial result (thread 0's) and draws a ticket. True in every thread of the one block that
/// drew the last: all partial results are then there. The ticket wraps to 0 for the next launch. One barrier.
template <class T>
__device__ bool is_last_block(const T& value, const contributor& self, T* partials, unsigned* ticket) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partials[self.index] = value;
    __threadfence();
    is_last = atomicInc(ticket, self.count - 1) == self.count - 1;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

/// Copies word by word, each of `workers` threads its share.
template <class T>
__device__ void copy_by_threads(T* to, const T& from, unsigned worker, unsigned workers) {
  using unit = std::conditional_t<alignof(T) % 4 == 0, std::uint32_t, unsigned char>;
  const auto* const source = reinterpret_cast<const unit*>(&from);
  auto* const target = reinterpret_cast<unit*>(to);
  for (unsigned k = worker; k < sizeof(T) / sizeof(unit); k += workers) target[k] = source[k];
}

/// The same for a partial result in shared memory, which all threads write out. Two barriers more.
template <class T>
__device__ bool is_last_block_with(const T& shared, const contributor& self, T* partials, unsigned* ticket) {
  __shared__ bool is_last;
  copy_by_threads(partials + self.index, shared, threadIdx.x, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicInc(ticket, self.count - 1) == self.count - 1;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

/// What `threads` threads gather of all blocks' partial results, in an order that depends on the grid alone.
template <class Composite>
__device__ typename Composite::accumulator_type gather_partials(const Composite& c,
                                                                const typename Composite::accumulator_type* partials,
                                                                unsigned count, unsigned threads) {
  auto value = c.identity();
  if (threadIdx.x < threads) {
    for (unsigned k = threadIdx.x; k < count; k += threads) c.join(value, load_from_other_block(partials + k));
  }
  return value;
}

}  // namespace fanin::detail
