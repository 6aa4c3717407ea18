// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include <fanin/detail/functor.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducer.hpp>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// Whether a reducer has the member that composite::fold_tile tells of.
template <class R, int Rows, int Columns, class Value>
inline constexpr bool takes_tile =
    requires(const R reducer, reducer_state_t<R>& state, const Value* values, std::int64_t index) {
      reducer.template fold_tile<Rows, Columns>(state, values, index, index, Rows);
    };

/// Whether a reducer has the member that composite::fold_span_on_host tells of, for elements of its own value_type.
template <class R, class T>
inline constexpr bool takes_span = false;
template <class R, class T>
  requires(std::is_same_v<reducer_value_t<R>, T>)
inline constexpr bool takes_span<R, T> = requires(const R reducer, reducer_state_t<R>& state, const T* values,
                                                  std::int64_t n) { reducer.fold_span(state, values, n, n); };

/// Whether a reducer has the members that composite::effort tells of.
template <class R, class Value>
inline constexpr bool tells_effort = requires(const R reducer, reducer_state_t<R>& state, const Value* values) {
  reducer.template effort<1>(state, values);
};

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

/// One or several reducers as one: what every backend reduces with. The order of calls is
///     accumulator scratch = identity();  state s = begin(scratch);  accumulate(f, s, i)...;  finish(s, scratch);
/// after which scratch is what one thread (or, where scratch is shared, one block) contributes; then join and result.
template <class... Reducer>
struct composite {
  static_assert(sizeof...(Reducer) > 0, "fanin: name at least one reducer");
  static_assert((check_reducer<Reducer>::is_complete && ...));

  static constexpr std::size_t size = sizeof...(Reducer);
  using indices = std::index_sequence_for<Reducer...>;
  using accumulator_type = tuple<reducer_accumulator_t<Reducer>...>;
  using state_type = tuple<reducer_state_t<Reducer>...>;
  using result_type = result_t<Reducer...>;
  template <std::size_t I>
  using reducer_type = typename std::tuple_element<I, tuple<Reducer...>>::type;
  template <std::size_t I>
  static constexpr bool has_state = names_thread_state<reducer_type<I>>;
  static constexpr bool has_any_state = (names_thread_state<Reducer> || ...);
  static constexpr bool is_stateless = (std::is_empty_v<Reducer> && ...);
  template <class T>
  static constexpr bool has_any_span_of = (takes_span<Reducer, T> || ...);
  static constexpr std::size_t largest_accumulator = largest({sizeof(reducer_accumulator_t<Reducer>)...});
  /// Whether blocks can leave all accumulators of a thread_state in their scratch, and what the others' largest is
  /// then.
  static constexpr bool has_state_in_scratch =
      has_any_state && ((!names_thread_state<Reducer> || joins_in_scratch<Reducer>) && ...);
  static constexpr bool hands_over_flushes =
      has_any_state && ((!names_thread_state<Reducer> || detail::hands_over_flushes<Reducer>) && ...);
  using parcel_type = tuple<typename parcel_of<Reducer>::type...>;
  static constexpr std::size_t largest_beside_scratch =
      largest({names_thread_state<Reducer> ? 0 : sizeof(reducer_accumulator_t<Reducer>)...});

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

  FANIN_FUNCTION constexpr accumulator_type identity() const { return identity_of(indices{}); }
  FANIN_FUNCTION constexpr void join(accumulator_type& into, const accumulator_type& from) const {
    join_of(into, from, indices{});
  }
  FANIN_FUNCTION constexpr result_type result(const accumulator_type& acc) const { return result_of(acc, indices{}); }
  FANIN_FUNCTION constexpr state_type begin(accumulator_type& scratch) const { return begin_of(scratch, indices{}); }
  /// Scratch becomes what the state holds. Reducers without a thread_state overwrite it, others flush into it.
  FANIN_FUNCTION constexpr void finish(state_type& state, accumulator_type& scratch) const {
    finish_of(state, scratch, indices{});
  }

