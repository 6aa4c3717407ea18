// SPDX-License-Identifier: Apache-2.0

// CUB's sum with gpu_to_gpu determinism, which is what comes nearest to an exact sum: the same bits on every GPU, but
// rounded. By its dispatch, since the public call takes its temporary storage anew each time.

#include "contenders/cub_rows.hpp"

#if __has_include(<cub/device/dispatch/dispatch_reduce_deterministic.cuh>)
#include <cub/device/device_reduce.cuh>
#include <cub/device/dispatch/dispatch_reduce_deterministic.cuh>
#include <optional>

namespace fanin_perf {
namespace {

template <class T>
class deterministic_sum {
 public:
  explicit deterministic_sum(const workload& work) : stream_(static_cast<cudaStream_t>(work.stream)) {
    FANIN_PERF_CHECK(call_cub(nullptr, work.x<T>(0), work.n, nullptr));
    storage_.emplace(bytes_);
  }

  void enqueue(const T* x, const T*, std::int64_t n, slot<T>* to) {
    FANIN_PERF_CHECK(call_cub(storage_->data(), x, n, &to->value));
  }

 private:
  // Without storage it only asks how much is needed.
  cudaError_t call_cub(void* storage, const T* x, std::int64_t n, T* value) {
    return cub::detail::rfa::dispatch(storage, bytes_, x, value, n, T{}, stream_);
  }

  cudaStream_t stream_;
  std::size_t bytes_ = 0;
  std::optional<device_array<std::byte>> storage_;
};

struct cub_deterministic {
  static constexpr bool takes_exact_sums = true;

  template <class T, operation Op>
  static constexpr bool offers() {
    return Op == operation::exact_sum;
  }

  template <class T, operation>
  using reduction = deterministic_sum<T>;
};

}  // namespace

void add_cub_wheel_exact(registry& to) { add_cub_rows<cub_deterministic>(to, "cub-wheel"); }

}  // namespace fanin_perf
#else
namespace fanin_perf {
void add_cub_wheel_exact(registry&) {}
}  // namespace fanin_perf
#endif
