// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/detail/exact_levels.hpp>
#include <fanin/detail/exact_numbers.hpp>
#include <fanin/detail/exact_parts.hpp>
#include <fanin/detail/exact_window.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/macros.hpp>

/// What an exact sum's window does rarely: it is moved, and what it does not take goes to the accumulator. Each stands
/// once in a kernel.
namespace fanin::detail {

template <class Accumulator, int Bins>
FANIN_DETAIL_NOINLINE FANIN_FUNCTION auto exact_window<Accumulator, Bins>::settled(exact_window window)
    -> exact_window {
  window.settle();
  return window;
}
template <class Accumulator, int Bins>
FANIN_DETAIL_NOINLINE FANIN_FUNCTION auto exact_window<Accumulator, Bins>::moved(exact_window window,
                                                                                 std::uint32_t upper) -> exact_window {
  window.flush();
  window.place(upper);
  return window;
}
template <class Accumulator, int Bins>
template <int Count>
FANIN_DETAIL_NOINLINE FANIN_FUNCTION auto exact_window<Accumulator, Bins>::moved_for(
    exact_window window, some_numbers<Count> x) -> window_and_numbers<Count> {
  const bool passes_by = window.tiles_to_pass_by_ > 0;
  if (passes_by) --window.tiles_to_pass_by_;
  for (int i = 0; i < Count; ++i) {
    if (!passes_by && detail::upper_of(detail::double_bits(x.of[i])) < window.bound()) continue;
    deposit_number(*window.into_, detail::double_bits(x.of[i]));
    window.count_deposits(1);
    x.of[i] = 0;
  }
  if (const std::uint32_t largest = x.largest_upper_half(); largest >= window.limit_) {
    window.flush();
    window.place(largest);
  }
  return {window, x};
}
template <class Accumulator, int Bins>
FANIN_DETAIL_NOINLINE FANIN_FUNCTION auto exact_window<Accumulator, Bins>::after_adding_outside(
    exact_window window, std::uint64_t bits) -> exact_window {
  const std::uint32_t upper = upper_of(bits);
  if (upper < limit_of_nothing || upper >= window.bound()) {
    deposit_number(*window.into_, bits);
    window.count_deposits(1);
  } else {
    window.flush();
    window.place(upper);
    window.add_inside(bits);
  }
  return window;
}
/// Where no block has room for one more. On hosts alone: takes the window's address.
template <class Accumulator, int Bins>
FANIN_DETAIL_NOINLINE FANIN_FUNCTION void exact_window<Accumulator, Bins>::add_without_room(double number) {
  if (waiting_.take()) {
    waiting_.put(number);
  } else {
    add_now(double_bits(number));
  }
}
/// Any numbers.
template <class Accumulator, int Bins>
template <int Count, class T>
FANIN_DETAIL_NOINLINE FANIN_FUNCTION auto exact_window<Accumulator, Bins>::after_adding(
    exact_window window, const some_numbers<Count, T> numbers) -> exact_window {
  if (window.tiles_to_pass_by_ > 0) {
    --window.tiles_to_pass_by_;
    window.count_deposits(deposit_numbers(*window.into_, numbers));
    return window;
  }
  constexpr int part = Count < most_at_once ? Count : most_at_once;
  detail::unrolled<(Count + part - 1) / part>([&](int p) {
    some_numbers<part> x;
    detail::unrolled<part>([&](int i) {
      const int at = p * part + i;
      x.of[i] = at < Count ? detail::widened(numbers.of[at < Count ? at : 0]) : 0;
    });
    window.make_room(x);
    if (const int below = detail::count_below<Bins>(x, window.limit_); below > part / 2) {
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

template <class Accumulator, int Bins>
FANIN_DETAIL_NOINLINE FANIN_FUNCTION void exact_window<Accumulator, Bins>::deposit_number(Accumulator& into,
                                                                                          std::uint64_t bits) {
  into.add_shared(bits);
}
/// A sum's digits to the accumulator, and how many there were.
template <class Accumulator, int Bins>
FANIN_DETAIL_NOINLINE FANIN_FUNCTION int exact_window<Accumulator, Bins>::deposit_digits(Accumulator& into,
                                                                                         const sum_type sum) {
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
template <class Accumulator, int Bins>
FANIN_DETAIL_NOINLINE FANIN_FUNCTION void exact_window<Accumulator, Bins>::hand_carries_on(Accumulator& into) {
  into.carry_shared();
}
template <class Accumulator, int Bins>
template <int Count, class T>
FANIN_DETAIL_NOINLINE FANIN_FUNCTION int exact_window<Accumulator, Bins>::deposit_numbers(
    Accumulator& into, const some_numbers<Count, T> numbers) {
  int deposits = 0;
  for (const T number : numbers.of) {
    if (detail::is_zero(number)) continue;
    into.add_shared(number);
    ++deposits;
  }
  return deposits;
}

}  // namespace fanin::detail
