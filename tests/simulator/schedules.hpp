// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/calls.hpp"

/// A few calls under a schedule, all of which follow from the seed.
namespace simulator_test {

enum class blocks { small, large };

/// Calls on one object: the one that is tested, another one, or the same, and the first again. What went wrong, or
/// nothing.
std::string run_schedule(std::uint64_t seed, const std::vector<call>& calls, std::size_t tested,
                         blocks size = blocks::small);

}  // namespace simulator_test
