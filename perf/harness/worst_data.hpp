// SPDX-License-Identifier: Apache-2.0
#pragma once

// A search for the data over which something is slowest.

#include <cstdint>
#include <functional>

#include "harness/data_kinds.hpp"

namespace fanin_perf {

struct search {
  std::uint64_t seed = 1;
  double seconds = 1;                 ///< after them no further kind is looked at
  std::int64_t most_kinds = 1 << 20;  ///< that are looked at
  std::int64_t most_binades = 2000;   ///< of loguniform
};

struct found_data {
  data_kind kind;
  double share = 1;
  std::int64_t looked_at = 0;
};

/// The kind for which `share_of` is least, of every shape and of mixtures: the slowest ones so far are changed by a
/// parameter, a part, a weight or the length of runs. A share is measured again before it is believed.
found_data find_worst_data(const search& how, const std::function<double(const data_kind&)>& share_of);

}  // namespace fanin_perf
