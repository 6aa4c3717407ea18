// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fanin/detail/reducer_types.hpp>
#include <fanin/device/atomics.hpp>
#include <fanin/macros.hpp>

/// Gathering: what a thread of a call gathers into for a reducer, and what threads and blocks hand each other.
///
/// An ordinary reducer says nothing of it: each thread gathers into an accumulator of its own, and accumulators travel.
/// A reducer whose accumulator is too large for that (a histogram, a superaccumulator) names a `gathering`, derived
/// from one of those below, by which a thread keeps something small, the *state*, and what no state can hold goes to
/// the *spill*: an accumulator in the memory of a CUDA block, which its threads share, and which is the thread's own on
/// a host. It starts as identity(). The reducer's fold takes the state in place of the accumulator, and `acc&` of a
/// functor binds to it:
///
///     struct histogram {
///       using value_type = float;
///       using accumulator_type = counts;  // struct counts { std::int32_t of[100]; };
///       using gathering = fanin::gathering_in_counters<counts, std::int32_t>;
///       FANIN_FUNCTION void fold(gathering::state_type& state, const float& x, std::int64_t) const {
///         fanin::atomic_fetch_add(state->of[bin(x)], 1);
///       }
///       ...  // identity() and join(counts&, const counts&), as of every reducer
///     };
///
/// A gathering has static functions, of which each gets the reducer first:
///   state_type                             what a thread folds into
///   begin(r, acc& spill)                   -> state_type; may keep a reference to the spill
///   finish(r, state_type&, acc& spill)     what the state holds goes to the spill
///   join_spills(r, acc& spill, of, count, worker, workers)
///                                          where joins_spills says that there is one, and with partials: the worker's
///                                          share of joining the spills of(0), ..., of(count - 1) of other blocks to
///                                          this one's: all threads of a block call it at once, between two barriers,
///                                          and nobody else touches the spill
/// Threads of a block begin, fold, finish and deposit concurrently: they touch a spill that they share by
/// fanin::atomic_fetch_add and fanin::atomic_exchange only, and in a way whose result does not depend on the order
/// (integers). Bases give all but the state; what one hides it must mean.
///
/// Where splits_spill says so, which needs join_spills, a block may have several spills for fewer threads to meet in
/// each: as many as its memory has room for, up to 32. Thread t begins with number t modulo how many there are, which
/// it shares with threads of other warps, and where there are fewer than 32 with lanes of its own: by the same rules,
/// and nothing may rely on which threads those are. The block makes all of them identity() before a thread begins; when
/// all have finished, into the first, it joins them to that one by join_spills. Each is a whole accumulator to be
/// cleared and joined, which pays where atomics are slow: of 8 bytes, not of 4, in an H200's shared memory
/// (docs/adr/0009).
///
/// Where loads_ahead says so, a CUDA thread that goes through an array loads its next elements before it folds those
/// that it has: for folds that take about as long as their loads.
///
/// With gathering_with_partials blocks hand each other something small, too, and the spill only where something is in
/// it:
///   partial_type                           small (64 bytes or so), trivially copyable; holds nothing as it is made
///   drain(r, state_type&)                  -> partial_type: what the state holds, which is empty then
///                                          where drains_block says so (default: false), all threads of a CUDA block
///                                          drain at once: thread 0 gets what all of them hold, the others nothing
///   deposit(r, partial_type&, acc& spill)  all of it goes to the spill; it holds nothing then
///   join_partials(r, partial_type&, const partial_type&)   of one scale
///   is_in_spill(r, const partial_type&)    -> bool: whether the state that was drained, one that was joined or a
///                                          deposit has put anything into the spill
///   result(r, const partial_type&)         -> result_type, where nothing is there
///   scale(r, const partial_type&)          -> int: INT_MAX for what holds nothing. Threads bring what they hold to the
///                                          least scale among them before they join it. Default: 0
///   rescale(r, partial_type&, int scale)   -> bool: to that scale, which is not above its own; false, and worth the
///                                          same, where that does not go. Default, beside that of scale: true
///   join_in_warp(r, partial_type&, warp)   joins those of all 32 lanes of a warp, of one scale, in lane 0.
///                                          warp.sum(x) is the sum of all lanes' std::uint32_t x, modulo 2^32;
///                                          warp.join(partial, by) joins them in five steps, each by(into, from), which
///                                          is the default
namespace fanin {

/// An ordinary reducer's: state and partial are the accumulator, and there is no spill.
template <class R>
struct gathering_in_accumulators {
  using state_type = reducer_accumulator_t<R>;
  using partial_type = state_type;
  static constexpr bool has_spill = false;
  static constexpr bool joins_spills = false;
  static constexpr bool splits_spill = false;
  static constexpr bool has_partials = false;
  static constexpr bool drains_block = false;
  static constexpr bool loads_ahead = false;

