// SPDX-License-Identifier: Apache-2.0
// Exact sums of numbers of moderate range, in vectors: a part of level.hpp. A bin is a double near 1.5 * 2^(52 + e):
// its unit in the last place is 2^e, and so what it takes of a number, by an addition and a subtraction, is a multiple
// of 2^e, and exact. The rest goes to the next bin, so many bits lower; the last bin takes all that is left. Which
// numbers are too large, or have bits below the last bin, their exponents tell: they are left out, and taken one by
// one.

/// So many numbers below 2^(e + width) move a bin by less than 2^51 units, which leaves it between 2^52 and 2^53.
constexpr int bin_room(int width) { return (1 << (51 - width)) - 1; }

using exact_vector = vector<double>;
using exact_bits = vector<std::uint64_t>;

/// Elements that are looked at together for what has been left out.
template <class T>
inline constexpr int group_of = 256 / static_cast<int>(sizeof(T));

/// Which numbers are in 2^low .. 2^top, by one comparison of their bits: of doubles' upper halves, where there is none
/// of 64 bits.
template <class T>
struct number_range {
  static constexpr bool is_float = sizeof(T) == 4;
  static constexpr bool by_halves = is_float || FANIN_HOST_VECTOR_BYTES == 16;
  using word = std::conditional_t<by_halves, std::uint32_t, std::uint64_t>;
  using signed_word = std::make_signed_t<word>;
  using sized = std::conditional_t<is_float, std::uint32_t, std::uint64_t>;
  static constexpr word no_sign = static_cast<word>(-1) >> 1;
  static constexpr int digits = is_float ? 24 : 53;
  static constexpr int bias = is_float ? 127 : 1023;
  static constexpr int shift = by_halves ? (is_float ? 23 : 20) : 52;

  word up;
  signed_word limit;

  number_range(int low, int top) {
    const auto word_of = [](int exponent) {
      return static_cast<word>(exponent + bias <= 1 ? 0 : exponent + bias) << shift;
    };
    const word lowest = word{1} << (8 * sizeof(word) - 1);
    up = lowest - word_of(low);
    limit = static_cast<signed_word>(lowest + (word_of(top) - word_of(low)) - 1);
  }
  using words = vector<word>;

  bool has(T x) const {
    word bits;
    if constexpr (is_float || !by_halves) {
      bits = __builtin_bit_cast(word, x);
    } else {
      bits = static_cast<word>(__builtin_bit_cast(std::uint64_t, x) >> 32);
    }
    return static_cast<signed_word>((bits & no_sign) + up) <= limit;
  }

  /// The numbers that are in the range, and 0 for others, whose bits are noted.
  vector<T> inside(vector<T> x, exact_bits& left_out) const {
    const auto bits = reinterpret_cast<exact_bits>(x);
    const exact_bits kept = keep_inside(bits);
    left_out |= bits ^ kept;
    return reinterpret_cast<vector<T>>(kept);
  }
  /// All bits set in those that are not.
  exact_bits outside(vector<T> x) const {
    words bits = reinterpret_cast<words>(x);
    if constexpr (by_halves && !is_float) bits = upper_halves(bits);
    typedef signed_word signed_words __attribute__((vector_size(FANIN_HOST_VECTOR_BYTES)));
    const auto lifted = reinterpret_cast<signed_words>((bits & no_sign) + up);
    return reinterpret_cast<exact_bits>(lifted > limit);
  }

 private:
#if FANIN_HOST_VECTOR_BYTES == 64  // a mask for each number, which g++ otherwise makes a vector of
  exact_bits keep_inside(exact_bits x) const {
    const auto lifted = reinterpret_cast<__m512i>((reinterpret_cast<words>(x) & no_sign) + up);
    const auto bits = reinterpret_cast<__m512i>(x);
    if constexpr (is_float) {
      const __mmask16 is_inside = _mm512_cmple_epi32_mask(lifted, _mm512_set1_epi32(limit));
      return reinterpret_cast<exact_bits>(_mm512_maskz_mov_epi32(is_inside, bits));
    } else {
      const __mmask8 is_inside = _mm512_cmple_epi64_mask(lifted, _mm512_set1_epi64(limit));
      return reinterpret_cast<exact_bits>(_mm512_maskz_mov_epi64(is_inside, bits));
    }
  }
#else
  exact_bits keep_inside(exact_bits x) const { return x & ~outside(reinterpret_cast<vector<T>>(x)); }
#endif

  static words upper_halves(words x) {
    if constexpr (sizeof(words) == 16) {
#if defined(__clang__)
      return __builtin_shufflevector(x, x, 1, 1, 3, 3);
#else
      return __builtin_shuffle(x, words{1, 1, 3, 3});
#endif
    } else {
      return x;
    }
  }
};

/// Numbers through the bins from First on, of which the last takes the whole rest.
template <int First, int Bins, int Vectors>
inline __attribute__((always_inline)) void take_into_bins(exact_vector (&bin)[Bins][Vectors], int v, exact_vector x) {
#pragma GCC unroll 4
  for (int k = First; k + 1 < Bins; ++k) {
    const exact_vector sum = bin[k][v] + x;
    x -= sum - bin[k][v];
    bin[k][v] = sum;
  }
  bin[Bins - 1][v] += x;
}

/// Whether any of these bits is set, but for signs.
template <class T>
bool has_number(exact_bits x) {
  typedef std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t> word;
  constexpr auto no_sign = static_cast<word>(-1) >> 1;
  const auto rest = reinterpret_cast<exact_bits>(reinterpret_cast<vector<word>>(x) & no_sign);
#if FANIN_HOST_VECTOR_BYTES == 64
  return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(rest), reinterpret_cast<__m512i>(rest)) != 0;
#elif FANIN_HOST_VECTOR_BYTES == 32
  return _mm256_testz_si256(reinterpret_cast<__m256i>(rest), reinterpret_cast<__m256i>(rest)) == 0;
#else
  std::uint64_t any = 0;
  for (int k = 0; k < width<double>; ++k) any |= rest[k];
  return any != 0;
#endif
}

/// A bit for each number of T of which all bits are set.
template <class T>
unsigned bits_of_mask(exact_bits x) {
#if FANIN_HOST_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4) return _mm512_movepi32_mask(reinterpret_cast<__m512i>(x));
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(x));
#elif FANIN_HOST_VECTOR_BYTES == 32
  if constexpr (sizeof(T) == 4) return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(x)));
  return static_cast<unsigned>(_mm256_movemask_pd(reinterpret_cast<__m256d>(x)));
#elif defined(__x86_64__)
  if constexpr (sizeof(T) == 4) return static_cast<unsigned>(_mm_movemask_ps(reinterpret_cast<__m128>(x)));
  return static_cast<unsigned>(_mm_movemask_pd(reinterpret_cast<__m128d>(x)));
#else
  unsigned bits = 0;
  const auto each = reinterpret_cast<vector<typename number_range<T>::sized>>(x);
  for (int k = 0; k < width<T>; ++k) bits |= static_cast<unsigned>(each[k] & 1) << k;
  return bits;
#endif
}
