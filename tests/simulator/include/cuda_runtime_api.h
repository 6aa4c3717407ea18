// SPDX-License-Identifier: Apache-2.0
#pragma once

/// As much of the CUDA runtime's interface as Fanin uses, by the same names: runtime.cpp has what stands behind it. A
/// unit that needs more of it does not compile.

#include <cstddef>

#define CUDART_VERSION 13000

struct uint3 {
  unsigned x, y, z;
};
struct uint4 {
  unsigned x, y, z, w;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3() = default;
  constexpr explicit dim3(unsigned width) : x{width} {}
};

enum cudaError_t {
  cudaSuccess,
  cudaErrorInvalidValue,
  cudaErrorMemoryAllocation,
  cudaErrorNotReady,
  cudaErrorStreamCaptureUnsupported,
  cudaErrorNoDevice,
  cudaErrorInsufficientDriver,
  cudaErrorNoKernelImageForDevice,
  cudaErrorUnsupportedPtxVersion,
  cudaErrorIllegalAddress,
  cudaErrorMisalignedAddress,
  cudaErrorInvalidAddressSpace,
  cudaErrorInvalidPc,
  cudaErrorIllegalInstruction,
  cudaErrorHardwareStackError,
  cudaErrorAssert,
  cudaErrorLaunchFailure,
  cudaErrorLaunchTimeout,
};

extern "C" {

const char* cudaGetErrorName(cudaError_t);
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

enum cudaDeviceAttr {
  cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrComputeCapabilityMinor,
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor,
  cudaDevAttrReservedSharedMemoryPerBlock,
  cudaDevAttrMultiProcessorCount,
};
cudaError_t cudaGetDevice(int*);
cudaError_t cudaSetDevice(int);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceGetAttribute(int*, cudaDeviceAttr, int device);

enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess, cudaDriverEntryPointSymbolNotFound };
inline constexpr unsigned long long cudaEnableLegacyStream = 1;
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void**, unsigned version, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult*);

// --- Memory
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice };
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void* devicePointer;
};
using cudaStream_t = struct CUstream_st*;
inline constexpr unsigned cudaHostAllocMapped = 2;
cudaError_t cudaMalloc(void**, std::size_t);
cudaError_t cudaFree(void*);
cudaError_t cudaHostAlloc(void**, std::size_t, unsigned flags);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaHostGetDevicePointer(void**, void*, unsigned flags);
cudaError_t cudaMemcpyAsync(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemsetAsync(void*, int, std::size_t, cudaStream_t);
using cudaHostFn_t = void (*)(void*);
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void*);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes*, const void*);

// --- Streams
#define cudaStreamLegacy reinterpret_cast<cudaStream_t>(1)
#define cudaStreamPerThread reinterpret_cast<cudaStream_t>(2)
inline constexpr unsigned cudaStreamNonBlocking = 1;
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone,
  cudaStreamCaptureStatusActive,
  cudaStreamCaptureStatusInvalidated,
};
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t);
cudaError_t cudaStreamGetDevice(cudaStream_t, int*);
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus*);
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*);
using cudaEvent_t = struct CUevent_st*;
inline constexpr unsigned cudaEventDisableTiming = 2;
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
/// The host waits for what was recorded: later than it has to be.
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned flags);

// --- Graphs
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
using cudaGraphNode_t = struct CUgraphNode_st*;
using cudaUserObject_t = struct CUuserObject_st*;
struct cudaGraphEdgeData;
using cudaHostFn_t = void (*)(void*);
inline constexpr unsigned cudaUserObjectNoDestructorSync = 1;
inline constexpr unsigned cudaGraphUserObjectMove = 1;
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long* id, cudaGraph_t*,
                                     const cudaGraphNode_t**, const cudaGraphEdgeData**, std::size_t*);
cudaError_t cudaUserObjectCreate(cudaUserObject_t*, void*, cudaHostFn_t, unsigned references, unsigned flags);
cudaError_t cudaUserObjectRelease(cudaUserObject_t, unsigned references);
cudaError_t cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t, unsigned references, unsigned flags);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long flags);
struct cudaGraphExecUpdateResultInfo;
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t, cudaGraph_t, cudaGraphExecUpdateResultInfo*);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaGraphDestroy(cudaGraph_t);

// --- Launches
enum cudaLaunchAttributeID {
  cudaLaunchAttributeProgrammaticStreamSerialization,
  cudaLaunchAttributeClusterDimension,
};
struct cudaLaunchAttributeValue {
  int programmaticStreamSerializationAllowed;
  struct {
    unsigned x, y, z;
  } clusterDim;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes;
  int maxThreadsPerBlock;
  int ptxVersion;
  int binaryVersion;
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void* kernel);
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int*, const void* kernel, int block_size,
                                                          std::size_t dynamic_bytes);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void* kernel, void** arguments);

}  // extern "C"
