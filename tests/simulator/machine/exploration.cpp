// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/hash.hpp"
#include "simulator/machine/scheduler.hpp"

/// Every order in which threads can go on and stores arrive.
namespace simulator {

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

void machine::observe(const void* bytes, std::size_t count) {
  if (search != nullptr) current->history = mixed(current->history, bytes, count);
}

/// Everything on which the rest of a schedule depends.
std::uint64_t machine::state_of_all() {
  std::uint64_t state = memory.state();
  for (const grid* const g : kernels()) {
    for (const auto* const blocks : {&g->blocks, &g->ended}) {
      for (const auto& b : *blocks) {
        state = mixed(state, b->index);
        for (const thread& one : b->threads) state = mixed(state, one.is_done ? 1 : one.history);
      }
    }
  }
  return state;
}

/// One of all threads that can go on and stores that can arrive, as the search says.
bool machine::step_of_search() {
  while (start_next()) continue;
  std::vector<thread*> threads;
  for (block* const b : running_) {
    for (thread& one : b->threads) {
      if (is_ready(one)) threads.push_back(&one);
    }
  }
  std::size_t choice = 0;
  const std::size_t count = threads.size() + memory.count_under_way();
  if (count == 0) return false;
  if (count > 1 && !search->choose(count, [&] { return state_of_all(); }, choice)) {
    stop();
    return true;
  }
  if (choice >= threads.size()) {
    memory.arrive_number(choice - threads.size());
    return true;
  }
  thread& one = *threads[choice];
  one.history = mixed(one.history, 1);
  run_thread(one);
  return true;
}

}  // namespace simulator
