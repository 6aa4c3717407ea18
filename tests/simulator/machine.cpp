// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <memory>
#include <new>
#include <sstream>
#include <utility>

#include <fanin/device/bulk_copy.cuh>

#include "simulator/thread.hpp"

namespace simulator {

namespace {

constexpr unsigned lanes_of_warp = 32;
constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr std::uint64_t most_steps = 50'000'000;
/// Relaxed loads that a thread may do of memory that does not change, before it lets others go on.
constexpr unsigned patience = 16;
/// How often threads that wait for memory to change look again when nobody else can go on.
constexpr unsigned rounds_of_looks = 6;
/// Of more device memory than that blocks have no views of their own.
constexpr std::size_t most_viewed_bytes = std::size_t{32} << 10;
constexpr std::size_t arena_bytes = std::size_t{1} << 20;

class generator {
 public:
  explicit generator(std::uint64_t seed) : state_{seed} {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t end) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * end) >> 64);
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

/// A fibre that does one job after the other.
class strand {
 public:
  strand()
      : here_{std::allocator_arg, boost::context::protected_fixedsize_stack(stack_bytes),
              [this](boost::context::fiber&& caller) {
                caller_ = std::move(caller);
                for (;;) {
                  (*job_)();
                  job_ = nullptr;
                  leave();
                }
                return std::move(caller_);
              }} {}

  void start(const std::function<void()>& job) { job_ = &job; }
  bool is_done() const { return job_ == nullptr; }
  /// From outside: until it leaves or is done.
  void resume() { here_ = std::move(here_).resume(); }
  /// From inside.
  void leave() { caller_ = std::move(caller_).resume(); }

 private:
  const std::function<void()>* job_ = nullptr;
  boost::context::fiber caller_;
  boost::context::fiber here_;
};

struct block;
struct grid;

struct thread {
  block* of = nullptr;
  unsigned index = 0;
  std::unique_ptr<strand> fibre;
  bool is_done = false;
  unsigned meetings = 0;
  // What it waits for.
  const char* waits_for = nullptr;
  place waits_at;
  bool (*there)(const void*) = nullptr;
  const void* of_what = nullptr;
  // Polling.
  std::uint64_t version_seen = 0;
  unsigned looks = 0;
  std::uint64_t history = 0;  ///< of what it has read: with that, what it does next is decided
};

struct warp {
  std::uint32_t ready = 0;
  std::uint32_t arrived = 0;
  const char* meeting = nullptr;
  unsigned last = 0;
  std::array<std::array<std::uint32_t, lanes_of_warp>, 2> words{};
};

/// Up to four bytes that were stored plainly and have not arrived.
struct late_word {
  std::size_t at;
  std::uint32_t value;
  std::uint32_t mask;
};

struct late_unit {
  const block* by;
  unsigned thread;
  void* to;
  std::array<unsigned char, 16> value;
  std::size_t bytes;
};

struct object {
  const void* key;
  unsigned char* memory;
  std::size_t bytes;
};

struct cluster {
  std::vector<block*> blocks;
  unsigned arrived = 0;
  unsigned done = 0;
};

struct block {
  grid* of = nullptr;
  unsigned index = 0;
  std::shared_ptr<cluster> in;
  std::vector<thread> threads;
  std::vector<warp> warps;
  std::uint32_t ready_warps = 0;
  unsigned last_warp = 0;
  unsigned done = 0;
  unsigned at_barrier = 0;
  place barrier;
  std::vector<object> objects;
  unsigned char* dynamic_memory = nullptr;
  bool lets_next_grid_start = false;
  std::vector<unsigned char> view;
  std::vector<late_word> late;
};

struct grid {
  launch what;
  stream* on = nullptr;
  unsigned next = 0;      ///< block to start
  unsigned done = 0;      ///< blocks
  unsigned let_next = 0;  ///< blocks that are done or let the next grid start
  bool begun = false;
  bool is_complete = false;
  std::vector<std::unique_ptr<block>> blocks;  ///< that run
  std::vector<std::unique_ptr<block>> ended;   ///< whose stores may be under way, or whose memory others may read
  bool is_done() const { return done == what.blocks; }
};

struct bulk_copy {
  void* barrier;
  unsigned char* to;
  const unsigned char* from;
  std::size_t bytes;
};

struct mapped {
  std::vector<std::uint64_t> host;
  std::vector<std::uint64_t> device;
  std::vector<std::uint64_t> sent;  ///< what of the device has arrived
  std::vector<std::uint64_t> left;  ///< what stood at the host then
};

}  // namespace

struct stream {
  struct work {
    std::unique_ptr<grid> kernel;
    std::function<void()> at_once;
  };
  std::deque<work> queue;
};

namespace {

class machine {
 public:
  machine() : how{0}, random{0} {
    arena = static_cast<unsigned char*>(std::aligned_alloc(4096, arena_bytes));
    truth.resize(arena_bytes);
  }

  schedule how;
  generator random;
  std::string fault_text;
  counts so_far;

  thread* current = nullptr;

  void begin(const schedule& next) {
    stop();
    streams.clear();
    how = next;
    random = generator(next.seed);
    fault_text.clear();
    for (const allocation& one : allocated) release(one);
    allocated.clear();
    mapped_blocks.clear();
    arena_used = 0;
    owner = nullptr;
    views_are_on = false;
    version = 1;
    version_of_lookers = 0;
    rounds = 0;
    turn = 0;
    something_changed = false;
    steps = 0;
    ++so_far.schedules;
  }

  bool failed() const { return !fault_text.empty(); }

  // --- The host's side

  std::vector<std::unique_ptr<stream>> streams;

  bool run(const std::function<bool()>& until) {
    while (!failed() && !until()) {
      if (!step()) break;
    }
    leave_kernel();
    return !failed();
  }
  void run_some(std::uint64_t most) {
    for (std::uint64_t k = 0; k < most && !failed() && step(); ++k) continue;
    leave_kernel();
  }
  bool is_idle() const {
    return std::all_of(streams.begin(), streams.end(), [](const auto& one) { return one->queue.empty(); });
  }

