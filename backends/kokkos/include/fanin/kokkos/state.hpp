// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include <Kokkos_Core.hpp>
#include <fanin/detail/shared_rooms.hpp>
#include <fanin/kokkos/lifetime.hpp>
#include <fanin/kokkos/results.hpp>
#include <fanin/kokkos/space.hpp>

namespace fanin::detail {

/// Of the host, for a device too.
struct kokkos_shared_memory {
  using memory_space = Kokkos::SharedHostPinnedSpace;

  void* allocate(std::size_t bytes) const {
    const kokkos_relaxed_capture relaxed;
    return Kokkos::kokkos_malloc<memory_space>("fanin::kokkos: results over ranks", bytes);
  }
  /// After Kokkos::finalize it stays to the end of the process.
  void free(void* memory) const noexcept {
    if (!Kokkos::is_initialized() || Kokkos::is_finalized()) return;
    const kokkos_relaxed_capture relaxed;
    try {
      Kokkos::kokkos_free<memory_space>(memory);
    } catch (...) {
      // The device has failed; whoever synchronised was told.
    }
  }
};

/// What a fanin::kokkos owns: the execution space instance, and workspace in its memory. On the heap, so that handles
/// stay valid when the object moves. Both go when the object does, or when Kokkos is finalised, whichever comes first.
template <class Space>
class kokkos_state final : public kokkos_resource, public std::enable_shared_from_this<kokkos_state<Space>> {
 public:
  using memory_space = typename Space::memory_space;

  explicit kokkos_state(const Space& space)
      : results{std::make_shared<kokkos_results<Space>>(space)},
        rooms{is_host_space<Space> ? nullptr
                                   : std::make_shared<shared_rooms<kokkos_shared_memory>>(kokkos_shared_memory{})},
        space_{space},
        threads_{std::max<std::int64_t>(space.concurrency(), 1)} {
    kokkos_lifetime::get().add(*this);
  }
  ~kokkos_state() { kokkos_lifetime::get().remove(*this); }

  const std::shared_ptr<kokkos_results<Space>> results;  ///< that are got later, with which it is shared
  /// Of calls over ranks with many results, where the space's memory is not the host's; else null.
  const std::shared_ptr<shared_rooms<kokkos_shared_memory>> rooms;

  /// The instance. Throws state_error after Kokkos was finalised.
  const Space& space(const char* call) const {
    if (!kokkos_lifetime::get().is_alive()) kokkos_lifetime::throw_finalized(call);
    return *space_;
  }

  /// How many threads run at once, as it was when the object was made: to ask OpenMP takes longer than a small launch
  /// may lose.
  std::int64_t threads() const noexcept { return threads_; }

  /// A state beside this one, of an instance of its own, for what waits for nothing that this one's has yet to do; made
  /// when it is asked for first. Whoever has it may outlive this one.
  std::shared_ptr<kokkos_state> aside() {
    const std::lock_guard lock(aside_mutex_);
    if (aside_ == nullptr) {
      aside_ = std::make_shared<kokkos_state>(Kokkos::Experimental::partition_space(*space_, 1).front());
    }
    return aside_;
  }

  /// At least `bytes` of the space's memory, uninitialised, used in the instance's order. Allocates when the size
  /// grows, after earlier work has ended. To be called with the instance to oneself.
  void* workspace(std::size_t bytes) {
    if (bytes > workspace_bytes_) {
      constexpr std::size_t page = 4096;
      const std::size_t rounded = (bytes + page - 1) / page * page;
      free_workspace();
      workspace_ = Kokkos::kokkos_malloc<memory_space>("fanin::kokkos workspace", rounded);
      workspace_bytes_ = rounded;
    }
    return workspace_;
  }

 private:
  void release() noexcept override {
    try {
      space_->fence("fanin::kokkos: the end of an object");
      free_workspace();
    } catch (...) {
      // The device has failed; whoever synchronised was told.
    }
    if (rooms != nullptr) rooms->clear();
    space_.reset();
  }

  void free_workspace() {
    if (workspace_ == nullptr) return;
    space_->fence("fanin::kokkos: before workspace is freed");
    Kokkos::kokkos_free<memory_space>(workspace_);
    workspace_ = nullptr;
    workspace_bytes_ = 0;
  }

  std::optional<Space> space_;
  std::int64_t threads_;
  void* workspace_ = nullptr;
  std::size_t workspace_bytes_ = 0;
  std::mutex aside_mutex_;
  std::shared_ptr<kokkos_state> aside_;
};

}  // namespace fanin::detail
