// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cooperative_groups.h>

/// Blocks of a cluster, which devices have from compute capability 9.0 on. Of older ones a block is one of its own.
namespace fanin::detail {

#if __CUDA_ARCH__ >= 900
__device__ inline void sync_cluster() { cooperative_groups::this_cluster().sync(); }
__device__ inline unsigned rank_in_cluster() { return cooperative_groups::this_cluster().block_rank(); }
__device__ inline unsigned blocks_of_cluster() { return cooperative_groups::this_cluster().num_blocks(); }
/// The same shared variable of another block of the cluster.
template <class T>
__device__ T* in_block_of_cluster(T* shared, unsigned rank) {
  return cooperative_groups::this_cluster().map_shared_rank(shared, rank);
}
#else
__device__ inline void sync_cluster() {}
__device__ inline unsigned rank_in_cluster() { return 0; }
__device__ inline unsigned blocks_of_cluster() { return 1; }
template <class T>
__device__ T* in_block_of_cluster(T* shared, unsigned) {
  return shared;
}
#endif

}  // namespace fanin::detail
