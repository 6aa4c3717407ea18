// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <fanin/detail/functor.hpp>
#include <fanin/detail/md_functor.hpp>
#include <fanin/detail/md_places.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/detail/over.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/md_index.hpp>
#include <fanin/range.hpp>
#include <fanin/tuple.hpp>

namespace fanin {

/// A box of indices on an execution object, lower[d] <= index[d] < upper[d] for each of 2 to 6 dimensions, in the order
/// of its tag, which functors get as Index, behind a Tag where that is not void. Cheap to copy. Refers to the object,
/// which must outlive it.
template <class Exec, std::size_t Rank, iterate Order = iterate::right, class Index = std::int64_t, class Tag = void>
class md_range_policy {
  static_assert(Rank >= 2 && Rank <= 6, "fanin: an md_range has 2 to 6 dimensions; of one, use fanin::range");

 public:
  using execution_type = Exec;
  using index_type = Index;
  using work_tag = Tag;
  using handle_type = typename backend<Exec>::handle_type;
  static constexpr iterate order = Order;

  /// Throws invalid_argument when upper[d] < lower[d], or when an extent or the number of indices does not fit 64 bits,
  /// or a bound an Index.
  md_range_policy(handle_type handle, const md_index<Rank>& lower, const md_index<Rank>& upper)
      : handle_{handle}, lower_{lower}, upper_{upper}, shape_{lower, extents(), count()} {}

  handle_type handle() const noexcept { return handle_; }
  const md_index<Rank>& lower() const noexcept { return lower_; }
  const md_index<Rank>& upper() const noexcept { return upper_; }
  static constexpr std::size_t rank() noexcept { return Rank; }
  /// How many indices there are. 0 where any extent is 0.
  std::int64_t size() const noexcept { return size_; }

 private:
  friend struct detail::over<md_range_policy>;

  md_index<Rank> extents() const {
    md_index<Rank> extents{};
    for (std::size_t d = 0; d < Rank; ++d) {
      if (upper_[d] < lower_[d]) throw invalid_argument(words(d) + "the extent is negative; give lower <= upper");
      if (lower_[d] < 0 && upper_[d] > INT64_MAX + lower_[d]) {
        throw invalid_argument(words(d) + "the extent does not fit a signed 64-bit integer");
      }
      detail::check_ends<Index>(lower_[d], upper_[d], "fanin::md_range<std::int32_t>");
      extents[d] = upper_[d] - lower_[d];
    }
    return extents;
  }
  std::int64_t count() {
    const md_index<Rank> all = extents();
    for (const std::int64_t extent : all.at) {
      if (extent == 0) return 0;
    }
    size_ = 1;
    for (std::size_t d = 0; d < Rank; ++d) {
      if (all[d] > INT64_MAX / size_) {
        throw invalid_argument(words(d) + "the number of indices does not fit a signed 64-bit integer");
      }
      size_ *= all[d];
    }
    return size_;
  }
  std::string words(std::size_t d) const {
    return "fanin::md_range: dimension " + std::to_string(d) + ", [" + std::to_string(lower_[d]) + ", " +
           std::to_string(upper_[d]) + "): ";
  }

