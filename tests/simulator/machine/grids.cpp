// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/grids.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "simulator/machine/scheduler.hpp"

/// How grids of a stream begin and end, and their blocks.
namespace simulator {

void block::free_memory() {
  for (const object& one : objects) std::free(one.memory);
  std::free(dynamic_memory);
  objects.clear();
  dynamic_memory = nullptr;
}

std::vector<grid*> machine::kernels() const {
  std::vector<grid*> all;
  for (const auto& one : streams) {
    for (const stream::work& work : one->queue) {
      if (work.kernel != nullptr && work.kernel->begun) all.push_back(work.kernel.get());
    }
  }
  return all;
}

void machine::let_next_grid_start(block& b) {
  if (b.lets_next_grid_start) return;
  b.lets_next_grid_start = true;
  ++b.of->let_next;
  note_work();
}

/// The next block (or cluster) of the first grid that has one and may start it.
bool machine::start_next() {
  if (!may_start_ || (!running_.empty() && running_.size() >= how.resident_blocks)) return false;
  for (grid* const g : kernels()) {
    const unsigned some = g->what.blocks_of_cluster;
    if (g->next == g->what.blocks) continue;
    if (!running_.empty() && running_.size() + some > how.resident_blocks) return false;
    const auto together = std::make_shared<cluster>();
    for (unsigned k = 0; k < some; ++k) start_block(*g, together);
    return true;
  }
  return may_start_ = false;
}

void machine::start_block(grid& g, const std::shared_ptr<cluster>& together) {
  auto made = std::make_unique<block>();
  block& b = *made;
  b.of = &g;
  b.index = g.next++;
  b.in = together;
  together->blocks.push_back(&b);
  b.threads = std::vector<thread>(g.what.threads);
  b.warps.resize((g.what.threads + lanes_of_warp - 1) / lanes_of_warp);
  if (g.what.dynamic_bytes > 0) {
    b.dynamic_memory = allocate_aligned(128, g.what.dynamic_bytes);
    memory.fill_with_nonsense(b.dynamic_memory, g.what.dynamic_bytes);
  }
  memory.begin_view(b.view, running_.empty());
  for (unsigned k = 0; k < g.what.threads; ++k) {
    thread& one = b.threads[k];
    one.of = &b;
    one.index = k;
    if (strands_.empty()) {
      one.fibre = std::make_unique<strand>();
    } else {
      one.fibre = std::move(strands_.back());
      strands_.pop_back();
    }
    one.fibre->start(g.what.thread);
    one.fibre->acquire(&g);
    if (!g.what.starts_early) one.fibre->acquire(g.on);
    set_ready(one);
  }
  running_.push_back(&b);
  g.blocks.push_back(std::move(made));
}

void machine::retire(block& b) {
  grid& g = *b.of;
  let_next_grid_start(b);
  ++g.done;
  note_work();
  running_.erase(std::find(running_.begin(), running_.end(), &b));
  if (last_block_ == &b) last_block_ = nullptr;
  // To ThreadSanitizer another block's threads are others.
  auto& strands = sees_races ? g.spent : strands_;
  for (thread& one : b.threads) strands.push_back(std::move(one.fibre));
  const auto at = std::find_if(g.blocks.begin(), g.blocks.end(), [&](const auto& held) { return held.get() == &b; });
  memory.take_over(nullptr);
  g.ended.push_back(std::move(*at));
  g.blocks.erase(at);
  if (g.is_done()) something_changed_ = true;
}

/// The end of a grid whose blocks have ended: what they stored is there for all that comes behind.
void machine::complete(grid& g) {
  memory.take_over(nullptr);
  for (const auto& ended : g.ended) {
    memory.end_view(ended->view);
    ended->free_memory();
  }
  for (auto& fibre : g.spent) strands_.push_back(std::move(fibre));
  g.spent.clear();
  g.is_complete = true;
  something_changed_ = true;
  note_work();
}
bool machine::complete_one() {
  for (grid* const g : kernels()) {
    if (!g->is_done() || g->is_complete) continue;
    complete(*g);
    return true;
  }
  return false;
}

/// Takes from the streams what is done, and begins what may begin.
void machine::advance_streams() {
  if (!std::exchange(streams_may_advance_, false)) return;
  for (const auto& one : streams) {
    bool earlier_let_start = true;
    while (!one->queue.empty()) {
      stream::work& first = one->queue.front();
      if (first.at_once) {
        memory.take_over(nullptr);
        const auto work = std::move(first.at_once);
        one->queue.pop_front();
        work();
        continue;
      }
      if (!first.kernel->is_done()) break;
      // Not yet, where the next grid may have started before: its blocks then come between.
      const bool may_be_later = search == nullptr && one->queue.size() > 1 && one->queue[1].kernel != nullptr &&
                                one->queue[1].kernel->what.starts_early;
      if (!first.kernel->is_complete && may_be_later && !random.one_in(256)) {
        note_work();
        break;
      }
      if (!first.kernel->is_complete) complete(*first.kernel);
      one->queue.pop_front();
      something_changed_ = true;
    }
    bool is_first = true;
    for (stream::work& work : one->queue) {
      if (work.kernel == nullptr) break;
      grid& g = *work.kernel;
      if (!g.begun && !is_first && (!g.what.starts_early || !earlier_let_start)) break;
      may_start_ = may_start_ || !g.begun;
      g.begun = true;
      is_first = false;
      earlier_let_start = earlier_let_start && g.let_next == g.what.blocks;
    }
  }
}

}  // namespace simulator
