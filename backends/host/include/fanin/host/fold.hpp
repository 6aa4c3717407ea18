// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include <fanin/detail/composite.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/host/loops.hpp>
#include <fanin/macros.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/tuple.hpp>

/// How one thread of a host folds consecutive elements by the loops of fanin::host: values are gathered in blocks, in
/// rising order of the indices, and each reducer takes a block at once. Sums and products are combined in lanes (see
/// fanin/host/loops.hpp), reducers that have no loops from left to right: one order, whatever the unit.
namespace fanin::detail::host {

/// The type that has loops for T's values: the integer of its size and sign. `void`: there is none.
template <class T>
struct word_of {
  static constexpr auto choose() {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      return T{};
    } else if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) {
      return;
    } else if constexpr (sizeof(T) == 1) {
      return std::conditional_t<std::is_signed_v<T>, std::int8_t, std::uint8_t>{};
    } else if constexpr (sizeof(T) == 2) {
      return std::conditional_t<std::is_signed_v<T>, std::int16_t, std::uint16_t>{};
    } else if constexpr (sizeof(T) == 4) {
      return std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>{};
    } else if constexpr (sizeof(T) == 8) {
      return std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>{};
    }
  }
  using type = decltype(choose());
};
template <class T>
using word_t = typename word_of<T>::type;
template <class T>
inline constexpr bool has_loops = !std::is_void_v<word_t<T>>;

/// The same without a sign, in which integers wrap.
template <class T>
struct wrapping_word {
  using type = word_t<T>;
};
template <class T>
  requires(std::is_integral_v<T> && has_loops<T>)
struct wrapping_word<T> {
  using type = std::make_unsigned_t<word_t<T>>;
};
template <class T>
using wrapping_word_t = typename wrapping_word<T>::type;

/// Elements of a block: of so few bytes that several blocks stay in the nearest cache.
template <class T>
inline constexpr std::int64_t block_of = sizeof(T) < 8192 ? static_cast<std::int64_t>(8192 / sizeof(T)) : 1;

template <class Word, class T>
inline constexpr bool is_unsigned_of = false;
template <class Word, std::signed_integral T>
inline constexpr bool is_unsigned_of<Word, T> = std::is_same_v<Word, std::make_unsigned_t<T>>;

/// Calls take(words, n) for n values that are converted to To first: at once where they are words already, or block by
/// block.
template <class Word, class To, class T, class Take>
void as_words(const T* from, std::int64_t n, const Take& take) {
  if constexpr (std::is_same_v<T, To> && std::is_same_v<T, Word>) {
    take(from, n);
  } else if constexpr (std::is_same_v<T, To> && is_unsigned_of<Word, T>) {
    take(reinterpret_cast<const Word*>(from), n);  // the language lets one read the other
  } else {
    Word words[block_of<Word>];
    while (n > 0) {
      const std::int64_t size = n < block_of<Word> ? n : block_of<Word>;
      for (std::int64_t k = 0; k < size; ++k) words[k] = static_cast<Word>(static_cast<To>(from[k]));
      take(words, size);
      from += size;
      n -= size;
    }
  }
}

/// A reducer as these loops fold it, with partial results of the same accumulator_type. (Nothing of it is for devices.)
template <class R>
struct in_loops {
  static constexpr bool exists = false;
  static constexpr bool is_extreme = false;
};

/// What all of them have. Derived names its thread_state and has fold_span; an element by itself is a span of one.
template <class Derived, class R>
struct in_loops_base {
  static constexpr bool exists = true;
  static constexpr bool is_extreme = false;
  using value_type = reducer_value_t<R>;
  using accumulator_type = reducer_accumulator_t<R>;
  FANIN_FUNCTION constexpr accumulator_type identity() const { return R{}.identity(); }
  FANIN_FUNCTION constexpr void join(accumulator_type& into, const accumulator_type& from) const {
    R{}.join(into, from);
  }
  template <class State>
  constexpr void fold(State& state, const value_type& value, std::int64_t index) const {
    static_cast<const Derived&>(*this).fold_span(state, &value, 1, index);
  }
};

/// Arithmetic types of up to 8 bytes: whether __int128 is arithmetic depends on flags of the unit.
template <class T>
concept number = std::is_arithmetic_v<T> && sizeof(T) <= 8;

template <class T, class Acc>
concept adds_in_loops = number<T> && has_loops<Acc>;

