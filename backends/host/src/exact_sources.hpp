// SPDX-License-Identifier: Apache-2.0
// What exact sums are made of: a part of level.hpp.

typedef float half_of_floats __attribute__((vector_size(FANIN_HOST_VECTOR_BYTES / 2)));

/// Half a vector of floats, and the halves of one. (g++ 12 takes __builtin_convertvector and __builtin_bit_cast by way
/// of memory, and warns of intrinsics that leave something undefined.)
#if FANIN_HOST_VECTOR_BYTES == 64
inline exact_vector widened(half_of_floats x) { return _mm512_maskz_cvtps_pd(0xff, x); }
inline exact_vector lower_half(vector<float> x) { return widened(_mm512_maskz_extractf32x8_ps(0xff, x, 0)); }
inline exact_vector upper_half(vector<float> x) { return widened(_mm512_maskz_extractf32x8_ps(0xff, x, 1)); }
#elif FANIN_HOST_VECTOR_BYTES == 32
inline exact_vector widened(half_of_floats x) { return _mm256_cvtps_pd(x); }
inline exact_vector lower_half(vector<float> x) { return widened(_mm256_castps256_ps128(x)); }
inline exact_vector upper_half(vector<float> x) { return widened(_mm256_extractf128_ps(x, 1)); }
#else
inline exact_vector widened(half_of_floats x) { return __builtin_convertvector(x, exact_vector); }
inline exact_vector lower_half(vector<float> x) { return exact_vector{x[0], x[1]}; }
inline exact_vector upper_half(vector<float> x) { return exact_vector{x[2], x[3]}; }
#endif
inline exact_vector load_widened(const float* from) {
  half_of_floats x;
  __builtin_memcpy(&x, from, sizeof(x));
  return widened(x);
}

/// x * y - product, in one rounding, which is none: a product of doubles is the rounded one and its error.
#if FANIN_HOST_VECTOR_BYTES == 64
inline exact_vector error_of(exact_vector x, exact_vector y, exact_vector product) {
  return _mm512_fmsub_pd(x, y, product);
}
#elif FANIN_HOST_VECTOR_BYTES == 32
inline exact_vector error_of(exact_vector x, exact_vector y, exact_vector product) {
  return _mm256_fmsub_pd(x, y, product);
}
#else
inline exact_vector error_of(exact_vector x, exact_vector y, exact_vector product) {
  for (int k = 0; k < width<double>; ++k) product[k] = __builtin_fma(x[k], y[k], -product[k]);
  return product;
}
#endif
#if FANIN_HOST_VECTOR_BYTES > 16 || defined(__FP_FAST_FMA)
inline constexpr bool has_fused_multiply_add = true;
#else
inline constexpr bool has_fused_multiply_add = false;
#endif

/// What will be read some groups later. The processor by itself looks ahead too little while so much is done with each.
template <class T>
void prefetch_group(const T* x) {
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) __builtin_prefetch(reinterpret_cast<const char*>(x) + 4096 + 64 * k);
}

