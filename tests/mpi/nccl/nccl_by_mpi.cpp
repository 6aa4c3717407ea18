// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
#include <nccl.h>

#include <cstdint>
#include <functional>
#include <utility>

/// NCCL's calls over simulated devices, whose memory MPI reaches: a collective is a function in the stream's order that
/// waits for the other ranks, in the thread in which the device works.
struct ncclComm {
  MPI_Comm comm;
  int rank;
  int size;
  ncclResult_t error = ncclSuccess;
  bool is_delayed = false;
};

namespace {

int all_aborts = 0;

/// Kept for graphs that run it again.
ncclResult_t enqueue(ncclComm_t comm, cudaStream_t stream, std::function<void()> collective) {
  auto* const call = new std::function<void()>(std::move(collective));
  cudaLaunchHostFunc(stream, [](void* with) { (*static_cast<std::function<void()>*>(with))(); }, call);
  if (!comm->is_delayed) return ncclSuccess;
  comm->is_delayed = false;
  comm->error = ncclInProgress;
  return ncclInProgress;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {"simulated"};
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  int world = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (id.internal[0] != 's' || (ranks != world && ranks != 1)) return ncclInvalidArgument;
  *comm = new ncclComm{MPI_COMM_NULL, rank, ranks};
  MPI_Comm_dup(ranks == 1 ? MPI_COMM_SELF : MPI_COMM_WORLD, &(*comm)->comm);
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  MPI_Comm_free(&comm->comm);
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t) {
  ++all_aborts;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = comm->error;
  if (comm->error == ncclInProgress) comm->error = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* size) {
  *size = comm->size;
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(const ncclComm_t, int* device) {
  *device = 0;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t code) { return code == ncclRemoteError ? "remote error" : "error"; }
const char* ncclGetLastError(ncclComm_t) { return "as the test wants it"; }

ncclResult_t ncclAllGather(const void* own, void* all, std::size_t bytes, ncclDataType_t, ncclComm_t comm,
                           cudaStream_t stream) {
  return enqueue(comm, stream, [=] {
    MPI_Allgather(own, static_cast<int>(bytes), MPI_BYTE, all, static_cast<int>(bytes), MPI_BYTE, comm->comm);
  });
}
ncclResult_t ncclAllReduce(const void* own, void* sum, std::size_t words, ncclDataType_t, ncclRedOp_t, ncclComm_t comm,
                           cudaStream_t stream) {
  return enqueue(comm, stream,
                 [=] { MPI_Allreduce(own, sum, static_cast<int>(words), MPI_UINT64_T, MPI_SUM, comm->comm); });
}
}

namespace simulated_nccl {

void set_error(ncclComm_t comm, ncclResult_t error) { comm->error = error; }
void delay(ncclComm_t comm) { comm->is_delayed = true; }
int aborts() { return all_aborts; }

}  // namespace simulated_nccl
