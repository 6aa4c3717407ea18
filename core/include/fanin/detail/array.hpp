// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <fanin/detail/label.hpp>
#include <fanin/detail/many.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>

/// What reduce and transform_reduce take as an array, and how it says that its elements stand side by side.
namespace fanin::detail {

template <class X>
concept has_data = requires(const X& x) {
  std::data(x);
  std::size(x);
  requires std::is_pointer_v<decltype(std::data(x))>;
};

/// std::mdspan and those that look like it.
template <class X>
concept has_data_handle = !has_data<X> && requires(const X& x) {
  { x.is_exhaustive() } -> std::convertible_to<bool>;
  x.size();
  requires std::is_pointer_v<std::remove_cvref_t<decltype(x.data_handle())>>;
};

/// Elements at a pointer. A string is a label.
template <class X>
concept array = !label<X> && (has_data<X> || has_data_handle<X>);

template <array X>
constexpr auto data_of(const X& x) {
  if constexpr (std::rank_v<X> > 1) {
    return reinterpret_cast<const std::remove_all_extents_t<X>*>(x);
  } else if constexpr (has_data<X>) {
    return std::data(x);
  } else {
    return x.data_handle();
  }
}

template <array X>
constexpr std::size_t size_of(const X& x) {
  if constexpr (std::rank_v<X> > 1) {
    return sizeof(X) / sizeof(std::remove_all_extents_t<X>);
  } else {
    return static_cast<std::size_t>(std::size(x));
  }
}

template <array X>
using element_t = std::remove_cv_t<std::remove_pointer_t<decltype(detail::data_of(std::declval<const X&>()))>>;

/// Always: std::span, std::vector, C arrays, fanin::buffer (which gives a std::span and no iterators).
template <class X>
concept known_contiguous = std::ranges::contiguous_range<const X&> || requires(const X& x) {
  { x.span() } -> std::convertible_to<std::span<const element_t<X>>>;
};

/// Says so when asked, as Kokkos::View.
template <class X>
concept tells_contiguous = has_data<X> && requires(const X& x) {
  { x.span_is_contiguous() } -> std::convertible_to<bool>;
  { x.span() } -> std::convertible_to<std::size_t>;
};

template <class X>
concept has_extents = requires(const X& x, std::size_t r) {
  { x.rank() } -> std::convertible_to<std::size_t>;
  { x.extent(r) } -> std::convertible_to<std::size_t>;
};

/// Of an mdspan without dimensions, or whose layout has none (tiles, packed triangles), stride() may be there and not
/// compile.
template <class X>
concept has_no_dimensions = requires { typename std::bool_constant<(X::rank() == 0)>; } && (X::rank() == 0);
template <class X>
concept has_no_strides = requires { typename std::bool_constant<X::is_always_strided()>; } && !X::is_always_strided();

template <class X>
concept has_strides =
    has_extents<X> && !has_no_dimensions<X> && !has_no_strides<X> && requires(const X& x, std::size_t r) {
      { x.stride(r) } -> std::convertible_to<std::size_t>;
    };

/// Whether every element has a place of its own and there is nothing between them.
template <has_strides X>
constexpr bool strides_fill(const X& xs) {
  const auto rank = static_cast<std::size_t>(xs.rank());
  std::size_t left = 0;
  for (std::size_t r = 0; r < rank; ++r) left += static_cast<std::size_t>(xs.extent(r)) > 1 ? 1 : 0;
  for (std::size_t filled = 1; left > 0; --left) {
    std::size_t next = 0;
    while (next < rank &&
           !(static_cast<std::size_t>(xs.extent(next)) > 1 && static_cast<std::size_t>(xs.stride(next)) == filled)) {
      ++next;
    }
    if (next == rank) return false;
    filled *= static_cast<std::size_t>(xs.extent(next));
  }
  return true;
}

/// Whether the elements of an array that is not empty stand side by side, as it says itself. Views that overlap
/// themselves call that contiguous, packed triangles of matrices exhaustive.
template <class X>
constexpr bool says_contiguous(const X& xs) {
  if constexpr (has_strides<X>) {
    return detail::strides_fill(xs);
  } else if constexpr (tells_contiguous<X>) {
    return xs.span_is_contiguous() && static_cast<std::size_t>(xs.span()) == static_cast<std::size_t>(xs.size());
  } else if constexpr (requires { xs.is_unique(); }) {
    return xs.is_exhaustive() && xs.is_unique();
  } else {
    return xs.is_exhaustive();
  }
}

/// Whether X is an array; what is none is refused in words.
template <class X>
constexpr bool check_array() {
  static_assert(
      !std::is_pointer_v<X>,
      "fanin: where an array is wanted stands a pointer, which does not say how many elements there are: give "
      "std::span(pointer, n)");
  static_assert(
      !data_of_many<X>,
      "fanin: axes<...>(xs), rows(xs), columns(xs) and segments(xs, offsets) give many results: reduce_into(out, "
      "exec, data, reducers...), reduce_async(out, exec, data, reducers...)");
  static_assert(!has_runs<X>,
                "fanin: runs(xs, keys) give keys, results and how many they are: reduce(runs_to(keys, results), exec, "
                "runs(xs, keys), reducers...), and as well reduce_async");
  constexpr bool is_text = label<X> && !std::is_pointer_v<X>;
  static_assert(
      !is_text,
      "fanin: where an array is wanted stands text, which is a call's label: of its characters as numbers give "
      "std::span(text)");
  static_assert(
      array<X> || is_text || std::is_pointer_v<X> || data_of_many<X> || has_runs<X>,
      "fanin: what stands where an array is wanted has no data() and size() with a pointer to its elements: give "
      "a std::span, a fanin::buffer, a vector (of what lies on a device: a std::span of its raw pointer)");
  return array<X>;
}

/// What segments(...) and runs(...) take. Anything else is refused in words.
template <class First, class Beside>
concept array_beside_range_or_array = (execution<First> || array<First>) && array<Beside>;
template <class First, class Beside>
constexpr void check_array_beside() {
  static_assert(array_beside_range_or_array<First, Beside>,
                "fanin: segments(exec, offsets), segments(xs, offsets), runs(exec, keys) and runs(xs, keys) take an "
                "execution object or an array, and an array: of a pointer give std::span(pointer, n)");
}

/// Refuses, in words, elements that are not what a pointer shows.
template <array X>
constexpr void check_elements() {
  if constexpr (has_data_handle<X>) {
    static_assert(std::is_same_v<typename X::reference, typename X::element_type&>,
                  "fanin: this mdspan's accessor gives something else than the elements: reduce it by index, with "
                  "fanin::parallel_reduce");
  }
}

/// The elements of xs, in the order of their addresses. Throws invalid_argument where they do not stand side by side.
template <array X>
std::span<const element_t<X>> view_of(const X& xs, const char* call) {
  const std::size_t size = detail::size_of(xs);
  [[maybe_unused]] const auto refuse = [&] {
    throw invalid_argument(std::string(call) + ": the array is not contiguous: beside or between its " +
                           std::to_string(size) +
                           " elements there are others (a part of a matrix, or one with padding); reduce a contiguous "
                           "copy of it, or its elements by index with fanin::parallel_reduce");
  };
  if constexpr (has_data_handle<X>) detail::check_elements<X>();
  if constexpr (tells_contiguous<X> || has_data_handle<X> || (has_strides<X> && !known_contiguous<X>)) {
    if (size != 0 && !detail::says_contiguous(xs)) refuse();
  } else {
    static_assert(known_contiguous<X>,
                  "fanin: this type has data() and size(), but does not say that its elements stand side by side: if "
                  "they do, give std::span(x.data(), x.size())");
  }
  return {detail::data_of(xs), size};
}

/// Of a C array, told as an mdspan tells its own.
template <class X>
struct dimensions_of_c_array {
  static constexpr std::size_t rank() { return std::rank_v<X>; }
  static constexpr std::size_t extent(std::size_t r) {
    return r == 0 ? std::extent_v<X> : dimensions_of_c_array<std::remove_extent_t<X>>::extent(r - 1);
  }
  static constexpr std::size_t stride(std::size_t r) { return r + 1 == rank() ? 1 : extent(r + 1) * stride(r + 1); }
};
template <class X>
  requires(std::rank_v<X> == 0)
struct dimensions_of_c_array<X> {
  static constexpr std::size_t extent(std::size_t) { return 1; }
};

template <class X>
constexpr decltype(auto) dimensions_of(const X& xs) {
  if constexpr (std::is_array_v<X>) {
    return dimensions_of_c_array<X>{};
  } else {
    return (xs);
  }
}

template <class X, class Y>
constexpr bool have_same_extents(const X& xs, const Y& ys, std::size_t rank) {
  for (std::size_t r = 0; r < rank; ++r) {
    if (static_cast<std::size_t>(xs.extent(r)) != static_cast<std::size_t>(ys.extent(r))) return false;
  }
  return true;
}

/// Of dimensions in which there is a next element.
template <class X, class Y>
constexpr bool have_same_strides(const X& xs, const Y& ys, std::size_t rank) {
  for (std::size_t r = 0; r < rank; ++r) {
    const bool counts = static_cast<std::size_t>(xs.extent(r)) > 1;
    if (counts && static_cast<std::size_t>(xs.stride(r)) != static_cast<std::size_t>(ys.stride(r))) return false;
  }
  return true;
}

/// Whether the same place in memory is the same element of both: not of matrices of different layouts. An array of one
/// dimension, or of none that it tells of, goes with all others.
template <class X, class Y>
constexpr bool layouts_agree([[maybe_unused]] const X& xs, [[maybe_unused]] const Y& ys) {
  if constexpr (has_extents<X> && has_extents<Y>) {
    const auto rank = static_cast<std::size_t>(xs.rank());
    if (rank < 2 || static_cast<std::size_t>(ys.rank()) < 2) return true;
    if (static_cast<std::size_t>(ys.rank()) != rank || !detail::have_same_extents(xs, ys, rank)) return false;
    if constexpr (has_strides<X> && has_strides<Y>) {
      return detail::have_same_strides(xs, ys, rank);
    } else if constexpr (requires { xs.mapping() == ys.mapping(); }) {
      return xs.mapping() == ys.mapping();
    } else {
      return false;
    }
  }
  return true;
}

/// Throws invalid_argument where two of several arrays do not agree.
template <class X, class... Y>
void check_layouts(const char* call, const X& xs, const Y&... ys) {
  if (!(detail::layouts_agree(detail::dimensions_of(xs), detail::dimensions_of(ys)) && ...)) {
    throw invalid_argument(std::string(call) +
                           ": the arrays' dimensions differ or are laid out differently, so that elements would meet "
                           "which do not belong together; give arrays of one shape and one layout");
  }
  if constexpr (sizeof...(Y) > 1) detail::check_layouts(call, ys...);
}

}  // namespace fanin::detail
