// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/cuda/recipe.hpp>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/vectorised.cuh>
#include <fanin/device/bulk_copy.cuh>

namespace fanin::detail {

/// Tiles of bulk_stage_bytes, a grid's width apart, which the bulk copy engine brings into a ring in shared memory
/// while the threads fold earlier ones; one thread of a block asks for them. What fills no tile is gathered as
/// vectorised. Every index once, for any count and grid.
template <int Loads, class T, class Composite>
__device__ void gather_through_ring(const span_source<T>& source, const Composite& c,
                                    typename Composite::state_type& state, copy_barrier (&filled)[bulk_stages],
                                    void* ring) {
  using vector = typename span_source<T>::vector;
  constexpr int width = span_source<T>::width;
  constexpr int vectors_of_tile = static_cast<int>(bulk_stage_bytes / sizeof(vector));
  vector* const stages = static_cast<vector*>(ring);
  const std::int64_t tiles = source.vectors() / vectors_of_tile;
  const auto ask = [&](std::int64_t tile, int stage) {
    filled[stage].copy(stages + stage * vectors_of_tile, source.first_vector() + tile * vectors_of_tile,
                       static_cast<std::uint32_t>(bulk_stage_bytes));
  };

  if (threadIdx.x == 0) {
    for (copy_barrier& barrier : filled) barrier.init();
    publish_copy_barriers();
    for (int stage = 0; stage < bulk_stages; ++stage) {
      const std::int64_t tile = blockIdx.x + static_cast<std::int64_t>(stage) * gridDim.x;
      if (tile < tiles) ask(tile, stage);
    }
  }
  __syncthreads();

  int stage = 0;
  std::uint32_t parity = 0;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    filled[stage].wait(parity);
    const vector* const from = stages + stage * vectors_of_tile;
    const std::int64_t first = source.head + tile * vectors_of_tile * width;
    if constexpr (Composite::has_any_spill) {
      // Several vectors at once: an exact sum looks at the range of all of them.
#pragma unroll 1
      for (int k = static_cast<int>(threadIdx.x); k < vectors_of_tile; k += Loads * static_cast<int>(blockDim.x)) {
        vector v[Loads];
        int rows = 0;
#pragma unroll
        for (int j = 0; j < Loads; ++j) {
          const int at = k + j * static_cast<int>(blockDim.x);
          rows += at < vectors_of_tile ? 1 : 0;
          v[j] = from[at < vectors_of_tile ? at : k];
        }
        c.fold_batch(state, tile_batch<Loads, width, T>{v[0].element, first + std::int64_t{k} * width,
                                                        std::int64_t{blockDim.x} * width, rows});
      }
    } else {
#pragma unroll 4
      for (int k = static_cast<int>(threadIdx.x); k < vectors_of_tile; k += static_cast<int>(blockDim.x)) {
        const vector v = from[k];
        c.fold_batch(state, tile_batch<1, width, T>{v.element, first + std::int64_t{k} * width, 0});
      }
    }
    __syncthreads();  // everybody has read the stage before it is filled again
    const std::int64_t next = tile + static_cast<std::int64_t>(bulk_stages) * gridDim.x;
    if (threadIdx.x == 0 && next < tiles) ask(next, stage);
    if (++stage == bulk_stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  detail::gather_vectorised<Loads>(source, c, state, tiles * vectors_of_tile);
}

/// The same where devices of this code have the engine; else as vectorised.
template <int Loads, class T, class Composite>
__device__ void gather_bulk(const span_source<T>& source, const Composite& c, typename Composite::state_type& state,
                            copy_barrier (&filled)[bulk_stages], void* ring) {
  if constexpr (has_bulk_copies) {
    detail::gather_through_ring<Loads>(source, c, state, filled, ring);
  } else {
    detail::gather_vectorised<Loads>(source, c, state);
  }
}

}  // namespace fanin::detail
