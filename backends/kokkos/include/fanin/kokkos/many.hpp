// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>
#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/host/many.hpp>
#include <fanin/kokkos/functors.hpp>
#include <fanin/kokkos/host_fold.hpp>
#include <fanin/kokkos/launch.hpp>
#include <fanin/kokkos/space.hpp>
#include <fanin/kokkos/state.hpp>
#include <fanin/macros.hpp>

/// Many results in a launch.
namespace fanin::detail {

/// A work item of a host space that has no memory says so: nothing may be thrown out of a parallel region.
template <class Functor>
struct kokkos_item_functor {
  Functor functor;
  std::atomic<bool>* is_out_of_memory;

  void operator()(std::int64_t item) const {
    try {
      functor(item);
    } catch (const std::bad_alloc&) {
      *is_out_of_memory = true;
    }
  }
};

/// A launch on a host space, which is over at the return. Throws bad_alloc where a work item did.
template <class Space, class Functor>
void kokkos_for_items(const Space& space, const kokkos_label& label, std::int64_t items, const Functor& functor) {
  std::atomic<bool> is_out_of_memory = false;
  Kokkos::parallel_for(label.get(), kokkos_range<Space>(space, 0, items),
                       kokkos_item_functor<Functor>{functor, &is_out_of_memory});
  if constexpr (!is_synchronous<Space>) space.fence(label.get());
  if (is_out_of_memory) throw std::bad_alloc();
}

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
            detail::fold_on_host(f, composite.plain(), f.first(), f.first() + f.count(), acc);
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
  // What the threads hold of columns which all of them share.
  constexpr auto most_partials = static_cast<std::int64_t>((std::size_t{64} << 20) / sizeof(accumulator));
  const std::int64_t threads = state.threads();
  const std::int64_t few = All::reduces_fastest ? threads : std::min(many_beside * threads, most_partials / threads);
  const bool shares_elements = (all.results < threads || all.results < few) && all.count > many_elements * threads;
  if (!shares_elements || threads == 1) {
    const std::int64_t items = std::min(all.results, threads);
    detail::kokkos_for_items(space, label, items,
                             kokkos_host_rows_functor<Put, All, Composite>{{0, all.results, items}, put, all, c});
  } else if constexpr (All::reduces_fastest) {
    for (std::int64_t row = 0; row < all.results; ++row) {
      kokkos_slot<accumulator> total{c.identity()};
      detail::reduce_to_slot<Kokkos::HostSpace, !is_synchronous<Space>>(
          state, space, label.get(), all.first(), all.count, axes_row<const All&>{all, all.place(row)}, c.plain(),
          &total);
      put.put(row, c.at(all.place(row)).result_on_host(total.value));
    }
  } else {
    const std::int64_t items = std::min(all.count, threads);
    std::vector<accumulator> partials(static_cast<std::size_t>(items * all.results), c.identity());
    detail::kokkos_for_items(space, label, items,
                             kokkos_host_columns_functor<All, typename Composite::plain_type>{
                                 {0, all.count, items}, all, c.plain(), partials.data()});
    for (std::int64_t row = 0; row < all.results; ++row) {
      accumulator& acc = partials[static_cast<std::size_t>(row)];
      for (std::int64_t item = 1; item < items; ++item) {
        c.join(acc, partials[static_cast<std::size_t>(item * all.results + row)]);
      }
      put.put(row, c.at(all.place(row)).result_on_host(acc));
    }
  }
}

/// Which threads of a host work on which segments: each takes those that begin in its share of all segments and
/// elements, counted together, and of longer segments the pieces that do.
template <class All>
struct kokkos_segments_share {
  const All& all;
  std::int64_t first = all.offset(0);
  std::int64_t elements = std::max<std::int64_t>(all.offset(all.results) - first, 0);

  std::int64_t size() const { return all.results + elements; }
  /// Where a segment begins.
  std::int64_t position(std::int64_t row) const { return row + all.offset(row) - first; }
  /// The first segment that begins there or later.
  std::int64_t row_from(std::int64_t position_from) const {
    std::int64_t low = 0;
    for (std::int64_t high = all.results; low < high;) {
      const std::int64_t middle = low + (high - low) / 2;
      position(middle) < position_from ? low = middle + 1 : high = middle;
    }
    return low;
  }
  /// The first segment of each work item, and their number. Where offsets fall what is found falls, too: item k then
  /// has none, so that each segment is one item's all the same.
  std::vector<std::int64_t> bounds(const kokkos_stretch& share) const {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(share.items) + 1, all.results);
    std::int64_t row = 0;
    for (std::int64_t item = 0; item < share.items; ++item) {
      if (item > 0) row = std::max(row, row_from(share.begin(item)));
      rows[static_cast<std::size_t>(item)] = row;
    }
    return rows;
  }
  /// How many pieces long segments have at the most, where offsets do not fall: fewer than two for each length.
  std::int64_t most_pieces() const { return 2 * (elements / cut_on_hosts.length); }
};

