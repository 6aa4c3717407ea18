// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/detail/md_functor.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/macros.hpp>
#include <fanin/md_index.hpp>

namespace fanin::detail {

/// Which dimensions of Rank are reduced, and which are left, in declared order.
template <std::size_t Rank, std::size_t... Axis>
struct axes_of {
  static constexpr std::size_t rank = Rank;
  static constexpr std::size_t reduced_rank = sizeof...(Axis);
  static constexpr std::size_t left_rank = Rank - reduced_rank;
  using dimensions = std::make_index_sequence<Rank>;

  static constexpr bool is_reduced(std::size_t dimension) { return ((dimension == Axis) || ...); }
  /// Among those that are reduced, or left, with it.
  static constexpr std::size_t position(std::size_t dimension) {
    std::size_t before = 0;
    for (std::size_t d = 0; d < dimension; ++d) before += is_reduced(d) == is_reduced(dimension) ? 1 : 0;
    return before;
  }
  /// The dimension that is reduced, or left, at this position.
  static constexpr std::size_t dimension(bool reduced, std::size_t at) {
    std::size_t d = 0;
    while (is_reduced(d) != reduced || position(d) != at) ++d;
    return d;
  }
};

/// The index of dimension D.
template <class Axes, std::size_t D>
FANIN_FUNCTION constexpr std::int64_t index_at(const md_index<Axes::left_rank>& left,
                                               const md_index<Axes::reduced_rank>& reduced) {
  if constexpr (Axes::is_reduced(D)) {
    return reduced[Axes::position(D)];
  } else {
    return left[Axes::position(D)];
  }
}

/// f of an index that is left and of one that is reduced.
template <class F, class Axes, class... State>
  requires(takes_indices<F, typename Axes::dimensions, State...>)
FANIN_FUNCTION constexpr decltype(auto) call_by_axes(const F& f, const md_index<Axes::left_rank>& left,
                                                     const md_index<Axes::reduced_rank>& reduced, State&&... state) {
  return [&]<std::size_t... D>(std::index_sequence<D...>) -> decltype(auto) {
    return f(detail::index_at<Axes, D>(left, reduced)..., static_cast<State&&>(state)...);
  }(typename Axes::dimensions{});
}

template <class All>
struct axes_row;

/// A functor over several dimensions of which some are reduced: `results` rows of `count` elements each. Rows are
/// numbered by the indices that are left, elements by those that are reduced, both in the order of the tag; where one
/// dimension is reduced, an element's number is its index.
template <class F, class Axes, iterate Order>
struct axes_functor {
  using axes = Axes;
  using functor_type = F;
  static constexpr iterate order = Order;
  static constexpr std::size_t fastest = Order == iterate::right ? Axes::rank - 1 : 0;
  /// Whether neighbours in memory are of one row.
  static constexpr bool reduces_fastest = Axes::is_reduced(fastest);
  /// Whether all rows have `count` elements, from first() on.
  static constexpr bool has_equal_rows = true;

  /// How many dimensions count faster than all that are reduced.
  static constexpr std::size_t left_that_are_faster = [] {
    std::size_t n = 0;
    while (!Axes::is_reduced(Order == iterate::right ? Axes::rank - 1 - n : n)) ++n;
    return n;
  }();

  md_shape<Axes::left_rank, Order> left;
  md_shape<Axes::reduced_rank, Order> reduced;
  std::int64_t results;
  std::int64_t count;
  F f;

  /// The number of a row's first element.
  FANIN_FUNCTION constexpr std::int64_t first() const {
    if constexpr (Axes::reduced_rank == 1) {
      return reduced.lower(0);
    } else {
      return 0;
    }
  }
  /// How far neighbours of one row lie from each other, of all elements in their order.
  constexpr std::int64_t elements_apart() const {
    if constexpr (left_that_are_faster == Axes::left_rank) {
      return results;
    } else {
      std::int64_t apart = 1;
      for (std::size_t speed = 0; speed < left_that_are_faster; ++speed) apart *= left.extent(speed);
      return apart;
    }
  }
  FANIN_FUNCTION constexpr md_index<Axes::left_rank> place(std::int64_t row) const { return left.index_of(row); }
  /// The row that stands there, as a functor of its elements' numbers.
  FANIN_FUNCTION constexpr axes_row<const axes_functor&> row(const md_index<Axes::left_rank>& place) const {
    return {*this, place};
  }
  FANIN_FUNCTION constexpr md_index<Axes::reduced_rank> element(std::int64_t n) const {
    if constexpr (Axes::reduced_rank == 1) {
      return {{n}};
    } else {
      return reduced.index_of(n);
    }
  }
};

/// One row's elements by their numbers. All is the functor of all rows, or a reference to one that outlives it.
template <class All>
struct axes_row {
  using axes = typename std::remove_cvref_t<All>::axes;
  using functor_type = typename std::remove_cvref_t<All>::functor_type;