  handle_type handle_;
  md_index<Rank> lower_;
  md_index<Rank> upper_;
  std::int64_t size_ = 0;
  detail::md_shape<Rank, Order> shape_;
};

namespace detail {

/// A bound or extent, of any integer type.
struct md_bound {
  template <index_value T>
  md_bound(T given) : value{detail::to_index(given, "fanin: an index, extent or stride")} {}
  std::int64_t value;
};

template <std::size_t Rank>
md_index<Rank> index_of_bounds(const md_bound (&bounds)[Rank]) {
  md_index<Rank> index{};
  for (std::size_t d = 0; d < Rank; ++d) index[d] = bounds[d].value;
  return index;
}
template <index_value T, std::size_t Rank>
md_index<Rank> index_of_bounds(const std::array<T, Rank>& bounds) {
  md_index<Rank> index{};
  for (std::size_t d = 0; d < Rank; ++d) index[d] = detail::to_index(bounds[d], "fanin: an index, extent or stride");
  return index;
}
template <std::size_t Rank>
md_index<Rank> index_of_bounds(const md_index<Rank>& bounds) {
  return bounds;
}
/// Bounds that have a type, for braces have none.
template <class T>
concept md_bounds = requires(const T& bounds) { detail::index_of_bounds(bounds); };

template <class Exec, std::size_t Rank, iterate Order, class... How>
using md_range_on_t =
    md_range_policy<Exec, Rank, Order, typename range_how<How...>::index_type, typename range_how<How...>::tag_type>;
template <iterate Order, class... How, class Exec, std::size_t Rank>
auto make_md_range(Exec&& exec, const md_index<Rank>& lower, const md_index<Rank>& upper) {
  return md_range_on_t<std::remove_cvref_t<Exec>, Rank, Order, How...>(detail::handle_of(std::forward<Exec>(exec)),
                                                                       lower, upper);
}

}  // namespace detail

/// The indices 0 <= i < extents[0], 0 <= j < extents[1], ... on `exec`, for functors f(i, j, ...) and
/// f(i, j, ..., acc&...): md_range(exec, {rows, columns}). By default the last index counts fastest, so that
/// neighbouring threads differ in it and arrays of C's layout are read in order; md_range<iterate::left> is for
/// Fortran's. Extents are integers of any type in braces, a std::array, or an md_index. Any extent of 0 makes an empty
/// range. `_loc` reducers give an md_index, of equals the first in the range's order, and -1 throughout for an empty
/// range. Otherwise as fanin::range. Throws invalid_argument for a negative extent, and where an extent or the number
/// of indices does not fit 64 bits.
///
/// md_range<std::int32_t>(exec, {rows, columns}) and md_range<iterate::left, std::int32_t>(...) hand functors ints, and
/// md_range<Tag>(...) calls them with a tag first, as fanin::range says.
template <iterate Order = iterate::right, class... How, class Exec, std::size_t Rank>
auto md_range(Exec&& exec, const detail::md_bound (&extents)[Rank]) {
  return detail::make_md_range<Order, How...>(std::forward<Exec>(exec), md_index<Rank>{},
                                              detail::index_of_bounds(extents));
}
template <iterate Order = iterate::right, class... How, class Exec, detail::md_bounds Bounds>
  requires(!detail::md_bounds<Exec>)
auto md_range(Exec&& exec, const Bounds& extents) {
  const auto upper = detail::index_of_bounds(extents);
  return detail::make_md_range<Order, How...>(std::forward<Exec>(exec), decltype(detail::index_of_bounds(extents)){},
                                              upper);
}

/// The same from lower[d] to upper[d] - 1: md_range(exec, {1, 1}, {rows - 1, columns - 1}) leaves a halo out. Throws
/// invalid_argument when upper[d] < lower[d], too.
template <iterate Order = iterate::right, class... How, class Exec, std::size_t Rank>
auto md_range(Exec&& exec, const detail::md_bound (&lower)[Rank], const detail::md_bound (&upper)[Rank]) {
  return detail::make_md_range<Order, How...>(std::forward<Exec>(exec), detail::index_of_bounds(lower),
                                              detail::index_of_bounds(upper));
}
template <iterate Order = iterate::right, class... How, class Exec, detail::md_bounds Lower, detail::md_bounds Upper>
  requires(!detail::md_bounds<Exec>)
auto md_range(Exec&& exec, const Lower& lower, const Upper& upper) {
  return detail::make_md_range<Order, How...>(std::forward<Exec>(exec), detail::index_of_bounds(lower),
                                              detail::index_of_bounds(upper));
}

/// The same in the order of C's arrays with types alone: md_range<std::int32_t>(exec, {rows, columns}).
template <class First, class... How, class Exec, std::size_t Rank>
auto md_range(Exec&& exec, const detail::md_bound (&extents)[Rank]) {
  return detail::make_md_range<iterate::right, First, How...>(std::forward<Exec>(exec), md_index<Rank>{},
                                                              detail::index_of_bounds(extents));
}
template <class First, class... How, class Exec, detail::md_bounds Bounds>
  requires(!detail::md_bounds<Exec>)
auto md_range(Exec&& exec, const Bounds& extents) {
  return fanin::md_range<iterate::right, First, How...>(std::forward<Exec>(exec), extents);
}
template <class First, class... How, class Exec, std::size_t Rank>
auto md_range(Exec&& exec, const detail::md_bound (&lower)[Rank], const detail::md_bound (&upper)[Rank]) {
  return detail::make_md_range<iterate::right, First, How...>(std::forward<Exec>(exec), detail::index_of_bounds(lower),
                                                              detail::index_of_bounds(upper));
}
template <class First, class... How, class Exec, detail::md_bounds Lower, detail::md_bounds Upper>
  requires(!detail::md_bounds<Exec>)
auto md_range(Exec&& exec, const Lower& lower, const Upper& upper) {
  return fanin::md_range<iterate::right, First, How...>(std::forward<Exec>(exec), lower, upper);
}

/// What has no bounds is refused in words; braces are no argument of a template.
template <class... Argument>
  requires(!(detail::md_bounds<Argument> || ...))
void md_range(const Argument&...) {
  static_assert(detail::dependent_false<tuple<Argument...>>,
                "fanin: md_range takes [an execution object,] extents, or lower and upper bounds, one for each of 2 to "
                "6 dimensions: integers in braces, a std::array or a fanin::md_index");
}

namespace detail {

template <class Exec, std::size_t Rank, iterate Order, class Index, class Tag>
struct over<md_range_policy<Exec, Rank, Order, Index, Tag>> {
  using execution_type = Exec;
  using range_type = md_range_policy<Exec, Rank, Order, Index, Tag>;
  using call = index_call<Index, Tag>;
  template <class F>
  using functor_type = md_functor<called_t<call, Rank, F>, Rank, Order>;
  template <class... Reducer>
  using result_type = typename md_result_of_all<Rank, Reducer...>::type;

