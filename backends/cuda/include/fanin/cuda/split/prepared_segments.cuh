// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fanin/cuda/split/prepared.hpp>
#include <fanin/cuda/split/segments.cuh>
#include <fanin/cuda/split/segments_by_warps.cuh>
#include <fanin/cuda/split/staged.cuh>
#include <fanin/device/block.cuh>
#include <fanin/device/grid_order.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>

/// Segments of which a list was made ready that says who works on longer ones: one launch, whose first blocks have a
/// piece each, whose next ones' warps a segment each, and whose last ones what nobody listed. The bits are those of
/// segments.cuh.
namespace fanin::detail {

/// Who takes what, and the call's workspace.
template <class Accumulator>
struct prepared_share {
  unsigned of_warps;      ///< how many blocks are for the warps' segments
  unsigned rows;          ///< of a warp at once, of those that nobody listed
  Accumulator* partials;  ///< of pieces that are cut
  unsigned* arrived;      ///< of their segments, how many are there; 0 before and after
};

/// By a block: its piece.
template <class All, class Composite, class Put>
__device__ void reduce_prepared_piece(const All& all, const prepared_piece& one, const Composite& c, const Put& put,
                                      const prepared_share<typename Composite::accumulator_type>& share) {
  const segment_row<const All&> segment{all, all.place(one.row), one.begin, one.end};
  const std::int64_t count = segment.count();
  if (count <= segment_of_warp) return detail::reduce_by_teams(segment, true, log_warps_of_block, c, put);
  if (one.counter == of_one_block) return detail::reduce_piece_by_piece(segment, c, put);
  // The list has pieces for the functors that have most of them.
  if (one.piece >= detail::cut_of_long<All>(count).pieces(count)) return;
  detail::reduce_by_pieces(segment, one.piece, c, put, share.partials + (blockIdx.x - one.piece),
                           share.arrived + one.counter, object_of_block<memory_of_segments>().is_last);
}

/// By a warp: the segments that nobody listed, from its first ones on.
template <class All, class Composite, class Put>
__device__ void reduce_unlisted_segments(const All& all, std::int64_t base, std::int64_t step, const Composite& c,
                                         const Put& put,
                                         const prepared_share<typename Composite::accumulator_type>& share) {
  using value = value_in_segments<All>;
  constexpr segment_classes classes = classes_of_segments<All>;
  const unsigned lane = threadIdx.x % warp_size;
  const auto has_row = [&] { return lane < share.rows && base + lane < all.results; };
  const auto ends = [&] {
    const auto row = all.row(all.place(base < all.results ? base + (has_row() ? lane : 0) : 0));
    return md_index<2>{{row.begin, row.end}};
  };
  md_index<2> ends_of_mine = ends();
  wait_for_grid_before();
  while (base < all.results) {
    const segment_row<const All&> mine{all, all.place(base + lane), ends_of_mine[0], ends_of_mine[1]};
    std::int64_t count = has_row() && mine.count() <= all.ready.most_unlisted ? mine.count() : -1;
    if constexpr (can_be_staged<value>) {
      auto& memory = object_of_block<memory_of_staging<value>>().of_warp[threadIdx.x / warp_size];
      count = detail::reduce_staged_segments<staged_gaps::behind_64>(all, base, mine.begin, count, c, put, memory);
    }
    const auto row_of = [&](int taken) { return all.row(all.place(base + taken)); };
    detail::reduce_segments_of_warp<classes>(mine, row_of, count, segment_of_warp, c, put, [](int) {});
    base += step;
    if (base < all.results) ends_of_mine = ends();
  }
}

/// How many blocks of a multiprocessor the compiler is to make room for: where all blocks work at once, and where what
/// is listed takes a good part of the time.
inline constexpr int blocks_of_few = std::min(3, most_blocks_of_segments);
inline constexpr int blocks_of_listed = std::min(4, most_blocks_of_segments);

template <int Blocks, class All, class Composite, class Put>
__global__ void __launch_bounds__(threads_of_segments, Blocks)
    prepared_segments_kernel(const All all, const Composite c, const Put put,
                             const prepared_share<typename Composite::accumulator_type> share) {
  // Neither the list nor the offsets are written by grids before.
  const auto of_blocks = static_cast<unsigned>(all.ready.of_blocks);
  const unsigned warp = threadIdx.x / warp_size;
  if (blockIdx.x < of_blocks) {
    const prepared_piece one = all.ready.pieces[blockIdx.x];
    wait_for_grid_before();
    detail::reduce_prepared_piece(all, one, c, put, share);
  } else if (blockIdx.x - of_blocks < share.of_warps) {
    const std::int64_t at = std::int64_t{blockIdx.x - of_blocks} * warps_of_segments + warp;
    const bool has_one = at < all.ready.of_warps;
    const prepared_piece one = all.ready.pieces[of_blocks + (has_one ? at : 0)];
    wait_for_grid_before();
    if (has_one) {
      detail::reduce_segment_by_warp(segment_row<const All&>{all, all.place(one.row), one.begin, one.end}, c, put);
    }
  } else {
    const std::int64_t first = std::int64_t{blockIdx.x - of_blocks - share.of_warps} * warps_of_segments + warp;
    const std::int64_t warps = std::int64_t{gridDim.x - of_blocks - share.of_warps} * warps_of_segments;
    detail::reduce_unlisted_segments(all, first * share.rows, warps * share.rows, c, put, share);
  }
}

/// The same where none is listed.
template <int Blocks, class All, class Composite, class Put>
__global__ void __launch_bounds__(threads_of_segments, Blocks)
    unlisted_segments_kernel(const All all, const Composite c, const Put put,
                             const prepared_share<typename Composite::accumulator_type> share) {
  const std::int64_t first = std::int64_t{blockIdx.x} * warps_of_segments + threadIdx.x / warp_size;
  const std::int64_t warps = std::int64_t{gridDim.x} * warps_of_segments;
  detail::reduce_unlisted_segments(all, first * share.rows, warps * share.rows, c, put, share);
}

/// What is to be listed, and where: how many pieces there are of each kind so far.
struct prepared_kinds {
  std::int64_t most_unlisted;  ///< elements of a segment that nobody lists,
  std::int64_t most_of_warp;   ///< of a warp's,
  std::int64_t most_of_block;  ///< and of a block's, which are one piece
};
struct listed_so_far {
  unsigned segments_cut;
  unsigned cut;
  unsigned of_blocks;
  unsigned of_warps;
};

/// Into how many pieces a segment is cut at the most, whatever the functor.
FANIN_FUNCTION constexpr segment_cut finest_cut(std::int64_t count) {
  const std::int64_t length = (count - 1) / most_pieces_of_segment + 1;
  return {length < segment_of_warp ? segment_of_warp : length};
}

/// The list, in any order of segments. By a warp 32 of them.
template <class Offset>
__global__ void __launch_bounds__(threads_of_segments)
    list_segments_kernel(const segments_functor<no_functor, Offset> all, const prepared_kinds kinds,
                         const prepared_list list, prepared_piece* pieces, listed_so_far* so_far) {
  wait_for_grid_before();
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  const unsigned lane = threadIdx.x % warp_size;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row - lane < all.results;
       row += threads) {
    const auto segment = all.row(all.place(row < all.results ? row : 0));
    const std::int64_t count = row < all.results ? segment.count() : 0;
    const prepared_piece whole{row, segment.begin, segment.end, 0, of_one_block};
    if (count > kinds.most_unlisted && count <= kinds.most_of_warp) {
      pieces[list.of_blocks + atomicAdd(&so_far->of_warps, 1u)] = whole;
    } else if (count > kinds.most_of_warp && count <= kinds.most_of_block) {
      pieces[list.cut + atomicAdd(&so_far->of_blocks, 1u)] = whole;
    }
    for (std::uint32_t cut = lanes_where(count > kinds.most_of_block); cut != 0; cut &= cut - 1) {
      const int of = __ffs(static_cast<int>(cut)) - 1;
      const std::int64_t begin = detail::of_lane(segment.begin, of);
      const std::int64_t end = detail::of_lane(segment.end, of);
      const auto some = static_cast<unsigned>(detail::finest_cut(end - begin).pieces(end - begin));
      const unsigned first = detail::of_lane(lane == 0 ? atomicAdd(&so_far->cut, some) : 0u, 0);
      const unsigned counter = detail::of_lane(lane == 0 ? atomicAdd(&so_far->segments_cut, 1u) : 0u, 0);
      for (unsigned k = lane; k < some; k += warp_size) {
        pieces[first + k] = {row - lane + of, begin, end, k, counter};
      }
    }
  }
}

}  // namespace fanin::detail
