// SPDX-License-Identifier: Apache-2.0
// Extremes and where they stand: a part of level.hpp.

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

/// Of floats one instruction, which gives `best` where the two do not compare or are zeros of both signs.
template <class Which, class Vector>
Vector picked(Vector x, Vector best) {
  if constexpr (Which::turns) {
    return x > best ? x : best;
  } else {
    return x < best ? x : best;
  }
}

/// Of elements, two vectors at a time: whether all are numbers, and whether the sign of one, or of all, is set.
template <class T>
struct evidence {
  void see(vector<T>, vector<T>) {}
  void join(const evidence&) {}
  bool all_are_numbers() const { return true; }
};
#if FANIN_HOST_VECTOR_BYTES == 64
inline __mmask16 ordered(__mmask16 all, __m512 a, __m512 b) { return _mm512_mask_cmp_ps_mask(all, a, b, _CMP_ORD_Q); }
inline __mmask8 ordered(__mmask8 all, __m512d a, __m512d b) { return _mm512_mask_cmp_pd_mask(all, a, b, _CMP_ORD_Q); }
template <std::floating_point T>
struct evidence<T> {
  using mask = std::conditional_t<sizeof(T) == 4, __mmask16, __mmask8>;
  static constexpr mask full = static_cast<mask>(~mask{0});
  mask numbers = full;
  vector<bits_of<T>> any = {};
  vector<bits_of<T>> all = ~vector<bits_of<T>>{};

  void see(vector<T> a, vector<T> b) {
    numbers = ordered(numbers, a, b);
    any |= (vector<bits_of<T>>)a | (vector<bits_of<T>>)b;
    all &= (vector<bits_of<T>>)a & (vector<bits_of<T>>)b;
  }
  void join(const evidence& from) {
    numbers &= from.numbers;
    any |= from.any;
    all &= from.all;
  }
  bool all_are_numbers() const { return numbers == full; }
};
#else
/// Where one of two is a NaN all bits are set.
template <class T>
vector<bits_of<T>> unordered(vector<T> a, vector<T> b) {
#if FANIN_HOST_VECTOR_BYTES == 32
  if constexpr (sizeof(T) == 4) {
    return (vector<bits_of<T>>)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q);
  } else {
    return (vector<bits_of<T>>)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_UNORD_Q);
  }
#elif defined(__SSE2__)
  if constexpr (sizeof(T) == 4) {
    return (vector<bits_of<T>>)_mm_cmpunord_ps((__m128)a, (__m128)b);
  } else {
    return (vector<bits_of<T>>)_mm_cmpunord_pd((__m128d)a, (__m128d)b);
  }
#else
  return (vector<bits_of<T>>)(a != a) | (vector<bits_of<T>>)(b != b);
#endif
}
template <std::floating_point T>
struct evidence<T> {
  vector<bits_of<T>> no_numbers = {};
  vector<bits_of<T>> any = {};
  vector<bits_of<T>> all = ~vector<bits_of<T>>{};

  void see(vector<T> a, vector<T> b) {
    no_numbers |= unordered<T>(a, b);
    any |= (vector<bits_of<T>>)a | (vector<bits_of<T>>)b;
    all &= (vector<bits_of<T>>)a & (vector<bits_of<T>>)b;
  }
  void join(const evidence& from) {
    no_numbers |= from.no_numbers;
    any |= from.any;
    all &= from.all;
  }
  bool all_are_numbers() const {
    bits_of<T> found = 0;
    for (int k = 0; k < width<T>; ++k) found |= no_numbers[k];
    return found == 0;
  }
};
#endif

