// SPDX-License-Identifier: Apache-2.0

// Plain Kokkos on CUDA, on the run's stream: to a View in device memory, and to a scalar.

#include <memory>

#include "contenders/kokkos_plain.hpp"
#include "harness/cuda_check.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {
namespace {

template <class T, operation Op>
class to_device final : public call {
 public:
  explicit to_device(const workload& work)
      : work_(work), space_(static_cast<cudaStream_t>(work.stream)), result_("result") {}

  void run(std::int64_t first, std::int64_t count) override {
    std::int64_t buffer = first;
    for (std::int64_t i = 0; i < count; ++i) {
      kokkos_reduce<T, Op>(space_, work_.x<T>(buffer), work_.y<T>(buffer), work_.n, result_);
      if (++buffer == work_.buffers) buffer = 0;
    }
  }

  answer last() override {
    result found;
    Kokkos::deep_copy(space_, found, result_);
    space_.fence();
    if constexpr (has_index(Op)) {
      return answer::of(found.val, found.loc);
    } else {
      return answer::of(found);
    }
  }

 private:
  using result = typename kokkos_result<T, Op>::type;

  workload work_;
  Kokkos::Cuda space_;
  Kokkos::View<result, Kokkos::CudaSpace> result_;
};

// Each combination costs compile time: unsigned integers are left out.
struct kokkos_on_cuda {
  template <class T, operation Op>
  static constexpr bool offers() {
    return !std::is_unsigned_v<T> && (Op != operation::several || std::is_floating_point_v<T>);
  }

  bool to_host = false;

  template <class T, operation Op>
  std::unique_ptr<call> make(const workload& work) const {
    if (!to_host) return std::unique_ptr<call>(new to_device<T, Op>(work));
    const Kokkos::Cuda space(static_cast<cudaStream_t>(work.stream));
    return make_blocking<T>(work, [space](const T* x, const T* y, std::int64_t n) {
      typename kokkos_result<T, Op>::type found;
      kokkos_reduce<T, Op>(space, x, y, n, found);
      return kokkos_value(found);
    });
  }
};

}  // namespace

void add_kokkos_cuda(registry& to) {
  contender who = kokkos_described("kokkos-cuda", place::gpu);
  who.lanes = 16384;
  who.to = destination::device;
  who.capturable = true;
  who.several_waits = true;
  to.add(of_family(who, kokkos_on_cuda{.to_host = false}));
  who.to = destination::host;
  to.add(of_family(who, kokkos_on_cuda{.to_host = true}));
}

}  // namespace fanin_perf
