// SPDX-License-Identifier: Apache-2.0
// No #pragma once: one level's unit includes this under its instruction set, with FANIN_HOST_TABLE and
// FANIN_HOST_VECTOR_BYTES. Functions of other headers would keep the unit's own instruction set, so that what the
// linker keeps of them serves every processor; everything here is the level's own.

namespace fanin::detail::host {
namespace {

template <class T, int Bytes>
struct sized_vector {
  typedef T type __attribute__((vector_size(Bytes)));
};
template <class T, int Bytes>
using sized_vector_t = typename sized_vector<T, Bytes>::type;
template <class T>
using vector = sized_vector_t<T, FANIN_HOST_VECTOR_BYTES>;

template <class Vector>
struct two {
  Vector first;
  Vector second;
};
template <class T>
constexpr int width = FANIN_HOST_VECTOR_BYTES / sizeof(T);

template <class T>
vector<T> load(const T* from) {
  vector<T> x;
  __builtin_memcpy(&x, from, sizeof(x));
  return x;
}

// --- Sums and products --------------------------------------------------------------------------------------------

/// Unsigned integers smaller than int are promoted, which cannot overflow: 65535 * 65535 does not fit a signed int.
template <class T>
using wide = std::conditional_t<(std::is_integral_v<T> && sizeof(T) < sizeof(unsigned)), unsigned, T>;

struct plus {
  template <class T>
  static constexpr T identity = 0;
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(static_cast<wide<T>>(a) + static_cast<wide<T>>(b));
  }
  template <class Vector>
  static void take(Vector& into, Vector x) {
    into += x;
  }
};

struct times {
  template <class T>
  static constexpr T identity = 1;
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(static_cast<wide<T>>(a) * static_cast<wide<T>>(b));
  }
  template <class Vector>
  static void take(Vector& into, Vector x) {
    into *= x;
  }
};

/// What lanes take: elements, or products of two arrays' elements.
template <class T>
struct elements {
  const T* x;
  T at(std::int64_t i) const { return x[i]; }
  vector<T> vector_at(std::int64_t i) const { return load(x + i); }
  void skip(std::int64_t n) { x += n; }
};
template <class T>
struct products {
  const T* x;
  const T* y;
  T at(std::int64_t i) const { return times::of(x[i], y[i]); }
  vector<T> vector_at(std::int64_t i) const { return load(x + i) * load(y + i); }
  void skip(std::int64_t n) { x += n, y += n; }
};

/// Lanes take n elements, one each.
template <class Op, class T, class From>
void take_once(T* __restrict lane, From from, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) lane[k] = Op::of(lane[k], from.at(k));
}

template <class Op, class T, class From>
void take_from(lanes<T>& into, From from, std::int64_t n) {
  constexpr std::int64_t count = lane_count<T>;
  constexpr int vectors = lane_count<T> / width<T>;
  constexpr T identity = Op::template identity<T>;
  const std::int64_t before = into.taken;
  into.taken += n;
  if (before % count != 0 || n < count) {
    // Up to the last lane.
    const std::int64_t at = before % count;
    const std::int64_t size = n < count - at ? n : count - at;
    if (before < count) {
      for (std::int64_t k = 0; k < size; ++k) into.lane[at + k] = Op::of(identity, from.at(k));
    } else {
      take_once<Op>(into.lane + at, from, size);
    }
    from.skip(size);
    n -= size;
    if (n == 0) return;
  }
  if (n >= count) {
    vector<T> sum[vectors];
#pragma GCC unroll 16
    for (int k = 0; k < vectors; ++k) {
      sum[k] = before == 0 ? vector<T>{} + identity : load(into.lane + k * width<T>);
    }
    for (; n >= count; n -= count) {
#pragma GCC unroll 16
      for (int k = 0; k < vectors; ++k) Op::take(sum[k], from.vector_at(k * width<T>));
      from.skip(count);
    }
#pragma GCC unroll 16
    for (int k = 0; k < vectors; ++k) __builtin_memcpy(into.lane + k * width<T>, &sum[k], sizeof(sum[k]));
  }
  take_once<Op>(into.lane, from, n);
}

template <class Op, class T>
void take(lanes<T>& into, const T* from, std::int64_t n) {
  take_from<Op>(into, elements<T>{from}, n);
}
template <class T>
void take_products(lanes<T>& into, const T* x, const T* y, std::int64_t n) {
  take_from<plus>(into, products<T>{x, y}, n);
}

/// The lanes of a vector: halves, and their halves, until one is left.
template <class Op, class T, int Bytes>
T total_of_vector(sized_vector_t<T, Bytes> x) {
  if constexpr (Bytes > 16) {
    auto halves = std::bit_cast<two<sized_vector_t<T, Bytes / 2>>>(x);
    Op::take(halves.first, halves.second);
    return total_of_vector<Op, T, Bytes / 2>(halves.first);
  } else {
    constexpr int count = Bytes / static_cast<int>(sizeof(T));
    T lane[count];
    __builtin_memcpy(lane, &x, sizeof(x));
#pragma GCC unroll 4
    for (int half = count / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
      for (int k = 0; k < half; ++k) lane[k] = Op::of(lane[k], lane[k + half]);
    }
    return lane[0];
  }
}

