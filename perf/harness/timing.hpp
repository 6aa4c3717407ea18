// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/contender.hpp"
#include "harness/device.hpp"
#include "harness/result.hpp"

namespace fanin_perf {

/// A contender that has given right answers, ready to be timed.
struct racer {
  row* result = nullptr;
  call* prepared = nullptr;  ///< of a graph: a call is a launch of row::graph_nodes
  call* kernels = nullptr;   ///< of timing::between_...: the graph of as many kernels alone
};

struct timing_plan {
  int series = 7;
  bool quick = false;
};

/// Times the racers of one case, all over the same buffers, and completes their rows (but for shares
/// and ratios). In each series each racer has its turn, in an order drawn anew; buffers go on
/// from where the racer before stopped, so that no one finds the caches warm.
/// `calls`: events around calls enqueued back to back. `graph`: events around each launch of a graph, whose time is
/// that of its calls together. `between_...`: the same, less the time of a graph of the kernels alone in the same
/// series, where they have a turn like a racer; hot: behind another launch of the graph. A row for whose calls no time
/// is left in a series says so in its fault. Else: the host's clock around calls that each wait for their value.
void race(std::vector<racer>& racers, std::int64_t buffers, const timing_plan& plan, device* gpu);

}  // namespace fanin_perf
