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

/// Places in an md_range, or along an axis, of which each rank has a part. A part's reducers count its own indices;
/// what ranks hand over counts those of the whole, in the same order: of the box that holds all parts, or of the line.
namespace fanin::detail {

/// A part's box in that of the whole.
template <std::size_t Rank, iterate Order>
struct part_of_box {
  md_shape<Rank, Order> part;
  md_shape<Rank, Order> whole;

  /// The number in the whole of the index that has the number n in the part.
  FANIN_FUNCTION constexpr std::int64_t in_whole(std::int64_t n) const { return whole.number_of(part.index_of(n)); }
};

/// A part's indices count from 0, and are those from `first` on of the whole.
struct part_of_line {
  std::int64_t first;

  FANIN_FUNCTION constexpr std::int64_t in_whole(std::int64_t n) const { return n + first; }
};

/// R, a reducer that tells places, of a part.
template <class R, class Part>
struct places_of_part : R {
  Part part;

  FANIN_FUNCTION constexpr std::int64_t in_whole(std::int64_t n) const {
    return n == no_index ? no_index : part.in_whole(n);
  }
};
template <class R, class Part>
inline constexpr bool tells_place<places_of_part<R, Part>> = true;

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
template <class R, class Part>
struct handed_over<places_of_part<R, Part>> : places_of_part<R, Part> {
  using accumulator_type = reducer_accumulator_t<R>;
  using result_type = accumulator_type;
  FANIN_FUNCTION constexpr accumulator_type result(const accumulator_type& acc) const {
    return detail::numbered(*this, acc);
  }
};

/// R, a reducer of one's own that sees indices: the numbers of the whole.
template <class R, class Part>
struct counted_in_whole : R {
  Part part;

  template <class State>
  FANIN_FUNCTION constexpr void fold(State& state, const reducer_value_t<R>& value, std::int64_t n) const {
    R::fold(state, value, part.in_whole(n));
  }
  /// Whose elements have numbers one behind the other.
  template <class State, class Batch>
  void fold_batch(State&, const Batch&) const = delete;
};

template <class Part, class R>
constexpr auto counted_in(const Part& part, const R& reducer) {
  if constexpr (tells_place<R>) {
    return places_of_part<R, Part>{reducer, part};
  } else if constexpr (sees_index<R>) {
    static_assert(!std::is_final_v<R>, "fanin: over ranks a reducer that sees indices of a part is not final");
    return counted_in_whole<R, Part>{reducer, part};
  } else {
    return reducer;
  }
}

/// Calls make(reducers...) with those that give indices of the whole.
template <class Part, class Make, class... R>
constexpr auto with_counted_in(const Part& part, const Make& make, const R&... reducers) {
  return make(detail::counted_in(part, reducers)...);
}
template <class Part, class Make, class G, class... R>
constexpr auto with_counted_in(const Part& part, const Make& make, const finished_reducers<G, R...>& finished) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return make(fanin::finished(finished.g, detail::counted_in(part, get<I>(finished.reducers))...));
  }(std::index_sequence_for<R...>{});
}

}  // namespace fanin::detail