template <class Word>
void store(Word* to, exact_bits x) {
  __builtin_memcpy(to, &x, sizeof(x));
}
/// Infinities and NaN.
inline exact_bits is_special(exact_bits x) {
  return reinterpret_cast<exact_bits>((x & 0x7ff0'0000'0000'0000) == 0x7ff0'0000'0000'0000);
}
inline exact_bits is_zero(exact_vector x) { return reinterpret_cast<exact_bits>(x == 0); }

/// Elements of an array. `digits` is the number of bits from the first of a number to the lowest that it can have.
template <class T>
struct exact_elements;

template <>
struct exact_elements<double> {
  static constexpr bool has_bins = true;
  using element = double;
  using number_type = double;
  using table = exact_table<double>;
  static constexpr int digits = 53;
  static constexpr int bin_width = 44;
  static constexpr int least_bins = 2;
  static constexpr int most_bins = 4;
  static constexpr int vectors = 2;     ///< of each bin: as many additions wait for each other's end
  static constexpr int lowest = -1000;  ///< unit of a bin: a rest that is no normal number would be slow
  static constexpr int least = -948;    ///< exponent of a number that bins can take
  static constexpr int highest = 960;

  const double* x;

  void skip(std::int64_t n) { x += n; }
  void prefetch() const { prefetch_group(x); }
  double number(std::int64_t i) const { return x[i]; }
  template <class Digits>
  void add_one(Digits& to, std::int64_t i) const {
    add_number(to, x[i]);
  }
  /// Adds so many elements as are looked at together to the table, or to the digits.
  template <class Digits>
  void add_group_to_table(std::uint64_t* sums, Digits&) const {
#pragma GCC unroll 4
    for (int i = 0; i < group_of<double>; ++i) table::add(sums, x[i]);
  }

  /// Which of a vector's numbers are not in the range, and not 0.
  exact_bits left_out(std::int64_t i, const number_range<double>& range) const {
    const exact_vector of = load(x + i);
    return range.outside(of) & reinterpret_cast<exact_bits>(of != 0);
  }
  /// Adds a round of elements that are in the range, and notes the bits of others.
  template <int Bins>
  inline __attribute__((always_inline)) void add(exact_vector (&bin)[Bins][vectors], std::int64_t i,
                                                 const number_range<double>& range, exact_bits& left_out) const {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      take_into_bins<0>(bin, v, range.inside(load_once(x + i + v * width<double>), left_out));
    }
  }
};

template <>
struct exact_elements<float> {
  static constexpr bool has_bins = true;
  using element = float;
  using number_type = float;
  using table = exact_table<float>;
  static constexpr int digits = 24;
  static constexpr int bin_width = 46;
  static constexpr int least_bins = 1;
  static constexpr int most_bins = 3;
  static constexpr int vectors = 4;
  static constexpr int lowest = -149;
  static constexpr int least = -149;
  static constexpr int highest = 128;

  const float* x;

  void skip(std::int64_t n) { x += n; }
  void prefetch() const { prefetch_group(x); }
  float number(std::int64_t i) const { return x[i]; }
  template <class Digits>
  void add_one(Digits& to, std::int64_t i) const {
    add_number(to, static_cast<double>(x[i]));
  }
  template <class Digits>
  void add_group_to_table(std::uint64_t* sums, Digits&) const {
    constexpr int group = group_of<float>;
    std::uint64_t number[group];
    std::uint64_t at[group];
    for (int i = 0; i < group; i += width<float>) {
      const auto pairs = reinterpret_cast<exact_bits>(load(x + i));
      const table::parts even = table::split(pairs & 0xffff'ffff);
      const table::parts odd = table::split(pairs >> 32);
      store(number + i, even.number);
      store(number + i + width<double>, odd.number);
      store(at + i, even.at);
      store(at + i + width<double>, odd.at);
    }
    for (int i = 0; i < group; i += 4) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) sums[512 * k + at[i + k]] += number[i + k];
    }
  }

  exact_bits left_out(std::int64_t i, const number_range<float>& range) const {
    const vector<float> of = load(x + i);
    return range.outside(of) & reinterpret_cast<exact_bits>(of != 0);
  }
  template <int Bins>
  inline __attribute__((always_inline)) void add(exact_vector (&bin)[Bins][vectors], std::int64_t i,
                                                 const number_range<float>& range, exact_bits& left_out) const {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v += 2) {
      const vector<float> inside = range.inside(load_once(x + i + v * width<double>), left_out);
      take_into_bins<0>(bin, v, lower_half(inside));
      take_into_bins<0>(bin, v + 1, upper_half(inside));
    }
  }
};

/// Products of two arrays' elements. Those of floats are doubles, and exact.
template <class T>
struct exact_products;

template <>
struct exact_products<float> {
  static constexpr bool has_bins = true;
  using element = float;
  using number_type = double;
  using table = exact_table<double>;
  static constexpr int digits = 48;
  static constexpr int bin_width = 44;
  static constexpr int least_bins = 2;
  static constexpr int most_bins = 4;
  static constexpr int vectors = 2;
  static constexpr int lowest = -298;
  static constexpr int least = -298;
  static constexpr int highest = 257;

  const float* x;
  const float* y;

