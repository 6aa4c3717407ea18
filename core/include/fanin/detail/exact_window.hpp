// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include <fanin/batch.hpp>
#include <fanin/detail/exact_bins.hpp>
#include <fanin/detail/exact_numbers.hpp>
#include <fanin/detail/exact_window_sum.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/macros.hpp>

/// What one thread of an exact sum gathers into: a few doubles in registers, each of which holds 40 bits of the sum
/// exactly. After Demmel, Ahrens and Nguyen (EECS-2016-121), who round what falls below; here it goes to the
/// accumulator.
namespace fanin::detail {

/// The window over an accumulator, which other threads of a CUDA block may share. Whatever the window cannot hold goes
/// there: numbers outside of its range and the rests below the last bin at once, the bins when a larger number moves
/// the window up. Every 2047 numbers the bins are emptied into integers beside them.
template <class Accumulator, int Bins>
class exact_window {
 public:
  using bins = exact_bins;
  using sum_type = exact_window_sum<Bins>;

  exact_window() = default;
  /// Empty, for numbers that begin as low as a window goes.
  FANIN_FUNCTION explicit exact_window(Accumulator& into) : into_{&into} {
    bound_.set_for_this_thread();
    place(0);
  }

  /// Adds a number exactly.
  template <exact_element T>
  FANIN_FUNCTION void add(T value) {
    const std::uint64_t bits = double_bits(widened(value));
    if (is_inside(bits)) {
      add_inside(bits);
    } else if (bits << 1 != 0) {
      *this = after_adding_outside(*this, bits);
    }
  }

