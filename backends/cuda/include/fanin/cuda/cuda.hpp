// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/error.hpp>
#include <fanin/cuda/session.hpp>
#include <fanin/execution.hpp>

namespace fanin {

/// A fanin::cuda with a strategy and a tuning: usable wherever the object is. Cheap to copy; refers to the object and
/// does not outlive it.
template <cuda_strategy_tag Strategy>
struct cuda_view : detail::cuda_handle {
  using strategy = Strategy;
};

/// The CUDA backend: one stream of one device, with the scratch that its reductions need. Move-only. Make one per
/// solver or host thread and keep it: calls allocate nothing after the first of a size.
///
/// Different objects may be used by different host threads at once; calls on one object from several threads wait for
/// each other. The destructor waits for the object's stream, unless that is capturing.
class cuda {
 public:
  /// Owns a non-blocking stream on the current device. Throws cuda_error when there is no device.
  cuda();
  /// Borrows a stream, which must outlive the object; 0 is the legacy default stream of the current device, in units
  /// compiled for per-thread default streams too. Throws invalid_argument for cudaStreamPerThread.
  explicit cuda(cudaStream_t stream);
  cuda(cuda&&) noexcept;
  cuda& operator=(cuda&&) noexcept;
  ~cuda();

  /// The same object with another strategy: range(gpu.with<cuda_strategy::shuffle>(), 0, n). Throws invalid_argument
  /// for a tuning that cannot launch, in words.
  template <cuda_strategy_tag Strategy = cuda_strategy::one_pass>
  cuda_view<Strategy> with(cuda_tuning tuning = {}) const {
    detail::check_tuning(tuning);
    return {{handle().state, tuning}};
  }

  cudaStream_t stream() const;
  int device() const;
  /// Waits for everything on the stream, and throws what went wrong in it since. What functors wrote is there for the
  /// host then.
  void synchronize() const;
  /// What this object launched last: says which strategy ran ("parallel_for" for that).
  cuda_launch last_launch() const;
  /// Device and pinned blocks that the object has allocated for itself so far.
  std::int64_t scratch_allocations() const;
  /// Bytes of device memory that the object holds as scratch (graphs it was captured into hold their own).
  std::size_t scratch_bytes() const;

  /// Throws state_error when the object was moved from.
  detail::cuda_handle handle() const;

 private:
  std::shared_ptr<detail::cuda_state> state_;
};

}  // namespace fanin

#include <fanin/cuda/backend.hpp>
