// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fanin/detail/add_multiply.hpp>
#include <fanin/detail/extremes.hpp>
#include <fanin/macros.hpp>
#include <fanin/ordering.hpp>
#include <fanin/reducer.hpp>

/// The built-in reducers. Identities: +-infinity for floating-point minima and maxima, the numeric limits for integers,
/// and for other types what fanin::ordering says. Integers wrap (computed unsigned). The identity is always folded in,
/// so that a sum of {-0.0} is +0. Extremes of floating-point types of 2, 4 and 8 bytes are those of the values as they
/// are, whatever the flags of a unit (-ffast-math) and the modes of a thread (flush-to-zero, denormals as zeros). Of
/// other reducers a unit compiled with -ffast-math or -ffinite-math-only gives up what is said here of NaN, infinity
/// and -0.

// Reductions in a shared library bear these types' names, and are seen only where these are.
#pragma GCC visibility push(default)

namespace fanin {

/// An element and where it stands: the smallest index among equals, -1 for an empty range (fanin::merge joins results
/// of parts, of which some may be empty). As the accumulator of a `_loc` reducer, the index of no element yet is
/// INT64_MAX. Over an md_range Index is an md_index, the first in the order of the range.
template <class T, class Index = std::int64_t>
struct value_index {
  T value;
  Index index;
  friend bool operator==(const value_index&, const value_index&) = default;
};

template <class T>
struct min_max_value {
  T min;
  T max;
  friend bool operator==(const min_max_value&, const min_max_value&) = default;
};

template <class T, class Index = std::int64_t>
struct min_max_index {
  T min;
  T max;
  Index min_index;
  Index max_index;
  friend bool operator==(const min_max_index&, const min_max_index&) = default;
};

/// The sum of values of type T, accumulated in Acc, which is the result's type too: sum<std::int8_t, std::int32_t>,
/// sum<float, double>. Each value is converted to Acc before it is added. Identity Acc{}. Integers wrap. Acc is not
/// bool. For another Acc, whatever its operator+ does from Acc{}.
template <class T = detail::no_type, class Acc = T>
struct sum {
  static_assert(
      !std::is_same_v<Acc, bool>,
      "fanin: a sum in bool is true or false: count in an integer, sum<bool, std::int64_t>, or take lor<bool>");
  using value_type = T;
  using accumulator_type = Acc;
  FANIN_FUNCTION constexpr Acc identity() const { return detail::zero<Acc>(); }
  FANIN_FUNCTION constexpr void join(Acc& into, const Acc& from) const { into = detail::add(into, from); }
};

/// The product of values of type T, accumulated in Acc as for sum. Identity 1. Integers wrap.
template <class T = detail::no_type, class Acc = T>
struct prod {
  using value_type = T;
  using accumulator_type = Acc;
  FANIN_FUNCTION constexpr Acc identity() const { return detail::one<Acc>(); }
  FANIN_FUNCTION constexpr void join(Acc& into, const Acc& from) const { into = detail::multiply(into, from); }
};

/// The smallest element (IEEE 754-2019 minimum: propagates NaN, -0 < +0). Empty: +infinity or the largest integer.
template <class T = detail::no_type>
struct min {
  using value_type = T;
  FANIN_FUNCTION constexpr T identity() const { return detail::highest_identity<T>(); }
  FANIN_FUNCTION constexpr void join(T& into, const T& from) const { into = detail::minimum(into, from); }
};

/// The largest element (IEEE 754-2019 maximum: propagates NaN, -0 < +0). Empty: -infinity or the lowest integer.
template <class T = detail::no_type>
struct max {
  using value_type = T;
  FANIN_FUNCTION constexpr T identity() const { return detail::lowest_identity<T>(); }
  FANIN_FUNCTION constexpr void join(T& into, const T& from) const { into = detail::maximum(into, from); }
};

/// The smallest element as min gives it, and the smallest index at which it stands (of the first NaN if there is
/// one). Empty: {min's identity, -1}.
template <class T = detail::no_type>
struct min_loc {
  using value_type = T;
  using accumulator_type = value_index<T>;
  FANIN_FUNCTION constexpr accumulator_type identity() const {
    return {detail::highest_identity<T>(), detail::no_index};
  }
  FANIN_FUNCTION constexpr void fold(accumulator_type& acc, const T& value, std::int64_t index) const {
    detail::keep_preferred(acc.value, acc.index, value, index, detail::prefer_lower{});
  }
  FANIN_FUNCTION constexpr void join(accumulator_type& into, const accumulator_type& from) const {
    fold(into, from.value, from.index);
  }
  FANIN_FUNCTION constexpr accumulator_type result(const accumulator_type& acc) const {
    return {acc.value, detail::index_or_none(acc.index)};
  }
  /// Of two results: see fanin/merge.hpp.
  FANIN_FUNCTION constexpr void merge(accumulator_type& into, const accumulator_type& from) const {
    accumulator_type acc = accumulated(into);
    join(acc, accumulated(from));
    into = result(acc);
  }

