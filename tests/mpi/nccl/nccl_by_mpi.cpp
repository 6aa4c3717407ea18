// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
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
  cudaEvent_t behind = nullptr;
  cudaStream_t last = nullptr;
};

namespace {

int all_aborts = 0;
int version = NCCL_VERSION_CODE;
bool reach = true;
int memories = 0;

/// Kept for graphs that run it again. Those of one communicator run one after the other, on whichever streams.
ncclResult_t enqueue(ncclComm_t comm, cudaStream_t stream, std::function<void()> collective) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream, &status);
  if (status == cudaStreamCaptureStatusNone && comm->last != stream) {
    if (comm->last != nullptr) cudaStreamWaitEvent(stream, comm->behind, 0);
    comm->last = stream;
  }
  auto* const call = new std::function<void()>(std::move(collective));
  cudaLaunchHostFunc(stream, [](void* with) { (*static_cast<std::function<void()>*>(with))(); }, call);
  if (status == cudaStreamCaptureStatusNone) cudaEventRecord(comm->behind, stream);
  if (!comm->is_delayed) return ncclSuccess;
  comm->is_delayed = false;
  comm->error = ncclInProgress;
  return ncclInProgress;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* of_library) {
  *of_library = version;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {"simulated"};
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  int world = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (id.internal[0] != 's' || (ranks != world && ranks != 1)) return ncclInvalidArgument;
  *comm = new ncclComm{MPI_COMM_NULL, rank, ranks};
  cudaEventCreateWithFlags(&(*comm)->behind, cudaEventDisableTiming);
  MPI_Comm_dup(ranks == 1 ? MPI_COMM_SELF : MPI_COMM_WORLD, &(*comm)->comm);
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  MPI_Comm_free(&comm->comm);
  cudaEventDestroy(comm->behind);
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
ncclResult_t ncclAllReduce(const void* own, void* sum, std::size_t words, ncclDataType_t type, ncclRedOp_t,
                           ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, stream, [=] {
    MPI_Allreduce(own, sum, static_cast<int>(words), type == ncclUint32 ? MPI_UINT32_T : MPI_UINT64_T, MPI_SUM,
                  comm->comm);
  });
}

// Memory that all processes have.
ncclResult_t ncclDevCommCreate(ncclComm_t comm, const ncclDevCommRequirements* requirements, ncclDevComm* made) {
  const ncclDevResourceRequirements& memory = *requirements->resourceRequirementsList;
  *memory.outBufferHandle = 0;
  *made = {comm->size, reach ? comm->size : 1, {}, memory.bufferSize};
  if (comm->size > ncclDevComm::most_ranks) return ncclSystemError;
  std::array<char, 64> name{};
  if (comm->rank == 0) {
    std::snprintf(name.data(), name.size(), "/fanin-nccl-%ld-%d", static_cast<long>(getpid()), memories++);
  }
  MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, comm->comm);
  const std::size_t bytes = memory.bufferSize * static_cast<std::size_t>(comm->size);
  const int file = shm_open(name.data(), O_RDWR | O_CREAT, 0600);
  const bool is_there = file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0;
  void* const at = is_there ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (file >= 0) close(file);
  MPI_Barrier(comm->comm);
  if (comm->rank == 0) shm_unlink(name.data());
  if (at == MAP_FAILED) return ncclSystemError;
  for (int rank = 0; rank < comm->size; ++rank) {
    made->memory[rank] = static_cast<unsigned char*>(at) + static_cast<std::size_t>(rank) * memory.bufferSize;
  }
  return ncclSuccess;
}
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm* comm) {
  munmap(comm->memory[0], comm->bytes_of_rank * static_cast<std::size_t>(comm->nRanks));
  return ncclSuccess;
}
}

namespace simulated_nccl {

void set_error(ncclComm_t comm, ncclResult_t error) { comm->error = error; }
void delay(ncclComm_t comm) { comm->is_delayed = true; }
int aborts() { return all_aborts; }
void set_version(int of_library) { version = of_library; }
void set_reach(bool is_reached) { reach = is_reached; }

}  // namespace simulated_nccl