  /// One index: f(i, acc&...) or the value f(i), for every reducer the same or one each from a fanin::tuple.
  template <class F>
  FANIN_FUNCTION constexpr void accumulate(const F& f, state_type& state, std::int64_t i) const {
    if constexpr (functor_traits<F, reducer_state_t<Reducer>...>::takes_accumulator) {
      call(f, state, i, indices{});
    } else {
      fold(state, f(i), i);
    }
  }

  /// The same for a host's own loop: f may be callable on the host alone, also in a unit that nvcc compiles.
  template <class F>
  constexpr void accumulate_on_host(const F& f, state_type& state, std::int64_t i) const {
    if constexpr (functor_traits<F, reducer_state_t<Reducer>...>::takes_accumulator) {
      call_on_host(f, state, i, indices{});
    } else {
      fold(state, f(i), i);
    }
  }

  /// One value at one index.
  template <class Value>
  FANIN_FUNCTION constexpr void fold(state_type& state, const Value& value, std::int64_t i) const {
    fold_of(state, value, i, indices{});
  }

  /// Rows of Columns values each: row r holds the elements first + r * row_step, + 1, ..., and all indices that the
  /// state has seen are smaller. Only the first `rows` rows count; the others repeat the first row's values. A reducer
  /// may have fold_tile<Rows, Columns>(acc, values, first, row_step, rows), which takes them at once.
  template <int Rows, int Columns, class Value>
  FANIN_FUNCTION constexpr void fold_tile(state_type& state, const Value* values, std::int64_t first,
                                          std::int64_t row_step, int rows) const {
    fold_tile_of<Rows, Columns>(state, values, first, row_step, rows, indices{});
  }

  /// A reducer may have effort<Count>(acc, values) and fold_easy<Count>(acc, values, effort), for a GPU's inner loop:
  /// the least effort is 0, and with too_much the values must go to fold_tile. All lanes of a warp then fold with the
  /// greatest effort among theirs. Several reducers can where the others fold one element after the other: beside one
  /// that takes tiles (places of extremes) the loop runs out of registers, and took 1.4 times as long on an H200.
  template <class Value>
  static constexpr bool has_effort = !gives_one_each<Value> && (tells_effort<Reducer, Value> || ...) &&
                                     ((tells_effort<Reducer, Value> || !takes_tile<Reducer, 1, 1, Value>) && ...);
  template <int Count, class Value>
  FANIN_FUNCTION constexpr unsigned effort(const state_type& state, const Value* values) const {
    return effort_of<Count>(state, values, indices{});
  }
  template <int Rows, int Columns, class Value>
  FANIN_FUNCTION constexpr void fold_easy(state_type& state, const Value* values, std::int64_t first,
                                          std::int64_t row_step, unsigned effort) const {
    fold_easy_of<Rows, Columns>(state, values, first, row_step, effort, indices{});
  }

  /// The indices begin .. end - 1 of a functor, in a host's own loop: see accumulate_on_host. Values are gathered in
  /// blocks where a reducer takes them at once.
  template <class F>
  constexpr void gather_on_host(const F& f, state_type& state, std::int64_t begin, std::int64_t end) const {
    if constexpr (gives_spans<F>()) {
      using value_type = std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>;
      constexpr std::int64_t block = block_of<value_type>;
      value_type values[block];
      while (begin < end) {
        const std::int64_t n = end - begin < block ? end - begin : block;
        for (std::int64_t k = 0; k < n; ++k) values[k] = f(begin + k);
        fold_span_on_host(state, values, n, begin);
        begin += n;
      }
    } else {
      for (std::int64_t i = begin; i < end; ++i) accumulate_on_host(f, state, i);
    }
  }

  /// The elements first, first + 1, ... of an array, for a host's own loop. A reducer may have
  /// fold_span(state, values, count, first), which takes them at once; several reducers share them in blocks that stay
  /// in the nearest cache.
  template <class T>
  constexpr void fold_span_on_host(state_type& state, const T* values, std::int64_t count, std::int64_t first) const {
    constexpr std::int64_t block = size == 1 ? INT64_MAX : block_of<T>;
    for (std::int64_t at = 0; at < count;) {
      const std::int64_t n = count - at < block ? count - at : block;
      fold_span_of(state, values + at, n, first + at, indices{});
      at += n;
    }
  }

