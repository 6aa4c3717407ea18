// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/cuda/split/gather_segments.cuh>
#include <fanin/cuda/split/kernels.cuh>
#include <fanin/cuda/split/segments_by_warps.cuh>
#include <fanin/cuda/split/staged.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/grid_order.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>

/// Segments, of whose lengths the device alone knows: a first launch works on those that a warp can do, and lists the
/// pieces of longer ones for a second. What threads do with a segment depends on its length alone.
namespace fanin::detail {

inline constexpr std::int64_t most_pieces_of_segment = 1024;
inline constexpr std::int64_t least_piece_of_segment = 16'384;

/// Of several arrays less: a thread asks for few elements at once, and waits for what they say, so that a block goes
/// through a piece in many waits one after the other, and more blocks are to share a segment (H200, us, a matrix of
/// 2^17 rows of doubles, one of which is dense, times a vector 11.5 instead of 28.6, of 2^20 28.8 and 47.6; pieces of
/// 2048 elements: one of 2^21 rows by a power law 274 instead of 267; but of one array 2^25 floats in segments of 2^20
/// 58 instead of 39).
template <class All>
inline constexpr std::int64_t least_piece =
    reads_several<typename All::functor_type> ? segment_of_warp : least_piece_of_segment;

/// Of a longer one.
template <class All>
__device__ segment_cut cut_of_long(std::int64_t count) {
  const std::int64_t length = (count - 1) / most_pieces_of_segment + 1;
  return {length < least_piece<All> ? least_piece<All> : length};
}
template <class All>
__device__ segment_cut cut_of_long(const segment_row<const All&>& segment) {
  return detail::cut_of_long<All>(segment.count());
}

/// Whether a first launch leaves some of the segments that a warp can do to the second, whose blocks' warps share the
/// parts of each: those of more than a quarter of that, where there are few such ones. A warp waits for one after the
/// other (H200, us, a matrix with rows by a power law times a vector, floats, 2^21 rows 241 instead of 250, 2^18 42.4
/// instead of 56.3). Of an array, for whose elements it need not wait so often, they cost 138 instead of 145.
template <class All>
inline constexpr bool leaves_middle_ones = reads_several<typename All::functor_type>;
template <class All>
__device__ std::int64_t most_of_warp(const All& all) {
  if constexpr (leaves_middle_ones<All>) {
    if (all.offset(all.results) - all.offset(0) <= 256 * all.results) return segment_of_warp / 4;
  }
  return segment_of_warp;
}

struct segment_piece {
  std::int64_t row;
  std::int64_t begin;  ///< of the segment
  std::int64_t end;
  unsigned piece;    ///< pieces of a segment are neighbours in the list
  unsigned arrived;  ///< of the first: how many pieces are there
};

/// In the call's workspace: the count is 0 before and after.
template <class Accumulator>
struct segments_list {
  unsigned* count;   ///< of pieces, also of those that found no room
  unsigned* ticket;  ///< of the second launch's blocks
  segment_piece* pieces;
  Accumulator* partials;
  unsigned capacity;
  std::int64_t of_first;  ///< up to how many elements of a segment the first launch does
};

/// By a warp: the pieces of a long segment.
template <class Accumulator, class Row>
__device__ void list_pieces(const segments_list<Accumulator>& list, const Row& segment) {
  const auto pieces = static_cast<unsigned>(detail::cut_of_long(segment).pieces(segment.count()));
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned first = detail::sum_in_warp(lane == 0 ? atomicAdd(list.count, pieces) : 0u);
  for (unsigned k = lane; k < pieces && first + k < list.capacity; k += warp_size) {
    list.pieces[first + k] = {segment.place[0], segment.begin, segment.end, k, 0};
  }
}

/// How many blocks of a multiprocessor the compiler is to make room for; 0: that is its own affair. Where elements of 8
/// bytes are made of several arrays it saves registers by waiting for the elements one after the other, unless it is
/// told how many it may use: 48 (a matrix of 27 doubles a row times a vector 139 us instead of 163, on an H200). Of an
/// array with strides it computes the places of a lane's next small elements ahead, and takes 64 for that: 2^26 floats
/// in segments of 64 126 us instead of 86.
template <class All, class Composite>
inline constexpr int blocks_of_segments = [] {
  using f = typename All::functor_type;
  if constexpr (can_be_staged<value_in_segments<All>>) {
    const bool is_of_words = sizeof(value_in_segments<All>) == 8 && sizeof(typename Composite::accumulator_type) == 8;
    constexpr bool is_strided = gives_elements<f> && words_of<f> > 1 && sizeof(value_in_segments<All>) <= sizeof(float);
    return is_strided                                              ? std::min(6, most_blocks_of_segments)
           : asks_for_segment<f> && words_of<f> > 1 && is_of_words ? std::min(5, most_blocks_of_segments)
                                                                   : 0;
  } else {
    return 0;
  }
}();

/// By warps; Gaps are those of staged elements.
template <staged_gaps Gaps, class All, class Composite, class Put>
__global__ void __launch_bounds__(threads_of_segments, (blocks_of_segments<All, Composite>))
    segments_by_warps_kernel(const All all, const Composite c, const Put put,
                             const segments_list<typename Composite::accumulator_type> list, unsigned rows) {
  wait_for_grid_before();
  using value = value_in_segments<All>;
  constexpr bool is_staged = can_be_staged<value>;
  if (blockIdx.x == 0 && threadIdx.x == 0) *list.ticket = 0;
  const unsigned lane = threadIdx.x % warp_size;
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / warp_size);
  const std::int64_t warp = static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / warp_size) + threadIdx.x / warp_size;
  for (std::int64_t base = warp * rows; base < all.results; base += warps * rows) {
    const std::int64_t row = base + lane;
    const bool has_row = lane < rows && row < all.results;
    const auto mine = all.row(all.place(has_row ? row : base));
    std::int64_t count = has_row ? mine.count() : -1;
    if constexpr (is_staged) {
      auto& memory = object_of_block<memory_of_staging<value>>().of_warp[threadIdx.x / warp_size];
      count = detail::reduce_staged_segments<Gaps>(all, base, mine.begin, count, c, put, memory);
    }
    const auto row_of = [&](int taken) { return all.row(all.place(base + taken)); };
    constexpr segment_classes classes = classes_of_segments<All>;
    const bool has_middle_ones = lanes_where(count > segment_of_warp / 4) != 0;
    const std::int64_t most = has_middle_ones ? detail::most_of_warp(all) : segment_of_warp;
    detail::reduce_segments_of_warp<classes>(mine, row_of, count, most, c, put,
                                             [&](int taken) { detail::list_pieces(list, row_of(taken)); });
  }
}