template <class T, class Acc>
  requires adds_in_loops<T, Acc>
struct in_loops<sum<T, Acc>> : in_loops_base<in_loops<sum<T, Acc>>, sum<T, Acc>> {
  using word = wrapping_word_t<Acc>;
  using thread_state = lanes<word>;
  FANIN_FUNCTION thread_state begin(Acc&) const { return {}; }
  constexpr void fold_span(thread_state& state, const T* values, std::int64_t n, std::int64_t) const {
    as_words<word, Acc>(values, n, [&](const word* words, std::int64_t k) { loops_of<word>().add(state, words, k); });
  }
  constexpr void flush(thread_state& state, Acc& into) const { into = static_cast<Acc>(loops_of<word>().sum(state)); }
};

template <class T, class Acc>
  requires adds_in_loops<T, Acc>
struct in_loops<prod<T, Acc>> : in_loops_base<in_loops<prod<T, Acc>>, prod<T, Acc>> {
  using word = wrapping_word_t<Acc>;
  using thread_state = lanes<word>;
  FANIN_FUNCTION thread_state begin(Acc&) const { return {}; }
  constexpr void fold_span(thread_state& state, const T* values, std::int64_t n, std::int64_t) const {
    as_words<word, Acc>(values, n,
                        [&](const word* words, std::int64_t k) { loops_of<word>().multiply(state, words, k); });
  }
  constexpr void flush(thread_state& state, Acc& into) const {
    into = static_cast<Acc>(loops_of<word>().product(state));
  }
};

enum class extreme { lowest, highest };

/// Takes n elements into an extreme.
template <extreme Which, class T>
void take_extreme(T& value, const T* from, std::int64_t n) {
  using word = word_t<T>;
  as_words<word, T>(from, n, [&](const word* words, std::int64_t k) {
    if (k == 0) return;
    if constexpr (Which == extreme::lowest) {
      value = minimum(value, static_cast<T>(loops_of<word>().lowest(words, k)));
    } else {
      value = maximum(value, static_cast<T>(loops_of<word>().highest(words, k)));
    }
  });
}

/// Takes n elements, of which the first has the index `first`, into an extreme and its index. Elements that came before
/// have smaller indices. Block by block: where it stands is looked for in a block that is better than those before.
template <extreme Which, class T>
void take_extreme(T& value, std::int64_t& index, const T* from, std::int64_t n, std::int64_t first) {
  using word = word_t<T>;
  as_words<word, T>(from, n, [&](const word* words, std::int64_t k) {
    const loops<word>& with = loops_of<word>();
    while (k > 0) {
      const std::int64_t size = k < block_of<T> ? k : block_of<T>;
      const word found = Which == extreme::lowest ? with.lowest(words, size) : with.highest(words, size);
      const auto x = static_cast<T>(found);
      const bool is_better = Which == extreme::lowest ? is_lower(x, value) : is_higher(x, value);
      if (is_better || index == no_index) {
        value = x;
        index = first + with.place(words, size, found);
      }
      words += size;
      first += size;
      k -= size;
    }
  });
}

/// A state that is the accumulator itself.
template <class Derived, class R>
struct extreme_in_loops : in_loops_base<Derived, R> {
  static constexpr bool is_extreme = true;
  using thread_state = reducer_accumulator_t<R>;
  FANIN_FUNCTION constexpr thread_state begin(thread_state&) const { return R{}.identity(); }
  FANIN_FUNCTION constexpr void flush(thread_state& state, thread_state& into) const { into = state; }
};

template <class T>
  requires has_loops<T>
struct in_loops<min<T>> : extreme_in_loops<in_loops<min<T>>, min<T>> {
  constexpr void fold_span(T& state, const T* values, std::int64_t n, std::int64_t) const {
    take_extreme<extreme::lowest>(state, values, n);
  }
};

template <class T>
  requires has_loops<T>
struct in_loops<max<T>> : extreme_in_loops<in_loops<max<T>>, max<T>> {
  constexpr void fold_span(T& state, const T* values, std::int64_t n, std::int64_t) const {
    take_extreme<extreme::highest>(state, values, n);
  }
};

template <class T>
  requires has_loops<T>
struct in_loops<min_loc<T>> : extreme_in_loops<in_loops<min_loc<T>>, min_loc<T>> {
  constexpr void fold_span(value_index<T>& state, const T* values, std::int64_t n, std::int64_t first) const {
    take_extreme<extreme::lowest>(state.value, state.index, values, n, first);
  }
};

