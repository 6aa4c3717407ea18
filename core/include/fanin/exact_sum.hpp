// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/detail/exact_span.hpp>
#include <fanin/detail/exact_window.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/macros.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducer.hpp>
#include <fanin/reducers.hpp>

/// Sums that are rounded once: the same bits on every backend, for every grid, number of threads and order.
namespace fanin {

namespace detail {

/// What every exact reducer has: how windows and accumulators meet, and the result.
template <class Accumulator, int Bins, class Result>
struct exact_reducer {
  using accumulator_type = Accumulator;
  using result_type = Result;
  using thread_state = exact_window<Accumulator, Bins>;

  FANIN_FUNCTION constexpr Accumulator identity() const { return {}; }
  FANIN_FUNCTION thread_state begin(Accumulator& scratch) const { return thread_state(scratch); }
  FANIN_FUNCTION void flush(thread_state& state, Accumulator&) const { state.flush(); }
  FANIN_FUNCTION void join(Accumulator& into, const Accumulator& from) const { into.merge(from); }

  using flush_type = exact_window_sum<Bins>;
  FANIN_FUNCTION flush_type drain(thread_state& state) const { return state.drain(); }
  FANIN_FUNCTION int scale(const flush_type& held) const { return held.scale(); }
  FANIN_FUNCTION bool rescale(flush_type& held, int scale) const { return held.rescale(scale); }
  FANIN_FUNCTION void join(flush_type& into, const flush_type& from) const { into.join(from); }
  template <class Sum>
  FANIN_FUNCTION void join_lanes(flush_type& held, const Sum& sum) const {
    held.join_lanes(sum);
  }
  FANIN_FUNCTION void deposit(flush_type& held, Accumulator& scratch) const { thread_state::deposit(held, scratch); }
  FANIN_FUNCTION bool in_scratch(const flush_type& held) const { return held.in_scratch != 0; }
  FANIN_FUNCTION Result result(const flush_type& held) const {
    if constexpr (std::same_as<Result, Accumulator>) {
      flush_type copy = held;
      Accumulator acc;
      thread_state::deposit(copy, acc);
      return result(acc);
    } else {
      return held.template rounded<Result>();
    }
  }
  template <class Of>
  FANIN_FUNCTION void join_shared(Accumulator& scratch, const Of& of, unsigned count, unsigned worker,
                                  unsigned workers) const {
    scratch.merge_shared(of, count, worker, workers);
  }
  FANIN_FUNCTION Result result(const Accumulator& acc) const {
    if constexpr (std::same_as<Result, Accumulator>) {
      Accumulator canonical;
      canonical.merge(acc);
      return canonical;
    } else {
      return acc.template value_as<Result>();
    }
  }
};

/// As many bins as take numbers of moderate range whole: 24 bits and 56 exponents, or 53 bits and 67 exponents.
template <class T>
inline constexpr int bins_of_sum = std::same_as<T, float> ? 2 : 3;
/// 106 bits of a product and 54 exponents.
inline constexpr int bins_of_products = 4;

template <exact_element T>
struct factors {
  T x;
  T y;
};

/// Sums of products of two elements. A product of floats is a double, and needs no more than a sum.
template <exact_element T>
struct exact_product_sum : exact_reducer<exact_product_accumulator, bins_of_products, T> {
  using value_type = factors<T>;
  using typename exact_reducer<exact_product_accumulator, bins_of_products, T>::thread_state;
  FANIN_FUNCTION void fold(thread_state& state, const value_type& value, std::int64_t) const {
    state.add_product(value.x, value.y);
  }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_tile(thread_state& state, const value_type* values, std::int64_t, std::int64_t,
                                int rows) const {
    state.template add_product_tile<Rows, Columns>(values, rows);
  }
  void fold_span(thread_state& state, const value_type* values, std::int64_t count, std::int64_t) const {
    fold_exact_products(state, values, count);
  }
};
template <>
struct exact_product_sum<float> : exact_reducer<exact_accumulator, bins_of_products, float> {
  using value_type = factors<float>;
  using typename exact_reducer<exact_accumulator, bins_of_products, float>::thread_state;
  FANIN_FUNCTION void fold(thread_state& state, const value_type& value, std::int64_t) const {
    state.add(product(value));
  }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_tile(thread_state& state, const value_type* values, std::int64_t, std::int64_t,
                                int rows) const {
    double products[Rows * Columns];
    unrolled<Rows * Columns>([&](int i) { products[i] = product(values[i]); });
    state.template add_tile<Rows, Columns>(products, rows);
  }
  void fold_span(thread_state& state, const value_type* values, std::int64_t count, std::int64_t) const {
    fold_float_products(state, values, count);
  }

