// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fanin/batch.hpp>
#include <fanin/gathering.hpp>
#include <fanin/host/gather.hpp>
#include <fanin/host/loops.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducers.hpp>

/// Reducers as the loops of fanin::host fold them: sums and products in lanes (see fanin/host/loops.hpp).
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

/// What all of them have. Derived has fold_batch; an element by itself is a batch of one.
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
    static_cast<const Derived&>(*this).fold_batch(state, span_batch<value_type>{&value, 1, index});
  }
};

/// Lanes, which Derived combines to its accumulator.
template <class Word>
struct gathering_in_lanes : gathering_in_spill<lanes<Word>> {
  template <class R>
  FANIN_FUNCTION static constexpr lanes<Word> begin(const R&, reducer_accumulator_t<R>&) {
    return {};
  }
  template <class R>
  static constexpr void finish(const R& r, lanes<Word>& state, reducer_accumulator_t<R>& spill) {
    spill = r.combined(state);
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
  using gathering = gathering_in_lanes<word>;
  constexpr void fold_batch(lanes<word>& state, const span_batch<T>& batch) const {
    host::as_words<word, Acc>(batch.values, batch.count,
                              [&](const word* words, std::int64_t k) { loops_of<word>().add(state, words, k); });
  }
  constexpr Acc combined(lanes<word>& state) const { return static_cast<Acc>(loops_of<word>().sum(state)); }
  /// Where T is Acc.
  static void add_products(lanes<word>& state, const T* x, const T* y, std::int64_t n) {
    loops_of<word>().add_products(state, x, y, n);
  }
};

template <class T, class Acc>
  requires adds_in_loops<T, Acc>
struct in_loops<prod<T, Acc>> : in_loops_base<in_loops<prod<T, Acc>>, prod<T, Acc>> {
  using word = wrapping_word_t<Acc>;
  using gathering = gathering_in_lanes<word>;
  constexpr void fold_batch(lanes<word>& state, const span_batch<T>& batch) const {
    host::as_words<word, Acc>(batch.values, batch.count,
                              [&](const word* words, std::int64_t k) { loops_of<word>().multiply(state, words, k); });
  }
  constexpr Acc combined(lanes<word>& state) const { return static_cast<Acc>(loops_of<word>().product(state)); }
};

enum class extreme { lowest, highest };

/// Takes n elements into an extreme.
template <extreme Which, class T>
void take_extreme(T& value, const T* from, std::int64_t n) {
  using word = word_t<T>;
  host::as_words<word, T>(from, n, [&](const word* words, std::int64_t k) {
    if (k == 0) return;
    if constexpr (Which == extreme::lowest) {
      value = detail::minimum(value, static_cast<T>(loops_of<word>().lowest(words, k)));
    } else {
      value = detail::maximum(value, static_cast<T>(loops_of<word>().highest(words, k)));
    }
  });
}
template <class T>
void take_extremes(min_max_value<T>& values, const T* from, std::int64_t n) {
  using word = word_t<T>;
  host::as_words<word, T>(from, n, [&](const word* words, std::int64_t k) {
    if (k == 0) return;
    const lowest_and_highest<word> found = loops_of<word>().extremes(words, k);
    values.min = detail::minimum(values.min, static_cast<T>(found.lowest));
    values.max = detail::maximum(values.max, static_cast<T>(found.highest));
  });
}

/// Calls take(words, size, at) for blocks of n elements, the first of which has the index `first`: where an extreme
/// stands is looked for in a block that is better than those before.
template <class T, class Take>
void by_blocks_of_words(const T* from, std::int64_t n, std::int64_t first, const Take& take) {
  using word = word_t<T>;
  host::as_words<word, T>(from, n, [&](const word* words, std::int64_t k) {
    while (k > 0) {
      const std::int64_t size = k < block_of<T> ? k : block_of<T>;
      take(words, size, first);
      words += size;
      first += size;
      k -= size;
    }
  });
}

/// What a block has found, into an extreme and its index. Elements that came before have smaller indices.
template <extreme Which, class T>
void take_place(T& value, std::int64_t& index, word_t<T> found, const word_t<T>* words, std::int64_t n,
                std::int64_t first) {
  const auto x = static_cast<T>(found);
  const bool is_better = Which == extreme::lowest ? detail::is_lower(x, value) : detail::is_higher(x, value);
  if (!is_better && index != no_index) return;
  value = x;
  index = first + loops_of<word_t<T>>().place(words, n, found);
}
template <extreme Which, class T>
void take_extreme(T& value, std::int64_t& index, const T* from, std::int64_t n, std::int64_t first) {
  using word = word_t<T>;
  host::by_blocks_of_words(from, n, first, [&](const word* words, std::int64_t size, std::int64_t at) {
    const loops<word>& with = loops_of<word>();
    const word found = Which == extreme::lowest ? with.lowest(words, size) : with.highest(words, size);
    host::take_place<Which>(value, index, found, words, size, at);
  });
}
template <class T>
void take_extremes(min_max_index<T>& values, const T* from, std::int64_t n, std::int64_t first) {
  using word = word_t<T>;
  host::by_blocks_of_words(from, n, first, [&](const word* words, std::int64_t size, std::int64_t at) {
    const lowest_and_highest<word> found = loops_of<word>().extremes(words, size);
    host::take_place<extreme::lowest>(values.min, values.min_index, found.lowest, words, size, at);
    host::take_place<extreme::highest>(values.max, values.max_index, found.highest, words, size, at);
  });
}

template <class Derived, class R>
struct extreme_in_loops : in_loops_base<Derived, R> {
  static constexpr bool is_extreme = true;
};

template <class T>
  requires has_loops<T>
struct in_loops<min<T>> : extreme_in_loops<in_loops<min<T>>, min<T>> {
  constexpr void fold_batch(T& state, const span_batch<T>& batch) const {
    host::take_extreme<extreme::lowest>(state, batch.values, batch.count);
  }
};

template <class T>
  requires has_loops<T>
struct in_loops<max<T>> : extreme_in_loops<in_loops<max<T>>, max<T>> {
  constexpr void fold_batch(T& state, const span_batch<T>& batch) const {
    host::take_extreme<extreme::highest>(state, batch.values, batch.count);
  }
};

template <class T>
  requires has_loops<T>
struct in_loops<min_loc<T>> : extreme_in_loops<in_loops<min_loc<T>>, min_loc<T>> {
  constexpr void fold_batch(value_index<T>& state, const span_batch<T>& batch) const {
    host::take_extreme<extreme::lowest>(state.value, state.index, batch.values, batch.count, batch.first);
  }
};

template <class T>
  requires has_loops<T>
struct in_loops<max_loc<T>> : extreme_in_loops<in_loops<max_loc<T>>, max_loc<T>> {
  constexpr void fold_batch(value_index<T>& state, const span_batch<T>& batch) const {
    host::take_extreme<extreme::highest>(state.value, state.index, batch.values, batch.count, batch.first);
  }
};

template <class T>
  requires has_loops<T>
struct in_loops<min_max<T>> : extreme_in_loops<in_loops<min_max<T>>, min_max<T>> {
  constexpr void fold_batch(min_max_value<T>& state, const span_batch<T>& batch) const {
    host::take_extremes(state, batch.values, batch.count);
  }
};

template <class T>
  requires has_loops<T>
struct in_loops<min_max_loc<T>> : extreme_in_loops<in_loops<min_max_loc<T>>, min_max_loc<T>> {
  constexpr void fold_batch(min_max_index<T>& state, const span_batch<T>& batch) const {
    host::take_extremes(state, batch.values, batch.count, batch.first);
  }
};

}  // namespace fanin::detail::host