  /// Every word that the device wrote, or each with some luck.
  void send_mail(bool all) {
    for (const auto& block_of_words : mapped_blocks) {
      mapped& words = *block_of_words;
      if (words.device == words.sent && words.host == words.left) continue;
      for (std::size_t k = 0; k < words.host.size(); ++k) {
        if (words.host[k] != words.left[k]) {  // the host wrote it
          words.device[k] = words.sent[k] = words.left[k] = words.host[k];
        } else if (words.device[k] != words.sent[k] && (all || random.one_in(2))) {
          words.host[k] = words.left[k] = words.sent[k] = words.device[k];
        }
      }
    }
  }

  // --- Memory

  struct owned_allocation : allocation {};
  std::vector<allocation> allocated;
  std::vector<std::unique_ptr<mapped>> mapped_blocks;

  void* allocate(std::size_t bytes) {
    leave_kernel();
    const std::size_t room = (std::max<std::size_t>(bytes, 1) + 255) / 256 * 256;
    unsigned char* memory = nullptr;
    if (arena_used + room <= arena_bytes) {
      memory = arena + arena_used;
      arena_used += room;
    } else {
      memory = static_cast<unsigned char*>(std::aligned_alloc(256, room));
    }
    fill_with_nonsense(memory, bytes);
    allocated.push_back({memory, bytes});
    return memory;
  }
  bool deallocate(void* memory) {
    const auto found =
        std::find_if(allocated.begin(), allocated.end(), [&](const allocation& one) { return one.memory == memory; });
    if (found == allocated.end()) return false;
    leave_kernel();
    fill_with_nonsense(found->memory, found->bytes);
    release(*found);
    allocated.erase(found);
    return true;
  }

  void fill_with_nonsense(void* memory, std::size_t bytes) {
    auto* const to = static_cast<unsigned char*>(memory);
    const std::uint64_t word = random.next() | 0x0101010101010101ULL;
    std::size_t k = 0;
    for (; k + 8 <= bytes; k += 8) std::memcpy(to + k, &word, 8);
    for (; k < bytes; ++k) to[k] = static_cast<unsigned char>(word);
  }

  // --- A thread's side

  /// Lets others go on. `naps` of 65536 times until nobody else can.
  void suspend(unsigned naps) {
    if (naps > 0 && random.below(65'536) < naps && is_ready(*current)) {
      set_waiting(*current, "nothing, it naps", place::current());
      nappers.push_back(current);
    }
    current->fibre->leave();
  }

  void suspend() { suspend(how.naps); }
  /// Around an access to memory that others access.
  void suspend_at_memory() { suspend(how.naps_at_memory); }

  static bool is_ready(const thread& one) {
    return (one.of->warps[one.index / lanes_of_warp].ready >> (one.index % lanes_of_warp) & 1) != 0;
  }
  void set_ready(thread& one) {
    const unsigned w = one.index / lanes_of_warp;
    one.of->warps[w].ready |= 1U << (one.index % lanes_of_warp);
    one.of->ready_warps |= 1U << w;
    one.waits_for = nullptr;
  }
  void set_waiting(thread& one, const char* what, const place& here) {
    const unsigned w = one.index / lanes_of_warp;
    if ((one.of->warps[w].ready &= ~(1U << (one.index % lanes_of_warp))) == 0) one.of->ready_warps &= ~(1U << w);
    one.waits_for = what;
    one.waits_at = here;
  }
  void wait(const char* what, const place& here) {
    set_waiting(*current, what, here);
    suspend();
  }

  [[noreturn]] void fault_in_thread(const std::string& what, const place& here) {
    if (!failed()) {
      std::ostringstream text;
      text << what << ", by thread " << current->index << " of block " << current->of->index << " at " << name_of(here)
           << "\n"
           << where_all_are();
      fault_text = text.str();
    }
    for (;;) suspend();
  }

  // --- Exploring

  exploration* search = nullptr;

  static std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
    return generator(state ^ word * 0x9fb21c651e98df25ULL).next();
  }
  static std::uint64_t mixed(std::uint64_t state, const void* bytes, std::size_t count) {
    const auto* const from = static_cast<const unsigned char*>(bytes);
    for (std::size_t k = 0; k < count; ++k) state = (state ^ from[k]) * 0x100000001b3ULL;
    return mixed(state, count);
  }
  void observe(const void* bytes, std::size_t count) {
    if (search != nullptr) current->history = mixed(current->history, bytes, count);
  }

  /// Everything on which the rest of a schedule depends.
  std::uint64_t state_of_all() {
    take_over(nullptr);
    std::uint64_t state = mixed(0, truth.data(), viewed_bytes);
    for (const late_unit& unit : late_units) {
      // In no order, but for stores to one place.
      state += mixed(mixed(unit.thread, reinterpret_cast<std::uintptr_t>(unit.to)), unit.value.data(), unit.bytes);
    }
    for (std::unique_ptr<grid>* held : kernels()) {
      for (auto* const blocks : {&(*held)->blocks, &(*held)->ended}) {
        for (const auto& b : *blocks) {
          state = mixed(state, b->index);
          state = mixed(state, b->view.data(), b->view.size());
          for (const late_word& word : b->late) state += mixed(mixed(word.at, word.value), word.mask);
          for (const thread& one : b->threads) state = mixed(state, one.is_done ? 1 : one.history);
        }
      }
    }
    return state;
  }

  /// One of all threads that can go on and stores that can arrive, as the search says.
  bool step_of_search() {
    while (start_next()) continue;
    std::vector<thread*> threads;
    for (block* const b : running) {
      for (thread& one : b->threads) {
        if (is_ready(one)) threads.push_back(&one);
      }
    }
    std::vector<std::size_t> units;
    for (std::size_t k = 0; k < late_units.size(); ++k) {
      const bool is_first = std::none_of(late_units.begin(), late_units.begin() + static_cast<std::ptrdiff_t>(k),
                                         [&](const late_unit& earlier) { return earlier.to == late_units[k].to; });
      if (is_first) units.push_back(k);
    }
    std::vector<std::pair<block*, std::size_t>> words;
    take_over(nullptr);
    for (std::unique_ptr<grid>* held : kernels()) {
      for (auto* const blocks : {&(*held)->blocks, &(*held)->ended}) {
        for (const auto& b : *blocks) {
          for (std::size_t k = 0; k < b->late.size(); ++k) words.emplace_back(b.get(), k);
        }
      }
    }
    std::size_t choice = 0;
    const std::size_t count = threads.size() + units.size() + words.size();
    if (count == 0) return false;
    if (count > 1 && !search->choose(count, [&] { return state_of_all(); }, choice)) {
      stop();
      return true;
    }
    if (choice < threads.size()) {
      thread& one = *threads[choice];
      one.history = mixed(one.history, 1);
      run_thread(one);
    } else if (choice < threads.size() + units.size()) {
      const auto at = late_units.begin() + static_cast<std::ptrdiff_t>(units[choice - threads.size()]);
      arrive(*at);
      late_units.erase(at);
    } else {
      const auto [b, k] = words[choice - threads.size() - units.size()];
      arrive(b->late[k]);
      b->late.erase(b->late.begin() + static_cast<std::ptrdiff_t>(k));
    }
    return true;
  }