/// A piece of a long segment that was folded, and its accumulator.
template <class Accumulator>
struct kokkos_folded_piece {
  std::int64_t row;
  std::int64_t number;
  Accumulator value;
};

/// Those that threads have folded, in any order.
template <class Accumulator>
struct kokkos_folded_pieces {
  kokkos_folded_piece<Accumulator>* first;
  std::int64_t capacity;
  std::atomic<std::int64_t> asked_for = 0;

  /// Null: there is no room, as only offsets that fall need it.
  kokkos_folded_piece<Accumulator>* next() {
    const std::int64_t at = asked_for++;
    return at < capacity ? first + at : nullptr;
  }
  std::int64_t size() const { return std::min(asked_for.load(), capacity); }
};

template <class Row, class Composite>
void kokkos_fold_piece(const Row& f, const Composite& c, std::int64_t number,
                       typename Composite::accumulator_type& acc) {
  const std::int64_t from = f.first() + number * cut_on_hosts.length;
  detail::fold_on_host(f, c, from, std::min(from + cut_on_hosts.length, f.first() + f.count()), acc);
}
/// Of offsets that fall: one that has no place, folded where it is joined.
template <class Row, class Composite>
void kokkos_join_piece(const Row& f, const Composite& c, std::int64_t number,
                       typename Composite::accumulator_type& into) {
  auto of_piece = c.identity();
  detail::kokkos_fold_piece(f, c, number, of_piece);
  c.join(into, of_piece);
}

/// The segments of one of `items` work items per call.
template <class Put, class All, class Composite>
struct kokkos_host_segments_functor {
  kokkos_stretch share;
  kokkos_segments_share<All> segments;
  Put put;
  Composite composite;
  const std::int64_t* bounds;
  kokkos_folded_pieces<typename Composite::accumulator_type>* pieces;

  void operator()(std::int64_t item) const {
    const All& all = segments.all;
    const auto& c = composite.plain();
    const std::int64_t row = bounds[item];
    if (row > 0) fold_pieces(row - 1, item);
    detail::for_rows(all, row, bounds[item + 1], [&](std::int64_t at, const auto& index) {
      const auto f = all.row(index);
      auto acc = c.identity();
      if (f.count() > cut_on_hosts.length) {
        if (segments.position(at) >= share.begin(item) && fold_pieces(at, item)) return;
        for (std::int64_t piece = 0; piece < cut_on_hosts.pieces(f.count()); ++piece) {
          detail::kokkos_join_piece(f, c, piece, acc);
        }
      } else {
        acc = host::fold_one_row(f, c, host::short_row, [&](const auto& of_row) {
          auto folded = c.identity();
          detail::fold_on_host(of_row, c, of_row.first(), of_row.first() + of_row.count(), folded);
          return folded;
        });
      }
      put.put(at, composite.at(index).result_on_host(acc));
    });
  }

 private:
  /// Those of a long segment that begin in the item's share. Whether the first one is there.
  bool fold_pieces(std::int64_t row, std::int64_t item) const {
    const auto f = segments.all.row(segments.all.place(row));
    constexpr std::int64_t length = cut_on_hosts.length;
    if (f.count() <= length) return false;
    const std::int64_t begin = share.begin(item);
    const std::int64_t end = begin + share.size(item);
    const std::int64_t all_pieces = cut_on_hosts.pieces(f.count());
    const std::int64_t position = segments.position(row);
    const std::int64_t first = position >= begin ? 0 : (begin - position - 1) / length + 1;
    std::int64_t number = first;
    for (; number < all_pieces && position + number * length < end; ++number) {
      auto* const piece = pieces->next();
      if (piece == nullptr) break;
      piece->row = row;
      piece->number = number;
      detail::kokkos_fold_piece(f, composite.plain(), number, piece->value);
    }
    return first == 0 && number > 0;
  }
};

