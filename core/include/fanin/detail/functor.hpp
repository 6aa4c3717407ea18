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

/// Whether F has one plain call operator: probing a generic one would compile its body with the probe's type.
template <class F>
concept has_plain_call = std::is_pointer_v<F> || requires { &F::operator(); };

/// Whether F can be called with the thread state number Copied as a temporary, the others as lvalues: what it adds to
/// that one would be lost.
template <class F, std::size_t Copied, class Indices, class... State>
inline constexpr bool takes_temporary_at = false;
template <class F, std::size_t Copied, std::size_t... I, class... State>
inline constexpr bool takes_temporary_at<F, Copied, std::index_sequence<I...>, State...> =
    std::is_invocable_v<const F&, std::int64_t, std::conditional_t<I == Copied, State&&, State&>...>;
template <class F, class Indices, class... State>
inline constexpr bool takes_any_temporary = false;
template <class F, std::size_t... I, class... State>
inline constexpr bool takes_any_temporary<F, std::index_sequence<I...>, State...> =
    (takes_temporary_at<F, I, std::index_sequence<I...>, State...> || ...);

/// How a functor wants to be called for reducers with these thread states, found by asking what it can be called with.
template <class F, class... State>
struct functor_traits {
  static constexpr bool takes_value = std::is_invocable_v<const F&, std::int64_t>;
  static constexpr bool takes_accumulator = std::is_invocable_v<const F&, std::int64_t, State&...>;
  static constexpr bool takes_copy = takes_any_temporary<F, std::index_sequence_for<State...>, State...>;

  static constexpr bool takes_64_bit_index() {
    if constexpr (!has_plain_call<F>) {
      return true;
    } else if constexpr (takes_accumulator) {
      return std::is_invocable_v<const F&, index_probe, State&...>;
    } else {
      return std::is_invocable_v<const F&, index_probe>;
    }
  }
};

/// Refuses, in words, what the contract refuses; instantiated by every entry point that takes a functor.
template <class F, class... Reducer>
constexpr void check_functor() {
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
}

/// The same for parallel_for.
template <class F>
constexpr void check_for_functor() {
  static_assert(!std::is_function_v<F>, "fanin: a function is no functor: give its address, &f");
  static_assert(std::is_invocable_v<const F&, std::int64_t>,
                "fanin: parallel_for needs a functor callable, as const, as f(i)");
  if constexpr (std::is_invocable_v<const F&, std::int64_t> && has_plain_call<F>) {
    static_assert(std::is_invocable_v<const F&, index_probe>,
                  "fanin: the functor takes a 32-bit index (or no integer): take std::int64_t, or ranges beyond 2^31 "
                  "would wrap");
  }
}

}  // namespace fanin::detail
