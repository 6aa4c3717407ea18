// SPDX-License-Identifier: Apache-2.0

// cuBLAS's dot product, to device memory. Loaded at run time, so that fanin-perf starts where it is not installed.

#include <cublas_v2.h>
#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "contenders/device_calls.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {
namespace {

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

template <class Function>
bool look_up(void* library, const char* name, Function& to) {
  to = reinterpret_cast<Function>(dlsym(library, name));
  return to != nullptr;
}

// The library stays loaded.
const cublas_functions& cublas() {
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

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(cublas().status_text(status)) + " from " + what);
}

template <class T, operation Op>
class cublas_dot {
 public:
  explicit cublas_dot(const workload& work) : workspace_(workspace_bytes) {
    check(cublas().create(&handle_), "cublasCreate");
    check(cublas().set_stream(handle_, static_cast<cudaStream_t>(work.stream)), "cublasSetStream");
    // One of its own, since a captured call must not take one from the stream's pool. Only after the stream is set.
    check(cublas().set_workspace(handle_, workspace_.data(), workspace_bytes), "cublasSetWorkspace");
    check(cublas().set_pointer_mode(handle_, CUBLAS_POINTER_MODE_DEVICE), "cublasSetPointerMode");
  }
  cublas_dot(const cublas_dot&) = delete;
  cublas_dot& operator=(const cublas_dot&) = delete;
  ~cublas_dot() { cublas().destroy(handle_); }

  void enqueue(const T* x, const T* y, std::int64_t n, slot<T>* to) {
    if constexpr (sizeof(T) == 4) {
      check(cublas().dot_f32(handle_, n, x, 1, y, 1, &to->value), "cublasSdot");
    } else {
      check(cublas().dot_f64(handle_, n, x, 1, y, 1, &to->value), "cublasDdot");
    }
  }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what its documentation gives for Hopper

  device_array<std::byte> workspace_;
  cublasHandle_t handle_ = nullptr;
};

struct cublas_library {
  template <class T, operation Op>
  static constexpr bool offers() {
    return std::is_floating_point_v<T> && Op == operation::dot;
  }

  template <class T, operation Op>
  using reduction = cublas_dot<T, Op>;
};

}  // namespace

void add_cublas(registry& to) {
  if (!cublas().found) return;
  std::string& version = to.versions["cublas"];
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int number = 0;
    check(cublas().property(part, &number), "cublasGetProperty");
    if (!version.empty()) version += '.';
    version += std::to_string(number);
  }
  contender who;
  who.name = "cublas";
  who.backend = "cuda";
  who.where = place::gpu;
  who.is_peer = true;
  who.lanes = 16384;
  who.to = destination::device;
  who.capturable = true;
  to.add(of_family(who, device_family<cublas_library>{.to_host = false}));
  who.to = destination::host;
  to.add(of_family(who, device_family<cublas_library>{.to_host = true}));
}

}  // namespace fanin_perf
