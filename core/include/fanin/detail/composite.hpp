// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include <fanin/batch.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/gathering.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducer.hpp>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// What a call with these reducers gives: one reducer's own result, several reducers' tuple. `void` where they are no
/// reducers, or none: some compilers ask for the result of every overload before they know that it does not apply, and
/// the composite of the one that does says in words what is wrong.
template <class... Reducer>
struct result_of_all {
  using type = void;
};
template <has_value_type Reducer>
struct result_of_all<Reducer> : result_of<Reducer> {};
template <has_value_type First, has_value_type Second, has_value_type... Others>
struct result_of_all<First, Second, Others...> {
  using type = tuple<reducer_result_t<First>, reducer_result_t<Second>, reducer_result_t<Others>...>;
};
template <class... Reducer>
using result_t = typename result_of_all<Reducer...>::type;

constexpr std::size_t largest(std::initializer_list<std::size_t> sizes) {
  std::size_t most = 0;
  for (const std::size_t size : sizes) most = size > most ? size : most;
  return most;
}

/// What blocks hand each other of a reducer: a partial, or where it has none an accumulator.
template <class R>
struct parcel_of : accumulator_of<R> {};
template <class R>
  requires(gathering_t<R>::has_partials)
struct parcel_of<R> {
  using type = typename gathering_t<R>::partial_type;
};

template <class... Reducer>
struct composite;
template <class... Reducer>
constexpr composite<Reducer...> make_composite(const Reducer&... reducers);

/// One or several reducers as one: what every backend reduces with. The order of calls is
///     accumulator spill = identity();  state s = begin(spill);  accumulate(f, s, i)...;  finish(s, spill);
/// after which the spill is what one thread (or, where it is shared, one block) contributes; then join and result.
template <class... Reducer>
struct composite {
  static_assert(sizeof...(Reducer) > 0, "fanin: name at least one reducer");
  static_assert((check_reducer<Reducer>::is_complete && ...));

  static constexpr std::size_t size = sizeof...(Reducer);
  using indices = std::index_sequence_for<Reducer...>;
  using accumulator_type = tuple<reducer_accumulator_t<Reducer>...>;
  using state_type = tuple<reducer_state_t<Reducer>...>;
  using result_type = result_t<Reducer...>;
  /// This without what is done with the results.
  using plain_type = composite;
  /// Whether a function makes the result of the reducers' results, on the backend: see finished_composite.
  static constexpr bool is_finished = false;
  template <std::size_t I>
  using reducer_type = typename std::tuple_element<I, tuple<Reducer...>>::type;
  template <std::size_t I>
  using gathering_at = gathering_t<reducer_type<I>>;
  template <std::size_t I>
  static constexpr bool has_spill = gathering_at<I>::has_spill;
  static constexpr bool has_any_spill = (gathering_t<Reducer>::has_spill || ...);
  template <std::size_t I>
  static constexpr bool splits_spill = gathering_at<I>::splits_spill;
  static constexpr bool loads_ahead = (gathering_t<Reducer>::loads_ahead || ...);
  static constexpr bool splits_any_spill = (gathering_t<Reducer>::splits_spill || ...);
  static constexpr bool is_stateless = (std::is_empty_v<Reducer> && ...);
  template <class F>
  static constexpr bool takes_accumulator = functor_traits<F, reducer_state_t<Reducer>...>::takes_accumulator;
  template <class Batch>
  static constexpr bool takes_any = (takes_batch<Reducer, Batch> || ...);
  template <class T>
  static constexpr bool takes_any_spans = takes_any<span_batch<T>>;
  static constexpr std::size_t largest_accumulator = detail::largest({sizeof(reducer_accumulator_t<Reducer>)...});
  /// The largest of those that no spill holds.
  static constexpr std::size_t largest_beside_spills =
      detail::largest({gathering_t<Reducer>::has_spill ? 0 : sizeof(reducer_accumulator_t<Reducer>)...});
  /// Whether blocks can leave all that has a spill there, for one of them to join.
  static constexpr bool joins_spills =
      has_any_spill && ((gathering_t<Reducer>::has_spill == gathering_t<Reducer>::joins_spills) && ...);
  /// Whether blocks can hand each other partials, and their spills only where something is in them.
  static constexpr bool hands_over_partials =
      has_any_spill && ((gathering_t<Reducer>::has_spill == gathering_t<Reducer>::has_partials) && ...);
  using parcel_type = tuple<typename parcel_of<Reducer>::type...>;

  /// Whether a value is a fanin::tuple with one for each of several reducers.
  template <class Value>
  static constexpr bool gives_one_each = [] {
    if constexpr (is_tuple_v<Value> && size > 1) {
      return std::tuple_size_v<Value> == size;
    } else {
      return false;
    }
  }();

  tuple<Reducer...> reducers;