 private:
  FANIN_FUNCTION static double product(const value_type& value) {
    return rounded_product(widened(value.x), widened(value.y));
  }
};

/// Two exact sums, of the parts of complex numbers.
struct exact_complex_accumulator {
  exact_accumulator real;
  exact_accumulator imaginary;
};

template <exact_element F>
struct exact_complex_sum {
  using value_type = std::complex<F>;
  using accumulator_type = exact_complex_accumulator;
  using result_type = std::complex<F>;
  using parts = complex_parts<value_type>;
  using part_window = exact_window<exact_accumulator, bins_of_sum<F>>;

  struct thread_state {
    part_window real;
    part_window imaginary;

    FANIN_FUNCTION void add(const value_type& value) {
      const auto x = std::bit_cast<parts>(value);
      real.add(x.real);
      imaginary.add(x.imaginary);
    }
    FANIN_FUNCTION thread_state& operator+=(const value_type& value) {
      add(value);
      return *this;
    }
    FANIN_FUNCTION thread_state& operator-=(const value_type& value) {
      const auto x = std::bit_cast<parts>(value);
      add(std::bit_cast<value_type>(parts{-x.real, -x.imaginary}));
      return *this;
    }
  };
  struct flush_type {
    exact_window_sum<bins_of_sum<F>> real;
    exact_window_sum<bins_of_sum<F>> imaginary;
  };
  template <int Count>
  struct separated {
    F real[Count];
    F imaginary[Count];

    FANIN_FUNCTION explicit separated(const value_type* values) {
      unrolled<Count>([&](int i) {
        const auto x = std::bit_cast<parts>(values[i]);
        real[i] = x.real;
        imaginary[i] = x.imaginary;
      });
    }
  };

  FANIN_FUNCTION constexpr accumulator_type identity() const { return {}; }
  FANIN_FUNCTION thread_state begin(accumulator_type& scratch) const {
    return {part_window(scratch.real), part_window(scratch.imaginary)};
  }
  FANIN_FUNCTION void fold(thread_state& state, const value_type& value, std::int64_t) const { state.add(value); }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_tile(thread_state& state, const value_type* values, std::int64_t, std::int64_t,
                                int rows) const {
    const separated<Rows * Columns> of(values);
    state.real.template add_tile<Rows, Columns>(of.real, rows);
    state.imaginary.template add_tile<Rows, Columns>(of.imaginary, rows);
  }
  template <int Count>
  FANIN_FUNCTION unsigned effort(const thread_state& state, const value_type* values) const {
    const separated<Count> of(values);
    const unsigned of_real = state.real.template effort<Count>(of.real);
    const unsigned of_imaginary = state.imaginary.template effort<Count>(of.imaginary);
    return of_real > of_imaginary ? of_real : of_imaginary;
  }
  template <int Count>
  FANIN_FUNCTION void fold_easy(thread_state& state, const value_type* values, unsigned effort) const {
    const separated<Count> of(values);
    state.real.template add_easy<Count>(of.real, effort);
    state.imaginary.template add_easy<Count>(of.imaginary, effort);
  }
  FANIN_FUNCTION void flush(thread_state& state, accumulator_type&) const {
    state.real.flush();
    state.imaginary.flush();
  }
  FANIN_FUNCTION void join(accumulator_type& into, const accumulator_type& from) const {
    into.real.merge(from.real);
    into.imaginary.merge(from.imaginary);
  }
  FANIN_FUNCTION result_type result(const accumulator_type& acc) const {
    return std::bit_cast<result_type>(parts{acc.real.template value_as<F>(), acc.imaginary.template value_as<F>()});
  }

