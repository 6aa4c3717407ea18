// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fanin/batch.hpp>
#include <fanin/bitwise_copyable.hpp>
#include <fanin/detail/reducer_types.hpp>
#include <fanin/finished.hpp>
#include <fanin/gathering.hpp>
#include <fanin/macros.hpp>

/// The reducer protocol. A reducer is a trivially copyable struct that owns an operation *and* its identity:
///
///     struct sum_of_doubles {
///       using value_type = double;
///       FANIN_FUNCTION double identity() const { return 0.0; }
///       FANIN_FUNCTION void join(double& into, const double& from) const { into += from; }
///     };
///
/// It names
///   value_type         what f(i) or an element gives
///   accumulator_type   what `acc&` binds to and what threads, blocks and ranks merge. Default: value_type
///   result_type        what the caller gets. Default: accumulator_type
///   gathering          what threads gather into where that is no accumulator: see gathering.hpp. Default: accumulators
/// and has const members, all FANIN_FUNCTION:
///   identity()                 -> accumulator_type, neutral for join
///   join(acc&, const acc&)     associative and commutative up to rounding
///   fold(acc&, value, index)   one element, at a std::int64_t. Default: join(acc, accumulator_type(value))
///   result(const acc&)         -> result_type. Default: the accumulator itself
///
/// accumulator_type and result_type are bitwise copyable (fanin::is_bitwise_copyable) and default-constructible, an
/// accumulator also assignable, and on Kokkos aligned to 64 bytes at most; both may be of any size that fits a block's
/// shared memory (40 KiB). On CUDA accumulators of up to 64 bytes travel through warp shuffles, larger ones through
/// shared memory.
///
/// A reducer may take several elements at once: see batch.hpp.
namespace fanin {

namespace detail {

template <class R>
concept has_value_type = requires { typename R::value_type; };
template <class T>
concept plain_type = std::is_same_v<T, std::remove_cvref_t<T>>;
template <class R>
concept has_plain_types = has_value_type<R> && plain_type<reducer_value_t<R>> && plain_type<reducer_accumulator_t<R>> &&
                          plain_type<reducer_result_t<R>>;
template <class R>
concept lacks_type = has_value_type<R> && std::is_same_v<reducer_value_t<R>, no_type>;
template <class R>
concept has_identity = requires(const R r) {
  { r.identity() } -> std::convertible_to<reducer_accumulator_t<R>>;
};
template <class R>
concept has_join =
    requires(const R r, reducer_accumulator_t<R>& into, const reducer_accumulator_t<R>& from) { r.join(into, from); };
template <class R>
concept has_fold = requires(const R r, reducer_state_t<R>& state, const reducer_value_t<R>& value, std::int64_t i) {
  r.fold(state, value, i);
};
/// Whether fold takes less of the index than there is. In braces nothing is narrowed but constants that fit, and what
/// is no type of an index is not deduced.
template <class R>
concept narrows_index_in_fold =
    has_fold<R> && requires(const R r, reducer_state_t<R>& state, const reducer_value_t<R>& value) {
      r.fold(state, value, {std::int64_t{0}});
    } && !requires(const R r, reducer_state_t<R>& state, const reducer_value_t<R>& value, std::int64_t i) {
      r.fold(state, value, {i});
    } && !requires(const R r, reducer_state_t<R>& state, const reducer_value_t<R>& value, std::uint64_t i) {
      r.fold(state, value, {i});
    };
/// Whether fold has its default, accumulator_type(value). Values that fill an aggregate's first members are not meant.
template <class R>
concept is_joined_as_accumulator = std::is_convertible_v<reducer_value_t<R>, reducer_accumulator_t<R>> ||
                                   (std::is_constructible_v<reducer_accumulator_t<R>, const reducer_value_t<R>&> &&
                                    !std::is_aggregate_v<reducer_accumulator_t<R>>);
template <class R>
concept has_result = requires(const R r, const reducer_accumulator_t<R>& acc) {
  { r.result(acc) } -> std::convertible_to<reducer_result_t<R>>;
};
/// Whether R has members of these names, whatever they take: two bases' members of one name are ambiguous.
struct has_fold_and_result {
  int fold;
  int result;
};
template <class R>
struct with_others_members : R, has_fold_and_result {};
template <class R>
concept can_be_asked_for_names = std::is_class_v<R> && !std::is_final_v<R>;
/// (Of a final class one that is neither a template nor overloaded.)
template <class R>
concept names_fold =
    (can_be_asked_for_names<R> && !requires { &with_others_members<R>::fold; }) || requires { &R::fold; };
template <class R>
concept names_a_result =
    (can_be_asked_for_names<R> && !requires { &with_others_members<R>::result; }) || requires { &R::result; };

/// Whether a function that is no template gets its first argument as something that it cannot change.
template <class Function>
inline constexpr bool changes_nothing = false;
template <class First>
inline constexpr bool is_unchangeable =
    !std::is_lvalue_reference_v<First> || std::is_const_v<std::remove_reference_t<First>>;
template <class R, class Result, class First, class... Others>
inline constexpr bool changes_nothing<Result (R::*)(First, Others...) const> = is_unchangeable<First>;
template <class R, class Result, class First, class... Others>
inline constexpr bool changes_nothing<Result (R::*)(First, Others...) const noexcept> = is_unchangeable<First>;
template <class Result, class First, class... Others>
inline constexpr bool changes_nothing<Result (*)(First, Others...)> = is_unchangeable<First>;
template <class Result, class First, class... Others>
inline constexpr bool changes_nothing<Result (*)(First, Others...) noexcept> = is_unchangeable<First>;

template <class R>
inline constexpr bool joins_nothing = false;
template <class R>
  requires requires { &R::join; }
inline constexpr bool joins_nothing<R> = changes_nothing<decltype(&R::join)>;
template <class R>
inline constexpr bool folds_nothing = false;
template <class R>  // a gathering's state may be a reference in itself
  requires(!names_gathering<R> && requires { &R::fold; })
inline constexpr bool folds_nothing<R> = changes_nothing<decltype(&R::fold)>;

/// Whether R takes a batch, but only where R itself may be changed.
template <class R, class Batch>
concept takes_batch_unless_const =
    !takes_batch<R, Batch> &&
    requires(R r, reducer_state_t<R>& state, const Batch& batch) { r.fold_batch(state, batch); };

/// Says in words what a type lacks to be a reducer; instantiated by every entry point.
template <class R>
struct check_reducer {
  static_assert(!is_finished<R>,
                "fanin: finished(g, reducers...) stands alone: give it all reducers of the call, or, where results are "
                "merged, merge those of its reducers");
  static_assert(has_value_type<R> || is_finished<R>,
                "fanin: this is no reducer: it does not name a value_type (what f(i) gives); give a built-in one, "
                "fanin::sum<double>{}, or one of your own, as fanin/reducer.hpp says");
  static_assert(!lacks_type<R>, "fanin: this reducer lacks the type of its values: sum<double>{}, not sum{}");
  static_assert(has_plain_types<R> || !has_value_type<R>,
                "fanin: a reducer's value_type, accumulator_type and result_type are no references and not const: "
                "sum<double>{}, not sum<const double&>{}");
  static constexpr bool is_complete = [] {
    if constexpr (has_plain_types<R> && !lacks_type<R>) {
      using accumulator = reducer_accumulator_t<R>;
      static_assert(is_bitwise_copyable_v<R>, "fanin: a reducer must be trivially copyable: it travels to devices");
      static_assert(
          is_bitwise_copyable_v<accumulator>,
          "fanin: a reducer's accumulator_type must be trivially copyable, or say that it is bitwise copyable "
          "(fanin::is_bitwise_copyable)");
      static_assert(is_bitwise_copyable_v<reducer_result_t<R>>,
                    "fanin: a reducer's result_type must be trivially copyable, or say that it is bitwise copyable "
                    "(fanin::is_bitwise_copyable)");
      static_assert(has_identity<R>,
                    "fanin: this reducer lacks identity(), a const member that gives the accumulator "
                    "an empty range has");
      static_assert(has_join<R>,
                    "fanin: this reducer lacks join(acc& into, const acc& from), a const member that merges "
                    "two accumulators");
      static_assert(!joins_nothing<R>,
                    "fanin: this reducer's join does not change its first argument: it is a const member "
                    "join(acc& into, const acc& from), which gives nothing");
      static_assert(!folds_nothing<R>,
                    "fanin: this reducer's fold does not change its first argument: it is a const member "
                    "fold(acc&, const value&, std::int64_t index), which gives nothing");
      static_assert(std::is_copy_constructible_v<accumulator> && std::is_copy_assignable_v<accumulator>,
                    "fanin: accumulator_type must be copyable and assignable: its values are handed on");
      static_assert(std::is_default_constructible_v<accumulator>,
                    "fanin: a reducer's accumulator_type must have a default constructor: backends make room for "
                    "several (a reducer whose accumulator is the value: the value_type)");
      static_assert(has_result<R> || !names_a_result<R>,
                    "fanin: this reducer has a result that does not fit, and would be left out: it is a const member "
                    "result(const acc&) that gives the result_type");
      static_assert(has_result<R> || std::is_convertible_v<accumulator, reducer_result_t<R>>,
                    "fanin: this reducer needs result(acc): its accumulator_type does not convert to its result_type");
      using how = gathering_t<R>;
      static_assert(gathers<how, R>,
                    "fanin: this reducer's gathering is none: derive it from fanin::gathering_in_spill<State> or "
                    "another one of fanin/gathering.hpp, and give it begin(reducer, acc& spill) -> State, unless "
                    "the State has a constructor from the spill, and finish(reducer, state&, acc& spill), unless the "
                    "state holds nothing");
      if constexpr (gathers<how, R>) {
        static_assert(has_fold<R> || !names_fold<R> || names_gathering<R>,
                      "fanin: this reducer has a fold that does not fit, and would be left out: it is a const member "
                      "fold(acc&, const value&, std::int64_t index)");
        static_assert(!narrows_index_in_fold<R>,
                      "fanin: this reducer's fold takes a 32-bit index (or no integer): take std::int64_t, "
                      "fold(acc&, const value&, std::int64_t index), or indices beyond 2^31 would wrap");
        static_assert(has_fold<R> || !names_gathering<R>,
                      "fanin: a reducer that names a gathering has a const member "
                      "fold(gathering::state_type&, const value&, std::int64_t index)");
        static_assert(has_fold<R> || names_gathering<R> || is_joined_as_accumulator<R>,
                      "fanin: this reducer needs fold(acc&, value, index): its value_type does not convert to its "
                      "accumulator_type");
        using value_type = reducer_value_t<R>;
        static_assert(!takes_batch_unless_const<R, span_batch<value_type>> &&
                          !takes_batch_unless_const<R, tile_batch<2, 2, value_type>>,
                      "fanin: this reducer's fold_batch is not const, and would be left out");
        static_assert(!how::joins_spills || has_join_spills<how, R>,
                      "fanin: this reducer's gathering has no join_spills(reducer, acc& spill, of, count, worker, "
                      "workers) for the reducer's accumulator_type, by which blocks join theirs");
        static_assert(!how::splits_spill || how::joins_spills,
                      "fanin: this reducer's gathering splits its spill, and has nothing by which a block joins the "
                      "parts: it needs joins_spills, and join_spills");
        static_assert(!how::has_partials || hands_over_partials<how, R>,
                      "fanin: a gathering with partials has drain(reducer, state&) -> partial_type, "
                      "deposit(reducer, partial&, acc& spill), join_partials(reducer, partial&, const partial&), "
                      "is_in_spill(reducer, const partial&) -> bool, result(reducer, const partial&), and, or by "
                      "default, scale(reducer, const partial&) -> int and rescale(reducer, partial&, int) -> bool");
        if constexpr (how::has_partials) {
          static_assert(is_bitwise_copyable_v<typename how::partial_type>,
                        "fanin: a gathering's partial_type must be trivially copyable, or say that it is bitwise "
                        "copyable (fanin::is_bitwise_copyable): blocks hand it to each other");
          static_assert(has_default_scale<how, R> || !has_default_rescale<how, R>,
                        "fanin: a gathering with a scale of its own has rescale(reducer, partial&, int) -> bool too: "
                        "partials of different scales would be joined as they are");
        }
      }
    }
    return true;
  }();
};

/// One element, or what converts to one.
template <class R, class Value>
FANIN_FUNCTION constexpr void fold_value(const R& r, reducer_state_t<R>& state, const Value& value,
                                         std::int64_t index) {
  using value_type = reducer_value_t<R>;
  static_assert(
      std::is_convertible_v<const Value&, value_type>,
      "fanin: what f(i) gives does not convert to the reducer's value_type, or an array's elements do not (for "
      "several reducers: one value for all, or a fanin::tuple with one each)");
  if constexpr (!std::is_same_v<Value, value_type>) {
    detail::fold_value(r, state, static_cast<value_type>(value), index);
  } else if constexpr (has_fold<R>) {
    r.fold(state, value, index);
  } else {
    r.join(state, static_cast<reducer_accumulator_t<R>>(value));
  }
}

template <class R>
FANIN_FUNCTION constexpr reducer_result_t<R> result_value(const R& r, const reducer_accumulator_t<R>& acc) {
  if constexpr (has_result<R>) {
    return r.result(acc);
  } else {
    return acc;
  }
}

}  // namespace detail

/// A type that satisfies the protocol above.
template <class R>
concept reducer = detail::has_value_type<R> && detail::has_identity<R> && detail::has_join<R>;

}  // namespace fanin