  All all;
  md_index<axes::left_rank> place;

  FANIN_FUNCTION constexpr std::int64_t first() const { return all.first(); }
  FANIN_FUNCTION constexpr std::int64_t count() const { return all.count; }

  template <class... State>
    requires(takes_indices<functor_type, typename axes::dimensions, State...>)
  FANIN_FUNCTION constexpr typename given_for_indices<functor_type, typename axes::dimensions, State...>::type
  operator()(std::int64_t n, State&&... state) const {
    return detail::call_by_axes<functor_type, axes>(all.f, place, all.element(n), static_cast<State&&>(state)...);
  }
};
template <class All>
inline constexpr bool has_rows<axes_row<All>> = true;

/// Elements of which only one index changes: that of dimension Moving, which is `begin` for the number `first`.
template <class All, std::size_t Moving>
struct axes_line {
  using axes = typename All::axes;
  using functor_type = typename All::functor_type;

  const functor_type& f;
  md_index<axes::left_rank> left;
  md_index<axes::reduced_rank> reduced;
  std::int64_t first;

  template <class... State>
    requires(takes_indices<functor_type, typename axes::dimensions, State...>)
  constexpr typename given_for_indices<functor_type, typename axes::dimensions, State...>::type operator()(
      std::int64_t n, State&&... state) const {
    return [&]<std::size_t... D>(std::index_sequence<D...>) -> decltype(auto) {
      return f((detail::index_at<axes, D>(left, reduced) + (D == Moving ? n - first : 0))...,
               static_cast<State&&>(state)...);
    }(typename axes::dimensions{});
  }
};

/// Calls use(index, begin, end) for those stretches of the numbers begin .. end - 1 of a shape in which only its
/// fastest index changes; `index` is that of the stretch's first number.
template <std::size_t Rank, iterate Order, class Use>
constexpr void for_lines(const md_shape<Rank, Order>& shape, std::int64_t begin, std::int64_t end, const Use& use) {
  if (begin >= end) return;
  md_index<Rank> index = shape.index_of(begin);
  if constexpr (Rank == 1) {
    use(index, begin, end);
  } else {
    constexpr std::size_t fastest = md_shape<Rank, Order>::fastest;
    while (true) {
      const std::int64_t n = shape.extent(0) - (index[fastest] - shape.lower(fastest));
      const std::int64_t until = end - begin < n ? end : begin + n;
      use(index, begin, until);
      if (until == end) return;
      begin = until;
      index[fastest] = shape.lower(fastest);
      shape.template step<1>(index);
    }
  }
}

/// Calls use(row, place) for the rows begin .. end - 1, without a division for each.
template <class All, class Use>
constexpr void for_rows(const All& all, std::int64_t begin, std::int64_t end, const Use& use) {
  detail::for_lines(all.left, begin, end, [&](auto place, std::int64_t row, std::int64_t until) {
    for (; row < until; ++row) {
      use(row, place);
      ++place[decltype(all.left)::fastest];
    }
  });
}

/// A row in stretches: see detail/md_functor.hpp.
template <class All, class Use>
constexpr void for_stretches(const axes_row<All>& row, std::int64_t begin, std::int64_t end, const Use& use) {
  using all_type = std::remove_cvref_t<All>;
  using axes = typename all_type::axes;
  using reduced_shape = decltype(row.all.reduced);
  constexpr std::size_t moving = axes::dimension(true, reduced_shape::fastest);
  const std::int64_t first = row.all.first();
  detail::for_lines(
      row.all.reduced, begin - first, end - first, [&](const auto& index, std::int64_t from, std::int64_t until) {
        use(axes_line<all_type, moving>{row.all.f, row.place, index, first + from}, first + from, first + until);
      });
}

/// What a line of rows has at one element, as a functor of that element's number.
template <class Line>
struct element_of_line {
  const Line& line;
  std::int64_t row;

  template <class... State>
    requires(std::is_invocable_v<const Line&, std::int64_t, State...>)
  constexpr auto operator()(std::int64_t, State&&... state) const {
    return line(row, static_cast<State&&>(state)...);
  }
};

/// Calls use(line, from, until) for stretches of the rows begin .. end - 1 at one element, where line(row) is what f
/// gives.
template <class All, class Use>
constexpr void for_rows_at(const All& all, const md_index<All::axes::reduced_rank>& element, std::int64_t begin,
                           std::int64_t end, const Use& use) {
  using axes = typename All::axes;
  using left_shape = decltype(all.left);
  constexpr std::size_t moving = axes::dimension(false, left_shape::fastest);
  detail::for_lines(all.left, begin, end, [&](const auto& index, std::int64_t from, std::int64_t until) {
    use(axes_line<All, moving>{all.f, index, element, from}, from, until);
  });
}

}  // namespace fanin::detail
