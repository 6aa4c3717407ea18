// SPDX-License-Identifier: Apache-2.0

// cuBLAS's dot product, to device memory.

#include "contenders/cublas_dot.hpp"

#include "contenders/device_calls.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {
namespace {

template <class T, operation Op>
class cublas_reduction {
 public:
  explicit cublas_reduction(const workload& work) : dot_(static_cast<cudaStream_t>(work.stream)) {}
  void enqueue(const T* x, const T* y, std::int64_t n, slot<T>* to) { dot_.enqueue(x, y, n, &to->value); }

 private:
  cublas_dot<T> dot_;
};

struct cublas_library {
  template <class T, operation Op>
  static constexpr bool offers() {
    return std::is_floating_point_v<T> && Op == operation::dot;
  }

  template <class T, operation Op>
  using reduction = cublas_reduction<T, Op>;
};

}  // namespace

void add_cublas(registry& to) {
  if (!cublas().found) return;
  to.versions["cublas"] = cublas_version();
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
