// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fanin::detail {

/// The first element of this block's share of `chunks` consecutive chunks of a block's width.
__device__ inline std::int64_t first_of_block(int chunks) {
  return static_cast<std::int64_t>(blockIdx.x) * chunks * blockDim.x;
}

/// Thread t takes element t of each chunk of its block; with one chunk, one element (`one`). Every index once when the
/// grid has ceil(count / (block * chunks)) blocks.
template <class Source, class Composite>
__device__ void gather_fold_n(const Source& source, const Composite& c, typename Composite::state_type& state,
                              int chunks) {
  const std::int64_t first = first_of_block(chunks) + threadIdx.x;
#pragma unroll 4
  for (int k = 0; k < chunks; ++k) {
    const std::int64_t i = first + static_cast<std::int64_t>(k) * blockDim.x;
    if (i < source.count) source.accumulate(c, state, i);
  }
}

}  // namespace fanin::detail
