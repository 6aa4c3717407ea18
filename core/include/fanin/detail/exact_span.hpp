// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fanin/detail/exact_window.hpp>
#include <fanin/detail/variant.hpp>

/// Exact sums of contiguous elements on x86 hosts that have AVX2, which is asked for when the program runs.
namespace fanin::detail {

inline namespace FANIN_DETAIL_VARIANT {

// nvcc reads no vectors of GNU C.
#if defined(__GNUC__) && defined(__x86_64__) && !defined(__CUDACC__)
#define FANIN_DETAIL_HAS_EXACT_SPAN 1

/// While it lives, this thread rounds to nearest and keeps denormals: linking with -ffast-math turns on flush-to-zero.
class standard_arithmetic {
 public:
  standard_arithmetic() : before_{__builtin_ia32_stmxcsr()} { __builtin_ia32_ldmxcsr(0x1f80); }
  standard_arithmetic(const standard_arithmetic&) = delete;
  standard_arithmetic& operator=(const standard_arithmetic&) = delete;
  ~standard_arithmetic() { __builtin_ia32_ldmxcsr(before_); }

 private:
  unsigned before_;
};

/// exact_bins in vectors: every lane has bins of its own, all with one top. A block of elements is folded at once, and
/// is as if it had not been where an element was too large or left a rest.
template <class Accumulator, class T, int Bins>
class exact_vectors {
 public:
  static constexpr std::int64_t block = 256;
  static constexpr int bins = Bins;

  exact_vectors(Accumulator& into, int top) : into_{into} { move_to(top); }

  /// For elements below 2^top. To be flushed before.
  void move_to(int top) {
    top_ = top;
    limit_ = 2 * exact_bins::upper_half_of_power(top);
    for (int k = 0; k < Bins; ++k) std::fill_n(bin_[k], lanes, exact_bins::anchor(top, k));
  }

  /// How many blocks went in of `blocks`, which is at most room(): it stops before the first that does not fit.
  __attribute__((target("avx2"), noinline)) std::int64_t fold(const T* values, std::int64_t blocks) {
    vector bin[Bins][vectors];
    std::memcpy(&bin, &bin_, sizeof(bin));
    std::int64_t done = 0;
    for (; done < blocks; ++done) {
      const T* const from = values + done * block;
      if constexpr (leaves_no_rests) {
        if (!add_whole(bin[0], from)) {
          std::memcpy(&bin, &bin_, sizeof(bin));
          if (!add_split(bin, from)) break;
        }
      } else {
        if (!add_split(bin, from)) break;
      }
      std::memcpy(&bin_, &bin, sizeof(bin));
    }
    numbers_ += static_cast<int>(done) * of_block;
    return done;
  }

  int top() const { return top_; }
  /// The top for a block that begins as high as numbers of the biased exponent `field`; and whether one that was
  /// refused should be tried again with it. Without room for larger ones where low bits count.
  static int top_for(int field) { return exact_bins::top_for(field, Bins) - (leaves_no_rests ? exact_bins::room : 0); }
  bool stands_far_from(int top) const { return top > top_ || top < top_ - 4; }

  /// How many blocks fit before the next flush.
  std::int64_t room() const { return (exact_bins::capacity - numbers_) / of_block; }

  /// The bins, in integers of their unit, to the accumulator. How many numbers that were.
  int flush() {
    if (numbers_ == 0) return 0;
    for (int k = 0; k < Bins; ++k) {
      const double empty = exact_bins::anchor(top_, k);
      std::int64_t held = 0;
      for (double& lane : bin_[k]) {
        held += std::bit_cast<std::int64_t>(lane) - std::bit_cast<std::int64_t>(empty);
        lane = empty;
      }
      into_.add_shared(static_cast<std::uint64_t>(held < 0 ? -held : held), exact_bins::unit(top_, k), held < 0);
    }
    numbers_ = 0;
    return Bins;
  }

 private:
  static constexpr int vectors = sizeof(T) == 4 ? 4 : 2;  ///< of each bin: as many additions wait for each other's end
  static constexpr int lanes = 4 * vectors;
  static constexpr int of_block = static_cast<int>(block / lanes);  ///< numbers that a lane takes of one
  /// Whether most elements that fit the only bin's range have no bit below it.
  static constexpr bool leaves_no_rests = sizeof(T) == 4 && Bins == 1;

  typedef double vector __attribute__((vector_size(32)));
  typedef long long bits __attribute__((vector_size(32)));
  typedef unsigned halves __attribute__((vector_size(32)));

  typedef T loaded __attribute__((vector_size(4 * sizeof(T))));
  __attribute__((target("avx2"), always_inline)) static vector as_doubles(loaded x) {
#if !defined(__clang__)
    if constexpr (sizeof(T) == 4) return __builtin_ia32_cvtps2pd256(x);  // g++ 12 takes the other by way of memory
#endif
    return __builtin_convertvector(x, vector);
  }

  /// A block of elements through the bins. Whether it fitted; if not, the bins are lost.
  __attribute__((target("avx2"), always_inline)) bool add_split(vector (&bin)[Bins][vectors], const T* from) const {
    halves largest = {};
    bits rest = {};
    for (std::int64_t i = 0; i < block; i += lanes) {
      for (int v = 0; v < vectors; ++v) {
        loaded element;
        std::memcpy(&element, from + i + 4 * v, sizeof(element));
        vector x = as_doubles(element);
        const halves twice = reinterpret_cast<halves>(x) << 1;  // without the sign; the lower halves do not count
        largest = twice > largest ? twice : largest;
        vector taken = {};
        for (int k = 0; k < Bins; ++k) {
          if (k > 0) x -= taken;
          const vector sum = bin[k][v] + x;
          taken = sum - bin[k][v];
          bin[k][v] = sum;
        }
        rest |= reinterpret_cast<bits>(x) ^ reinterpret_cast<bits>(taken);
      }
    }
    rest <<= 1;  // -0 is taken as +0
    const halves bad = largest >= limit_;
    return (rest[0] | rest[1] | rest[2] | rest[3]) == 0 && (bad[1] | bad[3] | bad[5] | bad[7]) == 0;
  }

  /// The same of floats that are 0, or below the bin's top and 24 bits above its unit: those are added whole, and their
  /// bits tell.
  __attribute__((target("avx2"), always_inline)) bool add_whole(vector (&bin)[vectors], const T* from) const {
    constexpr unsigned no_sign = 0x7fffffff;
    halves largest = {};
    halves least_less_one = ~largest;  // of 0 nothing is smaller
    for (std::int64_t i = 0; i < block; i += lanes) {
      for (int k = 0; k < lanes; k += 8) {
        halves word;
        std::memcpy(&word, from + i + k, sizeof(word));
        word &= no_sign;
        largest = word > largest ? word : largest;
        word -= 1;
        least_less_one = word < least_less_one ? word : least_less_one;
      }
      for (int v = 0; v < vectors; ++v) {
        loaded element;
        std::memcpy(&element, from + i + 4 * v, sizeof(element));
        bin[v] += as_doubles(element);
      }
    }
    const unsigned least = std::max(bits_of_power(exact_bins::unit(top_, 0) + 23), 1U);
    const halves bad = (largest >= bits_of_power(top_)) | (least_less_one < least - 1);
    unsigned any = 0;
    for (int k = 0; k < 8; ++k) any |= bad[k];
    return any == 0;
  }
  /// Of a float; 0 below the normal ones, infinity's above the largest.
  static constexpr unsigned bits_of_power(int exponent) {
    return static_cast<unsigned>(std::clamp(exponent + 127, 0, 255)) << 23;
  }

  Accumulator& into_;
  alignas(32) double bin_[Bins][lanes] = {};
  std::uint32_t limit_ = 0;  ///< twice the upper half of 2^top
  int top_ = 0;
  int numbers_ = 0;  ///< of every lane since the last flush
};

/// 53 bits and 24 exponents, or 24 bits and 13.
template <class Accumulator, class T>
using narrow_vectors = exact_vectors<Accumulator, T, sizeof(T) == 8 ? 2 : 1>;
/// 64 exponents, or 53.
template <class Accumulator, class T>
using wide_vectors = exact_vectors<Accumulator, T, sizeof(T) == 8 ? 3 : 2>;

/// Blocks of an array by the fastest way that takes them: vectors with few bins, vectors with more, or one element
/// after the other straight to the accumulator. One that does not take a block hands over to the next for a while.
template <class Accumulator, class T>
class exact_blocks {
 public:
  static constexpr std::int64_t size = narrow_vectors<Accumulator, T>::block;

  /// Begins where another one or single numbers left the window.
  template <int Bins>
  explicit exact_blocks(const exact_window<Accumulator, Bins>& window)
      : narrow_(window.accumulator(), window.top()),
        wide_(window.accumulator(), window.top()),
        into_{window.accumulator()} {}

  template <int Bins>
  __attribute__((noinline)) void fold(exact_window<Accumulator, Bins>& window, const T* values, std::int64_t blocks) {
    const standard_arithmetic arithmetic;
    while (blocks > 0) {
      std::int64_t wanted = blocks;
      if (way_ > 0) wanted = std::min(wanted, left_);
      const std::int64_t done = way_ == 0   ? take(narrow_, values, wanted)
                                : way_ == 1 ? take(wide_, values, wanted)
                                            : take_singly(values, wanted);
      window.count_deposits(deposits_);
      deposits_ = 0;
      values += done * size;
      blocks -= done;
      left_ -= done;
      if (done < wanted) {
        ++way_;
        left_ = stay_;
        stay_ = std::min<std::int64_t>(2 * stay_, 64);
      } else if (way_ == 0) {
        stay_ = 1;
      } else if (left_ == 0) {
        --way_;
        left_ = stay_;
      }
    }
    deposits_ += narrow_.flush() + wide_.flush();
    window.count_deposits(deposits_);
    window.place_if_empty(narrow_.top());
  }

 private:
  /// As many as fit one filling of the bins. Less than `wanted` only where a block was refused.
  template <class Vectors>
  std::int64_t take(Vectors& vectors, const T* values, std::int64_t& wanted) {
    if (vectors.room() == 0) deposits_ += vectors.flush();
    wanted = std::min(wanted, vectors.room());
    std::int64_t done = vectors.fold(values, wanted);
    if (done < wanted) {
      const T* const refused = values + done * size;
      const int top = Vectors::top_for(largest_field(refused));
      if (vectors.stands_far_from(top)) {
        deposits_ += vectors.flush();
        vectors.move_to(top);
        if (vectors.fold(refused, 1) == 1) wanted = ++done;
      }
    }
    return done;
  }

  std::int64_t take_singly(const T* values, std::int64_t& wanted) {
    wanted = std::min<std::int64_t>(wanted, 16);
    for (std::int64_t i = 0; i < wanted * size; ++i) into_.add_shared(double_bits(values[i]));
    deposits_ += static_cast<int>(wanted * size);
    return wanted;
  }

  /// The largest biased exponent in a block that a window can have.
  static int largest_field(const T* values) {
    if constexpr (sizeof(T) == 4) {
      std::int32_t largest = 0;
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int32_t word = std::bit_cast<std::int32_t>(values[i]) & 0x7fff'ffff;
        largest = word > largest && word < 0x7f80'0000 ? word : largest;
      }
      return static_cast<int>(widened_bits(static_cast<std::uint32_t>(largest)) >> 52);
    } else {
      int largest = 0;
      for (std::int64_t i = 0; i < size; ++i) {
        const int field = static_cast<int>(double_bits(values[i]) >> 52 & 0x7ff);
        largest = field > largest && field < exact_bins::highest + 1023 ? field : largest;
      }
      return largest;
    }
  }

  narrow_vectors<Accumulator, T> narrow_;
  wide_vectors<Accumulator, T> wide_;
  Accumulator& into_;
  int way_ = 0;
  std::int64_t left_ = 0;  ///< how many blocks more this way goes
  std::int64_t stay_ = 1;
  int deposits_ = 0;
};

inline bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
inline bool has_fma() {
  static const bool has = has_avx2() && __builtin_cpu_supports("fma") != 0;
  return has;
}

/// The rounded products of pairs and their errors, in standard arithmetic. Whether they are exact: no product is too
/// large or small for that, but 0 of a factor 0.
template <class Factors>
__attribute__((target("avx2,fma"), noinline)) bool split_products(const Factors* pairs, std::int64_t count,
                                                                  double* products, double* errors) {
  constexpr double lowest = 0x1p-900;  // of normal errors, which stand up to 106 bits below
  constexpr double highest = 0x1p959;
  unsigned odd = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = pairs[i].x;
    const double y = pairs[i].y;
    const double product = x * y;
    const double magnitude = product < 0 ? -product : product;
    const bool is_normal =
        static_cast<bool>(static_cast<unsigned>(magnitude >= lowest) & static_cast<unsigned>(magnitude < highest));
    const bool is_zero = static_cast<bool>(static_cast<unsigned>(product == 0) &
                                           (static_cast<unsigned>(x == 0) | static_cast<unsigned>(y == 0)));
    odd |= static_cast<unsigned>(!is_normal) & static_cast<unsigned>(!is_zero);
    products[i] = product;
    errors[i] = __builtin_fma(x, y, -product);
  }
  return odd == 0;
}
#endif

