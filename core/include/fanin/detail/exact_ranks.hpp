// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fanin/detail/ranks.hpp>
#include <fanin/error.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/exact_sum.hpp>

/// Exact sums over ranks: the same bits for every number of ranks, and for every split of the elements among them.
namespace fanin {

namespace detail {

/// What ranks hand over is what exact sums can give.
template <exact_element T, class Result>
struct reducer_of_part<exact_sum<T, Result>> {
  static constexpr exact_sum<T, exact_accumulator> of(const exact_sum<T, Result>&) { return {}; }
};
template <exact_element F, class Result>
struct reducer_of_part<exact_sum<std::complex<F>, Result>> {
  static constexpr exact_sum<std::complex<F>, exact_complex_accumulator> of(const exact_sum<std::complex<F>, Result>&) {
    return {};
  }
};
template <exact_element T>
struct reducer_of_part<exact_product_sum<T>> {
  static constexpr auto of(const exact_product_sum<T>&) {
    return exact_product_sum<T, reducer_accumulator_t<exact_product_sum<T>>>{};
  }
};

/// A rank's part of arrays whose products are summed.
template <class Exec, class F, class T, class... Other>
struct part_of_products {
  const typename backend<Exec>::handle_type& handle;
  const char* name;
  const F& f;
  std::tuple<std::span<const T>, std::span<const Other>...> arrays;

  template <class Composite>
  auto now(const Composite& c) const {
    return over_all([&](std::int64_t count, const auto& products, const auto&) {
      return backend<Exec>::reduce(handle, nullptr, 0, count, products, c);
    });
  }
  template <class Composite>
  void into(typename Composite::result_type* out, const Composite& c) const {
    over_all([&](std::int64_t count, const auto& products, const auto&) {
      backend<Exec>::reduce_into(handle, nullptr, out, 0, count, products, c);
    });
  }
  template <class Composite>
  auto later(const Composite& c) const {
    return over_all([&](std::int64_t count, const auto& products, const auto&) {
      return backend<Exec>::reduce_async(handle, nullptr, 0, count, products, c);
    });
  }

 private:
  template <class Run>
  auto over_all(const Run& run) const {
    return std::apply(
        [&](const auto&... elements) {
          return detail::over_elements<Exec>(handle, name, run, f, std::tie(elements...), exact_product_sum<T>{});
        },
        arrays);
  }
};

template <class Exec, class F, class Way, class T, class... Other>
T products_over_ranks(const char* name, Exec&& exec, const F& f, const ranks_data<Way, T>& xs,
                      const ranks_data<Way, Other>&... ys) {
  using object = typename Way::template checked<std::remove_cvref_t<Exec>>;
  const auto handle = detail::handle_of(std::forward<Exec>(exec));
  if (!((&state_of(ys) == &state_of(xs)) && ...)) {
    throw invalid_argument(std::string(name) + ": the arrays go over different communicators");
  }
  const auto all = detail::make_composite(exact_product_sum<T>{});
  const typename Way::template call<object, std::remove_const_t<decltype(all)>> call(state_of(xs), handle, name,
                                                                                     nullptr, all, false);
  return call.now(part_of_products<object, F, T, Other...>{handle, name, f, {xs.elements(), ys.elements()...}});
}

}  // namespace detail

/// exact_dot(exec, over(comm, xs), over(comm, ys)): of the whole, each rank with its part of both. As over() has it of
/// calls over ranks, and exact_dot of its results: the same bits for every number of ranks, split and backend. A rank
/// whose arrays have different lengths throws invalid_argument, the others rank_error; all throw invalid_argument where
/// the two go over different communicators.
template <class Exec, class Way, class T>
  requires(execution<std::remove_cvref_t<Exec>> && detail::exact_element<T>)
T exact_dot(Exec&& exec, const ranks_data<Way, T>& xs, const ranks_data<Way, T>& ys) {
  return detail::products_over_ranks("fanin::exact_dot", std::forward<Exec>(exec), detail::make_factors<T>{}, xs, ys);
}

/// exact_norm2_squared(exec, over(comm, xs)), as exact_dot.
template <class Exec, class Way, class T>
  requires(execution<std::remove_cvref_t<Exec>> && detail::exact_element<T>)
T exact_norm2_squared(Exec&& exec, const ranks_data<Way, T>& xs) {
  return detail::products_over_ranks("fanin::exact_norm2_squared", std::forward<Exec>(exec), detail::make_square<T>{},
                                     xs);
}

}  // namespace fanin
