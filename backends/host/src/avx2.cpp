// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#if FANIN_HOST_HAS_X86_LEVELS

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#define FANIN_HOST_TABLE avx2_table
#define FANIN_HOST_VECTOR_BYTES 32
#include "level.hpp"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
