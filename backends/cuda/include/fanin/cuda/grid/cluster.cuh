// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cooperative_groups.h>

#include <cstddef>

namespace fanin::detail {

/// The blocks of a cluster hand their values to the first of them through distributed shared memory; valid in its
/// thread 0. Phases: barrier of the cluster (all blocks have started), store, barrier, join in the order of ranks.
/// Scratch: 8 accumulators. True in the first block. Needs compute capability 9.0; nothing for a grid without clusters.
template <class Op, class T>
__device__ bool combine_in_cluster([[maybe_unused]] const Op& op, [[maybe_unused]] T& value) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(16) unsigned char storage[8 * sizeof(T)];
  T* const of_block = reinterpret_cast<T*>(storage);
  const auto blocks = cooperative_groups::this_cluster();
  blocks.sync();
  if (threadIdx.x == 0) blocks.map_shared_rank(of_block, 0)[blocks.block_rank()] = value;
  blocks.sync();
  if (blocks.block_rank() != 0) return false;
  if (threadIdx.x == 0) {
    for (unsigned k = 1; k < blocks.num_blocks(); ++k) op.join(value, of_block[k]);
  }
#endif
  return true;
}

}  // namespace fanin::detail
