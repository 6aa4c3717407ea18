// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <fanin/batch.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/detail/md_functor.hpp>

/// How one thread of a host gives a composite consecutive elements, in rising order of the indices: in batches where a
/// reducer takes some.
namespace fanin::detail::host {

/// Elements of a block: of so few bytes that several blocks stay in the nearest cache.
template <class T>
inline constexpr std::int64_t block_of = sizeof(T) < 8192 ? static_cast<std::int64_t>(8192 / sizeof(T)) : 1;

/// An array's elements. Several reducers share them in blocks.
template <class T, class Composite>
constexpr void gather_array(const Composite& c, typename Composite::state_type& state, const span_batch<T>& all) {
  if constexpr (Composite::size == 1) {
    if (all.count > 0) c.fold_batch(state, all);
  } else {
    for (std::int64_t at = 0; at < all.count; at += block_of<T>) {
      const std::int64_t left = all.count - at;
      c.fold_batch(state, span_batch<T>{all.values + at, left < block_of<T> ? left : block_of<T>, all.first + at});
    }
  }
}

/// What f gives for the indices begin .. end - 1, as Value, gathered in blocks.
template <class Value, class F, class Composite>
constexpr void gather_in_blocks(const F& f, const Composite& c, typename Composite::state_type& state,
                                std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t block = block_of<Value>;
  Value values[block];
  while (begin < end) {
    const std::int64_t n = end - begin < block ? end - begin : block;
    detail::for_stretches(f, begin, begin + n, [&values, begin](const auto& g, auto from, auto until) {
      Value* to = values + (from - begin);
      for (auto i = from; i < until; ++i) *to++ = static_cast<Value>(g(i));
    });
    c.fold_batch(state, span_batch<Value>{values, n, begin});
    begin += n;
  }
}

template <class F, class Composite>
inline constexpr bool takes_accumulator = false;
template <class F, class... R>
inline constexpr bool takes_accumulator<F, composite<R...>> =
    functor_traits<F, reducer_state_t<R>...>::takes_accumulator;

/// Whether f(i) gives values that a reducer takes in arrays.
template <class F, class Composite>
constexpr bool gives_spans() {
  if constexpr (takes_accumulator<F, Composite>) {
    return false;
  } else {
    using value_type = std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>;
    return std::is_default_constructible_v<value_type> && std::is_copy_assignable_v<value_type> &&
           Composite::template takes_any_spans<value_type>;
  }
}

/// Calls use with the state, a small one as a copy that nothing else can reach: beside what f writes it stays in
/// registers.
template <class State, class Use>
constexpr void use_apart(State& state, const Use& use) {
  if constexpr (std::is_trivially_copyable_v<State> && sizeof(State) <= 32) {
    State apart = state;
    use(apart);
    state = apart;
  } else {
    use(state);
  }
}

/// The indices begin .. end - 1 of a functor, each of which it is called for once.
template <class F, class Composite>
constexpr void gather_indices(const F& f, const Composite& c, typename Composite::state_type& state, std::int64_t begin,
                              std::int64_t end) {
  if constexpr (gives_spans<F, Composite>()) {
    host::gather_in_blocks<std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>>(f, c, state, begin, end);
  } else {
    detail::for_stretches(f, begin, end, [&](const auto& g, auto from, auto until) {
      host::use_apart(state, [&](auto& apart) {
        for (auto i = from; i < until; ++i) c.accumulate_on_host(g, apart, i);
      });
    });
  }
}

}  // namespace fanin::detail::host
