// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/detail/finished_composite.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducers.hpp>
#include <fanin/tuple.hpp>

/// Places in an md_range: reducers see the number of an index in the range's order, and their results tell the index.
namespace fanin::detail {

/// Whether R's result tells where something stands: of the built-in ones. What a reducer of one's own has is its own.
template <class R>
inline constexpr bool tells_place = false;
template <class T>
inline constexpr bool tells_place<min_loc<T>> = true;
template <class T>
inline constexpr bool tells_place<max_loc<T>> = true;
template <class T>
inline constexpr bool tells_place<min_max_loc<T>> = true;

template <class Result, std::size_t Rank>
struct with_md_index;
template <class T, std::size_t Rank>
struct with_md_index<value_index<T>, Rank> {
  using type = value_index<T, md_index<Rank>>;
};
template <class T, std::size_t Rank>
struct with_md_index<min_max_index<T>, Rank> {
  using type = min_max_index<T, md_index<Rank>>;
};

/// What a reducer's result becomes over an md_range of this rank.
template <class R, std::size_t Rank>
struct md_result_of : result_of<R> {};
template <class R, std::size_t Rank>
  requires(tells_place<R>)
struct md_result_of<R, Rank> : with_md_index<reducer_result_t<R>, Rank> {};
template <class R, std::size_t Rank>
using md_result_t = typename md_result_of<R, Rank>::type;

/// What a call over an md_range of this rank gives. `void` as in result_of_all.
template <std::size_t Rank, class... Reducer>
struct md_result_of_all {
  using type = void;
};
template <std::size_t Rank, has_value_type R>
struct md_result_of_all<Rank, R> : md_result_of<R, Rank> {};
template <std::size_t Rank, has_value_type First, has_value_type Second, has_value_type... Others>
struct md_result_of_all<Rank, First, Second, Others...> {
  using type = tuple<md_result_t<First, Rank>, md_result_t<Second, Rank>, md_result_t<Others, Rank>...>;
};
template <std::size_t Rank, class G, has_value_type... Reducer>
struct md_result_of_all<Rank, finished_reducers<G, Reducer...>> : result_of_finish<G, md_result_t<Reducer, Rank>...> {};

/// Gives what reducers give, of which g makes the result.
struct md_results_themselves {
  template <class Result>
  FANIN_FUNCTION constexpr Result operator()(const Result& result) const {
    return result;
  }
  template <class First, class Second, class... Others>
  FANIN_FUNCTION constexpr tuple<First, Second, Others...> operator()(const First& first, const Second& second,
                                                                      const Others&... others) const {
    return {{{first}, {second}, {others}...}};
  }
};

/// The index whose number is n, or, of -1, no place.
template <std::size_t Rank, iterate Order>
FANIN_FUNCTION constexpr md_index<Rank> place_in(const md_shape<Rank, Order>& shape, std::int64_t n) {
  md_index<Rank> nowhere{};
  for (std::size_t k = 0; k < Rank; ++k) nowhere[k] = -1;
  return n < 0 ? nowhere : shape.index_of(n);
}
/// A result that tells places, with those of the shape.
template <std::size_t Rank, iterate Order, class T>
FANIN_FUNCTION constexpr value_index<T, md_index<Rank>> placed_in(const md_shape<Rank, Order>& shape,
                                                                  const value_index<T>& result) {
  return {result.value, detail::place_in(shape, result.index)};
}
template <std::size_t Rank, iterate Order, class T>
FANIN_FUNCTION constexpr min_max_index<T, md_index<Rank>> placed_in(const md_shape<Rank, Order>& shape,
                                                                    const min_max_index<T>& result) {
  return {result.min, result.max, detail::place_in(shape, result.min_index), detail::place_in(shape, result.max_index)};
}

/// g of the results of these reducers with their places in the shape.
template <class G, std::size_t Rank, iterate Order, class... Reducer>
struct md_placed {
  using result_type = typename result_of_finish<G, md_result_t<Reducer, Rank>...>::type;

  md_shape<Rank, Order> shape;
  G g;

  FANIN_FUNCTION constexpr result_type operator()(const reducer_result_t<Reducer>&... results) const
    requires(!std::is_void_v<result_type>)
  {
    return call(placed<Reducer>(results)...);
  }
  /// The same where g may be callable on the host alone, also in a unit that nvcc compiles.
  constexpr result_type on_host(const reducer_result_t<Reducer>&... results) const {
    return call_on_host(placed<Reducer>(results)...);
  }

 private:
  FANIN_FUNCTION constexpr result_type call(const md_result_t<Reducer, Rank>&... results) const {
    return g(results...);
  }
  constexpr result_type call_on_host(const md_result_t<Reducer, Rank>&... results) const { return g(results...); }

  template <class R>
  FANIN_FUNCTION constexpr md_result_t<R, Rank> placed(const reducer_result_t<R>& result) const {
    if constexpr (!tells_place<R>) {
      return result;
    } else {
      return detail::placed_in(shape, result);
    }
  }
};
template <class G, std::size_t Rank, iterate Order, class... Reducer>
struct finish_on_host<md_placed<G, Rank, Order, Reducer...>> {
  static constexpr auto call(const md_placed<G, Rank, Order, Reducer...>& g,
                             const reducer_result_t<Reducer>&... results) {
    return g.on_host(results...);
  }
};

/// The reducers as one, which gives indices of the shape where they give their numbers.
template <std::size_t Rank, iterate Order, class... R>
constexpr auto make_md_composite(const md_shape<Rank, Order>& shape, const R&... reducers) {
  if constexpr ((tells_place<R> || ...)) {
    using g = md_placed<md_results_themselves, Rank, Order, R...>;
    return finished_composite<g, R...>{detail::make_composite(reducers...), g{shape, {}}};
  } else {
    return detail::make_composite(reducers...);
  }
}
template <std::size_t Rank, iterate Order, class G, class... R>
constexpr auto make_md_composite(const md_shape<Rank, Order>& shape, const finished_reducers<G, R...>& finished) {
  if constexpr ((tells_place<R> || ...)) {
    using g = md_placed<G, Rank, Order, R...>;
    return finished_composite<g, R...>{{finished.reducers}, g{shape, finished.g}};
  } else {
    return detail::make_composite(finished);
  }
}

}  // namespace fanin::detail
