// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <fanin/macros.hpp>
#include <fanin/md_index.hpp>
#include <fanin/md_range.hpp>
#include <fanin/reducers.hpp>

#include "support/data.hpp"

/// Boxes of several dimensions, all of whose indices are visited once: what a functor over one marks, and what is to
/// come of it.
namespace fanin_test {

/// Where the boxes begin, in each dimension.
FANIN_FUNCTION constexpr std::int64_t first_in_box(std::size_t dimension) {
  return 7 * static_cast<std::int64_t>(dimension) - 10;
}

template <std::size_t Rank>
constexpr std::array<std::int64_t, Rank> lower_of() {
  std::array<std::int64_t, Rank> lower{};
  for (std::size_t d = 0; d < Rank; ++d) lower[d] = first_in_box(d);
  return lower;
}
template <std::size_t Rank>
std::array<std::int64_t, Rank> upper_of(const std::array<std::int64_t, Rank>& extents) {
  std::array<std::int64_t, Rank> upper = lower_of<Rank>();
  for (std::size_t d = 0; d < Rank; ++d) upper[d] += extents[d];
  return upper;
}
template <std::size_t Rank>
std::int64_t count_of(const std::array<std::int64_t, Rank>& extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  return count;
}

/// How far apart in memory the neighbours along each dimension are, where indices lie in the order of their numbers.
template <fanin::iterate Order, std::size_t Rank>
fanin::md_index<Rank> strides_of(const std::array<std::int64_t, Rank>& extents) {
  fanin::md_index<Rank> strides{};
  std::int64_t stride = 1;
  for (std::size_t speed = 0; speed < Rank; ++speed) {
    const std::size_t d = Order == fanin::iterate::right ? Rank - 1 - speed : speed;
    strides[d] = stride;
    stride *= extents[d];
  }
  return strides;
}

/// A small number with many equals.
FANIN_FUNCTION constexpr std::int64_t value_in_box(std::int64_t number) {
  return static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(number)) % 50);
}

/// It, and a mark at the place: two visits of one index show as 2.
template <std::size_t Rank>
struct mark_box {
  std::int32_t* visits;
  fanin::md_index<Rank> strides;

  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const
    requires(Rank == 2)
  {
    return mark({i, j});
  }
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j, std::int64_t k) const
    requires(Rank == 3)
  {
    return mark({i, j, k});
  }
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) const
    requires(Rank == 4)
  {
    return mark({i, j, k, l});
  }
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l,
                                         std::int64_t m) const
    requires(Rank == 5)
  {
    return mark({i, j, k, l, m});
  }

 private:
  FANIN_FUNCTION std::int64_t mark(const fanin::md_index<Rank>& index) const {
    std::int64_t number = 0;
    for (std::size_t d = 0; d < Rank; ++d) number += (index[d] - first_in_box(d)) * strides[d];
    ++visits[number];
    return value_in_box(number);
  }
};

/// The same into accumulators: a sum, and how many.
template <std::size_t Rank>
struct add_box {
  mark_box<Rank> mark;

  FANIN_FUNCTION void operator()(std::int64_t i, std::int64_t j, std::int64_t& sum, std::int32_t& count) const
    requires(Rank == 2)
  {
    sum += mark(i, j);
    ++count;
  }
  FANIN_FUNCTION void operator()(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t& sum,
                                 std::int32_t& count) const
    requires(Rank == 3)
  {
    sum += mark(i, j, k);
    ++count;
  }
};

template <std::size_t Rank>
struct box_facts {
  std::int64_t sum = 0;
  fanin::value_index<std::int64_t, fanin::md_index<Rank>> least{std::numeric_limits<std::int64_t>::max(), {}};
};
/// What mark_box over a box gives: its sum, and its least value with its first place in the order of the numbers.
template <fanin::iterate Order, std::size_t Rank>
box_facts<Rank> facts_of_box(const std::array<std::int64_t, Rank>& extents) {
  box_facts<Rank> facts;
  std::int64_t at = 0;
  for (std::int64_t number = 0; number < count_of(extents); ++number) {
    const std::int64_t value = value_in_box(number);
    facts.sum += value;
    if (value < facts.least.value) {
      facts.least.value = value;
      at = number;
    }
  }
  const fanin::md_index<Rank> strides = strides_of<Order>(extents);
  for (std::size_t d = 0; d < Rank; ++d) {
    facts.least.index[d] = first_in_box(d) + at / strides[d] % extents[d];
  }
  return facts;
}

}  // namespace fanin_test