  /// The same for one of the reducers.
  template <std::size_t I, class T>
  constexpr void fold_span_at(state_type& state, const T* values, std::int64_t count, std::int64_t first) const {
    fold_span_one<I>(get<I>(state), values, count, first);
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
  /// Values that stay in the nearest cache; one where it is larger.
  template <class T>
  static constexpr std::int64_t block_of = sizeof(T) < 16384 ? static_cast<std::int64_t>(16384 / sizeof(T)) : 1;

  /// Whether f(i) gives values that a reducer takes in arrays.
  template <class F>
  static constexpr bool gives_spans() {
    if constexpr (functor_traits<F, reducer_state_t<Reducer>...>::takes_accumulator) {
      return false;
    } else {
      return has_any_span_of<std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>>;
    }
  }

  template <std::size_t... I>
  FANIN_FUNCTION constexpr accumulator_type identity_of(std::index_sequence<I...>) const {
    return {{{static_cast<reducer_accumulator_t<Reducer>>(get<I>(reducers).identity())}...}};
  }
  template <std::size_t... I>
  FANIN_FUNCTION constexpr void join_of(accumulator_type& into, const accumulator_type& from,
                                        std::index_sequence<I...>) const {
    (get<I>(reducers).join(get<I>(into), get<I>(from)), ...);
  }
  template <std::size_t... I>
  FANIN_FUNCTION constexpr result_type result_of(const accumulator_type& acc, std::index_sequence<I...>) const {
    if constexpr (size == 1) {
      return result_value(get<0>(reducers), get<0>(acc));
    } else {
      return {{{result_value(get<I>(reducers), get<I>(acc))}...}};
    }
  }
  template <std::size_t... I>
  FANIN_FUNCTION constexpr state_type begin_of(accumulator_type& scratch, std::index_sequence<I...>) const {
    return {{{begin_one<I>(get<I>(scratch))}...}};
  }
  template <std::size_t I>
  FANIN_FUNCTION constexpr auto begin_one(reducer_accumulator_t<reducer_type<I>>& scratch) const
      -> reducer_state_t<reducer_type<I>> {
    if constexpr (has_state<I>) {
      return get<I>(reducers).begin(scratch);
    } else {
      return get<I>(reducers).identity();
    }
  }
  template <std::size_t... I>
  FANIN_FUNCTION constexpr void finish_of(state_type& state, accumulator_type& scratch,
                                          std::index_sequence<I...>) const {
    (finish_one<I>(state, scratch), ...);
  }
  template <std::size_t I>
  FANIN_FUNCTION constexpr void finish_one(state_type& state, accumulator_type& scratch) const {
    if constexpr (has_state<I>) {
      get<I>(reducers).flush(get<I>(state), get<I>(scratch));
    } else {
      get<I>(scratch) = get<I>(state);
    }
  }
  template <int Count, class Value, std::size_t... I>
  FANIN_FUNCTION constexpr unsigned effort_of(const state_type& state, const Value* values,
                                              std::index_sequence<I...>) const {
    unsigned most = 0;
    const auto ask_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
      if constexpr (tells_effort<reducer_type<K>, Value>) {
        const unsigned effort = get<K>(reducers).template effort<Count>(get<K>(state), values);
        most = effort > most ? effort : most;
      }
    };
    (ask_one(std::integral_constant<std::size_t, I>{}), ...);
    return most;
  }
  template <int Rows, int Columns, class Value, std::size_t... I>
  FANIN_FUNCTION constexpr void fold_easy_of(state_type& state, const Value* values, std::int64_t first,
                                             std::int64_t row_step, unsigned effort, std::index_sequence<I...>) const {
    const auto fold_some = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
      if constexpr (tells_effort<reducer_type<K>, Value>) {
        get<K>(reducers).template fold_easy<Rows * Columns>(get<K>(state), values, effort);
      } else {
        fold_tile_one<Rows, Columns, K>(get<K>(state), values, first, row_step, Rows);
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

  template <class Value, std::size_t... I>
  FANIN_FUNCTION constexpr void fold_of(state_type& state, const Value& value, std::int64_t i,
                                        std::index_sequence<I...>) const {
    if constexpr (gives_one_each<Value>) {
      (fold_one<I>(get<I>(state), get<I>(value), i), ...);
    } else {
      (fold_one<I>(get<I>(state), value, i), ...);
    }
  }
  template <int Rows, int Columns, class Value, std::size_t... I>
  FANIN_FUNCTION constexpr void fold_tile_of(state_type& state, const Value* values, std::int64_t first,
                                             std::int64_t row_step, int rows, std::index_sequence<I...>) const {
    if constexpr (gives_one_each<Value> || !(takes_tile<Reducer, Rows, Columns, Value> || ...)) {
      by_rows<Columns>(rows, std::make_integer_sequence<int, Rows * Columns>{},
                       [&](int at, int r, int k) { fold(state, values[at], first + r * row_step + k); });
    } else {
      (fold_tile_one<Rows, Columns, I>(get<I>(state), values, first, row_step, rows), ...);
    }
  }
  template <int Rows, int Columns, std::size_t I, class Value>
  FANIN_FUNCTION constexpr void fold_tile_one(reducer_state_t<reducer_type<I>>& state, const Value* values,
                                              std::int64_t first, std::int64_t row_step, int rows) const {
    if constexpr (takes_tile<reducer_type<I>, Rows, Columns, Value>) {
      get<I>(reducers).template fold_tile<Rows, Columns>(state, values, first, row_step, rows);
    } else {
      by_rows<Columns>(rows, std::make_integer_sequence<int, Rows * Columns>{},
                       [&](int at, int r, int k) { fold_one<I>(state, values[at], first + r * row_step + k); });
    }
  }
  template <class T, std::size_t... I>
  constexpr void fold_span_of(state_type& state, const T* values, std::int64_t count, std::int64_t first,
                              std::index_sequence<I...>) const {
    (fold_span_one<I>(get<I>(state), values, count, first), ...);
  }
  template <std::size_t I, class T>
  constexpr void fold_span_one(reducer_state_t<reducer_type<I>>& state, const T* values, std::int64_t count,
                               std::int64_t first) const {
    if constexpr (takes_span<reducer_type<I>, T>) {
      get<I>(reducers).fold_span(state, values, count, first);
    } else {
      for (std::int64_t k = 0; k < count; ++k) fold_one<I>(state, values[k], first + k);
    }
  }
  /// Unrolled in any case: an index that is not a constant would put the values into memory.
  template <int Columns, int... At, class Visit>
  FANIN_FUNCTION static constexpr void by_rows(int rows, std::integer_sequence<int, At...>, const Visit& visit) {
    ((At / Columns < rows ? visit(At, At / Columns, At % Columns) : void()), ...);
  }
  template <std::size_t I, class Value>
  FANIN_FUNCTION constexpr void fold_one(reducer_state_t<reducer_type<I>>& state, const Value& value,
                                         std::int64_t i) const {
    using value_type = reducer_value_t<reducer_type<I>>;
    static_assert(std::is_convertible_v<const Value&, value_type>,
                  "fanin: what f(i) gives does not convert to the reducer's value_type (for several reducers: one "
                  "value for all, or a fanin::tuple with one each)");
    if constexpr (std::is_same_v<Value, value_type>) {
      fold_value(get<I>(reducers), state, value, i);
    } else {
      fold_value(get<I>(reducers), state, static_cast<value_type>(value), i);
    }
  }
};

template <class... Reducer>
constexpr composite<Reducer...> make_composite(const Reducer&... reducers) {
  return {{{{reducers}...}}};
}

}  // namespace fanin::detail
