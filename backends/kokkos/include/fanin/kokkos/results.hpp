// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <Kokkos_Core.hpp>
#include <fanin/error.hpp>
#if defined(KOKKOS_ENABLE_CUDA)
#include <cstddef>
#include <cstring>
#include <forward_list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <fanin/kokkos/lifetime.hpp>
#include <fanin/pending.hpp>
#endif

/// Where results of a Kokkos space are that are got later, and when none can be.
namespace fanin::detail {

/// While one lives, its thread may do what CUDA forbids for safety's sake where a stream is being captured: look at
/// events, allocate, wait for other streams. Such a capture stays valid.
class kokkos_relaxed_capture {
 public:
#if defined(KOKKOS_ENABLE_CUDA)
  kokkos_relaxed_capture() noexcept { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~kokkos_relaxed_capture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
#else
  kokkos_relaxed_capture() noexcept {}
#endif
  kokkos_relaxed_capture(const kokkos_relaxed_capture&) = delete;
  kokkos_relaxed_capture& operator=(const kokkos_relaxed_capture&) = delete;

#if defined(KOKKOS_ENABLE_CUDA)
 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
#endif
};

/// None: Kokkos tells when all work of an instance has ended, and of no part of it.
template <class Space>
struct kokkos_results {
  static constexpr bool has_events = false;
  explicit kokkos_results(const Space&) {}
};

#if defined(KOKKOS_ENABLE_CUDA)

inline void check_kokkos_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw error(std::string(call) + ": Kokkos::Cuda failed: " + cudaGetErrorName(status) + " (" +
              cudaGetErrorString(status) + ")");
}

inline bool is_kokkos_capturing(const Kokkos::Cuda& space, const char* call) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  detail::check_kokkos_cuda(cudaStreamIsCapturing(space.cuda_stream(), &status), call);
  return status != cudaStreamCaptureStatusNone;
}

/// Makes an instance's device current for a scope.
class kokkos_cuda_device {
 public:
  explicit kokkos_cuda_device(int device) {
    detail::check_kokkos_cuda(cudaGetDevice(&previous_), "fanin: cudaGetDevice");
    detail::check_kokkos_cuda(cudaSetDevice(device), "fanin: cudaSetDevice");
  }
  ~kokkos_cuda_device() { (void)cudaSetDevice(previous_); }
  kokkos_cuda_device(const kokkos_cuda_device&) = delete;
  kokkos_cuda_device& operator=(const kokkos_cuda_device&) = delete;

 private:
  int previous_ = 0;
};

/// Memory of the host that kernels of one instance write one result after the other to, in the instance's order, and an
/// event behind the last.
class kokkos_result_slot final : public pending_slot {
 public:
  void* memory() const noexcept { return memory_; }
  /// After the launch that writes the result.
  void record(const Kokkos::Cuda& space) {
    const kokkos_cuda_device current(space.cuda_device());
    detail::check_kokkos_cuda(cudaEventRecord(event_, space.cuda_stream()),
                              "fanin::parallel_reduce_async: cudaEventRecord");
  }

  bool is_ready() noexcept override {
    if (!kokkos_lifetime::get().is_alive()) return true;  // take() throws
    const kokkos_relaxed_capture relaxed;
    const cudaError_t status = cudaEventQuery(event_);
    if (status != cudaSuccess) (void)cudaGetLastError();
    return status != cudaErrorNotReady;
  }
  void take(void* to, std::size_t bytes) override {
    if (!kokkos_lifetime::get().is_alive()) kokkos_lifetime::throw_finalized("fanin::pending::get");
    const kokkos_relaxed_capture relaxed;
    detail::check_kokkos_cuda(cudaEventSynchronize(event_), "fanin::pending::get: cudaEventSynchronize");
    std::memcpy(to, memory_, bytes);
  }
  inline void release() noexcept override;

 private:
  template <class Space>
  friend struct kokkos_results;
  std::shared_ptr<kokkos_results<Kokkos::Cuda>> all_;  ///< while it is in use
  kokkos_result_slot* next_free_ = nullptr;
  std::size_t bytes_ = 0;
  void* memory_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

/// Those of one instance, which live until the last result is got or dropped, or Kokkos is finalised.
template <>
struct kokkos_results<Kokkos::Cuda> final : kokkos_resource,
                                            std::enable_shared_from_this<kokkos_results<Kokkos::Cuda>> {
 public:
  static constexpr bool has_events = true;
  using slot = kokkos_result_slot;

  explicit kokkos_results(const Kokkos::Cuda& space) : device_{space.cuda_device()} {
    kokkos_lifetime::get().add(*this);
  }
  ~kokkos_results() { kokkos_lifetime::get().remove(*this); }

  /// One for so many bytes; allocates where all are in use.
  std::unique_ptr<slot, release_pending> take(std::size_t bytes) {
    constexpr std::size_t granularity = 64;
    const std::size_t rounded = (bytes + granularity - 1) / granularity * granularity;
    const std::lock_guard lock(mutex_);
    slot*& free = free_[rounded];
    if (free == nullptr) {
      slots_.splice_after(slots_.before_begin(), make(rounded));
      free = &slots_.front();
    }
    slot& one = *std::exchange(free, free->next_free_);
    one.all_ = shared_from_this();
    return std::unique_ptr<slot, release_pending>(&one);
  }

  void put(slot& one) noexcept {
    const std::lock_guard lock(mutex_);
    one.next_free_ = std::exchange(free_.find(one.bytes_)->second, &one);
  }

 private:
  using memory_space = Kokkos::SharedHostPinnedSpace;

  std::forward_list<slot> make(std::size_t bytes) const {
    const kokkos_cuda_device current(device_);
    const kokkos_relaxed_capture relaxed;
    std::forward_list<slot> made(1);
    made.front().bytes_ = bytes;
    detail::check_kokkos_cuda(cudaEventCreateWithFlags(&made.front().event_, cudaEventDisableTiming),
                              "fanin::parallel_reduce_async: cudaEventCreateWithFlags");
    try {
      made.front().memory_ = Kokkos::kokkos_malloc<memory_space>("fanin::kokkos results", bytes);
    } catch (...) {
      (void)cudaEventDestroy(made.front().event_);
      throw;
    }
    return made;
  }

  void release() noexcept override {
    const kokkos_relaxed_capture relaxed;
    for (slot& one : slots_) {
      if (one.memory_ == nullptr) continue;
      (void)cudaEventSynchronize(one.event_);
      (void)cudaEventDestroy(one.event_);
      Kokkos::kokkos_free<memory_space>(std::exchange(one.memory_, nullptr));
    }
  }

  const int device_;
  std::mutex mutex_;
  std::map<std::size_t, slot*> free_;  ///< by their bytes
  std::forward_list<slot> slots_;
};

inline void kokkos_result_slot::release() noexcept {
  const std::shared_ptr<kokkos_results<Kokkos::Cuda>> all = std::move(all_);
  all->put(*this);
}

#endif

/// Whether an instance's work is being recorded into a graph. Kokkos has no question for that; CUDA's own is asked.
template <class Space>
bool is_kokkos_capturing(const Space&, const char*) {
  return false;
}

/// What is recorded in a graph comes whenever that runs.
template <class Space>
void refuse_kokkos_capture(const Space& space, const char* call) {
  if (!detail::is_kokkos_capturing(space, call)) return;
  throw state_error(std::string(call) +
                    ": the host waits for this call's work, and its stream is being captured into a graph; use the "
                    "_into form, or call it outside the capture");
}

}  // namespace fanin::detail
