// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/batch.hpp>
#include <fanin/cuda/block/memory.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/recipe.hpp>
#include <fanin/cuda/reducer/columns/lane_columns.cuh>
#include <fanin/cuda/reducer/columns/numbers.cuh>
#include <fanin/cuda/reducer/columns/thread_columns.cuh>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/exact_gathering.hpp>
#include <fanin/detail/exact_part.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/exact_sum.hpp>

/// The reducers that stand for exact sums where threads of a block gather into columns of its memory. See
/// docs/adr/0011.
namespace fanin::detail {

/// States that stand in a block's memory one behind the other.
template <class... State>
struct column_states {
  static constexpr std::size_t count = sizeof...(State);
  static constexpr std::size_t bytes(unsigned threads) {
    static_cast<void>(threads);  // where there are none
    return (std::size_t{0} + ... + State::bytes(threads));
  }
};

/// What all of these have: the type of the states, and a whole block that drains at once.
template <class Accumulator, class State>
struct exact_gathering_in_columns : exact_gathering_by<Accumulator, State, typename State::limbs> {
  static constexpr bool drains_block = true;
  static constexpr bool loads_ahead = State::loads_ahead;
  template <class R>
  FANIN_FUNCTION static typename R::result_type result(const R& r, const typename State::limbs& held) {
    using result_type = typename R::result_type;
    if constexpr (std::same_as<result_type, Accumulator>) {
      Accumulator own;
      held.add_to(own);
      return r.result(own);
    } else if constexpr (is_of_accumulator<result_type, Accumulator>) {
      return result_type{held};
    } else {
      return held.template rounded<result_type>();
    }
  }
};

template <int Rows, int Columns, class T>
struct values_that_count {
  T of[Rows * Columns];
  __device__ explicit values_that_count(const tile_batch<Rows, Columns, T>& batch) {
    detail::unrolled<Rows * Columns>([&](int i) { of[i] = batch.counts(i) ? batch.values[i] : T{}; });
  }
};

/// R, an exact sum or an exact sum of products, into `State`.
template <class R, class State>
struct exact_in_columns : R {
  using value_type = typename R::value_type;
  using gathering = exact_gathering_in_columns<typename R::accumulator_type, State>;
  using thread_state = State;
  using states = column_states<State>;

  FANIN_FUNCTION void fold(thread_state& state, const value_type& value, std::int64_t) const {
    value_type x[] = {value};
    state.add(x);
  }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_batch(thread_state& state, const tile_batch<Rows, Columns, value_type>& batch) const {
    values_that_count<Rows, Columns, value_type> x(batch);
    state.add(x.of);
  }
};

template <class Real, class Imaginary>
struct complex_columns {
  Real real;
  Imaginary imaginary;
  __device__ explicit complex_columns(exact_complex_accumulator& spill)
      : real(spill.real), imaginary(spill.imaginary) {}
};
template <exact_element F, class Real, class Imaginary>
struct exact_complex_gathering_in_columns : exact_complex_gathering_by<F, complex_columns<Real, Imaginary>, Real> {
  using base = exact_complex_gathering_by<F, complex_columns<Real, Imaginary>, Real>;
  static constexpr bool drains_block = true;
  template <class R>
  FANIN_FUNCTION static typename R::result_type result(const R& r, const typename base::partial& held) {
    using result_type = typename R::result_type;
    if constexpr (std::same_as<result_type, exact_complex_accumulator>) {
      exact_complex_accumulator own;
      held.real.add_to(own.real);
      held.imaginary.add_to(own.imaginary);
      return r.result(own);
    } else if constexpr (is_of_accumulator<result_type, exact_complex_accumulator>) {
      return result_type{held};
    } else {
      return base::result(r, held);
    }
  }
};

/// An exact sum of complex numbers, whose parts go into two states.
template <exact_element F, class Result, class Real, class Imaginary>
struct exact_complex_in_columns : exact_sum<std::complex<F>, Result> {
  using value_type = std::complex<F>;
  using gathering = exact_complex_gathering_in_columns<F, Real, Imaginary>;
  using thread_state = complex_columns<Real, Imaginary>;
  using states = column_states<Real, Imaginary>;

  FANIN_FUNCTION void fold(thread_state& state, const value_type& value, std::int64_t) const { add<1>(state, &value); }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_batch(thread_state& state, const tile_batch<Rows, Columns, value_type>& batch) const {
    const values_that_count<Rows, Columns, value_type> x(batch);
    add<Rows * Columns>(state, x.of);
  }

