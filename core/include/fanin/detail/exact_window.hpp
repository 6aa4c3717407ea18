// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fanin/detail/unrolled.hpp>
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
  static constexpr int room = 3;  ///< for larger numbers than those that a window is made for, in bits
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
  /// The window's top for numbers that begin with one of the biased exponent `field`: with room for larger ones, and
  /// not so low that the last bin's unit were no normal number.
  FANIN_FUNCTION static constexpr int top_for(int field, int bins) {
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

/// A float as the double of the same value, denormals too, whatever flags the unit is compiled with.
FANIN_FUNCTION inline double widened(double x) { return x; }
FANIN_FUNCTION inline double widened(float x) {
#if defined(__CUDA_ARCH__)
  double wide;
  asm("cvt.f64.f32 %0, %1;" : "=d"(wide) : "f"(x));
  return wide;
#else
  return std::bit_cast<double>(double_bits(x));
#endif
}

/// What a window held: bin k in integers of its unit. Those of a warp's windows can mostly be brought to one unit and
/// added.
template <int Bins>
struct exact_window_sum {
  std::int64_t held[Bins] = {};
  std::int32_t top = 0;

  /// The top, if there is anything under it.
  FANIN_FUNCTION std::int32_t scale() const { return is_empty() ? std::numeric_limits<std::int32_t>::max() : top; }

  /// To the units of a window whose top is not higher. False, and as it was, where they are too fine for integers of
  /// which 32 can be added.
  FANIN_FUNCTION bool rescale(std::int32_t to) {
    if (!is_empty()) {
      constexpr int most_bits = 57;
      const int up = top - to;
      bool fits = up < most_bits;
      const std::int64_t bound = std::int64_t{1} << (fits ? most_bits - up : 0);
      unrolled<Bins>([&](int k) { fits = fits & (held[k] < bound) & (held[k] > -bound); });
      if (!fits) return false;
      unrolled<Bins>([&](int k) { held[k] = static_cast<std::int64_t>(static_cast<std::uint64_t>(held[k]) << up); });
    }
    top = to;
    return true;
  }

  /// Of one scale.
  FANIN_FUNCTION void join(const exact_window_sum& from) {
    unrolled<Bins>([&](int k) { held[k] += from.held[k]; });
  }

 private:
  FANIN_FUNCTION bool is_empty() const {
    std::int64_t any = 0;
    unrolled<Bins>([&](int k) { any |= held[k]; });
    return any == 0;
  }
};

/// The window over an accumulator, which other threads of a CUDA block may share. Whatever the window cannot hold goes
/// there: numbers outside of its range and the rests below the last bin at once, the bins when a larger number moves
/// the window up. Every 1024 numbers the bins are emptied into integers beside them.
template <class Accumulator, int Bins>
class exact_window {
 public:
  using bins = exact_bins;
  using sum_type = exact_window_sum<Bins>;

  exact_window() = default;
  /// Empty, for numbers that begin as low as a window goes.
  FANIN_FUNCTION explicit exact_window(Accumulator& into) : into_{&into}, bound_{bound_of_this_thread()} { place(0); }

  /// Adds a number exactly.
  template <exact_element T>
  FANIN_FUNCTION void add(T value) {
    const std::uint64_t bits = double_bits(widened(value));
    if (is_inside(bits)) {
      add_inside(bits);
    } else if (bits << 1 != 0) {
      *this = with_outside(*this, bits);
    }
  }

  /// Adds x * y exactly. Products of normal size as the rounded product and its error, which a fused multiply-add gives
  /// exactly; others by integers.
  FANIN_FUNCTION void add_product(double value_x, double value_y) {
    const double x = opaque(value_x);
    const double y = opaque(value_y);
    if (!has_normal_product(x, y) || bound() == 0) {
      *this = with_odd_product(*this, double_bits(x), double_bits(y));
      return;
    }
    const double product = rounded_product(x, y);
    const std::uint64_t bits = double_bits(product);
    if (!is_inside(bits)) *this = moved(*this, upper_of(bits));
    const double error = std::fma(x, y, -product);
    add_to_bins<0>(product);
    add_to_bins<1>(error);
    count_numbers(1);
  }

  /// Adds rows of Columns numbers each, of which only the first `rows` of Rows count. For threads of a GPU: one look at
  /// the range of all of them, and only as many bins as one of them needs.
  template <int Rows, int Columns, exact_element T>
  FANIN_FUNCTION void add_tile(const T* values, int rows) {
    constexpr int count = Rows * Columns;
    constexpr int part = count < most_at_once ? count : most_at_once;
    unrolled<(count + part - 1) / part>([&](int p) {
      some_numbers<part> x;
      unrolled<part>([&](int i) {
        const int at = p * part + i;
        x.of[i] = at < count && at / Columns < rows ? widened(values[at]) : 0.0;
      });
      make_room(x);
      fold_tile<0, true>(x);
      count_numbers(part);
    });
  }

  /// The same of products of two numbers each.
  template <int Rows, int Columns, class Factors>
  FANIN_FUNCTION void add_product_tile(const Factors* values, int rows) {
    constexpr int count = Rows * Columns;
    constexpr int part = count < most_at_once / 2 ? count : most_at_once / 2;
    unrolled<(count + part - 1) / part>([&](int p) {
      some_numbers<part> product;
      some_numbers<part> error;
      bool are_normal = bound() != 0;
      unrolled<part>([&](int i) {
        const int at = p * part + i;
        const double x = values[at < count ? at : 0].x;
        const double y = values[at < count ? at : 0].y;
        const bool counts = at < count && at / Columns < rows;
        are_normal = are_normal & has_normal_product(x, y);
        product.of[i] = counts ? rounded_product(x, y) : 0.0;
        error.of[i] = counts ? std::fma(x, y, -product.of[i]) : 0.0;
      });
      if (are_normal) {
        if (const std::uint32_t largest = product.largest_upper_half(); largest >= limit_) {
          *this = moved(*this, largest);
        }
        fold_tile<0>(product);
        fold_tile<1>(error);
        count_numbers(part);
      } else {
        unrolled<part>([&](int i) {
          const int at = p * part + i;
          if (at < count && at / Columns < rows) *this = with_product(*this, values[at].x, values[at].y);
        });
      }
    });
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

  /// What is in the window and not in the accumulator; it is empty then.
  FANIN_FUNCTION sum_type drain() {
    empty_bins();
    sum_type sum;
    sum.top = top_;
    for (int k = 0; k < Bins; ++k) {
      sum.held[k] = held_[k];
      held_[k] = 0;
    }
    settled_ = 0;
    return sum;
  }
  FANIN_FUNCTION static void deposit(const sum_type& sum, Accumulator& into) {
    for (int k = 0; k < Bins; ++k) {
      const std::int64_t held = sum.held[k];
      if (held == 0) continue;
      const auto magnitude = static_cast<std::uint64_t>(held < 0 ? -held : held);
      deposit_integer(into, magnitude, bins::unit(sum.top, k), held < 0);
    }
  }
  /// Empties the window into the accumulator.
  FANIN_FUNCTION void flush() {
    deposit(drain(), *into_);
    count_deposits(Bins);
  }

  FANIN_FUNCTION Accumulator& accumulator() const { return *into_; }
  FANIN_FUNCTION int top() const { return top_; }
  /// Where numbers are expected.
  FANIN_FUNCTION void place_if_empty(int top) {
    if (is_empty()) place_top(top);
  }
  /// To be told of numbers that were added to the accumulator beside the window.
  FANIN_FUNCTION void count_deposits(int deposits) {
    deposits_ += deposits;
    if (deposits_ < Accumulator::most_between_carries - most_at_once) return;
    hand_carries_on(*into_);
    deposits_ = 0;
  }

 private:
  /// Where a window missed half of all numbers, tiles go past it for a while; the next then finds its own range.
  static constexpr int some_misses = 32;
  static constexpr int direct_tiles = 1024;
  /// Numbers that are looked at together: more would need more registers than a GPU's thread has.
  static constexpr int most_at_once = 8;
  /// The error of a product stands up to 106 bits below it, and must be a normal number.
  static constexpr int lowest_product = -900;
  /// The integers take so many fillings of the bins, each below 2^50.
  static constexpr int most_settled = 1 << 12;

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

  FANIN_FUNCTION std::uint32_t bound() const {
#if defined(__CUDA_ARCH__)
    return bins::upper_half_of_power(bins::highest);
#else
    return bound_;
#endif
  }

  FANIN_FUNCTION static constexpr std::uint32_t upper_of(std::uint64_t bits) {
    return bins::upper_half(bits) & bins::no_sign;
  }
  FANIN_FUNCTION static constexpr bool is_finite(std::uint64_t bits) { return (bits >> 52 & 0x7ff) != 0x7ff; }
  FANIN_FUNCTION static constexpr bool is_normal_number(std::uint64_t bits) {
    return is_finite(bits) && (bits >> 52 & 0x7ff) != 0;
  }
  FANIN_FUNCTION static bool has_normal_product(double x, double y) {
    const std::uint64_t x_bits = double_bits(x);
    const std::uint64_t y_bits = double_bits(y);
    constexpr int bias = 1023;
    const int exponents = static_cast<int>(x_bits >> 52 & 0x7ff) + static_cast<int>(y_bits >> 52 & 0x7ff) - 2 * bias;
    return is_normal_number(x_bits) && is_normal_number(y_bits) && exponents >= lowest_product &&
           exponents < bins::highest - 1;
  }

  /// The upper half of a bound below which no window looks; a window with this limit takes nothing.
  static constexpr std::uint32_t nothing = bins::upper_half_of_power(bins::lowest);

  /// Whether the number is in the window's range. Zero and an infinity are not.
  FANIN_FUNCTION bool is_inside(std::uint64_t bits) const { return upper_of(bits) - nothing < limit_ - nothing; }

  FANIN_FUNCTION void add_inside(std::uint64_t bits) {
    add_to_bins<0>(opaque(std::bit_cast<double>(bits)));
    count_numbers(1);
  }

  /// The number through the bins from First on; what is left to the accumulator.
  template <int First>
  FANIN_FUNCTION void add_to_bins(double x) {
    unrolled<Bins - First>([&](int i) { take_into_bin(First + i, x); });
    if (x != 0) leave(x);
  }
  FANIN_FUNCTION void take_into_bin(int k, double& x) {
    const double sum = rounded_sum(bin_[k], x);
    const double taken = rounded_difference(sum, bin_[k]);
    bin_[k] = sum;
    x = rounded_difference(x, taken);
  }

  template <int Count>
  struct some_numbers {
    double of[Count];

    FANIN_FUNCTION std::uint32_t largest_upper_half() const {
      std::uint32_t largest = 0;
      unrolled<Count>([&](int i) {
        const std::uint32_t upper = upper_of(double_bits(of[i]));
        largest = upper > largest ? upper : largest;
      });
      return largest;
    }
  };
  template <int Count>
  struct window_and_numbers {
    exact_window window;
    some_numbers<Count> numbers;
  };

  /// Sees to it that the window takes all these numbers; 0 for those that go to the accumulator instead.
  template <int Count>
  FANIN_FUNCTION void make_room(some_numbers<Count>& x) {
    const std::uint32_t largest = x.largest_upper_half();
    if (largest < limit_ && bound() != 0) return;
    if (is_empty() && direct_ == 0 && largest < bound()) {
      place(largest);
      return;
    }
    const window_and_numbers<Count> now = moved_for(*this, x);
    *this = now.window;
    x = now.numbers;
  }

  /// Numbers below the window's top through the bins from First on, while there is anything left of one.
  template <int First, bool MayGoDirect = false, int Count>
  FANIN_FUNCTION void fold_tile(some_numbers<Count>& x) {
    if constexpr (First < Bins) {
      std::uint64_t rests = 0;
      unrolled<Count>([&](int i) {
        take_into_bin(First, x.of[i]);
        rests |= double_bits(x.of[i]);
      });
      if (rests != 0) fold_tile<First + 1, MayGoDirect>(x);
    } else {
      const int misses = left(*into_, x);
      misses_ += misses;
      count_deposits(misses);
      if (MayGoDirect && misses_ >= some_misses && misses_ >= numbers_ / 2) {
        direct_ = direct_tiles;
        limit_ = nothing;
        misses_ = 0;
      }
    }
  }

  FANIN_FUNCTION void leave(double rest) {
    deposit_number(*into_, double_bits(rest));
    count_deposits(1);
    ++misses_;
  }

  /// Before one more tile of numbers could overflow a bin, the bins are emptied.
  FANIN_FUNCTION void count_numbers(int numbers) {
    numbers_ += numbers;
    if (numbers_ > bins::capacity - numbers) *this = settled(*this);
  }
  FANIN_FUNCTION void settle() {
    // A window that one large number has lifted above all others would miss them for ever. The next number moves it.
    if (misses_ > bins::capacity / 2) limit_ = nothing;
    empty_bins();
    if (++settled_ == most_settled) flush();
  }
  FANIN_FUNCTION void empty_bins() {
    unrolled<Bins>([&](int k) {
      const double empty = bins::anchor(top_, k);
      held_[k] += std::bit_cast<std::int64_t>(bin_[k]) - std::bit_cast<std::int64_t>(empty);
      bin_[k] = empty;
    });
    numbers_ = 0;
    misses_ = 0;
  }

  FANIN_FUNCTION bool is_empty() const { return numbers_ == 0 && settled_ == 0; }
  /// An empty window for numbers that begin like the one of this upper half.
  FANIN_FUNCTION void place(std::uint32_t upper) { place_top(bins::top_for(static_cast<int>(upper >> 20), Bins)); }
  FANIN_FUNCTION void place_top(int top) {
    constexpr int least = bins::top_for(0, Bins);
    top_ = top < least ? least : top;
    limit_ = bound() == 0 ? nothing : bins::upper_half_of_power(top_);
    unrolled<Bins>([&](int k) { bin_[k] = bins::anchor(top_, k); });
  }

  // What happens rarely. By value, so that a window whose address nobody takes stays in registers.
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window settled(exact_window window) {
    window.settle();
    return window;
  }
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window moved(exact_window window, std::uint32_t upper) {
    window.flush();
    window.place(upper);
    return window;
  }
  template <int Count>
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static window_and_numbers<Count> moved_for(exact_window window,
                                                                                  some_numbers<Count> x) {
    const bool is_direct = window.direct_ > 0;
    if (is_direct) --window.direct_;
    for (int i = 0; i < Count; ++i) {
      if (!is_direct && upper_of(double_bits(x.of[i])) < window.bound()) continue;
      deposit_number(*window.into_, double_bits(x.of[i]));
      window.count_deposits(1);
      x.of[i] = 0;
    }
    if (const std::uint32_t largest = x.largest_upper_half(); largest >= window.limit_) {
      window.flush();
      window.place(largest);
    }
    return {window, x};
  }
  /// What no bin took to the accumulator, and how much that was.
  template <int Count>
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static int left(Accumulator& into, const some_numbers<Count> rests) {
    int deposits = 0;
    for (int i = 0; i < Count; ++i) {
      if (rests.of[i] == 0) continue;
      deposit_number(into, double_bits(rests.of[i]));
      ++deposits;
    }
    return deposits;
  }
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window with_outside(exact_window window, std::uint64_t bits) {
    const std::uint32_t upper = upper_of(bits);
    if (upper < bins::upper_half_of_power(bins::lowest) || upper >= window.bound()) {
      deposit_number(*window.into_, bits);
      window.count_deposits(1);
    } else {
      window.flush();
      window.place(upper);
      window.add_inside(bits);
    }
    return window;
  }
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window with_product(exact_window window, double x, double y) {
    window.add_product(x, y);
    return window;
  }
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window with_odd_product(exact_window window, std::uint64_t x,
                                                                            std::uint64_t y) {
    if ((x << 1 == 0 && is_finite(y)) || (y << 1 == 0 && is_finite(x))) return window;
    window.into_->add_product_shared(x, y);
    window.count_deposits(3);
    return window;
  }
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static void deposit_number(Accumulator& into, std::uint64_t bits) {
    into.add_shared(bits);
  }
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static void deposit_integer(Accumulator& into, std::uint64_t magnitude,
                                                                   int exponent, bool is_negative) {
    into.add_shared(magnitude, exponent, is_negative);
  }
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static void hand_carries_on(Accumulator& into) { into.carry_shared(); }

  Accumulator* into_ = nullptr;
  double bin_[Bins] = {};
  std::int64_t held_[Bins] = {};  ///< of earlier fillings of the bins
  std::uint32_t bound_ = 0;
  std::uint32_t limit_ = nothing;  ///< the upper half of the window's top
  std::int32_t top_ = 0;
  std::int32_t numbers_ = 0;  ///< in the bins
  std::int32_t settled_ = 0;
  std::int32_t misses_ = 0;
  std::int32_t direct_ = 0;  ///< tiles that go past the window
  std::int32_t deposits_ = 0;
};

}  // namespace fanin::detail
