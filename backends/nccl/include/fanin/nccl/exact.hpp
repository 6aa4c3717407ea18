// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <fanin/detail/exact_ranks.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/nccl/over.hpp>

/// Exact sums over NCCL's ranks: what a part gives is canonical, so that its digits have 32 bits each, and 2^31 ranks'
/// sum of them 63; the last one is signed and wraps as it should; how many ranks had infinities and NaN stands behind
/// them. A join with nothing makes it canonical again.
namespace fanin::detail {

template <int Lowest, int Limbs>
inline constexpr bool is_summed_by_words<basic_exact_accumulator<Lowest, Limbs>> = true;
template <>
inline constexpr bool is_summed_by_words<exact_complex_accumulator> = true;

}  // namespace fanin::detail
