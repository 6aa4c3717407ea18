// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>
#include <fanin/detail/axes_functor.hpp>
#include <fanin/host/many.hpp>
#include <fanin/kokkos/functors.hpp>
#include <fanin/kokkos/host_fold.hpp>
#include <fanin/kokkos/launch.hpp>
#include <fanin/kokkos/space.hpp>
#include <fanin/kokkos/state.hpp>
#include <fanin/macros.hpp>

/// Many results in a launch.
namespace fanin::detail {

/// The rows of one of `items` work items of a host space per call.
template <class Put, class All, class Composite>
struct kokkos_host_rows_functor {
  kokkos_stretch share;
  Put put;
  All all;
  Composite composite;

  void operator()(std::int64_t item) const {
    const std::int64_t until = share.begin(item + 1);
    const auto put_one = [&](std::int64_t row, const auto& place, const auto& acc) {
      put.put(row, composite.at(place).result_on_host(acc));
    };
    if constexpr (All::reduces_fastest) {
      host::fold_rows(
          all, composite.plain(), share.begin(item), until, host::short_row,
          [&](const auto& f) {
            auto acc = composite.identity();
            fold_on_host(f, composite.plain(), all.first(), all.first() + all.count, acc);
            return acc;
          },
          put_one);
    } else {
      host::fold_columns(all, composite.plain(), share.begin(item), until, 0, all.count, false, put_one);
    }
  }
};

/// All rows' accumulators of one of `items` shares of the elements per call.
template <class All, class Composite>
struct kokkos_host_columns_functor {
  kokkos_stretch share;
  All all;
  Composite composite;
  typename Composite::accumulator_type* partials;

  void operator()(std::int64_t item) const {
    auto* const of_item = partials + item * all.results;
    host::fold_columns(all, composite, 0, all.results, share.begin(item), share.begin(item + 1), false,
                       [&](std::int64_t row, const auto&, const auto& acc) { of_item[row] = acc; });
  }
};

/// On a host space: threads share the rows, or, of few long ones, the elements.
template <class Space, class Put, class All, class Composite>
void kokkos_reduce_rows_on_host(kokkos_state<Space>& state, const Space& space, const kokkos_label& label,
                                const Put& put, const All& all, const Composite& c) {
  using accumulator = typename Composite::accumulator_type;
  // Of a column a thread reads the elements beside its other ones too, and memory is best read in long stretches: of
  // 65,536 x 256 doubles two threads that share the columns took 11.2 ms, one thread 4.4, two that share the rows 2.9.
  constexpr std::int64_t many_beside = 8192;
  constexpr std::int64_t many_elements = 32;
  const std::int64_t threads = state.threads();
  const bool shares_elements = All::reduces_fastest
                                   ? all.results < threads && all.count > many_elements * threads
                                   : all.results < many_beside * threads && all.count > many_elements * threads;
  if (!shares_elements || threads == 1) {
    const std::int64_t items = std::min(all.results, threads);
    Kokkos::parallel_for(label.get(), kokkos_range<Space>(space, 0, items),
                         kokkos_host_rows_functor<Put, All, Composite>{{0, all.results, items}, put, all, c});
  } else if constexpr (All::reduces_fastest) {
    for (std::int64_t row = 0; row < all.results; ++row) {
      kokkos_slot<accumulator> total{c.identity()};
      reduce_to_slot<Kokkos::HostSpace, !is_synchronous<Space>>(state, space, label.get(), all.first(), all.count,
                                                                axes_row<const All&>{all, all.place(row)}, c.plain(),
                                                                &total);
      put.put(row, c.at(all.place(row)).result_on_host(total.value));
    }
  } else {
    const std::int64_t items = std::min(all.count, threads);
    std::vector<accumulator> partials(static_cast<std::size_t>(items * all.results), c.identity());
    Kokkos::parallel_for(label.get(), kokkos_range<Space>(space, 0, items),
                         kokkos_host_columns_functor<All, typename Composite::plain_type>{
                             {0, all.count, items}, all, c.plain(), partials.data()});
    if constexpr (!is_synchronous<Space>) space.fence(label.get());
    for (std::int64_t row = 0; row < all.results; ++row) {
      accumulator& acc = partials[static_cast<std::size_t>(row)];
      for (std::int64_t item = 1; item < items; ++item) {
        c.join(acc, partials[static_cast<std::size_t>(item * all.results + row)]);
      }
      put.put(row, c.at(all.place(row)).result_on_host(acc));
    }
  }
  if constexpr (!is_synchronous<Space>) space.fence(label.get());
}

/// On a device a work item takes every items-th row, by itself, with an accumulator in the workspace.
template <class Put, class All, class Composite>
struct kokkos_rows_functor {
  Put put;
  All all;
  Composite composite;
  std::int64_t items;
  kokkos_slot<typename Composite::accumulator_type>* spills;

  FANIN_FUNCTION void operator()(std::int64_t item) const {
    for (std::int64_t row = item; row < all.results; row += items) {
      auto& slot = *::new (static_cast<void*>(spills + item))
                       kokkos_slot<typename Composite::accumulator_type>{composite.identity()};
      auto state = composite.begin(slot.value);
      const axes_row<const All&> f{all, all.place(row)};
      for (std::int64_t k = all.first(); k < all.first() + all.count; ++k) composite.accumulate(f, state, k);
      composite.finish(state, slot.value);
      put.put(row, composite.at(f.place).result(slot.value));
    }
  }
};

/// The results by put.put(row, result), in the instance's order. On the host they are there at once.
template <class Space, class Put, class All, class Composite>
void kokkos_reduce_rows(kokkos_state<Space>& state, const Space& space, const kokkos_label& label, const Put& put,
                        const All& all, const Composite& c) {
  launch_alone(space, [&] {
    if constexpr (is_host_space<Space>) {
      kokkos_reduce_rows_on_host(state, space, label, put, all, c);
    } else {
      using slot = kokkos_slot<typename Composite::accumulator_type>;
      constexpr std::size_t most_bytes = std::size_t{64} << 20;
      const auto most = static_cast<std::int64_t>(std::max<std::size_t>(most_bytes / sizeof(slot), 1));
      const std::int64_t items = std::min({all.results, state.threads(), most});
      auto* const spills = static_cast<slot*>(state.workspace(static_cast<std::size_t>(items) * sizeof(slot)));
      Kokkos::parallel_for(label.get(), kokkos_range<Space>(space, 0, items),
                           kokkos_rows_functor<Put, All, Composite>{put, all, c, items, spills});
    }
  });
}

}  // namespace fanin::detail
