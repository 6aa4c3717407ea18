// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUDA 13 removed the signatures of two functions that Kokkos 4.7.0 calls: cudaGraphAddDependencies without
// edge data, and cudaMemPrefetchAsync to a device number. These overloads give them back. Units compiled by
// nvcc include this file before any other (-include, from fanin::kokkos).

#if defined(__CUDACC__)

#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 13000

inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                            size_t count) {
  return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}

inline cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device, cudaStream_t stream = nullptr) {
  cudaMemLocation location{};
  location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = device == cudaCpuDeviceId ? 0 : device;
  return cudaMemPrefetchAsync(pointer, bytes, location, 0, stream);
}

#endif
#endif
