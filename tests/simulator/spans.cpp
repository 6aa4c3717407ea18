// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <span_reduction.cuh>

// What the library has precompiled, for the programs here and over ranks that call it.
namespace fanin::detail {
template struct cuda_span_reduction<sum<std::int64_t>>;
template struct cuda_span_reduction<exact_sum<float>>;
template struct cuda_span_reduction<exact_sum<double>>;
}  // namespace fanin::detail
