// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <type_traits>

#include <fanin/bitwise_copyable.hpp>
#include <fanin/detail/reducer_types.hpp>
#include <fanin/macros.hpp>
#include <fanin/tuple.hpp>

namespace fanin {

/// What finished() gives: stands in a call where its reducers would, and alone.
template <class G, class... Reducer>
struct finished_reducers {
  G g;
  tuple<Reducer...> reducers;
};

/// g(results...) as the result of a call: finished(g, sum<double>{}, max<double>{}) calls g once with both results, and
/// what it gives is what the call gives.
///
/// g runs on the backend, in one thread, when all indices are reduced: on CUDA at the end of the same launch (of the
/// last one where a strategy makes several), on Kokkos's devices in a kernel of its own behind the reduction, on hosts
/// in the calling thread. Exactly once, for an empty range too, of which it gets the identities' results; of a captured
/// call once a replay. Through pointers that it captured it may read what earlier calls on the object left in the
/// backend's memory, the destination of this one included, and write what later ones read. What f writes in this call
/// it may not see: that is there for later calls.
///
/// g is callable as const with the results in the order of the reducers, copyable, for the backend as f is
/// (FANIN_LAMBDA), and throws, if at all, on serial. What it gives is bitwise copyable and assignable, and has a
/// default constructor. Bits as those of the reducers. Refused by the compiler: reducers beside finished(...), and
/// strategies of CUDA's that finish on the host. Results have no merge(): merge those of the reducers, and finish then.
template <class G, class... Reducer>
constexpr finished_reducers<G, Reducer...> finished(const G& g, const Reducer&... reducers) {
  return {g, {{{reducers}...}}};
}

namespace detail {

template <class R>
inline constexpr bool is_finished = false;
template <class G, class... Reducer>
inline constexpr bool is_finished<finished_reducers<G, Reducer...>> = true;

/// Refuses, in words, what g gives and no call can.
template <class Given>
constexpr void check_given() {
  static_assert(!std::is_void_v<Given>,
                "fanin: the function of finished(g, reducers...) gives nothing: return the call's result");
  if constexpr (!std::is_void_v<Given>) {
    static_assert(is_bitwise_copyable_v<Given>,
                  "fanin: what the function of finished(g, reducers...) gives must be trivially copyable, or say "
                  "that it is bitwise copyable (fanin::is_bitwise_copyable)");
    static_assert(std::is_copy_constructible_v<Given> && std::is_copy_assignable_v<Given>,
                  "fanin: what the function of finished(g, reducers...) gives must be copyable and assignable");
    static_assert(std::is_default_constructible_v<Given>,
                  "fanin: what the function of finished(g, reducers...) gives must have a default constructor");
  }
}

/// Refuses, in words, what g lacks.
template <class G, class... Result>
constexpr bool check_finish() {
  static_assert(sizeof...(Result) > 0, "fanin: finished(g, reducers...) needs at least one reducer");
  static_assert(!std::is_function_v<G>, "fanin: a function is no functor: give its address, &g");
  static_assert(std::is_copy_constructible_v<G>,
                "fanin: the function of finished(g, reducers...) must be copyable: it travels to the backend");
  constexpr bool is_callable = requires(const G& g, const Result&... results) { g(results...); };
  static_assert(is_callable,
                "fanin: the function of finished(g, reducers...) must be callable, as const, with the results of the "
                "reducers, one argument each");
  if constexpr (is_callable) {
    detail::check_given<std::remove_cvref_t<std::invoke_result_t<const G&, const Result&...>>>();
  }
  return true;
}

}  // namespace detail

}  // namespace fanin
