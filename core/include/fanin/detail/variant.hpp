// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/config.hpp>

/// FANIN_DETAIL_VARIANT names the inline namespace of functions, and of types that never leave them, which differ from
/// one unit of a program to another: nvcc's has fewer builtins, and code of -ffinite-math-only must not serve one that
/// has NaN. The linker would keep one of them for all. What units hand each other stays outside, and so does what
/// stands in the library: it is found from every unit.
#define FANIN_DETAIL_JOIN(a, b, c, d, e) a##_##b##_##c##_##d##_##e
#define FANIN_DETAIL_EXPAND_AND_JOIN(a, b, c, d, e) FANIN_DETAIL_JOIN(a, b, c, d, e)
#define FANIN_DETAIL_VERSIONED(a, b) \
  FANIN_DETAIL_EXPAND_AND_JOIN(a, b, FANIN_VERSION_MAJOR, FANIN_VERSION_MINOR, FANIN_VERSION_PATCH)
#if defined(__CUDACC__)
#define FANIN_DETAIL_UNIT nvcc
#else
#define FANIN_DETAIL_UNIT plain
#endif
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#define FANIN_DETAIL_NUMBERS of_finite
#else
#define FANIN_DETAIL_NUMBERS of_all
#endif
#define FANIN_DETAIL_VARIANT FANIN_DETAIL_VERSIONED(FANIN_DETAIL_UNIT, FANIN_DETAIL_NUMBERS)