/// What the block's threads hold, joined in thread 0, where it is what a piece of a long segment gives.
template <class Row, class Composite>
__device__ void reduce_piece(const Row& segment, const Composite& c, typename Composite::accumulator_type& value,
                             unsigned piece, void* memory) {
  const std::int64_t length = detail::cut_of_long(segment).length;
  const std::int64_t from = piece * length;
  const std::int64_t until = detail::end_of_piece(from, length, segment.count());
  value = c.identity();
  detail::gather_of_piece<4, threads_of_segments>(segment, c, value, from + threadIdx.x, until);
  detail::combine_by_warp_shuffle(c, value, static_cast<typename Composite::accumulator_type*>(memory));
}

/// By a block: a piece of a segment that has `pieces`, whose partials and counter are the segment's. The block that
/// comes last to a segment joins its pieces. Ends with a barrier.
template <class Row, class Composite, class Put>
__device__ void reduce_by_pieces(const Row& segment, unsigned piece, const Composite& c, const Put& put,
                                 typename Composite::accumulator_type* partials, unsigned* arrived, unsigned& is_last) {
  using accumulator = typename Composite::accumulator_type;
  auto* const memory = reinterpret_cast<accumulator*>(memory_of_launch());
  const auto pieces = static_cast<unsigned>(detail::cut_of_long(segment).pieces(segment.count()));
  accumulator value;
  detail::reduce_piece(segment, c, value, piece, memory);
  bool has_result = true;
  if (pieces > 1) {
    if (threadIdx.x == 0) {
      partials[piece] = value;
      draw_ticket(arrived, pieces, is_last);
    }
    __syncthreads();
    has_result = is_last != 0;
    if (has_result) {
      value = c.identity();
      detail::gather_pieces(c, value, partials, 1, static_cast<int>(pieces), static_cast<int>(threadIdx.x),
                            static_cast<int>(blockDim.x));
      detail::combine_by_warp_shuffle(c, value, memory);
    }
  }
  if (has_result && threadIdx.x == 0) put.put(segment.place[0], c.at(segment.place).result(value));
  __syncthreads();
}

/// By a block: a segment that a warp could do, with the same bits. Ends with a barrier.
template <class Row, class Composite, class Put>
__device__ void reduce_middle_one(const Row& segment, const Composite& c, const Put& put) {
  detail::reduce_by_teams(segment, true, log_warps_of_block, c, put);
  __syncthreads();
}

/// Of the listed pieces: a piece a block. The next one is looked up while one is worked on.
template <class All, class Composite, class Put>
__device__ void reduce_listed_segments(const All& all, const Composite& c, const Put& put,
                                       const segments_list<typename Composite::accumulator_type>& list, unsigned count,
                                       unsigned& is_last) {
  if (blockIdx.x >= count) return;
  const auto piece_at = [&](unsigned at) {
    const segment_piece& listed = list.pieces[at < count ? at : 0];
    return segment_piece{listed.row, listed.begin, listed.end, listed.piece, 0};
  };
  segment_piece next = piece_at(blockIdx.x);
  for (unsigned at = blockIdx.x; at < count; at += gridDim.x) {
    const segment_piece one = next;
    next = piece_at(at + gridDim.x);
    const segment_row<const All&> segment{all, all.place(one.row), one.begin, one.end};
    if constexpr (leaves_middle_ones<All>) {
      if (segment.count() <= segment_of_warp) {
        detail::reduce_middle_one(segment, c, put);
        continue;
      }
    }
    const unsigned first = at - one.piece;
    detail::reduce_by_pieces(segment, one.piece, c, put, list.partials + first, &list.pieces[first].arrived, is_last);
  }
}