  static constexpr std::int64_t first(const range_type&) { return 0; }
  static constexpr const md_shape<Rank, Order>& shape(const range_type& range) { return range.shape_; }
  template <class F, class Composite>
  static constexpr bool check_functor() {
    return check_md_composite<F>(std::type_identity<typename Composite::plain_type>{});
  }
  template <class F>
  static constexpr bool check_for_functor() {
    return check_md_for_call<call, F, Rank>();
  }
  template <class... Reducer>
  static constexpr auto composite_of(const range_type& range, const Reducer&... reducers) {
    return detail::make_md_composite(range.shape_, reducers...);
  }
  template <class F>
  static constexpr functor_type<F> functor(const range_type& range, const F& f) {
    if constexpr (call::is_plain) {
      return {range.shape_, f};
    } else {
      return {range.shape_, detail::called<call, Rank>(f)};
    }
  }

 private:
  template <class F, class... R>
  static constexpr bool check_md_composite(std::type_identity<composite<R...>>) {
    if constexpr (check_md_call<call, false, F, Rank, R...>()) {
      constexpr bool has_place_by_hand =
          composite<R...>::template takes_accumulator<functor_type<F>> && (tells_place<R> || ...);
      static_assert(!has_place_by_hand,
                    "fanin: over an md_range reducers that tell a place take values: write f(i, j, ...), for several "
                    "reducers with a fanin::tuple of values, in place of f(i, j, ..., acc&...)");
      return !has_place_by_hand;
    } else {
      return false;
    }
  }
};

}  // namespace detail

}  // namespace fanin
