// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

#include <fanin/batch.hpp>
#include <fanin/detail/exact_bins.hpp>
#include <fanin/detail/exact_numbers.hpp>
#include <fanin/detail/exact_parts.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/macros.hpp>

/// Which bins of an exact sum's window several numbers need, by one look at the range of all of them.
namespace fanin::detail {

/// The upper half of a bound below which no window looks; a window with this limit takes nothing.
inline constexpr std::uint32_t limit_of_nothing = exact_bins::upper_half_of_power(exact_bins::lowest);

/// How many bins hold all bits of most numbers of moderate range.
template <class T>
inline constexpr int whole_bins = std::same_as<T, float> ? 1 : 2;

/// 0 where that many of a window's bins take all bits of all these numbers, 1 where one more does, or no_fast_level:
/// also where one is not below the upper half `window_limit`, or the bins have no room for so many.
template <int Count, class T>
FANIN_FUNCTION unsigned level_for(const some_numbers<Count, T>& x, std::uint32_t window_limit, bool has_room) {
  constexpr int digits = std::numeric_limits<T>::digits;
  constexpr std::uint32_t down = (exact_bins::width * whole_bins<T> - digits + 1) << 20;
  constexpr std::uint32_t further_down = down + (exact_bins::width << 20);
  // On the upper half of a double or a float's own bits, of which normal ones' are those of the double, without the
  // difference of two biases, three places higher.
  constexpr bool is_float = std::same_as<T, float>;
  const auto comparable = [](std::uint32_t upper) {
    if constexpr (is_float) {
      constexpr std::uint32_t least_normal = exact_bins::upper_half_of_power(-126);
      constexpr std::uint32_t infinity = exact_bins::upper_half_of_power(128);
      const std::uint32_t within = upper < least_normal ? least_normal : (upper > infinity ? infinity : upper);
      return (within - exact_bins::upper_half_of_power(-127)) << 3;
    } else {
      return upper;
    }
  };
  constexpr std::uint32_t lowest = is_float ? 0 : limit_of_nothing;  // no float is so low
  const std::uint32_t limit = comparable(window_limit) - lowest;

  const auto word = [&](int i) {
    if constexpr (is_float) {
      return std::bit_cast<std::uint32_t>(x.of[i]) & exact_bins::no_sign;
    } else {
      return detail::upper_of(detail::double_bits(x.of[i]));
    }
  };
  std::uint32_t largest = 0;
  std::uint32_t least = ~0U;
  detail::unrolled<Count>([&](int i) {
    largest = word(i) > largest ? word(i) : largest;
    least = word(i) < least ? word(i) : least;
  });
  const bool is_in_range = largest - lowest < limit;
  if (is_in_range & has_room & (least >= comparable(window_limit - down))) return 0;

  if (least == 0) {
    least = ~0U;
    detail::unrolled<Count>([&](int i) { least = !detail::is_zero(x.of[i]) && word(i) < least ? word(i) : least; });
    if (least == ~0U && has_room) return 0;
  }
  if (!is_in_range || !has_room || least < comparable(window_limit - further_down)) return no_fast_level;
  return least >= comparable(window_limit - down) ? 0 : 1;
}

/// How many of these numbers are below the last bin of a window with this limit. Zeros are not.
template <int Bins, int Count>
FANIN_FUNCTION int count_below(const some_numbers<Count>& x, std::uint32_t limit) {
  const std::uint32_t last = limit - (exact_bins::width * Bins << 20);
  int count = 0;
  detail::unrolled<Count>(
      [&](int i) { count += detail::upper_of(detail::double_bits(x.of[i])) - 1 < last - 1 ? 1 : 0; });
  return count;
}

}  // namespace fanin::detail
