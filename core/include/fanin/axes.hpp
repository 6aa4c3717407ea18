// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/detail/array.hpp>
#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/axes_results.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/detail/many.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/error.hpp>
#include <fanin/md_range.hpp>

namespace fanin {

namespace detail {

template <std::size_t... Axis>
constexpr bool are_distinct() {
  const std::size_t all[] = {Axis..., sizeof...(Axis)};
  for (std::size_t k = 0; k < sizeof...(Axis); ++k) {
    for (std::size_t before = 0; before < k; ++before) {
      if (all[k] == all[before]) return false;
    }
  }
  return true;
}

/// Refuses, in words, what are no axes of a range.
template <std::size_t Rank, std::size_t... Axis>
constexpr bool check_axes() {
  constexpr bool are_dimensions = ((Axis < Rank) && ...);
  static_assert(sizeof...(Axis) > 0, "fanin: axes<...> names at least one dimension to reduce, as axes<1>(range)");
  static_assert(are_dimensions, "fanin: axes<...> names a dimension that the range does not have");
  static_assert(are_distinct<Axis...>(), "fanin: axes<...> names a dimension twice");
  static_assert(sizeof...(Axis) < Rank || !are_dimensions,
                "fanin: axes<...> leaves at least one dimension: to reduce all of them, give the md_range itself");
  return sizeof...(Axis) > 0 && sizeof...(Axis) < Rank && are_dimensions && are_distinct<Axis...>();
}

}  // namespace detail

/// An md_range of which some dimensions are reduced, with a result for each index of those that are left. Cheap to
/// copy. Refers to the range's object, which must outlive it.
template <class MdRange, std::size_t... Axis>
class axes_policy;

template <class Exec, std::size_t Rank, iterate Order, std::size_t... Axis>
class axes_policy<md_range_policy<Exec, Rank, Order>, Axis...> {
 public:
  using execution_type = Exec;
  using range_type = md_range_policy<Exec, Rank, Order>;
  using axes = detail::axes_of<Rank, Axis...>;
  using left_index = md_index<axes::left_rank>;
  using reduced_index = md_index<axes::reduced_rank>;
  using handle_type = typename range_type::handle_type;

  /// Throws invalid_argument when the number of results does not fit 64 bits.
  explicit axes_policy(const range_type& range)
      : handle_{range.handle()},
        results_{product(range, false)},
        left_extents_{extents<axes::left_rank>(range, false)},
        left_{bounds<axes::left_rank>(range, false), left_extents_, results_},
        count_{results_ == 0 ? 0 : product(range, true)},
        reduced_extents_{extents<axes::reduced_rank>(range, true)},
        reduced_{bounds<axes::reduced_rank>(range, true), reduced_extents_, count_} {}

  handle_type handle() const noexcept { return handle_; }
  /// How many results there are. 0 where any extent that is left is 0.
  std::int64_t results() const noexcept { return results_; }
  /// How many indices each of them is reduced from.
  std::int64_t count() const noexcept { return count_; }

 private:
  friend struct detail::many_over<axes_policy>;

  template <std::size_t Some>
  static md_index<Some> bounds(const range_type& range, bool reduced) {
    md_index<Some> lower{};
    for (std::size_t at = 0; at < Some; ++at) lower[at] = range.lower()[axes::dimension(reduced, at)];
    return lower;
  }
  template <std::size_t Some>
  static md_index<Some> extents(const range_type& range, bool reduced) {
    md_index<Some> extents{};
    for (std::size_t at = 0; at < Some; ++at) {
      const std::size_t d = axes::dimension(reduced, at);
      extents[at] = range.upper()[d] - range.lower()[d];
    }
    return extents;
  }
  static std::int64_t product(const range_type& range, bool reduced) {
    std::int64_t all = 1;
    bool is_empty = false;
    bool fits = true;
    for (std::size_t d = 0; d < Rank; ++d) {
      if (axes::is_reduced(d) != reduced) continue;
      const std::int64_t extent = range.upper()[d] - range.lower()[d];
      is_empty = is_empty || extent == 0;
      fits = fits && (extent == 0 || all <= INT64_MAX / extent);
      if (fits && extent > 0) all *= extent;
    }
    if (is_empty) return 0;
    if (!fits) {
      throw invalid_argument(reduced
                                 ? "fanin::axes: the number of indices of a result does not fit a signed 64-bit integer"
                                 : "fanin::axes: the number of results does not fit a signed 64-bit integer");
    }
    return all;
  }

