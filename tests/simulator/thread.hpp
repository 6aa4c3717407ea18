// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

/// What a thread of a simulated kernel does with others, and what the host does while kernels run. Each of these is a
/// place where the schedule may have another thread go on.
namespace simulator {

/// Where something is called: as std::source_location, which Clang 14 has not.
struct place {
  const char* file = "";
  unsigned line = 0;
  static constexpr place current(const char* of_caller = __builtin_FILE(), unsigned at = __builtin_LINE()) {
    return {of_caller, at};
  }
};

/// Whether a thread of a kernel runs now, and not the host.
bool in_kernel();

/// Lets others go on, if the schedule says so.
void give_way();
/// The same, now and then: where there are many of them in a row.
void may_give_way();

// --- Block and warp
void sync_block(place here);
/// All 32 lanes of the warp, with a word each; gives the words. `what` says which instruction it is: all lanes must
/// mean the same. Valid until the calling thread's next switch.
const std::uint32_t* lanes_meet(const char* what, std::uint32_t word, place here);
/// The block's object of so many bytes that `key` stands for, full of nonsense at first.
void* object_of_block(const void* key, std::size_t bytes, std::size_t alignment);
unsigned char* memory_of_launch();
std::size_t bytes_of_launch();
bool is_memory_of_block(const void* address);

// --- Cluster
void sync_cluster(place here);
unsigned rank_in_cluster();
unsigned blocks_of_cluster();
void* in_block_of_cluster(void* of_this_block, unsigned rank);

// --- Memory that blocks share. A plain store of another block is seen late or early, in any order; not before its
// fence and this block's, to be sure.
void fence(place here);
/// One access of 16 bytes, relaxed.
void store_relaxed_16(void* to, const void* value, place here);
void load_relaxed_16(void* value, const void* from, place here);

/// Before an atomic access, and behind it. Memory that is local to a thread has none.
void* begin_update(void* address, std::size_t bytes, place here);
void end_update(void* address, std::size_t bytes);
/// Whether this place is left out, to see that a test finds it: see machine.hpp.
bool is_left_out(const char* what, place here);
/// *to = change(*to), relaxed; gives what stood there.
template <class T, class Change>
T update(const char* what, T* to, place here, const Change& change) {
  T* const place = static_cast<T*>(begin_update(to, sizeof(T), here));
  if (is_left_out(what, here)) {  // not at once
    const T before = *place;
    give_way();
    *place = change(before);
    end_update(to, sizeof(T));
    return before;
  }
  const T before = __atomic_load_n(place, __ATOMIC_RELAXED);
  __atomic_store_n(place, change(before), __ATOMIC_RELAXED);
  end_update(to, sizeof(T));
  return before;
}

// --- Bulk copies. A barrier is 8 bytes in memory of the block.
void init_copy_barrier(void* barrier);
void publish_copy_barriers(place here);
void begin_bulk_copy(void* barrier, void* to, const void* from, std::uint32_t bytes, place here);
void wait_for_bulk_copy(void* barrier, std::uint32_t parity, place here);

// --- Grids of a stream
void wait_for_grid_before(place here);

/// Gives way until `there(of)`; `what` is for the report of a deadlock.
void wait_until(bool (*there)(const void* of), const void* of, const char* what, place here);
/// The calling thread has read this of memory that others write.
void observe(const void* bytes, std::size_t count);
/// Ends the kernel: what the code did is undefined on a device.
[[noreturn]] void fault(const char* what, place here = place::current());

/// The host waits a moment, in which the device goes on.
void host_pauses();
/// The same, so that works_while_host_waits() is true.
void work_while_host_waits();

}  // namespace simulator