template <class T>
  requires has_loops<T>
struct in_loops<max_loc<T>> : extreme_in_loops<in_loops<max_loc<T>>, max_loc<T>> {
  constexpr void fold_span(value_index<T>& state, const T* values, std::int64_t n, std::int64_t first) const {
    take_extreme<extreme::highest>(state.value, state.index, values, n, first);
  }
};

/// Calls take(part, size, at) for parts of n elements that stay in the nearest cache: two loops read each.
template <class T, class Take>
constexpr void by_blocks(const T* from, std::int64_t n, const Take& take) {
  for (std::int64_t at = 0; at < n; at += block_of<T>) {
    take(from + at, n - at < block_of<T> ? n - at : block_of<T>, at);
  }
}

template <class T>
  requires has_loops<T>
struct in_loops<min_max<T>> : extreme_in_loops<in_loops<min_max<T>>, min_max<T>> {
  constexpr void fold_span(min_max_value<T>& state, const T* values, std::int64_t n, std::int64_t) const {
    by_blocks(values, n, [&](const T* part, std::int64_t size, std::int64_t) {
      take_extreme<extreme::lowest>(state.min, part, size);
      take_extreme<extreme::highest>(state.max, part, size);
    });
  }
};

template <class T>
  requires has_loops<T>
struct in_loops<min_max_loc<T>> : extreme_in_loops<in_loops<min_max_loc<T>>, min_max_loc<T>> {
  constexpr void fold_span(min_max_index<T>& state, const T* values, std::int64_t n, std::int64_t first) const {
    by_blocks(values, n, [&](const T* part, std::int64_t size, std::int64_t at) {
      take_extreme<extreme::lowest>(state.min, state.min_index, part, size, first + at);
      take_extreme<extreme::highest>(state.max, state.max_index, part, size, first + at);
    });
  }
};

/// Of a composite's reducers, those that have loops are folded in them, the others as they are.
template <class R>
using in_loops_or_itself = std::conditional_t<in_loops<R>::exists, in_loops<R>, R>;

template <class R>
constexpr in_loops_or_itself<R> folded(const R& r) {
  if constexpr (in_loops<R>::exists) {
    return {};
  } else {
    return r;
  }
}

template <class... R, std::size_t... I>
constexpr composite<in_loops_or_itself<R>...> folded_of(const composite<R...>& c, std::index_sequence<I...>) {
  return make_composite(folded(get<I>(c.reducers))...);
}

template <class F, class Composite>
inline constexpr bool takes_accumulator = false;
template <class F, class... R>
inline constexpr bool takes_accumulator<F, composite<R...>> =
    functor_traits<F, reducer_state_t<R>...>::takes_accumulator;

/// Whether each reducer's value_type is one that a value of f's, or its own of a tuple, converts to; where it is not,
/// composite says so in words.
template <class Value, class... R>
inline constexpr bool converts = (std::is_convertible_v<const Value&, reducer_value_t<R>> && ...);
template <class... Value, class... R>
  requires(sizeof...(R) > 1 && sizeof...(Value) == sizeof...(R))
inline constexpr bool converts<tuple<Value...>, R...> =
    (std::is_convertible_v<const Value&, reducer_value_t<R>> && ...);

/// Whether what f gives is gathered in blocks: where it gives values, all reducers take numbers, and one has loops.
template <class F, class Composite>
inline constexpr bool gathers = false;
template <class F, class... R>
  requires(!takes_accumulator<F, composite<R...>>)
inline constexpr bool gathers<F, composite<R...>> =
    (in_loops<R>::exists || ...) && (number<reducer_value_t<R>> && ...) &&
    converts<std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>, R...>;

/// Whether one block serves all reducers.
template <class Value, class First, class... R>
inline constexpr bool share_values =
    !is_tuple_v<Value> && (std::is_same_v<reducer_value_t<First>, reducer_value_t<R>> && ...);

template <class T, std::int64_t Size>
struct block_of_values {
  T at[Size];
};

