// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/macros.hpp>

namespace fanin::detail {

/// Numbers that wait to be added together. A backend of a host that has a loop for arrays of them lends a window such a
/// block, and takes what is left in it at the end.
struct exact_waiting {
  static constexpr int most = 992;
  void (*take)(exact_waiting& of, int n);  ///< adds the first n, wherever their sum is
  double number[most];
};

/// Where a window of a host puts the next number that waits: nowhere, before a block is lent.
template <bool OnDevice>
class place_to_wait {
 public:
  void lend(exact_waiting& block) {
    block_ = &block;
    next_ = block.number;
    end_ = block.number + exact_waiting::most;
  }
  /// The number waits; or false: there is no room.
  FANIN_FUNCTION bool put(double x) {
    if (next_ == end_) return false;
    *next_++ = x;
    return true;
  }
  /// Those that wait are added. False: nothing is lent.
  FANIN_FUNCTION bool take() {
    if (block_ == nullptr) return false;
    block_->take(*block_, static_cast<int>(next_ - block_->number));
    next_ = block_->number;
    return true;
  }
  /// The block is its owner's again, with so many in it.
  int give_back() {
    const auto numbers = static_cast<int>(next_ - block_->number);
    *this = {};
    return numbers;
  }

 private:
  exact_waiting* block_ = nullptr;
  double* next_ = nullptr;
  double* end_ = nullptr;
};
/// Those of a device do not wait. (nvcc looks at what hosts do with theirs when it compiles for a device, too.)
template <>
class place_to_wait<true> {
 public:
  void lend(exact_waiting&) {}
  int give_back() { return 0; }
  FANIN_FUNCTION static constexpr bool put(double) { return false; }
  FANIN_FUNCTION static constexpr bool take() { return false; }
};

}  // namespace fanin::detail
