// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <fanin/detail/divider.hpp>
#include <fanin/macros.hpp>
#include <fanin/md_index.hpp>

namespace fanin {

/// Which index of an md_range counts fastest, by Kokkos's names: the last (right; as C's arrays and LayoutRight lie in
/// memory), or the first (left; Fortran's arrays, LayoutLeft).
enum class iterate { right, left };

namespace detail {

/// A multi-dimensional box of indices, numbered from 0 in the order of its tag. It has at most 2^63 - 1 of them.
template <std::size_t Rank, iterate Order>
class md_shape {
 public:
  /// The dimension whose index is the Speed-th fastest.
  template <std::size_t Speed>
  static constexpr std::size_t dimension = Order == iterate::right ? Rank - 1 - Speed : Speed;
  static constexpr std::size_t fastest = dimension<0>;

  constexpr md_shape() = default;
  /// Of extents whose product is `count`.
  constexpr md_shape(const md_index<Rank>& lower, const md_index<Rank>& extents, std::int64_t count)
      : lower_{lower}, is_short_{count <= std::int64_t{1} << 31} {
    for (std::size_t speed = 0; speed + 1 < Rank && count > 0; ++speed) {
      by_extent_[speed] = divider(extents[Order == iterate::right ? Rank - 1 - speed : speed]);
    }
  }

  FANIN_FUNCTION constexpr std::int64_t lower(std::size_t at) const { return lower_[at]; }
  /// Of the dimension that is the speed-th fastest; the slowest one's does not matter to any number.
  FANIN_FUNCTION constexpr std::int64_t extent(std::size_t speed) const {
    return static_cast<std::int64_t>(by_extent_[speed].divisor());
  }

  /// The index whose number is n.
  FANIN_FUNCTION constexpr md_index<Rank> index_of(std::int64_t n) const {
    md_index<Rank> index{};
    if (is_short_) {
      fill<0>(index, static_cast<std::uint32_t>(n));
    } else {
      fill<0>(index, static_cast<std::uint64_t>(n));
    }
    return index;
  }

  /// The index that is `next` and `fast` behind the first one in the next fastest and the fastest dimension, and in the
  /// others the one whose number is `slower`.
  FANIN_FUNCTION constexpr md_index<Rank> index_of(std::int64_t slower, std::int64_t next, std::int64_t fast) const {
    md_index<Rank> index{};
    index[fastest] = lower_[fastest] + fast;
    index[dimension<1>] = lower_[dimension<1>] + next;
    if constexpr (Rank > 2) {
      if (is_short_) {
        fill<2>(index, static_cast<std::uint32_t>(slower));
      } else {
        fill<2>(index, static_cast<std::uint64_t>(slower));
      }
    }
    return index;
  }

  /// The number of an index, one of the box.
  FANIN_FUNCTION constexpr std::int64_t number_of(const md_index<Rank>& index) const {
    return number_from<Rank - 1>(index, 0);
  }

  /// The next index among those that are the Speed-th fastest and slower; behind the last one comes one that is none.
  template <std::size_t Speed>
  constexpr void step(md_index<Rank>& index) const {
    constexpr std::size_t at = dimension<Speed>;
    ++index[at];
    if constexpr (Speed + 1 < Rank) {
      if (index[at] - lower_[at] == extent(Speed)) {
        index[at] = lower_[at];
        step<Speed + 1>(index);
      }
    }
  }

 private:
  /// Of an index whose slower parts have the number `slower`.
  template <std::size_t Speed>
  FANIN_FUNCTION constexpr std::int64_t number_from(const md_index<Rank>& index, std::int64_t slower) const {
    constexpr std::size_t at = dimension<Speed>;
    if constexpr (Speed + 1 < Rank) slower *= extent(Speed);
    const std::int64_t number = slower + (index[at] - lower_[at]);
    if constexpr (Speed == 0) {
      return number;
    } else {
      return number_from<Speed - 1>(index, number);
    }
  }
  template <std::size_t Speed, class Number>
  FANIN_FUNCTION constexpr void fill(md_index<Rank>& index, Number n) const {
    constexpr std::size_t at = dimension<Speed>;
    if constexpr (Speed + 1 == Rank) {
      index[at] = lower_[at] + static_cast<std::int64_t>(n);
    } else {
      const Number slower = by_extent_[Speed].quotient(n);
      const auto extent = static_cast<Number>(by_extent_[Speed].divisor());
      index[at] = lower_[at] + static_cast<std::int64_t>(n - slower * extent);
      fill<Speed + 1>(index, slower);
    }
  }

  md_index<Rank> lower_{};
  divider by_extent_[Rank - 1]{};
  bool is_short_ = true;
};

/// Of one dimension.
template <iterate Order>
class md_shape<1, Order> {
 public:
  static constexpr std::size_t fastest = 0;

  constexpr md_shape() = default;
  constexpr md_shape(const md_index<1>& lower, const md_index<1>& extents, std::int64_t)
      : lower_{lower[0]}, extent_{extents[0]} {}

  FANIN_FUNCTION constexpr std::int64_t lower(std::size_t) const { return lower_; }
  FANIN_FUNCTION constexpr std::int64_t extent(std::size_t) const { return extent_; }
  FANIN_FUNCTION constexpr md_index<1> index_of(std::int64_t n) const { return {{lower_ + n}}; }

 private:
  std::int64_t lower_ = 0;
  std::int64_t extent_ = 0;
};

}  // namespace detail

}  // namespace fanin
