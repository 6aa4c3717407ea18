// SPDX-License-Identifier: Apache-2.0
#include "peer_memory.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <fanin/cuda/enqueue.cuh>
#include <fanin/device/kernel_pointer.cuh>

#include "checks.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <nccl_device.h>
#pragma GCC diagnostic pop

namespace fanin::detail {

namespace {

/// Where a device reaches the ranks' memory.
struct found_memory {
  unsigned char* of_first;
  std::ptrdiff_t distance;
  int ranks;  ///< so many are that far from each other, from the first one on
};

/// By one block; the device's own is cleared.
__global__ void find_peers_kernel(ncclDevComm comm, ncclDevResourceHandle handle, int rank, int size,
                                  std::uint64_t words, found_memory* found) {
  if (threadIdx.x == 0) {
    const auto of = [&](int peer) {
      return static_cast<unsigned char*>(ncclGetResourceBufferLsaPointer(comm, handle, peer));
    };
    found->of_first = of(0);
    found->distance = size < 2 ? 0 : of(1) - of(0);
    found->ranks = 1;
    while (found->ranks < size && of(found->ranks) - of(found->ranks - 1) == found->distance) ++found->ranks;
  }
  auto* const own = static_cast<std::uint64_t*>(ncclGetResourceBufferLsaPointer(comm, handle, rank));
  for (std::uint64_t k = threadIdx.x; k < words; k += blockDim.x) own[k] = 0;
}

constexpr std::size_t bytes_of_control = 16;

class opened final : public peer_memory {
 public:
  using finish_type = std::function<void(ncclResult_t, const char*)>;

  opened(ncclComm_t comm, const nccl_options& options, const finish_type& finish)
      : comm_{comm}, finish_{finish}, wanted_{options.one_launch} {
    try {
      check_cuda_of_nccl(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    } catch (...) {
      release();
      throw;
    }
    constexpr std::chrono::milliseconds most = std::chrono::hours(24 * 365 * 100);  // that nanoseconds can count
    peers_.patience_ns =
        static_cast<std::uint64_t>(std::chrono::nanoseconds(options.patience < most ? options.patience : most).count());
  }
  ~opened() override { release(); }

  /// Whether there is such memory, on all ranks.
  bool open(int rank, int size) {
    peers_.rank = rank;
    peers_.size = size;
    constexpr std::size_t bytes = bytes_of_control + sizeof(found_memory);
    check_cuda_of_nccl(cudaMalloc(&memory_, bytes), "cudaMalloc");
    check_cuda_of_nccl(cudaMemsetAsync(memory_, 0, bytes, stream_), "cudaMemsetAsync");
    peers_.control = static_cast<std::uint32_t*>(memory_);
    auto* const place = reinterpret_cast<found_memory*>(static_cast<unsigned char*>(memory_) + bytes_of_control);

    int version = 0;
    const bool is_same_version = ncclGetVersion(&version) == ncclSuccess && version == NCCL_VERSION_CODE;
    if (!all_say(wanted_ && is_same_version)) return false;
    ncclDevResourceHandle handle = 0;
    ncclDevResourceRequirements memory{};
    memory.bufferSize = nccl_peers::bytes(size);
    memory.bufferAlign = 128;
    memory.outBufferHandle = &handle;
    ncclDevCommRequirements requirements{};
    requirements.resourceRequirementsList = &memory;
    const ncclResult_t made = ncclDevCommCreate(comm_, &requirements, &devices_);  // where there is none, it fails
    if (made == ncclInProgress) finish_(made, "ncclDevCommCreate");
    has_devices_ = made == ncclSuccess || made == ncclInProgress;
    if (!all_say(has_devices_ && devices_.lsaSize == size && devices_.nRanks == size)) return false;
    const std::uint64_t words = nccl_peers::bytes(size) / sizeof(std::uint64_t);
    void* arguments[] = {argument(devices_), argument(handle), argument(rank),
                         argument(size),     argument(words),  argument(place)};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(256);
    config.stream = stream_;
    check_cuda_of_nccl(cudaLaunchKernelExC(&config, kernel_pointer(&find_peers_kernel), arguments),
                       "cudaLaunchKernelExC");
    found_memory found{};
    check_cuda_of_nccl(cudaMemcpyAsync(&found, place, sizeof(found), cudaMemcpyDeviceToHost, stream_),
                       "cudaMemcpyAsync");
    check_cuda_of_nccl(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    peers_.distance = found.distance;
    if (!all_say(found.ranks == size)) return false;  // and their memory is clear now
    peers_.memory = found.of_first;
    return true;
  }
  bool stop() noexcept override {
    using namespace std::chrono_literals;
    constexpr int not_zero = 1;
    has_devices_ = false;
    if (cudaMemsetAsync(peers_.control + 1, not_zero, sizeof(std::uint32_t), stream_) != cudaSuccess) return false;
    cudaError_t state = cudaErrorNotReady;
    for (int look = 0; look < 100 && state == cudaErrorNotReady; ++look) {
      std::this_thread::sleep_for(10ms);
      state = cudaStreamQuery(stream_);
    }
    std::this_thread::sleep_for(10ms);  // kernels look every few microseconds
    return state == cudaSuccess;
  }

 private:
  /// Whether it is so on all ranks.
  bool all_say(bool is_so) {
    auto* const answers = peers_.control + 2;  // which calls do not use
    const std::uint32_t mine = is_so ? 1 : 0;
    std::uint32_t sum = 0;
    check_cuda_of_nccl(cudaMemcpyAsync(answers, &mine, sizeof(mine), cudaMemcpyHostToDevice, stream_),
                       "cudaMemcpyAsync");
    finish_(ncclAllReduce(answers, answers + 1, 1, ncclUint32, ncclSum, comm_, stream_), "ncclAllReduce");
    check_cuda_of_nccl(cudaMemcpyAsync(&sum, answers + 1, sizeof(sum), cudaMemcpyDeviceToHost, stream_),
                       "cudaMemcpyAsync");
    check_cuda_of_nccl(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    return sum == static_cast<std::uint32_t>(peers_.size);
  }
  void release() noexcept {
    if (has_devices_) static_cast<void>(ncclDevCommDestroy(comm_, &devices_));
    if (memory_ != nullptr) static_cast<void>(cudaFree(memory_));
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }

  ncclComm_t comm_;
  finish_type finish_;
  bool wanted_;
  bool has_devices_ = false;
  ncclDevComm devices_{};
  cudaStream_t stream_ = nullptr;
  void* memory_ = nullptr;
};

}  // namespace

std::unique_ptr<peer_memory> open_peer_memory(ncclComm_t comm, int rank, int size, const nccl_options& options,
                                              const std::function<void(ncclResult_t, const char*)>& finish) {
  auto made = std::make_unique<opened>(comm, options, finish);
  if (!made->open(rank, size)) return nullptr;
  return made;
}

}  // namespace fanin::detail
