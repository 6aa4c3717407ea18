// SPDX-License-Identifier: Apache-2.0

// cuBLAS's dot product over arrays, to device memory.

#include "contenders/cublas_dot.hpp"
#include "loop/on_cuda.hpp"
#include "loop/registry.hpp"

namespace fanin_perf::cg {
namespace {

template <class T>
class cublas_library : public on_cuda {
 public:
  explicit cublas_library(void* stream) : on_cuda(stream), dot_(on_cuda::stream()) {}

  void dot(T* out, const T* a, const T* b, std::int64_t n) { dot_.enqueue(a, b, n, out); }
  void squares(T* out, const T* a, std::int64_t n) { dot_.enqueue(a, a, n, out); }

 private:
  cublas_dot<T> dot_;
};

}  // namespace

void add_cublas(registry& to) {
  if (!cublas().found) return;
  to.versions["cublas"] = cublas_version();
  to.contenders.push_back(
      of_form<over_arrays, cublas_library>({.library = "cublas", .form = "arrays", .on_gpu = true, .is_peer = true}));
}

}  // namespace fanin_perf::cg
