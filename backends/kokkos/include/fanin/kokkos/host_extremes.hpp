// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fanin/detail/variant.hpp>
#include <fanin/reducers.hpp>

/// The extreme of consecutive elements, and where it stands, as fast as a host reads them. The rules of NaN, -0 and
/// ties hold g++ back from vectorising the reducers' own fold; here they cost two instructions a vector. Right whatever
/// the flags of the unit and the modes of the thread: what those may spoil is noticed and done again by bits.
namespace fanin::detail {

enum class extreme { lowest, highest };

template <extreme Which, class T>
constexpr T extreme_identity() {
  return Which == extreme::lowest ? highest_identity<T>() : lowest_identity<T>();
}

template <extreme Which, class T>
constexpr T more_extreme(T a, T b) {
  return Which == extreme::lowest ? minimum(a, b) : maximum(a, b);
}

template <class T>
using bits_of =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

inline namespace FANIN_DETAIL_VARIANT {

/// Of any type: eight accumulators, so that an element need not wait for the one before.
template <extreme Which, class T>
struct extreme_lanes {
  static constexpr std::int64_t width = 8;
  T lanes[width];

  extreme_lanes() { std::fill_n(lanes, width, extreme_identity<Which, T>()); }
  void take(const T* from) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] = more_extreme<Which>(lanes[lane], from[lane]);
  }
  T value() const {
    T value = lanes[0];
    for (int lane = 1; lane < width; ++lane) value = more_extreme<Which>(value, lanes[lane]);
    return value;
  }
  /// Whether `value`, which these lanes helped to find, may be wrong.
  static constexpr bool is_in_doubt(T) { return false; }
};

// nvcc reads no vectors of GNU C.
#if defined(__GNUC__) && !defined(__CUDACC__)
template <class T>
concept fits_host_vectors =
    std::same_as<T, float> || std::same_as<T, double> || (std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 4);

/// Whether this thread takes denormals for zeros, as it does in a program that was linked with -ffast-math.
template <std::floating_point T>
bool flushes_denormals() {
  const volatile T least = std::numeric_limits<T>::denorm_min();
  return !(least > 0);
}

/// Four vectors of 16 bytes, which every x86-64 and AArch64 has. (Not of 64-bit integers: SSE2 does not compare them.)
template <extreme Which, fits_host_vectors T>
struct extreme_lanes<Which, T> {
  typedef T vector __attribute__((vector_size(16)));
  typedef bits_of<T> word_vector __attribute__((vector_size(16)));
  typedef std::int32_t int_vector __attribute__((vector_size(16)));
  static constexpr std::int64_t vectors = 4;
  static constexpr std::int64_t vector_width = 16 / sizeof(T);
  static constexpr std::int64_t width = vectors * vector_width;

  vector lanes[vectors];
  int_vector odd{};

  extreme_lanes() { std::fill_n(lanes, vectors, turned(vector{} + extreme_identity<Which, T>())); }
  void take(const T* from) {
    for (std::int64_t k = 0; k < vectors; ++k) {
      vector x;
      std::memcpy(&x, from + k * vector_width, sizeof(x));
      lanes[k] = merged(lanes[k], turned(x));
      if constexpr (may_lose_nan) odd |= is_odd(x);
    }
  }
  T value() const {
    const vector all = turned(merged(merged(lanes[0], lanes[1]), merged(lanes[2], lanes[3])));
    T value = all[0];
    for (std::int64_t k = 1; k < vector_width; ++k) value = more_extreme<Which, T>(value, all[k]);
    return value;
  }
  /// Where comparisons hold denormals for zeros, or a unit's flags let the compiler turn them round, zeros and
  /// denormals may be mixed up. NaN may be lost by flags alone.
  bool is_in_doubt(T value) const
    requires std::floating_point<T>
  {
    const bool is_tiny = (std::bit_cast<bits_of<T>>(value) & ordering<T>::infinity) == 0;
    if constexpr (may_lose_nan) {
      return is_tiny || (odd[0] | odd[1] | odd[2] | odd[3]) != 0;
    } else {
      return is_tiny && flushes_denormals<T>();
    }
  }

