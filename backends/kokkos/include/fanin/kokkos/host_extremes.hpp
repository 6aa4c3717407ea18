// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fanin/reducers.hpp>

/// The extreme of consecutive elements, and where it stands, as fast as a host reads them. The rules of NaN, -0 and
/// ties hold g++ back from vectorising the reducers' own fold; here they cost two instructions a vector.
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
};

// nvcc reads no vectors of GNU C.
#if defined(__GNUC__) && !defined(__CUDACC__)
template <class T>
concept fits_host_vectors =
    std::same_as<T, float> || std::same_as<T, double> || (std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 4);

/// Four vectors of 16 bytes, which every x86-64 and AArch64 has. (Not of 64-bit integers: SSE2 does not compare them.)
template <extreme Which, fits_host_vectors T>
struct extreme_lanes<Which, T> {
  typedef T vector __attribute__((vector_size(16)));
  typedef bits_of<T> word_vector __attribute__((vector_size(16)));
  static constexpr std::int64_t vectors = 4;
  static constexpr std::int64_t vector_width = 16 / sizeof(T);
  static constexpr std::int64_t width = vectors * vector_width;

  vector lanes[vectors];

  extreme_lanes() { std::fill_n(lanes, vectors, turned(vector{} + extreme_identity<Which, T>())); }
  void take(const T* from) {
    for (std::int64_t k = 0; k < vectors; ++k) {
      vector x;
      std::memcpy(&x, from + k * vector_width, sizeof(x));
      lanes[k] = merged(lanes[k], turned(x));
    }
  }
  T value() const {
    const vector all = turned(merged(merged(lanes[0], lanes[1]), merged(lanes[2], lanes[3])));
    T value = all[0];
    for (std::int64_t k = 1; k < vector_width; ++k) value = more_extreme<Which, T>(value, all[k]);
    return value;
  }

 private:
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

/// The extreme of n elements, n == 0: the identity.
template <extreme Which, class T>
T extreme_of(const T* from, std::int64_t n) {
  using lanes_type = extreme_lanes<Which, T>;
  lanes_type lanes;
  std::int64_t i = 0;
  for (; i + lanes_type::width <= n; i += lanes_type::width) lanes.take(from + i);
  T value = lanes.value();
  for (; i < n; ++i) value = more_extreme<Which>(value, from[i]);
  return value;
}

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
  while (!is(from[i])) ++i;
  return i;
}

/// Where the extreme of n elements stands first: -0 and +0 differ, one NaN is as good as another.
template <class T>
std::int64_t first_place(const T* from, std::int64_t n, T value) {
  if constexpr (std::floating_point<T>) {
    if (value != value) return first_that(from, n, [](T x) { return x != x; });
    return first_that(from, n, [=](T x) { return std::bit_cast<bits_of<T>>(x) == std::bit_cast<bits_of<T>>(value); });
  } else {
    return first_that(from, n, [=](T x) { return x == value; });
  }
}

/// Takes n elements, of which the first has the index `first`, into a value and its index. Elements that came before
/// have smaller indices.
template <extreme Which, class T>
void take_extreme(T& value, std::int64_t& index, const T* from, std::int64_t n, std::int64_t first) {
  if (n == 0) return;
  const T found = extreme_of<Which>(from, n);
  const bool prefers = Which == extreme::lowest ? is_lower(found, value) : is_higher(found, value);
  if (!prefers && index != no_index) return;
  value = found;
  index = first + first_place(from, n, found);
}

/// The reducers that blocks of elements are folded for by the above, with take(acc, elements, n, first index).
template <class Reducer>
struct block_fold {
  static constexpr bool exists = false;
};

template <class T>
concept block_value = std::integral<T> || std::same_as<T, float> || std::same_as<T, double>;

template <block_value T>
struct block_fold<min<T>> {
  static constexpr bool exists = true;
  static void take(T& acc, const T* from, std::int64_t n, std::int64_t) {
    acc = minimum(acc, extreme_of<extreme::lowest>(from, n));
  }
};

template <block_value T>
struct block_fold<max<T>> {
  static constexpr bool exists = true;
  static void take(T& acc, const T* from, std::int64_t n, std::int64_t) {
    acc = maximum(acc, extreme_of<extreme::highest>(from, n));
  }
};

template <block_value T>
struct block_fold<min_max<T>> {
  static constexpr bool exists = true;
  static void take(min_max_value<T>& acc, const T* from, std::int64_t n, std::int64_t) {
    acc.min = minimum(acc.min, extreme_of<extreme::lowest>(from, n));
    acc.max = maximum(acc.max, extreme_of<extreme::highest>(from, n));
  }
};

template <block_value T>
struct block_fold<min_loc<T>> {
  static constexpr bool exists = true;
  static void take(value_index<T>& acc, const T* from, std::int64_t n, std::int64_t first) {
    take_extreme<extreme::lowest>(acc.value, acc.index, from, n, first);
  }
};

template <block_value T>
struct block_fold<max_loc<T>> {
  static constexpr bool exists = true;
  static void take(value_index<T>& acc, const T* from, std::int64_t n, std::int64_t first) {
    take_extreme<extreme::highest>(acc.value, acc.index, from, n, first);
  }
};

template <block_value T>
struct block_fold<min_max_loc<T>> {
  static constexpr bool exists = true;
  static void take(min_max_index<T>& acc, const T* from, std::int64_t n, std::int64_t first) {
    take_extreme<extreme::lowest>(acc.min, acc.min_index, from, n, first);
    take_extreme<extreme::highest>(acc.max, acc.max_index, from, n, first);
  }
};

}  // namespace fanin::detail
