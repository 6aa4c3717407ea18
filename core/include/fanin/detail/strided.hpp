// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <fanin/detail/array.hpp>
#include <fanin/detail/finished_composite.hpp>
#include <fanin/detail/handed_over.hpp>
#include <fanin/detail/md_functor.hpp>
#include <fanin/detail/md_places.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/macros.hpp>
#include <fanin/md_index.hpp>
#include <fanin/reducer.hpp>
#include <fanin/tuple.hpp>

namespace fanin {

/// Arrays whose elements have indices and strides: in which order a call walks through them.
namespace detail {

template <class X>
constexpr std::size_t find_strided_rank() {
  constexpr std::size_t most = 6;
  if constexpr (!array<X>) {
    return 0;
  } else if constexpr (std::is_array_v<X>) {
    return std::rank_v<X> <= most ? std::rank_v<X> : 0;
  } else if constexpr (has_strides<X>) {
    if constexpr (requires { typename std::integral_constant<std::size_t, X::rank()>; }) {
      return X::rank() <= most ? X::rank() : 0;
    } else {
      return 0;
    }
  } else {
    return known_contiguous<X> ? 1 : 0;
  }
}

/// How many dimensions a type of array has by whose strides its elements are found; 0: it is taken as it lies.
template <class X>
inline constexpr std::size_t strided_rank = find_strided_rank<X>();

/// The number that all arrays of a call have; 0 where they differ: each is taken as it lies.
template <class First, class... Others>
inline constexpr std::size_t common_rank =
    ((strided_rank<Others> == strided_rank<First>) && ...) ? strided_rank<First> : 0;

/// Whether the type alone says that the elements lie in the order of their indices, with nothing between them.
template <class X>
inline constexpr bool is_row_major = std::is_array_v<X> || (known_contiguous<X> && !has_strides<X>);

/// Whether a reducer may see the index of a value: then indices rise with the numbers that a backend counts.
template <class R>
inline constexpr bool sees_index = has_fold<R>;
template <class T, class A>
inline constexpr bool sees_index<sum<T, A>> = false;
template <class T, class A>
inline constexpr bool sees_index<prod<T, A>> = false;
template <class T>
inline constexpr bool sees_index<min<T>> = false;
template <class T>
inline constexpr bool sees_index<max<T>> = false;
template <class T>
inline constexpr bool sees_index<min_max<T>> = false;
template <class T>
inline constexpr bool sees_index<land<T>> = false;
template <class T>
inline constexpr bool sees_index<lor<T>> = false;
template <class R>
inline constexpr bool sees_index<handed_over<R>> = sees_index<R>;
template <class G, class... R>
inline constexpr bool sees_index<finished_reducers<G, R...>> = (sees_index<R> || ...);
template <class... R>
inline constexpr bool sees_index<composite<R...>> = (sees_index<R> || ...);
template <class G, class... R>
inline constexpr bool sees_index<finished_composite<G, R...>> = (sees_index<R> || ...);

/// What a call over arrays of this rank gives: places in several dimensions are md_indices.
template <std::size_t Rank, class... Reducer>
struct result_over_rank : md_result_of_all<Rank, Reducer...> {};
template <std::size_t Rank, class... Reducer>
  requires(Rank < 2)
struct result_over_rank<Rank, Reducer...> : result_of_all<Reducer...> {};
template <class X, class... Reducer>
using array_result_t = typename result_over_rank<strided_rank<X>, Reducer...>::type;

/// The product of the extents. Throws invalid_argument where one is negative, or it does not fit.
template <std::size_t Rank>
std::int64_t count_elements(const md_index<Rank>& extents, const char* call) {
  bool is_empty = false;
  for (std::size_t d = 0; d < Rank; ++d) {
    if (extents[d] < 0) {
      throw invalid_argument(std::string(call) + ": the extent of dimension " + std::to_string(d) + ", " +
                             std::to_string(extents[d]) + ", is negative");
    }
    is_empty = is_empty || extents[d] == 0;
  }
  if (is_empty) return 0;
  std::int64_t count = 1;
  for (std::size_t d = 0; d < Rank; ++d) {
    if (extents[d] > INT64_MAX / count) {
      throw invalid_argument(std::string(call) + ": the number of elements, the product of the extents, does not fit " +
                             "a signed 64-bit integer");
    }
    count *= extents[d];
  }
  return count;
}

template <std::size_t Rank, class X>
md_index<Rank> extents_of(const X& xs, const char* call) {
  md_index<Rank> extents{};
  for (std::size_t d = 0; d < Rank; ++d) {
    const auto extent = [&] {
      if constexpr (has_strides<X> || std::is_array_v<X>) {
        return detail::dimensions_of(xs).extent(d);
      } else {
        return detail::size_of(xs);
      }
    }();
    if (!std::in_range<std::int64_t>(extent)) {
      throw invalid_argument(std::string(call) + ": an extent of " + std::to_string(extent) +
                             " elements does not fit a 64-bit index");
    }
    extents[d] = static_cast<std::int64_t>(extent);
  }
  return extents;
}

/// Of an array that is not empty.
template <std::size_t Rank, class X>
md_index<Rank> strides_of(const X& xs) {
  md_index<Rank> strides{};
  for (std::size_t d = 0; d < Rank; ++d) {
    if constexpr (has_strides<X> || std::is_array_v<X>) {
      strides[d] = static_cast<std::int64_t>(detail::dimensions_of(xs).stride(d));
    } else {
      strides[d] = 1;
    }
  }
  return strides;
}

constexpr std::uint64_t magnitude(std::int64_t stride) {
  return stride < 0 ? 0 - static_cast<std::uint64_t>(stride) : static_cast<std::uint64_t>(stride);
}

/// The box in which the elements of several arrays are walked through together, the last dimension fastest.
template <std::size_t Rank, std::size_t Arrays>
struct strided_walk {
  md_index<Rank> extents{};
  md_index<Rank> strides[Arrays]{};
  bool is_flat = true;  ///< one element behind the other in each array
};

/// By the greatest stride that any of the first `leading` arrays has there.
template <std::size_t Rank, std::size_t Arrays>
std::uint64_t pace(const md_index<Rank> (&strides)[Arrays], std::size_t leading, std::size_t d) {
  std::uint64_t most = 0;
  for (std::size_t a = 0; a < leading; ++a) {
    const std::uint64_t stride = detail::magnitude(strides[a][d]);
    most = stride > most ? stride : most;
  }
  return most;
}

/// Of the extents, none of which is 0, and strides of arrays. Dimensions of one index are left out, those that lie
/// behind each other in all arrays become one, and unless indices shall rise, the smallest stride of the first
/// `leading` arrays comes last.
template <std::size_t Rank, std::size_t Arrays>
strided_walk<Rank, Arrays> make_walk(const md_index<Rank>& extents, const md_index<Rank> (&strides)[Arrays],
                                     bool in_order, std::size_t leading = Arrays) {
  const auto is_slower = [&](std::size_t d, std::size_t other) {
    return detail::pace(strides, leading, other) < detail::pace(strides, leading, d);
  };
  std::size_t dimensions[Rank]{};
  std::size_t count = 0;
  for (std::size_t d = 0; d < Rank; ++d) {
    if (extents[d] == 1) continue;
    std::size_t at = count++;
    for (; Rank > 1 && !in_order && at > 0 && is_slower(d, dimensions[at - 1]); --at) {
      dimensions[at] = dimensions[at - 1];
    }
    dimensions[at] = d;
  }

  strided_walk<Rank, Arrays> walk;
  for (std::int64_t& extent : walk.extents.at) extent = 1;
  std::size_t slowest = Rank;  // of the walk's dimensions so far
  for (std::size_t k = count; k-- > 0;) {
    const std::size_t d = dimensions[k];
    bool continues = slowest < Rank;
    for (std::size_t a = 0; a < Arrays && continues; ++a) {
      continues = static_cast<std::uint64_t>(strides[a][d]) == static_cast<std::uint64_t>(walk.strides[a][slowest]) *
                                                                   static_cast<std::uint64_t>(walk.extents[slowest]);
    }
    if (continues) {
      walk.extents[slowest] *= extents[d];
    } else {
      --slowest;
      walk.extents[slowest] = extents[d];
      for (std::size_t a = 0; a < Arrays; ++a) walk.strides[a][slowest] = strides[a][d];
    }
  }
  walk.is_flat = slowest + 1 >= Rank;
  for (const md_index<Rank>& of_one : walk.strides) {
    walk.is_flat = walk.is_flat && (slowest == Rank || of_one[Rank - 1] == 1);
  }
  return walk;
}

/// f of the elements at an index of a walk through several arrays.
template <class F, std::size_t Rank, class... T>
struct strided_values {
  F f;
  tuple<const T*...> data;
  md_index<Rank> strides[sizeof...(T)];

