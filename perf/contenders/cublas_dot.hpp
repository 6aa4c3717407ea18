// SPDX-License-Identifier: Apache-2.0
#pragma once

// cuBLAS's dot product, to device memory. Loaded at run time, so that programs start where it is not installed.

#include <cublas_v2.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "harness/cuda_check.hpp"
#include "harness/loaded_library.hpp"

namespace fanin_perf {

struct cublas_functions {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetPointerMode_v2) set_pointer_mode = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasGetStatusString) status_text = nullptr;
  decltype(&cublasGetProperty) property = nullptr;
  decltype(&cublasSdot_v2_64) dot_f32 = nullptr;
  decltype(&cublasDdot_v2_64) dot_f64 = nullptr;
  bool found = false;
};

// The library stays loaded.
inline const cublas_functions& cublas() {
  static const cublas_functions functions = [] {
    cublas_functions f;
    const std::string file = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
    void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    f.found = library != nullptr && look_up(library, "cublasCreate_v2", f.create) &&
              look_up(library, "cublasDestroy_v2", f.destroy) && look_up(library, "cublasSetStream_v2", f.set_stream) &&
              look_up(library, "cublasSetPointerMode_v2", f.set_pointer_mode) &&
              look_up(library, "cublasSetWorkspace_v2", f.set_workspace) &&
              look_up(library, "cublasGetStatusString", f.status_text) &&
              look_up(library, "cublasGetProperty", f.property) && look_up(library, "cublasSdot_v2_64", f.dot_f32) &&
              look_up(library, "cublasDdot_v2_64", f.dot_f64);
    return f;
  }();
  return functions;
}

inline void cublas_check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(cublas().status_text(status)) + " from " + what);
}

/// As in "13.1.0".
inline std::string cublas_version() {
  std::string version;
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int number = 0;
    cublas_check(cublas().property(part, &number), "cublasGetProperty");
    if (!version.empty()) version += '.';
    version += std::to_string(number);
  }
  return version;
}

template <class T>
class cublas_dot {
 public:
  explicit cublas_dot(cudaStream_t stream) : workspace_(workspace_bytes) {
    cublas_check(cublas().create(&handle_), "cublasCreate");
    cublas_check(cublas().set_stream(handle_, stream), "cublasSetStream");
    // One of its own, since a captured call must not take one from the stream's pool. Only after the stream is set.
    cublas_check(cublas().set_workspace(handle_, workspace_.data(), workspace_bytes), "cublasSetWorkspace");
    cublas_check(cublas().set_pointer_mode(handle_, CUBLAS_POINTER_MODE_DEVICE), "cublasSetPointerMode");
  }
  cublas_dot(const cublas_dot&) = delete;
  cublas_dot& operator=(const cublas_dot&) = delete;
  ~cublas_dot() { cublas().destroy(handle_); }

  void enqueue(const T* x, const T* y, std::int64_t n, T* to) {
    if constexpr (sizeof(T) == 4) {
      cublas_check(cublas().dot_f32(handle_, n, x, 1, y, 1, to), "cublasSdot");
    } else {
      cublas_check(cublas().dot_f64(handle_, n, x, 1, y, 1, to), "cublasDdot");
    }
  }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what its documentation gives for Hopper

  device_array<std::byte> workspace_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace fanin_perf
