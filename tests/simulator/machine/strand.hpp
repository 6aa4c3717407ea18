// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

#include "simulator/machine.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define SIMULATOR_TELLS_OF_STACKS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMULATOR_TELLS_OF_STACKS
#endif
#endif

namespace simulator {

#if defined(SIMULATOR_TELLS_OF_STACKS)
inline constexpr bool memory_is_checked = true;  ///< by AddressSanitizer
#else
inline constexpr bool memory_is_checked = false;
#endif
/// A fibre that does one job after the other, and what sanitizers are told of it: AddressSanitizer on which stack the
/// program goes on, ThreadSanitizer which thread of the kernel it is. To that the fibre is a thread of its own while
/// its job runs and not the machine, and a switch from one to the other orders nothing.
class strand {
 public:
  strand();
  ~strand();
  strand(const strand&) = delete;
  strand& operator=(const strand&) = delete;

  void start(const std::function<void()>& job) { job_ = &job; }
  bool is_done() const { return job_ == nullptr; }
  /// From outside: until it leaves or is done.
  void resume();
  /// From inside.
  void leave();
  /// Whether this is one of its local variables: but for those that AddressSanitizer keeps elsewhere.
  bool is_on_stack(const void* address) const {
    const auto* const stack = static_cast<const unsigned char*>(stack_);
    return address >= stack && address < stack + stack_bytes_;
  }

  /// What this thread did so far comes before what a thread does that acquires at the same address later.
  void release(const void* at);
  void acquire(const void* at);
  /// Accesses that the machine does for this thread.
  void reads(const void* from, std::size_t bytes);
  void writes(void* to, std::size_t bytes);
  void reads_at_once(const void* from, std::size_t bytes);
  void writes_at_once(void* to, std::size_t bytes);

  /// While it lives the machine works for the strand that called it, and not the strand.
  class pause {
   public:
    explicit pause(strand* of) : of_{of} {
      if constexpr (sees_races) speak_as_host();
    }
    ~pause() {
      if constexpr (sees_races) {
        if (of_ != nullptr) of_->speak();
      }
    }
    pause(const pause&) = delete;
    pause& operator=(const pause&) = delete;

   private:
    strand* of_;
  };

 private:
  class away;
  void speak();
  static void speak_as_host();
  template <class Access>
  void access(const Access& what);

  const std::function<void()>* job_ = nullptr;
  void* known_as_ = nullptr;  ///< to ThreadSanitizer
  const void* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
  const void* stack_of_caller_ = nullptr;
  std::size_t stack_bytes_of_caller_ = 0;
  boost::context::fiber caller_;
  boost::context::fiber here_;
};

/// The same for what the host's thread does.
void host_releases(const void* at);
void host_acquires(const void* at);

}  // namespace simulator
