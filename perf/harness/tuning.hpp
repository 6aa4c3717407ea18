// SPDX-License-Identifier: Apache-2.0
#pragma once

// What --tune found: for each case the strategy and the tuning that were fastest.

#include <string>

#include "harness/result.hpp"

namespace fanin_perf {

/// A line for each case and timing: the default's time, the best one's, the ratio of the two from series that ran
/// beside each other with its bounds of 95 % confidence, and what to write in a program for it. Where the bounds do not
/// exclude that the default is as fast, the line says so.
std::string tuning_table(const run_result& result);

}  // namespace fanin_perf
