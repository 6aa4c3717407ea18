// SPDX-License-Identifier: Apache-2.0
// Sums and products in lanes: a part of level.hpp.

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
