// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/macros.hpp>

/// What <fanin/fanin.hpp> has instead of exact sums in a unit that is compiled with -ffast-math, where the compiler may
/// leave out what they consist of, or with -mfpmath=387, which rounds twice.
namespace fanin {

namespace detail {

template <class T>
struct exact_refused {
#if FANIN_DETAIL_EXCESS_PRECISION
  static_assert(sizeof(T) == 0,
                "fanin: exact sums need doubles that are computed as doubles: compile this unit with -msse2 "
                "-mfpmath=sse");
#else
  static_assert(sizeof(T) == 0,
                "fanin: exact sums need additions as they stand: compile this unit without -ffast-math and "
                "-fassociative-math");
#endif
};

}  // namespace detail

template <class T, class Result = T>
struct exact_sum : detail::exact_refused<T> {};

template <class Exec, class X, class Y>
void exact_dot(Exec&&, const X&, const Y&) {
  (void)detail::exact_refused<X>{};
}

template <class Exec, class X>
void exact_norm2_squared(Exec&&, const X&) {
  (void)detail::exact_refused<X>{};
}

template <class T, class Exec, class X, class Y>
void exact_dot_into(T*, Exec&&, const X&, const Y&) {
  (void)detail::exact_refused<X>{};
}

template <class T, class Exec, class X>
void exact_norm2_squared_into(T*, Exec&&, const X&) {
  (void)detail::exact_refused<X>{};
}

}  // namespace fanin
