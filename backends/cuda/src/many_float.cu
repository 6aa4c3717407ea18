// SPDX-License-Identifier: Apache-2.0
#include "many_reduction.cuh"

namespace fanin::detail {
FANIN_DETAIL_SHAPES_PRECOMPILED(FANIN_DETAIL_INSTANTIATE_MANY, float)
}  // namespace fanin::detail
