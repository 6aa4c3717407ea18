// SPDX-License-Identifier: Apache-2.0
#include "span_reduction.cuh"

namespace fanin::detail {
FANIN_DETAIL_FLOATS(FANIN_DETAIL_INSTANTIATE, exact_sum)
}  // namespace fanin::detail
