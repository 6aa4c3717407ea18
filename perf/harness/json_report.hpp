// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <string>

#include "harness/device.hpp"
#include "harness/options.hpp"
#include "harness/result.hpp"

namespace fanin_perf {

inline constexpr int json_schema = 2;

/// What stands in a row, in this order.
inline constexpr std::array json_columns{"way",    "time_us", "mean_us",     "within_percent",
                                         "ratios", "answer",  "error_bound", "fault"};

/// What of "meta" is the build's and the machine's, as JSON.
std::string describe_machine(const std::map<std::string, std::string>& versions, const device* gpu);

/// A run as JSON (docs/perf.md has the fields).
std::string to_json(const run_result& result, const options& chosen, const std::map<std::string, std::string>& versions,
                    const device* gpu);

/// Writes that. Throws std::runtime_error with the file's
/// name when it cannot be written.
void write_json(const std::string& file, const run_result& result, const options& chosen,
                const std::map<std::string, std::string>& versions, const device* gpu);

/// Throws std::runtime_error now if the file cannot be written later.
void check_writable(const std::string& file);

/// A table of the run for a terminal.
std::string to_table(const run_result& result);

}  // namespace fanin_perf
