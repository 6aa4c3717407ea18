// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fanin_test {

/// What a lane, eight lanes or a warp of a GPU give of a segment's values, of up to 4096 elements, in their order:
/// lanes of a warp have 512 at a time.
template <class T>
T sum_by_lanes(const T* x, std::int64_t count) {
  const std::size_t lanes = count <= 32 ? 1 : count <= 128 ? 8 : 32;
  std::vector<T> of_lane(lanes, 0);
  for (std::int64_t from = 0; from < count; from += 512) {
    std::vector<T> of_part(lanes, 0);
    for (std::int64_t k = from; k < count && k < from + 512; ++k) of_part[static_cast<std::size_t>(k) % lanes] += x[k];
    for (std::size_t lane = 0; lane < lanes; ++lane) of_lane[lane] += of_part[lane];
  }
  for (std::size_t half = lanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) of_lane[lane] += of_lane[lane + half];
  }
  return of_lane[0];
}

}  // namespace fanin_test
