// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <forward_list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <fanin/cuda/session.hpp>
#include <fanin/error.hpp>
#include <fanin/pending.hpp>

#include "state.hpp"

/// How the host gets results that kernels deliver into mailboxes (cuda_mailbox, in fanin/cuda/session.hpp).
namespace fanin::detail {

/// Whether a mailbox's word has come, of a result with this number; then what it carries is in `carried`, and what the
/// device wrote before it can be read (of calls whose results stand elsewhere).
inline bool has_come(const std::uint64_t& in_mailbox, std::uint32_t sequence, std::uint32_t& carried) {
  const std::uint64_t word = __atomic_load_n(&in_mailbox, __ATOMIC_ACQUIRE);
  carried = static_cast<std::uint32_t>(word);
  return static_cast<std::uint32_t>(word >> 32) == sequence;
}

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until all `count` words of a result have come, and copies what the first of them carry, `bytes` in all. Asks
/// has_ended() now and then, which says whether all work that could deliver has ended, or throws what that failed of.
template <class Ended>
void wait_for_words(const std::uint64_t* words, int count, std::uint32_t sequence, void* to, std::size_t bytes,
                    const Ended& has_ended) {
  constexpr unsigned spins_per_query = 2048;
  constexpr unsigned queries_before_yield = 16;
  int taken = 0;
  std::size_t copied = 0;
  const auto take = [&] {
    for (std::uint32_t carried = 0; taken < count; ++taken) {
      if (!has_come(words[taken], sequence, carried)) return false;
      auto* const at = static_cast<unsigned char*>(to) + copied;
      if (bytes - copied >= sizeof(carried)) {
        std::memcpy(at, &carried, sizeof(carried));
        copied += sizeof(carried);
      } else {
        std::memcpy(at, &carried, bytes - copied);
        copied = bytes;
      }
    }
    return true;
  };
  for (unsigned queries = 0;; ++queries) {
    for (unsigned spin = 0; spin < spins_per_query; ++spin) {
      if (take()) return;
      pause();
    }
    if (has_ended()) {
      if (take()) return;
      throw error("fanin: the stream came to rest and the kernel delivered no result");
    }
    if (queries > queries_before_yield) std::this_thread::yield();
  }
}

class mailbox_slot;
struct mailboxes_of_size {
  mailbox_slot* free = nullptr;
  std::size_t count = 0;
};

/// A mailbox for one fanin::pending after the other.
///
/// One that was given back unread is used again at once, although its kernel may not have begun: it serves one stream,
/// and there the later of two kernels writes after the earlier one has ended, since one that starts early waits for the
/// grid before it first. Until then there are words of the earlier result, whose number is another one. Every result
/// has as many words as the mailbox, so that no word keeps the number of long ago that comes again after 2^32 results.
class mailbox_slot final : public pending_slot {
 public:
  bool is_ready() noexcept override;
  void take(void* to, std::size_t bytes) override;
  void release() noexcept override;

  std::uint32_t sequence = 0;  ///< of the last result

 private:
  friend class mailbox_pool;
  std::shared_ptr<mailbox_pool> pool_;  ///< while it is in use
  mailboxes_of_size* of_size_ = nullptr;
  mailbox_slot* next_free_ = nullptr;
  const std::uint64_t* host_ = nullptr;
  std::uint64_t* device_ = nullptr;
  int words_ = 0;
};

/// The mailboxes of an object for results that are got later: theirs is the memory, which stays until the last of these
/// is got or dropped. It knows the object's stream as long as that is there.
class mailbox_pool : public std::enable_shared_from_this<mailbox_pool> {
 public:
  mailbox_pool(int device, cudaStream_t stream, std::uint64_t context);
  ~mailbox_pool();
  mailbox_pool(const mailbox_pool&) = delete;
  mailbox_pool& operator=(const mailbox_pool&) = delete;

  /// One of exactly so many words. Within the session of `state`, which allocates where all of them are in use.
  cuda_pending take(cuda_state& state, int words);
  /// The object has waited for its stream, which may go now, or its context is lost.
  void leave_stream() noexcept;

 private:
  friend class mailbox_slot;
  struct slab {
    explicit slab(std::size_t count) : slots(count) {}
    std::vector<mailbox_slot> slots;
    pinned_block memory;
  };

  static std::forward_list<slab> make_slab(cuda_state& state, int words, std::size_t at_least);
  void put(mailbox_slot& slot) noexcept;
  bool has_ended();

  const int device_;
  const cudaStream_t stream_;
  const std::uint64_t context_;
  std::mutex mutex_;
  bool has_stream_ = true;
  std::map<int, mailboxes_of_size> sizes_;  ///< by words
  std::forward_list<slab> slabs_;
};

}  // namespace fanin::detail