  FANIN_FUNCTION constexpr accumulator_type identity() const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> accumulator_type {
      return {{{static_cast<reducer_accumulator_t<Reducer>>(get<I>(reducers).identity())}...}};
    }(indices{});
  }
  FANIN_FUNCTION constexpr void join(accumulator_type& into, const accumulator_type& from) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (static_cast<void>(get<I>(reducers).join(get<I>(into), get<I>(from))), ...);
    }(indices{});
  }
  FANIN_FUNCTION constexpr result_type result(const accumulator_type& acc) const {
    return result_by([](const auto&... results) { return of_results(results...); }, acc);
  }
  /// What `finish` makes of the reducers' results.
  template <class Finish>
  FANIN_FUNCTION constexpr auto result_by(const Finish& finish, const accumulator_type& acc) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return finish(detail::result_value(get<I>(reducers), get<I>(acc))...);
    }(indices{});
  }
  constexpr result_type result_on_host(const accumulator_type& acc) const { return result(acc); }
  /// What the call gives, of what the reducers give.
  FANIN_FUNCTION static constexpr result_type of_results(const reducer_result_t<Reducer>&... results) {
    if constexpr (size == 1) {
      return (results, ...);
    } else {
      return {{{results}...}};
    }
  }

  /// Whether a call with these reducers takes the functor; one that it does not is refused in words.
  template <class F, class Call = plain_call>
  static constexpr bool check_functor() {
    if constexpr (size > 0 && (has_value_type<Reducer> && ...)) {
      return detail::check_call<Call, F, Reducer...>();
    } else {
      return false;
    }
  }
  constexpr const composite& plain() const { return *this; }
  /// The same with change(index, reducer) in each one's place; the index is a constant.
  template <class Change>
  constexpr auto changed(const Change& change) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return detail::make_composite(change(std::integral_constant<std::size_t, I>{}, get<I>(reducers))...);
    }(indices{});
  }

  FANIN_FUNCTION constexpr state_type begin(accumulator_type& spill) const { return begin(spill, spill); }
  /// In a block that may have several spills: its first, and that of the thread's warp, for those that split theirs.
  FANIN_FUNCTION constexpr state_type begin(accumulator_type& spill, accumulator_type& of_thread) const {
    return begin_of(spill, of_thread, indices{});
  }
  /// What the state holds goes to the spill, which reducers without one overwrite.
  FANIN_FUNCTION constexpr void finish(state_type& state, accumulator_type& spill) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (gathering_at<I>::finish(get<I>(reducers), get<I>(state), get<I>(spill)), ...);
    }(indices{});
  }

  /// One index: f(i, acc&...) or the value f(i), for every reducer the same or one each from a fanin::tuple.
  template <class F>
  FANIN_FUNCTION constexpr void accumulate(const F& f, state_type& state, std::int64_t i) const {
    if constexpr (takes_accumulator<F>) {
      call(f, state, i, indices{});
    } else {
      fold(state, f(i), i);
    }
  }

  /// The same for a host's own loop: f may be callable on the host alone, also in a unit that nvcc compiles.
  template <class F>
  constexpr void accumulate_on_host(const F& f, state_type& state, std::int64_t i) const {
    if constexpr (takes_accumulator<F>) {
      call_on_host(f, state, i, indices{});
    } else {
      fold(state, f(i), i);
    }
  }

  /// One value at one index.
  template <class Value>
  FANIN_FUNCTION constexpr void fold(state_type& state, const Value& value, std::int64_t i) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      if constexpr (gives_one_each<Value>) {
        (detail::fold_value(get<I>(reducers), get<I>(state), get<I>(value), i), ...);
      } else {
        (detail::fold_value(get<I>(reducers), get<I>(state), value, i), ...);
      }
    }(indices{});
  }

  /// Several elements, which reducers that take batches get at once: see batch.hpp.
  template <class T>
  constexpr void fold_batch(state_type& state, const span_batch<T>& batch) const {
    fold_span_of(state, batch, indices{});
  }
  template <int Rows, int Columns, class Value>
  FANIN_FUNCTION constexpr void fold_batch(state_type& state, const tile_batch<Rows, Columns, Value>& batch) const {
    if constexpr (gives_one_each<Value> || !takes_any<tile_batch<Rows, Columns, Value>>) {
      for_those_that_count(batch, [&](const Value& value, std::int64_t i) { fold(state, value, i); });
    } else {
      [&]<std::size_t... I>(std::index_sequence<I...>) { (fold_tile_one<I>(get<I>(state), batch), ...); }(indices{});
    }
  }

  /// The same for one of the reducers.
  template <std::size_t I, class T>
  constexpr void fold_span_at(state_type& state, const span_batch<T>& batch) const {
    fold_span_one<I>(get<I>(state), batch);
  }

  /// The greatest of the levels of the reducers that have some. Several reducers have levels where the others fold one
  /// element after the other: beside one that takes tiles (places of extremes) the loop runs out of registers, and took
  /// 1.4 times as long on an H200.
  template <class Batch>
  static constexpr bool has_levels =
      !gives_one_each<typename Batch::value_type> && (has_fast_levels<Reducer, Batch> || ...) &&
      ((has_fast_levels<Reducer, Batch> || !takes_batch<Reducer, Batch>) && ...);
  template <class Batch>
  FANIN_FUNCTION constexpr unsigned fast_level(const state_type& state, const Batch& batch) const {
    return fast_level_of(state, batch, indices{});
  }
  template <class Batch>
  FANIN_FUNCTION constexpr void fold_fast(state_type& state, const Batch& batch, unsigned level) const {
    fold_fast_of(state, batch, level, indices{});
  }

  /// What one of the reducers gets of a value of f(i).
  template <std::size_t I, class Value>
  static constexpr auto value_for(const Value& value) {
    using value_type = reducer_value_t<reducer_type<I>>;
    if constexpr (gives_one_each<Value>) {
      return static_cast<value_type>(get<I>(value));
    } else {
      return static_cast<value_type>(value);
    }
  }

 private:
  template <std::size_t... I>
  FANIN_FUNCTION constexpr state_type begin_of(accumulator_type& spill, [[maybe_unused]] accumulator_type& of_thread,
                                               std::index_sequence<I...>) const {
    return {{{gathering_at<I>::begin(get<I>(reducers), get<I>(splits_spill<I> ? of_thread : spill))}...}};
  }
  template <class Batch, std::size_t... I>
  FANIN_FUNCTION constexpr unsigned fast_level_of(const state_type& state, const Batch& batch,
                                                  std::index_sequence<I...>) const {
    unsigned greatest = 0;
    const auto ask_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
      if constexpr (has_fast_levels<reducer_type<K>, Batch>) {
        const unsigned level = get<K>(reducers).fast_level(get<K>(state), batch);
        greatest = level > greatest ? level : greatest;
      }
    };
    (ask_one(std::integral_constant<std::size_t, I>{}), ...);
    return greatest;
  }
  template <class Batch, std::size_t... I>
  FANIN_FUNCTION constexpr void fold_fast_of(state_type& state, const Batch& batch, unsigned level,
                                             std::index_sequence<I...>) const {
    const auto fold_some = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
      if constexpr (has_fast_levels<reducer_type<K>, Batch>) {
        get<K>(reducers).fold_fast(get<K>(state), batch, level);
      } else {
        fold_tile_one<K>(get<K>(state), batch);
      }
    };
    (fold_some(std::integral_constant<std::size_t, I>{}), ...);
  }
  template <class F, std::size_t... I>
  FANIN_FUNCTION constexpr void call(const F& f, state_type& state, std::int64_t i, std::index_sequence<I...>) const {
    f(i, get<I>(state)...);
  }
  template <class F, std::size_t... I>
  constexpr void call_on_host(const F& f, state_type& state, std::int64_t i, std::index_sequence<I...>) const {
    f(i, get<I>(state)...);
  }

  template <std::size_t I, class Batch>
  FANIN_FUNCTION constexpr void fold_tile_one(reducer_state_t<reducer_type<I>>& state, const Batch& batch) const {
    if constexpr (takes_batch<reducer_type<I>, Batch>) {
      get<I>(reducers).fold_batch(state, batch);
    } else {
      for_those_that_count(
          batch, [&](const auto& value, std::int64_t i) { detail::fold_value(get<I>(reducers), state, value, i); });
    }
  }
  /// Unrolled in any case: an index that is not a constant would put the values into memory.
  template <int Rows, int Columns, class Value, class Visit>
  FANIN_FUNCTION static constexpr void for_those_that_count(const tile_batch<Rows, Columns, Value>& batch,
                                                            const Visit& visit) {
    const Value* const values = batch.values;
    const std::int64_t first = batch.first;
    const std::int64_t row_step = batch.row_step;
    const int rows = batch.rows;
    [&]<int... At>(std::integer_sequence<int, At...>) {
      ((At / Columns < rows ? visit(values[At], first + At / Columns * row_step + At % Columns) : void()), ...);
    }(std::make_integer_sequence<int, Rows * Columns>{});
  }
  template <class T, std::size_t... I>
  constexpr void fold_span_of(state_type& state, const span_batch<T>& batch, std::index_sequence<I...>) const {
    (fold_span_one<I>(get<I>(state), batch), ...);
  }
  template <std::size_t I, class T>
  constexpr void fold_span_one(reducer_state_t<reducer_type<I>>& state, const span_batch<T>& batch) const {
    if constexpr (takes_batch<reducer_type<I>, span_batch<T>>) {
      get<I>(reducers).fold_batch(state, batch);
    } else {
      for (std::int64_t k = 0; k < batch.count; ++k) {
        detail::fold_value(get<I>(reducers), state, batch.values[k], batch.first + k);
      }
    }
  }
};

template <class... Reducer>
constexpr composite<Reducer...> make_composite(const Reducer&... reducers) {
  return {{{{reducers}...}}};
}

}  // namespace fanin::detail
