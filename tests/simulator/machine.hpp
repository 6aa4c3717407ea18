// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

/// A device that runs kernels' threads as fibres on the calling thread, one at a time, in an order that a seed decides.
namespace simulator {

/// Of several that can go on, which does.
enum class order {
  lowest,   ///< the one with the lowest index
  highest,  ///< with the highest
  in_turn,  ///< the next one
  any,      ///< drawn
  same,     ///< the one that went on last, while it can; then one that is drawn
};

struct policy {
  const char* name;
  order blocks;
  order warps;
  order lanes;
  bool starts_late;  ///< a block starts when no other can go on, and not as soon as there is room for it
};
const std::vector<policy>& policies();

/// Everything about a schedule follows from its seed.
struct schedule {
  std::uint64_t seed;
  policy by;
  unsigned
      stores_at_once;  ///< of 256 steps, in how many a store that is under way arrives; else where nobody can go on
  bool plain_stores_are_late;
  bool plain_loads_are_new;  ///< else a block sees what was there at its last fence, where plain stores are late
  unsigned naps_at_memory;   ///< the same around accesses to memory that other threads access at that time
  unsigned naps;             ///< of 65536 times that a thread may give way, how often it does until nobody can go on
  unsigned resident_blocks;  ///< of the whole device
  int multiprocessors;
  bool waits_at_launches = true;  ///< now and then the host, until a stream has done what is on it
  bool host_is_quick = false;     ///< the device goes on only where the host asks the runtime, and not while it looks

  explicit schedule(std::uint64_t of_seed);
  std::string text() const;
};

/// A device as new, of which nothing is allocated. Kernels that run are lost.
void begin(const schedule& how);
/// No device: its fibres are gone too, before a fork, which ThreadSanitizer takes only where there is one thread.
void end();
/// What the last kernel did wrong, and where its threads were; empty if nothing.
const std::string& last_fault();

/// How many launches were made so far, into streams and graphs, that may begin before the one before them has ended.
unsigned launches_that_start_early();

/// How many races of kernels' threads ThreadSanitizer has told of, in a build where it looks on.
std::uint64_t races_seen();
#if defined(SIMULATOR_SEES_RACES)
inline constexpr bool sees_races = true;
#else
inline constexpr bool sees_races = false;
#endif
/// Of a block, where the tests choose: to ThreadSanitizer each is a thread, of which it knows eight thousand.
inline constexpr int most_threads = sees_races ? 128 : 1024;

/// A place in the code that orders threads or makes an access one: what it is, and where.
struct ordering_place {
  std::string what;
  std::string file;  ///< with its folder
  unsigned line = 0;
  friend auto operator<=>(const ordering_place&, const ordering_place&) = default;
};
/// Notes in `seen` what kernels pass, until null.
void note_places(std::set<ordering_place>* seen);
/// From now on this place does nothing, or not at once: a barrier lets pass, a fence is none, a load past the cache is
/// a plain one, an atomic access is several. Whoever tests the code at that place must find out. Null: none.
void leave_out(const ordering_place* place);

/// All orders in which threads can go on and stores arrive, for few threads: while (next()) run it, again and again. An
/// order that comes to where another one has been is cut short.
class exploration {
 public:
  exploration() = default;
  ~exploration();
  exploration(const exploration&) = delete;
  exploration& operator=(const exploration&) = delete;

  /// A device as new, for the next order. False when there is none.
  bool next();
  bool was_cut_short() const { return was_cut_short_; }
  std::uint64_t schedules() const { return schedules_; }
  std::size_t states() const { return seen_.size(); }

  /// By the device: false where it has been already.
  bool choose(std::size_t of, const std::function<std::uint64_t()>& state, std::size_t& choice);

 private:
  struct fork {
    std::size_t choice;
    std::size_t of;
  };
  std::vector<fork> path_;
  std::unordered_set<std::uint64_t> seen_;
  std::size_t depth_ = 0;
  std::uint64_t schedules_ = 0;
  bool begun_ = false;
  bool was_cut_short_ = false;
};

struct counts {
  std::uint64_t schedules = 0;
  std::uint64_t launches = 0;
  std::uint64_t switches = 0;
};
const counts& counted();

// --- For the runtime

struct launch {
  std::function<void()> thread;  ///< what each does
  unsigned blocks = 1;
  unsigned threads = 32;
  unsigned blocks_of_cluster = 1;
  std::size_t dynamic_bytes = 0;
  bool starts_early = false;
};

/// Work that is done in order.
struct stream;
stream* make_stream();
void destroy(stream* of);
void enqueue(stream* on, launch kernel);
void enqueue(stream* on, std::function<void()> at_once);
/// Runs until there is nothing left to do on the stream; false when the device has failed.
bool finish(stream* on);
/// Runs a while; whether there is nothing left to do on the stream.
bool is_finished(stream* on);
bool finish_all();
bool has_failed();
/// Whether the caller is the device, while the host looks for what it writes.
bool works_while_host_waits();
int multiprocessors();
std::uint64_t draw(std::uint64_t below);

void* allocate(std::size_t bytes);
/// False if there is no such memory.
bool deallocate(void* memory);
/// Memory of the host under another address for the device, where each aligned word of 8 bytes arrives on its own.
void* allocate_mapped(std::size_t bytes, void*& of_device);
bool deallocate_mapped(void* of_host);
void* mapped_address(void* of_host);
/// Device blocks that are allocated, oldest first.
struct allocation {
  unsigned char* memory;
  std::size_t bytes;
};
std::vector<allocation> allocations();

}  // namespace simulator
