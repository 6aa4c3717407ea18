// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The order of grids in a stream.
namespace fanin::detail {

/// A grid that was started before the end of those before it in its stream waits for them here, before it touches
/// memory of the device (its blocks' own it may), and lets the next one start. Nothing where the code or the launch
/// does not support it.
///
/// It waits for all of them, not for the one before it alone: "all prerequisite grids in flight" (PTX ISA,
/// griddepcontrol). A kernel of somebody else's may start early, wait for nothing and be gone while those before it
/// still write; on an H200 no wait was passed before their end, in a stream and in a graph, behind one such kernel and
/// three (tests/cuda/streams_test.cpp).
__device__ inline void wait_for_grid_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace fanin::detail
