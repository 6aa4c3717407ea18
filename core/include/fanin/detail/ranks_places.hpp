// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/detail/extremes.hpp>
#include <fanin/detail/handed_over.hpp>
#include <fanin/detail/md_places.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/finished.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducers.hpp>
#include <fanin/tuple.hpp>

/// Places in an md_range of which each rank has a part. A part's reducers count its own indices; what ranks hand over
/// counts those of the box that holds all parts, in the same order.
namespace fanin::detail {

/// R, a reducer that tells places, of a part.
template <class R, std::size_t Rank, iterate Order>
struct places_of_part : R {
  md_shape<Rank, Order> part;
  md_shape<Rank, Order> whole;

  constexpr places_of_part(const R& reducer, const md_shape<Rank, Order>& of_part,
                           const md_shape<Rank, Order>& of_whole)
      : R{reducer}, part{of_part}, whole{of_whole} {}

  FANIN_FUNCTION constexpr std::int64_t in_whole(std::int64_t n) const {
    return n == no_index ? no_index : whole.number_of(part.index_of(n));
  }
};
template <class R, std::size_t Rank, iterate Order>
inline constexpr bool tells_place<places_of_part<R, Rank, Order>> = true;

/// Whether one of a call's reducers does.
template <class Plain>
inline constexpr bool tells_any_place = false;
template <class... R>
inline constexpr bool tells_any_place<composite<R...>> = (tells_place<R> || ...);

template <class T>
FANIN_FUNCTION constexpr value_index<T> numbered(const auto& places, const value_index<T>& acc) {
  return {acc.value, places.in_whole(acc.index)};
}
template <class T>
FANIN_FUNCTION constexpr min_max_index<T> numbered(const auto& places, const min_max_index<T>& acc) {
  return {acc.min, acc.max, places.in_whole(acc.min_index), places.in_whole(acc.max_index)};
}
template <class R, std::size_t Rank, iterate Order>
struct handed_over<places_of_part<R, Rank, Order>> : places_of_part<R, Rank, Order> {
  using accumulator_type = reducer_accumulator_t<R>;
  using result_type = accumulator_type;
  FANIN_FUNCTION constexpr accumulator_type result(const accumulator_type& acc) const {
    return detail::numbered(*this, acc);
  }
};

/// R, a reducer of one's own that sees indices: the numbers of the whole.
template <class R, std::size_t Rank, iterate Order>
struct counted_in_whole : R {
  md_shape<Rank, Order> part;
  md_shape<Rank, Order> whole;

  constexpr counted_in_whole(const R& reducer, const md_shape<Rank, Order>& of_part,
                             const md_shape<Rank, Order>& of_whole)
      : R{reducer}, part{of_part}, whole{of_whole} {}

  template <class State>
  FANIN_FUNCTION constexpr void fold(State& state, const reducer_value_t<R>& value, std::int64_t n) const {
    R::fold(state, value, whole.number_of(part.index_of(n)));
  }
  /// Whose elements have numbers one behind the other.
  template <class State, class Batch>
  void fold_batch(State&, const Batch&) const = delete;
};

template <class R, std::size_t Rank, iterate Order>
constexpr auto placed_in_part(const R& reducer, const md_shape<Rank, Order>& part, const md_shape<Rank, Order>& whole) {
  if constexpr (tells_place<R>) {
    return places_of_part<R, Rank, Order>{reducer, part, whole};
  } else if constexpr (sees_index<R>) {
    static_assert(!std::is_final_v<R>, "fanin: over ranks a reducer that sees indices of an md_range is not final");
    return counted_in_whole<R, Rank, Order>{reducer, part, whole};
  } else {
    return reducer;
  }
}

/// The reducers as one, which gives indices of the whole.
template <std::size_t Rank, iterate Order, class... R>
constexpr auto make_composite_of_part(const md_shape<Rank, Order>& part, const md_shape<Rank, Order>& whole,
                                      const R&... reducers) {
  return detail::make_md_composite(whole, detail::placed_in_part(reducers, part, whole)...);
}
template <std::size_t Rank, iterate Order, class G, class... R>
constexpr auto make_composite_of_part(const md_shape<Rank, Order>& part, const md_shape<Rank, Order>& whole,
                                      const finished_reducers<G, R...>& finished) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return detail::make_md_composite(
        whole, fanin::finished(finished.g, detail::placed_in_part(get<I>(finished.reducers), part, whole)...));
  }(std::index_sequence_for<R...>{});
}

}  // namespace fanin::detail
