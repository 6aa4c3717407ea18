// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include <fanin/error.hpp>

#pragma GCC visibility push(default)

namespace fanin {

/// A CUDA call that failed, or a kernel that did: what() has CUDA's name and text of it, the call and file:line.
/// After a fault inside a kernel (an illegal address in a functor) the CUDA context is lost: every later call on the
/// device fails in this process.
class cuda_error : public error {
 public:
  cuda_error(cudaError_t code, const std::string& what) : error(what), code_{code} {}
  cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
};

namespace detail {

[[noreturn]] void throw_cuda_error(cudaError_t code, const char* call, const char* file, int line);

inline void check_cuda(cudaError_t code, const char* call, const char* file, int line) {
  if (code != cudaSuccess) throw_cuda_error(code, call, file, line);
}

}  // namespace detail

}  // namespace fanin

#pragma GCC visibility pop

#define FANIN_DETAIL_CHECK_CUDA(call) ::fanin::detail::check_cuda((call), #call, __FILE__, __LINE__)
