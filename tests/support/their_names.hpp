// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Functions of an application's that are called like Fanin's, in the namespace of a value of its own, and take
/// anything: none is to be called. Where a result is one of theirs, it does not compile, or is wrong.
namespace theirs {

struct nothing {};

#define FANIN_TEST_THEIRS(name)                \
  template <class... T>                        \
  constexpr nothing name(T&&...) {             \
    return {};                                 \
  }                                            \
  template <class T>                           \
  constexpr nothing name(const T&) {           \
    return {};                                 \
  }                                            \
  template <class T, class U>                  \
  constexpr nothing name(const T&, const U&) { \
    return {};                                 \
  }

}  // namespace theirs
