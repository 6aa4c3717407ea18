// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/contender.hpp"
#include "harness/device.hpp"
#include "harness/options.hpp"
#include "harness/result.hpp"

namespace fanin_perf {

/// Checks and times every selected contender in every case. `gpu` may be null.
/// Wrong answers are reported on stderr and in the result; a bad input file throws
/// fanin_perf::input_error before anything is measured.
run_result run_all(const options& chosen, const contender_list& contenders, device* gpu);

}  // namespace fanin_perf
