// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>

#include <fanin/exact_accumulator.hpp>
#include <fanin/macros.hpp>

/// What one thread of an exact sum gathers into: a few doubles in registers, each of which holds 40 bits of the sum
/// exactly. After Demmel, Ahrens and Nguyen (EECS-2016-121), who round what falls below; here it goes to the
/// accumulator.
namespace fanin::detail {

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__)
#error "fanin: exact sums need additions as they stand: compile this unit without -ffast-math and -fassociative-math"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 2
#error "fanin: exact sums need doubles that are computed as doubles: with g++ for 32-bit x86, add -msse2 -mfpmath=sse"
#endif

/// x as a value that the compiler knows nothing of: else it may fuse the product that gave x into the addition that
/// takes it, which is another number.
FANIN_FUNCTION inline double opaque(double x) {
#if !defined(__CUDA_ARCH__)
#if defined(__GNUC__) && defined(__SSE2__)
  __asm__("" : "+x"(x));
#elif defined(__GNUC__) && defined(__aarch64__)
  __asm__("" : "+w"(x));
#else
  volatile double copy = x;
  x = copy;
#endif
#endif
  return x;
}

/// Rounded once and never fused, whatever nvcc's -fmad says. On the host opaque() sees to that.
FANIN_FUNCTION inline double rounded_sum(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}
FANIN_FUNCTION inline double rounded_difference(double a, double b) { return rounded_sum(a, -b); }
FANIN_FUNCTION inline double rounded_product(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return opaque(a * b);
#endif
}

/// How exact sums split a number. A bin is a double near 1.5 * 2^(52 + e): its unit in the last place is 2^e, and so
/// what it takes of a number, by an addition and a subtraction, is a multiple of 2^e, and exact. The rest is below the
/// bin's unit and goes to the next bin, 40 bits lower. 1024 numbers below 2^(e + 40) move a bin by 2^50 units at most,
/// which leaves it between 2^52 and 2^53 units.
struct exact_bins {
  static constexpr int width = 40;
  static constexpr int capacity = 1024;
  /// Numbers from 2^960 on would need a bin near the largest double, and numbers below 2^-960 have bits that
  /// flush-to-zero could take away in a bin: neither gets into a window. All arithmetic there is on normal numbers.
  static constexpr int highest = 960;
  static constexpr int lowest = -960;

  /// The unit of bin k in a window of numbers below 2^top.
  FANIN_FUNCTION static constexpr int unit(int top, int k) { return top - width * (k + 1); }
  /// A bin that holds nothing.
  FANIN_FUNCTION static double anchor(int top, int k) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(unit(top, k) + 52 + 1023) << 52 | 1ULL << 51);
  }
  /// The window's top for numbers that begin with one of the biased exponent `field`: a little room for larger ones,
  /// and not so low that the last bin's unit were no normal number.
  FANIN_FUNCTION static constexpr int top_for(int field, int bins) {
    constexpr int room = 3;
    const int top = field - 1022 + room;
    const int least = width * bins - 1000;
    return top > highest ? highest : (top < least ? least : top);
  }

  FANIN_FUNCTION static constexpr std::uint32_t upper_half(std::uint64_t bits) {
    return static_cast<std::uint32_t>(bits >> 32);
  }
  /// The upper half of 2^exponent.
  FANIN_FUNCTION static constexpr std::uint32_t upper_half_of_power(int exponent) {
    return static_cast<std::uint32_t>(exponent + 1023) << 20;
  }
  static constexpr std::uint32_t no_sign = 0x7fff'ffff;
};

/// The window over an accumulator, which other threads of a CUDA block may share. Whatever the window cannot hold goes
/// there: numbers outside of its range and the rests below the last bin at once, the bins themselves every 1024 numbers
/// and when a larger number moves the window up.
template <class Accumulator, int Bins>
class exact_window {
 public:
  using bins = exact_bins;

  exact_window() = default;
  FANIN_FUNCTION explicit exact_window(Accumulator& into) : into_{&into}, bound_{bound_of_this_thread()} {}

  /// Adds a number exactly.
  template <exact_element T>
  FANIN_FUNCTION void add(T value) {
    const std::uint64_t bits = double_bits(value);
    if (is_inside(bits)) {
      add_inside(bits);
    } else {
      add_outside(bits);
    }
  }

  /// Adds x * y exactly. Products of normal size as the rounded product and its error, which a fused multiply-add gives
  /// exactly; others by integers.
  FANIN_FUNCTION void add_product(double value_x, double value_y) {
    const double x = opaque(value_x);
    const double y = opaque(value_y);
    const std::uint64_t x_bits = double_bits(x);
    const std::uint64_t y_bits = double_bits(y);
    constexpr int bias = 1023;
    const int exponents = static_cast<int>(x_bits >> 52 & 0x7ff) + static_cast<int>(y_bits >> 52 & 0x7ff) - 2 * bias;
    const bool is_normal = is_normal_number(x_bits) && is_normal_number(y_bits);
    if (!is_normal || exponents < lowest_product || exponents >= bins::highest - 1 || bound_ == 0) {
      if ((x_bits << 1 == 0 && is_finite(y_bits)) || (y_bits << 1 == 0 && is_finite(x_bits))) return;
      into_->add_product_shared(x_bits, y_bits);
      count_deposits(3);
      return;
    }
    const double product = rounded_product(x, y);
    const std::uint64_t bits = double_bits(product);
    if (!is_inside(bits)) move_to(bits);
    const double error = std::fma(x, y, -product);
    add_to_bins<0>(product);
    add_to_bins<1>(error);
    count_number();
  }

