// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/strand.hpp"

#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdint>
#include <memory>
#include <utility>

#include "simulator/machine/scheduler.hpp"

#if defined(SIMULATOR_TELLS_OF_STACKS)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SIMULATOR_SEES_RACES)
#include <sanitizer/tsan_interface.h>
#include <sanitizer/tsan_interface_atomic.h>
extern "C" {
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
void __tsan_read_range(void*, unsigned long);
void __tsan_write_range(void*, unsigned long);
int __tsan_get_report_mop(void*, unsigned long, int* thread, void** address, int* bytes, int* is_write, int* is_atomic,
                          void** trace, unsigned long trace_size);
}
#endif

namespace simulator {

namespace {

std::uint64_t races = 0;
constexpr std::size_t stack_bytes = std::size_t{256} << 10;

void begin_switch(void** fake_stack, const void* to, std::size_t bytes) {
#if defined(SIMULATOR_TELLS_OF_STACKS)
  __sanitizer_start_switch_fiber(fake_stack, to, bytes);
#else
  (void)fake_stack, (void)to, (void)bytes;
#endif
}
void end_switch(void* fake_stack, const void** from, std::size_t* bytes) {
#if defined(SIMULATOR_TELLS_OF_STACKS)
  __sanitizer_finish_switch_fiber(fake_stack, from, bytes);
#else
  (void)fake_stack, (void)from, (void)bytes;
#endif
}

#if defined(SIMULATOR_SEES_RACES)
/// What the host does is not looked at: it is one thread, and the machine works in its name.
struct host {
  void* const known_as = __tsan_get_current_fiber();
  host() { __tsan_ignore_thread_begin(); }
  ~host() { __tsan_ignore_thread_end(); }
};
host& the_host() {
  static host one;
  return one;
}
constexpr unsigned orders_nothing = __tsan_switch_to_fiber_no_sync;
#endif

}  // namespace

std::uint64_t races_seen() { return races; }

/// On another stack while it lives, which may end in an unwinding of this one.
class strand::away {
 public:
  explicit away(strand& one) : of_{one} {
    begin_switch(&fake_stack_, one.stack_of_caller_, one.stack_bytes_of_caller_);
  }
  ~away() { end_switch(fake_stack_, &of_.stack_of_caller_, &of_.stack_bytes_of_caller_); }
  away(const away&) = delete;
  away& operator=(const away&) = delete;

