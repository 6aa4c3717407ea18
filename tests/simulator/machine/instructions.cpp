// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

#include "simulator/machine/scheduler.hpp"
#include "simulator/thread.hpp"

/// What threads of kernels do with others: thread.hpp.
namespace simulator {

namespace {

/// In each of these the machine works, and not the kernel.
struct in_machine : strand::pause {
  in_machine() : pause(device().current == nullptr ? nullptr : device().current->fibre.get()) {}
};

thread& me() { return *device().current; }

/// Of literals, which mostly are one.
bool is_same(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }

void meet(const char* what, const place& here, unsigned& arrived, std::size_t all, const void* at,
          std::span<block* const> blocks) {
  machine& m = device();
  me().fibre->release(at);
  if (++arrived < all) return m.wait(what, here);
  arrived = 0;
  for (block* const b : blocks) {
    for (thread& one : b->threads) {
      one.fibre->acquire(at);
      m.set_ready(one);
    }
  }
  m.suspend();
}

void check_allocated(const void* address, const place& here) {
  if (!device().memory.is_allocated(address)) {
    device().fault_in_thread("an access to device memory that is not allocated", here);
  }
}

}  // namespace

bool in_kernel() { return device().current != nullptr; }
void give_way() {
  const in_machine now;
  device().suspend();
}
void may_give_way() {
  const in_machine now;
  if (device().search != nullptr || device().random.one_in(8)) device().suspend();
}
void fault(const char* what, place here) {
  const in_machine now;
  device().fault_in_thread(what, here);
}
void observe(const void* bytes, std::size_t count) {
  const in_machine now;
  device().observe(bytes, count);
}

// --- Places that are noted or left out

void ordering_places::leave_out(const ordering_place* one) {
  leaves_out_ = one != nullptr;
  if (one != nullptr) left_out_ = *one;
}
bool ordering_places::is_left_out(const char* what, const place& here) const {
  if (seen == nullptr && !(leaves_out_ && here.line == left_out_.line)) return false;
  std::string path = here.file;
  const std::size_t name = path.rfind('/');
  const std::size_t folder = name == std::string::npos || name == 0 ? name : path.rfind('/', name - 1);
  const ordering_place one{what, folder == std::string::npos ? path : path.substr(folder + 1), here.line};
  if (seen != nullptr) seen->insert(one);
  return leaves_out_ && one == left_out_;
}
bool is_left_out(const char* what, place here) {
  const in_machine now;
  return device().places.is_left_out(what, here);
}

// --- Block and warp

void sync_block(place here) {
  const in_machine now;
  machine& m = device();
  if (m.places.is_left_out("__syncthreads", here)) return m.suspend();
  block& b = *me().of;
  if (b.at_barrier == 0) {
    b.barrier = here;
  } else if (b.barrier.line != here.line || !is_same(b.barrier.file, here.file)) {
    m.fault_in_thread("threads of a block meet at different barriers: one at " + name_of(b.barrier), here);
  }
  meet("__syncthreads", here, b.at_barrier, b.threads.size(), &b, std::array{&b});
}

const std::uint32_t* lanes_meet(const char* what, std::uint32_t word, place here) {
  const in_machine now;
  machine& m = device();
  block& b = *me().of;
  warp& w = b.warps[me().warp()];
  const unsigned lane = me().lane();
  const bool is_barrier = std::strcmp(what, "__syncwarp") == 0;  // what else lanes do together orders nothing
  if (is_barrier && m.places.is_left_out(what, here)) {
    m.suspend();
    return nullptr;
  }
  auto& words = w.words[me().meetings++ % 2];
  words[lane] = word;
  if (w.arrived == 0) {
    w.meeting = what;
  } else if (!is_same(w.meeting, what)) {
    m.fault_in_thread(std::string("lanes of a warp mean different instructions: ") + w.meeting + " and " + what, here);
  }
  w.arrived |= 1U << lane;
  if (is_barrier) me().fibre->release(&w);
  // A block may have fewer threads than a warp, where a test says so: the others are taken to do as the first.
  const unsigned lanes = std::min(lanes_of_warp, static_cast<unsigned>(b.threads.size()));
  std::fill(words.begin() + lanes, words.end(), words[0]);
  if (w.arrived != ~0U >> (lanes_of_warp - lanes)) {
    m.wait(what, here);
    return words.data();
  }
  w.arrived = 0;
  for (unsigned k = 0; k < lanes; ++k) {
    thread& one = b.threads[me().index - lane + k];
    if (is_barrier) one.fibre->acquire(&w);
    m.set_ready(one);
  }
  m.suspend();
  return words.data();
}

void* object_of_block(const void* key, std::size_t bytes, std::size_t alignment) {
  const in_machine now;
  block& b = *me().of;
  for (const object& one : b.objects) {
    if (one.key == key) return one.memory;
  }
  unsigned char* const memory = allocate_aligned(std::max<std::size_t>(alignment, 64), bytes);
  device().memory.fill_with_nonsense(memory, bytes);
  b.objects.push_back({key, memory, bytes});
  return memory;
}
unsigned char* memory_of_launch() { return me().of->dynamic_memory; }
std::size_t bytes_of_launch() { return me().of->of->what.dynamic_bytes; }
bool is_memory_of_block(const void* address) {
  const in_machine now;
  const block& b = *me().of;
  if (is_within(address, b.dynamic_memory, b.of->what.dynamic_bytes)) return true;
  return std::any_of(b.objects.begin(), b.objects.end(),
                     [&](const object& one) { return is_within(address, one.memory, one.bytes); });
}

// --- Cluster

void sync_cluster(place here) {
  const in_machine now;
  machine& m = device();
  if (m.places.is_left_out("sync_cluster", here)) return m.suspend();
  cluster& c = *me().of->in;
  meet("sync_cluster", here, c.arrived, c.blocks.size() * me().of->threads.size(), &c, c.blocks);
}
unsigned rank_in_cluster() { return me().of->index % blocks_of_cluster(); }
unsigned blocks_of_cluster() { return me().of->of->what.blocks_of_cluster; }
void* in_block_of_cluster(void* of_this_block, unsigned rank) {
  const in_machine now;
  machine& m = device();
  const block& other = *me().of->in->blocks[rank];
  for (const object& one : me().of->objects) {
    if (!is_within(of_this_block, one.memory, one.bytes)) continue;
    const auto offset = static_cast<unsigned char*>(of_this_block) - one.memory;
    for (const object& same : other.objects) {
      if (same.key != one.key) continue;
      if (other.done == other.threads.size()) {
        m.fault_in_thread("memory of a block of the cluster that has ended", place::current());
      }
      return same.memory + offset;
    }
    m.fault_in_thread("memory of a block of the cluster that has not started", place::current());
  }
  m.fault_in_thread("no memory of this block", place::current());
}

// --- Memory that blocks share

void fence(place here) {
  const in_machine now;
  machine& m = device();
  m.suspend_at_memory();
  if (m.places.is_left_out("__threadfence", here)) return;
  m.memory.fence();
  m.orders.fence(me());
  m.suspend_at_memory();
}

void store_relaxed_16(void* to, const void* value, place here) {
  const in_machine now;
  machine& m = device();
  check_allocated(to, here);
  m.suspend_at_memory();
  late_unit unit{&me().of->view, me().index, to, {}, 16};
  std::memcpy(unit.value.data(), value, unit.value.size());
  if (m.places.is_left_out("store_unit", here)) {  // in halves
    me().fibre->writes(to, 16);
    late_unit half = unit;
    half.bytes = unit.bytes = 8;
    half.to = static_cast<unsigned char*>(to) + 8;
    std::copy_n(unit.value.data() + 8, 8, half.value.data());
    m.memory.store_relaxed(half);
  } else {
    me().fibre->writes_at_once(to, 16);
  }
  m.orders.write(me(), to, false);
  m.memory.store_relaxed(unit);
}

void load_relaxed_16(void* value, const void* from, place here) {
  const in_machine now;
  machine& m = device();
  check_allocated(from, here);
  m.suspend_at_memory();
  m.look_again(from, here);
  m.orders.read(me(), from);
  if (m.places.is_left_out("load_unit", here)) {  // in halves
    me().fibre->reads(from, 16);
    const std::size_t first = m.random.one_in(2) ? 0 : 8;
    for (const std::size_t half : {first, 8 - first}) {
      m.memory.load_arrived(static_cast<unsigned char*>(value) + half, static_cast<const unsigned char*>(from) + half,
                            8);
      m.suspend_at_memory();
    }
    return;
  }
  me().fibre->reads_at_once(from, 16);
  m.memory.load_arrived(value, from, 16);
  m.observe(value, 16);
  m.memory.load_own(value, from, me().of->view, me().index);
}

void* begin_update(void* address, std::size_t bytes, place here) {
  const in_machine now;
  machine& m = device();
  check_allocated(address, here);
  if (me().fibre->is_on_stack(address)) m.fault_in_thread("an atomic access to memory that is local to a thread", here);
  m.suspend_at_memory();
  m.observe(m.memory.arrived_at(address), bytes);
  m.orders.read(me(), address);
  return m.memory.begin_update(address, bytes);
}
void end_update(void* address, std::size_t bytes) {
  const bool is_shared = is_memory_of_block(address);
  const in_machine now;
  machine& m = device();
  if (!is_shared) m.memory.note_change();
  m.orders.write(me(), address, true);
  m.memory.end_update(address, bytes);
  m.suspend_at_memory();
}

// --- Grids of a stream

void wait_for_grid_before(place here) {
  const in_machine now;
  machine& m = device();
  block& b = *me().of;
  if (m.places.is_left_out("wait_for_grid_before", here)) {
    m.let_next_grid_start(b);
    return m.suspend_at_memory();
  }
  m.wait_until(
      [](const void* of_what) {
        const auto* const g = static_cast<const grid*>(of_what);
        return g->on->queue.front().kernel.get() == g;
      },
      b.of, "the grid before", here);
  me().fibre->acquire(b.of->on);
  m.memory.refresh();
  m.let_next_grid_start(b);
}

void wait_until(bool (*there)(const void*), const void* of, const char* what, place here) {
  const in_machine now;
  device().wait_until(there, of, what, here);
}

}  // namespace simulator
