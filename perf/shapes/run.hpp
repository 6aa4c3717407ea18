// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs contenders over shapes: each is compared with sums in double, then timed.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/confidence.hpp"
#include "harness/device.hpp"
#include "harness/kinds.hpp"
#include "shapes/shape.hpp"

namespace fanin_perf::shapes {

struct options {
  std::vector<shape> shapes;
  std::vector<element> types{element::f64, element::f32};
  std::string input{};                    ///< whose array it is that is summed; empty: synthetic ones
  const std::byte* numbers = nullptr;     ///< its elements
  std::vector<std::string> contenders{};  ///< empty: all
  int series = 15;
  bool quick = false;
};

struct ratio {
  const contender* peer;
  interval times;  ///< the peer's time over this one's, paired
};

struct row {
  const contender* who;
  element type;
  shape of;
  std::vector<double> series_us{};  ///< of a call; on the GPU as a node of a graph
  double time_us = 0;               ///< their median
  double gb_per_s = 0;              ///< of what is read and written
  double error = 0;                 ///< the largest that was found, relative to the sum of magnitudes
  std::vector<ratio> ratios{};
  preparation before{};
  std::string fault{};  ///< empty: all right
};

/// "rows:2^20x256", "columns:1024x1024", "md:4096x4096", "segments:offsets.npy", "segments:matrix.npz:indptr",
/// "spmv:stencil7:2^20". Throws std::invalid_argument with a sentence, of a file input_error.
shape parse_shape(std::string_view text);

/// Progress goes to stderr; tell(rows) gets those of each shape and type when they are measured.
std::vector<row> run_all(const options& chosen, const registry& all, device* gpu,
                         const std::function<void(const std::vector<row>&)>& tell);

std::string table_head();
std::string to_table(const std::vector<row>& rows);
std::string to_json(const std::vector<row>& rows, const options& chosen, const registry& all, const device* gpu);

}  // namespace fanin_perf::shapes
