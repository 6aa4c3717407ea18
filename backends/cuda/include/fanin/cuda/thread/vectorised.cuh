// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/cuda/thread/source.cuh>

namespace fanin::detail {

/// Rounds of one tile per block, a tile being Loads vectors for each thread, contiguous per block (a wide grid stride
/// fell to half the bandwidth); what is left is spread over the whole grid, so that the last round is as even as the
/// others. All loads of a round are issued before the first is used. The unaligned head goes to the first block, the
/// tail of less than a vector to the last. Every index once, for any count and grid. The first `done` vectors are
/// somebody else's.
template <int Loads, class T, class Composite>
__device__ void gather_vectorised(const span_source<T>& source, const Composite& c,
                                  typename Composite::state_type& state, std::int64_t done = 0) {
  using vector = typename span_source<T>::vector;
  constexpr int width = span_source<T>::width;
  const vector* const vectors = source.first_vector();
  const std::int64_t count = source.vectors();
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t round = threads * Loads;

  const auto fold = [&](const vector& v, std::int64_t at) {
    const std::int64_t i = source.head + at * width;
#pragma unroll
    for (int k = 0; k < width; ++k) c.fold(state, v.element[k], i + k);
  };

  std::int64_t mine = done + static_cast<std::int64_t>(blockIdx.x) * blockDim.x * Loads + threadIdx.x;
#pragma unroll 1
  for (; done + round <= count; done += round, mine += round) {
    vector v[Loads];
#pragma unroll
    for (int k = 0; k < Loads; ++k) v[k] = vectors[mine + k * static_cast<std::int64_t>(blockDim.x)];
#pragma unroll
    for (int k = 0; k < Loads; ++k) fold(v[k], mine + k * static_cast<std::int64_t>(blockDim.x));
  }

  mine = done + static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (mine < count) {
    vector v[Loads];
#pragma unroll
    for (int k = 0; k < Loads; ++k) {
      if (mine + k * threads < count) v[k] = vectors[mine + k * threads];
    }
#pragma unroll
    for (int k = 0; k < Loads; ++k) {
      if (mine + k * threads < count) fold(v[k], mine + k * threads);
    }
  }

  if (blockIdx.x == 0 && threadIdx.x < source.head) source.accumulate(c, state, threadIdx.x);
  if (blockIdx.x == gridDim.x - 1) {
    const std::int64_t tail = source.head + count * width + threadIdx.x;
    if (tail < source.count) source.accumulate(c, state, tail);
  }
}

/// The same rounds for a functor over indices: a tile is Elements indices for each thread, a block's width apart, so
/// that neighbouring threads read neighbouring elements; the compiler issues their loads together.
template <int Elements, class Source, class Composite>
  requires(!Source::has_vectors)
__device__ void gather_vectorised(const Source& source, const Composite& c, typename Composite::state_type& state) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t round = threads * Elements;

  std::int64_t done = 0;
  std::int64_t mine = static_cast<std::int64_t>(blockIdx.x) * blockDim.x * Elements + threadIdx.x;
  for (; done + round <= source.count; done += round, mine += round) {
#pragma unroll
    for (int k = 0; k < Elements; ++k) {
      source.accumulate(c, state, mine + k * static_cast<std::int64_t>(blockDim.x));
    }
  }

  for (mine = done + static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; mine < source.count;
       mine += threads) {
    source.accumulate(c, state, mine);
  }
}

}  // namespace fanin::detail
