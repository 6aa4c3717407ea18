// SPDX-License-Identifier: Apache-2.0
#include "span_reduction.cuh"

namespace fanin::detail {
FANIN_DETAIL_ARITHMETIC(FANIN_DETAIL_INSTANTIATE, min_max_loc)
}  // namespace fanin::detail
