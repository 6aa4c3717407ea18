// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>

#include <fanin/cuda/error.hpp>
#include <fanin/nccl/nccl.hpp>

/// What NCCL and CUDA say, as exceptions.
namespace fanin::detail {

[[noreturn]] inline void throw_nccl(ncclResult_t code, const char* function, ncclComm_t comm) {
  const char* const last = ncclGetLastError(comm);
  throw nccl_error(std::string("fanin::nccl: ") + function + ": " + ncclGetErrorString(code) +
                       (last != nullptr && *last != '\0' ? std::string(" (") + last + ")" : std::string()),
                   static_cast<int>(code));
}
inline void check_nccl(ncclResult_t code, const char* function, ncclComm_t comm = nullptr) {
  if (code != ncclSuccess) throw_nccl(code, function, comm);
}
inline void check_cuda_of_nccl(cudaError_t code, const char* function) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // it is thrown
  throw cuda_error(code, std::string("fanin::nccl: ") + function + ": " + cudaGetErrorString(code));
}

}  // namespace fanin::detail
