// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/error.hpp>
#include <fanin/cuda/resource.hpp>
#include <fanin/cuda/session.hpp>
#include <fanin/execution.hpp>

#pragma GCC visibility push(default)

namespace fanin {

/// A fanin::cuda with a strategy and a tuning: usable wherever the object is. Cheap to copy; refers to the object and
/// does not outlive it.
template <cuda_strategy_tag Strategy>
struct cuda_view : detail::cuda_handle {
  using strategy = Strategy;
};

/// The CUDA backend: one stream of one device, with the workspace that its reductions need. Move-only. Make one per
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
  /// The same, and takes device memory from `resource` instead of cudaMalloc: the object's workspace, that of graphs it
  /// is captured into, and the buffers made on it (pinned host memory stays cudaHostAlloc's).
  ///
  /// A resource has allocate(bytes, alignment, stream), which gives memory that may be used in the stream's order, and
  /// deallocate(pointer, bytes, alignment, stream), which takes it back in that order; or the forms that cuda::mr and
  /// rmm have. The stream is the object's, or, while that captures and for workspace of graphs, one of Fanin's own.
  /// What allocate throws passes through, and the object works on; deallocate does not throw. It must be safe to call
  /// from every thread that uses Fanin on the device.
  ///
  /// An lvalue is referred to, and must outlive the object, its buffers, and graphs with their workspace: these cannot
  /// call CUDA when they go, so that the next call which allocates, frees or synchronizes on any object of the device
  /// gives it back. Of a std::shared_ptr, or a resource that is a value, Fanin keeps a copy until then.
  template <class Resource>
  cuda(cudaStream_t stream, Resource&& resource)
      : cuda(stream, detail::make_resource(std::forward<Resource>(resource))) {}
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
  /// host then. Gives back workspace of graphs that are gone (see the contract), for which it waits for the device.
  void synchronize() const;
  /// What this object launched last: says which strategy ran ("parallel_for" for that).
  cuda_launch last_launch() const;
  /// Device and pinned blocks that the object has allocated for itself so far.
  std::int64_t workspace_allocations() const;
  /// Bytes of device memory that the object holds as workspace (graphs it was captured into hold their own).
  std::size_t workspace_bytes() const;

  /// Throws state_error when the object was moved from.
  detail::cuda_handle handle() const;

 private:
  cuda(cudaStream_t stream, std::shared_ptr<detail::cuda_resource> resource);

  std::shared_ptr<detail::cuda_state> state_;
};

namespace detail {
cuda& default_cuda();
}  // namespace detail

}  // namespace fanin

#pragma GCC visibility pop

#include <fanin/cuda/backend.hpp>
