// SPDX-License-Identifier: Apache-2.0
#pragma once

// The command line of fanin-perf.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/contender.hpp"
#include "harness/data_kinds.hpp"
#include "harness/kinds.hpp"

namespace fanin_perf {

struct input_choice {
  std::string file;
  std::string array;  ///< in an .npz; may be empty where it holds only one
};

/// Throws std::invalid_argument with what there is where one of those that were given is not.
void check_known(std::string_view what, const std::vector<std::string>& given, std::vector<std::string> known);

struct options {
  std::vector<std::string> backends{"all"};
  std::vector<std::string> strategies{"all"};
  std::vector<std::string> contenders{"all"};
  std::vector<element> types;
  std::vector<operation> operations;
  std::vector<timing> timings{timing::host, timing::calls, timing::graph, timing::blocking};  ///< "all" has more
  std::vector<std::int64_t> sizes;       ///< for contenders on the GPU
  std::vector<std::int64_t> host_sizes;  ///< for contenders on the host
  int series = 7;
  std::vector<data_kind> data{data_kind{}};  ///< of synthetic arrays
  double worst_seconds = 0;                  ///< of the search for the slowest data, for each type; 0: none
  std::uint64_t seed = 1;
  std::string json;
  std::string baseline;  ///< a JSON to compare this run with; empty: none
  std::vector<input_choice> inputs;
  bool with_synthetic = false;  ///< beside inputs; without inputs they are always measured
  bool quick = false;
  bool tune = false;  ///< blocks and grids of the default CUDA strategy, instead of contenders
  bool list = false;

  bool selects(const contender& who) const;

  /// How a contender is to be timed, of the ways in which it can be.
  std::vector<timing> timings_of(const contender& who) const;
};

/// What the command line asks for. `known` gives the names that may be chosen; `has_gpu` the
/// defaults. Returns nullopt after --help, and after a mistake, which has then been explained on
/// stderr; `exit_code` is set in both cases.
std::optional<options> read_options(int argc, const char* const* argv, const contender_list& known, bool has_gpu,
                                    int& exit_code);

/// Sizes from text: "1000", "2^20", "2^10..2^26" (each power of two), "2^10..2^26:4" (each fourth
/// multiple), several with commas. Throws std::invalid_argument with a sentence.
std::vector<std::int64_t> parse_sizes(std::string_view text);

/// --list: names of backends, strategies, types, operations and contenders.
std::string describe_choices(const contender_list& known);

}  // namespace fanin_perf
