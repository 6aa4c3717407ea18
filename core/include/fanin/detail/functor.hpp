// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/macros.hpp>
#include <fanin/reducer.hpp>
#include <fanin/tuple.hpp>

namespace fanin::detail {

/// How a range calls functors: with indices of this type, behind a tag where it has one (else void).
template <class Index, class Tag>
struct index_call {
  using index_type = Index;
  static constexpr bool has_tag = !std::is_void_v<Tag>;
  static constexpr bool is_plain = std::is_same_v<Index, std::int64_t> && !has_tag;
};
using plain_call = index_call<std::int64_t, void>;

/// Converts to integers that hold an Index only: a functor callable with it does not narrow its index.
template <class Index>
struct index_probe {
  template <std::integral T>
    requires(sizeof(T) >= sizeof(Index))
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

/// Whether F, whose call begins with the range's tag, can be called so.
template <class F, class Tag, class... Argument>
inline constexpr bool is_called = std::is_invocable_v<const F&, Tag, Argument...>;
template <class F, class... Argument>
inline constexpr bool is_called<F, void, Argument...> = std::is_invocable_v<const F&, Argument...>;

/// What it gives then.
template <class F, class Tag, class... Argument>
struct given_by_call : std::invoke_result<const F&, Tag, Argument...> {};
template <class F, class... Argument>
struct given_by_call<F, void, Argument...> : std::invoke_result<const F&, Argument...> {};

/// Whether F has one plain call operator: probing a generic one would compile its body with the probe's type.
template <class F>
concept has_plain_call = std::is_pointer_v<F> || requires { &F::operator(); };

/// What stands before the indices of a call.
template <class... Argument>
struct before_indices;

/// Whether F, of several calls, takes less of its index than there is behind such arguments. In braces nothing is
/// narrowed but constants that fit, and what is no type of an index is not deduced: no generic call is compiled.
template <class F, class Before, class Index, class Indices, class... State>
inline constexpr bool narrows_index = false;
template <class F, class... Before, class Index, std::size_t... D, class... State>
inline constexpr bool narrows_index<F, before_indices<Before...>, Index, std::index_sequence<D...>, State...> =
    requires(const F& f) { f(std::declval<Before>()..., {Index{D * 0}}..., std::declval<State>()...); } &&
    !requires(const F& f) {
      f(std::declval<Before>()..., {std::declval<same_for<D, Index>>()}..., std::declval<State>()...);
    } && !requires(const F& f) {
      f(std::declval<Before>()..., {std::declval<same_for<D, std::make_unsigned_t<Index>>>()}...,
        std::declval<State>()...);
    };
template <class F, class Index, std::size_t... D, class... State>
inline constexpr bool narrows_index<F, before_indices<void>, Index, std::index_sequence<D...>, State...> = false;

/// Whether F can be called with the thread state number Copied as a temporary, the others as lvalues: what it adds to
/// that one would be lost.
template <class Call, class F, std::size_t Copied, class Indices, class Positions, class... State>
inline constexpr bool takes_temporary_at = false;
template <class Index, class Tag, class F, std::size_t Copied, std::size_t... D, std::size_t... I, class... State>
inline constexpr bool takes_temporary_at<index_call<Index, Tag>, F, Copied, std::index_sequence<D...>,
                                         std::index_sequence<I...>, State...> =
    is_called<F, Tag, same_for<D, Index>..., std::conditional_t<I == Copied, State&&, State&>...>;
template <class Call, class F, class Indices, class Positions, class... State>
inline constexpr bool takes_any_temporary = false;
template <class Call, class F, class Indices, std::size_t... I, class... State>
inline constexpr bool takes_any_temporary<Call, F, Indices, std::index_sequence<I...>, State...> =
    (takes_temporary_at<Call, F, I, Indices, std::index_sequence<I...>, State...> || ...);

/// How a functor of so many indices wants to be called for reducers with these thread states, found by asking what it
/// can be called with.
template <class Call, class F, class Indices, class... State>
struct call_traits;
template <class Index, class Tag, class F, std::size_t... D, class... State>
struct call_traits<index_call<Index, Tag>, F, std::index_sequence<D...>, State...> {
  static constexpr bool takes_value = is_called<F, Tag, same_for<D, Index>...>;
  static constexpr bool takes_accumulator = is_called<F, Tag, same_for<D, Index>..., State&...>;
  static constexpr bool takes_copy = takes_any_temporary<index_call<Index, Tag>, F, std::index_sequence<D...>,
                                                         std::index_sequence_for<State...>, State...>;

