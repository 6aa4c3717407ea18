// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small helpers on lists of numbers.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fanin_perf {

/// 0 for an empty list.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// 0 for an empty list.
inline double smallest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

}  // namespace fanin_perf
