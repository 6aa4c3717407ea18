// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cfenv>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <tuple>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <fanin/host/exact_loops.hpp>
#include <fanin/host/loops.hpp>

#if defined(__x86_64__) && defined(__GNUC__)
#define FANIN_HOST_HAS_X86_LEVELS 1
#else
#define FANIN_HOST_HAS_X86_LEVELS 0
#endif

// Of types that are not hidden, but nobody else's business.
#pragma GCC visibility push(hidden)

namespace fanin::detail::host {

/// Every type that has loops.
using all_loops = std::tuple<loops<float>, loops<double>, loops<std::int8_t>, loops<std::int16_t>, loops<std::int32_t>,
                             loops<std::int64_t>, loops<std::uint8_t>, loops<std::uint16_t>, loops<std::uint32_t>,
                             loops<std::uint64_t>, exact_loops<float>, exact_loops<double>>;

/// Those of a level, which a unit of its own defines.
const all_loops& baseline_table() noexcept;
#if FANIN_HOST_HAS_X86_LEVELS
const all_loops& avx2_table() noexcept;
const all_loops& avx512_table() noexcept;
#endif

}  // namespace fanin::detail::host

#pragma GCC visibility pop
