// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <fanin/fanin.hpp>

#include "support/functors.hpp"

// What may stand where an execution object is wanted.

namespace fanin_test {

/// An object with state, whose handle refers to it: what fanin::cuda and fanin::kokkos<Space> are.
struct stateful {
  int state = 0;
};

}  // namespace fanin_test

template <>
struct fanin::backend<fanin_test::stateful> : fanin::backend<fanin::serial> {
  using handle_type = fanin_test::stateful*;
  static handle_type handle(fanin_test::stateful& exec) { return &exec; }
};

namespace fanin_test {

#if defined(TEMPORARY)
auto use() { return fanin::range(stateful{}, 3); }
#elif defined(NO_OBJECT)
auto use() { return fanin::range("serial", 3); }
#else
auto use() {
  stateful exec;
  return fanin::range(exec, 3).size();
}
#endif

}  // namespace fanin_test