 private:
  static constexpr bool may_lose_nan = !has_quick_comparison<T>;

  /// NaN and infinities, of which every vector unit can tell by 32 bits.
  static int_vector is_odd(vector x) {
    constexpr bits_of<T> magnitude_of_upper_half = ~bits_of<T>{0} >> 1 >> (8 * sizeof(T) - 32) << (8 * sizeof(T) - 32);
    const auto upper = std::bit_cast<int_vector>(std::bit_cast<word_vector>(x) & magnitude_of_upper_half);
    return upper >= static_cast<std::int32_t>(ordering<T>::infinity >> (8 * sizeof(T) - 32));
  }
  /// Floats change sign for a maximum, so that it is a minimum.
  static vector turned(vector x) {
    if constexpr (std::floating_point<T> && Which == extreme::highest) {
      constexpr bits_of<T> sign = bits_of<T>{1} << (8 * sizeof(T) - 1);
      return std::bit_cast<vector>(std::bit_cast<word_vector>(x) ^ sign);
    } else {
      return x;
    }
  }
  /// Of floats each choice is one instruction, and gives its second operand when the two do not compare. So the two
  /// choices differ for NaN and zeros only, where the union of their bits is a NaN, or -0 if one of them is.
  static vector merged(vector a, vector b) {
    if constexpr (std::floating_point<T>) {
      const vector one = a < b ? a : b;
      const vector other = b < a ? b : a;
      return std::bit_cast<vector>(std::bit_cast<word_vector>(one) | std::bit_cast<word_vector>(other));
    } else if constexpr (Which == extreme::lowest) {
      return b < a ? b : a;
    } else {
      return a < b ? b : a;
    }
  }
};
#endif

/// The extreme of n >= 1 elements by their bits, where a comparison of floats is not to be trusted.
template <extreme Which, std::floating_point T>
T extreme_by_bits(const T* from, std::int64_t n) {
  const auto rank = [](T x) -> bits_of<T> {
    const bits_of<T> ascending = ascending_bits(x);
    return is_nan(x) ? 0 : (Which == extreme::lowest ? ascending : ~ascending);
  };
  constexpr std::int64_t width = 8;
  bits_of<T> lanes[width];
  std::fill_n(lanes, width, rank(from[0]));
  std::int64_t i = 0;
  for (; i + width <= n; i += width) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] = std::min(lanes[lane], rank(from[i + lane]));
  }
  for (; i < n; ++i) lanes[0] = std::min(lanes[0], rank(from[i]));
  const bits_of<T> least = *std::min_element(lanes, lanes + width);
  return of_ascending_bits<T>(Which == extreme::lowest ? least : ~least);
}

/// What fills an array whose elements are there already.
struct is_filled {
  void operator()(std::int64_t, std::int64_t) const {}
};

/// The extreme of n elements, n == 0: the identity. fill(at, count) puts elements there, in order and just before they
/// are read: so that a processor fetches what comes next while it compares.
template <extreme Which, class T, class Fill = is_filled>
T extreme_of(const T* from, std::int64_t n, const Fill& fill = {}) {
  using lanes_type = extreme_lanes<Which, T>;
  // So few that they stay in registers on the way. In blocks of 8 KiB: doubles 0.52 ns each out of the second cache, so
  // 0.33, of an array 0.32.
  constexpr std::int64_t step = std::max<std::int64_t>(32, lanes_type::width);
  lanes_type lanes;
  std::int64_t i = 0;
  for (; i + step <= n; i += step) {
    fill(i, step);
    for (std::int64_t k = 0; k < step; k += lanes_type::width) lanes.take(from + i + k);
  }
  fill(i, n - i);
  for (; i + lanes_type::width <= n; i += lanes_type::width) lanes.take(from + i);
  T value = lanes.value();
  for (; i < n; ++i) value = more_extreme<Which>(value, from[i]);
  if constexpr (std::floating_point<T>) {
    if (lanes.is_in_doubt(value)) value = extreme_by_bits<Which>(from, n);
  }
  return value;
}

}  // namespace FANIN_DETAIL_VARIANT

