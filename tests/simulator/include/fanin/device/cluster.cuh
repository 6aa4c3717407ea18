// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/thread.hpp"

/// The simulator's clusters: as device/include/fanin/device/cluster.cuh, of a device that has them.
namespace fanin::detail {

inline void sync_cluster(simulator::place here = simulator::place::current()) { simulator::sync_cluster(here); }
inline unsigned rank_in_cluster() { return simulator::rank_in_cluster(); }
inline unsigned blocks_of_cluster() { return simulator::blocks_of_cluster(); }
template <class T>
T* in_block_of_cluster(T* shared, unsigned rank) {
  return static_cast<T*>(simulator::in_block_of_cluster(shared, rank));
}

}  // namespace fanin::detail