  /// Whether it takes all of an Index.
  static constexpr bool takes_whole_index() {
    if constexpr (!has_plain_call<F>) {
      if constexpr (takes_accumulator) {
        return !narrows_index<F, before_indices<Tag>, Index, std::index_sequence<D...>, State&...>;
      } else {
        return !narrows_index<F, before_indices<Tag>, Index, std::index_sequence<D...>>;
      }
    } else if constexpr (takes_accumulator) {
      return is_called<F, Tag, same_for<D, index_probe<Index>>..., State&...>;
    } else {
      return is_called<F, Tag, same_for<D, index_probe<Index>>...>;
    }
  }
  static constexpr bool gives_nothing() {
    if constexpr (takes_value && !takes_accumulator) {
      return std::is_void_v<typename given_by_call<F, Tag, same_for<D, Index>...>::type>;
    } else {
      return false;
    }
  }
};

/// Of one index, as backends call it.
template <class F, class... State>
using functor_traits = call_traits<plain_call, F, std::index_sequence<0>, State...>;

/// Refuses, in words, a functor that takes less of its index than there is. Takes is what the traits say, IsOfMany
/// whether the range is one of many results.
template <class Call, bool Takes, bool IsOfMany = false>
constexpr void check_index() {
  if constexpr (IsOfMany) {
    static_assert(Takes,
                  "fanin: the functor takes a 32-bit index (or no integer): take std::int64_t, which rows, columns, "
                  "axes<...>, segments and runs hand it, or ranges beyond 2^31 would wrap");
  } else if constexpr (sizeof(typename Call::index_type) == 8) {
    static_assert(
        Takes,
        "fanin: the functor takes a 32-bit index (or no integer): take std::int64_t, or ranges beyond 2^31 "
        "would wrap; a range whose indices fit 32 bits may hand it ints: fanin::range<std::int32_t>(exec, n), "
        "fanin::md_range<std::int32_t>(exec, {n, m})");
  } else {
    static_assert(Takes, "fanin: the functor takes an index of fewer than 32 bits (or no integer): take int");
  }
}

/// Whether F is what the contract takes; what it refuses is refused in words, by every entry point that takes a
/// functor.
template <class Call, class F, class... Reducer>
constexpr bool check_call() {
  static_assert(!std::is_function_v<F>, "fanin: a function is no functor: give its address, &f");
  using traits = call_traits<Call, F, std::index_sequence<0>, reducer_state_t<Reducer>...>;

  static_assert(!(traits::takes_value && (traits::takes_accumulator || traits::takes_copy)),
                "fanin: the functor fits both f(i) and f(i, acc&...): keep one of the two forms");
  static_assert(
      !traits::takes_copy,
      "fanin: the functor takes an accumulator by value, by const reference or as auto&&, so that what it adds "
      "may be lost: take it by reference, f(std::int64_t i, acc&...) (or it takes more than the one index that "
      "there is)");
  constexpr bool is_any = traits::takes_value || traits::takes_accumulator || traits::takes_copy;
  static_assert(
      is_any || !Call::has_tag,
      "fanin: over a range with a tag the functor must be callable, as const, with an object of the tag's type "
      "first: as f(Tag, i), giving a value, or as f(Tag, i, acc&...) with one lvalue accumulator per reducer");
  static_assert(is_any || Call::has_tag,
                "fanin: the functor must be callable, as const, as f(i), giving a value, or as f(i, acc&...) with one "
                "lvalue accumulator per reducer: of its accumulator_type, or of the state_type of its gathering");
  if constexpr ((traits::takes_value || traits::takes_accumulator) && !traits::takes_copy) {
    detail::check_index<Call, traits::takes_whole_index()>();
  }
  static_assert(!traits::gives_nothing(),
                "fanin: the functor f(i) gives nothing: return the element's value, or take an accumulator, "
                "f(i, acc&...)");
  static_assert(std::is_copy_constructible_v<F>, "fanin: the functor must be copyable: it travels to the backend");
  return traits::takes_value != traits::takes_accumulator && !traits::takes_copy && !traits::gives_nothing() &&
         std::is_copy_constructible_v<F>;
}

/// The same for parallel_for.
template <class Call, class F>
constexpr bool check_for_call() {
  static_assert(!std::is_function_v<F>, "fanin: a function is no functor: give its address, &f");
  using traits = call_traits<Call, F, std::index_sequence<0>>;
  static_assert(traits::takes_value || Call::has_tag,
                "fanin: parallel_for needs a functor callable, as const, as f(i)");
  static_assert(traits::takes_value || !Call::has_tag,
                "fanin: over a range with a tag parallel_for needs a functor callable, as const, as f(Tag, i)");
  if constexpr (traits::takes_value) detail::check_index<Call, traits::takes_whole_index()>();
  static_assert(std::is_copy_constructible_v<F>, "fanin: the functor must be copyable: it travels to the backend");
  return traits::takes_value && std::is_copy_constructible_v<F>;
}

/// The same for functors of so many indices, f(i, j, ...) and f(i, j, ..., acc&...), of an md_range or of a range of
/// many results.
template <class Call, bool IsOfMany, class F, std::size_t Rank, class... Reducer>
constexpr bool check_md_call() {
  static_assert(!std::is_function_v<F>, "fanin: a function is no functor: give its address, &f");
  using traits = call_traits<Call, F, std::make_index_sequence<Rank>, reducer_state_t<Reducer>...>;
  static_assert(!(traits::takes_value && (traits::takes_accumulator || traits::takes_copy)),
                "fanin: the functor fits both f(i, j, ...) and f(i, j, ..., acc&...): keep one of the two forms");
  static_assert(
      !traits::takes_copy,
      "fanin: the functor takes an accumulator by value, by const reference or as auto&&, so that what it adds "
      "may be lost: take it by reference, f(std::int64_t i, std::int64_t j, ..., acc&...) (or it takes more "
      "indices than there are)");
  constexpr bool is_any = traits::takes_value || traits::takes_accumulator || traits::takes_copy;
  static_assert(is_any || !IsOfMany,
                "fanin: over a range of many results the functor must be callable, as const, with all indices, over "
                "rows, columns and axes<...> as f(i, j, ...), over segments as f(s, k), over runs as f(k), giving a "
                "value, or with one lvalue accumulator per reducer behind them");
  static_assert(is_any || IsOfMany || Call::has_tag,
                "fanin: over an md_range the functor must be callable, as const, with as many indices as that has "
                "dimensions: as f(i, j, ...), giving a value, or as f(i, j, ..., acc&...) with one lvalue accumulator "
                "per reducer");
  static_assert(
      is_any || !Call::has_tag,
      "fanin: over an md_range with a tag the functor must be callable, as const, with an object of the tag's "
      "type first and as many indices as the range has dimensions: as f(Tag, i, j, ...), giving a value, or "
      "as f(Tag, i, j, ..., acc&...) with one lvalue accumulator per reducer");
  if constexpr ((traits::takes_value || traits::takes_accumulator) && !traits::takes_copy) {
    detail::check_index<Call, traits::takes_whole_index(), IsOfMany>();
  }
  static_assert(!traits::gives_nothing(),
                "fanin: the functor f(i, j, ...) gives nothing: return the element's value, or take an accumulator, "
                "f(i, j, ..., acc&...)");
  static_assert(std::is_copy_constructible_v<F>, "fanin: the functor must be copyable: it travels to the backend");
  return traits::takes_value != traits::takes_accumulator && !traits::takes_copy && !traits::gives_nothing() &&
         std::is_copy_constructible_v<F>;
}
/// Over a range of many results: rows, columns, axes<...>, segments, and runs, which have one index.
template <class F, std::size_t Rank, class... Reducer>
constexpr bool check_functor_of_many() {
  return detail::check_md_call<plain_call, true, F, Rank, Reducer...>();
}
/// The same with the reducers of a composite.
template <class F, std::size_t Rank, template <class...> class Composite, class... Reducer>
constexpr bool check_composite_of_many(std::type_identity<Composite<Reducer...>>) {
  return detail::check_functor_of_many<F, Rank, Reducer...>();
}

/// The same for parallel_for.
template <class Call, class F, std::size_t Rank>
constexpr bool check_md_for_call() {
  static_assert(!std::is_function_v<F>, "fanin: a function is no functor: give its address, &f");
  using traits = call_traits<Call, F, std::make_index_sequence<Rank>>;
  static_assert(traits::takes_value || Call::has_tag,
                "fanin: over an md_range parallel_for needs a functor callable, as const, with as many indices as that "
                "has dimensions: f(i, j, ...)");
  static_assert(traits::takes_value || !Call::has_tag,
                "fanin: over an md_range with a tag parallel_for needs a functor callable, as const, with an object of "
                "the tag's type first and as many indices as the range has dimensions: f(Tag, i, j, ...)");
  if constexpr (traits::takes_value) detail::check_index<Call, traits::takes_whole_index()>();
  static_assert(std::is_copy_constructible_v<F>, "fanin: the functor must be copyable: it travels to the backend");
  return traits::takes_value && std::is_copy_constructible_v<F>;
}

/// Whether F takes so many indices and states.
template <class Call, class F, class Indices, class... Argument>
inline constexpr bool takes_call = false;
template <class Index, class Tag, class F, std::size_t... D, class... Argument>
inline constexpr bool takes_call<index_call<Index, Tag>, F, std::index_sequence<D...>, Argument...> =
    is_called<F, Tag, same_for<D, Index>..., Argument...>;

/// What F gives for so many indices and states; void where it takes none such, which Clang 14 asks before it looks at
/// a constraint.
template <class Call, class F, class Indices, class... Argument>
struct given_for_call {
  using type = void;
};
template <class Index, class Tag, class F, std::size_t... D, class... Argument>
  requires(takes_call<index_call<Index, Tag>, F, std::index_sequence<D...>, Argument...>)
struct given_for_call<index_call<Index, Tag>, F, std::index_sequence<D...>, Argument...>
    : given_by_call<F, Tag, same_for<D, Index>..., Argument...> {};

/// A functor that a range calls otherwise than with std::int64_t alone, as one that is called so: what backends see.
template <class F, class Call, class Indices>
struct called_functor;
template <class F, class Index, class Tag, std::size_t... D>
struct called_functor<F, index_call<Index, Tag>, std::index_sequence<D...>> {
  using call = index_call<Index, Tag>;
  using dimensions = std::index_sequence<D...>;

