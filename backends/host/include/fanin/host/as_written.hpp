// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fanin/detail/complex_parts.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/host/in_loops.hpp>
#include <fanin/reducers.hpp>
#include <fanin/tuple.hpp>

/// Sums and products that a unit of the application compiles, and not fanin::host: whatever its flags, each value and
/// each step is rounded by itself, in the order as written. Where the processor has an FMA, compilers otherwise
/// contract what f(i) multiplies with the sum that takes it; under -ffast-math they add in another order, too.
namespace fanin::detail::host {

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__)
inline constexpr bool may_reorder = true;
#else
inline constexpr bool may_reorder = false;
#endif
#if defined(__FMA__) || defined(__FMA4__) || defined(__FP_FAST_FMA) || !defined(__x86_64__)
inline constexpr bool may_contract = true;
#else
inline constexpr bool may_contract = false;
#endif

/// x as it is now: what gave it and what is made of it are compiled apart. Costs no instruction.
template <std::floating_point T>
constexpr void round_here(T& x) {
  if (std::is_constant_evaluated()) return;
#if defined(__SSE2__)
  if constexpr (sizeof(T) <= sizeof(double)) {
    asm("" : "+x"(x));
  } else {
    asm("" : "+m"(x));
  }
#else
  asm("" : "+m"(x));
#endif
}
template <std::floating_point T>
constexpr void round_here(std::complex<T>& x) {
  auto parts = std::bit_cast<complex_parts<std::complex<T>>>(x);
  host::round_here(parts.real);
  host::round_here(parts.imaginary);
  x = std::bit_cast<std::complex<T>>(parts);
}

template <class T>
inline constexpr bool is_rounded = std::is_floating_point_v<T>;
template <class T>
inline constexpr bool is_rounded<std::complex<T>> = std::is_floating_point_v<T>;

/// sum and prod whose accumulators are rounded.
template <class R>
inline constexpr bool has_roundings = false;
template <class T, class Acc>
inline constexpr bool has_roundings<sum<T, Acc>> = is_rounded<Acc>;
template <class T, class Acc>
inline constexpr bool has_roundings<prod<T, Acc>> = is_rounded<Acc>;
/// Whether a step of R's is several multiplications and additions.
template <class R>
inline constexpr bool multiplies_parts = false;
template <class T, class Acc>
inline constexpr bool multiplies_parts<prod<T, Acc>> = is_std_complex<Acc>;

template <class Acc>
constexpr void multiply_in_steps(Acc& into, const Acc& from) {
  const auto x = std::bit_cast<complex_parts<Acc>>(into);
  const auto y = std::bit_cast<complex_parts<Acc>>(from);
  auto of_reals = x.real * y.real;
  auto of_imaginaries = x.imaginary * y.imaginary;
  auto crossed = x.real * y.imaginary;
  auto crossed_back = x.imaginary * y.real;
  host::round_here(of_reals);
  host::round_here(of_imaginaries);
  host::round_here(crossed);
  host::round_here(crossed_back);
  into = std::bit_cast<Acc>(complex_parts<Acc>{of_reals - of_imaginaries, crossed + crossed_back});
}

/// R, one that has roundings, step by step.
template <class R>
struct as_written : R {
  using accumulator_type = reducer_accumulator_t<R>;

  constexpr void join(accumulator_type& into, const accumulator_type& from) const {
    if constexpr (multiplies_parts<R>) {
      host::multiply_in_steps(into, from);
    } else {
      R::join(into, from);
    }
    if constexpr (may_reorder) host::round_here(into);
  }
  constexpr void fold(accumulator_type& into, const reducer_value_t<R>& value, std::int64_t) const {
    auto given = static_cast<accumulator_type>(value);
    host::round_here(given);
    join(into, given);
  }
};

template <class R>
inline constexpr bool is_as_written = false;
template <class R>
inline constexpr bool is_as_written<as_written<R>> = true;

template <class Composite>
inline constexpr bool has_as_written = false;
template <class... R>
inline constexpr bool has_as_written<composite<R...>> = (is_as_written<R> || ...);

/// In the loops of fanin::host they are so anyway.
template <class R>
struct in_loops<as_written<R>> : in_loops<R> {};

template <class... R>
constexpr auto as_written_of(const composite<R...>& c) {
  return c.changed([]<class One>(auto, const One& reducer) {
    if constexpr (has_roundings<One> && (may_reorder || may_contract)) {
      return as_written<One>{reducer};
    } else {
      return reducer;
    }
  });
}

/// Whether values that f gives are kept in an array, which nobody clears before, and then taken by a loop that may take
/// several at once.
template <class Value>
inline constexpr bool is_kept = std::is_arithmetic_v<Value>;
template <class... Value>
inline constexpr bool is_kept<tuple<Value...>> = (is_kept<Value> && ...);
template <class F, class Composite>
inline constexpr bool is_kept_for = false;
template <class F, class... R>
  requires(has_as_written<composite<R...>> && !functor_traits<F, reducer_state_t<R>...>::takes_accumulator)
inline constexpr bool is_kept_for<F, composite<R...>> =
    is_kept<std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>>;

/// What takes a kept value: a step that is one operation cannot be contracted with what gave it.
template <class R>
constexpr const R& in_a_loop(const R& reducer) {
  return reducer;
}
template <class R>
  requires(!multiplies_parts<R>)
constexpr const R& in_a_loop(const as_written<R>& reducer) {
  return reducer;
}

/// Folds f(from) .. f(until - 1), each into a state of its own, states[0] onwards, as the element of a number. Values
/// go through memory, so that steps of many states may be taken at once and yet are rounded by themselves.
template <class F, class... R>
void fold_each(const F& f, const composite<R...>& c, typename composite<R...>::state_type* states, std::int64_t from,
               std::int64_t until, std::int64_t number) {
  using value_type = std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>;
  const auto steps = c.changed([](auto, const auto& reducer) { return host::in_a_loop(reducer); });
  constexpr std::int64_t at_once = 256;
  value_type values[at_once];
  while (from < until) {
    const std::int64_t n = until - from < at_once ? until - from : at_once;
    for (std::int64_t k = 0; k < n; ++k) values[k] = f(from + k);
    asm volatile("" : : "r"(values), "r"(states) : "memory");
    for (std::int64_t k = 0; k < n; ++k) steps.fold(states[k], values[k], number);
    from += n;
    states += n;
  }
  asm volatile("" : : "r"(states) : "memory");
}

}  // namespace fanin::detail::host