 private:
  template <int Count>
  FANIN_FUNCTION static void add(thread_state& state, const value_type* values) {
    typename exact_sum<std::complex<F>, Result>::template separated<Count> parts(values);
    state.real.add(parts.real);
    state.imaginary.add(parts.imaginary);
  }
};

/// The reducer that stands for R behind states that stand in the memory already; R itself where there is none.
template <class R, class Before>
struct in_columns {
  using type = R;
};
template <exact_element T, class... Before>
using columns_of_sum =
    std::conditional_t<std::same_as<T, float>, thread_columns<Before...>, lane_columns<sums_of_doubles, Before...>>;
template <exact_element T, class... Before>
using columns_of_products =
    lane_columns<std::conditional_t<std::same_as<T, float>, products_of_floats, products_of_doubles>, Before...>;
template <exact_element T, class Result, class... Before>
struct in_columns<exact_sum<T, Result>, column_states<Before...>> {
  using type = exact_in_columns<exact_sum<T, Result>, columns_of_sum<T, Before...>>;
};
template <exact_element T, class Result, class... Before>
struct in_columns<exact_product_sum<T, Result>, column_states<Before...>> {
  using type = exact_in_columns<exact_product_sum<T, Result>, columns_of_products<T, Before...>>;
};
/// Two columns of doubles a thread would leave room for half of the threads.
template <exact_element F, class... Before>
using columns_of_part =
    lane_columns<std::conditional_t<std::same_as<F, float>, floats_in_pieces, sums_of_doubles>, Before...>;
template <exact_element F, class Result, class... Before>
struct in_columns<exact_sum<std::complex<F>, Result>, column_states<Before...>> {
  using real = columns_of_part<F, Before...>;
  using type = exact_complex_in_columns<F, Result, real, columns_of_part<F, Before..., real>>;
};

template <class R>
concept gathers_in_columns = requires { typename R::states; };

template <class States, class R>
struct states_with {
  using type = States;
};
template <class... Before, gathers_in_columns R>
struct states_with<column_states<Before...>, R> {
  template <class... State>
  static column_states<Before..., State...> joined(column_states<State...>);
  using type = decltype(joined(typename R::states{}));
};

/// The states of the reducers that stand for the first K of a composite's.
template <class Composite, std::size_t K>
struct states_before {
  using before = typename states_before<Composite, K - 1>::type;
  using type =
      typename states_with<before,
                           typename in_columns<typename Composite::template reducer_type<K - 1>, before>::type>::type;
};
template <class Composite>
struct states_before<Composite, 0> {
  using type = column_states<>;
};

/// The states of a composite whose reducers may be such, in the order in which they stand.
template <class Composite, std::size_t K = 0, class States = column_states<>>
constexpr auto states_of() {
  if constexpr (K == Composite::size) {
    return States{};
  } else {
    return detail::states_of<Composite, K + 1,
                             typename states_with<States, typename Composite::template reducer_type<K>>::type>();
  }
}
template <class Composite>
constexpr std::size_t columns_bytes(int threads) {
  return decltype(states_of<Composite>())::bytes(static_cast<unsigned>(threads));
}
template <class Composite>
inline constexpr std::size_t number_of_columns = decltype(states_of<Composite>())::count;
/// Whether this is a call with columns.
template <class Composite>
inline constexpr bool has_columns = detail::columns_bytes<Composite>(1) != 0;

/// There is room for so many threads of a block at least.
inline constexpr int least_threads_of_columns = 64;
/// Whether the blocks of all devices have room for them: at least 64 KiB, of which the system may keep one.
template <class Strategy, class Composite>
inline constexpr bool columns_fit = [] {
  constexpr std::size_t least_memory_of_block = 63 * 1024;
  return detail::columns_bytes<Composite>(least_threads_of_columns) + sizeof(block_memory<Strategy, Composite>) <=
         least_memory_of_block;
}();

template <class Composite>
constexpr auto all_in_columns(const Composite& c) {
  return c.changed([]<std::size_t K, class R>(std::integral_constant<std::size_t, K>, const R& reducer) {
    using type = typename in_columns<R, typename states_before<Composite, K>::type>::type;
    if constexpr (std::same_as<type, R>) {
      return reducer;
    } else {
      return type{};
    }
  });
}

/// The composite with its exact sums in columns, if it has any, its blocks hand over parcels, and there is room.
template <class Strategy, class Composite>
constexpr auto with_columns(const Composite& c) {
  constexpr bool by_tiles = Strategy::recipe.thread == cuda_stage::thread::vectorised &&
                            Strategy::recipe.block == cuda_stage::block::warp_shuffle;
  using type = decltype(detail::all_in_columns(c));
  if constexpr (by_tiles && hands_over_parcels<Strategy, type> && has_columns<type>) {
    if constexpr (columns_fit<Strategy, type>) {
      return detail::all_in_columns(c);
    } else {
      return c;
    }
  } else {
    return c;
  }
}

/// The same for a functor, but where it adds to a thread_state itself.
template <class Strategy, class F, class Composite>
constexpr auto with_columns_for(const Composite& c) {
  if constexpr (Composite::template takes_accumulator<F>) {
    return c;
  } else {
    return detail::with_columns<Strategy>(c);
  }
}

}  // namespace fanin::detail
