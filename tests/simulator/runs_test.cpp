// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <span>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/cuda/split/launch.cuh>
#include <fanin/runs.hpp>

#include "simulator/simulated.hpp"

// The contract of runs, on the simulated device.
#include "contract/runs.hpp"
