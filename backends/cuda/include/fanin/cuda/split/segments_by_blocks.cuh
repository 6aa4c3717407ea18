// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include <fanin/cuda/split/segments.cuh>
#include <fanin/cuda/split/segments_by_warps.cuh>
#include <fanin/cuda/split/staged.cuh>
#include <fanin/device/block.cuh>
#include <fanin/device/grid_order.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/sums_before.cuh>
#include <fanin/device/warp.cuh>

/// Segments that blocks take. In one launch, where they are few or long: a team of a block's warps for each, but for
/// longest ones, whose pieces other blocks count, all of them, and share. And many of an array in two, as in
/// segments.cuh, of which the first has a block for each. The bits are those of segments.cuh.
namespace fanin::detail {

/// Who takes what, and the call's workspace for what is shared.
template <class Accumulator>
struct segments_share {
  unsigned log_warps;     ///< of a block, that have a segment together: 1, 2, 4 or all 8
  std::int64_t most;      ///< elements of such a segment; more than a warp can do only where all have one
  unsigned alone;         ///< blocks for those; the grid's others share segments of more,
  bool share_first;       ///< and come first, or last
  unsigned capacity;      ///< of those: for how many pieces there is room,
  unsigned counters;      ///< and for how many segments that have several
  Accumulator* partials;  ///< of pieces
  unsigned* arrived;      ///< of segments, how many pieces are there; 0 before and after
};

/// How many segments' lengths a thread asks for at once. One after the other they kept the blocks for 2 us and more.
inline constexpr int counts_in_flight = 4;

struct memory_of_shared_pieces {
  struct piece {
    std::int64_t row;
    unsigned number;   ///< of the segment's
    unsigned first;    ///< of the segment, among all
    unsigned counter;  ///< the segment's
  };