  FANIN_FUNCTION static constexpr state_type begin(const R& r, state_type&) { return r.identity(); }
  FANIN_FUNCTION static constexpr void finish(const R&, const state_type& state, state_type& spill) { spill = state; }
};

namespace detail {

template <class R>
concept names_gathering = requires { typename R::gathering; };

template <class R>
struct gathering_of {
  using type = gathering_in_accumulators<R>;
};
template <names_gathering R>
struct gathering_of<R> {
  using type = typename R::gathering;
};

}  // namespace detail

/// How a reducer gathers.
template <class R>
using gathering_t = typename detail::gathering_of<R>::type;
template <class R>
using reducer_state_t = typename gathering_t<R>::state_type;

/// Into a spill, by a state that has a constructor from a reference to it. Blocks hand their accumulators to each other
/// as ordinary reducers' do.
template <class State>
struct gathering_in_spill {
  using state_type = State;
  static constexpr bool has_spill = true;
  static constexpr bool joins_spills = false;
  static constexpr bool splits_spill = false;
  static constexpr bool has_partials = false;
  static constexpr bool drains_block = false;
  static constexpr bool loads_ahead = false;

  // An aggregate would be made of a copy of it.
  template <class R>
    requires(std::is_constructible_v<State, reducer_accumulator_t<R>&> && !std::is_aggregate_v<State>)
  FANIN_FUNCTION static constexpr State begin(const R&, reducer_accumulator_t<R>& spill) {
    return State(spill);
  }
  template <class R>
  FANIN_FUNCTION static constexpr void finish(const R&, State&, reducer_accumulator_t<R>&) {}
};

/// A state that is the spill itself.
template <class Accumulator>
class spill_reference {
 public:
  FANIN_FUNCTION constexpr explicit spill_reference(Accumulator& spill) : spill_{&spill} {}
  FANIN_FUNCTION constexpr Accumulator& operator*() const { return *spill_; }
  FANIN_FUNCTION constexpr Accumulator* operator->() const { return spill_; }

 private:
  Accumulator* spill_;
};

/// Into the spill at once, for accumulators that are made of integers of type Count and of nothing else, and are joined
/// by adding these.
template <class Accumulator, class Count>
struct gathering_in_counters : gathering_in_spill<spill_reference<Accumulator>> {
  static_assert(std::is_integral_v<Count> && std::is_trivially_copyable_v<Accumulator>);
  static_assert(sizeof(Accumulator) % sizeof(Count) == 0 && alignof(Accumulator) == alignof(Count));
  static constexpr bool joins_spills = true;
  static constexpr bool splits_spill = sizeof(Count) == 8;

