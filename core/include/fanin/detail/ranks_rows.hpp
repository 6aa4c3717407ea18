// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/many.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/execution.hpp>
#include <fanin/pending.hpp>

/// What ranks' calls with many results are made of.
namespace fanin::detail {

/// A rank's part of rows, which have the same numbers on all ranks, and how its backend reduces it.
template <class Exec, class Rows, class Composite>
struct part_of_rows {
  const typename backend<Exec>::handle_type& handle;
  const char* label;
  const Rows& rows;
  const Composite& all;

  /// What `reducers` give of each row, to room for all of them.
  template <class Result, class Reducers>
  void into_room(Result* room, const Reducers& reducers) const {
    backend<Exec>::reduce_many_into(handle, label, results_in_order<Result>{room}, rows, all.of_others(reducers));
  }
  template <class Result, class Reducers>
  pending<void> into_room_later(Result* room, const Reducers& reducers) const {
    return backend<Exec>::reduce_many_async(handle, label, results_in_order<Result>{room}, rows,
                                            all.of_others(reducers));
  }
  // Where there are no other ranks.
  template <class Put>
  void into(const Put& put) const {
    backend<Exec>::reduce_many_into(handle, label, put, rows, all);
  }
  template <class Put>
  pending<void> later(const Put& put) const {
    return backend<Exec>::reduce_many_async(handle, label, put, rows, all);
  }
};

/// The indices that are left, whose numbers are those of the rows.
template <class F, class Axes, iterate Order>
constexpr auto left_of(const axes_functor<F, Axes, Order>& rows) {
  return rows.left;
}
template <class F, class Offset>
constexpr auto left_of(const segments_functor<F, Offset>& rows) {
  return md_shape<1, iterate::right>({}, {{rows.results}}, rows.results);
}

/// Throws invalid_argument where the backend does not reach the destination.
template <class Exec, class Result>
void check_put(const typename backend<Exec>::handle_type& handle, const results_in_order<Result>& put,
               const char* call) {
  backend<Exec>::check_memory(handle, put.to, part_of_call(call, "the destination").get());
}
template <class Exec, class Result, std::size_t Rank, iterate Order>
void check_put(const typename backend<Exec>::handle_type& handle, const results_in_view<Result, Rank, Order>& put,
               const char* call) {
  backend<Exec>::check_memory(handle, put.to, part_of_call(call, "the destination").get());
}
template <class Exec, class... Put>
void check_put(const typename backend<Exec>::handle_type& handle, const results_in_each<Put...>& put,
               const char* call) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (detail::check_put<Exec>(handle, get<I>(put.to), call), ...);
  }(std::index_sequence_for<Put...>{});
}

}  // namespace fanin::detail
