// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/cuda/split/kernels.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/vectorised.cuh>
#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/device/grid_order.cuh>
#include <fanin/tuple.hpp>

/// Short rows of an array, by 16-byte loads, where all of them are whole vectors.
namespace fanin::detail {

/// Whether All are rows of one array, which may be vectors: of elements of 4 and 8 bytes, along the last dimension.
template <class All>
inline constexpr bool may_be_vectors = false;
template <class T, std::size_t Rank, std::size_t Axis>
inline constexpr bool
    may_be_vectors<axes_functor<strided_values<itself, Rank, T>, axes_of<Rank, Axis>, iterate::right>> =
        Axis == Rank - 1 && fits_vectors<T> && std::is_trivially_default_constructible_v<T> &&
        (sizeof(T) == 4 || sizeof(T) == 8);

template <class All>
using value_in_rows = typename source_in_rows<All>::value_type;

/// How many vectors each row is; 0: some are not whole vectors that begin at multiples of 16 bytes.
template <class T, std::size_t Rank, class Axes>
std::int64_t vectors_of_rows(const axes_functor<strided_values<itself, Rank, T>, Axes, iterate::right>& all) {
  constexpr std::int64_t width = vector_of<T>::width;
  const auto& strides = all.f.strides[0];
  bool are_whole = strides[Axes::dimension(true, 0)] == 1 && all.count % width == 0 &&
                   reinterpret_cast<std::uintptr_t>(get<0>(all.f.data)) % sizeof(vector_of<T>) == 0;
  for (std::size_t at = 0; at < Axes::left_rank; ++at) {
    are_whole = are_whole && strides[Axes::dimension(false, at)] % width == 0;
  }
  return are_whole ? all.count / width : 0;
}

/// A row as vectors, numbered from 0 as an array's elements are.
template <class T, std::size_t Rank, class Axes, std::size_t... At>
__device__ span_source<T> vectors_of_row(const axes_functor<strided_values<itself, Rank, T>, Axes, iterate::right>& all,
                                         const md_index<Axes::left_rank>& place, std::index_sequence<At...>) {
  const std::int64_t offset = ((place[At] * all.f.strides[0][Axes::dimension(false, At)]) + ...);
  return {get<0>(all.f.data) + offset, all.count, 0};
}

/// From how many elements a row on that is faster than loads of one element. (H200, rows of 16 doubles: 144 us instead
/// of 136 of 2^26, 3.6 instead of 4.1 of 2^20.)
template <class All>
inline constexpr std::int64_t least_of_vectors = sizeof(value_in_rows<All>) <= sizeof(float) ? 8 : 32;

/// How many lanes of a warp work on a row of so many vectors: each has some, and where there are few rows more lanes
/// do, so that all threads of the device have work. (H200, 2^26 floats, us: rows of 8 71.7 by a lane and 99 by 2, of 16
/// 68.7 by 2 and 103 by 4, of 32 71.6 by 4, 82 by 2 and 106 by 8, of 128 64.4 by 8 and 66.5 by 16, of 512 62.0 by 16
/// and 62.6 by 32.)
inline unsigned log_lanes_of_vectors(std::int64_t results, std::int64_t vectors, std::int64_t threads) {
  const unsigned by_count = vectors < 4     ? 0
                            : vectors < 8   ? 1
                            : vectors < 16  ? 2
                            : vectors < 128 ? 3
                            : vectors < 256 ? 4
                                            : 5;
  return std::max(by_count, detail::log_lanes_for_threads(results, vectors, threads));
}
/// What a lane has in flight.
inline constexpr int vectors_in_flight = 4;

/// A group of 2^log_lanes threads of a warp a row. Blocks of whole warps; no memory, no barriers.
template <class All, class Composite, class Put>
__global__ void __launch_bounds__(256)
    rows_by_vectors_kernel(const All all, const Composite c, const Put put, unsigned log_lanes, std::uint32_t vectors) {
  wait_for_grid_before();
  const unsigned lanes = 1u << log_lanes;
  const unsigned lane = threadIdx.x & (lanes - 1);
  const std::int64_t groups = blockDim.x >> log_lanes;
  for (std::int64_t begin = blockIdx.x * groups; begin < all.results; begin += gridDim.x * groups) {
    const std::int64_t row = begin + (threadIdx.x >> log_lanes);
    const bool has_row = row < all.results;  // all lanes of a warp shuffle, also those that have none
    const md_index<All::axes::left_rank> place = all.place(has_row ? row : begin);
    typename Composite::accumulator_type value = c.identity();
    if (has_row) {
      const auto source = detail::vectors_of_row(all, place, std::make_index_sequence<All::axes::left_rank>{});
      auto state = c.begin(value);
#pragma unroll 1
      for (std::uint32_t mine = lane; mine < vectors; mine += vectors_in_flight * lanes) {
        detail::gather_rest<vectors_in_flight>(source, c, state, 0, mine, lanes, vectors);
      }
      c.finish(state, value);
    }
    detail::join_lanes(c, value, lanes);
    if (has_row && lane == 0) put.put(row, c.at(place).result(value));
  }
}

}  // namespace fanin::detail
