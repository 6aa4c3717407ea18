// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <sstream>
#include <string>

#include "simulator/machine/scheduler.hpp"

/// What stands in a fault: where all threads are, and who waits for whom.
namespace simulator {

std::string name_of(const place& here) {
  const std::string path = here.file;
  return path.substr(path.rfind('/') + 1) + ":" + std::to_string(here.line);
}

namespace {

/// "threads 0 to 3, 7" of those for which holds(thread).
template <class Holds>
std::string threads_that(const block& b, const Holds& holds) {
  std::ostringstream text;
  for (std::size_t first = 0; first < b.threads.size(); ++first) {
    if (!holds(b.threads[first])) continue;
    std::size_t last = first;
    while (last + 1 < b.threads.size() && holds(b.threads[last + 1])) ++last;
    text << (text.tellp() == 0 ? "threads " : ", ") << first;
    if (last > first) text << " to " << last;
    first = last;
  }
  return text.str();
}

bool waits_for(const thread& one, const char* what) {
  return one.waits_for != nullptr && std::strcmp(one.waits_for, what) == 0;
}

/// Who has not come to where this thread waits.
std::string whom(const thread& one) {
  const block& b = *one.of;
  if (waits_for(one, "__syncthreads")) {
    return " without " + threads_that(b, [](const thread& other) { return !waits_for(other, "__syncthreads"); });
  }
  if (waits_for(one, "sync_cluster")) {
    std::string text;
    for (const block* const other : b.in->blocks) {
      const auto missing = threads_that(*other, [](const thread& of) { return !waits_for(of, "sync_cluster"); });
      if (missing.empty()) continue;
      text += (text.empty() ? " without " : ", ") + missing + " of block " + std::to_string(other->index);
    }
    return text;
  }
  if ((b.warps[one.warp()].arrived >> one.lane() & 1) != 0) {
    return " without " + threads_that(b, [&](const thread& other) {
             return other.warp() == one.warp() && (b.warps[one.warp()].arrived >> other.lane() & 1) == 0;
           });
  }
  if (waits_for(one, "memory that another block writes")) {
    const std::vector<allocation>& all = device().memory.allocated();
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (!is_within(one.of_what, all[k].memory, all[k].bytes)) continue;
      const auto byte = static_cast<const unsigned char*>(one.of_what) - all[k].memory;
      return ", byte " + std::to_string(byte) + " of allocation " + std::to_string(k);
    }
  }
  return "";
}

std::string state_of(const thread& one) {
  if (one.is_done) return "ended";
  if (one.waits_for == nullptr) return "could go on";
  return std::string("wait for ") + one.waits_for + " at " + name_of(one.waits_at) + whom(one);
}

}  // namespace

std::string machine::where_all_are() const {
  std::ostringstream text;
  for (const grid* const g : kernels()) {
    text << "  a grid of " << g->what.blocks << " blocks of " << g->what.threads << ": " << g->done << " ended, "
         << g->what.blocks - g->next << " not started\n";
    for (const auto& b : g->blocks) {
      for (std::size_t first = 0; first < b->threads.size();) {
        const std::string of_first = state_of(b->threads[first]);
        std::size_t end = first + 1;
        while (end < b->threads.size() && state_of(b->threads[end]) == of_first) ++end;
        text << "    block " << b->index << ", threads " << first << " to " << end - 1 << ": " << of_first << "\n";
        first = end;
      }
    }
  }
  return text.str();
}

}  // namespace simulator
