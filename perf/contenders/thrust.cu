// SPDX-License-Identifier: Apache-2.0

// Thrust on a stream: its reductions return the value, so that they are blocking calls.

#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/functional.h>
#include <thrust/inner_product.h>
#include <thrust/reduce.h>
#include <thrust/transform_reduce.h>
#include <thrust/version.h>

#include <cuda/functional>
#include <cuda/std/limits>
#include <string>
#include <utility>

#include "contenders/device_calls.hpp"
#include "contenders/functors.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {
namespace {

template <class T, operation Op, class Policy>
auto thrust_reduce(const Policy& on, const T* x, [[maybe_unused]] const T* y, std::int64_t n) {
  const T* end = x + n;
  using limits = cuda::std::numeric_limits<T>;
  if constexpr (Op == operation::sum) {
    return thrust::reduce(on, x, end, T{}, cuda::std::plus<T>{});
  } else if constexpr (Op == operation::min) {
    return thrust::reduce(on, x, end, limits::max(), cuda::minimum<T>{});
  } else if constexpr (Op == operation::max) {
    return thrust::reduce(on, x, end, limits::lowest(), cuda::maximum<T>{});
  } else if constexpr (Op == operation::min_loc || Op == operation::max_loc) {
    const T* at = nullptr;
    if constexpr (Op == operation::min_loc) {
      at = thrust::min_element(on, x, end);
    } else {
      at = thrust::max_element(on, x, end);
    }
    return at - x;
  } else if constexpr (Op == operation::sum_of_squares) {
    return thrust::transform_reduce(on, x, end, square<T>{}, T{}, cuda::std::plus<T>{});
  } else {
    return thrust::inner_product(on, x, end, y, T{});
  }
}

// The _loc calls leave an iterator; the value there is a copy of its own.
template <class T, operation Op>
class thrust_call final : public call {
 public:
  explicit thrust_call(const workload& work) : work_(work), stream_(static_cast<cudaStream_t>(work.stream)) {}

  void run(std::int64_t first, std::int64_t count) override {
    std::int64_t buffer = first;
    for (std::int64_t i = 0; i < count; ++i) {
      const T* x = work_.x<T>(buffer);
      const auto found = thrust_reduce<T, Op>(thrust::cuda::par.on(stream_), x, work_.y<T>(buffer), work_.n);
      if constexpr (has_index(Op)) {
        index_ = found;
        FANIN_PERF_CHECK(cudaMemcpyAsync(&value_[0], x + index_, sizeof(T), cudaMemcpyDeviceToHost, stream_));
        FANIN_PERF_CHECK(cudaStreamSynchronize(stream_));
      } else {
        value_[0] = found;
      }
      if (++buffer == work_.buffers) buffer = 0;
    }
  }

  answer last() override { return answer::of(value_[0], index_); }

 private:
  workload work_;
  cudaStream_t stream_;
  pinned_array<T> value_{1};
  std::int64_t index_ = -1;
};

// A selection: each combination costs seconds of compilation.
struct thrust_family {
  template <class T, operation Op>
  static constexpr bool offers() {
    if (Op == operation::several) return false;
    return std::is_floating_point_v<T> || (std::is_same_v<T, std::int32_t> && !has_index(Op) && Op != operation::dot) ||
           (std::is_same_v<T, std::int64_t> && Op == operation::sum);
  }

  template <class T, operation Op>
  std::unique_ptr<call> make(const workload& work) const {
    return std::unique_ptr<call>(new thrust_call<T, Op>(work));
  }
};

}  // namespace

void add_thrust(registry& to) {
  to.versions["thrust"] = std::to_string(THRUST_MAJOR_VERSION) + "." + std::to_string(THRUST_MINOR_VERSION) + "." +
                          std::to_string(THRUST_SUBMINOR_VERSION);
  contender who;
  who.name = "thrust";
  who.backend = "cuda";
  who.where = place::gpu;
  who.propagates_nan = false;
  who.lanes = 16384;
  to.add(of_family(who, thrust_family{}));
}

}  // namespace fanin_perf
