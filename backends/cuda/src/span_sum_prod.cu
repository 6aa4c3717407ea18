// SPDX-License-Identifier: Apache-2.0
#include "span_reduction.cuh"

namespace fanin::detail {
FANIN_DETAIL_ARITHMETIC(FANIN_DETAIL_INSTANTIATE, sum)
FANIN_DETAIL_ARITHMETIC(FANIN_DETAIL_INSTANTIATE, prod)
}  // namespace fanin::detail
