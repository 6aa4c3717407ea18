// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/device.hpp"
#include "loop/run.hpp"

namespace fanin_perf::cg {

/// A table for a terminal, with a block for each size, type and mode.
std::string to_table(const std::vector<row>& rows);

/// Medians, means with their 95 % bounds and paired ratios (docs/perf.md has the fields), without the series.
std::string to_json(const std::vector<row>& rows, const options& chosen,
                    const std::map<std::string, std::string>& versions, const device* gpu);

}  // namespace fanin_perf::cg
