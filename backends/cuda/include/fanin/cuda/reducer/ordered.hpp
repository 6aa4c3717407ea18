// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <fanin/batch.hpp>
#include <fanin/cuda/reducer/rank.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducers.hpp>

/// How the CUDA backend computes extremes: on unsigned integers that stand in the order in which the reducer prefers
/// the values. What IEEE 754 asks of a minimum (NaN first, -0 before +0) is in the order, so that an element costs one
/// comparison, and a join of two partial results one more where there is an index. The results are those of the
/// reducers that are replaced, bit for bit but for the payload of a NaN.
namespace fanin::detail {

/// The lowest key is preferred: by a minimum if Least, by a maximum otherwise. NaN of any kind is 0, `none` is no
/// element yet: for floating-point types behind every value, for integers the key of the worst value as well.
template <class T, bool Least>
struct ordered_key {
  using type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  static constexpr type none = ~type{0};
  static constexpr bool none_is_no_value = std::floating_point<T>;

  FANIN_FUNCTION static constexpr type of(T x) {
    if constexpr (std::floating_point<T>) {
      const type ascending = detail::ascending_bits(x);
      return detail::is_nan(x) ? type{0} : (Least ? ascending : ~ascending);
    } else {
      const type key = static_cast<type>(x) ^ (std::is_signed_v<T> ? top : type{0});
      return Least ? key : ~key;
    }
  }

  /// The key of -0 for a minimum, of +0 for a maximum.
  FANIN_FUNCTION static constexpr type preferred_zero() { return of(static_cast<T>(Least ? -T{0} : T{0})); }

  FANIN_FUNCTION static constexpr T value(type key) {
    if (key == none) return Least ? highest_identity<T>() : lowest_identity<T>();
    if constexpr (std::floating_point<T>) {
      if (key == 0) return std::numeric_limits<T>::quiet_NaN();
      return detail::of_ascending_bits<T>(Least ? key : ~key);
    } else {
      return static_cast<T>((Least ? key : ~key) ^ (std::is_signed_v<T> ? top : type{0}));
    }
  }

 private:
  static constexpr int digits = std::numeric_limits<type>::digits;
  static constexpr type top = type{1} << (digits - 1);
};

/// The preferred one of Count values, NaN if there is one; of zeros of both signs one or the other for a double.
template <bool Least, int Count, class T>
FANIN_FUNCTION constexpr T roughly_preferred(const T* values) {
  T best = values[0];
  for (int k = 1; k < Count; ++k) {
    const T other = values[k];
    if constexpr (std::is_same_v<T, float>) {
      best = Least ? detail::minimum(best, other) : detail::maximum(best, other);  // one instruction
    } else {
      const bool takes = (Least ? other < best : best < other) | (other != other);
      best = takes ? other : best;
    }
  }
  return best;
}

/// Whether two values that are no NaN, and no zeros if doubles, are one.
template <class T>
FANIN_FUNCTION constexpr bool is_same_value(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  } else {
    return a == b;
  }
}

/// The lowest key of Count values.
template <class Key, int Count, class T>
FANIN_FUNCTION constexpr typename Key::type lowest_key(const T* values) {
  typename Key::type best = Key::of(values[0]);
  for (int k = 1; k < Count; ++k) {
    const typename Key::type other = Key::of(values[k]);
    best = other < best ? other : best;
  }
  return best;
}

/// A key as words: see rank.hpp.
template <class Key>
FANIN_FUNCTION constexpr auto rank_of_key(Key key) {
  if constexpr (sizeof(Key) == 4) {
    return rank_words<1>{{key}};
  } else {
    return rank_words<2>{{static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key)}};
  }
}

template <class Key>
FANIN_FUNCTION constexpr Key key_of_rank(const std::uint32_t* words) {
  if constexpr (sizeof(Key) == 4) {
    return words[0];
  } else {
    return Key{words[0]} << 32 | words[1];
  }
}