  template <class... Index>
    requires(sizeof...(Index) == Rank && (std::is_same_v<Index, std::int64_t> && ...))
  FANIN_FUNCTION constexpr auto operator()(Index... index) const {
    return at({index...}, std::index_sequence_for<T...>{}, std::make_index_sequence<Rank>{});
  }

 private:
  template <std::size_t... A, std::size_t... D>
  FANIN_FUNCTION constexpr auto at(const md_index<Rank>& index, std::index_sequence<A...>,
                                   std::index_sequence<D...> dimensions) const {
    return f(get<A>(data)[offset(strides[A], index, dimensions)]...);
  }
  template <std::size_t... D>
  FANIN_FUNCTION static constexpr std::int64_t offset(const md_index<Rank>& stride, const md_index<Rank>& index,
                                                      std::index_sequence<D...>) {
    return ((index[D] * stride[D]) + ...);
  }
};

/// The element itself.
struct itself {
  template <class T>
  FANIN_FUNCTION constexpr T operator()(const T& x) const {
    return x;
  }
};

/// Throws invalid_argument where an array that is not empty is null or misaligned, reaches beyond 64 bits, or lies
/// where the backend cannot reach it.
template <class Exec, std::size_t Rank, class T>
void check_strided(const typename backend<Exec>::handle_type& handle, const T* data, const md_index<Rank>& extents,
                   const md_index<Rank>& strides, std::int64_t count, const char* call) {
  if (data == nullptr) {
    throw invalid_argument(std::string(call) + ": the array is null and has " + std::to_string(count) + " elements");
  }
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0) {
    throw invalid_argument(std::string(call) + ": the array's address is no multiple of its type's alignment, " +
                           std::to_string(alignof(T)) + " bytes");
  }
  constexpr std::uint64_t most = static_cast<std::uint64_t>(INT64_MAX) / sizeof(T);
  std::uint64_t below = 0;
  std::uint64_t above = 0;
  for (std::size_t d = 0; d < Rank; ++d) {
    const auto steps = static_cast<std::uint64_t>(extents[d] - 1);
    const std::uint64_t stride = detail::magnitude(strides[d]);
    std::uint64_t& reach = strides[d] < 0 ? below : above;
    if (steps > 0 && stride > (most - reach) / steps) {
      throw invalid_argument(std::string(call) + ": the array's extents and strides reach beyond 64-bit addresses");
    }
    reach += steps * stride;
  }
  // The ends as addresses: one that is wrong may lie in no array.
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  backend<Exec>::check_memory(handle, reinterpret_cast<const void*>(address - below * sizeof(T)), call);
  if (above + below != 0) {
    backend<Exec>::check_memory(handle, reinterpret_cast<const void*>(address + above * sizeof(T)), call);
  }
}

/// Several arrays of one shape, checked: what they are walked through by, and the places in them.
template <std::size_t Rank, class... T>
struct strided_arrays {
  tuple<const T*...> data;
  md_index<Rank> extents{};
  strided_walk<Rank, sizeof...(T)> walk{};
  std::int64_t count = 0;