  void skip(std::int64_t n) { x += n, y += n; }
  void prefetch() const { prefetch_group(x), prefetch_group(y); }
  double number(std::int64_t i) const { return static_cast<double>(x[i]) * static_cast<double>(y[i]); }
  template <class Digits>
  void add_one(Digits& to, std::int64_t i) const {
    add_number(to, number(i));
  }
  template <class Digits>
  void add_group_to_table(std::uint64_t* sums, Digits&) const {
#pragma GCC unroll 4
    for (int i = 0; i < group_of<float>; ++i) table::add(sums, number(i));
  }

  exact_bits left_out(std::int64_t i, const number_range<double>& range) const {
    const exact_vector of = load_widened(x + i) * load_widened(y + i);
    return range.outside(of) & reinterpret_cast<exact_bits>(of != 0);
  }
  template <int Bins>
  inline __attribute__((always_inline)) void add(exact_vector (&bin)[Bins][vectors], std::int64_t i,
                                                 const number_range<double>& range, exact_bits& left_out) const {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t at = i + v * width<double>;
      take_into_bins<0>(bin, v, range.inside(load_widened(x + at) * load_widened(y + at), left_out));
    }
  }
};

/// Those of doubles are added as rounded, and their errors, of which the lowest bit is up to 105 places below the
/// product's first: both are exact while no exponent is near an end.
template <>
struct exact_products<double> {
  static constexpr bool has_bins = has_fused_multiply_add;
  using element = double;
  using number_type = double;
  using table = exact_product_table;
  static constexpr int digits = 106;
  static constexpr int bin_width = 44;
  static constexpr int least_bins = 3;
  static constexpr int most_bins = 6;
  static constexpr int vectors = 2;
  static constexpr int lowest = -1000;
  static constexpr int least = -895;
  static constexpr int highest = 960;

  const double* x;
  const double* y;

  void skip(std::int64_t n) { x += n, y += n; }
  void prefetch() const { prefetch_group(x), prefetch_group(y); }
  double number(std::int64_t i) const { return x[i] * y[i]; }
  template <class Digits>
  void add_one(Digits& to, std::int64_t i) const {
    add_product(to, x[i], y[i]);
  }
  template <class Digits>
  void add_group_to_table(std::uint64_t* sums, Digits& otherwise) const {
    constexpr int group = group_of<double>;
    std::int64_t first[group];
    std::int64_t second[group];
    std::uint64_t at[group];
    exact_bits special = {};
    for (int i = 0; i < group; i += width<double>) {
      const auto a = reinterpret_cast<exact_bits>(load(x + i));
      const auto b = reinterpret_cast<exact_bits>(load(y + i));
      special |= is_special(a) | is_special(b);
      const table::factors of = table::split(a, b);
      store(first + i, of.x);
      store(second + i, of.y);
      store(at + i, of.at);
    }
    if (has_number<double>(special)) [[unlikely]] {
      for (int i = 0; i < group; ++i) add_one(otherwise, i);
    } else {
#pragma GCC unroll 4
      for (int i = 0; i < group; ++i) table::add(sums, at[i], first[i], second[i]);
    }
  }

  exact_bits left_out(std::int64_t i, const number_range<double>& range) const {
    return left_out(load(x + i), load(y + i), range);
  }
  /// A product may have vanished, and infinity times zero is not zero.
  static exact_bits left_out(exact_vector a, exact_vector b, const number_range<double>& range) {
    return range.outside(a * b) & ~(is_zero(a * b) & (is_zero(a) | is_zero(b)));
  }
  template <int Bins>
  inline __attribute__((always_inline)) void add(exact_vector (&bin)[Bins][vectors], std::int64_t i,
                                                 const number_range<double>& range, exact_bits& noted) const {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const exact_vector a = load_once(x + i + v * width<double>);
      const exact_vector b = load_once(y + i + v * width<double>);
      const exact_vector product = a * b;
      const exact_bits outside = range.outside(product);
      noted |= left_out(a, b, range);
      const auto inside = [&](exact_vector of) {
        return reinterpret_cast<exact_vector>(reinterpret_cast<exact_bits>(of) & ~outside);
      };
      take_into_bins<0>(bin, v, inside(product));
      take_into_bins<1>(bin, v, inside(error_of(a, b, product)));
    }
  }
};
