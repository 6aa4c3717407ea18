// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <fanin/cuda/device/memory.cuh>
#include <fanin/cuda/grid/watching_block.cuh>
#include <fanin/cuda/recipe.hpp>
#include <fanin/macros.hpp>

namespace fanin::detail {

/// Accumulators that do not travel through shuffles are not passed by value, either: the compiler would take them apart
/// into a register a word, and of thousands of words take minutes.
template <class Composite>
inline constexpr bool is_passed_by_value = Composite::largest_accumulator <= largest_shuffled_accumulator;

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
    draw_ticket(ticket, self.count, is_last);
  }
  __syncthreads();
  return is_last;
}

/// The same for a partial result in shared memory, which all threads write out. Two barriers more.
template <class T>
__device__ bool is_last_block_with(const T& shared, const contributor& self, T* partials, unsigned* ticket) {
  __shared__ bool is_last;
  copy_by_threads(partials + self.index, shared, threadIdx.x, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    draw_ticket(ticket, self.count, is_last);
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
