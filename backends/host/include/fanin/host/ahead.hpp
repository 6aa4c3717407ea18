// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// How one thread of a host reads large arrays: see docs/adr/0025.
namespace fanin::detail::host {

/// A processor has more lines of memory on their way where they are of several pages than where they are of one. So
/// those of the next window are asked for, one of each of its pages in turn, while this one's elements are taken.
inline constexpr std::int64_t page_bytes = 4096;
inline constexpr std::int64_t pages_of_window = 8;
inline constexpr std::int64_t line_bytes = 64;
/// Arrays of fewer bytes may be in a cache that is near, where asking ahead takes time and gives none.
inline constexpr std::int64_t least_bytes_ahead = std::int64_t{8} << 20;

/// As many elements of each of these arrays as have a page of the largest. 0: there is no array, or elements are large.
template <class... T>
inline constexpr std::int64_t elements_of_page = 0;
template <class First, class... T>
inline constexpr std::int64_t elements_of_page<First, T...> =
    page_bytes / 16 / static_cast<std::int64_t>(std::max({sizeof(First), sizeof(T)...})) * 16;

/// Of windows whose pages have so many bytes: how many lines of a page are a share, and where one of them stands.
constexpr std::int64_t lines_of_share(std::int64_t page) {
  return (page + pages_of_window * line_bytes - 1) / (pages_of_window * line_bytes);
}
constexpr std::int64_t line_of_window(std::int64_t page, std::int64_t share, std::int64_t line, std::int64_t number) {
  return number * page + page * share / pages_of_window + line * line_bytes;
}

/// Asks for a share of a window's lines: one of each of its pages, then the next of each. Inlined, since g++ leaves out
/// calls of a function that does no more.
template <class T>
__attribute__((always_inline)) inline void ask_for_lines(const T* window, std::int64_t elements, std::int64_t share) {
  const auto* const begin = reinterpret_cast<const char*>(window);
  const std::int64_t page = elements * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t line = 0; line < host::lines_of_share(page); ++line) {
    for (std::int64_t number = 0; number < pages_of_window; ++number) {
      __builtin_prefetch(begin + host::line_of_window(page, share, line, number));
    }
  }
}

/// Whether so many elements of each of these arrays are asked for ahead.
template <class... T>
constexpr bool are_asked_for(std::int64_t count, const T*...) {
  return count >= least_bytes_ahead / (static_cast<std::int64_t>(sizeof(T)) + ...);
}

/// Calls take(from, until) for stretches of begin .. end - 1, in rising order, which reads elements of these arrays
/// with these indices: pages of windows, and what is left.
template <class Take, class... T>
void take_windows(std::int64_t begin, std::int64_t end, const Take& take, const T*... arrays) {
  constexpr std::int64_t page = elements_of_page<T...>;
  constexpr std::int64_t window = pages_of_window * page;
  for (; end - begin >= 2 * window; begin += window) {
    for (std::int64_t share = 0; share < pages_of_window; ++share) {
      (host::ask_for_lines(arrays + begin + window, page, share), ...);
      take(begin + share * page, begin + (share + 1) * page);
    }
  }
  take(begin, end);
}

}  // namespace fanin::detail::host
