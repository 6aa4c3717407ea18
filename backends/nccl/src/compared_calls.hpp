// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "checks.hpp"

namespace fanin::detail {

/// On the current device, a stream and memory by which the ranks of a communicator tell each other what they call.
class compared_calls {
 public:
  explicit compared_calls(int ranks) : bytes_{static_cast<std::size_t>(ranks) * sizeof(std::uint64_t)} {
    try {
      check_cuda_of_nccl(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
      check_cuda_of_nccl(cudaHostAlloc(&of_host_, sizeof(std::uint64_t) + bytes_, cudaHostAllocMapped),
                         "cudaHostAlloc");
      check_cuda_of_nccl(cudaMalloc(&of_device_, sizeof(std::uint64_t) + bytes_), "cudaMalloc");
    } catch (...) {
      release();
      throw;
    }
  }
  compared_calls(const compared_calls&) = delete;
  compared_calls& operator=(const compared_calls&) = delete;
  /// When the device has done all of it.
  ~compared_calls() { release(); }

  /// Begins: gather(own, all, bytes, stream) has each rank's word sent to all.
  template <class Gather>
  void tell(std::uint64_t hash, const Gather& gather) {
    *hashes() = hash;
    const auto own = static_cast<std::uint64_t*>(of_device_);
    check_cuda_of_nccl(cudaMemcpyAsync(own, hashes(), sizeof(hash), cudaMemcpyHostToDevice, stream_),
                       "cudaMemcpyAsync");
    gather(own, own + 1, sizeof(hash), stream_);
    check_cuda_of_nccl(cudaMemcpyAsync(hashes() + 1, own + 1, bytes_, cudaMemcpyDeviceToHost, stream_),
                       "cudaMemcpyAsync");
  }
  bool is_told() const {
    const bool was_clear = cudaPeekAtLastError() == cudaSuccess;
    const cudaError_t code = cudaStreamQuery(stream_);
    if (code == cudaErrorNotReady) {
      if (was_clear) static_cast<void>(cudaGetLastError());  // it is none
      return false;
    }
    check_cuda_of_nccl(code, "cudaStreamQuery");
    return true;
  }
  /// Of a rank, when it is told.
  std::uint64_t hash_of_rank(int rank) const { return hashes()[1 + rank]; }

 private:
  std::uint64_t* hashes() const { return static_cast<std::uint64_t*>(of_host_); }
  void release() noexcept {
    if (of_device_ != nullptr) static_cast<void>(cudaFree(of_device_));
    if (of_host_ != nullptr) static_cast<void>(cudaFreeHost(of_host_));
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }

  std::size_t bytes_;
  cudaStream_t stream_ = nullptr;
  void* of_host_ = nullptr;    ///< this rank's, and all ranks'
  void* of_device_ = nullptr;  ///< the same
};

}  // namespace fanin::detail
