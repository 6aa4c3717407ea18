// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/detail/composite.hpp>
#include <fanin/detail/finished_composite.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/range.hpp>

namespace fanin::detail {

/// How a call goes over a range: as over the numbers first() .. first() + size() - 1 of its indices. A kind of range
/// specialises this with what functors, reducers and results are then. Others are no ranges.
template <class Range>
struct over;

template <class Exec, class Index, class Tag>
struct over<range_policy<Exec, Index, Tag>> {
  using execution_type = Exec;
  using range_type = range_policy<Exec, Index, Tag>;
  using call = index_call<Index, Tag>;
  template <class... Reducer>
  using result_type = result_t<Reducer...>;

  static constexpr std::int64_t first(const range_type& range) { return range.first(); }
  /// Whether a call with these reducers takes the functor; one that it does not is refused in words.
  template <class F, class Composite>
  static constexpr bool check_functor() {
    return Composite::template check_functor<F, call>();
  }
  template <class F>
  static constexpr bool check_for_functor() {
    return detail::check_for_call<call, F>();
  }
  /// The reducers as one.
  template <class... Reducer>
  static constexpr auto composite_of(const range_type&, const Reducer&... reducers) {
    return detail::make_composite(reducers...);
  }
  /// f as a functor of numbers.
  template <class F>
  static constexpr decltype(auto) functor(const range_type&, const F& f) {
    if constexpr (call::is_plain) {
      return (f);
    } else {
      return detail::called<call, 1>(f);
    }
  }
};

template <class Range>
concept index_range = requires { typename over<Range>::execution_type; };
template <class Range>
using backend_of = backend<typename over<Range>::execution_type>;
template <class Range, class... Reducer>
using result_over_t = typename over<Range>::template result_type<Reducer...>;

}  // namespace fanin::detail