  // --- Places that are noted or left out

  std::set<ordering_place>* seen_places = nullptr;
  ordering_place left_out;
  bool leaves_out = false;

  static ordering_place place_of(const char* what, const place& here) {
    std::string path = here.file;
    const std::size_t name = path.rfind('/');
    const std::size_t folder = name == std::string::npos || name == 0 ? name : path.rfind('/', name - 1);
    return {what, folder == std::string::npos ? path : path.substr(folder + 1), here.line};
  }
  bool is_left_out(const char* what, const place& here) {
    if (seen_places != nullptr) seen_places->insert(place_of(what, here));
    return leaves_out && here.line == left_out.line && place_of(what, here) == left_out;
  }

  void sync_block(const place& here) {
    if (is_left_out("__syncthreads", here)) return suspend();
    block& b = *current->of;
    if (b.at_barrier == 0) {
      b.barrier = here;
    } else if (b.barrier.line != here.line || std::strcmp(b.barrier.file, here.file) != 0) {
      fault_in_thread("threads of a block meet at different barriers: one at " + name_of(b.barrier), here);
    }
    if (++b.at_barrier < b.threads.size()) return wait("__syncthreads", here);
    b.at_barrier = 0;
    for (thread& one : b.threads) set_ready(one);
    suspend();
  }

  void sync_cluster(const place& here) {
    if (is_left_out("sync_cluster", here)) return suspend();
    cluster& c = *current->of->in;
    const std::size_t all = c.blocks.size() * current->of->threads.size();
    if (++c.arrived < all) return wait("sync_cluster", here);
    c.arrived = 0;
    for (block* const b : c.blocks) {
      for (thread& one : b->threads) set_ready(one);
    }
    suspend();
  }

  const std::uint32_t* lanes_meet(const char* what, std::uint32_t word, const place& here) {
    thread& me = *current;
    warp& w = me.of->warps[me.index / lanes_of_warp];
    const unsigned lane = me.index % lanes_of_warp;
    if (std::strcmp(what, "__syncwarp") == 0 && is_left_out(what, here)) {
      suspend();
      return nullptr;
    }
    auto& words = w.words[me.meetings++ % 2];
    words[lane] = word;
    if (w.arrived == 0) {
      w.meeting = what;
    } else if (std::strcmp(w.meeting, what) != 0) {
      fault_in_thread(std::string("lanes of a warp mean different instructions: ") + w.meeting + " and " + what, here);
    }
    w.arrived |= 1U << lane;
    // A block may have fewer threads than a warp, where a test says so: the others are taken to do as the first.
    const unsigned lanes = std::min(lanes_of_warp, static_cast<unsigned>(me.of->threads.size()));
    std::fill(words.begin() + lanes, words.end(), words[0]);
    if (w.arrived != ~0U >> (lanes_of_warp - lanes)) {
      wait(what, here);
    } else {
      w.arrived = 0;
      for (unsigned k = 0; k < lanes; ++k) set_ready(me.of->threads[me.index - lane + k]);
      suspend();
    }
    return words.data();
  }

  void* object_of_block(const void* key, std::size_t bytes, std::size_t alignment) {
    block& b = *current->of;
    for (const object& one : b.objects) {
      if (one.key == key) return one.memory;
    }
    const std::size_t most = std::max<std::size_t>(alignment, 64);
    auto* const memory = static_cast<unsigned char*>(std::aligned_alloc(most, (bytes + most - 1) / most * most));
    fill_with_nonsense(memory, bytes);
    b.objects.push_back({key, memory, bytes});
    return memory;
  }

  static bool is_within(const void* address, const unsigned char* memory, std::size_t bytes) {
    const auto* const at = static_cast<const unsigned char*>(address);
    return memory != nullptr && at >= memory && at < memory + bytes;
  }
  bool is_memory_of_block(const void* address) const {
    const block& b = *current->of;
    if (is_within(address, b.dynamic_memory, b.of->what.dynamic_bytes)) return true;
    return std::any_of(b.objects.begin(), b.objects.end(),
                       [&](const object& one) { return is_within(address, one.memory, one.bytes); });
  }

  void* in_block_of_cluster(void* of_this_block, unsigned rank) {
    const block& mine = *current->of;
    const block& other = *mine.in->blocks[rank];
    for (const object& one : mine.objects) {
      if (!is_within(of_this_block, one.memory, one.bytes)) continue;
      const auto offset = static_cast<unsigned char*>(of_this_block) - one.memory;
      for (const object& same : other.objects) {
        if (same.key == one.key) {
          if (other.done == other.threads.size()) {
            fault_in_thread("memory of a block of the cluster that has ended", place::current());
          }
          return same.memory + offset;
        }
      }
      fault_in_thread("memory of a block of the cluster that has not started", place::current());
    }
    fault_in_thread("no memory of this block", place::current());
  }

  // --- Memory between blocks. Where views are on, the arena holds what the owner sees, and `truth` what has arrived.

  bool is_viewed(const void* address) const { return views_are_on && is_within(address, arena, viewed_bytes); }
  unsigned char* arrived_at(const void* address) {
    if (!is_viewed(address)) return const_cast<unsigned char*>(static_cast<const unsigned char*>(address));
    return truth.data() + (static_cast<const unsigned char*>(address) - arena);
  }

