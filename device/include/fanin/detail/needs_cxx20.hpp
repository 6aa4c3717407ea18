// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The first include of every header that applications include: says in words what would be hundreds of errors.
#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error \
    "Fanin needs C++20: compile with -std=c++20 or later, in CMake target_compile_features(<target> PUBLIC cxx_std_20)"
#endif
#if !defined(__cpp_exceptions)
#error "Fanin tells of errors by exceptions: compile this file without -fno-exceptions"
#endif
