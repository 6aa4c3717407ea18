// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/detail/composite.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/kokkos/functors.hpp>
#include <fanin/kokkos/host_extremes.hpp>

/// How one thread of a host space folds its share of the indices.
namespace fanin::detail {

/// What is small enough for several copies in registers or the nearest cache.
template <class Accumulator>
inline constexpr bool is_small = sizeof(Accumulator) <= 32;

/// Folds begin..end by fold(acc, i), with eight accumulators in turn, so that an element need not wait for the one
/// before it and g++ makes vectors of them; joined in one order. Large accumulators would cost more than they give.
template <class Accumulator, class Identity, class Fold, class Join>
void fold_lanes(std::int64_t begin, std::int64_t end, Accumulator& acc, const Identity& identity, const Fold& fold,
                const Join& join) {
  constexpr int lanes = 8;
  std::int64_t i = begin;
  if constexpr (is_small<Accumulator>) {
    if (end - begin >= 2 * lanes) {
      Accumulator lane[lanes];
      std::fill_n(lane, lanes, static_cast<Accumulator>(identity()));
      for (; i <= end - lanes; i += lanes) {
        for (int k = 0; k < lanes; ++k) fold(lane[k], i + k);
      }
      // g++ 12 joins vectors of signed integers wrongly if it sees this loop and the next as one. A copy, so that the
      // lanes themselves stay in registers.
      Accumulator partial[lanes];
      std::copy_n(lane, lanes, partial);
      asm volatile("" : "+m"(partial));
      for (int k = 0; k < lanes; ++k) join(acc, partial[k]);
    }
  }
  for (; i < end; ++i) fold(acc, i);
}

/// n values, of which the first has the index `first`, with one reducer. fill: see extreme_of.
template <class Reducer, class T, class Fill>
void fold_values(const Reducer& r, reducer_accumulator_t<Reducer>& acc, const T* values, std::int64_t n,
                 std::int64_t first, const Fill& fill) {
  using accumulator = reducer_accumulator_t<Reducer>;
  if constexpr (block_fold<Reducer>::exists) {
    block_fold<Reducer>::take(acc, values, n, first, fill);
  } else {
    fill(0, n);
    fold_lanes(
        0, n, acc, [&] { return r.identity(); },
        [&](accumulator& lane, std::int64_t k) { fold_value(r, lane, values[k], first + k); },
        [&](accumulator& into, const accumulator& from) { r.join(into, from); });
  }
}

/// Whether values are gathered in blocks, over which each reducer goes by itself: where one of them is faster so, and
/// all want the same values.
template <class F, class Composite>
struct host_blocks {
  static constexpr bool wanted = false;
};
template <class F, class First, class... Rest>
  requires((block_fold<First>::exists || ... || block_fold<Rest>::exists) &&
           (std::is_same_v<reducer_value_t<First>, reducer_value_t<Rest>> && ...) &&
           !functor_traits<F, reducer_state_t<First>, reducer_state_t<Rest>...>::takes_accumulator)
struct host_blocks<F, composite<First, Rest...>> {
  using value_type = reducer_value_t<First>;
  static constexpr bool wanted = std::is_convertible_v<std::invoke_result_t<const F&, std::int64_t>, value_type>;
  static constexpr std::int64_t size = 8192 / sizeof(value_type);

  /// The first reducer's turn fills the values.
  template <class Fill, std::size_t... I>
  static void fold(const composite<First, Rest...>& c, typename composite<First, Rest...>::accumulator_type& acc,
                   const value_type* values, std::int64_t n, std::int64_t first, const Fill& fill,
                   std::index_sequence<0, I...>) {
    fold_values(get<0>(c.reducers), get<0>(acc), values, n, first, fill);
    (fold_values(get<I>(c.reducers), get<I>(acc), values, n, first, is_filled{}), ...);
  }
};

/// What f gives for the indices begin..end: block after block, from the array itself where f reads one, or one by one.
template <class F, class Composite>
void fold_on_host(const F& f, const Composite& c, std::int64_t begin, std::int64_t end,
                  typename Composite::accumulator_type& acc) {
  using accumulator = typename Composite::accumulator_type;
  using blocks = host_blocks<F, Composite>;
  if constexpr (blocks::wanted) {
    using value_type = typename blocks::value_type;
    while (begin < end) {
      const std::int64_t n = std::min(blocks::size, end - begin);
      if constexpr (std::is_same_v<F, kokkos_span_functor<value_type>>) {
        blocks::fold(c, acc, f.data + begin, n, begin, is_filled{}, typename Composite::indices{});
      } else {
        value_type values[blocks::size];
        const auto fill = [&](std::int64_t at, std::int64_t count) {
          for (std::int64_t k = at; k < at + count; ++k) values[k] = static_cast<value_type>(f(begin + k));
        };
        blocks::fold(c, acc, values, n, begin, fill, typename Composite::indices{});
      }
      begin += n;
    }
  } else {
    fold_lanes(
        begin, end, acc, [&] { return c.identity(); },
        [&](accumulator& lane, std::int64_t i) { c.accumulate_on_host(f, lane, i); },
        [&](accumulator& into, const accumulator& from) { c.join(into, from); });
  }
}

/// One of `items` work items per call, each with consecutive indices, into the slot that Kokkos passes. Small: every
/// thread fetches what Kokkos launches from the cache of the thread that launched it.
template <class F, class Composite>
struct kokkos_host_functor {
  std::int64_t first;
  std::int64_t count;
  std::int64_t items;
  [[no_unique_address]] Composite composite;
  F f;

  void operator()(std::int64_t item, kokkos_slot<typename Composite::accumulator_type>& slot) const {
    const std::int64_t least = count / items;
    const std::int64_t rest = count % items;
    const std::int64_t begin = first + item * least + std::min(item, rest);
    const std::int64_t end = begin + least + (item < rest ? 1 : 0);
    if constexpr (is_small<typename Composite::accumulator_type>) {
      auto acc = slot.value;  // a local one, which f cannot reach
      fold_on_host(f, composite, begin, end, acc);
      slot.value = acc;
    } else {
      fold_on_host(f, composite, begin, end, slot.value);
    }
  }
};

}  // namespace fanin::detail