  /// Finds what the owner stored since it took over.
  void collect_stores() {
    if (!views_are_on) return;
    if (owner == nullptr) {
      std::memcpy(truth.data(), arena, viewed_bytes);
      return;
    }
    unsigned char* const view = owner->view.data();
    if (std::memcmp(view, arena, viewed_bytes) == 0) return;
    for (std::size_t at = 0; at < viewed_bytes; at += 4) {
      if (std::memcmp(view + at, arena + at, 4) == 0) continue;
      late_word word{at, 0, 0};
      std::memcpy(&word.value, arena + at, 4);
      for (unsigned k = 0; k < 4; ++k) {
        if (view[at + k] != arena[at + k]) word.mask |= 0xffU << (8 * k);
      }
      const auto same =
          std::find_if(owner->late.begin(), owner->late.end(), [&](const late_word& one) { return one.at == at; });
      if (same == owner->late.end()) {
        owner->late.push_back(word);
      } else {
        same->value = word.value;
        same->mask |= word.mask;
      }
      std::memcpy(view + at, arena + at, 4);
    }
  }
  static void put(unsigned char* memory, const late_word& word) {
    std::uint32_t there = 0;
    std::memcpy(&there, memory + word.at, 4);
    there = (there & ~word.mask) | (word.value & word.mask);
    std::memcpy(memory + word.at, &there, 4);
  }
  void arrive(const late_word& word) {
    put(truth.data(), word);
    if (owner == nullptr) put(arena, word);
    ++version;
  }
  void refresh_view(block& b) {
    if (!views_are_on) return;
    b.view.assign(truth.begin(), truth.begin() + static_cast<std::ptrdiff_t>(viewed_bytes));
    for (const late_word& word : b.late) put(b.view.data(), word);
    if (owner == &b) std::memcpy(arena, b.view.data(), viewed_bytes);
  }
  void take_over(block* next) {
    if (owner == next || !views_are_on) {
      owner = next;
      return;
    }
    collect_stores();
    owner = next;
    if (next == nullptr) {
      std::memcpy(arena, truth.data(), viewed_bytes);
    } else {
      if (how.plain_loads_are_new) refresh_view(*next);
      std::memcpy(arena, next->view.data(), viewed_bytes);
    }
  }
  void leave_kernel() { take_over(nullptr); }

  void arrive(const late_unit& unit) {
    std::memcpy(arrived_at(unit.to), unit.value.data(), unit.bytes);
    if (owner == nullptr) std::memcpy(unit.to, unit.value.data(), unit.bytes);
    ++version;
  }
  void arrive_all_of(const block& b) {
    for (std::size_t k = 0; k < late_units.size();) {
      if (late_units[k].by == &b) {
        arrive(late_units[k]);
        late_units.erase(late_units.begin() + static_cast<std::ptrdiff_t>(k));
      } else {
        ++k;
      }
    }
  }
  /// One store that is under way.
  bool arrive_one() {
    if (!late_units.empty()) {
      std::size_t k = random.below(late_units.size());
      for (std::size_t earlier = 0; earlier < k; ++earlier) {
        if (late_units[earlier].to == late_units[k].to) k = earlier;
      }
      arrive(late_units[k]);
      late_units.erase(late_units.begin() + static_cast<std::ptrdiff_t>(k));
      return true;
    }
    if (!views_are_on) return false;
    take_over(nullptr);
    for (const std::unique_ptr<grid>* g : kernels()) {
      for (auto* const blocks : {&(*g)->blocks, &(*g)->ended}) {
        for (const auto& b : *blocks) {
          if (b->late.empty()) continue;
          const std::size_t k = random.below(b->late.size());
          arrive(b->late[k]);
          b->late.erase(b->late.begin() + static_cast<std::ptrdiff_t>(k));
          return true;
        }
      }
    }
    return false;
  }

  void fence(const place& here) {
    suspend_at_memory();
    if (is_left_out("__threadfence", here)) return;
    block& b = *current->of;
    collect_stores();
    for (const late_word& word : b.late) arrive(word);
    b.late.clear();
    arrive_all_of(b);
    refresh_view(b);
    suspend_at_memory();
  }

  /// What a thread of the owner gets that looks past its view.
  void load_arrived(void* to, const void* from, std::size_t bytes) {
    if (!is_viewed(from)) {
      std::memcpy(to, from, bytes);
      return;
    }
    const auto offset = static_cast<std::size_t>(static_cast<const unsigned char*>(from) - arena);
    auto* const value = static_cast<unsigned char*>(to);
    collect_stores();
    std::memcpy(value, truth.data() + offset, bytes);
    for (const late_word& word : owner->late) {
      for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t at = word.at + k;
        if ((word.mask >> (8 * k) & 0xff) != 0 && at >= offset && at < offset + bytes) {
          value[at - offset] = static_cast<unsigned char>(word.value >> (8 * k));
        }
      }
    }
  }

  void check_allocated(const void* address, const place& here) {
    if (!is_within(address, arena, arena_bytes)) return;
    for (const allocation& one : allocated) {
      if (is_within(address, one.memory, one.bytes)) return;
    }
    fault_in_thread("an access to device memory that is not allocated", here);
  }

  void store_relaxed_16(void* to, const void* value, const place& here) {
    check_allocated(to, here);
    suspend_at_memory();
    late_unit unit{current->of, current->index, to, {}, 16};
    std::memcpy(unit.value.data(), value, unit.value.size());
    if (is_left_out("store_unit", here)) {  // in halves
      late_unit half = unit;
      half.bytes = unit.bytes = 8;
      half.to = static_cast<unsigned char*>(to) + 8;
      std::copy_n(unit.value.data() + 8, 8, half.value.data());
      late_units.push_back(half);
    }
    late_units.push_back(unit);
  }

  void load_relaxed_16(void* value, const void* from, const place& here) {
    check_allocated(from, here);
    suspend_at_memory();
    look_again(here);
    if (is_left_out("load_unit", here)) {  // in halves
      const std::size_t first = random.one_in(2) ? 0 : 8;
      for (const std::size_t half : {first, 8 - first}) {
        load_arrived(static_cast<unsigned char*>(value) + half, static_cast<const unsigned char*>(from) + half, 8);
        suspend_at_memory();
      }
      return;
    }
    load_arrived(value, from, 16);
    observe(value, 16);
    for (const late_unit& unit : late_units) {
      if (unit.to == from && unit.by == current->of && unit.thread == current->index) {
        std::memcpy(value, unit.value.data(), unit.bytes);
      }
    }
  }
  /// A thread that looks at memory again and again, which does not change, waits until it does.
  void look_again(const place& here) {
    thread& me = *current;
    if (me.version_seen != version) {
      me.version_seen = version;
      me.looks = 0;
      return;
    }
    if (++me.looks < (search == nullptr ? patience : 4)) return;
    me.looks = 0;
    lookers.push_back(&me);
    wait("memory that another block writes", here);
  }

