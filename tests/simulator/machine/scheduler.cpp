// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/scheduler.hpp"

#include <algorithm>
#include <bit>
#include <sstream>
#include <utility>

namespace simulator {

namespace {

constexpr std::uint64_t most_steps = 50'000'000;
/// Relaxed loads that a thread may do of memory that does not change, before it lets others go on.
constexpr unsigned patience = 16;
/// How often threads that wait for memory to change look again when nobody else can go on.
constexpr unsigned rounds_of_looks = 6;

}  // namespace

void machine::begin(const schedule& next) {
  stop();
  streams.clear();
  how = next;
  random = generator(next.seed);
  fault_text.clear();
  memory.begin(next);
  mailboxes.begin();
  orders.begin();
  version_of_lookers_ = 0;
  rounds_ = 0;
  turn_ = 0;
  something_changed_ = false;
  steps_ = 0;
  ++so_far.schedules;
}

void machine::end() {
  stop();
  streams.clear();
  strands_.clear();
}

void machine::stop() {
  memory.forget_views();
  for (const auto& one : streams) one->queue.clear();  // its fibres unwind
  running_.clear();
  may_start_ = false;
  lookers_.clear();
  waiters_.clear();
  nappers_.clear();
  forget_bulk_copies();
  last_block_ = nullptr;
  current = nullptr;
}

// --- A thread's side

void machine::suspend(unsigned naps) {
  if (naps > 0 && random.below(65'536) < naps && is_ready(*current)) {
    set_waiting(*current, "nothing, it naps", place::current());
    nappers_.push_back(current);
  }
  current->fibre->leave();
}

void machine::set_ready(thread& one) {
  one.of->warps[one.warp()].ready |= 1U << one.lane();
  one.of->ready_warps |= 1U << one.warp();
  one.waits_for = nullptr;
}
void machine::set_waiting(thread& one, const char* what, const place& here) {
  std::uint32_t& ready = one.of->warps[one.warp()].ready;
  if ((ready &= ~(1U << one.lane())) == 0) one.of->ready_warps &= ~(1U << one.warp());
  one.waits_for = what;
  one.waits_at = here;
}
void machine::wait(const char* what, const place& here) {
  set_waiting(*current, what, here);
  suspend();
}

void machine::look_again(const void* at, const place& here) {
  thread& me = *current;
  if (me.version_seen != memory.version) {
    me.version_seen = memory.version;
    me.looks = 0;
    return;
  }
  if (++me.looks < (search == nullptr ? patience : 4)) return;
  me.looks = 0;
  me.of_what = at;
  lookers_.push_back(&me);
  wait("memory that another block writes", here);
}

void machine::wait_until(bool (*there)(const void*), const void* of_what, const char* what, const place& here) {
  suspend();
  if (there(of_what)) return;
  current->there = there;
  current->of_what = of_what;
  waiters_.push_back(current);
  wait(what, here);
}

void machine::fault_in_thread(const std::string& what, const place& here) {
  if (!failed()) {
    std::ostringstream text;
    text << what << ", by thread " << current->index << " of block " << current->of->index << " at " << name_of(here)
         << "\n"
         << where_all_are();
    fault_text = text.str();
  }
  for (;;) suspend();
}

// --- Whose turn it is

/// Of a mask that is not 0.
unsigned machine::pick(std::uint32_t mask, order by, unsigned last) {
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

block* machine::pick_block() {
  block* found = nullptr;
  unsigned seen = 0;
  const order by = how.by.blocks;
  if (by == order::same && last_block_ != nullptr && last_block_->ready_warps != 0) return last_block_;
  if (by == order::in_turn) {
    for (std::size_t k = 0; k < running_.size(); ++k) {
      if (++turn_ >= running_.size()) turn_ = 0;
      if (running_[turn_]->ready_warps != 0) return running_[turn_];
    }
    return nullptr;
  }
  for (block* const b : running_) {
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

void machine::run_thread(thread& one) {
  memory.take_over(&one.of->view);
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
  one.fibre->release(one.of->of->on);
  block& b = *one.of;
  if (++b.done == b.threads.size()) retire(b);
}

bool machine::wake_waiters() {
  bool any = false;
  std::erase_if(waiters_, [&](thread* one) {
    if (!one->there(one->of_what)) return false;
    set_ready(*one);
    return any = true;
  });
  return any;
}
bool machine::wake_lookers() {
  const bool any = !lookers_.empty();
  for (thread* const one : lookers_) set_ready(*one);
  lookers_.clear();
  version_of_lookers_ = memory.version;
  return any;
}
bool machine::wake_napper() {
  if (nappers_.empty()) return false;
  std::swap(nappers_[random.below(nappers_.size())], nappers_.back());
  set_ready(*nappers_.back());
  nappers_.pop_back();
  return true;
}

/// Where no thread can go on.
bool machine::do_something_else() {
  using way = bool (*)(machine&);
  constexpr way ways[] = {
      [](machine& of) { return of.start_next(); },        [](machine& of) { return move_bulk_copy(of); },
      [](machine& of) { return of.memory.arrive_one(); }, [](machine& of) { return of.complete_one(); },
      [](machine& of) { return of.wake_napper(); },
  };
  const std::size_t first = random.below(std::size(ways));
  for (std::size_t k = 0; k < std::size(ways); ++k) {
    if (ways[(first + k) % std::size(ways)](*this)) return true;
  }
  return wake_waiters();
}

bool machine::step() {
  if (failed()) return false;
  if (++steps_ > most_steps) {
    fault_text = "no end after " + std::to_string(steps_) + " steps\n" + where_all_are();
    stop();
    return false;
  }
  advance_streams();
  if (something_changed_) {
    something_changed_ = false;
    wake_waiters();
  }
  if (memory.version != version_of_lookers_ && !lookers_.empty()) {
    rounds_ = 0;
    wake_lookers();
  }
  if (search != nullptr && step_of_search()) return true;
  if (how.stores_at_once > 0 && random.below(256) < how.stores_at_once) memory.arrive_one();
  if (has_bulk_copies_to_move() && random.one_in(8)) move_bulk_copy(*this);
  if (!how.by.starts_late || random.one_in(256)) start_next();
  block* const b = pick_block();
  if (b == nullptr) {
    if (do_something_else()) return true;
    if (!lookers_.empty() && ++rounds_ <= rounds_of_looks) return wake_lookers();
    advance_streams();
    if (is_idle()) return false;
    if (something_changed_) return true;
    if (host_goes_on_) return false;  // and may launch what they wait for
    fault_text = "nobody can go on\n" + where_all_are();
    stop();
    return false;
  }
  last_block_ = b;
  b->last_warp = pick(b->ready_warps, how.by.warps, b->last_warp);
  warp& w = b->warps[b->last_warp];
  w.last = pick(w.ready, how.by.lanes, w.last);
  run_thread(b->threads[b->last_warp * lanes_of_warp + w.last]);
  return true;
}

// --- The host's side

bool machine::run(const std::function<bool()>& until) {
  while (!failed() && !until()) {
    if (!step()) break;
  }
  memory.leave_kernel();
  return !failed();
}
void machine::run_some(std::uint64_t most) {
  for (std::uint64_t k = 0; k < most && !failed() && step(); ++k) continue;
  memory.leave_kernel();
}

void machine::run_while_host_goes_on(std::uint64_t most) {
  host_goes_on_ = true;
  run_some(most);
  host_goes_on_ = false;
}

void machine::run_beside_host() {
  run_some(std::uint64_t{1} << (2 * random.below(8)));
  mailboxes.send(is_idle(), random);
}
bool machine::is_idle() const {
  return std::all_of(streams.begin(), streams.end(), [](const auto& one) { return one->queue.empty(); });
}
bool machine::finish(const std::function<bool()>& until) {
  const bool worked = run(until);
  for (const auto& one : streams) {
    if (one->queue.empty()) host_acquires(one.get());
  }
  mailboxes.send(true, random);
  return worked;
}

}  // namespace simulator