 private:
  strand& of_;
  void* fake_stack_ = nullptr;
};

strand::strand() {
#if defined(SIMULATOR_SEES_RACES)
  the_host();
  known_as_ = __tsan_create_fiber(0);
#endif
  boost::context::protected_fixedsize_stack stacks(stack_bytes);
  const boost::context::stack_context memory = stacks.allocate();
  stack_ = static_cast<const unsigned char*>(memory.sp) - memory.size;
  stack_bytes_ = memory.size;
  here_ = boost::context::fiber(std::allocator_arg, boost::context::preallocated(memory.sp, memory.size, memory),
                                stacks, [this](boost::context::fiber&& caller) {
                                  caller_ = std::move(caller);
                                  end_switch(nullptr, &stack_of_caller_, &stack_bytes_of_caller_);
                                  struct last_switch {  // when it is unwound
                                    const strand& of;
                                    ~last_switch() {
                                      begin_switch(nullptr, of.stack_of_caller_, of.stack_bytes_of_caller_);
                                    }
                                  } const at_the_end{*this};
                                  for (;;) {
                                    if constexpr (sees_races) {
                                      speak();
                                      struct to_host {
                                        ~to_host() { speak_as_host(); }
                                      } const back;
                                      (*job_)();
                                    } else {
                                      (*job_)();
                                    }
                                    job_ = nullptr;
                                    leave();
                                  }
                                  return std::move(caller_);
                                });
}

strand::~strand() {
  void* fake_stack = nullptr;
  begin_switch(&fake_stack, stack_, stack_bytes_);
  here_ = boost::context::fiber();  // unwinds it
  end_switch(fake_stack, nullptr, nullptr);
#if defined(SIMULATOR_SEES_RACES)
  __tsan_destroy_fiber(known_as_);
#endif
}

void strand::resume() {
  void* fake_stack = nullptr;
  begin_switch(&fake_stack, stack_, stack_bytes_);
  here_ = std::move(here_).resume();
  end_switch(fake_stack, nullptr, nullptr);
}

void strand::leave() {
  const away from_here(*this);
  caller_ = std::move(caller_).resume();
}

#if defined(SIMULATOR_SEES_RACES)
void strand::speak() { __tsan_switch_to_fiber(known_as_, orders_nothing); }
void strand::speak_as_host() { __tsan_switch_to_fiber(the_host().known_as, orders_nothing); }

template <class Access>
void strand::access(const Access& what) {
  speak();
  what();
  speak_as_host();
}
void strand::release(const void* at) {
  access([&] { __tsan_release(const_cast<void*>(at)); });
}
void strand::acquire(const void* at) {
  access([&] { __tsan_acquire(const_cast<void*>(at)); });
}
void strand::reads(const void* from, std::size_t bytes) {
  access([&] { __tsan_read_range(const_cast<void*>(from), bytes); });
}
void strand::writes(void* to, std::size_t bytes) {
  access([&] { __tsan_write_range(to, bytes); });
}
void strand::reads_at_once(const void* from, std::size_t bytes) {
  const auto* const words = static_cast<const volatile __tsan_atomic64*>(from);
  access([&] {
    for (std::size_t k = 0; k < bytes / 8; ++k) __tsan_atomic64_load(words + k, __tsan_memory_order_relaxed);
  });
}
void strand::writes_at_once(void* to, std::size_t bytes) {
  auto* const words = static_cast<volatile __tsan_atomic64*>(to);  // whose value the machine writes
  access([&] {
    for (std::size_t k = 0; k < bytes / 8; ++k) __tsan_atomic64_fetch_or(words + k, 0, __tsan_memory_order_relaxed);
  });
}
void host_releases(const void* at) { __tsan_release(const_cast<void*>(at)); }
void host_acquires(const void* at) { __tsan_acquire(const_cast<void*>(at)); }
#else
void strand::speak() {}
void strand::speak_as_host() {}
void strand::release(const void*) {}
void strand::acquire(const void*) {}
void strand::reads(const void*, std::size_t) {}
void strand::writes(void*, std::size_t) {}
void strand::reads_at_once(const void*, std::size_t) {}
void strand::writes_at_once(void*, std::size_t) {}
void host_releases(const void*) {}
void host_acquires(const void*) {}
#endif

}  // namespace simulator

#if defined(SIMULATOR_SEES_RACES)
// A block reads the launch's number, its units follow from that, the watching block has seen them when it writes the
// next number. What orders these is that the one depends on the other, which ThreadSanitizer does not see. The number
// is the first word of its allocation; by the name, which a child process may not find out, nothing is printed.
extern "C" {
void __tsan_on_report(void* report) {
  int thread = 0;
  int bytes = 0;
  int is_write = 0;
  int is_atomic = 0;
  void* address = nullptr;
  void* trace[1] = {};
  __tsan_get_report_mop(report, 0, &thread, &address, &bytes, &is_write, &is_atomic, trace, 1);
  for (const simulator::allocation& one : simulator::device().memory.allocated()) {
    if (one.memory == address && bytes == 4) return;
  }
  ++simulator::races;
}
const char* __tsan_default_suppressions() {
  return "race:fanin::detail::close_launch\nrace:fanin::detail::close_chunks";
}
// One that is known does not hide the next.
const char* __tsan_default_options() {
  return "suppress_equal_stacks=0:suppress_equal_addresses=0:report_thread_leaks=0:exitcode=0";
}
}
#endif
