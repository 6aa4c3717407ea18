// SPDX-License-Identifier: Apache-2.0
#pragma once

// What series say about a time or a ratio of times: a mean and how far it can be trusted.

#include <limits>
#include <vector>

namespace fanin_perf {

/// A geometric mean with its bounds of 95 % confidence. One value alone has the bounds 0 and infinity.
struct interval {
  double mean = 0;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();

  /// How far the upper bound is above the mean, as a share of it.
  double half_width() const { return high / mean - 1; }
};

/// The t for which |T| < t with a probability of 95 %, of Student's distribution.
double student_t95(int degrees_of_freedom);

/// Of positive values; their logarithms are taken as normally distributed.
interval geometric_mean(const std::vector<double>& values);

/// The mean of peer[k] / own[k] over the series k that both have, which ran beside each other.
interval paired_ratio(const std::vector<double>& peer, const std::vector<double>& own);

}  // namespace fanin_perf
