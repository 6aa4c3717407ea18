// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "simulator/machine/scheduler.hpp"
#include "simulator/thread.hpp"

/// What the host does with the device: machine.hpp.
namespace simulator {

void begin(const schedule& how) { device().begin(how); }
void end() { device().end(); }
const std::string& last_fault() { return device().fault_text; }
const counts& counted() { return device().so_far; }
void note_places(std::set<ordering_place>* seen) { device().places.seen = seen; }
void leave_out(const ordering_place* place) { device().places.leave_out(place); }

// --- Streams

stream* make_stream() { return device().streams.emplace_back(std::make_unique<stream>()).get(); }
void destroy(stream* of) {
  finish(of);
  std::erase_if(device().streams, [&](const auto& one) { return one.get() == of; });
}
void enqueue(stream* on, launch kernel) {
  machine& m = device();
  auto made = std::make_unique<grid>();
  made->what = std::move(kernel);
  made->on = on;
  host_releases(made.get());
  if (m.search == nullptr) m.mailboxes.send(false, m.random);
  on->queue.push_back({std::move(made), nullptr});
  m.note_work();
  ++m.so_far.launches;
  if (m.search != nullptr) return;
  const std::uint64_t luck = m.random.below(4);
  if (luck == 0 && m.how.waits_at_launches) finish(on);
  if (luck == 1) m.run_while_host_goes_on(m.random.below(1000));
}
void enqueue(stream* on, std::function<void()> at_once) {
  on->queue.push_back({nullptr, std::move(at_once)});
  device().note_work();
  device().run_some(1);
}
bool finish(stream* on) {
  return device().finish([&] { return on->queue.empty(); });
}
bool finish_all() {
  return device().finish([] { return device().is_idle(); });
}
bool is_finished(stream* on) {
  device().run_beside_host();
  if (!on->queue.empty()) return false;
  host_acquires(on);
  device().mailboxes.send(true, device().random);
  return true;
}
void host_pauses() {
  if (!device().how.host_is_quick) device().run_beside_host();
}
bool has_failed() { return device().failed(); }
int multiprocessors() { return device().how.multiprocessors; }
std::uint64_t draw(std::uint64_t below) { return device().random.below(below); }

// --- Memory

void* allocate(std::size_t bytes) { return device().memory.allocate(bytes); }
bool deallocate(void* memory) { return device().memory.deallocate(memory); }
std::vector<allocation> allocations() { return device().memory.allocated(); }
void* allocate_mapped(std::size_t bytes, void*& of_device) {
  return device().mailboxes.allocate(bytes, device().random.next(), of_device);
}
bool deallocate_mapped(void* of_host) { return device().mailboxes.deallocate(of_host); }
void* mapped_address(void* of_host) { return device().mailboxes.address_of_device(of_host); }

}  // namespace simulator
