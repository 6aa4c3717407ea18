// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/device/cluster.cuh>

namespace fanin::detail {

/// The blocks of a cluster hand their values to the first of them through distributed shared memory; valid in its
/// thread 0. Phases: barrier of the cluster (all blocks have started), store, barrier, join in the order of ranks.
/// Memory: an accumulator for each block, in every block. True in the first block. Needs compute capability 9.0;
/// nothing for a grid without clusters.
template <class Op, class T>
__device__ bool combine_in_cluster(const Op& op, T& value, T* of_block) {
  sync_cluster();
  if (threadIdx.x == 0) detail::in_block_of_cluster(of_block, 0)[rank_in_cluster()] = value;
  sync_cluster();
  if (rank_in_cluster() != 0) return false;
  if (threadIdx.x == 0) {
    for (unsigned k = 1; k < blocks_of_cluster(); ++k) op.join(value, of_block[k]);
  }
  return true;
}

}  // namespace fanin::detail