  template <class... R>
  constexpr auto composite_of(const R&... reducers) const {
    if constexpr (Rank >= 2) {
      return detail::make_md_composite(md_shape<Rank, iterate::right>({}, extents, count), reducers...);
    } else {
      return detail::make_composite(reducers...);
    }
  }
  /// f of the elements as a functor of numbers.
  template <class F>
  constexpr auto functor(const F& f) const {
    const auto values = [&]<std::size_t... A>(std::index_sequence<A...>) {
      return strided_values<F, Rank, T...>{f, data, {walk.strides[A]...}};
    }(std::index_sequence_for<T...>{});
    if constexpr (Rank == 1) {
      return values;
    } else {
      return md_functor<strided_values<F, Rank, T...>, Rank, iterate::right>{
          md_shape<Rank, iterate::right>({}, walk.extents, count), values};
    }
  }
};

/// Throws invalid_argument where the arrays' shapes differ, and as check_strided does.
template <class Exec, bool InOrder, class X, class... Y>
auto open_arrays(const typename backend<Exec>::handle_type& handle, const char* call, const X& xs, const Y&... ys) {
  constexpr std::size_t rank = common_rank<X, Y...>;
  detail::check_elements<X>();
  (detail::check_elements<Y>(), ...);
  strided_arrays<rank, element_t<X>, element_t<Y>...> arrays{{{{detail::data_of(xs)}, {detail::data_of(ys)}...}}};
  arrays.extents = detail::extents_of<rank>(xs, call);
  if (!((detail::extents_of<rank>(ys, call) == arrays.extents) && ...)) {
    if constexpr (rank == 1) {
      std::string lengths = std::to_string(arrays.extents[0]);
      ((lengths += ", " + std::to_string(detail::extents_of<rank>(ys, call)[0])), ...);
      throw invalid_argument(std::string(call) + ": the arrays' lengths differ (" + lengths +
                             "); give arrays of one length");
    } else {
      throw invalid_argument(std::string(call) + ": the arrays' dimensions differ; give arrays of one shape");
    }
  }
  arrays.count = detail::count_elements(arrays.extents, call);
  if (arrays.count == 0) return arrays;
  const md_index<rank> strides[] = {detail::strides_of<rank>(xs), detail::strides_of<rank>(ys)...};
  [&]<std::size_t... A>(std::index_sequence<A...>) {
    (detail::check_strided<Exec>(handle, get<A>(arrays.data), arrays.extents, strides[A], arrays.count, call), ...);
  }(std::make_index_sequence<1 + sizeof...(Y)>{});
  arrays.walk = detail::make_walk(arrays.extents, strides, InOrder);
  return arrays;
}

}  // namespace detail

}  // namespace fanin
