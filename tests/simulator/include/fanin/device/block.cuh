// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/thread.hpp"

/// The simulator's block memory: as device/include/fanin/device/block.cuh.
namespace fanin::detail {

template <class T>
T& object_of_block() {
  static const char key = 0;
  return *static_cast<T*>(simulator::object_of_block(&key, sizeof(T), alignof(T)));
}

inline unsigned char* memory_of_launch() { return simulator::memory_of_launch(); }
inline unsigned bytes_of_launch() { return static_cast<unsigned>(simulator::bytes_of_launch()); }
inline unsigned block_index_here() { return blockIdx.x; }

}  // namespace fanin::detail
