// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace fanin::detail {

/// Blocks of memory that are used again, of an object, which they may outlive. Memory::allocate(bytes) gives one, or
/// throws; Memory::free(block) throws nothing.
template <class Memory>
class shared_rooms : public std::enable_shared_from_this<shared_rooms<Memory>> {
 public:
  explicit shared_rooms(Memory memory) : memory_{std::move(memory)} {}
  shared_rooms(const shared_rooms&) = delete;
  shared_rooms& operator=(const shared_rooms&) = delete;
  ~shared_rooms() { clear(); }

  /// At least so many bytes, until the last copy is gone. Allocates where those that are idle are smaller.
  std::shared_ptr<void> take(std::size_t bytes) {
    struct give_back {
      std::shared_ptr<shared_rooms> all;
      room one;
      void operator()(void*) const { all->put(one); }
    };
    const room one = idle_or_new(bytes);
    return {one.memory, give_back{this->shared_from_this(), one}};  // which gives it back where this throws
  }
  /// Frees those that are idle.
  void clear() noexcept {
    const std::lock_guard lock(mutex_);
    while (!idle_.empty()) free_last();
  }

 private:
  struct room {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };

  room idle_or_new(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto is_smaller = [](const room& a, const room& b) { return a.bytes < b.bytes; };
    std::sort(idle_.begin(), idle_.end(), is_smaller);
    const auto first = std::lower_bound(idle_.begin(), idle_.end(), room{nullptr, bytes}, is_smaller);
    if (first != idle_.end()) {
      const room one = *first;
      idle_.erase(first);
      return one;
    }
    if (!idle_.empty()) free_last();  // the largest
    idle_.reserve(made_ + 1);         // put() throws nothing
    const room one{memory_.allocate(bytes), bytes};
    ++made_;
    return one;
  }
  void put(const room& one) noexcept {
    const std::lock_guard lock(mutex_);
    idle_.push_back(one);
  }
  void free_last() noexcept {
    memory_.free(idle_.back().memory);
    idle_.pop_back();
    --made_;
  }

  Memory memory_;
  std::mutex mutex_;
  std::size_t made_ = 0;  ///< idle, or in use
  std::vector<room> idle_;
};

}  // namespace fanin::detail
