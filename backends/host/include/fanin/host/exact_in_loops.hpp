// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fanin/batch.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/exact_parts.hpp>
#include <fanin/detail/exact_waiting.hpp>
#include <fanin/detail/over_arrays.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/gathering.hpp>
#include <fanin/host/exact_loops.hpp>
#include <fanin/host/in_loops.hpp>
#include <fanin/macros.hpp>

namespace fanin {

// In fanin/exact_sum.hpp, which not every unit may read: see exact_refused.hpp.
template <class T, class Result>
struct exact_sum;

namespace detail {

template <exact_element T, class Result>
struct exact_product_sum;
template <exact_element T>
struct make_factors;
template <exact_element T>
struct make_square;

/// Exact sums as the loops of fanin::host take them.
namespace host {

/// Of loops that are finished.
template <class Digits, class Accumulator>
void add_state(const exact_state<Digits>& from, Accumulator& to) {
  if (from.has_digits) {
    const Digits& all = from.digits;
    to.add_digits(all.digit, all.positive_infinities != 0, all.negative_infinities != 0, all.nans != 0);
  } else {
    to.add_value(from.few[0], from.unit);
    to.add_value(from.few[1], from.unit + from.bits_of_few);
  }
}

/// Into a state of the loops, which R finishes. Constant functions, which may stand in what a device could call, too.
template <class State>
struct gathering_in_exact_loops : gathering_in_spill<State> {
  template <class R>
  static constexpr State begin(const R&, reducer_accumulator_t<R>&) {
    return {};
  }
  template <class R>
  static constexpr void finish(const R& r, State& state, reducer_accumulator_t<R>& spill) {
    r.finish(state, spill);
  }
};

template <exact_element T, class Result>
struct in_loops<exact_sum<T, Result>> : in_loops_base<in_loops<exact_sum<T, Result>>, exact_sum<T, Result>> {
  using state_type = exact_state<digits_of_sum>;
  using gathering = gathering_in_exact_loops<state_type>;
  void fold_batch(state_type& state, const span_batch<T>& batch) const {
    exact_loops_of<T>().add(state, batch.values, batch.count);
  }
  void finish(state_type& state, exact_accumulator& spill) const {
    exact_loops_of<T>().finish(state);
    add_state(state, spill);
  }
};

/// The parts of complex numbers, separated in blocks.
template <exact_element F, class Result>
struct in_loops<exact_sum<std::complex<F>, Result>>
    : in_loops_base<in_loops<exact_sum<std::complex<F>, Result>>, exact_sum<std::complex<F>, Result>> {
  struct state_type {
    exact_state<digits_of_sum> real;
    exact_state<digits_of_sum> imaginary;
    constexpr state_type() {}
  };
  using gathering = gathering_in_exact_loops<state_type>;
  void fold_batch(state_type& state, const span_batch<std::complex<F>>& batch) const {
    constexpr std::int64_t most = 1024;
    F real[most];
    F imaginary[most];
    const exact_loops<F>& loops = exact_loops_of<F>();
    for (std::int64_t at = 0; at < batch.count; at += most) {
      const std::int64_t n = std::min(batch.count - at, most);
      loops.separate(reinterpret_cast<const F*>(batch.values + at), n, real, imaginary);  // as the language says
      loops.add(state.real, real, n);
      loops.add(state.imaginary, imaginary, n);
    }
  }
  template <class Accumulator>
  void finish(state_type& state, Accumulator& spill) const {
    exact_loops_of<F>().finish(state.real);
    exact_loops_of<F>().finish(state.imaginary);
    host::add_state(state.real, spill.real);
    host::add_state(state.imaginary, spill.imaginary);
  }
};

template <exact_element T, class Result>
struct in_loops<exact_product_sum<T, Result>>
    : in_loops_base<in_loops<exact_product_sum<T, Result>>, exact_product_sum<T, Result>> {
  using state_type = typename exact_loops<T>::products_state;
  using gathering = gathering_in_exact_loops<state_type>;
  static void add_products(state_type& state, const T* x, const T* y, std::int64_t n) {
    exact_loops_of<T>().add_products(state, x, y, n);
  }
  void fold(state_type& state, const reducer_value_t<exact_product_sum<T, Result>>& value, std::int64_t) const {
    add_products(state, &value.x, &value.y, 1);
  }
  template <class Accumulator>
  void finish(state_type& state, Accumulator& spill) const {
    exact_loops_of<T>().finish_products(state);
    host::add_state(state, spill);
  }
};

/// Where what f(i, acc&...) adds to a state of R waits for loops: nowhere.
template <class R>
struct waiting_for_loops {
  template <class State>
  void lend(State&) {}
  template <class State, class Accumulator>
  void finish(State&, Accumulator&) {}
};

/// The numbers of a window. Few go into the window itself.
class waiting_for_exact_loops : exact_waiting {
 public:
  waiting_for_exact_loops() {
    take = [](exact_waiting& of, int n) { static_cast<waiting_for_exact_loops&>(of).add(n); };
  }
  // The window's address goes nowhere, so that where the next number waits stays in a register.
  template <class Window>
  void lend(Window& window) {
    window.waiting().lend(*this);
  }
  template <class Window>
  void finish(Window& window, exact_accumulator& spill) {
    const int n = window.waiting().give_back();
    if (!is_begun_ && n < worth_loops) {
      for (int i = 0; i < n; ++i) window.add_now(double_bits(number[i]));
    } else {
      finish_loops(n, spill);
    }
  }

 private:
  static constexpr int worth_loops = 256;

  void add(int n) {
    exact_loops_of<double>().add(sum_, number, n);
    is_begun_ = true;
  }
  void finish_loops(int n, exact_accumulator& spill) {
    add(n);
    exact_loops_of<double>().finish(sum_);
    add_state(sum_, spill);
  }

  bool is_begun_ = false;
  exact_state<digits_of_sum> sum_;
};
template <exact_element T, class Result>
struct waiting_for_loops<exact_sum<T, Result>> : waiting_for_exact_loops {};
template <exact_element F, class Result>
struct waiting_for_loops<exact_sum<std::complex<F>, Result>> {
  waiting_for_exact_loops real;
  waiting_for_exact_loops imaginary;

  template <class State>
  void lend(State& state) {
    real.lend(state.real);
    imaginary.lend(state.imaginary);
  }
  template <class State, class Accumulator>
  void finish(State& state, Accumulator& spill) {
    real.finish(state.real, spill.real);
    imaginary.finish(state.imaginary, spill.imaginary);
  }
};

/// Whether f gives the products of two arrays' elements, as far as its type tells, for a reducer that takes arrays of
/// factors.
template <class F, class Composite>
inline constexpr bool is_dot = false;
template <exact_element T, class Result>
inline constexpr bool is_dot<span_transform<make_factors<T>, T, T>, composite<exact_product_sum<T, Result>>> = true;
template <exact_element T, class Result>
inline constexpr bool is_dot<span_transform<make_square<T>, T>, composite<exact_product_sum<T, Result>>> = true;

}  // namespace host
}  // namespace detail
}  // namespace fanin