  template <class R, class Of>
  FANIN_FUNCTION static void join_spills(const R&, Accumulator& spill, const Of& of, unsigned count, unsigned worker,
                                         unsigned workers) {
    constexpr auto counters = static_cast<unsigned>(sizeof(Accumulator) / sizeof(Count));
    for (unsigned at = worker; at < counters; at += workers) {
      Count& counter = reinterpret_cast<Count*>(&spill)[at];
      Count sum = counter;
      for (unsigned k = 0; k < count; ++k) sum += reinterpret_cast<const Count*>(&of(k))[at];
      counter = sum;
    }
  }
};

/// Into a state of one's own, and handed over as something small.
template <class State, class Partial>
struct gathering_with_partials : gathering_in_spill<State> {
  using partial_type = Partial;
  static constexpr bool joins_spills = true;
  static constexpr bool has_partials = true;

  template <class R>
  FANIN_FUNCTION static constexpr void finish(const R& r, State& state, reducer_accumulator_t<R>& spill) {
    Partial partial = gathering_t<R>::drain(r, state);
    gathering_t<R>::deposit(r, partial, spill);
  }
  template <class R>
  FANIN_FUNCTION static constexpr int scale(const R&, const Partial&) {
    return 0;
  }
  template <class R>
  FANIN_FUNCTION static constexpr bool rescale(const R&, Partial&, int) {
    return true;
  }
  template <class R, class Warp>
  FANIN_FUNCTION static void join_in_warp(const R& r, Partial& partial, const Warp& warp) {
    warp.join(partial, [&](Partial& into, const Partial& from) { gathering_t<R>::join_partials(r, into, from); });
  }
};

namespace detail {

template <class Accumulator>
struct accumulator_at {
  const Accumulator* first;
  FANIN_FUNCTION const Accumulator& operator()(unsigned k) const { return first[k]; }
};

/// What gathering_t<R> must have.
template <class G, class R>
concept gathers = requires(const R r, reducer_accumulator_t<R>& spill, typename G::state_type& state) {
  requires std::same_as<decltype(G::has_spill), const bool> && std::same_as<decltype(G::joins_spills), const bool> &&
               std::same_as<decltype(G::splits_spill), const bool> &&
               std::same_as<decltype(G::has_partials), const bool>;
  { G::begin(r, spill) } -> std::same_as<typename G::state_type>;
  G::finish(r, state, spill);
};
template <class G, class R>
concept has_join_spills =
    requires(const R r, reducer_accumulator_t<R>& spill, const accumulator_at<reducer_accumulator_t<R>>& of,
             unsigned n) { G::join_spills(r, spill, of, n, n, n); };
template <class G, class R>
concept hands_over_partials =
    requires(const R r, reducer_accumulator_t<R>& spill, typename G::state_type& state, typename G::partial_type& x) {
      { G::drain(r, state) } -> std::same_as<typename G::partial_type>;
      G::deposit(r, x, spill);
      G::join_partials(r, x, x);
      { G::is_in_spill(r, x) } -> std::same_as<bool>;
      { G::result(r, x) } -> std::convertible_to<reducer_result_t<R>>;
      { G::scale(r, x) } -> std::same_as<int>;
      { G::rescale(r, x, 0) } -> std::same_as<bool>;
    };

/// What G would be derived from, if it were.
template <class G>
using base_with_partials = gathering_with_partials<typename G::state_type, typename G::partial_type>;
/// One type for one function: under -fsanitize=undefined g++ refuses a comparison of addresses as no constant.
template <auto* Function>
struct function_type;
/// Whether it has these from there.
template <class G, class R>
concept has_default_scale =
    std::same_as<function_type<&G::template scale<R>>, function_type<&base_with_partials<G>::template scale<R>>>;
template <class G, class R>
concept has_default_rescale =
    std::same_as<function_type<&G::template rescale<R>>, function_type<&base_with_partials<G>::template rescale<R>>>;

}  // namespace detail

/// What gathers for R: see above.
template <class G, class R>
concept gathering = detail::gathers<G, R> && (!G::joins_spills || detail::has_join_spills<G, R>) &&
                    (!G::splits_spill || G::joins_spills) && (!G::has_partials || detail::hands_over_partials<G, R>);

}  // namespace fanin
