// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs forms: each is compared with the reference, then timed.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/confidence.hpp"
#include "harness/device.hpp"
#include "harness/kinds.hpp"
#include "loop/registry.hpp"

namespace fanin_perf::cg {

enum class mode {
  graph,   ///< events around a graph of all iterations
  calls,   ///< events around iterations that are only enqueued
  checked  ///< the host's clock around iterations of which each r.r comes to the host before the next begins
};
inline constexpr std::array<std::string_view, 3> mode_names{"graph", "calls", "checked"};
inline std::string_view name(mode how) { return mode_names[static_cast<std::size_t>(how)]; }

struct options {
  std::vector<std::int64_t> sizes;  ///< powers of two
  std::vector<element> types{element::f64};
  std::vector<mode> modes{mode::graph, mode::calls, mode::checked};
  std::vector<std::string> libraries{};  ///< empty: all
  int series = 15;
  int iterations = 20;
  bool quick = false;
};

struct ratio {
  const contender* peer;
  interval times;  ///< the peer's time over this one's, paired
};

struct row {
  const contender* who;
  element type;
  std::int64_t n;
  mode how;
  std::vector<double> series_us{};  ///< of an iteration
  double time_us = 0;               ///< their median
  double error = 0;                 ///< the largest that was found; see reference.hpp
  interval kernels{};               ///< the share of the time that the kernels alone take, paired; mean 0: not measured
  std::vector<ratio> ratios{};
  std::string fault{};  ///< empty: all right
};

/// Progress goes to stderr. Throws std::runtime_error where memory is short.
std::vector<row> run_all(const options& chosen, const registry& all, device* gpu);

}  // namespace fanin_perf::cg
