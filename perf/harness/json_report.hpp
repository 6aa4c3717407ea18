// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "harness/device.hpp"
#include "harness/options.hpp"
#include "harness/result.hpp"

namespace fanin_perf {

inline constexpr int json_schema = 1;

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