  void* begin_update(void* address, std::size_t bytes) {
    check_allocated(address, place::current());
    suspend_at_memory();
    observe(arrived_at(address), bytes);
    if (!is_viewed(address)) return address;
    const auto offset = static_cast<std::size_t>(static_cast<unsigned char*>(address) - arena);
    collect_stores();
    std::erase_if(owner->late, [&](const late_word& word) {
      if (word.at + 4 <= offset || word.at >= offset + bytes) return false;
      arrive(word);
      return true;
    });
    return truth.data() + offset;
  }
  void end_update(void* address, std::size_t bytes) {
    if (!is_memory_of_block(address)) ++version;
    if (!is_viewed(address)) return suspend_at_memory();
    const auto offset = static_cast<std::size_t>(static_cast<unsigned char*>(address) - arena);
    std::memcpy(arena + offset, truth.data() + offset, bytes);
    std::memcpy(owner->view.data() + offset, truth.data() + offset, bytes);
    suspend_at_memory();
  }

  void begin_bulk_copy(void* barrier, void* to, const void* from, std::size_t bytes) {
    copies.push_back({barrier, static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), bytes});
    suspend();
  }

  void wait_until(bool (*there)(const void*), const void* of_what, const char* what, const place& here) {
    suspend();
    if (there(of_what)) return;
    current->there = there;
    current->of_what = of_what;
    waiters.push_back(current);
    wait(what, here);
  }

  void wait_for_grid_before(const place& here) {
    block& b = *current->of;
    if (is_left_out("wait_for_grid_before", here)) {
      let_next_grid_start(b);
      return suspend_at_memory();
    }
    wait_until(
        [](const void* of_what) {
          const auto* const g = static_cast<const grid*>(of_what);
          return g->on->queue.front().kernel.get() == g;
        },
        b.of, "the grid before", here);
    collect_stores();
    refresh_view(b);
    let_next_grid_start(b);
  }

 private:
  static std::string name_of(const place& here) {
    const std::string path = here.file;
    return path.substr(path.rfind('/') + 1) + ":" + std::to_string(here.line);
  }

  void release(const allocation& one) {
    if (!is_within(one.memory, arena, arena_bytes)) std::free(one.memory);
  }

  std::vector<std::unique_ptr<grid>*> kernels() {
    std::vector<std::unique_ptr<grid>*> all;
    for (const auto& one : streams) {
      for (auto& work : one->queue) {
        if (work.kernel != nullptr && work.kernel->begun) all.push_back(&work.kernel);
      }
    }
    return all;
  }

  void let_next_grid_start(block& b) {
    if (b.lets_next_grid_start) return;
    b.lets_next_grid_start = true;
    ++b.of->let_next;
  }

  // --- Scheduling

  /// Of a mask that is not 0.
  unsigned pick(std::uint32_t mask, order by, unsigned last) {
    switch (by) {
      case order::lowest: return static_cast<unsigned>(std::countr_zero(mask));
      case order::highest: return 31 - static_cast<unsigned>(std::countl_zero(mask));
      case order::in_turn: {
        const std::uint32_t later = last == 31 ? 0 : mask & (~0U << (last + 1));
        return static_cast<unsigned>(std::countr_zero(later != 0 ? later : mask));
      }
      case order::same:
        if ((mask >> last & 1) != 0) return last;
        break;
      case order::any: break;
    }
    if (std::has_single_bit(mask)) return static_cast<unsigned>(std::countr_zero(mask));
    auto k = static_cast<unsigned>(random.below(static_cast<unsigned>(std::popcount(mask))));
    for (; k > 0; --k) mask &= mask - 1;
    return static_cast<unsigned>(std::countr_zero(mask));
  }

  block* pick_block() {
    block* found = nullptr;
    unsigned seen = 0;
    const order by = how.by.blocks;
    if (by == order::same && last_block != nullptr && last_block->ready_warps != 0) return last_block;
    if (by == order::in_turn) {
      const std::size_t n = running.size();
      for (std::size_t k = 1; k <= n; ++k) {
        block* const b = running[(turn + k) % n];
        if (b->ready_warps == 0) continue;
        turn = (turn + k) % n;
        return b;
      }
      return nullptr;
    }
    for (block* const b : running) {
      if (b->ready_warps == 0) continue;
      ++seen;
      switch (by) {
        case order::lowest:
          if (found == nullptr || b->index < found->index) found = b;
          break;
        case order::highest:
          if (found == nullptr || b->index > found->index) found = b;
          break;
        default:
          if (random.below(seen) == 0) found = b;
      }
    }
    return found;
  }

  void run_thread(thread& one);

  void retire(block& b) {
    grid& g = *b.of;
    let_next_grid_start(b);
    ++g.done;
    running.erase(std::find(running.begin(), running.end(), &b));
    if (last_block == &b) last_block = nullptr;
    for (thread& one : b.threads) strands.push_back(std::move(one.fibre));
    const auto at = std::find_if(g.blocks.begin(), g.blocks.end(), [&](const auto& held) { return held.get() == &b; });
    take_over(nullptr);
    g.ended.push_back(std::move(*at));
    g.blocks.erase(at);
    if (g.is_done()) something_changed = true;
  }

  /// The end of a grid whose blocks have ended: what they stored is there for all that comes behind.
  void complete(grid& g) {
    take_over(nullptr);
    for (const auto& ended : g.ended) {
      for (const late_word& word : ended->late) arrive(word);
      ended->late.clear();
      arrive_all_of(*ended);
      free_memory(*ended);
    }
    g.is_complete = true;
    something_changed = true;
  }
  bool complete_one() {
    for (std::unique_ptr<grid>* held : kernels()) {
      if (!(*held)->is_done() || (*held)->is_complete) continue;
      complete(**held);
      return true;
    }
    return false;
  }

  void free_memory(block& b) {
    for (const object& one : b.objects) std::free(one.memory);
    std::free(b.dynamic_memory);
    b.objects.clear();
    b.dynamic_memory = nullptr;
  }

  /// The next block (or cluster) of the first grid that has one and may start it.
  bool start_next() {
    if (!may_start) return false;
    for (std::unique_ptr<grid>* held : kernels()) {
      grid& g = **held;
      const unsigned some = g.what.blocks_of_cluster;
      if (g.next == g.what.blocks) continue;
      if (!running.empty() && running.size() + some > how.resident_blocks) return false;
      const auto together = std::make_shared<cluster>();
      for (unsigned k = 0; k < some; ++k) start_block(g, together);
      return true;
    }
    return may_start = false;
  }

  void start_block(grid& g, const std::shared_ptr<cluster>& together) {
    take_over(nullptr);
    if (running.empty()) {
      views_are_on = how.plain_stores_are_late && arena_used <= most_viewed_bytes;
      viewed_bytes = arena_used;
    }
    if (views_are_on) std::memcpy(truth.data(), arena, viewed_bytes);
    auto made = std::make_unique<block>();
    block& b = *made;
    b.of = &g;
    b.index = g.next++;
    b.in = together;
    together->blocks.push_back(&b);
    b.threads.resize(g.what.threads);
    b.warps.resize((g.what.threads + lanes_of_warp - 1) / lanes_of_warp);
    if (g.what.dynamic_bytes > 0) {
      b.dynamic_memory = static_cast<unsigned char*>(std::aligned_alloc(128, (g.what.dynamic_bytes + 127) / 128 * 128));
      fill_with_nonsense(b.dynamic_memory, g.what.dynamic_bytes);
    }
    refresh_view(b);
    for (unsigned k = 0; k < g.what.threads; ++k) {
      thread& one = b.threads[k];
      one.of = &b;
      one.index = k;
      if (strands.empty()) {
        one.fibre = std::make_unique<strand>();
      } else {
        one.fibre = std::move(strands.back());
        strands.pop_back();
      }
      one.fibre->start(g.what.thread);
      set_ready(one);
    }
    running.push_back(&b);
    g.blocks.push_back(std::move(made));
  }

  /// Takes from the streams what is done, and begins what may begin.
  void advance_streams() {
    for (const auto& one : streams) {
      bool earlier_let_start = true;
      while (!one->queue.empty()) {
        stream::work& first = one->queue.front();
        if (first.at_once) {
          take_over(nullptr);
          const auto work = std::move(first.at_once);
          one->queue.pop_front();
          work();
          continue;
        }
        if (!first.kernel->is_done()) break;
        // Not yet, where the next grid may have started before: its blocks then come between.
        const bool may_be_later = search == nullptr && one->queue.size() > 1 && one->queue[1].kernel != nullptr &&
                                  one->queue[1].kernel->what.starts_early;
        if (!first.kernel->is_complete && may_be_later && !random.one_in(256)) break;
        if (!first.kernel->is_complete) complete(*first.kernel);
        one->queue.pop_front();
        something_changed = true;
      }
      bool is_first = true;
      for (stream::work& work : one->queue) {
        if (work.kernel == nullptr) break;
        grid& g = *work.kernel;
        if (!g.begun && !is_first && (!g.what.starts_early || !earlier_let_start)) break;
        may_start = may_start || !g.begun;
        g.begun = true;
        is_first = false;
        earlier_let_start = earlier_let_start && g.let_next == g.what.blocks;
      }
    }
  }

  bool wake_waiters() {
    bool any = false;
    std::erase_if(waiters, [&](thread* one) {
      if (!one->there(one->of_what)) return false;
      set_ready(*one);
      return any = true;
    });
    return any;
  }
  bool wake_lookers() {
    const bool any = !lookers.empty();
    for (thread* const one : lookers) set_ready(*one);
    lookers.clear();
    version_of_lookers = version;
    return any;
  }

  bool wake_napper() {
    if (nappers.empty()) return false;
    std::swap(nappers[random.below(nappers.size())], nappers.back());
    set_ready(*nappers.back());
    nappers.pop_back();
    return true;
  }

  /// Where no thread can go on.
  bool do_something_else() {
    const std::uint64_t first = random.below(5);
    for (std::uint64_t k = 0; k < 5; ++k) {
      switch ((first + k) % 5) {
        case 0:
          if (start_next()) return true;
          break;
        case 1:
          if (move_bulk_copy()) return true;
          break;
        case 2:
          if (arrive_one()) return true;
          break;
        case 3:
          if (complete_one()) return true;
          break;
        default:
          if (wake_napper()) return true;
      }
    }
    return wake_waiters();
  }

  bool move_bulk_copy() {
    if (copies.empty()) return false;
    const std::size_t k = random.below(copies.size());
    bulk_copy& one = copies[k];
    // In pieces, from either end.
    const std::size_t piece = std::min<std::size_t>(one.bytes, std::size_t{4096} << random.below(4));
    if (random.one_in(2)) {
      std::memcpy(one.to, one.from, piece);
      one.to += piece;
      one.from += piece;
    } else {
      std::memcpy(one.to + one.bytes - piece, one.from + one.bytes - piece, piece);
    }
    one.bytes -= piece;
    fanin::detail::copy_barrier::bytes_came(one.barrier, static_cast<std::uint32_t>(piece));
    if (one.bytes == 0) copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(k));
    something_changed = true;
    return true;
  }

  bool step() {
    if (failed()) return false;
    if (++steps > most_steps) {
      fault_text = "no end after " + std::to_string(steps) + " steps\n" + where_all_are();
      stop();
      return false;
    }
    advance_streams();
    if (something_changed) {
      something_changed = false;
      wake_waiters();
    }
    if (version != version_of_lookers && !lookers.empty()) {
      rounds = 0;
      wake_lookers();
    }
    if (search != nullptr && step_of_search()) return true;
    if (how.stores_at_once > 0 && random.below(256) < how.stores_at_once) arrive_one();
    if (!copies.empty() && random.one_in(8)) move_bulk_copy();
    if (!how.by.starts_late || random.one_in(256)) start_next();
    block* const b = pick_block();
    if (b == nullptr) {
      if (do_something_else()) return true;
      if (!lookers.empty() && ++rounds <= rounds_of_looks) return wake_lookers();
      advance_streams();
      if (is_idle()) return false;
      if (something_changed) return true;
      fault_text = "nobody can go on\n" + where_all_are();
      stop();
      return false;
    }
    last_block = b;
    b->last_warp = pick(b->ready_warps, how.by.warps, b->last_warp);
    warp& w = b->warps[b->last_warp];
    w.last = pick(w.ready, how.by.lanes, w.last);
    run_thread(b->threads[b->last_warp * lanes_of_warp + w.last]);
    return true;
  }

  /// What every thread that has not ended does: those of a warp that do the same in one line.
  std::string where_all_are() {
    std::ostringstream text;
    for (std::unique_ptr<grid>* held : kernels()) {
      const grid& g = **held;
      text << "  a grid of " << g.what.blocks << " blocks of " << g.what.threads << ": " << g.done << " ended, "
           << g.what.blocks - g.next << " not started\n";
      for (const auto& b : g.blocks) {
        for (std::size_t first = 0; first < b->threads.size();) {
          const auto state = [](const thread& one) -> std::string {
            if (one.is_done) return "ended";
            if (one.waits_for == nullptr) return "could go on";
            return std::string("wait for ") + one.waits_for + " at " + name_of(one.waits_at);
          };
          const std::string of_first = state(b->threads[first]);
          std::size_t end = first + 1;
          while (end < b->threads.size() && state(b->threads[end]) == of_first) ++end;
          text << "    block " << b->index << ", threads " << first << " to " << end - 1 << ": " << of_first << "\n";
          first = end;
        }
      }
    }
    return text.str();
  }

  /// Forgets all kernels.
  void stop() {
    take_over(nullptr);
    for (const auto& one : streams) {
      for (auto& work : one->queue) {
        if (work.kernel == nullptr) continue;
        for (auto* const blocks : {&work.kernel->blocks, &work.kernel->ended}) {
          for (const auto& b : *blocks) free_memory(*b);
        }
      }
      one->queue.clear();  // its fibres unwind
    }
    running.clear();
    may_start = false;
    lookers.clear();
    waiters.clear();
    nappers.clear();
    late_units.clear();
    copies.clear();
    last_block = nullptr;
    current = nullptr;
    views_are_on = false;
    owner = nullptr;
  }

 public:
  std::uint64_t version = 1;

 private:
  std::vector<block*> running;
  block* last_block = nullptr;
  std::size_t turn = 0;
  std::vector<std::unique_ptr<strand>> strands;
  std::vector<thread*> lookers;
  std::uint64_t version_of_lookers = 0;
  unsigned rounds = 0;
  std::vector<thread*> waiters;
  std::vector<thread*> nappers;
  bool something_changed = false;
  bool may_start = false;  ///< there may be blocks that have not started, of grids that have begun
  std::vector<late_unit> late_units;
  std::vector<bulk_copy> copies;
  std::uint64_t steps = 0;

  unsigned char* arena = nullptr;
  std::size_t arena_used = 0;
  std::vector<unsigned char> truth;
  bool views_are_on = false;
  std::size_t viewed_bytes = 0;
  block* owner = nullptr;
};

