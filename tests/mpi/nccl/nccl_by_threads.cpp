// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <nccl_device.h>

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

/// NCCL's calls for ranks that are threads of one process and share its device: what they reach of each other is plain
/// memory of that device, a piece a rank. A collective is the host's, which waits for the stream, and is not captured.
namespace {

using bytes_of_rank = std::vector<unsigned char>;

/// What the ranks of a communicator share; kept by whichever is left, as a rank that has given up is still written to.
class meeting {
 public:
  explicit meeting(int ranks) : here_{ranks}, all_(static_cast<std::size_t>(ranks)) {}
  meeting(const meeting&) = delete;
  meeting& operator=(const meeting&) = delete;
  ~meeting() {
    for (void* const one : memory_) cudaFree(one);
  }

  /// Those of each rank, when all have come.
  std::vector<bytes_of_rank> exchange(int rank, bytes_of_rank own) {
    all_[static_cast<std::size_t>(rank)] = std::move(own);
    here_.arrive_and_wait();
    std::vector<bytes_of_rank> all = all_;
    here_.arrive_and_wait();
    return all;
  }
  void keep(void* memory) {
    const std::lock_guard lock(mutex_);
    memory_.push_back(memory);
  }

 private:
  std::barrier<> here_;
  std::vector<bytes_of_rank> all_;
  std::mutex mutex_;
  std::vector<void*> memory_;
};

std::mutex of_meetings;
std::map<std::string, std::weak_ptr<meeting>> meetings;
int ids = 0;

std::shared_ptr<meeting> meeting_of(const ncclUniqueId& id, int ranks) {
  const std::lock_guard lock(of_meetings);
  std::weak_ptr<meeting>& known = meetings[id.internal];
  std::shared_ptr<meeting> found = known.lock();
  if (found == nullptr) known = found = std::make_shared<meeting>(ranks);
  return found;
}

}  // namespace

struct ncclComm {
  std::shared_ptr<meeting> of_all;
  int rank;
  int size;
  int device;

  std::vector<bytes_of_rank> exchange(const void* own, std::size_t bytes, cudaStream_t stream) const {
    bytes_of_rank mine(bytes);
    cudaMemcpyAsync(mine.data(), own, bytes, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    return of_all->exchange(rank, std::move(mine));
  }
};

namespace {

template <class Word>
ncclResult_t sum_up(const void* own, void* sum, std::size_t words, ncclComm_t comm, cudaStream_t stream) {
  std::vector<Word> total(words);
  for (const bytes_of_rank& one : comm->exchange(own, words * sizeof(Word), stream)) {
    std::vector<Word> some(words);
    std::memcpy(some.data(), one.data(), one.size());
    for (std::size_t k = 0; k < words; ++k) total[k] += some[k];
  }
  cudaMemcpyAsync(sum, total.data(), words * sizeof(Word), cudaMemcpyHostToDevice, stream);
  return cudaStreamSynchronize(stream) == cudaSuccess ? ncclSuccess : ncclSystemError;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(of_meetings);
  *id = {};
  std::to_string(ids++).copy(id->internal, sizeof(id->internal) - 1);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  if (ranks > ncclDevComm::most_ranks) return ncclInvalidArgument;
  *comm = new ncclComm{meeting_of(id, ranks), rank, ranks, 0};
  return cudaGetDevice(&(*comm)->device) == cudaSuccess ? ncclSuccess : ncclSystemError;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = ncclSuccess;
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
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  *device = comm->device;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) { return "error"; }
const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclAllGather(const void* own, void* all, std::size_t bytes, ncclDataType_t, ncclComm_t comm,
                           cudaStream_t stream) {
  auto* to = static_cast<unsigned char*>(all);
  for (const bytes_of_rank& one : comm->exchange(own, bytes, stream)) {
    cudaMemcpyAsync(to, one.data(), bytes, cudaMemcpyHostToDevice, stream);
    to += bytes;
  }
  return cudaStreamSynchronize(stream) == cudaSuccess ? ncclSuccess : ncclSystemError;
}
ncclResult_t ncclAllReduce(const void* own, void* sum, std::size_t words, ncclDataType_t type, ncclRedOp_t,
                           ncclComm_t comm, cudaStream_t stream) {
  return type == ncclUint32 ? sum_up<std::uint32_t>(own, sum, words, comm, stream)
                            : sum_up<std::uint64_t>(own, sum, words, comm, stream);
}

ncclResult_t ncclDevCommCreate(ncclComm_t comm, const ncclDevCommRequirements* requirements, ncclDevComm* made) {
  const ncclDevResourceRequirements& memory = *requirements->resourceRequirementsList;
  *memory.outBufferHandle = 0;
  *made = {comm->size, comm->size, {}, memory.bufferSize};
  void* own = nullptr;
  const bool is_there = cudaMalloc(&own, memory.bufferSize) == cudaSuccess;
  comm->of_all->keep(own);
  bytes_of_rank address(sizeof(own));
  std::memcpy(address.data(), &own, sizeof(own));
  const std::vector<bytes_of_rank> all = comm->of_all->exchange(comm->rank, std::move(address));
  for (int rank = 0; rank < comm->size; ++rank) {
    std::memcpy(&made->memory[rank], all[static_cast<std::size_t>(rank)].data(), sizeof(own));
  }
  return is_there ? ncclSuccess : ncclSystemError;
}
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm*) { return ncclSuccess; }
}
