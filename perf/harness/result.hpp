// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a run found.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/answer.hpp"
#include "harness/confidence.hpp"
#include "harness/contender.hpp"
#include "harness/data_kinds.hpp"
#include "harness/kinds.hpp"

namespace fanin_perf {

/// How many times as fast as a peer beside it, by the series that ran in turn with the peer's.
struct peer_ratio {
  const contender* peer = nullptr;
  interval times;
};

/// One contender in one case, timed in one way.
struct row {
  const contender* who = nullptr;
  timing how = timing::host;
  operation op = operation::sum;
  element type = element::f32;
  std::int64_t n = 0;
  std::int64_t bytes = 0;  ///< read by one call
  int input = -1;          ///< index into run_result::inputs; -1 for synthetic data
  data_kind kind;          ///< of synthetic data

  std::int64_t graph_nodes = 0;   ///< calls in the CUDA graph; 0 where there is none
  std::int64_t calls = 0;         ///< in each of the series
  std::vector<double> series_us;  ///< time of one call, a series each; series of one case pair up
  double kernel_us = 0;           ///< timing::between_...: of the kernel before it, which was taken off
  double time_us = 0;             ///< host: the smallest; GPU: the median
  double gbs = 0;
  double share_of_limit = 0;
  std::optional<double> ratio_to_kokkos;  ///< Kokkos's time over this one
  std::vector<peer_ratio> ratios;         ///< to those of contender::is_peer; they themselves have none

  answer got;
  answer right;
  double bound = 0;               ///< of the error of a float sum
  std::string fault;              ///< empty where the answer was right
  std::int64_t numpy_index = -1;  ///< real arrays: got.index as numpy's argmin would give it
};

/// An array that --input named.
struct input_facts {
  std::string file;
  std::string array;
  std::string dtype;
  element type = element::f64;
  std::string note;
  std::vector<std::int64_t> shape;
  bool fortran_order = false;
  std::int64_t n = 0;
  bool has_nan = false;
  std::vector<std::string> left_out;  ///< contenders that do not carry NaN as the contract asks

  /// As in "topo of topobathy.npz".
  std::string label() const;
};

struct limits {
  double host_one_thread_gbs = 0;
  double host_gbs = 0;
  double device_gbs = 0;
  double device_blocking_floor_us = 0;
};

struct run_result {
  limits bandwidth;
  std::vector<row> rows;
  std::vector<input_facts> inputs;
  bool all_right = true;
};

}  // namespace fanin_perf
