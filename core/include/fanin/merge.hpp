// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <utility>

#include <fanin/detail/composite.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducer.hpp>
#include <fanin/tuple.hpp>

namespace fanin {

namespace detail {

template <class R>
concept merges_results =
    requires(const R r, reducer_result_t<R>& into, const reducer_result_t<R>& from) { r.merge(into, from); };
template <class Result>
concept merges_itself = requires(Result& into, const Result& from) { into.merge(from); };

template <class R>
FANIN_FUNCTION constexpr void merge_one(reducer_result_t<R>& into, const reducer_result_t<R>& from, const R& reducer) {
  if constexpr (merges_results<R>) {
    reducer.merge(into, from);
  } else if constexpr (merges_itself<reducer_result_t<R>>) {
    into.merge(from);
  } else if constexpr (!has_result<R>) {
    reducer.join(into, from);
  } else {
    static_assert(sizeof(R) == 0,
                  "fanin: results of this reducer cannot be merged, as they are not what it accumulates: give it a "
                  "merge(result_type& into, const result_type& from) if there is a right one (exact_sum rounds its "
                  "result: ask for exact_sum<T, fanin::exact_accumulator> and merge these)");
  }
}

}  // namespace detail

/// Makes the result of a part, and that of another part, the result of both: of ranks, of chunks, of several calls. The
/// reducers are those that gave the results, and several merge a fanin::tuple. The parts may be empty, but for indices
/// to be those of the whole each part is reduced over its own range of them (parallel_reduce over range(first, last)).
/// In any order and grouping as good as one call over everything: the same bits, but for the rounding of sums and
/// products. NaN, -0 and ties (the smallest index) are as in a call.
///
/// An index of -1 whose value is the identity is "none", and never wins. In a range that has the index -1 an element
/// there that equals the identity (+infinity for a minimum) is taken for none as well: a tie with another one loses it.
///
/// A reducer of one's own may have merge(result_type&, const result_type&); without it its results are joined, if it
/// has no result(). Results that are no accumulators any more are refused by the compiler, in words.
template <class Reducer, class... More>
FANIN_FUNCTION constexpr void merge(typename detail::composite<Reducer, More...>::result_type& into,
                                    const typename detail::composite<Reducer, More...>::result_type& from,
                                    const Reducer& reducer, const More&... more) {
  if constexpr (sizeof...(More) == 0) {
    detail::merge_one(into, from, reducer);
  } else {
    const tuple<Reducer, More...> all{reducer, more...};
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (detail::merge_one(get<I>(into), get<I>(from), get<I>(all)), ...);
    }(std::index_sequence_for<Reducer, More...>{});
  }
}

}  // namespace fanin
