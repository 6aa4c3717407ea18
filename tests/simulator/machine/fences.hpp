// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <unordered_map>
#include <vector>

#include "simulator/machine/grids.hpp"

namespace simulator {

/// What ThreadSanitizer is told of fences, as CUDA's model has them: what comes before a fence of one thread comes
/// before what stands behind a fence of another one, if between the two the one writes relaxed and the other reads
/// that. An access without fences orders nothing.
class fences {
 public:
  void begin() {
    if constexpr (!sees_races) return;
    count_ = 0;
    left_at_.clear();
  }
  void fence(thread& by) {
    if constexpr (!sees_races) return;
    for (const char* const one : by.observed) by.fibre->acquire(one);
    by.observed.clear();
    if (count_ == all_.size()) all_.push_back(0);
    by.released = &all_[count_++];
    by.fibre->release(by.released);
  }
  void read(thread& by, const void* at) {
    if constexpr (!sees_races) return;
    const auto found = left_at_.find(at);
    if (found == left_at_.end()) return;
    for (const char* const one : found->second) {
      if (std::find(by.observed.begin(), by.observed.end(), one) == by.observed.end()) by.observed.push_back(one);
    }
  }
  /// An update hands on what it read as well.
  void write(const thread& by, const void* at, bool is_update) {
    if constexpr (!sees_races) return;
    if (by.released == nullptr && is_update) return;
    std::vector<const char*>& left = left_at_[at];
    if (!is_update) left.clear();
    if (by.released != nullptr) left.push_back(by.released);
  }

 private:
  std::deque<char> all_;  ///< each fence's address
  std::size_t count_ = 0;
  std::unordered_map<const void*, std::vector<const char*>> left_at_;
};

}  // namespace simulator
