// SPDX-License-Identifier: Apache-2.0
#pragma once

/// As much of NCCL's interface as fanin::nccl uses, by the same names. For ranks with a simulated device each MPI
/// stands behind it, in nccl_by_mpi.cpp; for ranks that are threads of a process and share its GPU,
/// nccl_by_threads.cpp.

#include <cstddef>

#include <cuda_runtime_api.h>

#define NCCL_VERSION_CODE 22809

extern "C" {

typedef struct ncclComm* ncclComm_t;
struct ncclUniqueId {
  char internal[128];
};
enum ncclResult_t {
  ncclSuccess = 0,
  ncclSystemError = 2,
  ncclInvalidArgument = 4,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};
enum ncclDataType_t { ncclUint8 = 1, ncclUint32 = 3, ncclUint64 = 5 };
enum ncclRedOp_t { ncclSum = 0 };

ncclResult_t ncclGetVersion(int*);
ncclResult_t ncclGetUniqueId(ncclUniqueId*);
ncclResult_t ncclCommInitRank(ncclComm_t*, int ranks, ncclUniqueId, int rank);
ncclResult_t ncclCommDestroy(ncclComm_t);
ncclResult_t ncclCommAbort(ncclComm_t);
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t*);
ncclResult_t ncclCommUserRank(const ncclComm_t, int*);
ncclResult_t ncclCommCount(const ncclComm_t, int*);
ncclResult_t ncclCommCuDevice(const ncclComm_t, int*);
const char* ncclGetErrorString(ncclResult_t);
const char* ncclGetLastError(ncclComm_t);
ncclResult_t ncclAllGather(const void*, void*, std::size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclAllReduce(const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
}

/// What a test has happen, by MPI.
namespace simulated_nccl {

/// From now on asynchronous errors are this.
void set_error(ncclComm_t, ncclResult_t);
/// The next collective is in progress at first, as of a communicator that does not block.
void delay(ncclComm_t);

int aborts();

/// What the library's version is, and whether ranks reach each other's memory, from now on.
void set_version(int);
void set_reach(bool);

}  // namespace simulated_nccl