/// A block for each reducer, filled with its own value of each index.
template <class F, class... R, std::size_t... I>
void gather_apart(const F& f, const composite<R...>& c, typename composite<R...>::state_type& state, std::int64_t begin,
                  std::int64_t end, std::index_sequence<I...>) {
  using value_type = std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>;
  // All blocks together take up to 32 KiB of the stack.
  constexpr std::int64_t size = std::min<std::int64_t>(1024, 32768 / (std::int64_t{sizeof(reducer_value_t<R>)} + ...));
  tuple<block_of_values<reducer_value_t<R>, size>...> values;
  while (begin < end) {
    const std::int64_t n = end - begin < size ? end - begin : size;
    for (std::int64_t k = 0; k < n; ++k) {
      const value_type value = f(begin + k);
      ((get<I>(values).at[k] = c.template value_for<I>(value)), ...);
    }
    (c.template fold_span_at<I>(state, get<I>(values).at, n, begin), ...);
    begin += n;
  }
}

/// One block for all.
template <class F, class First, class... R>
void gather_together(const F& f, const composite<First, R...>& c, typename composite<First, R...>::state_type& state,
                     std::int64_t begin, std::int64_t end) {
  using value_type = reducer_value_t<First>;
  constexpr std::int64_t size = block_of<value_type>;
  value_type values[size];
  while (begin < end) {
    const std::int64_t n = end - begin < size ? end - begin : size;
    for (std::int64_t k = 0; k < n; ++k) values[k] = static_cast<value_type>(f(begin + k));
    c.fold_span_on_host(state, values, n, begin);
    begin += n;
  }
}

/// Whether f gives the products of two arrays' elements, as far as its type tells (by std::multiplies), for a sum of
/// them: a loop reads both.
template <class F, class Composite>
inline constexpr bool is_dot = false;
template <class F, std::floating_point T>
  requires(has_loops<T> && (std::is_same_v<F, std::multiplies<>> || std::is_same_v<F, std::multiplies<T>>))
inline constexpr bool is_dot<span_transform<F, T, T>, composite<sum<T>>> = true;

/// Folds by `use(state, composite)`: the accumulators of what it takes in.
template <class Use, class... R>
typename composite<R...>::accumulator_type fold_by(const Use& use, const composite<R...>& c) {
  const auto in_those = folded_of(c, std::index_sequence_for<R...>{});
  typename composite<R...>::accumulator_type scratch = in_those.identity();
  auto state = in_those.begin(scratch);
  use(in_those, state);
  in_those.finish(state, scratch);
  return scratch;
}

/// What f gives for the indices begin .. end - 1, each of which it is called for once, in rising order.
template <class F, class... R>
typename composite<R...>::accumulator_type fold(const F& f, const composite<R...>& c, std::int64_t begin,
                                                std::int64_t end) {
  using given = composite<R...>;
  if constexpr (takes_accumulator<F, given>) {
    auto scratch = c.identity();
    auto state = c.begin(scratch);
    c.gather_on_host(f, state, begin, end);
    c.finish(state, scratch);
    return scratch;
  } else if constexpr (is_dot<F, given>) {
    return fold_by(
        [&](const auto&, auto& state) {
          loops_of<reducer_value_t<R>...>().add_products(get<0>(state), get<0>(f.data) + begin, get<1>(f.data) + begin,
                                                         end - begin);
        },
        c);
  } else {
    return fold_by(
        [&](const auto& in_those, auto& state) {
          if constexpr (!gathers<F, given>) {
            in_those.gather_on_host(f, state, begin, end);
          } else if constexpr (share_values<std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>, R...>) {
            gather_together(f, in_those, state, begin, end);
          } else {
            gather_apart(f, in_those, state, begin, end, std::index_sequence_for<R...>{});
          }
        },
        c);
  }
}

template <class T>
struct element_at {
  const T* data;
  const T& operator()(std::int64_t i) const { return data[i]; }
};

/// The elements begin .. end - 1 of an array.
template <class T, class... R>
typename composite<R...>::accumulator_type fold_span(const T* data, const composite<R...>& c, std::int64_t begin,
                                                     std::int64_t end) {
  using given = composite<R...>;
  if constexpr (gathers<element_at<T>, given> && !(std::is_same_v<reducer_value_t<R>, T> && ...)) {
    return fold(element_at<T>{data}, c, begin, end);  // they are converted first
  } else {
    return fold_by(
        [&](const auto& in_those, auto& state) { in_those.fold_span_on_host(state, data + begin, end - begin, begin); },
        c);
  }
}

}  // namespace fanin::detail::host
