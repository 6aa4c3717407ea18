// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fanin/batch.hpp>
#include <fanin/detail/complex_parts.hpp>
#include <fanin/detail/exact_gathering.hpp>
#include <fanin/detail/exact_part.hpp>
#include <fanin/detail/exact_window.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/macros.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducer.hpp>
#include <fanin/reducers.hpp>

/// Sums that are rounded once: the same bits on every backend, for every grid, number of threads and order.
namespace fanin {

namespace detail {

/// What every exact reducer has.
template <class Accumulator, int Bins, class Result>
struct exact_reducer {
  using accumulator_type = Accumulator;
  using result_type = Result;
  using gathering = exact_gathering<Accumulator, Bins>;
  using thread_state = typename gathering::state_type;

  FANIN_FUNCTION constexpr Accumulator identity() const { return {}; }
  FANIN_FUNCTION void join(Accumulator& into, const Accumulator& from) const { into.merge(from); }
  FANIN_FUNCTION Result result(const Accumulator& acc) const {
    if constexpr (std::same_as<Result, Accumulator>) {
      Accumulator canonical;
      canonical.merge(acc);
      return canonical;
    } else if constexpr (is_of_accumulator<Result, Accumulator>) {
      return {{}, &acc};
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
template <exact_element T, class Result = T>
struct exact_product_sum : exact_reducer<exact_product_accumulator, bins_of_products, Result> {
  using value_type = factors<T>;
  using typename exact_reducer<exact_product_accumulator, bins_of_products, Result>::thread_state;
  FANIN_FUNCTION void fold(thread_state& state, const value_type& value, std::int64_t) const {
    state.add_product(value.x, value.y);
  }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_batch(thread_state& state, const tile_batch<Rows, Columns, value_type>& batch) const {
    state.add_product_tile(batch);
  }
};
template <class Result>
struct exact_product_sum<float, Result> : exact_reducer<exact_accumulator, bins_of_products, Result> {
  using value_type = factors<float>;
  using typename exact_reducer<exact_accumulator, bins_of_products, Result>::thread_state;
  FANIN_FUNCTION void fold(thread_state& state, const value_type& value, std::int64_t) const {
    state.add(product(value));
  }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_batch(thread_state& state, const tile_batch<Rows, Columns, value_type>& batch) const {
    double products[Rows * Columns];
    detail::unrolled<Rows * Columns>([&](int i) { products[i] = product(batch.values[i]); });
    state.add_tile(tile_batch<Rows, Columns, double>{products, batch.first, batch.row_step, batch.rows});
  }

 private:
  FANIN_FUNCTION static double product(const value_type& value) {
    return rounded_product(widened(value.x), widened(value.y));
  }
};

template <exact_element F, class Result>
struct exact_complex_sum {
  using value_type = std::complex<F>;
  using accumulator_type = exact_complex_accumulator;
  using result_type = Result;
  using parts = complex_parts<value_type>;
  using part_window = exact_window<exact_accumulator, bins_of_sum<F>>;

  struct thread_state {
    part_window real;
    part_window imaginary;

    FANIN_FUNCTION explicit thread_state(accumulator_type& spill) : real(spill.real), imaginary(spill.imaginary) {}
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
  using gathering = exact_complex_gathering<F, bins_of_sum<F>, thread_state>;

  template <int Count>
  struct separated {
    F real[Count];
    F imaginary[Count];

    FANIN_FUNCTION explicit separated(const value_type* values) {
      detail::unrolled<Count>([&](int i) {
        const auto x = std::bit_cast<parts>(values[i]);
        real[i] = x.real;
        imaginary[i] = x.imaginary;
      });
    }
  };
  template <int Rows, int Columns>
  FANIN_FUNCTION static tile_batch<Rows, Columns, F> part(const F (&values)[Rows * Columns],
                                                          const tile_batch<Rows, Columns, value_type>& of) {
    return {values, of.first, of.row_step, of.rows};
  }

  FANIN_FUNCTION constexpr accumulator_type identity() const { return {}; }
  FANIN_FUNCTION void fold(thread_state& state, const value_type& value, std::int64_t) const { state.add(value); }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_batch(thread_state& state, const tile_batch<Rows, Columns, value_type>& batch) const {
    const separated<Rows * Columns> of(batch.values);
    state.real.add_tile(part<Rows, Columns>(of.real, batch));
    state.imaginary.add_tile(part<Rows, Columns>(of.imaginary, batch));
  }
  template <int Rows, int Columns>
  FANIN_FUNCTION unsigned fast_level(const thread_state& state,
                                     const tile_batch<Rows, Columns, value_type>& batch) const {
    const separated<Rows * Columns> of(batch.values);
    const unsigned of_real = state.real.template fast_level<Rows * Columns>(of.real);
    const unsigned of_imaginary = state.imaginary.template fast_level<Rows * Columns>(of.imaginary);
    return of_real > of_imaginary ? of_real : of_imaginary;
  }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_fast(thread_state& state, const tile_batch<Rows, Columns, value_type>& batch,
                                unsigned level) const {
    const separated<Rows * Columns> of(batch.values);
    state.real.template add_fast<Rows * Columns>(of.real, level);
    state.imaginary.template add_fast<Rows * Columns>(of.imaginary, level);
  }
  FANIN_FUNCTION void join(accumulator_type& into, const accumulator_type& from) const {
    into.real.merge(from.real);
    into.imaginary.merge(from.imaginary);
  }
  FANIN_FUNCTION result_type result(const accumulator_type& acc) const {
    if constexpr (std::same_as<Result, accumulator_type>) {
      accumulator_type canonical;
      join(canonical, acc);
      return canonical;
    } else if constexpr (is_of_accumulator<Result, accumulator_type>) {
      return {{}, &acc};
    } else {
      return std::bit_cast<result_type>(parts{acc.real.template value_as<F>(), acc.imaginary.template value_as<F>()});
    }
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

template <exact_element T, class Result>
inline constexpr bool sees_index<exact_product_sum<T, Result>> = false;

template <class Exec, class F, class X, class... Y>
element_t<X> reduce_products(Exec&& exec, const char* call, const F& f, const X& xs, const Y&... ys) {
  using object = std::remove_cvref_t<Exec>;
  const auto handle = detail::handle_of(std::forward<Exec>(exec));
  const auto run = [&](std::int64_t count, const auto& products, const auto& composite_of) {
    const auto all = composite_of(exact_product_sum<element_t<X>>{});
    return backend<object>::reduce(handle, nullptr, 0, count, products, all);
  };
  return detail::over_elements<object, false>(handle, call, run, f, std::tie(xs, ys...));
}

template <class Exec, class F, class X, class... Y>
void reduce_products_into(element_t<X>* out, Exec&& exec, const char* call, const F& f, const X& xs, const Y&... ys) {
  using object = std::remove_cvref_t<Exec>;
  const auto handle = detail::handle_of(std::forward<Exec>(exec));
  detail::check_destination(out, call);
  backend<object>::check_memory(handle, out, (std::string(call) + ": the destination").c_str());
  const auto run = [&](std::int64_t count, const auto& products, const auto& composite_of) {
    const auto all = composite_of(exact_product_sum<element_t<X>>{});
    backend<object>::reduce_into(handle, nullptr, out, 0, count, products, all);
  };
  detail::over_elements<object, false>(handle, call, run, f, std::tie(xs, ys...));
}

}  // namespace detail

#pragma GCC visibility push(default)  // as reducers.hpp

/// The true sum of float or double values, rounded once to nearest: the same bits for every order, backend, grid and
/// number of threads. Of std::complex of them: the two parts, each as said. Infinity beyond the largest number; a sum
/// of zero is +0, one that rounds to zero keeps its sign; infinities and NaN as adding one after the other would give.
/// Up to 2^63 elements. An empty range: +0. Result: T, the other of float and double, or exact_accumulator, which can
/// be merged with others, stored and sent. `acc&` of a functor binds to exact_sum::thread_state, which has add(x), +=
/// and -=.
template <class T = detail::no_type, class Result = T>
struct exact_sum {
  static_assert(
      detail::dependent_false<T>,
      "fanin: exact_sum<T> is of float, double, or std::complex of them, and gives T; of float and double also "
      "the other one, or fanin::exact_accumulator (integers: fanin::sum is exact, in std::int64_t say)");
};

template <detail::exact_element T, class Result>
  requires(detail::exact_element<Result> || detail::is_of_accumulator<Result, exact_accumulator>)
struct exact_sum<T, Result> : detail::exact_reducer<exact_accumulator, detail::bins_of_sum<T>, Result> {
  using value_type = T;
  using typename detail::exact_reducer<exact_accumulator, detail::bins_of_sum<T>, Result>::thread_state;
  FANIN_FUNCTION void fold(thread_state& state, const T& value, std::int64_t) const { state.add(value); }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_batch(thread_state& state, const tile_batch<Rows, Columns, T>& batch) const {
    state.add_tile(batch);
  }
  template <int Rows, int Columns>
  FANIN_FUNCTION unsigned fast_level(const thread_state& state, const tile_batch<Rows, Columns, T>& batch) const {
    return state.template fast_level<Rows * Columns>(batch.values);
  }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_fast(thread_state& state, const tile_batch<Rows, Columns, T>& batch, unsigned level) const {
    state.template add_fast<Rows * Columns>(batch.values, level);
  }
};

template <detail::exact_element F, class Result>
  requires(std::same_as<Result, std::complex<F>> ||
           detail::is_of_accumulator<Result, detail::exact_complex_accumulator>)
struct exact_sum<std::complex<F>, Result> : detail::exact_complex_sum<F, Result> {};

#pragma GCC visibility pop

template <class T, class Result>
inline constexpr bool detail::sees_index<exact_sum<T, Result>> = false;

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

/// What fits none of these is refused in words: any other overload is the better one.
template <class Call = void>
auto exact_dot(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: exact_dot takes an execution object and two arrays of one type, of float or double: "
                "exact_dot(exec, xs, ys)");
}
template <class Call = void>
auto exact_norm2_squared(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: exact_norm2_squared takes an execution object and an array, of float or double: "
                "exact_norm2_squared(exec, xs)");
}
template <class Call = void>
auto exact_dot_into(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: exact_dot_into takes a pointer to an element, an execution object and two arrays of one type, "
                "of float or double: exact_dot_into(out, exec, xs, ys)");
}
template <class Call = void>
auto exact_norm2_squared_into(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: exact_norm2_squared_into takes a pointer to an element, an execution object and an array, of "
                "float or double: exact_norm2_squared_into(out, exec, xs)");
}

}  // namespace fanin
