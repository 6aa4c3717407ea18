// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls on the GPU for libraries that write their result to device memory: enqueued as they are, or
// followed by a copy to the host and a wait.

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "harness/contender.hpp"
#include "harness/cuda_check.hpp"

namespace fanin_perf {

/// Where a call on the GPU leaves its result.
template <class T>
struct slot {
  T value;
  std::int64_t index;
};

template <class T, operation Op>
using slot_of = std::conditional_t<Op == operation::several, four<T>, slot<sum_type<T>>>;

/// `Reduction` is made from a workload and has enqueue(x, y, n, slot_of<T, Op>*), which may wait for nothing.
template <class T, operation Op, class Reduction>
class device_call final : public call {
 public:
  device_call(const workload& work, bool to_host)
      : work_(work),
        stream_(static_cast<cudaStream_t>(work.stream)),
        to_host_(to_host),
        reduction_(work),
        on_device_(1),
        on_host_(1) {}

  void run(std::int64_t first, std::int64_t count) override {
    std::int64_t buffer = first;
    for (std::int64_t i = 0; i < count; ++i) {
      reduction_.enqueue(work_.x<T>(buffer), work_.y<T>(buffer), work_.n, on_device_.data());
      if (to_host_) fetch();
      if (++buffer == work_.buffers) buffer = 0;
    }
  }

  answer last() override {
    fetch();
    if constexpr (Op == operation::several) {
      return answer::of(on_host_[0]);
    } else {
      return answer::of(on_host_[0].value, has_index(Op) ? on_host_[0].index : -1);
    }
  }

 private:
  // As little as the operation needs: without the index where there is none.
  void fetch() {
    const std::size_t bytes = has_index(Op) || Op == operation::several ? sizeof(slot_of<T, Op>) : sizeof(sum_type<T>);
    FANIN_PERF_CHECK(cudaMemcpyAsync(on_host_.data(), on_device_.data(), bytes, cudaMemcpyDeviceToHost, stream_));
    FANIN_PERF_CHECK(cudaStreamSynchronize(stream_));
  }

  workload work_;
  cudaStream_t stream_;
  bool to_host_;
  Reduction reduction_;
  device_array<slot_of<T, Op>> on_device_;
  pinned_array<slot_of<T, Op>> on_host_;
};

/// A family of such calls; `Library::reduction<T, Op>` is the Reduction.
template <class Library>
struct device_family {
  static constexpr bool takes_all_types = fanin_perf::takes_all_types<Library>;
  static constexpr bool takes_exact_sums = fanin_perf::takes_exact_sums<Library>;

  template <class T, operation Op>
  static constexpr bool offers() {
    return Library::template offers<T, Op>();
  }

  bool to_host = false;

  template <class T, operation Op>
  std::unique_ptr<call> make(const workload& work) const {
    using reduction = typename Library::template reduction<T, Op>;
    return std::unique_ptr<call>(new device_call<T, Op, reduction>(work, to_host));
  }
};

}  // namespace fanin_perf
