// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>

#include <fanin/cuda/reducer/joins_alike.hpp>
#include <fanin/cuda/reducer/ordered.hpp>
#include <fanin/cuda/reducer/packed_sum.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/handed_over.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducers.hpp>

/// Which built-in reducers the CUDA backend replaces by others that give the same result faster, or the same bits in
/// every unit.
namespace fanin::detail {

/// The reducer that stands for R where no functor binds to R's accumulator.
template <class R>
struct substitute {
  using type = R;
};
/// Types of 4 and 8 bytes; smaller ones gain nothing.
template <class T>
inline constexpr bool has_ordered_key = std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);
template <class T>
  requires has_ordered_key<T>
struct substitute<min<T>> {
  using type = ordered_extreme<T, true>;
};
template <class T>
  requires has_ordered_key<T>
struct substitute<max<T>> {
  using type = ordered_extreme<T, false>;
};
template <class T>
  requires has_ordered_key<T>
struct substitute<min_max<T>> {
  using type = ordered_pair<ordered_extreme<T, true>, ordered_extreme<T, false>, min_max_value<T>>;
};
template <class T>
  requires(std::is_arithmetic_v<T> && sizeof(T) <= 8)
struct substitute<min_loc<T>> {
  using type = ordered_place<T, true>;
};
template <class T>
  requires(std::is_arithmetic_v<T> && sizeof(T) <= 8)
struct substitute<max_loc<T>> {
  using type = ordered_place<T, false>;
};
template <class T>
  requires(std::is_arithmetic_v<T> && sizeof(T) <= 8)
struct substitute<min_max_loc<T>> {
  using type = ordered_pair<ordered_place<T, true>, ordered_place<T, false>, min_max_index<T>>;
};

template <class T>
  requires(std::is_arithmetic_v<T> && sizeof(T) <= 8)
struct substitute<handed_over<min_loc<T>>> {
  using type = handed_over_place<T, true>;
};
template <class T>
  requires(std::is_arithmetic_v<T> && sizeof(T) <= 8)
struct substitute<handed_over<max_loc<T>>> {
  using type = handed_over_place<T, false>;
};
template <class T>
  requires(std::is_arithmetic_v<T> && sizeof(T) <= 8)
struct substitute<handed_over<min_max_loc<T>>> {
  using type = ordered_pair<handed_over_place<T, true>, handed_over_place<T, false>, min_max_index<T>>;
};

template <std::integral T, std::integral Acc>
  requires(sizeof(T) <= 2 && !std::is_same_v<T, bool> && !std::is_same_v<Acc, bool>)
struct substitute<sum<T, Acc>> {
  using type = packed_sum<T, Acc>;
};

template <class T>
struct substitute<sum<T, float>> {
  using type = keeping_sum<T>;
};
template <class T>
struct substitute<prod<T, float>> {
  using type = keeping_prod<T>;
};

/// Whether R's batches may come in any order, against what fanin/batch.hpp promises: to those of Fanin's own to whom it
/// does not matter where values stand.
template <class R>
inline constexpr bool takes_batches_in_any_order = false;
template <class T, class Acc>
inline constexpr bool takes_batches_in_any_order<packed_sum<T, Acc>> = true;
template <class T, bool Least>
inline constexpr bool takes_batches_in_any_order<ordered_extreme<T, Least>> = true;
template <class Low, class High, class Result>
inline constexpr bool takes_batches_in_any_order<ordered_pair<Low, High, Result>> =
    takes_batches_in_any_order<Low> && takes_batches_in_any_order<High>;

template <class R>
constexpr auto substitute_reducer(const R& reducer) {
  if constexpr (std::is_same_v<typename substitute<R>::type, R>) {
    return reducer;
  } else {
    return typename substitute<R>::type{};
  }
}

template <class Composite>
constexpr auto substitute_composite(const Composite& c) {
  return c.changed([](auto, const auto& reducer) { return detail::substitute_reducer(reducer); });
}

/// The same for a functor. Where it takes accumulators, only by reducers that have the same.
template <class F, class Composite>
constexpr auto substitute_composite_for(const Composite& c) {
  if constexpr (Composite::template takes_accumulator<F>) {
    return c.changed([]<class R>(auto, const R& reducer) {
      using other = typename substitute<R>::type;
      if constexpr (std::is_same_v<reducer_state_t<other>, reducer_state_t<R>>) {
        return detail::substitute_reducer(reducer);
      } else {
        return reducer;
      }
    });
  } else {
    return detail::substitute_composite(c);
  }
}

}  // namespace fanin::detail
