// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace fanin::detail {

/// Blocks of memory that are used again, of an object, whose stream orders what kernels do there, and which they may
/// outlive. Memory::allocate(bytes) gives one, or throws; Memory::free(block) throws nothing. Without the standard
/// library's containers, whose layout flags change.
template <class Memory>
class shared_rooms : public std::enable_shared_from_this<shared_rooms<Memory>> {
 public:
  explicit shared_rooms(Memory memory) : memory_{std::move(memory)} {}
  shared_rooms(const shared_rooms&) = delete;
  shared_rooms& operator=(const shared_rooms&) = delete;
  ~shared_rooms() { clear(); }

  /// At least so many bytes, until the last copy is gone. Allocates where those that are idle are smaller, by powers of
  /// two: none is freed before clear(), since a kernel may still be on its way to it.
  std::shared_ptr<void> take(std::size_t bytes) {
    struct give_back {
      std::shared_ptr<shared_rooms> all;
      room* one;
      void operator()(void*) const { all->put(one); }
    };
    room* const one = idle_or_new(bytes);
    return {one->memory, give_back{this->shared_from_this(), one}};  // which gives it back where this throws
  }
  /// Frees those that are idle.
  void clear() noexcept {
    const std::lock_guard lock(mutex_);
    while (idle_ != nullptr) {
      const std::unique_ptr<room> one(std::exchange(idle_, idle_->next));
      memory_.free(one->memory);
    }
  }

 private:
  struct room {
    void* memory = nullptr;
    std::size_t bytes = 0;
    room* next = nullptr;
  };

  room* idle_or_new(std::size_t bytes) {
    constexpr std::size_t page = 4096;
    const std::lock_guard lock(mutex_);
    room** best = nullptr;
    for (room** at = &idle_; *at != nullptr; at = &(*at)->next) {
      if ((*at)->bytes >= bytes && (best == nullptr || (*at)->bytes < (*best)->bytes)) best = at;
    }
    if (best != nullptr) return std::exchange(*best, (*best)->next);
    auto one = std::make_unique<room>();
    one->bytes = std::bit_ceil(bytes < page ? page : bytes);
    one->memory = memory_.allocate(one->bytes);
    return one.release();
  }
  void put(room* one) noexcept {
    const std::lock_guard lock(mutex_);
    one->next = std::exchange(idle_, one);
  }

  Memory memory_;
  std::mutex mutex_;
  room* idle_ = nullptr;
};

}  // namespace fanin::detail
