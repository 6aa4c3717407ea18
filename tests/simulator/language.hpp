// SPDX-License-Identifier: Apache-2.0
#pragma once

/// CUDA's words for a C++ compiler: what a CUDA compiler declares before the first line of a unit. Included in front of
/// every unit of the simulator, so that the CUDA backend's headers and sources are compiled as they are.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <fanin/device/arithmetic.hpp>  // which has assembly for a CUDA compiler
#include <fanin/macros.hpp>

#include "simulator/thread.hpp"

#define __CUDACC__

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)

inline uint3 threadIdx;
inline uint3 blockIdx;
inline dim3 blockDim;
inline dim3 gridDim;

inline void __syncthreads(simulator::place here = simulator::place::current()) { simulator::sync_block(here); }
inline void __syncwarp(simulator::place here = simulator::place::current()) {
  simulator::lanes_meet("__syncwarp", 0, here);
}
inline void __threadfence(simulator::place here = simulator::place::current()) { simulator::fence(here); }

inline void __threadfence_system(simulator::place here = simulator::place::current()) { simulator::fence(here); }

inline int __ffs(int word) { return __builtin_ffs(word); }
inline int __popc(unsigned word) { return __builtin_popcount(word); }
inline int __clz(int word) { return word == 0 ? 32 : __builtin_clz(static_cast<unsigned>(word)); }

/// A plain load: "cache operators are performance hints" (PTX ISA), so that what orders it is a fence.
template <class T>
T __ldcg(const T* from) {
  simulator::may_give_way();
  simulator::observe(from, sizeof(T));
  return *from;
}

inline unsigned atomicAdd(unsigned* to, unsigned increment, simulator::place here = simulator::place::current()) {
  return simulator::update("atomicAdd", to, here, [&](unsigned before) { return before + increment; });
}
inline unsigned atomicExch(unsigned* to, unsigned value, simulator::place here = simulator::place::current()) {
  return simulator::update("atomicExch", to, here, [&](unsigned) { return value; });
}
inline unsigned atomicInc(unsigned* to, unsigned last, simulator::place here = simulator::place::current()) {
  return simulator::update("atomicInc", to, here, [&](unsigned before) { return before >= last ? 0u : before + 1u; });
}

/// The backend's session.cpp waits by it, between two looks at the mailbox.
#define __builtin_ia32_pause() ::simulator::work_while_host_waits()
