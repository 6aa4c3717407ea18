// SPDX-License-Identifier: Apache-2.0
#pragma once

// Included by the units of Kokkos itself only. Kokkos calls three functions of the CUDA driver, and linking libcuda
// for them would keep a program from starting where there is no driver, also one that only wants the host. So they are
// asked from the CUDA runtime instead, which looks for the driver when it is first used.

#if defined(__CUDACC__)

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 12050

namespace fanin_kokkos_compat {

template <class Function, class... Arguments>
CUresult call_driver(const char* name, unsigned version, Arguments... arguments) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &entry, version, cudaEnableDefault, &found);
  if (error != cudaSuccess) return static_cast<CUresult>(error);
  if (found != cudaDriverEntryPointSuccess) return CUDA_ERROR_NOT_FOUND;
  return reinterpret_cast<Function>(entry)(arguments...);
}

inline CUresult stream_get_context(CUstream stream, CUcontext* context) {
  return call_driver<PFN_cuStreamGetCtx_v9020>("cuStreamGetCtx", 9020, stream, context);
}
inline CUresult context_push_current(CUcontext context) {
  return call_driver<PFN_cuCtxPushCurrent_v4000>("cuCtxPushCurrent", 4000, context);
}
inline CUresult context_get_device(CUdevice* device) {
  return call_driver<PFN_cuCtxGetDevice_v2000>("cuCtxGetDevice", 2000, device);
}

}  // namespace fanin_kokkos_compat

#undef cuStreamGetCtx
#undef cuCtxPushCurrent
#undef cuCtxGetDevice
#define cuStreamGetCtx fanin_kokkos_compat::stream_get_context
#define cuCtxPushCurrent fanin_kokkos_compat::context_push_current
#define cuCtxGetDevice fanin_kokkos_compat::context_get_device

#endif
#endif
