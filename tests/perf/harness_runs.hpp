// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs of the harness without a library to compare: sums of int64 on the host.

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/contender.hpp"
#include "harness/options.hpp"
#include "harness/values.hpp"

namespace fanin_perf {

// A contender for i64 sums that leaves out `dropped` elements at the end.
struct sum_family {
  template <class T, operation Op>
  static constexpr bool offers() {
    return std::is_same_v<T, std::int64_t> && Op == operation::sum;
  }

  std::int64_t dropped = 0;
  bool throws = false;

  template <class T, operation Op>
  std::unique_ptr<call> make(const workload& work) const {
    if (throws) throw std::runtime_error("cannot be prepared");
    return make_blocking<T>(work, [left_out = dropped](const T* x, const T*, std::int64_t n) {
      T sum = 0;
      for (std::int64_t i = 0; i < n - left_out; ++i) sum = wrapping_sum(sum, x[i]);
      return sum;
    });
  }
};

inline options i64_sums(std::vector<std::int64_t> sizes) {
  options chosen;
  chosen.types = {element::i64};
  chosen.operations = {operation::sum};
  chosen.sizes = chosen.host_sizes = std::move(sizes);
  chosen.series = 3;
  chosen.quick = true;
  return chosen;
}

// The same on the device, as the library of this name.
inline contender on_device(const char* name, destination to, bool capturable) {
  contender who;
  who.name = name;
  who.where = place::gpu;
  who.to = to;
  who.capturable = capturable;
  return of_family(who, sum_family{});
}

}  // namespace fanin_perf
