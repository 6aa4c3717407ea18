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
#include <fanin/error.hpp>

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
  if constexpr (has_data<X>) {
    return std::data(x);
  } else {
    return x.data_handle();
  }
}

template <array X>
using element_t = std::remove_cv_t<std::remove_pointer_t<decltype(data_of(std::declval<const X&>()))>>;

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
constexpr void check_array() {
  static_assert(
      array<X>,
      "fanin: what stands where an array is wanted has no data() and size() with a pointer to its elements: give "
      "a std::span, a fanin::buffer, a vector (of what lies on a device: a std::span of its raw pointer)");
}

/// The elements of xs, in the order of their addresses. Throws invalid_argument where they do not stand side by side.
template <array X>
std::span<const element_t<X>> view_of(const X& xs, const char* call) {
  const auto size = static_cast<std::size_t>(std::size(xs));
  [[maybe_unused]] const auto refuse = [&] {
    throw invalid_argument(std::string(call) + ": the array is not contiguous: beside or between its " +
                           std::to_string(size) +
                           " elements there are others (a part of a matrix, or one with padding); reduce a contiguous "
                           "copy of it, or its elements by index with fanin::parallel_reduce");
  };
  if constexpr (tells_contiguous<X>) {
    if (size != 0 && !(xs.span_is_contiguous() && static_cast<std::size_t>(xs.span()) == size)) refuse();
  } else if constexpr (has_data_handle<X>) {
    static_assert(std::is_same_v<typename X::reference, typename X::element_type&>,
                  "fanin: this mdspan's accessor gives something else than the elements: reduce it by index, with "
                  "fanin::parallel_reduce");
    if (size != 0 && !xs.is_exhaustive()) refuse();
  } else {
    static_assert(known_contiguous<X>,
                  "fanin: this type has data() and size(), but does not say that its elements stand side by side: if "
                  "they do, give std::span(x.data(), x.size())");
  }
  return {data_of(xs), size};
}

template <class X>
concept has_shape = requires(const X& x, std::size_t r) {
  { x.rank() } -> std::convertible_to<std::size_t>;
  { x.extent(r) } -> std::convertible_to<std::size_t>;
  { x.stride(r) } -> std::convertible_to<std::size_t>;
};

/// Whether the same place in memory is the same element of both: not of matrices of different layouts. An array of one
/// dimension, or of none that it tells of, goes with all others.
template <class X, class Y>
constexpr bool layouts_agree([[maybe_unused]] const X& xs, [[maybe_unused]] const Y& ys) {
  if constexpr (has_shape<X> && has_shape<Y>) {
    const auto rank = static_cast<std::size_t>(xs.rank());
    if (rank < 2 || static_cast<std::size_t>(ys.rank()) < 2) return true;
    if (static_cast<std::size_t>(ys.rank()) != rank) return false;
    for (std::size_t r = 0; r < rank; ++r) {
      const auto extent = static_cast<std::size_t>(xs.extent(r));
      if (static_cast<std::size_t>(ys.extent(r)) != extent) return false;
      if (extent > 1 && static_cast<std::size_t>(xs.stride(r)) != static_cast<std::size_t>(ys.stride(r))) return false;
    }
  }
  return true;
}

/// Throws invalid_argument where two of several arrays do not agree.
template <class X, class... Y>
void check_layouts(const char* call, const X& xs, const Y&... ys) {
  if (!(layouts_agree(xs, ys) && ...)) {
    throw invalid_argument(std::string(call) +
                           ": the arrays' dimensions differ or are laid out differently, so that elements would meet "
                           "which do not belong together; give arrays of one shape and one layout");
  }
  if constexpr (sizeof...(Y) > 1) check_layouts(call, ys...);
}

}  // namespace fanin::detail