  int pieces[warps_of_segments];
  int cut[warps_of_segments];
  piece next;
  unsigned is_last;
};

/// By a block: of what threads of the block before this one have, and of all.
__device__ inline sums_of_lanes sum_threads(int value, int (&of_warp)[warps_of_segments]) {
  const sums_of_lanes own = sum_lanes(value);
  if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = own.all;
  __syncthreads();
  sums_of_lanes sums{own.before, 0};
  for (unsigned warp = 0; warp < warps_of_segments; ++warp) {
    if (warp < threadIdx.x / warp_size) sums.before += of_warp[warp];
    sums.all += of_warp[warp];
  }
  return sums;
}

/// By the blocks that share: the pieces of all segments of more than `most` elements, in an order in which a thread's
/// segments follow each other.
template <class All, class Composite, class Put>
__device__ void reduce_shared_pieces(const All& all, const Composite& c, const Put& put,
                                     const segments_share<typename Composite::accumulator_type>& share, int block_at) {
  auto& block = object_of_block<memory_of_shared_pieces>();
  const auto count_of = [&](std::int64_t row) { return all.row(all.place(row)).count(); };
  const auto pieces_in = [&](std::int64_t count) {
    return count <= share.most ? 0 : static_cast<int>(detail::cut_of_long<All>(count).pieces(count));
  };
  const auto pieces_of = [&](std::int64_t row) { return pieces_in(count_of(row)); };
  const auto sharing = static_cast<int>(gridDim.x - share.alone);
  int mine = 0;
  int cut = 0;
#pragma unroll 1
  for (std::int64_t first = threadIdx.x; first < all.results; first += counts_in_flight * threads_of_segments) {
    std::int64_t counts[counts_in_flight];
    bool has_longer = false;
#pragma unroll
    for (int k = 0; k < counts_in_flight; ++k) {
      const std::int64_t row = first + k * threads_of_segments;
      counts[k] = count_of(row < all.results ? row : first);
    }
    all_loads_first();
#pragma unroll
    for (int k = 0; k < counts_in_flight; ++k) has_longer |= counts[k] > share.most;
    if (!has_longer) continue;
#pragma unroll
    for (int k = 0; k < counts_in_flight; ++k) {
      if (first + k * threads_of_segments >= all.results) break;
      const int pieces = pieces_in(counts[k]);
      mine += pieces;
      cut += pieces > 1 ? 1 : 0;
    }
  }
  const sums_of_lanes pieces = sum_threads(mine, block.pieces);
  if (pieces.all == 0) return;
  const sums_of_lanes cut_ones = sum_threads(cut, block.cut);
  // Offsets that go back can have more than the elements; and many segments of several no counter each.
  if (static_cast<unsigned>(pieces.all) > share.capacity || static_cast<unsigned>(cut_ones.all) > share.counters) {
    for (std::int64_t row = block_at; row < all.results; row += sharing) {
      if (pieces_of(row) > 0) detail::reduce_piece_by_piece(all.row(all.place(row)), c, put);
    }
    return;
  }
  const int end = pieces.before + mine;
  int first = pieces.before;
  int counter = cut_ones.before;
  std::int64_t row = threadIdx.x;
  for (int at = block_at; at < pieces.all; at += sharing) {
    if (at >= pieces.before && at < end) {
      for (int some = pieces_of(row); at - first >= some; some = pieces_of(row)) {
        first += some;
        counter += some > 1 ? 1 : 0;
        row += threads_of_segments;
      }
      block.next = {row, static_cast<unsigned>(at - first), static_cast<unsigned>(first),
                    static_cast<unsigned>(counter)};
    }
    __syncthreads();
    const auto piece = block.next;
    detail::reduce_by_pieces(all.row(all.place(piece.row)), piece.number, c, put, share.partials + piece.first,
                             share.arrived + piece.counter, block.is_last);
  }
}

/// Where a block has a segment of a contiguous array of one piece, five of a multiprocessor work at once instead of
/// four: code for nothing else (48 registers instead of 62) still asks for all of a round's elements at once. With room
/// for six it does not where a segment has several pieces.
template <bool IsBlockEach, class All, class Composite>
inline constexpr int blocks_of_shares =
    IsBlockEach ? std::min(5, most_blocks_of_segments) : blocks_of_pieces<All, Composite>;

/// IsBlockEach: all warps of a block have a segment together, mostly of one piece.
template <bool IsBlockEach, class All, class Composite, class Put>
__global__ void __launch_bounds__(threads_of_segments, (blocks_of_shares<IsBlockEach, All, Composite>))
    segments_by_blocks_kernel(const All all, const Composite c, const Put put,
                              const segments_share<typename Composite::accumulator_type> share) {
  wait_for_grid_before();
  const unsigned place = blockIdx.x + (share.share_first ? share.alone : 0);
  const std::int64_t block = place < gridDim.x ? place : place - gridDim.x;
  if (block >= share.alone) {
    detail::reduce_shared_pieces(all, c, put, share, static_cast<int>(block - share.alone));
    return;
  }
  if constexpr (IsBlockEach) {
    const auto segment = all.row(all.place(block));
    const std::int64_t count = segment.count();
    if (count > share.most) return;
    if (count > least_piece_of_segment) {
      detail::reduce_piece_by_piece(segment, c, put);
    } else if (count > segment_of_warp) {
      detail::reduce_one_piece(segment, c, put);
    } else {
      detail::reduce_by_teams(segment, true, log_warps_of_block, c, put);
    }
  } else {
    const std::int64_t mine = (block * warps_of_segments + threadIdx.x / warp_size) >> share.log_warps;
    const auto segment = all.row(all.place(mine < all.results ? mine : 0));
    const bool has_one = mine < all.results && segment.count() <= share.most;
    if (share.log_warps == 0) {
      if (has_one) detail::reduce_segment_by_warp(segment, c, put);
    } else if (has_one && segment.count() > segment_of_warp) {
      detail::reduce_piece_by_piece(segment, c, put);
    } else {
      detail::reduce_by_teams(segment, has_one, share.log_warps, c, put);
    }
  }
}

/// Puts a block's result where the block's number says.
template <class Put>
struct put_of_block {
  const Put& to;

  template <class Result>
  __device__ void put(std::int64_t, const Result& result) const {
    to.put(block_index_here(), result);
  }
};

/// How many blocks of a multiprocessor such ones are to have room for. Of floats 8, with 32 registers each (H200,
/// 16,384 segments of 4097 floats 62 us, with 6 blocks 64). Of what has 8 bytes ptxas folds between a round's loads
/// then (16,384 segments of 4096 doubles 133 us, with 6 blocks 120).
template <class Accumulator>
inline constexpr int blocks_of_listing = std::min(sizeof(Accumulator) <= 4 ? 8 : 6, most_blocks_of_segments);

/// The first of two launches over many segments of a contiguous array that are mostly of one piece: a block each. What
/// has several pieces is listed for the second, so that this kernel has code, and registers, for nothing else.
template <class All, class Composite, class Put>
__global__ void __launch_bounds__(threads_of_segments, blocks_of_listing<typename Composite::accumulator_type>)
    segments_by_block_each_kernel(const All all, const Composite c, const Put put,
                                  const segments_list<typename Composite::accumulator_type> list) {
  wait_for_grid_before();
  if (blockIdx.x == 0 && threadIdx.x == 0) *list.ticket = 0;
  const auto segment = all.row(all.place(blockIdx.x));
  const std::int64_t count = segment.count();
  if (count > least_piece_of_segment) {
    if (threadIdx.x < warp_size) detail::list_pieces(list, segment);
  } else if (count > segment_of_warp) {
    detail::reduce_one_piece(segment, c, put_of_block<Put>{put});
  } else {
    detail::reduce_by_teams(segment, true, log_warps_of_block, c, put_of_block<Put>{put});
  }
}

}  // namespace fanin::detail
