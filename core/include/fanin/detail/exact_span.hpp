// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <fanin/detail/exact_bins.hpp>
#include <fanin/detail/exact_parts.hpp>
#include <fanin/detail/exact_vectors.hpp>
#include <fanin/detail/exact_window.hpp>
#include <fanin/detail/variant.hpp>

/// Exact sums of contiguous elements on x86 hosts that have AVX2, which is asked for when the program runs.
namespace fanin::detail {

inline namespace FANIN_DETAIL_VARIANT {

#if defined(FANIN_DETAIL_HAS_EXACT_VECTORS)
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
#if defined(FANIN_DETAIL_HAS_EXACT_VECTORS)
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
#if defined(FANIN_DETAIL_HAS_EXACT_VECTORS)
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
