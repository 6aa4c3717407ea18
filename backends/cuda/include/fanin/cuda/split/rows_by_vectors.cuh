// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/cuda/split/array_rows.cuh>
#include <fanin/cuda/split/kernels.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/vectorised.cuh>
#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/device/grid_order.cuh>
#include <fanin/tuple.hpp>

/// Short rows of an array, by 16-byte loads, where the elements of each lie side by side.
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
template <class All>
inline constexpr std::int64_t width_in_rows = vector_of<value_in_rows<All>>::width;

/// Whether each row is whole vectors that begin at multiples of 16 bytes, if its elements lie side by side.
template <class All>
bool are_whole_vectors(const All& all) {
  using axes = typename All::axes;
  constexpr std::int64_t width = width_in_rows<All>;
  bool are_whole = all.count % width == 0 &&
                   reinterpret_cast<std::uintptr_t>(get<0>(all.f.data)) % sizeof(vector_of<value_in_rows<All>>) == 0;
  for (std::size_t at = 0; at < axes::left_rank; ++at) {
    are_whole = are_whole && all.f.strides[0][axes::dimension(false, at)] % width == 0;
  }
  return are_whole;
}

/// From how many elements a row on that is faster than loads of one element, where rows are whole vectors, and where
/// they are not. (H200, us, by elements and by vectors, of 2^24 doubles in rows of 16 36.1, 37.0, of 18 41.8, 35.9, of
/// 9 40.5, 37.8; floats of 15 and 17 of 2^20 2.99, 3.50 and 4.10, 3.30.)
template <class All>
inline constexpr std::int64_t least_of_whole_vectors = width_in_rows<All> == 4 ? 8 : 18;
template <class All>
inline constexpr std::int64_t least_of_vectors = width_in_rows<All> == 4 ? 17 : 9;

/// Elements of a type that asks for less than its size may begin where no vector does, nor any number of them behind.
template <class All>
bool takes_vectors(const All& all, bool are_whole) {
  return all.f.strides[0][All::axes::dimension(true, 0)] == 1 &&
         reinterpret_cast<std::uintptr_t>(get<0>(all.f.data)) % sizeof(value_in_rows<All>) == 0 &&
         all.count >= (are_whole ? least_of_whole_vectors<All> : least_of_vectors<All>);
}

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

/// A row as vectors and single elements before and behind them, numbered from 0 as an array's elements are.
template <bool AreWhole, class All>
__device__ span_source<value_in_rows<All>> vectors_of_row(const All& all, const md_index<All::axes::left_rank>& place) {
  using value_type = value_in_rows<All>;
  const value_type* const row = detail::begin_of_row(all, place);
  if constexpr (AreWhole) {
    return {row, all.count, 0};
  } else {
    constexpr unsigned width = vector_of<value_type>::width;
    const unsigned behind = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row) / sizeof(value_type)) % width;
    const std::int64_t head = (width - behind) % width;
    return {row + head, all.count, head};
  }
}

/// A group of 2^log_lanes threads of a warp a row, which is `of_row` vectors if AreWhole: with what the others need
/// those take 1.05 to 1.15 times as long (an H200). Blocks of whole warps; no memory, no barriers.
template <bool AreWhole, class All, class Composite, class Put>
__global__ void __launch_bounds__(256)
    rows_by_vectors_kernel(const All all, const Composite c, const Put put, unsigned log_lanes, std::uint32_t of_row) {
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
      const auto source = detail::vectors_of_row<AreWhole>(all, place);
      const std::uint32_t vectors = AreWhole ? of_row : static_cast<std::uint32_t>(source.vectors());
      auto state = c.begin(value);
#pragma unroll 1
      for (std::uint32_t mine = lane; mine < vectors; mine += vectors_in_flight * lanes) {
        detail::gather_rest<vectors_in_flight>(source, c, state, 0, mine, lanes, vectors);
      }
      if constexpr (!AreWhole) {
        const std::uint32_t in_vectors = vectors * static_cast<std::uint32_t>(source.width);
        const std::uint32_t singles = static_cast<std::uint32_t>(source.count) - in_vectors;
#pragma unroll 1
        for (std::uint32_t mine = lane; mine < singles; mine += lanes) {
          const std::uint32_t at = mine < source.head ? mine : mine + in_vectors;
          c.fold(state, source.value(at), at);
        }
      }
      c.finish(state, value);
    }
    detail::join_lanes(c, value, lanes);
    if (has_row && lane == 0) put.put(row, c.at(place).result(value));
  }
}

}  // namespace fanin::detail
