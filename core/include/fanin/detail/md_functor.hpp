// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <fanin/detail/functor.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/macros.hpp>

namespace fanin::detail {

template <class F, class Indices, class... State>
inline constexpr bool takes_indices = false;
template <class F, std::size_t... I, class... State>
inline constexpr bool takes_indices<F, std::index_sequence<I...>, State...> =
    std::is_invocable_v<const F&, same_for<I, std::int64_t>..., State...>;

/// What F gives for so many indices and states; void where it takes none such, which Clang 14 asks before it looks at
/// a constraint.
template <class F, class Indices, class... State>
struct given_for_indices {
  using type = void;
};
template <class F, std::size_t... I, class... State>
  requires(takes_indices<F, std::index_sequence<I...>, State...>)
struct given_for_indices<F, std::index_sequence<I...>, State...> {
  using type = std::invoke_result_t<const F&, same_for<I, std::int64_t>..., State...>;
};

/// f(i, j, ...) or f(i, j, ..., acc&...) as a functor of the numbers of a shape's indices: what backends reduce.
template <class F, std::size_t Rank, iterate Order>
struct md_functor {
  using dimensions = std::make_index_sequence<Rank>;

  md_shape<Rank, Order> shape;
  F f;

  template <class... State>
    requires(takes_indices<F, dimensions, State...>)
  FANIN_FUNCTION constexpr typename given_for_indices<F, dimensions, State...>::type operator()(
      std::int64_t n, State&&... state) const {
    return call(shape.index_of(n), dimensions{}, static_cast<State&&>(state)...);
  }

 private:
  template <std::size_t... I, class... State>
  FANIN_FUNCTION constexpr decltype(auto) call(const md_index<Rank>& index, std::index_sequence<I...>,
                                               State&&... state) const {
    return f(index[I]..., static_cast<State&&>(state)...);
  }
};

/// Whether for_stretches() finds rows in F.
template <class F>
inline constexpr bool has_rows = false;
template <class F, std::size_t Rank, iterate Order>
inline constexpr bool has_rows<md_functor<F, Rank, Order>> = true;

/// The same for the numbers of one row, in which only the fastest index changes. A Number holds them and the row's
/// indices.
template <class F, std::size_t Rank, iterate Order, class Number>
struct md_row {
  using dimensions = std::make_index_sequence<Rank>;

  const F& f;
  Number index[Rank];  ///< of the number `first`
  Number first;

  template <class... State>
    requires(takes_indices<F, dimensions, State...>)
  FANIN_FUNCTION constexpr decltype(auto) operator()(std::int64_t n, State&&... state) const {
    return call(static_cast<Number>(n), dimensions{}, static_cast<State&&>(state)...);
  }

 private:
  template <std::size_t... I, class... State>
  FANIN_FUNCTION constexpr decltype(auto) call(Number n, std::index_sequence<I...>, State&&... state) const {
    constexpr std::size_t fastest = md_shape<Rank, Order>::fastest;
    return f((I == fastest ? index[I] + (n - first) : index[I])..., static_cast<State&&>(state)...);
  }
};

/// f of an index, of the one below it, and so on: only the next fastest dimension's changes.
template <class F, std::size_t Rank, iterate Order>
struct md_column {
  using dimensions = std::make_index_sequence<Rank>;

  const F& f;
  md_index<Rank> index;

  template <class... State>
    requires(takes_indices<F, dimensions, State...>)
  FANIN_FUNCTION constexpr decltype(auto) operator()(std::int64_t below, State&&... state) const {
    return call(below, dimensions{}, static_cast<State&&>(state)...);
  }

 private:
  template <std::size_t... I, class... State>
  FANIN_FUNCTION constexpr decltype(auto) call(std::int64_t below, std::index_sequence<I...>, State&&... state) const {
    constexpr std::size_t next = md_shape<Rank, Order>::template dimension<1>;
    return f((I == next ? index[I] + below : index[I])..., static_cast<State&&>(state)...);
  }
};

/// use(g, begin, until) for one row; where f takes ints and the numbers fit some, with ints, of which a compiler knows
/// that they do not wrap.
template <std::size_t Rank, iterate Order, class F, class Use, std::size_t... I>
constexpr void use_row(const F& f, const md_index<Rank>& index, std::int64_t begin, std::int64_t until, const Use& use,
                       std::index_sequence<I...>) {
  using number = index_type_of<F>;
  if constexpr (!std::is_same_v<number, std::int64_t>) {
    if (until <= std::numeric_limits<number>::max()) {
      const auto first = static_cast<number>(begin);
      use(md_row<F, Rank, Order, number>{f, {static_cast<number>(index[I])...}, first}, first,
          static_cast<number>(until));
      return;
    }
  }
  use(md_row<F, Rank, Order, std::int64_t>{f, {index[I]...}, begin}, begin, until);
}

/// Calls use(g, begin, end) for stretches of the indices begin .. end - 1, in rising order, where begin, end and i are
/// std::int64_t or what f takes, and g(i) is f(i) without
/// arithmetic that is the same for the whole stretch: rows of an md_range, and of other functors all at once.
template <class F, class Use>
constexpr void for_stretches(const F& f, std::int64_t begin, std::int64_t end, const Use& use) {
  use(f, begin, end);
}
/// Where f takes an int, the loop counts in ints, of which a compiler knows that they do not wrap.
template <class F, class Index, class Tag, class Use>
constexpr void for_stretches(const called_functor<F, index_call<Index, Tag>, std::index_sequence<0>>& f,
                             std::int64_t begin, std::int64_t end, const Use& use) {
  use(f, static_cast<Index>(begin), static_cast<Index>(end));
}
template <class F, std::size_t Rank, iterate Order, class Use>
constexpr void for_stretches(const md_functor<F, Rank, Order>& f, std::int64_t begin, std::int64_t end,
                             const Use& use) {
  if (begin >= end) return;
  using shape = md_shape<Rank, Order>;
  md_index<Rank> index = f.shape.index_of(begin);
  while (true) {
    const std::int64_t done = index[shape::fastest] - f.shape.lower(shape::fastest);
    const std::int64_t n = f.shape.extent(0) - done;
    const std::int64_t until = end - begin < n ? end : begin + n;
    detail::use_row<Rank, Order>(f.f, index, begin, until, use, std::make_index_sequence<Rank>{});
    if (until == end) return;
    begin = until;
    index[shape::fastest] = f.shape.lower(shape::fastest);
    f.shape.template step<1>(index);
  }
}

/// Calls use(g), where g(n) is f(n) for the numbers first .. last: where these are of one row without the arithmetic
/// that is the same for all of them.
template <class F, class Use>
FANIN_FUNCTION constexpr void with_row(const F& f, std::int64_t, std::int64_t, const Use& use) {
  use(f);
}
template <class F, std::size_t Rank, iterate Order, class Use>
FANIN_FUNCTION constexpr void with_row(const md_functor<F, Rank, Order>& f, std::int64_t first, std::int64_t last,
                                       const Use& use) {
  using shape = md_shape<Rank, Order>;
  const md_index<Rank> index = f.shape.index_of(first);
  const std::int64_t before = index[shape::fastest] - f.shape.lower(shape::fastest);
  if (before + (last - first) < f.shape.extent(0)) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      use(md_row<F, Rank, Order, std::int64_t>{f.f, {index[I]...}, first});
    }(std::make_index_sequence<Rank>{});
  } else {
    use(f);
  }
}

}  // namespace fanin::detail