machine& device() {
  static machine one;
  return one;
}

void machine::run_thread(thread& one) {
  take_over(one.of);
  threadIdx = {one.index, 0, 0};
  blockIdx = {one.of->index, 0, 0};
  blockDim = dim3(one.of->of->what.threads);
  gridDim = dim3(one.of->of->what.blocks);
  current = &one;
  one.fibre->resume();
  current = nullptr;
  ++so_far.switches;
  if (failed()) {
    stop();
    return;
  }
  if (!one.fibre->is_done()) return;
  set_waiting(one, nullptr, {});
  one.is_done = true;
  block& b = *one.of;
  if (++b.done == b.threads.size()) retire(b);
}

}  // namespace

const std::vector<policy>& policies() {
  static const std::vector<policy> all{
      {"fair", order::in_turn, order::in_turn, order::in_turn, false},
      {"reverse", order::highest, order::highest, order::highest, false},
      {"one thread ahead", order::same, order::same, order::same, false},
      {"one warp ahead", order::same, order::same, order::in_turn, false},
      {"one block after the other", order::lowest, order::any, order::any, true},
      {"blocks late", order::highest, order::any, order::any, false},
      {"random", order::any, order::any, order::any, false},
      {"low warps late", order::lowest, order::highest, order::any, false},
      // Each of the orders is drawn.
      {"mixed", order::any, order::any, order::any, false},
      {"mixed", order::any, order::any, order::any, false},
  };
  return all;
}

