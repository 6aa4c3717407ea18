// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fanin {

namespace detail {

/// Of a built-in reducer whose type was left out: sum{}.
struct no_type {};

template <class R>
concept names_accumulator = requires { typename R::accumulator_type; };
template <class R>
concept names_result = requires { typename R::result_type; };

template <class R>
struct accumulator_of {
  using type = typename R::value_type;
};
template <names_accumulator R>
struct accumulator_of<R> {
  using type = typename R::accumulator_type;
};

template <class R>
struct result_of : accumulator_of<R> {};
template <names_result R>
struct result_of<R> {
  using type = typename R::result_type;
};

}  // namespace detail

template <class R>
using reducer_value_t = typename R::value_type;
template <class R>
using reducer_accumulator_t = typename detail::accumulator_of<R>::type;
template <class R>
using reducer_result_t = typename detail::result_of<R>::type;

}  // namespace fanin
