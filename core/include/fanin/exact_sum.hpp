// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/detail/exact_span.hpp>
#include <fanin/detail/exact_window.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/macros.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducer.hpp>

/// Sums that are rounded once: the same bits on every backend, for every grid, number of threads and order.
namespace fanin {

namespace detail {

/// What every exact reducer has: how windows and accumulators meet, and the result.
template <class Accumulator, int Bins, class Result>
struct exact_reducer {
  using accumulator_type = Accumulator;
  using result_type = Result;
  using thread_state = exact_window<Accumulator, Bins>;

  FANIN_FUNCTION Accumulator identity() const { return {}; }
  FANIN_FUNCTION thread_state begin(Accumulator& scratch) const { return thread_state(scratch); }
  FANIN_FUNCTION void flush(thread_state& state, Accumulator&) const { state.flush(); }
  FANIN_FUNCTION void join(Accumulator& into, const Accumulator& from) const { into.merge(from); }
  FANIN_FUNCTION Result result(const Accumulator& acc) const {
    if constexpr (std::same_as<Result, Accumulator>) {
      Accumulator canonical;
      canonical.merge(acc);
      return canonical;
    } else {
      return acc.template value_as<Result>();
    }
  }
};

/// As many bins as take numbers of moderate range whole: 24 bits and 56 exponents, or 53 bits and 67 exponents.
template <class T>
inline constexpr int bins_of_sum = std::same_as<T, float> ? 2 : 3;
/// 106 bits of a product and 54 exponents.
inline constexpr int bins_of_products = 4;

template <exact_element T>
struct factors {
  T x;
  T y;
};

/// Sums of products of two elements. A product of floats is a double, and needs no more than a sum.
template <exact_element T>
struct exact_product_sum : exact_reducer<exact_product_accumulator, bins_of_products, T> {
  using value_type = factors<T>;
  using typename exact_reducer<exact_product_accumulator, bins_of_products, T>::thread_state;
  FANIN_FUNCTION void fold(thread_state& state, const value_type& value, std::int64_t) const {
    state.add_product(value.x, value.y);
  }
};
template <>
struct exact_product_sum<float> : exact_reducer<exact_accumulator, bins_of_products, float> {
  using value_type = factors<float>;
  using typename exact_reducer<exact_accumulator, bins_of_products, float>::thread_state;
  FANIN_FUNCTION void fold(thread_state& state, const value_type& value, std::int64_t) const {
    const auto x = std::bit_cast<double>(double_bits(value.x));
    const auto y = std::bit_cast<double>(double_bits(value.y));
    state.add(rounded_product(x, y));
  }
};

template <exact_element T>
struct make_factors {
  FANIN_FUNCTION factors<T> operator()(const T& x, const T& y) const { return {x, y}; }
};
template <exact_element T>
struct make_square {
  FANIN_FUNCTION factors<T> operator()(const T& x) const { return {x, x}; }
};

template <class Exec, class F, class X, class... Y>
element_t<X> reduce_products(Exec&& exec, const char* call, const F& f, const X& xs, const Y&... ys) {
  using object = std::remove_cvref_t<Exec>;
  const auto handle = handle_of(std::forward<Exec>(exec));
  std::int64_t count = 0;
  const auto products = make_transform<object>(handle, call, count, f, view_of(xs), view_of(ys)...);
  return parallel_reduce(range_policy<object>(handle, 0, count), products, exact_product_sum<element_t<X>>{});
}

}  // namespace detail

/// The true sum of float or double values, rounded once to nearest: the same bits for every order,
/// backend, grid and number of threads. Infinity beyond the largest number; a zero is +0; infinities and NaN as adding
/// one after the other would give. Up to 2^63 elements. An empty range: +0.
/// Result: T, the other of float and double, or exact_accumulator, which can be merged with others, stored and sent.
/// `acc&` of a functor binds to exact_sum::thread_state, which has add(x), += and -=.
template <class T, class Result = T>
struct exact_sum;

template <detail::exact_element T, class Result>
  requires(detail::exact_element<Result> || std::same_as<Result, exact_accumulator>)
struct exact_sum<T, Result> : detail::exact_reducer<exact_accumulator, detail::bins_of_sum<T>, Result> {
  using value_type = T;
  using typename detail::exact_reducer<exact_accumulator, detail::bins_of_sum<T>, Result>::thread_state;
  FANIN_FUNCTION void fold(thread_state& state, const T& value, std::int64_t) const { state.add(value); }
  void fold_span(thread_state& state, const T* values, std::int64_t count, std::int64_t) const {
    detail::fold_exact_span(state, values, count);
  }
};

/// The sum of xs[i] * ys[i], every product exact, rounded once to T: no product overflows, vanishes or is rounded.
/// Infinities, NaN and infinity times zero as IEEE has them. No elements: +0. The same bits on every backend and for
/// every order, grid and number of threads. Blocking: waits for the object's own stream, so that the arrays need not
/// outlive the call. Up to 2^63 elements. Throws invalid_argument, before any launch, when the lengths differ, for a
/// null array with n > 0 and for memory that the backend cannot reach; cuda_error when the stream failed; refused on a
/// capturing stream.
template <class Exec, detail::contiguous X, detail::contiguous Y>
  requires(execution<std::remove_cvref_t<Exec>> && std::same_as<detail::element_t<X>, detail::element_t<Y>> &&
           detail::exact_element<detail::element_t<X>>)
detail::element_t<X> exact_dot(Exec&& exec, const X& xs, const Y& ys) {
  return detail::reduce_products(std::forward<Exec>(exec), "fanin::exact_dot",
                                 detail::make_factors<detail::element_t<X>>{}, xs, ys);
}

/// The sum of xs[i]^2, as exact_dot(exec, xs, xs), of which it reads the array once.
template <class Exec, detail::contiguous X>
  requires(execution<std::remove_cvref_t<Exec>> && detail::exact_element<detail::element_t<X>>)
detail::element_t<X> exact_norm2_squared(Exec&& exec, const X& xs) {
  return detail::reduce_products(std::forward<Exec>(exec), "fanin::exact_norm2_squared",
                                 detail::make_square<detail::element_t<X>>{}, xs);
}

}  // namespace fanin