schedule::schedule(std::uint64_t of_seed) : seed{of_seed} {
  generator random(of_seed ^ 0x5ca1ab1e);
  by = policies()[random.below(policies().size())];
  if (by.name == std::string("mixed")) {
    constexpr order orders[] = {order::lowest, order::highest, order::in_turn, order::any, order::same};
    for (order* const one : {&by.blocks, &by.warps, &by.lanes}) *one = orders[random.below(std::size(orders))];
    by.starts_late = random.one_in(2);
  }
  constexpr unsigned shares[] = {0, 4, 64, 256};
  stores_at_once = shares[random.below(std::size(shares))];
  plain_stores_are_late = random.one_in(2);
  plain_loads_are_new = random.one_in(4);
  constexpr unsigned rates[] = {0, 0, 100, 1'000, 10'000};
  naps = rates[random.below(std::size(rates))];
  constexpr unsigned rates_at_memory[] = {0, 0, 4'096, 16'384};
  naps_at_memory = rates_at_memory[random.below(std::size(rates_at_memory))];
  constexpr unsigned residents[] = {1, 2, 3, 16, 64};
  resident_blocks = residents[random.below(std::size(residents))];
  multiprocessors = static_cast<int>(2 + random.below(3));
}

std::string schedule::text() const {
  constexpr const char* names[] = {"lowest", "highest", "in turn", "any", "same"};
  const auto name_of = [&](order one) { return names[static_cast<int>(one)]; };
  std::ostringstream text;
  text << "seed " << seed << " (" << by.name << ": blocks " << name_of(by.blocks) << ", warps " << name_of(by.warps)
       << ", lanes " << name_of(by.lanes) << "; " << resident_blocks << " resident blocks"
       << (by.starts_late ? ", started late" : "") << "; stores arrive in " << stores_at_once << " of 256 steps"
       << (!plain_stores_are_late ? ""
           : plain_loads_are_new  ? ", plain ones late"
                                  : ", plain ones late, and loads see old values")
       << "; naps in " << naps << " and, at memory, " << naps_at_memory << " of 65536)";
  return text.str();
}