  FANIN_FUNCTION flush_type drain(thread_state& state) const { return {state.real.drain(), state.imaginary.drain()}; }
  FANIN_FUNCTION int scale(const flush_type& held) const {
    const int real = held.real.scale();
    const int imaginary = held.imaginary.scale();
    return real < imaginary ? real : imaginary;
  }
  FANIN_FUNCTION bool rescale(flush_type& held, int scale) const {
    flush_type scaled = held;
    if (!scaled.real.rescale(scale) || !scaled.imaginary.rescale(scale)) return false;
    held = scaled;
    return true;
  }
  FANIN_FUNCTION void join(flush_type& into, const flush_type& from) const {
    into.real.join(from.real);
    into.imaginary.join(from.imaginary);
  }
  template <class Sum>
  FANIN_FUNCTION void join_lanes(flush_type& held, const Sum& sum) const {
    held.real.join_lanes(sum);
    held.imaginary.join_lanes(sum);
  }
  FANIN_FUNCTION void deposit(flush_type& held, accumulator_type& scratch) const {
    part_window::deposit(held.real, scratch.real);
    part_window::deposit(held.imaginary, scratch.imaginary);
  }
  FANIN_FUNCTION bool in_scratch(const flush_type& held) const {
    return (held.real.in_scratch | held.imaginary.in_scratch) != 0;
  }
  FANIN_FUNCTION result_type result(const flush_type& held) const {
    return std::bit_cast<result_type>(parts{held.real.template rounded<F>(), held.imaginary.template rounded<F>()});
  }
  template <class Of>
  FANIN_FUNCTION void join_shared(accumulator_type& scratch, const Of& of, unsigned count, unsigned worker,
                                  unsigned workers) const {
    scratch.real.merge_shared([&](unsigned k) -> const auto& { return of(k).real; }, count, worker, workers);
    scratch.imaginary.merge_shared([&](unsigned k) -> const auto& { return of(k).imaginary; }, count, worker, workers);
  }
};

template <exact_element T>
struct make_factors {
  FANIN_FUNCTION factors<T> operator()(const T& x, const T& y) const { return {x, y}; }
};
template <exact_element T>
struct make_square {
  FANIN_FUNCTION factors<T> operator()(const T& x) const { return {x, x}; }
};

template <class Exec, class F, class X, class... Y>
element_t<X> reduce_products(Exec&& exec, const char* call, const F& f, const X& xs, const Y&... ys) {
  using object = std::remove_cvref_t<Exec>;
  const auto handle = handle_of(std::forward<Exec>(exec));
  std::int64_t count = 0;
  const auto products = make_transform<object>(handle, call, count, f, xs, ys...);
  return parallel_reduce(range_policy<object>(handle, 0, count), products, exact_product_sum<element_t<X>>{});
}

template <class Exec, class F, class X, class... Y>
void reduce_products_into(element_t<X>* out, Exec&& exec, const char* call, const F& f, const X& xs, const Y&... ys) {
  using object = std::remove_cvref_t<Exec>;
  const auto handle = handle_of(std::forward<Exec>(exec));
  std::int64_t count = 0;
  const auto products = make_transform<object>(handle, call, count, f, xs, ys...);
  parallel_reduce_into(out, range_policy<object>(handle, 0, count), products, exact_product_sum<element_t<X>>{});
}

}  // namespace detail

/// The true sum of float or double values, rounded once to nearest: the same bits for every order, backend, grid and
/// number of threads. Of std::complex of them: the two parts, each as said. Infinity beyond the largest number; a zero
/// is +0; infinities and NaN as adding one after the other would give. Up to 2^63 elements. An empty range: +0. Result:
/// T, the other of float and double, or exact_accumulator, which can be merged with others, stored and sent. `acc&` of
/// a functor binds to exact_sum::thread_state, which has add(x), += and -=.
template <class T, class Result = T>
struct exact_sum;

template <detail::exact_element T, class Result>
  requires(detail::exact_element<Result> || std::same_as<Result, exact_accumulator>)
struct exact_sum<T, Result> : detail::exact_reducer<exact_accumulator, detail::bins_of_sum<T>, Result> {
  using value_type = T;
  using typename detail::exact_reducer<exact_accumulator, detail::bins_of_sum<T>, Result>::thread_state;
  FANIN_FUNCTION void fold(thread_state& state, const T& value, std::int64_t) const { state.add(value); }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_tile(thread_state& state, const T* values, std::int64_t, std::int64_t, int rows) const {
    state.template add_tile<Rows, Columns>(values, rows);
  }
  template <int Count>
  FANIN_FUNCTION unsigned effort(const thread_state& state, const T* values) const {
    return state.template effort<Count>(values);
  }
  template <int Count>
  FANIN_FUNCTION void fold_easy(thread_state& state, const T* values, unsigned effort) const {
    state.template add_easy<Count>(values, effort);
  }
  void fold_span(thread_state& state, const T* values, std::int64_t count, std::int64_t) const {
    detail::fold_exact_span(state, values, count);
  }
};

template <detail::exact_element F>
struct exact_sum<std::complex<F>, std::complex<F>> : detail::exact_complex_sum<F> {};

/// The sum of xs[i] * ys[i], every product exact, rounded once to T: no product overflows, vanishes or is rounded.
/// Infinities, NaN and infinity times zero as IEEE has them. No elements: +0. The same bits on every backend and for
/// every order, grid and number of threads. Blocking: waits for the object's own stream, so that the arrays need not
/// outlive the call. Up to 2^63 elements. Throws invalid_argument, before any launch, when the lengths differ, for a
/// null array with n > 0 and for memory that the backend cannot reach; cuda_error when the stream failed; refused on a
/// capturing stream.
template <class Exec, detail::array X, detail::array Y>
  requires(execution<std::remove_cvref_t<Exec>> && std::same_as<detail::element_t<X>, detail::element_t<Y>> &&
           detail::exact_element<detail::element_t<X>>)
detail::element_t<X> exact_dot(Exec&& exec, const X& xs, const Y& ys) {
  return detail::reduce_products(std::forward<Exec>(exec), "fanin::exact_dot",
                                 detail::make_factors<detail::element_t<X>>{}, xs, ys);
}

/// The sum of xs[i]^2, as exact_dot(exec, xs, xs), of which it reads the array once.
template <class Exec, detail::array X>
  requires(execution<std::remove_cvref_t<Exec>> && detail::exact_element<detail::element_t<X>>)
detail::element_t<X> exact_norm2_squared(Exec&& exec, const X& xs) {
  return detail::reduce_products(std::forward<Exec>(exec), "fanin::exact_norm2_squared",
                                 detail::make_square<detail::element_t<X>>{}, xs);
}

/// As exact_dot, written to *out in the order of the object's stream: see reduce_into.
template <class Exec, detail::array X, detail::array Y>
  requires(execution<std::remove_cvref_t<Exec>> && std::same_as<detail::element_t<X>, detail::element_t<Y>> &&
           detail::exact_element<detail::element_t<X>>)
void exact_dot_into(detail::element_t<X>* out, Exec&& exec, const X& xs, const Y& ys) {
  detail::reduce_products_into(out, std::forward<Exec>(exec), "fanin::exact_dot_into",
                               detail::make_factors<detail::element_t<X>>{}, xs, ys);
}

/// As exact_norm2_squared, written to *out in the order of the object's stream: see reduce_into.
template <class Exec, detail::array X>
  requires(execution<std::remove_cvref_t<Exec>> && detail::exact_element<detail::element_t<X>>)
void exact_norm2_squared_into(detail::element_t<X>* out, Exec&& exec, const X& xs) {
  detail::reduce_products_into(out, std::forward<Exec>(exec), "fanin::exact_norm2_squared_into",
                               detail::make_square<detail::element_t<X>>{}, xs);
}

}  // namespace fanin