  handle_type handle_;
  std::int64_t results_;
  left_index left_extents_;
  detail::md_shape<axes::left_rank, Order> left_;
  std::int64_t count_;
  reduced_index reduced_extents_;
  detail::md_shape<axes::reduced_rank, Order> reduced_;
};

/// Reduces the dimensions Axis of a range, counted from 0, for each index of the others, which are left: axes<0,
/// 2>(md_range(exec, {n0, n1, n2})) gives n1 results. For parallel_reduce_into and parallel_reduce_async(out, ...). f
/// gets all indices in declared order, f(i, j, ...) or f(i, j, ..., acc&...), and is called exactly once for each.
/// Results stand at the destination in the range's order of the indices that are left (the last of them fastest; of
/// md_range<iterate::left> the first).
///
/// `_loc` reducers give the index along the reduced axis, a std::int64_t, or for several an md_index of them as f got
/// them; of equals the first in the range's order, and -1 for no elements. finished(g, ...) calls g once for each
/// result, with the reducers' results, or with these and the indices that are left, g(results..., i). A reduced extent
/// of 0 gives the identities' results; with an extent of 0 among those that are left nothing is written, and the
/// destination may be null.
///
/// The bits of a result depend on its own elements, the shape, the object, the device and the number of threads, never
/// on what other results hold; of a lone one also on whether several reducers' results go to one place or to one each.
/// The same from run to run.
template <std::size_t... Axis, class Exec, std::size_t Rank, iterate Order>
auto axes(const md_range_policy<Exec, Rank, Order>& range) {
  if constexpr (detail::check_axes<Rank, Axis...>()) {
    return axes_policy<md_range_policy<Exec, Rank, Order>, Axis...>(range);
  }
}

/// Ints and tags are for one result.
template <std::size_t... Axis, class Exec, std::size_t Rank, iterate Order, class Index, class Tag>
  requires(!detail::index_call<Index, Tag>::is_plain)
void axes(const md_range_policy<Exec, Rank, Order, Index, Tag>&) {
  static_assert(detail::dependent_false<Exec>,
                "fanin: axes<...> hands functors std::int64_t, and no tag: leave both out of md_range<...>");
}

/// The rows of an n x m matrix: n results, each of f(i, 0) .. f(i, m - 1). Integers of any type. As axes<1>.
template <class Exec, detail::index_value Rows, detail::index_value Columns>
auto rows(Exec&& exec, Rows n, Columns m) {
  return fanin::axes<1>(fanin::md_range(std::forward<Exec>(exec), {n, m}));
}
/// The columns of an n x m matrix: m results, each of f(0, j) .. f(n - 1, j). As axes<0>.
template <class Exec, detail::index_value Rows, detail::index_value Columns>
auto columns(Exec&& exec, Rows n, Columns m) {
  return fanin::axes<0>(fanin::md_range(std::forward<Exec>(exec), {n, m}));
}

namespace detail {

template <class Exec, std::size_t Rank, iterate Order, std::size_t... Axis>
struct many_over<axes_policy<md_range_policy<Exec, Rank, Order>, Axis...>> {
  using execution_type = Exec;
  using range_type = axes_policy<md_range_policy<Exec, Rank, Order>, Axis...>;
  using axes = typename range_type::axes;
  template <class... Reducer>
  using result_type = typename axes_result_of_all<axes, Reducer...>::type;

