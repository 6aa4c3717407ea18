// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace fanin_perf::cg {

/// The calling thread as a place: its kernels are loops.
template <class Exec>
struct on_host {
  explicit on_host(void*) {}

  Exec make_exec() const { return Exec(); }
  template <class F>
  void each(std::int64_t n, const F& f) const {
    for (std::int64_t i = 0; i < n; ++i) (void)f(i);
  }
  template <class T>
  void read(T* to, const T* from, std::int64_t n) const {
    std::copy_n(from, n, to);
  }
};

}  // namespace fanin_perf::cg