/// min or max.
template <class T, bool Least>
struct ordered_extreme {
  using key = ordered_key<T, Least>;
  using value_type = T;
  using accumulator_type = typename key::type;
  using result_type = T;

  FANIN_FUNCTION constexpr accumulator_type identity() const { return key::none; }
  FANIN_FUNCTION constexpr void fold(accumulator_type& acc, const T& value, std::int64_t) const {
    join(acc, key::of(value));
  }
  /// For double 4 instructions an element instead of 10. Rows that repeat the first change
  /// nothing.
  template <int Rows, int Columns>
  FANIN_FUNCTION constexpr void fold_batch(accumulator_type& acc, const tile_batch<Rows, Columns, T>& batch) const {
    const T best = detail::roughly_preferred<Least, Rows * Columns>(batch.values);
    accumulator_type found = key::of(best);
    if constexpr (std::is_same_v<T, double>) {
      if (best == 0) found = detail::lowest_key<key, Rows * Columns>(batch.values);
    }
    join(acc, found);
  }
  FANIN_FUNCTION constexpr void join(accumulator_type& into, const accumulator_type& from) const {
    into = from < into ? from : into;
  }
  FANIN_FUNCTION constexpr T result(const accumulator_type& acc) const { return key::value(acc); }

  FANIN_FUNCTION static constexpr auto rank(const accumulator_type& acc) { return detail::rank_of_key(acc); }
  FANIN_FUNCTION static constexpr accumulator_type of_rank(const rank_words<sizeof(accumulator_type) / 4>& rank) {
    return detail::key_of_rank<accumulator_type>(rank.words);
  }
};

/// A key and where its value stands: 12 bytes for a key of 4.
template <class Key>
struct placed_key {
  Key key;
  std::uint32_t index_low;
  std::int32_t index_high;

  FANIN_FUNCTION static constexpr placed_key of(Key key, std::int64_t index) {
    return {key, static_cast<std::uint32_t>(index), static_cast<std::int32_t>(index >> 32)};
  }
  FANIN_FUNCTION constexpr std::int64_t index() const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(index_high) << 32 | index_low);
  }
};

/// min_loc or max_loc.
template <class T, bool Least>
struct ordered_place {
  using key = ordered_key<T, Least>;
  using value_type = T;
  using accumulator_type = placed_key<typename key::type>;
  using result_type = value_index<T>;

  FANIN_FUNCTION constexpr accumulator_type identity() const { return accumulator_type::of(key::none, no_index); }
  FANIN_FUNCTION constexpr void fold(accumulator_type& acc, const T& value, std::int64_t index) const {
    join(acc, accumulator_type::of(key::of(value), index));
  }
  /// The best of the tile costs a few instructions an element; where it stands is looked for
  /// only if it may beat what the thread has, which becomes rare. Rows that repeat the first change nothing.
  template <int Rows, int Columns>
  FANIN_FUNCTION constexpr void fold_batch(accumulator_type& acc, const tile_batch<Rows, Columns, T>& batch) const {
    const T* const values = batch.values;
    constexpr int count = Rows * Columns;
    const T preferred = detail::roughly_preferred<Least, count>(values);
    // Not asked of a float, whose denormals may count as zero: nvcc's -ftz.
    const bool is_zero = std::is_same_v<T, double> && preferred == T{0};
    typename key::type best = is_zero ? key::preferred_zero() : key::of(preferred);
    if (!((best < acc.key) | (!key::none_is_no_value & (acc.index() == no_index)))) return;
    int at = count - 1;
    if (is_zero | detail::is_nan(preferred)) {
      best = detail::lowest_key<key, count>(values);
      if (!(best < acc.key)) return;
      for (int k = count - 2; k >= 0; --k) at = key::of(values[k]) == best ? k : at;
    } else {
      for (int k = count - 2; k >= 0; --k) at = detail::is_same_value(values[k], preferred) ? k : at;
    }
    acc = accumulator_type::of(best, batch.index(at));
  }
  FANIN_FUNCTION constexpr void join(accumulator_type& into, const accumulator_type& from) const {
    // No && and ||: they would branch.
    const bool take = (from.key < into.key) | ((from.key == into.key) & (from.index() < into.index()));
    into.key = take ? from.key : into.key;
    into.index_low = take ? from.index_low : into.index_low;
    into.index_high = take ? from.index_high : into.index_high;
  }
  FANIN_FUNCTION constexpr result_type result(const accumulator_type& acc) const {
    return {key::value(acc.key), detail::index_or_none(acc.index())};
  }