template <class Op, class T>
T total(lanes<T>& of) {
  T* const lane = of.lane;
  if (of.taken >= lane_count<T>) {
    constexpr int vectors = lane_count<T> / width<T>;
    vector<T> sum[vectors];
#pragma GCC unroll 16
    for (int k = 0; k < vectors; ++k) sum[k] = load(lane + k * width<T>);
#pragma GCC unroll 4
    for (int half = vectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
      for (int k = 0; k < half; ++k) Op::take(sum[k], sum[k + half]);
    }
    return total_of_vector<Op, T, FANIN_HOST_VECTOR_BYTES>(sum[0]);
  }
  if (of.taken == 0) return Op::template identity<T>;
  int filled = static_cast<int>(of.taken);
  int half = 1;
  while (2 * half < filled) half *= 2;
  for (; filled > 1; half /= 2) {
    for (int k = 0; k + half < filled; ++k) lane[k] = Op::of(lane[k], lane[k + half]);
    filled = half;
  }
  return lane[0];
}

// --- Extremes -----------------------------------------------------------------------------------------------------

template <class T>
struct bits_by_size;
template <>
struct bits_by_size<float> {
  using type = std::uint32_t;
  static constexpr type infinity = 0x7f80'0000;
};
template <>
struct bits_by_size<double> {
  using type = std::uint64_t;
  static constexpr type infinity = 0x7ff0'0000'0000'0000;
};
template <class T>
using bits_of = typename bits_by_size<T>::type;
template <class T>
constexpr bits_of<T> sign_of = bits_of<T>{1} << (8 * sizeof(T) - 1);

template <class T>
bits_of<T> bits(T x) {
  return std::bit_cast<bits_of<T>>(x);
}
template <class T>
bool is_nan_by_bits(T x) {
  return (bits(x) & ~sign_of<T>) > bits_by_size<T>::infinity;
}

struct lower {
  static constexpr bool turns = false;
};
struct higher {
  static constexpr bool turns = true;
};

/// Before everything a NaN, then the more extreme: integers that rise, -0 below +0.
template <class Which, class T>
bits_of<T> rank(T x) {
  if (is_nan_by_bits(x)) return 0;
  const bits_of<T> ascending = (bits(x) & sign_of<T>) != 0 ? ~bits(x) : bits(x) | sign_of<T>;
  return Which::turns ? ~ascending : ascending;
}
template <class Which, class T>
T of_rank(bits_of<T> ranked) {
  const bits_of<T> ascending = Which::turns ? ~ranked : ranked;
  return std::bit_cast<T>((ascending & sign_of<T>) != 0 ? ascending ^ sign_of<T> : ~ascending);
}

template <class Which, class T>
T more_extreme(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return rank<Which>(b) < rank<Which>(a) ? b : a;
  } else {
    return (Which::turns ? a < b : b < a) ? b : a;
  }
}

/// Floats change sign for a maximum, so that it is a minimum.
template <class Which, class T, int Bytes = FANIN_HOST_VECTOR_BYTES>
sized_vector_t<T, Bytes> turned(sized_vector_t<T, Bytes> x) {
  if constexpr (std::is_floating_point_v<T> && Which::turns) {
    return (sized_vector_t<T, Bytes>)((sized_vector_t<bits_of<T>, Bytes>)x ^ sign_of<T>);
  } else {
    return x;
  }
}

/// Of floats each choice is one instruction, and gives its second operand when the two do not compare. So the two
/// choices differ for NaN and zeros only, where the union of their bits is a NaN, or -0 if one of them is.
template <class Which, class T, int Bytes = FANIN_HOST_VECTOR_BYTES>
sized_vector_t<T, Bytes> merged(sized_vector_t<T, Bytes> a, sized_vector_t<T, Bytes> b) {
  if constexpr (std::is_floating_point_v<T>) {
    using words = sized_vector_t<bits_of<T>, Bytes>;
    const sized_vector_t<T, Bytes> one = a < b ? a : b;
    const sized_vector_t<T, Bytes> other = b < a ? b : a;
    return (sized_vector_t<T, Bytes>)((words)one | (words)other);
  } else {
    return (Which::turns ? a < b : b < a) ? b : a;
  }
}

/// The extreme of a vector of turned elements.
template <class Which, class T, int Bytes>
T extreme_of_vector(sized_vector_t<T, Bytes> x) {
  if constexpr (Bytes > 16) {
    const auto halves = std::bit_cast<two<sized_vector_t<T, Bytes / 2>>>(x);
    return extreme_of_vector<Which, T, Bytes / 2>(merged<Which, T, Bytes / 2>(halves.first, halves.second));
  } else {
    const sized_vector_t<T, Bytes> all = turned<Which, T, Bytes>(x);
    T value = all[0];
    for (int k = 1; k < Bytes / static_cast<int>(sizeof(T)); ++k) value = more_extreme<Which, T>(value, all[k]);
    return value;
  }
}