/// Adds `count` elements to the window, on a host.
template <class Accumulator, class T, int Bins>
void fold_exact_span(exact_window<Accumulator, Bins>& window, const T* values, std::int64_t count) {
  std::int64_t done = 0;
#if defined(FANIN_DETAIL_HAS_EXACT_SPAN)
  using in_blocks = exact_blocks<Accumulator, T>;
  if (count >= in_blocks::size && has_avx2()) {
    in_blocks(window).fold(window, values, count / in_blocks::size);
    done = count / in_blocks::size * in_blocks::size;
  }
#endif
  for (; done < count; ++done) window.add(values[done]);
}

/// Adds x * y of `count` pairs of doubles to the window, on a host.
template <class Accumulator, class Factors, int Bins>
void fold_exact_products(exact_window<Accumulator, Bins>& window, const Factors* pairs, std::int64_t count) {
  std::int64_t done = 0;
#if defined(FANIN_DETAIL_HAS_EXACT_SPAN)
  using in_blocks = exact_blocks<Accumulator, double>;
  constexpr std::int64_t most = 4 * in_blocks::size;
  if (count >= in_blocks::size && has_fma()) {
    const standard_arithmetic arithmetic;
    in_blocks of_products(window);
    in_blocks of_errors(window);
    double products[most];
    double errors[most];
    for (std::int64_t n = 0; (n = std::min(count - done, most) / in_blocks::size * in_blocks::size) > 0; done += n) {
      if (split_products(pairs + done, n, products, errors)) {
        of_products.fold(window, products, n / in_blocks::size);
        of_errors.fold(window, errors, n / in_blocks::size);
      } else {
        for (std::int64_t i = 0; i < n; ++i) window.add_product(pairs[done + i].x, pairs[done + i].y);
      }
    }
  }
#endif
  for (; done < count; ++done) window.add_product(pairs[done].x, pairs[done].y);
}

/// The same of floats, whose products are doubles.
template <class Accumulator, class Factors, int Bins>
void fold_float_products(exact_window<Accumulator, Bins>& window, const Factors* pairs, std::int64_t count) {
  constexpr std::int64_t most = 1024;
  double products[most];
  for (std::int64_t done = 0; done < count; done += most) {
    const std::int64_t n = std::min(count - done, most);
    for (std::int64_t i = 0; i < n; ++i) {
      products[i] = rounded_product(widened(pairs[done + i].x), widened(pairs[done + i].y));
    }
    fold_exact_span(window, products, n);
  }
}

}  // namespace FANIN_DETAIL_VARIANT

}  // namespace fanin::detail
