// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/reducer.hpp>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// Converts to 64-bit integers only: a functor callable with it does not narrow its index.
struct index_probe {
  template <std::integral T>
    requires(sizeof(T) == 8)
  constexpr operator T() const {
    return T{};
  }
};

/// T, for each index. A struct: of an alias nvcc forgets the index, and what it hands on has no pack to expand.
template <std::size_t, class T>
struct same {
  using type = T;
};
template <std::size_t I, class T>
using same_for = typename same<I, T>::type;

/// Whether F has one plain call operator: probing a generic one would compile its body with the probe's type.
template <class F>
concept has_plain_call = std::is_pointer_v<F> || requires { &F::operator(); };

/// Whether F can be called with the thread state number Copied as a temporary, the others as lvalues: what it adds to
/// that one would be lost.
template <class F, std::size_t Copied, class Indices, class Positions, class... State>
inline constexpr bool takes_temporary_at = false;
template <class F, std::size_t Copied, std::size_t... D, std::size_t... I, class... State>
inline constexpr bool takes_temporary_at<F, Copied, std::index_sequence<D...>, std::index_sequence<I...>, State...> =
    std::is_invocable_v<const F&, same_for<D, std::int64_t>..., std::conditional_t<I == Copied, State&&, State&>...>;
template <class F, class Indices, class Positions, class... State>
inline constexpr bool takes_any_temporary = false;
template <class F, class Indices, std::size_t... I, class... State>
inline constexpr bool takes_any_temporary<F, Indices, std::index_sequence<I...>, State...> =
    (takes_temporary_at<F, I, Indices, std::index_sequence<I...>, State...> || ...);

/// How a functor of so many indices wants to be called for reducers with these thread states, found by asking what it
/// can be called with.
template <class F, class Indices, class... State>
struct md_functor_traits;
template <class F, std::size_t... D, class... State>
struct md_functor_traits<F, std::index_sequence<D...>, State...> {
  static constexpr bool takes_value = std::is_invocable_v<const F&, same_for<D, std::int64_t>...>;
  static constexpr bool takes_accumulator = std::is_invocable_v<const F&, same_for<D, std::int64_t>..., State&...>;
  static constexpr bool takes_copy =
      takes_any_temporary<F, std::index_sequence<D...>, std::index_sequence_for<State...>, State...>;

  static constexpr bool takes_64_bit_index() {
    if constexpr (!has_plain_call<F>) {
      return true;
    } else if constexpr (takes_accumulator) {
      return std::is_invocable_v<const F&, same_for<D, index_probe>..., State&...>;
    } else {
      return std::is_invocable_v<const F&, same_for<D, index_probe>...>;
    }
  }
  static constexpr bool gives_nothing() {
    if constexpr (takes_value && !takes_accumulator) {
      return std::is_void_v<std::invoke_result_t<const F&, same_for<D, std::int64_t>...>>;
    } else {
      return false;
    }
  }
};

/// Of one index.
template <class F, class... State>
using functor_traits = md_functor_traits<F, std::index_sequence<0>, State...>;

/// Whether F is what the contract takes; what it refuses is refused in words, by every entry point that takes a
/// functor.
template <class F, class... Reducer>
constexpr bool check_functor() {
  static_assert(!std::is_function_v<F>, "fanin: a function is no functor: give its address, &f");
  using traits = functor_traits<F, reducer_state_t<Reducer>...>;
  static_assert(!(traits::takes_value && (traits::takes_accumulator || traits::takes_copy)),
                "fanin: the functor fits both f(i) and f(i, acc&...): keep one of the two forms");
  static_assert(!traits::takes_copy,
                "fanin: the functor takes an accumulator by value, so that what it adds is lost: take it by reference, "
                "f(std::int64_t i, acc&...)");
  static_assert(traits::takes_value || traits::takes_accumulator || traits::takes_copy,
                "fanin: the functor must be callable, as const, as f(i), giving a value, or as f(i, acc&...) with one "
                "lvalue accumulator per reducer: of its accumulator_type, or of the state_type of its gathering");
  if constexpr ((traits::takes_value || traits::takes_accumulator) && !traits::takes_copy) {
    static_assert(traits::takes_64_bit_index(),
                  "fanin: the functor takes a 32-bit index (or no integer): take std::int64_t, or ranges beyond 2^31 "
                  "would wrap");
  }
  if constexpr (traits::takes_value && !traits::takes_accumulator) {
    static_assert(!std::is_void_v<std::invoke_result_t<const F&, std::int64_t>>,
                  "fanin: the functor f(i) gives nothing: return the element's value, or take an accumulator, "
                  "f(i, acc&...)");
  }
  static_assert(std::is_copy_constructible_v<F>, "fanin: the functor must be copyable: it travels to the backend");
  return traits::takes_value != traits::takes_accumulator && !traits::takes_copy && std::is_copy_constructible_v<F>;
}