bool exploration::next() {
  while (!path_.empty() && path_.back().choice + 1 == path_.back().of) path_.pop_back();
  if (begun_ && path_.empty()) return false;
  if (begun_) ++path_.back().choice;
  begun_ = true;
  depth_ = 0;
  was_cut_short_ = false;
  ++schedules_;
  schedule how(0);
  how.naps = how.naps_at_memory = how.stores_at_once = 0;
  how.plain_stores_are_late = true;
  how.plain_loads_are_new = false;
  how.resident_blocks = 64;
  device().search = nullptr;
  device().begin(how);
  device().search = this;
  return true;
}
bool exploration::choose(std::size_t of, const std::function<std::uint64_t()>& state, std::size_t& choice) {
  if (depth_ < path_.size()) {
    choice = path_[depth_++].choice;
    return true;
  }
  if (!seen_.insert(state()).second) {
    was_cut_short_ = true;
    return false;
  }
  choice = 0;
  path_.push_back({0, of});
  ++depth_;
  return true;
}
exploration::~exploration() { device().search = nullptr; }

void begin(const schedule& how) { device().begin(how); }
const std::string& last_fault() { return device().fault_text; }
const counts& counted() { return device().so_far; }
void note_places(std::set<ordering_place>* seen) { device().seen_places = seen; }
void leave_out(const ordering_place* place) {
  device().leaves_out = place != nullptr;
  if (place != nullptr) device().left_out = *place;
}

stream* make_stream() { return device().streams.emplace_back(std::make_unique<stream>()).get(); }
void destroy(stream* of) {
  finish(of);
  std::erase_if(device().streams, [&](const auto& one) { return one.get() == of; });
}
void enqueue(stream* on, launch kernel) {
  auto made = std::make_unique<grid>();
  made->what = std::move(kernel);
  made->on = on;
  if (device().search == nullptr) device().send_mail(false);
  on->queue.push_back({std::move(made), nullptr});
  ++device().so_far.launches;
  if (device().search != nullptr) return;
  const std::uint64_t luck = device().random.below(4);
  if (luck == 0) finish(on);
  if (luck == 1) device().run_some(device().random.below(1000));
}
void enqueue(stream* on, std::function<void()> at_once) {
  on->queue.push_back({nullptr, std::move(at_once)});
  device().run_some(1);
}
bool finish(stream* on) {
  const bool worked = device().run([&] { return on->queue.empty(); });
  device().send_mail(true);
  return worked;
}
bool is_finished(stream* on) {
  host_pauses();
  if (on->queue.empty()) device().send_mail(true);
  return on->queue.empty();
}
bool finish_all() {
  const bool worked = device().run([] { return device().is_idle(); });
  device().send_mail(true);
  return worked;
}
bool has_failed() { return device().failed(); }
int multiprocessors() { return device().how.multiprocessors; }
std::uint64_t draw(std::uint64_t below) { return device().random.below(below); }

void* allocate(std::size_t bytes) { return device().allocate(bytes); }
bool deallocate(void* memory) { return device().deallocate(memory); }
void* allocate_mapped(std::size_t bytes, void*& of_device) {
  auto& made = *device().mapped_blocks.emplace_back(std::make_unique<mapped>());
  for (auto* const words : {&made.host, &made.device, &made.sent, &made.left}) words->resize((bytes + 7) / 8);
  device().fill_with_nonsense(made.host.data(), bytes);
  made.left = made.host;
  of_device = made.device.data();
  return made.host.data();
}
bool deallocate_mapped(void* of_host) {
  return std::erase_if(device().mapped_blocks, [&](const auto& one) { return one->host.data() == of_host; }) > 0;
}
void* mapped_address(void* of_host) {
  for (const auto& one : device().mapped_blocks) {
    if (one->host.data() == of_host) return one->device.data();
  }
  return nullptr;
}
std::vector<allocation> allocations() { return device().allocated; }

// --- thread.hpp

bool in_kernel() { return device().current != nullptr; }
void observe(const void* bytes, std::size_t count) { device().observe(bytes, count); }
void sync_block(place here) { device().sync_block(here); }
const std::uint32_t* lanes_meet(const char* what, std::uint32_t word, place here) {
  return device().lanes_meet(what, word, here);
}
void* object_of_block(const void* key, std::size_t bytes, std::size_t alignment) {
  return device().object_of_block(key, bytes, alignment);
}
unsigned char* memory_of_launch() { return device().current->of->dynamic_memory; }
bool is_memory_of_block(const void* address) { return device().is_memory_of_block(address); }
void sync_cluster(place here) { device().sync_cluster(here); }
unsigned rank_in_cluster() {
  const block& mine = *device().current->of;
  return mine.index % mine.of->what.blocks_of_cluster;
}
unsigned blocks_of_cluster() { return device().current->of->of->what.blocks_of_cluster; }
void* in_block_of_cluster(void* of_this_block, unsigned rank) {
  return device().in_block_of_cluster(of_this_block, rank);
}
void fence(place here) { device().fence(here); }
bool is_left_out(const char* what, place here) { return device().is_left_out(what, here); }
void store_relaxed_16(void* to, const void* value, place here) { device().store_relaxed_16(to, value, here); }
void load_relaxed_16(void* value, const void* from, place here) { device().load_relaxed_16(value, from, here); }
void* begin_update(void* address, std::size_t bytes) { return device().begin_update(address, bytes); }
void end_update(void* address, std::size_t bytes) { device().end_update(address, bytes); }
void begin_bulk_copy(void* barrier, void* to, const void* from, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0 ||
      bytes % 16 != 0) {
    fault("a bulk copy that is not aligned");
  }
  device().begin_bulk_copy(barrier, to, from, bytes);
}
void wait_for_grid_before(place here) { device().wait_for_grid_before(here); }
void wait_until(bool (*there)(const void*), const void* of, const char* what, place here) {
  device().wait_until(there, of, what, here);
}
void give_way() { device().suspend(); }
void may_give_way() {
  if (device().search != nullptr || device().random.one_in(8)) give_way();
}
void fault(const char* what, place here) { device().fault_in_thread(what, here); }
void host_pauses() {
  const std::uint64_t most = std::uint64_t{1} << (2 * device().random.below(8));
  device().run_some(most);
  device().send_mail(device().is_idle());
}

}  // namespace simulator
