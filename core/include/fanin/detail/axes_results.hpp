// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/finished_composite.hpp>
#include <fanin/detail/md_places.hpp>
#include <fanin/finished.hpp>
#include <fanin/macros.hpp>
#include <fanin/md_index.hpp>

/// What becomes of each of many results: places along the reduced axes, and g of finished(g, reducers...).
namespace fanin::detail {

/// A reducer's result where Rank axes are reduced: of one axis places are its indices.
template <class R, std::size_t Rank>
using axes_result_of_t = typename std::conditional_t<Rank == 1, result_of<R>, md_result_of<R, Rank>>::type;

/// g with the indices behind the results, or where it takes the results alone with those.
template <class G, class Left, class... Result>
inline constexpr bool finishes_with_indices = false;
template <class G, std::size_t... I, class... Result>
  requires(!requires(const G& g, const Result&... results) { g(results...); })
inline constexpr bool finishes_with_indices<G, std::index_sequence<I...>, Result...> =
    std::is_invocable_v<const G&, const Result&..., same_for<I, std::int64_t>...>;

template <class G, class Left, class... Result>
struct given_by_finish {
  using type = void;
};
template <class G, std::size_t... I, class... Result>
  requires(finishes_with_indices<G, std::index_sequence<I...>, Result...>)
struct given_by_finish<G, std::index_sequence<I...>, Result...> {
  using type = std::remove_cvref_t<std::invoke_result_t<const G&, const Result&..., same_for<I, std::int64_t>...>>;
};
template <class G, std::size_t... I, class... Result>
  requires(!finishes_with_indices<G, std::index_sequence<I...>, Result...> &&
           std::is_invocable_v<const G&, const Result&...>)
struct given_by_finish<G, std::index_sequence<I...>, Result...> {
  using type = std::remove_cvref_t<std::invoke_result_t<const G&, const Result&...>>;
};

/// What a call gives for each row. `void` as in result_of_all.
template <class Axes, class... Reducer>
struct axes_result_of_all {
  using type = void;
};
template <class Axes, has_value_type R>
struct axes_result_of_all<Axes, R> {
  using type = axes_result_of_t<R, Axes::reduced_rank>;
};
template <class Axes, has_value_type First, has_value_type Second, has_value_type... Others>
struct axes_result_of_all<Axes, First, Second, Others...> {
  using type = tuple<axes_result_of_t<First, Axes::reduced_rank>, axes_result_of_t<Second, Axes::reduced_rank>,
                     axes_result_of_t<Others, Axes::reduced_rank>...>;
};
template <class Axes, class G, has_value_type... Reducer>
struct axes_result_of_all<Axes, finished_reducers<G, Reducer...>>
    : given_by_finish<G, std::make_index_sequence<Axes::left_rank>, axes_result_of_t<Reducer, Axes::reduced_rank>...> {
};

/// g of a row's results, and where g wants them, of the indices at which it stands.
template <class G, class Axes, iterate Order, class... Reducer>
struct axes_placed {
  static constexpr std::size_t reduced_rank = Axes::reduced_rank;
  using finish_type = G;
  using left_index = md_index<Axes::left_rank>;
  using left_dimensions = std::make_index_sequence<Axes::left_rank>;
  template <class R>
  using placed_result = axes_result_of_t<R, reduced_rank>;
  /// Of other reducers, what they give.
  template <class... Other>
  using results_of = axes_placed<md_results_themselves, Axes, Order, Other...>;
  using result_type = typename given_by_finish<G, left_dimensions, placed_result<Reducer>...>::type;

  left_index place;
  md_shape<reduced_rank, Order> reduced;
  G g;

  FANIN_FUNCTION constexpr result_type operator()(const reducer_result_t<Reducer>&... results) const
    requires(!std::is_void_v<result_type>)
  {
    return call(left_dimensions{}, placed<Reducer>(results)...);
  }
  /// The same where g may be callable on the host alone, also in a unit that nvcc compiles.
  constexpr result_type on_host(const reducer_result_t<Reducer>&... results) const {
    return call_on_host(left_dimensions{}, placed<Reducer>(results)...);
  }

 private:
  static constexpr bool takes_indices = finishes_with_indices<G, left_dimensions, placed_result<Reducer>...>;

