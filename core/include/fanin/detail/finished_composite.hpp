// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <fanin/detail/composite.hpp>
#include <fanin/finished.hpp>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// `void` where g does not take the results: see result_of_all.
template <class G, class... Result>
struct result_of_finish {
  using type = void;
};
template <class G, class... Result>
  requires requires(const G& g, const Result&... results) { g(results...); }
struct result_of_finish<G, Result...> {
  using type = std::remove_cvref_t<std::invoke_result_t<const G&, const Result&...>>;
};
template <class G, has_value_type... Reducer>
struct result_of_all<finished_reducers<G, Reducer...>> : result_of_finish<G, reducer_result_t<Reducer>...> {};

/// How a host calls g, which may be callable there alone, also in a unit that nvcc compiles.
template <class G>
struct finish_on_host {
  template <class... Result>
  static constexpr auto call(const G& g, const Result&... results) {
    return g(results...);
  }
};

/// g of results that are there already.
template <class Result, class G, class... Results>
FANIN_FUNCTION constexpr Result finish_with(const G& g, const tuple<Results...>& results) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) -> Result {
    return g(get<I>(results)...);
  }(std::index_sequence_for<Results...>{});
}

/// Reducers whose results g makes the call's result of, once and on the backend. They fold and join as without g.
template <class G, class... Reducer>
struct finished_composite : composite<Reducer...> {
  static_assert(check_finish<G, reducer_result_t<Reducer>...>());

  using plain_type = composite<Reducer...>;
  using finish_type = G;
  using accumulator_type = typename plain_type::accumulator_type;
  using result_type = typename result_of_finish<G, reducer_result_t<Reducer>...>::type;
  static constexpr bool is_finished = true;

  G g;

  FANIN_FUNCTION constexpr result_type result(const accumulator_type& acc) const {
    return this->result_by([this](const auto&... results) { return of_results(results...); }, acc);
  }
  FANIN_FUNCTION constexpr result_type of_results(const reducer_result_t<Reducer>&... results) const {
    return g(results...);
  }
  /// The same where g may be callable on the host alone, also in a unit that nvcc compiles.
  constexpr result_type result_on_host(const accumulator_type& acc) const {
    return on_host(acc, typename plain_type::indices{});
  }

  /// The reducers' results on the host, for a g that is called on the backend.
  constexpr tuple<reducer_result_t<Reducer>...> results_on_host(const accumulator_type& acc) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> tuple<reducer_result_t<Reducer>...> {
      return {{{detail::result_value(get<I>(this->reducers), get<I>(acc))}...}};
    }(typename plain_type::indices{});
  }

  template <class Change>
  constexpr auto changed(const Change& change) const {
    return with(plain_type::changed(change));
  }

 private:
  template <class... Other>
  constexpr finished_composite<G, Other...> with(const composite<Other...>& others) const {
    return {others, g};
  }
  template <std::size_t... I>
  constexpr result_type on_host(const accumulator_type& acc, std::index_sequence<I...>) const {
    return finish_on_host<G>::call(g, detail::result_value(get<I>(this->reducers), get<I>(acc))...);
  }
};

template <class G, class... Reducer>
constexpr finished_composite<G, Reducer...> make_composite(const finished_reducers<G, Reducer...>& finished) {
  return {{finished.reducers}, finished.g};
}

}  // namespace fanin::detail