/// The same for parallel_for.
template <class F>
constexpr bool check_for_functor() {
  static_assert(!std::is_function_v<F>, "fanin: a function is no functor: give its address, &f");
  static_assert(std::is_invocable_v<const F&, std::int64_t>,
                "fanin: parallel_for needs a functor callable, as const, as f(i)");
  if constexpr (std::is_invocable_v<const F&, std::int64_t> && has_plain_call<F>) {
    static_assert(std::is_invocable_v<const F&, index_probe>,
                  "fanin: the functor takes a 32-bit index (or no integer): take std::int64_t, or ranges beyond 2^31 "
                  "would wrap");
  }
  static_assert(std::is_copy_constructible_v<F>, "fanin: the functor must be copyable: it travels to the backend");
  return std::is_invocable_v<const F&, std::int64_t> && std::is_copy_constructible_v<F>;
}

/// The same for functors of so many indices, f(i, j, ...) and f(i, j, ..., acc&...).
template <class F, std::size_t Rank, class... Reducer>
constexpr bool check_md_functor() {
  static_assert(!std::is_function_v<F>, "fanin: a function is no functor: give its address, &f");
  using traits = md_functor_traits<F, std::make_index_sequence<Rank>, reducer_state_t<Reducer>...>;
  static_assert(!(traits::takes_value && (traits::takes_accumulator || traits::takes_copy)),
                "fanin: the functor fits both f(i, j, ...) and f(i, j, ..., acc&...): keep one of the two forms");
  static_assert(!traits::takes_copy,
                "fanin: the functor takes an accumulator by value, so that what it adds is lost: take it by reference, "
                "f(std::int64_t i, std::int64_t j, ..., acc&...)");
  static_assert(traits::takes_value || traits::takes_accumulator || traits::takes_copy,
                "fanin: over an md_range the functor must be callable, as const, with as many indices as that has "
                "dimensions: as f(i, j, ...), giving a value, or as f(i, j, ..., acc&...) with one lvalue accumulator "
                "per reducer");
  if constexpr ((traits::takes_value || traits::takes_accumulator) && !traits::takes_copy) {
    static_assert(traits::takes_64_bit_index(),
                  "fanin: the functor takes a 32-bit index (or no integer): take std::int64_t for each dimension");
  }
  static_assert(!traits::gives_nothing(),
                "fanin: the functor f(i, j, ...) gives nothing: return the element's value, or take an accumulator, "
                "f(i, j, ..., acc&...)");
  static_assert(std::is_copy_constructible_v<F>, "fanin: the functor must be copyable: it travels to the backend");
  return traits::takes_value != traits::takes_accumulator && !traits::takes_copy && !traits::gives_nothing() &&
         std::is_copy_constructible_v<F>;
}

/// The same for parallel_for.
template <class F, std::size_t Rank>
constexpr bool check_md_for_functor() {
  static_assert(!std::is_function_v<F>, "fanin: a function is no functor: give its address, &f");
  using traits = md_functor_traits<F, std::make_index_sequence<Rank>>;
  static_assert(traits::takes_value,
                "fanin: over an md_range parallel_for needs a functor callable, as const, with as many indices as that "
                "has dimensions: f(i, j, ...)");
  if constexpr (traits::takes_value) {
    static_assert(traits::takes_64_bit_index(),
                  "fanin: the functor takes a 32-bit index (or no integer): take std::int64_t for each dimension");
  }
  static_assert(std::is_copy_constructible_v<F>, "fanin: the functor must be copyable: it travels to the backend");
  return traits::takes_value && std::is_copy_constructible_v<F>;
}

}  // namespace fanin::detail
