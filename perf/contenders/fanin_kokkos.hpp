// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fanin over Kokkos, on a host space.

#include <fanin/kokkos/kokkos.hpp>

#include "contenders/fanin_calls.hpp"

namespace fanin_perf {

template <class Space>
struct make_fanin_kokkos {
  fanin::kokkos<Space> operator()(const workload&) const { return fanin::kokkos<Space>(); }
};

inline contender fanin_kokkos_described(const char* backend, place where) {
  contender who;
  who.name = "fanin";
  who.backend = backend;
  who.form = "span";
  who.rounds_once = true;
  who.where = where;
  return who;
}

}  // namespace fanin_perf
