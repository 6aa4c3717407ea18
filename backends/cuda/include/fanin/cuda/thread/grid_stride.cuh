// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fanin::detail {

/// Thread t of the grid takes elements t, t + threads, t + 2 * threads, ... One load in flight. Every index once, for
/// any count and grid.
template <class Source, class Composite>
__device__ void gather_grid_stride(const Source& source, const Composite& c, typename Composite::state_type& state) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t i = thread; i < source.count; i += threads) {
    source.accumulate(c, state, i);
  }
}

}  // namespace fanin::detail
