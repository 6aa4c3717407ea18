// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/cuda/split/gather_segments.cuh>
#include <fanin/cuda/split/kernels.cuh>
#include <fanin/cuda/split/staged.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/device/block.cuh>
#include <fanin/device/warp.cuh>

/// Segments that a warp can do: those of its lanes, by lanes, groups of them and all of it, and those whose parts the
/// warps of a team share. Which launch they are in does not change their bits.
namespace fanin::detail {

/// The value that f gives for an element of a segment, or void.
template <class All>
using value_in_segments = typename index_source<decltype(std::declval<const All&>().row(md_index<1>{}))>::value_type;

/// How many elements a warp has staged at a time, or would have.
template <class All>
inline constexpr int staged_of_segments = [] {
  if constexpr (can_be_staged<value_in_segments<All>>) {
    return staged_at_a_time<value_in_segments<All>>;
  } else {
    return staged_at_a_time<double>;
  }
}();

template <class All>
inline constexpr segment_classes classes_of_segments =
    can_be_staged<value_in_segments<All>> ? read_by_warps : read_in_place;

/// The segments of a warp that has row_of(taken) for each group of `lanes` of its lanes, or none (-1). A lane has up to
/// Most elements in flight.
template <int Most, class RowOf, class Composite, class Put>
__device__ void reduce_by_lanes(const RowOf& row_of, const Composite& c, const Put& put, int taken, unsigned lanes) {
  const unsigned lane = threadIdx.x & (lanes - 1);
  typename Composite::accumulator_type value = c.identity();
  if (taken >= 0) {
    const auto segment = row_of(taken);
    detail::gather_of_segment<Most>(segment, c, value, lane, lanes, segment.count());
  }
  detail::join_lanes(c, value, lanes);
  if (taken >= 0 && lane == 0) {
    const md_index<1> place = row_of(taken).place;
    put.put(place[0], c.at(place).result(value));
  }
}

/// A segment, by a warp.
template <class Row, class Composite, class Put>
__device__ void reduce_by_warp(const Row& segment, const Composite& c, const Put& put) {
  typename Composite::accumulator_type value = c.identity();
  detail::gather_parts(segment, c, value);
  detail::join_lanes(c, value, warp_size);
  if (threadIdx.x % warp_size == 0) put.put(segment.place[0], c.at(segment.place).result(value));
}

/// A lane's place among those of a mask, from which it takes as many as there are groups of lanes.
__device__ inline int take_lane_for_group(std::uint32_t& mask, unsigned lanes) {
  int mine = -1;
  for (unsigned group = 0; group < warp_size / lanes && mask != 0; ++group, mask &= mask - 1) {
    if (group == threadIdx.x % warp_size / lanes) mine = __ffs(static_cast<int>(mask)) - 1;
  }
  return mine;
}

/// By a warp, of which each lane has `segment`, of `count` elements, or none (-1): those of up to `most`,
/// which a warp can do. row_of(lane) is another lane's; list_long(lane) is for longer ones.
template <segment_classes Classes, class Row, class RowOf, class Composite, class Put, class ListLong>
__device__ void reduce_segments_of_warp(const Row& segment, const RowOf& row_of, std::int64_t count, std::int64_t most,
                                        const Composite& c, const Put& put, const ListLong& list_long) {
  if (count >= 0 && count <= Classes.of_lane) {
    typename Composite::accumulator_type value = c.identity();
    detail::gather_of_segment(segment, c, value, 0, 1, count);
    put.put(segment.place[0], c.at(segment.place).result(value));
  }
  const std::uint32_t longer = lanes_where(count > Classes.of_lane);
  if (longer == 0) return;
  for (std::uint32_t some = lanes_where(count > most); some != 0;) {
    list_long(take_lane_for_group(some, warp_size));
  }
  const std::uint32_t of_warp = lanes_where(count > Classes.of_group);
  for (std::uint32_t some = longer & ~of_warp; some != 0;) {
    detail::reduce_by_lanes<Classes.in_flight>(row_of, c, put, take_lane_for_group(some, lanes_of_group),
                                               unsigned{lanes_of_group});
  }
  for (std::uint32_t some = of_warp & ~lanes_where(count > most); some != 0;) {
    detail::reduce_by_warp(row_of(take_lane_for_group(some, warp_size)), c, put);
  }
}

inline constexpr unsigned warps_of_segments = threads_of_segments / warp_size;
inline constexpr unsigned log_warps_of_block = std::bit_width(warps_of_segments) - 1;

/// Teams of a block have memory for each part of a segment, a lane's accumulator: how many warps are a team at least,
/// if they are several, and how much memory that is.
template <class Accumulator>
inline constexpr unsigned least_log_warps = sizeof(Accumulator) <= 16   ? 1
                                            : sizeof(Accumulator) <= 32 ? 2
                                                                        : 3;
template <class Accumulator>
inline constexpr std::size_t bytes_of_team = parts_of_segment * warp_size * sizeof(Accumulator);
template <class Accumulator>
inline constexpr std::size_t bytes_of_teams =
    (warps_of_segments >> least_log_warps<Accumulator>)*bytes_of_team<Accumulator>;

/// By a warp, of which each lane has the same segment, one that a warp can do.
template <class Row, class Composite, class Put>
__device__ void reduce_segment_by_warp(const Row& segment, const Composite& c, const Put& put) {
  constexpr segment_classes classes = classes_of_segments<std::remove_cvref_t<decltype(segment.all)>>;
  detail::reduce_segments_of_warp<classes>(
      segment, [&](int) { return segment; }, threadIdx.x % warp_size == 0 ? segment.count() : -1, segment_of_warp, c,
      put, [](int) {});
}

/// By a block, of which each team of so many warps has such a segment, or none: its warps share the parts.
template <class Row, class Composite, class Put>
__device__ void reduce_by_teams(const Row& segment, bool has_one, unsigned log_warps, const Composite& c,
                                const Put& put) {
  using accumulator = typename Composite::accumulator_type;
  constexpr segment_classes classes = classes_of_segments<std::remove_cvref_t<decltype(segment.all)>>;
  const unsigned warps = 1u << log_warps;
  const unsigned warp = threadIdx.x / warp_size & (warps - 1);
  const unsigned team = threadIdx.x / warp_size >> log_warps;
  const unsigned lane = threadIdx.x % warp_size;
  auto* const of_part = reinterpret_cast<accumulator*>(memory_of_launch()) + team * parts_of_segment * warp_size + lane;
  const auto count = has_one ? static_cast<unsigned>(segment.count()) : 0u;
  const unsigned parts = count > classes.of_group ? (count - 1) / static_cast<unsigned>(part_of_segment) + 1 : 0;
  accumulator value = c.identity();
  detail::gather_by_team(segment, c, value, 0, parts, warp, warps, of_part);
  if (warp != 0 || !has_one) return;
  if (parts == 0) return detail::reduce_segment_by_warp(segment, c, put);
  detail::join_lanes(c, value, warp_size);
  if (lane == 0) put.put(segment.place[0], c.at(segment.place).result(value));
}

}  // namespace fanin::detail