  template <std::size_t... D>
  FANIN_FUNCTION constexpr result_type call(std::index_sequence<D...>, const placed_result<Reducer>&... results) const {
    if constexpr (takes_indices) {
      return g(results..., std::int64_t{place[D]}...);
    } else {
      return g(results...);
    }
  }
  template <std::size_t... D>
  constexpr result_type call_on_host(std::index_sequence<D...>, const placed_result<Reducer>&... results) const {
    if constexpr (takes_indices) {
      return g(results..., std::int64_t{place[D]}...);
    } else {
      return g(results...);
    }
  }
  template <class R>
  FANIN_FUNCTION constexpr placed_result<R> placed(const reducer_result_t<R>& result) const {
    if constexpr (reduced_rank == 1 || !tells_place<R>) {
      return result;
    } else {
      return detail::placed_in(reduced, result);
    }
  }
};
template <class G, class Axes, iterate Order, class... Reducer>
struct finish_on_host<axes_placed<G, Axes, Order, Reducer...>> {
  static constexpr auto call(const axes_placed<G, Axes, Order, Reducer...>& g,
                             const reducer_result_t<Reducer>&... results) {
    return g.on_host(results...);
  }
};

/// The reducers of many results; Placed is axes_placed of these or of those that they stand for.
template <class Placed, class... Reducer>
struct axes_composite : composite<Reducer...> {
  using plain_type = composite<Reducer...>;
  using finish_type = typename Placed::finish_type;
  using one_type = finished_composite<Placed, Reducer...>;
  using result_type = typename Placed::result_type;
  static constexpr bool is_finished = !std::is_same_v<finish_type, md_results_themselves>;

  Placed placed;  ///< nowhere yet

  /// Those of the result that stands there.
  FANIN_FUNCTION constexpr one_type at(const typename Placed::left_index& place) const {
    return {static_cast<const plain_type&>(*this), {place, placed.reduced, placed.g}};
  }

  template <class Change>
  constexpr auto changed(const Change& change) const {
    return with(plain_type::changed(change));
  }
  /// Other reducers over the same rows, which give what they have.
  template <class... Other>
  constexpr auto of_others(const composite<Other...>& others) const {
    using themselves = typename Placed::template results_of<Other...>;
    return axes_composite<themselves, Other...>{others, themselves{{}, placed.reduced, {}}};
  }

 private:
  template <class... Other>
  constexpr axes_composite<Placed, Other...> with(const composite<Other...>& others) const {
    return {others, placed};
  }
};

/// Refuses, in words, what g lacks.
template <class G, class Left, class... Result>
constexpr void check_axes_finish() {
  static_assert(sizeof...(Result) > 0, "fanin: finished(g, reducers...) needs at least one reducer");
  static_assert(!std::is_function_v<G>, "fanin: a function is no functor: give its address, &g");
  static_assert(std::is_copy_constructible_v<G>,
                "fanin: the function of finished(g, reducers...) must be copyable: it travels to the backend");
  constexpr bool is_callable =
      finishes_with_indices<G, Left, Result...> || requires(const G& g, const Result&... results) { g(results...); };
  static_assert(is_callable,
                "fanin: the function of finished(g, reducers...) must be callable, as const, with the results of the "
                "reducers, one argument each, and for many results with the indices that are left behind them");
  static_assert(!finishes_with_indices<G, Left, Result...> ||
                    !narrows_index<G, before_indices<const Result&...>, std::int64_t, Left>,
                "fanin: the function of finished(g, reducers...) takes a 32-bit index behind the results (or no "
                "integer): take std::int64_t, or indices beyond 2^31 would wrap");
  if constexpr (is_callable) detail::check_given<typename given_by_finish<G, Left, Result...>::type>();
}

template <class Axes, iterate Order, class... R>
  requires(sizeof...(R) != 1 || !(is_finished<R> || ...))
constexpr auto make_axes_composite(const md_shape<Axes::reduced_rank, Order>& reduced, const R&... reducers) {
  using placed = axes_placed<md_results_themselves, Axes, Order, R...>;
  return axes_composite<placed, R...>{detail::make_composite(reducers...), placed{{}, reduced, {}}};
}
template <class Axes, iterate Order, class G, class... R>
constexpr auto make_axes_composite(const md_shape<Axes::reduced_rank, Order>& reduced,
                                   const finished_reducers<G, R...>& finished) {
  check_axes_finish<G, std::make_index_sequence<Axes::left_rank>, axes_result_of_t<R, Axes::reduced_rank>...>();
  using placed = axes_placed<G, Axes, Order, R...>;
  return axes_composite<placed, R...>{{finished.reducers}, placed{{}, reduced, finished.g}};
}

}  // namespace fanin::detail
