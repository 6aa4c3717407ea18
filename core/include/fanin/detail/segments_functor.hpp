// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/detail/axes_functor.hpp>
#include <fanin/macros.hpp>
#include <fanin/md_index.hpp>

namespace fanin::detail {

/// Longer segments are cut in pieces of a length that follows from their own, so that several threads may share one
/// and no other segment changes its bits.
struct segment_cut {
  std::int64_t length;

  FANIN_FUNCTION constexpr std::int64_t pieces(std::int64_t count) const { return (count - 1) / length + 1; }
};
/// On hosts.
inline constexpr segment_cut cut_on_hosts{32'768};

/// One segment's elements by their numbers, which f gets behind the segment's.
template <class All>
struct segment_row {
  using axes = typename std::remove_cvref_t<All>::axes;
  using functor_type = typename std::remove_cvref_t<All>::functor_type;

  All all;
  md_index<1> place;
  std::int64_t begin;
  std::int64_t end;

  FANIN_FUNCTION constexpr std::int64_t first() const { return begin; }
  FANIN_FUNCTION constexpr std::int64_t count() const { return end - begin; }

  template <class... State>
    requires(takes_indices<functor_type, typename axes::dimensions, State...>)
  FANIN_FUNCTION constexpr typename given_for_indices<functor_type, typename axes::dimensions, State...>::type
  operator()(std::int64_t n, State&&... state) const {
    return all.f(std::int64_t{place[0]}, n, static_cast<State&&>(state)...);
  }
};

/// Where offsets alone say how many elements there are, so many at most: sums with a thread's steps stay in range.
inline constexpr std::int64_t most_elements_of_segments = std::int64_t{1} << 62;

/// A functor f(segment, k) over `results` segments, of which the s-th has the elements offsets[s] .. offsets[s + 1]
/// - 1. What offsets say beyond 0 .. elements is not there, and of one that is less than the one before nothing is.
template <class F, class Offset>
struct segments_functor {
  using axes = axes_of<2, 1>;
  using functor_type = F;
  static constexpr bool reduces_fastest = true;
  static constexpr bool has_equal_rows = false;
  static constexpr std::int64_t most_elements = most_elements_of_segments;

  const Offset* offsets;
  std::int64_t results;
  std::int64_t elements;
  F f;

  FANIN_FUNCTION constexpr std::int64_t offset(std::int64_t at) const {
    const auto n = static_cast<std::int64_t>(offsets[at]);
    return n < 0 ? 0 : n < elements ? n : elements;
  }
  FANIN_FUNCTION constexpr md_index<1> place(std::int64_t row) const { return {{row}}; }
  FANIN_FUNCTION constexpr segment_row<const segments_functor&> row(const md_index<1>& place) const {
    const std::int64_t begin = offset(place[0]);
    const std::int64_t end = offset(place[0] + 1);
    return {*this, place, begin, end < begin ? begin : end};
  }
};

/// The same where the backend has made something ready for these offsets, which it then finds here.
template <class F, class Offset, class Ready>
struct prepared_segments_functor : segments_functor<F, Offset> {
  Ready ready;

  FANIN_FUNCTION constexpr segment_row<const prepared_segments_functor&> row(const md_index<1>& place) const {
    const auto same = segments_functor<F, Offset>::row(place);
    return {*this, place, same.begin, same.end};
  }
};
/// Where nothing was to be made ready, a segments_functor is as good.
struct nothing_ready {};
/// Where offsets alone matter.
struct no_functor {};

/// The element of an index of an array that is contiguous, or not; which segment or run it is in does not matter.
template <class T>
struct contiguous_element {
  const T* data;

  FANIN_FUNCTION constexpr T operator()(std::int64_t, std::int64_t k) const { return data[k]; }
};
template <class T>
struct strided_element {
  const T* data;
  std::int64_t stride;

  FANIN_FUNCTION constexpr T operator()(std::int64_t, std::int64_t k) const { return data[k * stride]; }
};
template <class T, bool HasStride>
constexpr auto element_of(const T* data, [[maybe_unused]] std::int64_t stride) {
  if constexpr (HasStride) {
    return strided_element<T>{data, stride};
  } else {
    return contiguous_element<T>{data};
  }
}

/// Calls use(row, place) for the segments begin .. end - 1.
template <class F, class Offset, class Use>
constexpr void for_rows(const segments_functor<F, Offset>& all, std::int64_t begin, std::int64_t end, const Use& use) {
  for (std::int64_t row = begin; row < end; ++row) use(row, all.place(row));
}

}  // namespace fanin::detail