/// The extreme by bits, where a comparison of floats is not to be trusted.
template <class Which, class T>
T extreme_by_bits(const T* from, std::int64_t n) {
  bits_of<T> least = rank<Which>(from[0]);
  for (std::int64_t i = 1; i < n; ++i) {
    const bits_of<T> next = rank<Which>(from[i]);
    least = next < least ? next : least;
  }
  return of_rank<Which, T>(least);
}

/// Whether this thread takes denormals for zeros, as it does in a program that was linked with -ffast-math.
template <class T>
bool flushes_denormals() {
  const volatile T least = std::bit_cast<T>(bits_of<T>{1});
  return !(least > 0);
}

template <class Which, class T>
T extreme(const T* from, std::int64_t n) {
  constexpr int vectors = 8;
  T value = from[0];
  std::int64_t i = 0;
  // SSE2 does not compare integers of 64 bits.
  if constexpr (std::is_floating_point_v<T> || sizeof(T) < 8 || FANIN_HOST_VECTOR_BYTES > 16) {
    constexpr std::int64_t one = width<T>;
    constexpr std::int64_t step = vectors * one;
    if (n >= one) {
      vector<T> best[vectors];
      best[0] = turned<Which, T>(load(from));
      if (n >= step) {
#pragma GCC unroll 8
        for (int k = 1; k < vectors; ++k) best[k] = turned<Which, T>(load(from + k * one));
        for (i = step; i + step <= n; i += step) {
#pragma GCC unroll 8
          for (int k = 0; k < vectors; ++k) {
            best[k] = merged<Which, T>(best[k], turned<Which, T>(load(from + i + k * one)));
          }
        }
#pragma GCC unroll 4
        for (int half = vectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
          for (int k = 0; k < half; ++k) best[k] = merged<Which, T>(best[k], best[k + half]);
        }
      }
      for (; i + one <= n; i += one) best[0] = merged<Which, T>(best[0], turned<Which, T>(load(from + i)));
      // The rest, with some elements once more.
      best[0] = merged<Which, T>(best[0], turned<Which, T>(load(from + n - one)));
      i = n;
      value = extreme_of_vector<Which, T, FANIN_HOST_VECTOR_BYTES>(best[0]);
    }
  }
  for (; i < n; ++i) value = more_extreme<Which>(value, from[i]);
  if constexpr (std::is_floating_point_v<T>) {
    // Where comparisons hold denormals for zeros, those and zeros may be mixed up.
    if ((bits(value) & bits_by_size<T>::infinity) == 0 && flushes_denormals<T>()) {
      value = extreme_by_bits<Which>(from, n);
    }
  }
  return value;
}

template <class T>
T lowest(const T* from, std::int64_t n) {
  return extreme<lower>(from, n);
}
template <class T>
T highest(const T* from, std::int64_t n) {
  return extreme<higher>(from, n);
}

template <class T>
bool is_same(T x, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return bits(x) == bits(value) || (is_nan_by_bits(x) && is_nan_by_bits(value));
  } else {
    return x == value;
  }
}

template <class T>
std::int64_t place(const T* from, std::int64_t n, T value) {
  std::int64_t i = 0;
  // Vector by vector up to the one where it stands. A NaN is rare and found by itself.
  bool is_nan = false;
  if constexpr (std::is_floating_point_v<T>) is_nan = is_nan_by_bits(value);
  if (!is_nan) {
    constexpr int step = 64;
    for (; i + step <= n; i += step) {
      unsigned found = 0;
      for (int k = 0; k < step; ++k) {
        if constexpr (std::is_floating_point_v<T>) {
          found |= bits(from[i + k]) == bits(value);
        } else {
          found |= from[i + k] == value;
        }
      }
      if (found != 0) break;
    }
  }
  while (i + 1 < n && !is_same(from[i], value)) ++i;
  return i;
}

template <class T>
constexpr loops<T> make_loops() {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    return {nullptr, nullptr, nullptr, nullptr, lowest<T>, highest<T>, place<T>, nullptr};
  } else {
    return {take<plus, T>, take<times, T>, total<plus, T>, total<times, T>,
            lowest<T>,     highest<T>,     place<T>,       take_products<T>};
  }
}

template <class... T>
constexpr std::tuple<loops<T>...> make_all(const std::tuple<loops<T>...>*) {
  return {make_loops<T>()...};
}

}  // namespace

const all_loops& FANIN_HOST_TABLE() noexcept {
  static const all_loops all = make_all(static_cast<const all_loops*>(nullptr));
  return all;
}

}  // namespace fanin::detail::host
