// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <complex>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fanin/detail/ranks_data.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/exact_sum.hpp>

/// Exact sums over ranks: the same bits for every number of ranks, and for every split of the elements among them.
namespace fanin {

namespace detail {

template <exact_element T, class Result>
inline constexpr bool hands_over_words<exact_sum<T, Result>> = true;
template <exact_element T, class Result>
inline constexpr bool hands_over_words<exact_product_sum<T, Result>> = true;

/// The same sum as another result.
template <class Other, exact_element T, class Result>
constexpr exact_sum<T, Other> exact_with_result(const exact_sum<T, Result>&) {
  return {};
}
template <class Other, exact_element F, class Result>
constexpr exact_sum<std::complex<F>, Other> exact_with_result(const exact_sum<std::complex<F>, Result>&) {
  return {};
}
template <class Other, exact_element T, class Result>
constexpr exact_product_sum<T, Other> exact_with_result(const exact_product_sum<T, Result>&) {
  return {};
}

/// What ranks hand over is what exact sums can give.
template <class R>
  requires(hands_over_words<R>)
struct reducer_of_part<R> {
  static constexpr auto of(const R& r) { return detail::exact_with_result<reducer_accumulator_t<R>>(r); }
};

template <exact_element T, class Exec, class Run, class F, class Way, class X, class... Y>
auto products_over_ranks(const char* name, Exec&& exec, const Run& run, const F& f, const ranks_data<Way, X>& xs,
                         const ranks_data<Way, Y>&... ys) {
  using object = typename Way::template checked<std::remove_cvref_t<Exec>>;
  const exact_product_sum<T> sum;
  return detail::elements_over_ranks<object>(name, nullptr, detail::handle_of(std::forward<Exec>(exec)), run, f,
                                             std::tuple<const exact_product_sum<T>&>(sum), xs, ys...);
}

}  // namespace detail

/// exact_dot(exec, over(comm, xs), over(comm, ys)): of the whole, each rank with its part of both. As over() has it of
/// calls over ranks, and exact_dot of its results: the same bits for every number of ranks, split and backend. A rank
/// whose arrays have different lengths throws invalid_argument, the others rank_error; all throw invalid_argument where
/// the two go over different communicators.
template <class Exec, class Way, class X, class Y>
  requires(execution<std::remove_cvref_t<Exec>> && detail::exact_element<detail::element_t<X>> &&
           std::is_same_v<detail::element_t<X>, detail::element_t<Y>>)
detail::element_t<X> exact_dot(Exec&& exec, const ranks_data<Way, X>& xs, const ranks_data<Way, Y>& ys) {
  using type = detail::element_t<X>;
  return detail::products_over_ranks<type>("fanin::exact_dot", std::forward<Exec>(exec), detail::call_now{},
                                           detail::make_factors<type>{}, xs, ys);
}

/// exact_norm2_squared(exec, over(comm, xs)), as exact_dot.
template <class Exec, class Way, class X>
  requires(execution<std::remove_cvref_t<Exec>> && detail::exact_element<detail::element_t<X>>)
detail::element_t<X> exact_norm2_squared(Exec&& exec, const ranks_data<Way, X>& xs) {
  using type = detail::element_t<X>;
  return detail::products_over_ranks<type>("fanin::exact_norm2_squared", std::forward<Exec>(exec), detail::call_now{},
                                           detail::make_square<type>{}, xs);
}

/// As exact_dot over ranks, written to *out as reduce_into over ranks writes: `out` is memory of the object's.
template <class Exec, class Way, class X, class Y>
  requires(execution<std::remove_cvref_t<Exec>> && detail::exact_element<detail::element_t<X>> &&
           std::is_same_v<detail::element_t<X>, detail::element_t<Y>>)
void exact_dot_into(detail::element_t<X>* out, Exec&& exec, const ranks_data<Way, X>& xs,
                    const ranks_data<Way, Y>& ys) {
  using type = detail::element_t<X>;
  detail::check_destination(out, "fanin::exact_dot_into");
  detail::products_over_ranks<type>("fanin::exact_dot_into", std::forward<Exec>(exec), detail::call_into<type>{out},
                                    detail::make_factors<type>{}, xs, ys);
}

/// exact_norm2_squared_into(out, exec, over(comm, xs)), as exact_dot_into.
template <class Exec, class Way, class X>
  requires(execution<std::remove_cvref_t<Exec>> && detail::exact_element<detail::element_t<X>>)
void exact_norm2_squared_into(detail::element_t<X>* out, Exec&& exec, const ranks_data<Way, X>& xs) {
  using type = detail::element_t<X>;
  detail::check_destination(out, "fanin::exact_norm2_squared_into");
  detail::products_over_ranks<type>("fanin::exact_norm2_squared_into", std::forward<Exec>(exec),
                                    detail::call_into<type>{out}, detail::make_square<type>{}, xs);
}

}  // namespace fanin