  /// Adds x * y exactly. Products of normal size as the rounded product and its error, which a fused multiply-add gives
  /// exactly; others by integers.
  FANIN_FUNCTION void add_product(double value_x, double value_y) {
    const double x = opaque(value_x);
    const double y = opaque(value_y);
    if (!has_normal_product(x, y) || bound() == 0) {
      *this = after_adding_odd_product(*this, double_bits(x), double_bits(y));
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

  /// Adds a batch. For threads of a GPU: one look at the range of all numbers. Mostly all bits of all of them are in
  /// the upper bins.
  template <int Rows, int Columns, exact_element T>
  FANIN_FUNCTION void add_tile(const tile_batch<Rows, Columns, T>& batch) {
    constexpr int count = Rows * Columns;
    constexpr int most = 2 * most_at_once * static_cast<int>(sizeof(float)) / static_cast<int>(sizeof(T));
    constexpr int part = count < most ? count : most;
    unrolled<(count + part - 1) / part>([&](int p) {
      some_numbers<part, T> x;
      unrolled<part>([&](int i) { x.of[i] = batch.values[p * part + i < count ? p * part + i : 0]; });
      if (is_empty() && tiles_to_pass_by_ == 0) place_for(x);
      const unsigned level = level_for(x);
      unrolled<part>([&](int i) {
        if (p * part + i >= count || !batch.counts(p * part + i)) x.of[i] = 0;
      });
      if (level != no_fast_level) {
        add_at_level(x, level);
      } else {
        *this = after_adding(*this, x);
      }
    });
  }

  /// What it takes to add these numbers by add_fast: 0, or 1 for one more bin, or no_fast_level.
  template <int Count, exact_element T>
  FANIN_FUNCTION unsigned fast_level(const T* values) const {
    return level_for(some_of<Count>(values));
  }
  template <int Count, exact_element T>
  FANIN_FUNCTION void add_fast(const T* values, unsigned level) {
    add_at_level(some_of<Count>(values), level);
  }

  /// The same of products of two numbers each.
  template <int Rows, int Columns, class Factors>
  FANIN_FUNCTION void add_product_tile(const tile_batch<Rows, Columns, Factors>& batch) {
    constexpr int count = Rows * Columns;
    constexpr int part = count < most_at_once / 2 ? count : most_at_once / 2;
    unrolled<(count + part - 1) / part>([&](int p) {
      some_numbers<part> product;
      some_numbers<part> error;
      bool are_normal = bound() != 0;
      unrolled<part>([&](int i) {
        const int at = p * part + i;
        const double x = batch.values[at < count ? at : 0].x;
        const double y = batch.values[at < count ? at : 0].y;
        const bool counts = at < count && batch.counts(at);
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
          if (at < count && batch.counts(at)) {
            *this = after_adding_product(*this, batch.values[at].x, batch.values[at].y);
          }
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
    sum.is_in_spill = deposits_ != 0 ? 1 : 0;
    for (int k = 0; k < Bins; ++k) {
      sum.digit[k + 1] = held_[k];
      held_[k] = 0;
    }
    settled_ = 0;
    return sum;
  }
  /// Empties a sum into an accumulator.
  FANIN_FUNCTION static void deposit(sum_type& sum, Accumulator& into) {
    const int deposits = deposit_digits(into, sum);
    unrolled<sum_type::digits>([&](int k) { sum.digit[k] = 0; });
    if (deposits > 0) sum.is_in_spill = 1;
  }
  /// Empties the window into the accumulator.
  FANIN_FUNCTION void flush() {
    if (!is_empty()) count_deposits(deposit_digits(*into_, drain()));
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
    if (deposits_ < Accumulator::most_between_carries - 2 * most_at_once) return;
    hand_carries_on(*into_);
    deposits_ = 1;  // there are some
  }

 private:
  /// Where a window missed half of all numbers, tiles go past it for a while; the next then finds its own range.
  static constexpr int some_misses = 32;
  static constexpr int most_tiles_to_pass_by = 1024;
  /// Numbers that are looked at together: more would need more registers than a GPU's thread has.
  static constexpr int most_at_once = 8;
  /// The integers take so many fillings of the bins, each below 2^51.
  static constexpr int most_settled = 1 << 11;

  FANIN_FUNCTION std::uint32_t bound() const { return bound_.get(); }

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
    if (x != 0) deposit_rest(x);
  }
  FANIN_FUNCTION void take_into_bin(int k, double& x) {
    const double sum = rounded_sum(bin_[k], x);
    const double taken = rounded_difference(sum, bin_[k]);
    bin_[k] = sum;
    x = rounded_difference(x, taken);
  }

  template <int Count>
  struct window_and_numbers {
    exact_window window;
    some_numbers<Count> numbers;
  };

  /// How many bins hold all bits of most numbers of moderate range.
  template <class T>
  static constexpr int whole_bins = std::same_as<T, float> ? 1 : 2;

  /// Puts an empty window where these numbers are, if they are ordinary ones.
  template <int Count, class T>
  FANIN_FUNCTION void place_for(const some_numbers<Count, T>& x) {
    const std::uint32_t largest = x.largest_upper_half();
    if (largest < bound()) place(largest);
  }

  /// 0 where that many bins take all bits of all these numbers, 1 where one more does.
  template <int Count, class T>
  FANIN_FUNCTION unsigned level_for(const some_numbers<Count, T>& x) const {
    constexpr int digits = std::numeric_limits<T>::digits;
    constexpr std::uint32_t down = (bins::width * whole_bins<T> - digits + 1) << 20;
    constexpr std::uint32_t further_down = down + (bins::width << 20);
    // On the upper half of a double or a float's own bits, of which normal ones' are those of the double, without the
    // difference of two biases, three places higher.
    constexpr bool is_float = std::same_as<T, float>;
    const auto comparable = [](std::uint32_t upper) {
      if constexpr (is_float) {
        constexpr std::uint32_t least_normal = bins::upper_half_of_power(-126);
        constexpr std::uint32_t infinity = bins::upper_half_of_power(128);
        const std::uint32_t within = upper < least_normal ? least_normal : (upper > infinity ? infinity : upper);
        return (within - bins::upper_half_of_power(-127)) << 3;
      } else {
        return upper;
      }
    };
    constexpr std::uint32_t lowest = is_float ? 0 : nothing;  // no float is so low
    const std::uint32_t limit = comparable(limit_) - lowest;

    const auto word = [&](int i) {
      if constexpr (is_float) {
        return std::bit_cast<std::uint32_t>(x.of[i]) & bins::no_sign;
      } else {
        return upper_of(double_bits(x.of[i]));
      }
    };
    std::uint32_t largest = 0;
    std::uint32_t least = ~0U;
    unrolled<Count>([&](int i) {
      largest = word(i) > largest ? word(i) : largest;
      least = word(i) < least ? word(i) : least;
    });
    const bool is_in_range = largest - lowest < limit;
    const bool has_room = numbers_ <= bins::capacity - most_at_once - Count;
    if (is_in_range & has_room & (least >= comparable(limit_ - down))) return 0;

    if (least == 0) {
      least = ~0U;
      unrolled<Count>([&](int i) { least = !is_zero(x.of[i]) && word(i) < least ? word(i) : least; });
      if (least == ~0U && has_room) return 0;
    }
    if (!is_in_range || !has_room || least < comparable(limit_ - further_down)) return no_fast_level;
    return least >= comparable(limit_ - down) ? 0 : 1;
  }
  template <int Count, class T>
  FANIN_FUNCTION void add_at_level(const some_numbers<Count, T>& x, unsigned level) {
    if (level == 0) {
      add_to_upper_bins<whole_bins<T>>(x);
    } else {
      add_to_upper_bins<whole_bins<T> + 1>(x);
    }
    numbers_ += Count;
  }
  template <int Whole, int Count, class T>
  FANIN_FUNCTION void add_to_upper_bins(const some_numbers<Count, T>& numbers) {
    static_assert(Whole <= Bins);
    unrolled<Count>([&](int i) {
      double x = widened(numbers.of[i]);
      unrolled<Whole - 1>([&](int k) { take_into_bin(k, x); });
      bin_[Whole - 1] = rounded_sum(bin_[Whole - 1], x);
    });
  }
  /// Any numbers.
  template <int Count, class T>
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window after_adding(exact_window window,
                                                                        const some_numbers<Count, T> numbers) {
    if (window.tiles_to_pass_by_ > 0) {
      --window.tiles_to_pass_by_;
      window.count_deposits(deposit_numbers(*window.into_, numbers));
      return window;
    }
    constexpr int part = Count < most_at_once ? Count : most_at_once;
    unrolled<(Count + part - 1) / part>([&](int p) {
      some_numbers<part> x;
      unrolled<part>([&](int i) {
        const int at = p * part + i;
        x.of[i] = at < Count ? widened(numbers.of[at < Count ? at : 0]) : 0;
      });
      window.make_room(x);
      if (const int below = window.below(x); below > part / 2) {
        window.misses_ = static_cast<std::int16_t>(window.misses_ + below);
        window.count_deposits(deposit_numbers(*window.into_, x));
        window.pass_by_after_misses();
      } else {
        window.template fold_tile<0, true>(x);
        window.count_numbers(part);
      }
    });
    return window;
  }

  /// Sees to it that the window takes all these numbers; 0 for those that go to the accumulator instead.
  template <int Count>
  FANIN_FUNCTION void make_room(some_numbers<Count>& x) {
    const std::uint32_t largest = x.largest_upper_half();
    if (largest < limit_ && bound() != 0) return;
    if (is_empty() && tiles_to_pass_by_ == 0 && largest < bound()) {
      place(largest);
      return;
    }
    const window_and_numbers<Count> now = moved_for(*this, x);
    *this = now.window;
    x = now.numbers;
  }

  /// How many of these numbers are below the last bin. Zeros are not.
  template <int Count>
  FANIN_FUNCTION int below(const some_numbers<Count>& x) const {
    const std::uint32_t last = limit_ - (bins::width * Bins << 20);
    int count = 0;
    unrolled<Count>([&](int i) { count += upper_of(double_bits(x.of[i])) - 1 < last - 1 ? 1 : 0; });
    return count;
  }

  /// Numbers below the window's top through the bins from First on, while there is anything left of one.
  template <int First, bool MayPassBy = false, int Count>
  FANIN_FUNCTION void fold_tile(some_numbers<Count>& x) {
    if constexpr (First < Bins) {
      std::uint64_t rests = 0;
      unrolled<Count>([&](int i) {
        take_into_bin(First, x.of[i]);
        rests |= double_bits(x.of[i]);
      });
      if (rests != 0) fold_tile<First + 1, MayPassBy>(x);
    } else {
      const int misses = deposit_numbers(*into_, x);
      misses_ = static_cast<std::int16_t>(misses_ + misses);
      count_deposits(misses);
      if (MayPassBy) pass_by_after_misses();
    }
  }

  /// Where the window misses many, tiles go past it for a while.
  FANIN_FUNCTION void pass_by_after_misses() {
    if (misses_ < some_misses || misses_ < numbers_ / 2) return;
    tiles_to_pass_by_ = most_tiles_to_pass_by;
    limit_ = nothing;
    misses_ = 0;
  }

  FANIN_FUNCTION void deposit_rest(double rest) {
    deposit_number(*into_, double_bits(rest));
    count_deposits(1);
    ++misses_;
  }

  /// Before `most_at_once` more numbers could overflow a bin, the bins are emptied.
  FANIN_FUNCTION void count_numbers(int numbers) {
    numbers_ += numbers;
    if (numbers_ > bins::capacity - most_at_once) *this = settled(*this);
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
    top_ = static_cast<std::int16_t>(top < least ? least : top);
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
    const bool passes_by = window.tiles_to_pass_by_ > 0;
    if (passes_by) --window.tiles_to_pass_by_;
    for (int i = 0; i < Count; ++i) {
      if (!passes_by && upper_of(double_bits(x.of[i])) < window.bound()) continue;
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
  /// What no bin takes to the accumulator, and how much that was.
  template <int Count, class T>
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static int deposit_numbers(Accumulator& into,
                                                                  const some_numbers<Count, T> numbers) {
    int deposits = 0;
    for (const T number : numbers.of) {
      if (is_zero(number)) continue;
      into.add_shared(number);
      ++deposits;
    }
    return deposits;
  }
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window after_adding_outside(exact_window window,
                                                                                std::uint64_t bits) {
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
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window after_adding_product(exact_window window, double x,
                                                                                double y) {
    window.add_product(x, y);
    return window;
  }
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window after_adding_odd_product(exact_window window,
                                                                                    std::uint64_t x, std::uint64_t y) {
    if ((x << 1 == 0 && is_finite(y)) || (y << 1 == 0 && is_finite(x))) return window;
    window.into_->add_product_shared(x, y);
    window.count_deposits(3);
    return window;
  }
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static void deposit_number(Accumulator& into, std::uint64_t bits) {
    into.add_shared(bits);
  }
  /// A sum's digits to the accumulator, and how many there were.
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static int deposit_digits(Accumulator& into, const sum_type sum) {
    int deposits = 0;
    for (int k = 0; k < sum_type::digits; ++k) {
      const std::int64_t held = sum.digit[k];
      if (held == 0) continue;
      const auto magnitude = static_cast<std::uint64_t>(held < 0 ? -held : held);
      into.add_shared(magnitude, sum.unit(k), held < 0);
      ++deposits;
    }
    return deposits;
  }
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static void hand_carries_on(Accumulator& into) { into.carry_shared(); }

  Accumulator* into_ = nullptr;
  double bin_[Bins] = {};
  std::int64_t held_[Bins] = {};  ///< of earlier fillings of the bins
  [[no_unique_address]] bound_of_window<runs_on_device> bound_;
  std::uint32_t limit_ = nothing;  ///< the upper half of the window's top
  std::int32_t numbers_ = 0;       ///< in the bins
  std::int32_t deposits_ = 0;
  // What only the rare paths look at takes two registers.
  std::int16_t top_ = 0;
  std::int16_t settled_ = 0;
  std::int16_t misses_ = 0;
  std::int16_t tiles_to_pass_by_ = 0;  ///< tiles that go past the window
};

}  // namespace fanin::detail