  static constexpr iterate order = Order;
  /// Of the indices that are left, in declared order.
  static md_index<axes::left_rank> left_extents(const range_type& range) { return range.left_extents_; }
  static const auto& reduced_shape(const range_type& range) { return range.reduced_; }
  /// The lower ones, and the upper ones.
  static std::array<md_index<axes::reduced_rank>, 2> reduced_bounds(const range_type& range) {
    std::array<md_index<axes::reduced_rank>, 2> bounds{};
    for (std::size_t at = 0; at < axes::reduced_rank; ++at) {
      bounds[0][at] = range.reduced_.lower(at);
      bounds[1][at] = bounds[0][at] + range.reduced_extents_[at];
    }
    return bounds;
  }
  template <class F, class Composite>
  static constexpr bool check_functor() {
    return check_composite<F>(std::type_identity<typename Composite::plain_type>{});
  }
  template <class... Reducer>
  static constexpr auto composite_of(const range_type& range, const Reducer&... reducers) {
    return detail::make_axes_composite<axes>(range.reduced_, reducers...);
  }
  template <class F>
  static constexpr axes_functor<F, axes, Order> functor(const range_type& range, const F& f) {
    return {range.left_, range.reduced_, range.results_, range.count_, f};
  }

 private:
  template <class F, class... R>
  static constexpr bool check_composite(std::type_identity<composite<R...>>) {
    if constexpr (check_functor_of_many<F, Rank, R...>()) {
      using one = axes_row<const axes_functor<F, axes, Order>&>;
      constexpr bool has_place_by_hand =
          axes::reduced_rank > 1 && composite<R...>::template takes_accumulator<one> && (tells_place<R> || ...);
      static_assert(!has_place_by_hand,
                    "fanin: over several reduced axes reducers that tell a place take values: write f(i, j, ...), for "
                    "several reducers with a fanin::tuple of values, in place of f(i, j, ..., acc&...)");
      return !has_place_by_hand;
    } else {
      return false;
    }
  }
};

}  // namespace detail

/// An array of which some dimensions are reduced, with a result for each index of those that are left. Cheap to copy.
/// Refers to the elements, which must outlive it and the calls' work.
template <class T, std::size_t Rank, std::size_t... Axis>
class axes_data {
 public:
  using axes = detail::axes_of<Rank, Axis...>;
  using left_index = md_index<axes::left_rank>;
  using reduced_index = md_index<axes::reduced_rank>;

  /// Throws invalid_argument for a negative extent, and where their product does not fit 64 bits.
  axes_data(const T* data, const md_index<Rank>& extents, const md_index<Rank>& strides)
      : data_{data}, extents_{extents}, strides_{strides}, size_{detail::count_elements(extents, "fanin::axes")} {
    detail::count_elements(left(extents), "fanin::axes");
    detail::count_elements(reduced(extents), "fanin::axes");
  }

  /// How many results there are. 0 where any extent that is left is 0.
  std::int64_t results() const { return detail::count_elements(left(extents_), "fanin::axes"); }
  /// How many elements each of them is reduced from.
  std::int64_t count() const { return detail::count_elements(reduced(extents_), "fanin::axes"); }

 private:
  friend struct detail::many_in<axes_data>;

  static left_index left(const md_index<Rank>& of_all) { return some<axes::left_rank>(of_all, false); }
  static reduced_index reduced(const md_index<Rank>& of_all) { return some<axes::reduced_rank>(of_all, true); }
  template <std::size_t Some>
  static md_index<Some> some(const md_index<Rank>& of_all, bool are_reduced) {
    md_index<Some> picked{};
    for (std::size_t at = 0; at < Some; ++at) picked[at] = of_all[axes::dimension(are_reduced, at)];
    return picked;
  }