/// The extreme of a vector's elements, which are numbers.
template <class Which, class T, int Bytes>
T extreme_of_vector(sized_vector_t<T, Bytes> x) {
  if constexpr (Bytes > 16) {
    const auto halves = std::bit_cast<two<sized_vector_t<T, Bytes / 2>>>(x);
    return extreme_of_vector<Which, T, Bytes / 2>(picked<Which>(halves.first, halves.second));
  } else {
    T value = x[0];
    for (int k = 1; k < Bytes / static_cast<int>(sizeof(T)); ++k) value = more_extreme<Which, T>(value, x[k]);
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

/// An extreme of n numbers, of which zeros of both signs may have been taken for one another. Where zero is the lowest,
/// a sign that is set is that of a -0; where it is the highest, one that is not set is that of a +0.
template <class Which, class T>
T with_its_sign(T value, const evidence<T>& seen, const T* from, std::int64_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    if ((bits(value) & bits_by_size<T>::infinity) != 0) return value;
    // Where comparisons hold denormals for zeros, those may be mixed up, too.
    if (flushes_denormals<T>()) return extreme_by_bits<Which>(from, n);
    if ((bits(value) & ~sign_of<T>) == 0) {
      bits_of<T> sign = Which::turns ? ~bits_of<T>{0} : 0;
      for (int k = 0; k < width<T>; ++k) sign = Which::turns ? sign & seen.all[k] : sign | seen.any[k];
      return std::bit_cast<T>(sign & sign_of<T>);
    }
  }
  return value;
}

/// Keeps the extremes of vectors, one for each Which. Several vectors in turn, so that none waits for the one before.
template <class T, class... Which>
struct extremes_of_vectors {
  static constexpr int turns = 4;
  static constexpr std::int64_t step = turns * width<T>;

  two<vector<T>> best[turns];  ///< or one, the first
  evidence<T> even;            ///< of every other pair
  evidence<T> odd;

  template <class Take>
  static void for_each(const Take& take) {
    int k = 0;
    (take(k++, Which{}), ...);
  }
  vector<T>& of(int turn, int which) { return which == 0 ? best[turn].first : best[turn].second; }

  void begin(const T* from) {
#pragma GCC unroll 8
    for (int k = 0; k < turns; ++k) {
      const vector<T> x = load(from + k * width<T>);
      best[k] = {x, x};
      (k % 2 == 0 ? even : odd).see(x, x);
    }
  }
  void take(const T* from) {
#pragma GCC unroll 4
    for (int k = 0; k < turns; k += 2) {
      const vector<T> x = load_once(from + k * width<T>);
      const vector<T> y = load_once(from + (k + 1) * width<T>);
      (k / 2 % 2 == 0 ? even : odd).see(x, y);
      for_each([&](int which, auto by) {
        of(k, which) = picked<decltype(by)>(x, of(k, which));
        of(k + 1, which) = picked<decltype(by)>(y, of(k + 1, which));
      });
    }
  }
  void take_one(const T* from) {
    const vector<T> x = load(from);
    even.see(x, x);
    for_each([&](int which, auto by) { of(0, which) = picked<decltype(by)>(x, of(0, which)); });
  }
  void join() {
    even.join(odd);
#pragma GCC unroll 8
    for (int k = 1; k < turns; ++k) {
      for_each([&](int which, auto by) { of(0, which) = picked<decltype(by)>(of(k, which), of(0, which)); });
    }
  }
};

/// The extremes of n >= 1 elements, one for each Which, of up to two.
template <class T, class... Which>
void find_extremes(T* found, const T* from, std::int64_t n) {
  using vectors = extremes_of_vectors<T, Which...>;
  constexpr std::int64_t one = width<T>;
  // SSE2 does not compare integers of 64 bits.
  if constexpr (std::is_floating_point_v<T> || sizeof(T) < 8 || FANIN_HOST_VECTOR_BYTES > 16) {
    if (n >= one) {
      vectors best;
      std::int64_t i = one;
      if (n >= vectors::step) {
        best.begin(from);
        for (i = vectors::step; i + vectors::step <= n; i += vectors::step) best.take(from + i);
        best.join();
      } else {
        const vector<T> x = load(from);
        best.best[0] = {x, x};
        best.even.see(x, x);
      }
      for (; i + one <= n; i += one) best.take_one(from + i);
      best.take_one(from + n - one);  // the rest, with some elements once more
      const bool are_numbers = best.even.all_are_numbers();
      vectors::for_each([&](int which, auto by) {
        using order = decltype(by);
        found[which] = extreme_of_vector<order, T, FANIN_HOST_VECTOR_BYTES>(best.of(0, which));
        if (!are_numbers) {
          found[which] = std::numeric_limits<T>::quiet_NaN();
        } else {
          found[which] = with_its_sign<order>(found[which], best.even, from, n);
        }
      });
      return;
    }
  }
  vectors::for_each([&](int which, auto by) {
    T value = from[0];
    for (std::int64_t i = 1; i < n; ++i) value = more_extreme<decltype(by)>(value, from[i]);
    found[which] = value;
  });
}

template <class T>
T lowest(const T* from, std::int64_t n) {
  T found;
  find_extremes<T, lower>(&found, from, n);
  return found;
}
template <class T>
T highest(const T* from, std::int64_t n) {
  T found;
  find_extremes<T, higher>(&found, from, n);
  return found;
}
template <class T>
lowest_and_highest<T> both_extremes(const T* from, std::int64_t n) {
  T found[2];
  find_extremes<T, lower, higher>(found, from, n);
  return {found[0], found[1]};
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
