// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <fanin/detail/md_functor.hpp>
#include <fanin/host/fold.hpp>
#include <fanin/kokkos/functors.hpp>

/// How one thread of a host space folds its share of the indices.
namespace fanin::detail {

/// What is small enough for several copies in registers or the nearest cache.
template <class Accumulator>
inline constexpr bool is_small = sizeof(Accumulator) <= 32;

/// Folds begin..end by fold(acc, i), with eight accumulators in turn, so that an element need not wait for the one
/// before it and g++ makes vectors of them; joined in one order. Large accumulators would cost more than they give.
template <class Index, class Accumulator, class Identity, class Fold, class Join>
void fold_lanes(Index begin, Index end, Accumulator& acc, const Identity& identity, const Fold& fold,
                const Join& join) {
  constexpr int lanes = 8;
  Index i = begin;
  if constexpr (is_small<Accumulator>) {
    if (std::int64_t{end} - begin >= 2 * lanes) {
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

template <class Composite>
inline constexpr bool has_extreme = false;
template <class... R>
inline constexpr bool has_extreme<composite<R...>> = (host::in_loops<R>::is_extreme || ...);

/// What f gives for the indices begin..end, by the loops of fanin::host where the reducers have some: from the array
/// itself where f reads one. Other values are worth gathering for extremes, and where rows are too short for lanes of
/// their own; sums have no need to meet serial's bits. Reducers with a spill have a state of their own.
template <class F, class Composite>
void fold_on_host(const F& f, const Composite& c, std::int64_t begin, std::int64_t end,
                  typename Composite::accumulator_type& acc) {
  using accumulator = typename Composite::accumulator_type;
  constexpr bool has_spill = Composite::has_any_spill;
  if constexpr (reads_one_array<F> && (has_spill || host::gathers<F, Composite>)) {
    c.join(acc, host::fold_span(f.data, c, begin, end));
  } else if constexpr (has_spill || host::is_dot<F, Composite> ||
                       (host::gathers<F, Composite> && (has_extreme<Composite> || has_rows<F>))) {
    c.join(acc, host::fold(f, c, begin, end));
  } else {
    detail::for_stretches(f, begin, end, [&](const auto& g, auto from, auto until) {
      detail::fold_lanes(
          from, until, acc, [&] { return c.identity(); },
          [&](accumulator& lane, auto i) { c.accumulate_on_host(g, lane, i); },
          [&](accumulator& into, const accumulator& from_lane) { c.join(into, from_lane); });
    });
  }
}

/// The share of one of so many work items, each with consecutive indices.
struct kokkos_stretch {
  std::int64_t first;
  std::int64_t count;
  std::int64_t items;

  std::int64_t begin(std::int64_t item) const { return first + item * (count / items) + std::min(item, count % items); }
  std::int64_t size(std::int64_t item) const { return count / items + (item < count % items ? 1 : 0); }
};

/// One of `items` work items per call, each with consecutive indices, into the slot that Kokkos passes. Small: every
/// thread fetches what Kokkos launches from the cache of the thread that launched it.
template <class F, class Composite>
struct kokkos_host_functor {
  kokkos_stretch share;
  [[no_unique_address]] Composite composite;
  F f;

  void operator()(std::int64_t item, kokkos_slot<typename Composite::accumulator_type>& slot) const {
    const std::int64_t begin = share.begin(item);
    const std::int64_t end = share.begin(item + 1);
    if constexpr (is_small<typename Composite::accumulator_type>) {
      auto acc = slot.value;  // a local one, which f cannot reach
      detail::fold_on_host(f, composite, begin, end, acc);
      slot.value = acc;
    } else {
      detail::fold_on_host(f, composite, begin, end, slot.value);
    }
  }
};

/// f for the indices of one of `items` work items per call.
template <class F>
struct kokkos_host_for_functor {
  kokkos_stretch share;
  F f;

  void operator()(std::int64_t item) const {
    detail::for_stretches(f, share.begin(item), share.begin(item + 1), [](const auto& g, auto from, auto until) {
      for (auto i = from; i < until; ++i) g(i);
    });
  }
};

}  // namespace fanin::detail