  /// The key, then the index, whose order as unsigned is that as signed with the sign bit turned.
  FANIN_FUNCTION static constexpr auto rank(const accumulator_type& acc) {
    rank_words<key_words + 2> rank{};
    const auto of_key = detail::rank_of_key(acc.key);
    for (int k = 0; k < key_words; ++k) rank.words[k] = of_key.words[k];
    rank.words[key_words] = static_cast<std::uint32_t>(acc.index_high) ^ sign_bit;
    rank.words[key_words + 1] = acc.index_low;
    return rank;
  }
  FANIN_FUNCTION static constexpr accumulator_type of_rank(
      const rank_words<static_cast<int>(sizeof(typename key::type) / 4) + 2>& rank) {
    return {detail::key_of_rank<typename key::type>(rank.words), rank.words[key_words + 1],
            static_cast<std::int32_t>(rank.words[key_words] ^ sign_bit)};
  }

 private:
  static constexpr int key_words = static_cast<int>(sizeof(typename key::type) / 4);
  static constexpr std::uint32_t sign_bit = 0x80000000u;
};

/// The same for a call over ranks: of no element yet it gives min_loc's and max_loc's own accumulator.
template <class T, bool Least>
struct handed_over_place : ordered_place<T, Least> {
  using typename ordered_place<T, Least>::accumulator_type;
  using typename ordered_place<T, Least>::key;
  FANIN_FUNCTION constexpr value_index<T> result(const accumulator_type& acc) const {
    return {key::value(acc.key), acc.index()};
  }
};

/// Two of them over the same elements, as one reducer with a result of its own.
template <class Low, class High, class Result>
struct ordered_pair {
  using value_type = typename Low::value_type;
  struct accumulator_type {
    typename Low::accumulator_type low;
    typename High::accumulator_type high;
  };
  using result_type = Result;

  FANIN_FUNCTION constexpr accumulator_type identity() const { return {Low{}.identity(), High{}.identity()}; }
  FANIN_FUNCTION constexpr void fold(accumulator_type& acc, const value_type& value, std::int64_t index) const {
    Low{}.fold(acc.low, value, index);
    High{}.fold(acc.high, value, index);
  }
  template <int Rows, int Columns>
    requires takes_batch<Low, tile_batch<Rows, Columns, value_type>>
  FANIN_FUNCTION constexpr void fold_batch(accumulator_type& acc,
                                           const tile_batch<Rows, Columns, value_type>& batch) const {
    Low{}.fold_batch(acc.low, batch);
    High{}.fold_batch(acc.high, batch);
  }
  FANIN_FUNCTION constexpr void join(accumulator_type& into, const accumulator_type& from) const {
    Low{}.join(into.low, from.low);
    High{}.join(into.high, from.high);
  }
  FANIN_FUNCTION constexpr result_type result(const accumulator_type& acc) const {
    const auto low = Low{}.result(acc.low);
    const auto high = High{}.result(acc.high);
    if constexpr (requires { low.index; }) {
      return {low.value, high.value, low.index, high.index};
    } else {
      return {low, high};
    }
  }
};

/// What folds an index because all of these do, and what keeps it.
template <class T, bool Least>
inline constexpr bool sees_index<ordered_extreme<T, Least>> = false;
template <class Low, class High, class Result>
inline constexpr bool sees_index<ordered_pair<Low, High, Result>> = sees_index<Low>;

}  // namespace fanin::detail