  const T* data_;
  md_index<Rank> extents_;
  md_index<Rank> strides_;
  std::int64_t size_;
};

/// Reduces the dimensions Axis, counted from 0, of an array of 2 to 6 (a C array, a fanin::view, a Kokkos::View, what
/// is shaped like mdspan, of any layout) for each index of the others: reduce_into(out, exec, axes<0, 2>(xs),
/// reducers...). As axes<...> of an md_range with f(i, j, ...) = xs(i, j, ...): results stand at the destination with
/// the last index that is left fastest, or, in a view, at their indices; `_loc` reducers give the place along the
/// reduced axes, of equals the lexicographically least. Elements are walked through in the order of memory, unless a
/// reducer sees indices along several reduced axes, so that the bits depend on the layout, too, and on CUDA on the
/// address modulo 16. Throws invalid_argument for extents that do not fit.
template <std::size_t... Axis, detail::array X>
auto axes(const X& xs) {
  constexpr std::size_t rank = detail::strided_rank<X>;
  static_assert(
      rank >= 2,
      "fanin: axes<...>, rows and columns reduce dimensions of an array of 2 to 6 whose strides can be told: a "
      "fanin::view, a Kokkos::View, an mdspan, a C array");
  if constexpr (rank >= 2) {
    if constexpr (detail::check_axes<rank, Axis...>()) {
      detail::check_elements<X>();
      const md_index<rank> extents = detail::extents_of<rank>(xs, "fanin::axes");
      const bool is_empty = detail::count_elements(extents, "fanin::axes") == 0;
      return axes_data<detail::element_t<X>, rank, Axis...>(detail::data_of(xs), extents,
                                                            is_empty ? md_index<rank>{} : detail::strides_of<rank>(xs));
    }
  }
}

/// The rows of a matrix: results for i of xs(i, 0), xs(i, 1), ... As axes<1>.
template <detail::array X>
auto rows(const X& xs) {
  static_assert(detail::strided_rank<X> <= 2, "fanin: rows and columns are of an array of 2 dimensions; of more, axes");
  return fanin::axes<1>(xs);
}
/// The columns of a matrix: results for j of xs(0, j), xs(1, j), ... As axes<0>.
template <detail::array X>
auto columns(const X& xs) {
  static_assert(detail::strided_rank<X> <= 2, "fanin: rows and columns are of an array of 2 dimensions; of more, axes");
  return fanin::axes<0>(xs);
}

namespace detail {
template <class X>
constexpr void check_axes_of() {
  static_assert(array<X>,
                "fanin: axes<...>(xs), rows(xs) and columns(xs) take an array whose dimensions it tells: of a pointer "
                "give a fanin::view");
}
}  // namespace detail
// An application's own rows(m), of one argument and found beside these, is the better one: Others.
template <std::size_t... Axis, class X, class... Others>
  requires(!detail::array<X> && sizeof...(Others) == 0)
void axes(const X&, const Others&...) {
  detail::check_axes_of<X>();
}
template <class X, class... Others>
  requires(!detail::array<X> && sizeof...(Others) == 0)
void rows(const X&, const Others&...) {
  detail::check_axes_of<X>();
}
template <class X, class... Others>
  requires(!detail::array<X> && sizeof...(Others) == 0)
void columns(const X&, const Others&...) {
  detail::check_axes_of<X>();
}

namespace detail {

template <class Axes, class... Reducer>
inline constexpr bool finishes_with_left = false;
template <class Axes, class G, class... R>
inline constexpr bool finishes_with_left<Axes, finished_reducers<G, R...>> =
    finishes_with_indices<G, std::make_index_sequence<Axes::left_rank>, axes_result_of_t<R, Axes::reduced_rank>...>;

template <class T, std::size_t Rank, std::size_t... Axis>
struct many_in<axes_data<T, Rank, Axis...>> {
  using element_type = T;
  using data_type = axes_data<T, Rank, Axis...>;
  using axes = typename data_type::axes;
  static constexpr std::size_t left_rank = axes::left_rank;
  template <class... Reducer>
  using result_type = typename axes_result_of_all<axes, Reducer...>::type;

  static md_index<left_rank> left_extents(const data_type& data) { return data_type::left(data.extents_); }
  /// How many of them reducers count.
  static std::int64_t elements(const data_type& data) { return data.count(); }

  template <class Exec>
  static void check(const typename backend<Exec>::handle_type& handle, const data_type& data, const char* call) {
    if (data.size_ == 0) return;
    detail::check_strided<Exec>(handle, data.data_, data.extents_, data.strides_, data.size_, call);
  }

