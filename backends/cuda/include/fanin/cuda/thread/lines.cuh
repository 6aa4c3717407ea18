// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <fanin/detail/strided.hpp>
#include <fanin/device/memory.cuh>
#include <fanin/macros.hpp>
#include <fanin/md_index.hpp>

/// Elements of arrays of which whole lines of memory are read: see docs/adr/0024.
namespace fanin::detail {

/// Whether elements of T, which f makes values of, may be: numbers, so that nobody sees that f gets a copy.
template <class T, class Value>
inline constexpr bool has_lines =
    std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8) && std::is_arithmetic_v<Value>;

/// f of an element that is loaded with its line.
template <class F>
struct by_whole_lines {
  F f;
  template <class T>
  FANIN_FUNCTION auto operator()(const T& x) const {
    const T value = detail::load_with_line(&x);
    return f(value);
  }
};
/// Whether F gives the element itself.
template <class F>
inline constexpr bool gives_itself = false;
template <>
inline constexpr bool gives_itself<itself> = true;
template <>
inline constexpr bool gives_itself<by_whole_lines<itself>> = true;

template <class F, std::size_t Rank, class T>
strided_values<by_whole_lines<F>, Rank, T> with_lines(const strided_values<F, Rank, T>& values) {
  return {{values.f}, values.data, {values.strides[0]}};
}

/// Whether elements that are `step` apart have so many bytes of a line between them, or less.
template <class T>
constexpr bool lie_within(std::size_t bytes, std::int64_t step) {
  return detail::magnitude(step) <= bytes / sizeof(T);
}
/// Whether lines have several elements each of an array, as it is walked through.
template <class F, std::size_t Rank, class T>
constexpr bool share_lines(const strided_values<F, Rank, T>& values) {
  return detail::lie_within<T>(line_bytes / 2, values.strides[0][Rank - 1]);
}

}  // namespace fanin::detail