  F f;

  template <class... State>
    requires(takes_call<call, F, dimensions, State...>)
  FANIN_FUNCTION constexpr typename given_for_call<call, F, dimensions, State...>::type operator()(
      typename same<D, std::int64_t>::type... i, State&&... state) const {
    if constexpr (sizeof(Index) == 4) {  // ranges see to that; said here, loops over 64 bits become vectors, too
      if (((i < INT32_MIN || i > INT32_MAX) || ...)) __builtin_unreachable();
    }
    if constexpr (call::has_tag) {
      return f(Tag{}, static_cast<Index>(i)..., static_cast<State&&>(state)...);
    } else {
      return f(static_cast<Index>(i)..., static_cast<State&&>(state)...);
    }
  }
};

/// What F takes for an index, behind what backends see.
template <class F>
struct index_of_functor {
  using type = std::int64_t;
};
template <class F, class Call, class Indices>
struct index_of_functor<called_functor<F, Call, Indices>> {
  using type = typename Call::index_type;
};
template <class F>
using index_type_of = typename index_of_functor<F>::type;

/// F as what backends see, or itself where it is that.
template <class Call, std::size_t Rank, class F>
using called_t = std::conditional_t<Call::is_plain, F, called_functor<F, Call, std::make_index_sequence<Rank>>>;
template <class Call, std::size_t Rank, class F>
constexpr called_t<Call, Rank, F> called(const F& f) {
  return {f};
}

}  // namespace fanin::detail
