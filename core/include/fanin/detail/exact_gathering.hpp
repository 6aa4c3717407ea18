// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <complex>
#include <concepts>
#include <utility>

#include <fanin/detail/complex_parts.hpp>
#include <fanin/detail/exact_window.hpp>
#include <fanin/detail/exact_window_sum.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/gathering.hpp>
#include <fanin/macros.hpp>

/// How the threads of an exact sum gather: into a state over an accumulator as the spill, and what the state holds
/// travels.
namespace fanin::detail {

/// Whatever the state is: it has drain(), which gives the partial, and deposit(partial&, spill).
template <class Accumulator, class State, class Partial>
struct exact_gathering_by : gathering_with_partials<State, Partial> {
  using partial = Partial;

  template <class R>
  FANIN_FUNCTION static partial drain(const R&, State& state) {
    return state.drain();
  }
  template <class R>
  FANIN_FUNCTION static void deposit(const R&, partial& held, Accumulator& spill) {
    State::deposit(held, spill);
  }
  template <class R>
  FANIN_FUNCTION static int scale(const R&, const partial& held) {
    return held.scale();
  }
  template <class R>
  FANIN_FUNCTION static bool rescale(const R&, partial& held, int scale) {
    return held.rescale(scale);
  }
  template <class R>
  FANIN_FUNCTION static void join_partials(const R&, partial& into, const partial& from) {
    into.join(from);
  }
  template <class R, class Warp>
  FANIN_FUNCTION static void join_in_warp(const R&, partial& held, const Warp& warp) {
    held.join_lanes(warp);
  }
  template <class R>
  FANIN_FUNCTION static bool is_in_spill(const R&, const partial& held) {
    return held.is_in_spill != 0;
  }
  template <class R>
  FANIN_FUNCTION static typename R::result_type result(const R& r, const partial& held) {
    using result_type = typename R::result_type;
    if constexpr (std::same_as<result_type, Accumulator>) {
      partial copy = held;
      Accumulator acc;
      State::deposit(copy, acc);
      return r.result(acc);
    } else {
      return held.template rounded<result_type>();
    }
  }
  template <class R, class Of>
  FANIN_FUNCTION static void join_spills(const R&, Accumulator& spill, const Of& of, unsigned count, unsigned worker,
                                         unsigned workers) {
    spill.merge_shared(of, count, worker, workers);
  }
};

/// Into a window.
template <class Accumulator, int Bins>
struct exact_gathering : exact_gathering_by<Accumulator, exact_window<Accumulator, Bins>, exact_window_sum<Bins>> {
  template <class R>
  FANIN_FUNCTION static void finish(const R&, exact_window<Accumulator, Bins>& state, Accumulator&) {
    state.flush();
  }
};

/// Two exact sums, of the parts of complex numbers.
struct exact_complex_accumulator {
  exact_accumulator real;
  exact_accumulator imaginary;
};
/// What two states hold, of the type `Part`.
template <class Part>
struct exact_complex_partial {
  Part real;
  Part imaginary;
};

/// State has two states, of the same names, which deposit what they drain as one of the type `Part` does.
template <class F, class State, class Part>
struct exact_complex_gathering_by
    : gathering_with_partials<State, exact_complex_partial<decltype(std::declval<Part&>().drain())>> {
  using accumulator = exact_complex_accumulator;
  using partial = exact_complex_partial<decltype(std::declval<Part&>().drain())>;

  template <class R>
  FANIN_FUNCTION static partial drain(const R&, State& state) {
    return {state.real.drain(), state.imaginary.drain()};
  }
  template <class R>
  FANIN_FUNCTION static void deposit(const R&, partial& held, accumulator& spill) {
    Part::deposit(held.real, spill.real);
    Part::deposit(held.imaginary, spill.imaginary);
  }
  template <class R>
  FANIN_FUNCTION static int scale(const R&, const partial& held) {
    const int real = held.real.scale();
    const int imaginary = held.imaginary.scale();
    return real < imaginary ? real : imaginary;
  }
  template <class R>
  FANIN_FUNCTION static bool rescale(const R&, partial& held, int scale) {
    partial scaled = held;
    if (!scaled.real.rescale(scale) || !scaled.imaginary.rescale(scale)) return false;
    held = scaled;
    return true;
  }
  template <class R>
  FANIN_FUNCTION static void join_partials(const R&, partial& into, const partial& from) {
    into.real.join(from.real);
    into.imaginary.join(from.imaginary);
  }
  template <class R, class Warp>
  FANIN_FUNCTION static void join_in_warp(const R&, partial& held, const Warp& warp) {
    held.real.join_lanes(warp);
    held.imaginary.join_lanes(warp);
  }
  template <class R>
  FANIN_FUNCTION static bool is_in_spill(const R&, const partial& held) {
    return (held.real.is_in_spill | held.imaginary.is_in_spill) != 0;
  }
  template <class R>
  FANIN_FUNCTION static typename R::result_type result(const R& r, const partial& held) {
    if constexpr (std::same_as<typename R::result_type, accumulator>) {
      partial copy = held;
      accumulator acc;
      deposit(r, copy, acc);
      return r.result(acc);
    } else {
      return std::bit_cast<std::complex<F>>(
          complex_parts<std::complex<F>>{held.real.template rounded<F>(), held.imaginary.template rounded<F>()});
    }
  }
  template <class R, class Of>
  FANIN_FUNCTION static void join_spills(const R&, accumulator& spill, const Of& of, unsigned count, unsigned worker,
                                         unsigned workers) {
    spill.real.merge_shared([&](unsigned k) -> const auto& { return of(k).real; }, count, worker, workers);
    spill.imaginary.merge_shared([&](unsigned k) -> const auto& { return of(k).imaginary; }, count, worker, workers);
  }
};

/// Into two windows.
template <class F, int Bins, class State>
struct exact_complex_gathering : exact_complex_gathering_by<F, State, exact_window<exact_accumulator, Bins>> {
  template <class R>
  FANIN_FUNCTION static void finish(const R&, State& state, exact_complex_accumulator&) {
    state.real.flush();
    state.imaginary.flush();
  }
};

}  // namespace fanin::detail
