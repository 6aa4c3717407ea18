// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fanin/bitwise_copyable.hpp>
#include <fanin/device/atomics.hpp>
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
///   thread_state       optional: what one thread gathers into when that differs from what is merged (see below)
/// and has const members, all FANIN_FUNCTION:
///   identity()                 -> accumulator_type, neutral for join
///   join(acc&, const acc&)     associative and commutative up to rounding
///   fold(acc&, value, index)   one element. Default: join(acc, accumulator_type(value))
///   result(const acc&)         -> result_type. Default: the accumulator itself
///
/// accumulator_type and result_type are bitwise copyable (fanin::is_bitwise_copyable) and default-constructible; both
/// may be of any size that fits a block's shared memory (40 KiB). On CUDA accumulators of up to 64 bytes travel through
/// warp shuffles, larger ones through scratch.
///
/// A reducer whose accumulator is too large for a thread (a superaccumulator, a histogram) names a `thread_state` and
///   begin(acc& scratch)               -> thread_state; may keep a reference to scratch
///   fold(thread_state&, value, index) instead of the one above; `acc&` of a functor binds to the thread_state
///   flush(thread_state&, acc& scratch)
/// where `scratch` starts as identity() and may be shared by all threads of a CUDA block, which begin, fold and flush
/// concurrently: they touch it by fanin::atomic_fetch_add and fanin::atomic_exchange only, and in a way whose result
/// does not depend on the order (integers). On the host each thread has a scratch of its own. It may also have
///   fold_span(thread_state&, const T* values, std::int64_t count, std::int64_t first)
/// for hosts: folds the elements first, first + 1, ... of an array at once;
///   flush_type, small and trivially copyable, which adds nothing as it is made, with
///   drain(thread_state&)                   -> flush_type: what a flush has in hand; the state is then empty
///   scale(const flush_type&)               -> int: INT_MAX for what holds nothing
///   rescale(flush_type&, int scale)        -> bool: to that scale, which is not above its own; false, and worth the
///                                             same, where that does not go
///   join(flush_type&, const flush_type&)   of one scale
///   deposit(flush_type&, acc& scratch)     it holds nothing then
/// by which a CUDA block's threads bring what they hold to the least scale among them and join it, before it goes to
/// scratch (flush is drain and deposit);
///   join_lanes(flush_type&, const Sum& sum)
/// which joins those of all 32 lanes of a warp, of one scale, at once: sum(x) is the sum of all lanes' std::uint32_t x,
/// modulo 2^32. Without it they are joined in five steps;
///   join_shared(acc& scratch, const Of& of, unsigned count, unsigned worker, unsigned workers)
/// by which all threads of a block join the accumulators of(0), ..., of(count - 1) of other blocks at once: it does
/// this worker's share of it, and touches scratch as above. Without it one accumulator after the other is joined;
///   in_scratch(const flush_type&) -> bool: whether the state that was drained, one that was joined or a deposit
///                                          has put anything into scratch
///   result(const flush_type&)     -> result_type, where nothing is there
/// by which, with join_shared, blocks hand each other their flush_type (of up to 64 bytes or so) alone, and scratch
/// only where something is there.
namespace fanin {

namespace detail {

template <class R>
concept names_accumulator = requires { typename R::accumulator_type; };
template <class R>
concept names_result = requires { typename R::result_type; };
template <class R>
concept names_thread_state = requires { typename R::thread_state; };

template <class R>
struct accumulator_of {
  using type = typename R::value_type;
};
template <names_accumulator R>
struct accumulator_of<R> {
  using type = typename R::accumulator_type;
};

template <class R>
struct state_of : accumulator_of<R> {};
template <names_thread_state R>
struct state_of<R> {
  using type = typename R::thread_state;
};

template <class R>
struct result_of : accumulator_of<R> {};
template <names_result R>
struct result_of<R> {
  using type = typename R::result_type;
};

}  // namespace detail

template <class R>
using reducer_value_t = typename R::value_type;
template <class R>
using reducer_accumulator_t = typename detail::accumulator_of<R>::type;
template <class R>
using reducer_state_t = typename detail::state_of<R>::type;
template <class R>
using reducer_result_t = typename detail::result_of<R>::type;

namespace detail {

template <class R>
concept has_value_type = requires { typename R::value_type; };
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
template <class R>
concept has_result = requires(const R r, const reducer_accumulator_t<R>& acc) {
  { r.result(acc) } -> std::convertible_to<reducer_result_t<R>>;
};
template <class R>
concept has_thread_state_members = requires(const R r, reducer_accumulator_t<R>& scratch, reducer_state_t<R>& state) {
  { r.begin(scratch) } -> std::convertible_to<reducer_state_t<R>>;
  r.flush(state, scratch);
};

/// Whether what threads flush can be joined first.
template <class R>
concept names_flush_type = requires { typename R::flush_type; };
template <class R>
concept joins_flushes =
    names_thread_state<R> && names_flush_type<R> &&
    requires(const R r, reducer_state_t<R>& state, typename R::flush_type& held, reducer_accumulator_t<R>& scratch) {
      { r.drain(state) } -> std::same_as<typename R::flush_type>;
      { r.scale(held) } -> std::same_as<int>;
      { r.rescale(held, 0) } -> std::same_as<bool>;
      r.join(held, held);
      r.deposit(held, scratch);
    };

/// Whether a block can join accumulators of other blocks in its scratch.
template <class Accumulator>
struct accumulator_at {
  const Accumulator* first;
  FANIN_FUNCTION const Accumulator& operator()(unsigned k) const { return first[k]; }
};
template <class R>
concept joins_in_scratch = names_thread_state<R> && requires(const R r, reducer_accumulator_t<R>& scratch,
                                                             const accumulator_at<reducer_accumulator_t<R>>& of,
                                                             unsigned n) { r.join_shared(scratch, of, n, n, n); };

/// The effort of a tile that only fold_tile takes: see composite::effort.
inline constexpr unsigned too_much = ~0U;

/// Whether blocks can hand each other what they drained.
template <class R>
concept hands_over_flushes =
    joins_flushes<R> && joins_in_scratch<R> && requires(const R r, const typename R::flush_type& held) {
      { r.in_scratch(held) } -> std::same_as<bool>;
      { r.result(held) } -> std::convertible_to<reducer_result_t<R>>;
    };

/// What blocks hand each other: a flush_type, or the accumulator.
template <class R>
struct parcel_of : accumulator_of<R> {};
template <hands_over_flushes R>
struct parcel_of<R> {
  using type = typename R::flush_type;
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
template <class R>
concept names_fold = can_be_asked_for_names<R> && !requires { &with_others_members<R>::fold; };
template <class R>
concept names_a_result = can_be_asked_for_names<R> && !requires { &with_others_members<R>::result; };

/// Says in words what a type lacks to be a reducer; instantiated by every entry point.
template <class R>
struct check_reducer {
  static_assert(has_value_type<R>, "fanin: this is no reducer: it does not name a value_type (what f(i) gives)");
  static constexpr bool is_complete = [] {
    if constexpr (has_value_type<R>) {
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
      static_assert(has_fold<R> || !names_fold<R>,
                    "fanin: this reducer has a fold that does not fit, and would be left out: it is a const member "
                    "fold(acc&, const value&, std::int64_t index)");
      static_assert(has_result<R> || !names_a_result<R>,
                    "fanin: this reducer has a result that does not fit, and would be left out: it is a const member "
                    "result(const acc&) that gives the result_type");
      static_assert(has_fold<R> || (!names_thread_state<R> && std::is_convertible_v<reducer_value_t<R>, accumulator>),
                    "fanin: this reducer needs fold(acc&, value, index): its value_type does not convert to its "
                    "accumulator_type");
      static_assert(has_result<R> || std::is_convertible_v<accumulator, reducer_result_t<R>>,
                    "fanin: this reducer needs result(acc): its accumulator_type does not convert to its result_type");
      static_assert(
          !names_thread_state<R> || has_thread_state_members<R>,
          "fanin: a reducer that names a thread_state has begin(acc& scratch) and flush(state&, acc& scratch)");
      static_assert(!names_flush_type<R> || joins_flushes<R>,
                    "fanin: a reducer that names a flush_type has a thread_state, drain(state&) -> flush_type, "
                    "scale(const flush_type&) -> int, rescale(flush_type&, int) -> bool, join(flush_type&, const "
                    "flush_type&) and deposit(flush_type&, acc& scratch)");
    }
    return true;
  }();
};

template <class R>
FANIN_FUNCTION constexpr void fold_value(const R& r, reducer_state_t<R>& state, const reducer_value_t<R>& value,
                                         std::int64_t index) {
  if constexpr (has_fold<R>) {
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
