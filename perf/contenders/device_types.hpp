// SPDX-License-Identifier: Apache-2.0
#pragma once

// Element types as CUDA names them.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "harness/elements.hpp"

namespace fanin_perf {

template <class T>
using on_device = std::conditional_t<std::is_same_v<T, float16>, __half,
                                     std::conditional_t<std::is_same_v<T, bfloat16>, __nv_bfloat16, T>>;

}  // namespace fanin_perf
