// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include <fanin/batch.hpp>
#include <fanin/detail/exact_bins.hpp>
#include <fanin/detail/exact_levels.hpp>
#include <fanin/detail/exact_numbers.hpp>
#include <fanin/detail/exact_parts.hpp>
#include <fanin/detail/exact_waiting.hpp>
#include <fanin/detail/exact_window_sum.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/device/arithmetic.hpp>
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
    if constexpr (runs_on_device) {
      add_now(detail::double_bits(detail::widened(value)));
    } else {
      const double number = detail::widened(value);
      if (!waiting_.put(number)) [[unlikely]]
        add_without_room(number);
    }
  }

  /// Adds a number of these bits, which does not wait.
  FANIN_FUNCTION void add_now(std::uint64_t bits) {
    if (is_inside(bits)) {
      add_inside(bits);
    } else if (bits << 1 != 0) {
      *this = after_adding_outside(*this, bits);
    }
  }

  /// Adds x * y exactly. Products of normal size as the rounded product and its error, which a fused multiply-add gives
  /// exactly; others by integers.
  FANIN_FUNCTION void add_product(double value_x, double value_y);

  /// Adds a batch. For threads of a GPU: one look at the range of all numbers. Mostly all bits of all of them are in
  /// the upper bins.
  template <int Rows, int Columns, exact_element T>
  FANIN_FUNCTION void add_tile(const tile_batch<Rows, Columns, T>& batch) {
    constexpr int count = Rows * Columns;
    constexpr int most = 2 * most_at_once * static_cast<int>(sizeof(float)) / static_cast<int>(sizeof(T));
    constexpr int part = count < most ? count : most;
    detail::unrolled<(count + part - 1) / part>([&](int p) {
      some_numbers<part, T> x;
      detail::unrolled<part>([&](int i) { x.of[i] = batch.values[p * part + i < count ? p * part + i : 0]; });
      if (is_empty() && tiles_to_pass_by_ == 0) place_for(x);
      const unsigned level = level_of(x);
      detail::unrolled<part>([&](int i) {
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
    return level_of(detail::some_of<Count>(values));
  }
  template <int Count, exact_element T>
  FANIN_FUNCTION void add_fast(const T* values, unsigned level) {
    add_at_level(detail::some_of<Count>(values), level);
  }

  /// Adds a batch of products of two numbers each.
  template <int Rows, int Columns, class Factors>
  FANIN_FUNCTION void add_product_tile(const tile_batch<Rows, Columns, Factors>& batch);

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
    detail::unrolled<sum_type::digits>([&](int k) { sum.digit[k] = 0; });
    if (deposits > 0) sum.is_in_spill = 1;
  }
  /// Empties the window into the accumulator.
  FANIN_FUNCTION void flush() {
    if (!is_empty()) count_deposits(deposit_digits(*into_, drain()));
  }

  FANIN_FUNCTION Accumulator& accumulator() const { return *into_; }
  /// On a host: where numbers of add wait.
  FANIN_FUNCTION auto& waiting() { return waiting_; }
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
  /// Numbers that are looked at together: more would need more registers than a GPU's thread has.
  static constexpr int most_at_once = 8;

  FANIN_FUNCTION std::uint32_t bound() const { return bound_.get(); }
  /// Whether the number is in the window's range. Zero and an infinity are not.
  FANIN_FUNCTION bool is_inside(std::uint64_t bits) const {
    return upper_of(bits) - limit_of_nothing < limit_ - limit_of_nothing;
  }

  /// The number through the bins from First on; what is left to the accumulator.
  template <int First>
  FANIN_FUNCTION void add_to_bins(double x) {
    detail::unrolled<Bins - First>([&](int i) { take_into_bin(First + i, x); });
    if (x == 0) return;
    deposit_number(*into_, double_bits(x));
    count_deposits(1);
    ++misses_;
  }
  FANIN_FUNCTION void take_into_bin(int k, double& x) {
    const double sum = detail::rounded_sum(bin_[k], x);
    const double taken = detail::rounded_difference(sum, bin_[k]);
    bin_[k] = sum;
    x = rounded_difference(x, taken);
  }
  /// Numbers below the window's top through the bins from First on, while there is anything left of one.
  template <int First, bool MayPassBy = false, int Count>
  FANIN_FUNCTION void fold_tile(some_numbers<Count>& x) {
    if constexpr (First < Bins) {
      std::uint64_t rests = 0;
      detail::unrolled<Count>([&](int i) {
        take_into_bin(First, x.of[i]);
        rests |= detail::double_bits(x.of[i]);
      });
      if (rests != 0) fold_tile<First + 1, MayPassBy>(x);
    } else {
      const int misses = deposit_numbers(*into_, x);
      misses_ = static_cast<std::int16_t>(misses_ + misses);
      count_deposits(misses);
      if (MayPassBy) pass_by_after_misses();
    }
  }
  /// Before `most_at_once` more numbers could overflow a bin, the bins are emptied.
  FANIN_FUNCTION void count_numbers(int numbers) {
    numbers_ += numbers;
    if (numbers_ > bins::capacity - most_at_once) *this = settled(*this);
  }

  /// Where a window missed half of all numbers, tiles go past it for a while; the next then finds its own range.
  static constexpr int some_misses = 32;
  static constexpr int most_tiles_to_pass_by = 1024;
  /// The integers take so many fillings of the bins, each below 2^51.
  static constexpr int most_settled = 1 << 11;

  FANIN_FUNCTION void add_inside(std::uint64_t bits) {
    add_to_bins<0>(opaque(std::bit_cast<double>(bits)));
    count_numbers(1);
  }

  template <int Count>
  struct window_and_numbers {
    exact_window window;
    some_numbers<Count> numbers;
  };

  /// Puts an empty window where these numbers are, if they are ordinary ones.
  template <int Count, class T>
  FANIN_FUNCTION void place_for(const some_numbers<Count, T>& x) {
    const std::uint32_t largest = x.largest_upper_half();
    if (largest < bound()) place(largest);
  }

  template <int Count, class T>
  FANIN_FUNCTION unsigned level_of(const some_numbers<Count, T>& x) const {
    return detail::level_for(x, limit_, numbers_ <= bins::capacity - most_at_once - Count);
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
    detail::unrolled<Count>([&](int i) {
      double x = detail::widened(numbers.of[i]);
      detail::unrolled<Whole - 1>([&](int k) { take_into_bin(k, x); });
      bin_[Whole - 1] = detail::rounded_sum(bin_[Whole - 1], x);
    });
  }
  /// Sees to it that the window takes all these numbers; 0 for those that go to the accumulator instead.
  template <int Count>
  FANIN_FUNCTION void make_room(some_numbers<Count>& x) {
    const std::uint32_t largest = x.largest_upper_half();
    if (largest < limit_ && bound() != 0) return;
    if (is_empty() && tiles_to_pass_by_ == 0 && largest < bound()) return place(largest);
    const window_and_numbers<Count> now = moved_for(*this, x);
    *this = now.window;
    x = now.numbers;
  }

  /// Where the window misses many, tiles go past it for a while.
  FANIN_FUNCTION void pass_by_after_misses() {
    if (misses_ < some_misses || misses_ < numbers_ / 2) return;
    tiles_to_pass_by_ = most_tiles_to_pass_by;
    limit_ = limit_of_nothing;
    misses_ = 0;
  }

  FANIN_FUNCTION void settle() {
    // A window that one large number has lifted above all others would miss them for ever. The next number moves it.
    if (misses_ > bins::capacity / 2) limit_ = limit_of_nothing;
    empty_bins();
    if (++settled_ == most_settled) flush();
  }
  FANIN_FUNCTION void empty_bins() {
    detail::unrolled<Bins>([&](int k) {
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
    limit_ = bound() == 0 ? limit_of_nothing : bins::upper_half_of_power(top_);
    detail::unrolled<Bins>([&](int k) { bin_[k] = bins::anchor(top_, k); });
  }

  // What happens rarely, in exact_window_rare.hpp. By value, so that a window whose address nobody takes stays in
  // registers.
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window settled(exact_window window);
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window moved(exact_window window, std::uint32_t upper);
  template <int Count>
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static window_and_numbers<Count> moved_for(exact_window window,
                                                                                  some_numbers<Count> x);
  template <int Count, class T>
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window after_adding(exact_window window,
                                                                        const some_numbers<Count, T> numbers);
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION void add_without_room(double number);
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window after_adding_outside(exact_window window,
                                                                                std::uint64_t bits);
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window after_adding_product(exact_window window, double x,
                                                                                double y);
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static exact_window after_adding_odd_product(exact_window window,
                                                                                    std::uint64_t x, std::uint64_t y);
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static void deposit_number(Accumulator& into, std::uint64_t bits);
  template <int Count, class T>
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static int deposit_numbers(Accumulator& into,
                                                                  const some_numbers<Count, T> numbers);
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static int deposit_digits(Accumulator& into, const sum_type sum);
  FANIN_DETAIL_NOINLINE FANIN_FUNCTION static void hand_carries_on(Accumulator& into);

  Accumulator* into_ = nullptr;
  double bin_[Bins] = {};
  std::int64_t held_[Bins] = {};  ///< of earlier fillings of the bins
  [[no_unique_address]] bound_of_window<runs_on_device> bound_;
  [[no_unique_address]] place_to_wait<runs_on_device> waiting_;
  std::uint32_t limit_ = limit_of_nothing;  ///< the upper half of the window's top
  std::int32_t numbers_ = 0;                ///< in the bins
  std::int32_t deposits_ = 0;
  // What only the rare paths look at takes two registers.
  std::int16_t top_ = 0;
  std::int16_t settled_ = 0;
  std::int16_t misses_ = 0;
  std::int16_t tiles_to_pass_by_ = 0;  ///< tiles that go past the window
};

}  // namespace fanin::detail

// The members that are only declared here.
#include <fanin/detail/exact_window_products.hpp>
#include <fanin/detail/exact_window_rare.hpp>
