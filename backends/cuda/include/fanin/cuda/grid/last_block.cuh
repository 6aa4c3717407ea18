// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fanin/cuda/grid/watching_block.cuh>
#include <fanin/cuda/recipe.hpp>
#include <fanin/macros.hpp>

namespace fanin::detail {

/// Accumulators that do not travel through shuffles are not passed by value, either: the compiler would take them apart
/// into a register a word, and of thousands of words take minutes.
template <class Composite>
inline constexpr bool is_passed_by_value = Composite::largest_accumulator <= largest_shuffled_accumulator;

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
    memcpy(&to, all, sizeof(T));
  } else {
    auto* const bytes = reinterpret_cast<unsigned char*>(&to);
    for (int k = 0; k < units; ++k) {
      const unit one = __ldcg(source + k);
      memcpy(bytes + k * static_cast<int>(sizeof(unit)), &one, sizeof(unit));
    }
  }
}

/// In a function that stands once: a reducer's identity() gives by value, whatever its size.
template <class Composite>
FANIN_DETAIL_NOINLINE __device__ void set_large_identity(const Composite& c,
                                                         typename Composite::accumulator_type& value) {
  value = c.identity();
}

/// value = c.identity().
template <class Composite>
__device__ void set_identity(const Composite& c, typename Composite::accumulator_type& value) {
  if constexpr (is_passed_by_value<Composite>) {
    value = c.identity();
  } else {
    set_large_identity(c, value);
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
__device__ void gather_partials(const Composite& c, typename Composite::accumulator_type& value,
                                const typename Composite::accumulator_type* partials, unsigned count,
                                unsigned threads) {
  set_identity(c, value);
  if (threadIdx.x < threads) {
    for (unsigned k = threadIdx.x; k < count; k += threads) {
      typename Composite::accumulator_type partial;
      load_from_other_block(partial, partials + k);
      c.join(value, partial);
    }
  }
}

}  // namespace fanin::detail