  /// Calls use(functor of rows, where they stand, composite): rows in the order of memory. At the destinations results
  /// have these strides.
  template <class... Result, class Use, class... Reducer>
  static void with_rows(const data_type& data, const tuple<opened_destination<Result, left_rank>...>& to,
                        const Use& use, const Reducer&... reducers) {
    const auto left = walk_of_left<finishes_with_left<axes, Reducer...>>(data, to);
    const auto reduced = walk_of_reduced(data, (sees_index<Reducer> || ...));
    const std::int64_t results = data.results();
    const auto put = detail::make_put<iterate::right>(to, left.extents, results, strides_of_results(left));
    const auto along = [&]<std::size_t... Reduced>(std::index_sequence<Reduced...>) {
      // Rank dimensions, of which the reduced ones are the last where these lie closer in memory, else the first.
      using canonical = axes_of<Rank, Reduced...>;
      const md_shape<axes::reduced_rank, iterate::right> declared({}, data_type::reduced(data.extents_), data.count());
      const auto all = detail::make_axes_composite<canonical>(declared, reducers...);
      strided_values<itself, Rank, T> values{{}, {{{data.data_}}}, {}};
      for (std::size_t at = 0; at < left_rank; ++at) {
        values.strides[0][canonical::dimension(false, at)] = left.strides[0][at];
      }
      for (std::size_t at = 0; at < axes::reduced_rank; ++at) {
        values.strides[0][canonical::dimension(true, at)] = reduced.strides[0][at];
      }
      use(put,
          axes_functor<strided_values<itself, Rank, T>, canonical, iterate::right>{
              {{}, left.extents, results}, {{}, reduced.extents, data.count()}, results, data.count(), values},
          all);
    };
    if (is_of_rows(left, reduced, results, data.count())) {
      along(moved<left_rank>(std::make_index_sequence<axes::reduced_rank>{}));
    } else {
      along(std::make_index_sequence<axes::reduced_rank>{});
    }
  }

 private:
  template <std::size_t By, std::size_t... At>
  static constexpr std::index_sequence<By + At...> moved(std::index_sequence<At...>) {
    return {};
  }

  /// In the order of the data's memory and with the strides of the results, unless a function gets the indices.
  template <bool AsDeclared, class... Result>
  static auto walk_of_left(const data_type& data, const tuple<opened_destination<Result, left_rank>...>& to) {
    const md_index<left_rank> extents = data_type::left(data.extents_);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      const md_index<left_rank> strides[] = {data_type::left(data.strides_), get<I>(to).strides...};
      strided_walk<left_rank, 1 + sizeof...(Result)> walk;
      if constexpr (AsDeclared) {
        walk.extents = extents;
        for (std::size_t a = 0; a < 1 + sizeof...(Result); ++a) walk.strides[a] = strides[a];
      } else {
        walk = detail::make_walk(extents, strides, false, 1);
      }
      return walk;
    }(std::index_sequence_for<Result...>{});
  }
  static auto walk_of_reduced(const data_type& data, bool in_order) {
    const md_index<axes::reduced_rank> strides[] = {data_type::reduced(data.strides_)};
    if (data.count() == 0) return strided_walk<axes::reduced_rank, 1>{};
    return detail::make_walk(data_type::reduced(data.extents_), strides, in_order);
  }
  template <class Walk>
  static auto strides_of_results(const Walk& left) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<md_index<left_rank>, sizeof...(I)>{left.strides[1 + I]...};
    }(std::make_index_sequence<std::extent_v<decltype(left.strides)> - 1>{});
  }
  /// Whether neighbours in memory are of one row.
  template <class Left, class Reduced>
  static bool is_of_rows(const Left& left, const Reduced& reduced, std::int64_t results, std::int64_t count) {
    if (results == 1 || count == 0) return true;
    if (count == 1) return false;
    return detail::magnitude(reduced.strides[0][axes::reduced_rank - 1]) <=
           detail::magnitude(left.strides[0][left_rank - 1]);
  }
};

}  // namespace detail

}  // namespace fanin