  template <exact_element T>
  FANIN_FUNCTION exact_window& operator+=(T value) {
    add(value);
    return *this;
  }
  template <exact_element T>
  FANIN_FUNCTION exact_window& operator-=(T value) {
    add(-value);
    return *this;
  }

  /// Empties the window into the accumulator.
  FANIN_FUNCTION void flush() {
    if (numbers_ == 0) return;
    for (int k = 0; k < Bins; ++k) {
      const double held = rounded_difference(bin_[k], bins::anchor(top_, k));
      bin_[k] = bins::anchor(top_, k);
      if (held != 0) into_->add_shared(double_bits(held));
    }
    numbers_ = 0;
    misses_ = 0;
    count_deposits(Bins);
  }

  FANIN_FUNCTION Accumulator& accumulator() const { return *into_; }
  /// To be told of numbers that were added to the accumulator beside the window.
  FANIN_FUNCTION void count_deposits(int deposits) {
    deposits_ += deposits;
    if (deposits_ < Accumulator::most_between_carries - 8) return;
    into_->carry_shared();
    deposits_ = 0;
  }

 private:
  /// The error of a product stands up to 106 bits below it, and must be a normal number.
  static constexpr int lowest_product = -900;

  /// The upper half of the number from which on none gets into the window. On a host whose thread does not round to
  /// nearest that is 0: there the rest below a bin need not be a number.
  FANIN_FUNCTION static std::uint32_t bound_of_this_thread() {
#if defined(__GNUC__) && defined(__SSE2__) && !defined(__CUDACC__)
    if ((__builtin_ia32_stmxcsr() & 0x6000) != 0) return 0;  // fegetround asks another unit
#elif !defined(__CUDA_ARCH__) && defined(FE_TONEAREST)
    if (std::fegetround() != FE_TONEAREST) return 0;
#endif
    return bins::upper_half_of_power(bins::highest);
  }

  FANIN_FUNCTION static constexpr bool is_finite(std::uint64_t bits) { return (bits >> 52 & 0x7ff) != 0x7ff; }
  FANIN_FUNCTION static constexpr bool is_normal_number(std::uint64_t bits) {
    return is_finite(bits) && (bits >> 52 & 0x7ff) != 0;
  }

  /// Whether the number is in the window's range. Zero and an infinity are not, and nothing is before the first number.
  FANIN_FUNCTION bool is_inside(std::uint64_t bits) const {
    return (bins::upper_half(bits) & bins::no_sign) - bins::upper_half_of_power(bins::lowest) < range_;
  }

  FANIN_FUNCTION void add_inside(std::uint64_t bits) {
    add_to_bins<0>(opaque(std::bit_cast<double>(bits)));
    count_number();
  }

  FANIN_FUNCTION void add_outside(std::uint64_t bits) {
    const std::uint32_t upper = bins::upper_half(bits) & bins::no_sign;
    if (bits << 1 == 0) return;
    if (upper < bins::upper_half_of_power(bins::lowest) || upper >= bound_) {
      into_->add_shared(bits);
      count_deposits(1);
    } else {
      move_to(bits);
      add_inside(bits);
    }
  }

  /// The number through the bins from First on; what is left to the accumulator.
  template <int First>
  FANIN_FUNCTION void add_to_bins(double x) {
    for (int k = First; k < Bins; ++k) {
      const double sum = rounded_sum(bin_[k], x);
      const double taken = rounded_difference(sum, bin_[k]);
      bin_[k] = sum;
      x = rounded_difference(x, taken);
    }
    if (x != 0) {
      into_->add_shared(double_bits(x));
      count_deposits(1);
      ++misses_;
    }
  }

  FANIN_FUNCTION void count_number() {
    if (++numbers_ < bins::capacity) return;
    // A window that one large number has lifted above all others would miss them for ever.
    if (misses_ > bins::capacity / 2) range_ = 0;
    flush();
  }

  FANIN_FUNCTION void move_to(std::uint64_t bits) {
    flush();
    top_ = bins::top_for(static_cast<int>(bits >> 52 & 0x7ff), Bins);
    range_ = bins::upper_half_of_power(top_) - bins::upper_half_of_power(bins::lowest);
    for (int k = 0; k < Bins; ++k) bin_[k] = bins::anchor(top_, k);
  }

  Accumulator* into_ = nullptr;
  double bin_[Bins] = {};
  std::uint32_t bound_ = 0;
  std::uint32_t range_ = 0;  ///< of the window, in upper halves above that of 2^lowest
  std::int32_t top_ = 0;
  std::int32_t numbers_ = 0;
  std::int32_t misses_ = 0;
  std::int32_t deposits_ = 0;
};

}  // namespace fanin::detail