/// On a host space: what threads have of long segments is joined in the pieces' order.
template <class Space, class Put, class All, class Composite>
void kokkos_reduce_segments_on_host(kokkos_state<Space>& state, const Space& space, const kokkos_label& label,
                                    const Put& put, const All& all, const Composite& c) {
  using piece_type = kokkos_folded_piece<typename Composite::accumulator_type>;
  const kokkos_segments_share<All> segments{all};
  const std::int64_t items = std::min(segments.size(), std::int64_t{state.threads()});
  const kokkos_stretch share{0, segments.size(), items};
  std::vector<piece_type> room(static_cast<std::size_t>(segments.most_pieces()), piece_type{0, 0, c.identity()});
  kokkos_folded_pieces<typename Composite::accumulator_type> pieces{room.data(), segments.most_pieces()};
  const std::vector<std::int64_t> bounds = segments.bounds(share);
  detail::kokkos_for_items(
      space, label, items,
      kokkos_host_segments_functor<Put, All, Composite>{share, segments, put, c, bounds.data(), &pieces});
  room.resize(static_cast<std::size_t>(pieces.size()), piece_type{0, 0, c.identity()});
  std::sort(room.begin(), room.end(), [](const piece_type& a, const piece_type& b) {
    return a.row != b.row ? a.row < b.row : a.number < b.number;
  });
  for (auto piece = room.begin(); piece != room.end(); ++piece) {
    if (piece->number != 0) continue;
    const std::int64_t row = piece->row;
    const auto f = all.row(all.place(row));
    auto acc = c.identity();
    auto next = piece;
    for (std::int64_t number = 0; number < cut_on_hosts.pieces(f.count()); ++number) {
      if (next != room.end() && next->row == row && next->number == number) {
        c.join(acc, (next++)->value);
      } else {
        detail::kokkos_join_piece(f, c.plain(), number, acc);
      }
    }
    put.put(row, c.at(f.place).result_on_host(acc));
  }
}

/// On a device, by one thread: what comes of a row, with an accumulator in the workspace.
template <class Row, class Composite>
FANIN_FUNCTION typename Composite::result_type kokkos_result_of_row(
    const Row& f, const Composite& composite, kokkos_slot<typename Composite::accumulator_type>* spill) {
  auto& slot =
      *::new (static_cast<void*>(spill)) kokkos_slot<typename Composite::accumulator_type>{composite.identity()};
  auto state = composite.begin(slot.value);
  for (std::int64_t k = f.first(); k < f.first() + f.count(); ++k) composite.accumulate(f, state, k);
  composite.finish(state, slot.value);
  return composite.at(f.place).result(slot.value);
}

/// A work item takes every items-th row, by itself.
template <class Put, class All, class Composite>
struct kokkos_rows_functor {
  Put put;
  All all;
  Composite composite;
  std::int64_t items;
  kokkos_slot<typename Composite::accumulator_type>* spills;

  FANIN_FUNCTION void operator()(std::int64_t item) const {
    for (std::int64_t row = item; row < all.results; row += items) {
      put.put(row, detail::kokkos_result_of_row(all.row(all.place(row)), composite, spills + item));
    }
  }
};

/// How many work items have an accumulator each, in at most 64 MiB.
template <class Slot, class Space>
std::int64_t kokkos_items(const kokkos_state<Space>& state) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  constexpr auto most = static_cast<std::int64_t>(std::max<std::size_t>(most_bytes / sizeof(Slot), 1));
  return std::min(state.threads(), most);
}

/// The results by put.put(row, result), in the instance's order. On the host they are there at once.
template <class Space, class Put, class All, class Composite>
void kokkos_reduce_rows(kokkos_state<Space>& state, const Space& space, const kokkos_label& label, const Put& put,
                        const All& all, const Composite& c) {
  detail::launch_alone(space, [&] {
    if constexpr (is_host_space<Space> && All::has_equal_rows) {
      detail::kokkos_reduce_rows_on_host(state, space, label, put, all, c);
    } else if constexpr (is_host_space<Space>) {
      detail::kokkos_reduce_segments_on_host(state, space, label, put, all, c);
    } else {
      using slot = kokkos_slot<typename Composite::accumulator_type>;
      const std::int64_t items = std::min(all.results, detail::kokkos_items<slot>(state));
      auto* const spills = static_cast<slot*>(state.workspace(static_cast<std::size_t>(items) * sizeof(slot)));
      Kokkos::parallel_for(label.get(), kokkos_range<Space>(space, 0, items),
                           kokkos_rows_functor<Put, All, Composite>{put, all, c, items, spills});
    }
  });
}

/// The same, of which is got later that they are there: see kokkos_reduce_async.
template <class Space, class Put, class All, class Composite>
pending<void> kokkos_reduce_rows_async(kokkos_state<Space>& state, const Space& space, const kokkos_label& label,
                                       const Put& put, const All& all, const Composite& c) {
  if constexpr (kokkos_results<Space>::has_events) {
    return detail::kokkos_pending<void>(
        state, space, [&](no_result*) { detail::kokkos_reduce_rows(state, space, label, put, all, c); });
  } else {
    detail::kokkos_reduce_rows(state, space, label, put, all, c);
    if constexpr (!is_host_space<Space>) space.fence("fanin::parallel_reduce_async: for the results");
    return pending_of_nothing();
  }
}

}  // namespace fanin::detail