 private:
  FANIN_FUNCTION constexpr accumulator_type accumulated(const accumulator_type& x) const {
    return {x.value, detail::none_or_index(x.index, x.value, identity().value)};
  }
};

/// The largest element as max gives it, and the smallest index at which it stands (of the first NaN if there is one).
/// Empty: {max's identity, -1}.
template <class T = detail::no_type>
struct max_loc {
  using value_type = T;
  using accumulator_type = value_index<T>;
  FANIN_FUNCTION constexpr accumulator_type identity() const {
    return {detail::lowest_identity<T>(), detail::no_index};
  }
  FANIN_FUNCTION constexpr void fold(accumulator_type& acc, const T& value, std::int64_t index) const {
    detail::keep_preferred(acc.value, acc.index, value, index, detail::prefer_higher{});
  }
  FANIN_FUNCTION constexpr void join(accumulator_type& into, const accumulator_type& from) const {
    fold(into, from.value, from.index);
  }
  FANIN_FUNCTION constexpr accumulator_type result(const accumulator_type& acc) const {
    return {acc.value, detail::index_or_none(acc.index)};
  }
  /// Of two results: see fanin/merge.hpp.
  FANIN_FUNCTION constexpr void merge(accumulator_type& into, const accumulator_type& from) const {
    accumulator_type acc = accumulated(into);
    join(acc, accumulated(from));
    into = result(acc);
  }

 private:
  FANIN_FUNCTION constexpr accumulator_type accumulated(const accumulator_type& x) const {
    return {x.value, detail::none_or_index(x.index, x.value, identity().value)};
  }
};

/// min and max of one pass.
template <class T = detail::no_type>
struct min_max {
  using value_type = T;
  using accumulator_type = min_max_value<T>;
  FANIN_FUNCTION constexpr accumulator_type identity() const {
    return {detail::highest_identity<T>(), detail::lowest_identity<T>()};
  }
  FANIN_FUNCTION constexpr void fold(accumulator_type& acc, const T& value, std::int64_t) const {
    join(acc, accumulator_type{value, value});
  }
  FANIN_FUNCTION constexpr void join(accumulator_type& into, const accumulator_type& from) const {
    into.min = detail::minimum(into.min, from.min);
    into.max = detail::maximum(into.max, from.max);
  }
};

/// min_loc and max_loc of one pass.
template <class T = detail::no_type>
struct min_max_loc {
  using value_type = T;
  using accumulator_type = min_max_index<T>;
  FANIN_FUNCTION constexpr accumulator_type identity() const {
    return {detail::highest_identity<T>(), detail::lowest_identity<T>(), detail::no_index, detail::no_index};
  }
  FANIN_FUNCTION constexpr void fold(accumulator_type& acc, const T& value, std::int64_t index) const {
    join(acc, accumulator_type{value, value, index, index});
  }
  FANIN_FUNCTION constexpr void join(accumulator_type& into, const accumulator_type& from) const {
    detail::keep_preferred(into.min, into.min_index, from.min, from.min_index, detail::prefer_lower{});
    detail::keep_preferred(into.max, into.max_index, from.max, from.max_index, detail::prefer_higher{});
  }
  FANIN_FUNCTION constexpr accumulator_type result(const accumulator_type& acc) const {
    return {acc.min, acc.max, detail::index_or_none(acc.min_index), detail::index_or_none(acc.max_index)};
  }
  /// Of two results: see fanin/merge.hpp.
  FANIN_FUNCTION constexpr void merge(accumulator_type& into, const accumulator_type& from) const {
    accumulator_type acc = accumulated(into);
    join(acc, accumulated(from));
    into = result(acc);
  }

 private:
  FANIN_FUNCTION constexpr accumulator_type accumulated(const accumulator_type& x) const {
    const auto none = identity();
    return {x.min, x.max, detail::none_or_index(x.min_index, x.min, none.min),
            detail::none_or_index(x.max_index, x.max, none.max)};
  }
};

namespace detail {

/// Not zero; of floating-point numbers by their bits, since a denormal may pass for zero otherwise.
template <class T>
FANIN_FUNCTION constexpr bool is_true(const T& x) {
  if constexpr (is_ieee<T>) {
    return static_cast<bits_of_float<T>>(std::bit_cast<bits_of_float<T>>(x) & ~ordering<T>::sign) != 0;
  } else {
    return x != T{};
  }
}

}  // namespace detail

/// Whether every element is true (not zero). The result is T{1} or T{0}. Empty: true.
template <class T = bool>
struct land {
  using value_type = T;
  FANIN_FUNCTION constexpr T identity() const { return static_cast<T>(1); }
  FANIN_FUNCTION constexpr void join(T& into, const T& from) const {
    into = static_cast<T>(detail::is_true(into) && detail::is_true(from));
  }
};

/// Whether any element is true (not zero). The result is T{1} or T{0}. Empty: false.
template <class T = bool>
struct lor {
  using value_type = T;
  FANIN_FUNCTION constexpr T identity() const { return static_cast<T>(0); }
  FANIN_FUNCTION constexpr void join(T& into, const T& from) const {
    into = static_cast<T>(detail::is_true(into) || detail::is_true(from));
  }
};

/// Bitwise and. Empty: all bits set.
template <std::integral T>
struct band {
  using value_type = T;
  FANIN_FUNCTION constexpr T identity() const { return static_cast<T>(~T{}); }
  FANIN_FUNCTION constexpr void join(T& into, const T& from) const { into = static_cast<T>(into & from); }
};

/// Bitwise or. Empty: no bit set.
template <std::integral T>
struct bor {
  using value_type = T;
  FANIN_FUNCTION constexpr T identity() const { return T{}; }
  FANIN_FUNCTION constexpr void join(T& into, const T& from) const { into = static_cast<T>(into | from); }
};

}  // namespace fanin

#pragma GCC visibility pop
