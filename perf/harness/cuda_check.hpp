// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace fanin_perf {

/// Throws std::runtime_error with the error's name, the call and its place. CUDA's own note of the error is cleared, so
/// that no later check takes it for its own.
inline void cuda_check(cudaError_t status, const char* what, const char* file, int line) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw std::runtime_error(std::string(cudaGetErrorName(status)) + " (" + cudaGetErrorString(status) + ") from " +
                           what + " at " + file + ":" + std::to_string(line));
}

/// Memory on the device, freed at the end.
template <class T>
class device_array {
 public:
  explicit device_array(std::size_t count) {
    void* memory = nullptr;
    cuda_check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc", __FILE__, __LINE__);
    data_ = static_cast<T*>(memory);
  }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  ~device_array() { cudaFree(data_); }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

/// Pinned memory on the host, freed at the end.
template <class T>
class pinned_array {
 public:
  explicit pinned_array(std::size_t count) {
    void* memory = nullptr;
    cuda_check(cudaMallocHost(&memory, count * sizeof(T)), "cudaMallocHost", __FILE__, __LINE__);
    data_ = static_cast<T*>(memory);
  }
  pinned_array(const pinned_array&) = delete;
  pinned_array& operator=(const pinned_array&) = delete;
  ~pinned_array() { cudaFreeHost(data_); }
  T* data() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
};

}  // namespace fanin_perf

#define FANIN_PERF_CHECK(expression) ::fanin_perf::cuda_check((expression), #expression, __FILE__, __LINE__)
