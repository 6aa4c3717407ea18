// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/device/warp.cuh>

/// Exclusive prefix sums, of which all of those who take part get the sum of all, too.
namespace fanin::detail {

/// By a warp: what lanes before this one have, and all have.
struct sums_of_lanes {
  int before;
  int all;
};
__device__ inline sums_of_lanes sum_lanes(int value) {
  constexpr auto lanes = static_cast<int>(warp_size);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  int sum = value;
  for (int step = 1; step < lanes; step *= 2) {
    const int before = of_lane(sum, (lane - step) & (lanes - 1));
    if (lane >= step) sum += before;
  }
  return {sum - value, of_lane(sum, lanes - 1)};
}

}  // namespace fanin::detail
