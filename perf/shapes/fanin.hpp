// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fanin over an execution object.

#include <fanin/axes.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/runs.hpp>
#include <fanin/segments.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include "shapes/box.hpp"
#include "shapes/shape.hpp"

namespace fanin_perf::shapes {

template <class T, class Exec>
void reduce_by_fanin(const Exec& exec, const problem<T>& of, const element_at<T>& f, const beside& more, T* out) {
  const auto& [what, n, m, inner, given] = of.of;
  if (what == kind::rows) {
    fanin::parallel_reduce_into(out, fanin::rows(exec, n, m), f, fanin::sum<T>{});
  } else if (what == kind::columns) {
    fanin::parallel_reduce_into(out, fanin::columns(exec, n, m), f, fanin::sum<T>{});
  } else if (what == kind::middle) {
    fanin::parallel_reduce_into(out, fanin::axes<1>(fanin::md_range(exec, {n, m, inner})),
                                element_of_three<T>{f.x, m, inner}, fanin::sum<T>{});
  } else if (of.of.has_offsets()) {
    const std::span xs(f.x, static_cast<std::size_t>(of.of.elements()));
    const std::span offsets(more.offsets, static_cast<std::size_t>(n) + 1);
    fanin::reduce_into(out, exec, fanin::segments(xs, offsets), fanin::sum<T>{});
  } else if (what == kind::spmv) {
    const std::span rows(more.row_offsets, static_cast<std::size_t>(n) + 1);
    fanin::parallel_reduce_into(out, fanin::segments(exec, rows), product_at<T>{f.x, more.columns_of(of, f.x), of.x},
                                fanin::sum<T>{});
  } else if (what == kind::runs) {
    const auto count = static_cast<std::size_t>(of.of.elements());
    const std::span keys(more.keys_of(of, f.x), count);
    const std::span to_keys(more.to_keys, static_cast<std::size_t>(n));
    fanin::reduce_into(fanin::runs_to(to_keys, out, more.count), exec, fanin::runs(std::span(f.x, count), keys),
                       fanin::sum<T>{});
  } else if (what == kind::triangle) {
    fanin::parallel_reduce_into(out, fanin::range(exec, n), sum_in_triangle<T>{f.x, n, m}, fanin::sum<T>{});
  } else {
    shapes::with_box(of.of, f.x, [&](const auto& within, const auto& g) {
      fanin::parallel_reduce_into(out, fanin::md_range(exec, within.lower, within.upper), g, fanin::sum<T>{});
    });
  }
}

}  // namespace fanin_perf::shapes