/// By a block: a segment that is one piece. Ends with a barrier.
template <class Row, class Composite, class Put>
__device__ void reduce_one_piece(const Row& segment, const Composite& c, const Put& put) {
  using accumulator = typename Composite::accumulator_type;
  accumulator value = c.identity();
  detail::gather_of_piece<4, threads_of_segments>(segment, c, value, threadIdx.x, segment.count());
  detail::combine_by_warp_shuffle(c, value, reinterpret_cast<accumulator*>(memory_of_launch()));
  if (threadIdx.x == 0) put.put(segment.place[0], c.at(segment.place).result(value));
  __syncthreads();
}

/// By a block alone: a long segment, with the same bits. Ends with a barrier.
template <class Row, class Composite, class Put>
__device__ void reduce_piece_by_piece(const Row& segment, const Composite& c, const Put& put) {
  using accumulator = typename Composite::accumulator_type;
  auto* const memory = reinterpret_cast<accumulator*>(memory_of_launch());
  const segment_cut cut = detail::cut_of_long(segment);
  if (segment.count() <= cut.length) return detail::reduce_one_piece(segment, c, put);
  const auto pieces = static_cast<unsigned>(cut.pieces(segment.count()));
  accumulator of_thread = c.identity();
  for (unsigned piece = 0; piece < pieces; ++piece) {
    accumulator value;
    detail::reduce_piece(segment, c, value, piece, memory);
    __syncthreads();
    if (threadIdx.x == 0) *memory = value;
    __syncthreads();
    if (threadIdx.x == piece % blockDim.x) c.join(of_thread, *memory);
    __syncthreads();
  }
  detail::combine_by_warp_shuffle(c, of_thread, memory);
  if (threadIdx.x == 0) put.put(segment.place[0], c.at(segment.place).result(of_thread));
  __syncthreads();
}

/// The same where there are more than the list has room for: a segment a block, piece by piece.
template <class All, class Composite, class Put>
__device__ void reduce_long_segments(const All& all, const Composite& c, const Put& put, std::int64_t of_first,
                                     std::uint32_t (&long_ones)[threads_of_segments / warp_size]) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * blockDim.x; base < all.results; base += step) {
    const std::int64_t mine = base + threadIdx.x;
    const std::uint32_t of_warp = detail::lanes_where(
        mine < all.results && all.row(all.place(mine < all.results ? mine : base)).count() > of_first);
    if (threadIdx.x % warp_size == 0) long_ones[threadIdx.x / warp_size] = of_warp;
    __syncthreads();
    for (unsigned at = 0; at < blockDim.x; ++at) {
      if ((long_ones[at / warp_size] >> at % warp_size & 1) == 0) continue;
      const auto segment = all.row(all.place(base + at));
      if (leaves_middle_ones<All> && segment.count() <= segment_of_warp) {
        detail::reduce_middle_one(segment, c, put);
      } else {
        detail::reduce_piece_by_piece(segment, c, put);
      }
    }
    __syncthreads();
  }
}

/// That one block of a multiprocessor is enough is said where elements are those of one array. The compiler otherwise
/// saves registers, and folds between loads to do so.
template <class All, class Composite>
inline constexpr int blocks_of_pieces = is_of_one_array<index_source<segment_row<const All&>>, Composite> ? 1 : 0;

struct memory_of_segments {
  unsigned is_last;
  std::uint32_t long_ones[threads_of_segments / warp_size];
};

template <class All, class Composite, class Put>
__global__ void __launch_bounds__(threads_of_segments, (blocks_of_pieces<All, Composite>))
    long_segments_kernel(const All all, const Composite c, const Put put,
                         const segments_list<typename Composite::accumulator_type> list) {
  wait_for_grid_before();
  auto& block = object_of_block<memory_of_segments>();
  const unsigned count = *list.count;
  if (count == 0) return;
  if (count <= list.capacity) {
    detail::reduce_listed_segments(all, c, put, list, count, block.is_last);
  } else {
    detail::reduce_long_segments(all, c, put, leaves_middle_ones<All> ? detail::most_of_warp(all) : list.of_first,
                                 block.long_ones);
  }
  if (threadIdx.x == 0) {
    detail::draw_ticket(list.ticket, gridDim.x, block.is_last);
    if (block.is_last != 0) *list.count = 0;
  }
}

}  // namespace fanin::detail