/// The first of n elements that `is` says yes to; there is one.
template <class T, class Is>
std::int64_t first_that(const T* from, std::int64_t n, const Is& is) {
  constexpr std::int64_t width = 16;
  std::int64_t i = 0;
  for (; i + width <= n; i += width) {
    bits_of<T> found = 0;
    for (int k = 0; k < width; ++k) found |= static_cast<bits_of<T>>(is(from[i + k]));
    if (found != 0) break;
  }
  while (i + 1 < n && !is(from[i])) ++i;
  return i;
}

/// Where the extreme of n elements stands first: -0 and +0 differ, one NaN is as good as another.
template <class T>
std::int64_t first_place(const T* from, std::int64_t n, T value) {
  if constexpr (std::floating_point<T>) {
    if (is_nan(value)) return first_that(from, n, [](T x) { return is_nan(x); });
    return first_that(from, n, [=](T x) { return std::bit_cast<bits_of<T>>(x) == std::bit_cast<bits_of<T>>(value); });
  } else {
    return first_that(from, n, [=](T x) { return x == value; });
  }
}

/// Takes n elements, of which the first has the index `first`, into a value and its index. Elements that came before
/// have smaller indices.
template <extreme Which, class T, class Fill = is_filled>
void take_extreme(T& value, std::int64_t& index, const T* from, std::int64_t n, std::int64_t first,
                  const Fill& fill = {}) {
  if (n == 0) return;
  const T found = extreme_of<Which>(from, n, fill);
  const bool prefers = Which == extreme::lowest ? is_lower(found, value) : is_higher(found, value);
  if (!prefers && index != no_index) return;
  value = found;
  index = first + first_place(from, n, found);
}

/// The reducers that blocks of elements are folded for by the above, with take(acc, elements, n, first index, fill).
template <class Reducer>
struct block_fold {
  static constexpr bool exists = false;
};

template <class T>
concept block_value = std::integral<T> || std::same_as<T, float> || std::same_as<T, double>;

template <block_value T>
struct block_fold<min<T>> {
  static constexpr bool exists = true;
  template <class Fill>
  static void take(T& acc, const T* from, std::int64_t n, std::int64_t, const Fill& fill) {
    acc = minimum(acc, extreme_of<extreme::lowest>(from, n, fill));
  }
};

template <block_value T>
struct block_fold<max<T>> {
  static constexpr bool exists = true;
  template <class Fill>
  static void take(T& acc, const T* from, std::int64_t n, std::int64_t, const Fill& fill) {
    acc = maximum(acc, extreme_of<extreme::highest>(from, n, fill));
  }
};

template <block_value T>
struct block_fold<min_max<T>> {
  static constexpr bool exists = true;
  template <class Fill>
  static void take(min_max_value<T>& acc, const T* from, std::int64_t n, std::int64_t, const Fill& fill) {
    acc.min = minimum(acc.min, extreme_of<extreme::lowest>(from, n, fill));
    acc.max = maximum(acc.max, extreme_of<extreme::highest>(from, n));
  }
};

template <block_value T>
struct block_fold<min_loc<T>> {
  static constexpr bool exists = true;
  template <class Fill>
  static void take(value_index<T>& acc, const T* from, std::int64_t n, std::int64_t first, const Fill& fill) {
    take_extreme<extreme::lowest>(acc.value, acc.index, from, n, first, fill);
  }
};

template <block_value T>
struct block_fold<max_loc<T>> {
  static constexpr bool exists = true;
  template <class Fill>
  static void take(value_index<T>& acc, const T* from, std::int64_t n, std::int64_t first, const Fill& fill) {
    take_extreme<extreme::highest>(acc.value, acc.index, from, n, first, fill);
  }
};

template <block_value T>
struct block_fold<min_max_loc<T>> {
  static constexpr bool exists = true;
  template <class Fill>
  static void take(min_max_index<T>& acc, const T* from, std::int64_t n, std::int64_t first, const Fill& fill) {
    take_extreme<extreme::lowest>(acc.min, acc.min_index, from, n, first, fill);
    take_extreme<extreme::highest>(acc.max, acc.max_index, from, n, first);
  }
};

}  // namespace fanin::detail
