// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fanin/batch.hpp>
#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/split/kernels.cuh>
#include <fanin/cuda/split/prepared.hpp>
#include <fanin/cuda/split/staged.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/vectorised.cuh>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>

/// What threads gather of a segment, where they read it in place: a lane, a group of them, a warp part by part, and the
/// warps or the threads of a block. In which order follows from its length alone.
namespace fanin::detail {

inline constexpr std::int64_t segment_of_warp = 4096;
/// Of which the warp's lanes join one part after the other; a block, which has so many warps, a part each.
inline constexpr std::int64_t part_of_segment = segment_of_warp / 8;
inline constexpr unsigned parts_of_segment = static_cast<unsigned>(segment_of_warp / part_of_segment);

template <class All>
inline constexpr std::size_t words_of<segment_row<All>> =
    words_beside_extents<words_of<typename segment_row<All>::functor_type>, 2>;
/// Of up to Most: see elements_of_lane_in_flight.
template <class Row, int Most>
inline constexpr int elements_of_segment_in_flight =
    std::clamp(detail::units_in_flight<index_source<Row>>(cuda_strategy::one_pass::recipe, false), 4, Most);

/// Whether elements are doubles, or others of as many bytes, in a launch that has all that a list says, many of whose
/// blocks are to work at once (H200, us, 2^21 rows by a power law with four in flight 239 instead of 246, 2^18 32.6
/// instead of 34.5: of eight ptxas kept some in memory).
template <class Row>
inline constexpr bool is_short_of_registers = is_one_of_many_prepared<std::remove_cvref_t<decltype(Row::all)>> &&
                                              index_source<Row>::value_size > sizeof(float);

/// Of a warp's part or a block's piece, where rounds are not of one array's elements: then 8 (H200, us, matrices times
/// vectors, floats and doubles, by 4 and 8: 2^15 rows by a power law 21.6, 18.5 and 22.3, 19.8; 2^21 240, 235 and 267,
/// 264; 2^17 of which one is dense 11.6, 9.9 and 12.3, 10.6; 2^25 elements in runs of 65,536 151, 131 and 260, 202; but
/// of doubles in runs of 64 210, 218, in segments of 1000 253, 271). But 4 where registers are short, as above.
template <class Row, int Most>
inline constexpr int elements_of_piece_in_flight =
    !reads_several<typename Row::functor_type> ? elements_of_segment_in_flight<Row, Most>
    : is_short_of_registers<Row>               ? 4
                                               : 8;

/// What a thread gathers of a segment: elements mine, mine + step, ... of those below until, numbered from 0.
template <int Most = 4, class Row, class Composite>
__device__ void gather_of_segment(const Row& row, const Composite& c, typename Composite::accumulator_type& value,
                                  std::int64_t mine, std::int64_t step, std::int64_t until) {
  auto state = c.begin(value);
  detail::gather_in_steps<elements_of_segment_in_flight<Row, Most>>(detail::source_of_row(row), c, state, mine, step,
                                                                    until);
  c.finish(state, value);
}

/// Whether elements follow each other in one array, and a thread has several in flight.
template <class Row, class Composite>
inline constexpr bool is_of_contiguous =
    gives_elements<typename Row::functor_type> && words_of<typename Row::functor_type> == 1 &&
    is_of_one_array<index_source<Row>, Composite>;

/// As gather_apart below, of up to Units elements, and one at least. What is not there is asked for where the first is:
/// so few are asked for by themselves (H200, 65,536 segments of 4200 floats 260 us instead of 266).
template <int Units, int Step, class T, class Composite>
__device__ void gather_last(const T* from, std::int64_t index, int left, const Composite& c,
                            typename Composite::state_type& state) {
  T value[Units];
  int rows = 0;
#pragma unroll
  for (int k = 0; k < Units; ++k) {
    const bool is_there = k * Step < left;
    value[k] = from[is_there ? k * Step : 0];
    rows += is_there ? 1 : 0;
  }
  all_loads_first();
  c.fold_batch(state, tile_batch<Units, 1, T>{value, index, Step, rows});
}

/// What a thread gathers of such an array: elements 0, Step, 2 * Step, ... of `left` from `from` on, of which the first
/// is number `index`. A distance that is known where code is compiled is part of a load, so that a round takes no
/// registers but those of one address and of what comes, and ptxas need not fold between loads to save some. What is
/// behind the first round is on its way meanwhile (H200, 1000 segments of 4200 floats 6.8 us instead of 7.4).
template <int Units, int Step, class T, class Composite>
__device__ void gather_apart(const T* from, std::int64_t index, int left, const Composite& c,
                             typename Composite::state_type& state) {
  T value[Units];
  if (left > Units * Step) detail::prefetch_line(from + Units * Step);
#pragma unroll 1
  for (; left > (Units - 1) * Step; left -= Units * Step, from += Units * Step, index += Units * Step) {
#pragma unroll
    for (int k = 0; k < Units; ++k) value[k] = from[k * Step];
    all_loads_first();
    c.fold_batch(state, tile_batch<Units, 1, T>{value, index, Step});
  }
  if (left <= 0) return;
  constexpr int few = Units / 4;
  if (left <= few * Step) {
    detail::gather_last<few, Step>(from, index, left, c, state);
  } else {
    detail::gather_last<Units, Step>(from, index, left, c, state);
  }
}

/// What a thread gathers of its piece or part, elements mine, mine + Step, ... of those below until, numbered from 0:
/// 64 bytes in flight of one array, else up to Most elements, or 8. Step is a warp's lanes, or the block's
/// threads.
template <int Most, int Step, class Row, class Composite>
__device__ void gather_of_piece(const Row& segment, const Composite& c, typename Composite::accumulator_type& value,
                                std::int64_t mine, std::int64_t until) {
  using source = index_source<Row>;
  constexpr bool in_rounds = is_of_one_array<source, Composite>;
  constexpr int in_flight =
      in_rounds ? elements_of_row_in_flight<source, Composite> : elements_of_piece_in_flight<Row, Most>;
  if constexpr (is_of_contiguous<Row, Composite>) {
    if (mine >= until) return;
    const std::int64_t first = segment.first() + mine;
    auto state = c.begin(value);
    detail::gather_apart<in_flight, Step>(segment.all.f.data + first, first, static_cast<int>(until - mine), c, state);
    c.finish(state, value);
  } else {
    // Of the block's threads ptxas is not told how many there are: of several arrays it would have other registers.
    const std::int64_t step = Step == warp_size ? std::int64_t{Step} : std::int64_t{blockDim.x};
    detail::gather_of_row<in_flight, in_rounds>(segment, c, value, mine, step, until);
  }
}

/// What a lane has of a segment's part that begins at `from`.
template <class Row, class Composite>
__device__ void gather_part(const Row& segment, const Composite& c, typename Composite::accumulator_type& value,
                            std::int64_t from) {
  const std::int64_t until = detail::end_of_piece(from, part_of_segment, segment.count());
  detail::gather_of_piece<8, warp_size>(segment, c, value, from + threadIdx.x % warp_size, until);
}

/// What a lane has of all parts of a segment that a warp can do, joined one after the other. (In rounds of 64 bytes a
/// lane, as a block has them, the kernel's 64 registers instead of 32 made short segments of floats slower, and long
/// ones no faster: 2^26 of them in segments of 64 126 us instead of 79, on an H200.)
template <class Row, class Composite>
__device__ void gather_parts(const Row& segment, const Composite& c, typename Composite::accumulator_type& value) {
  constexpr int in_flight = elements_of_piece_in_flight<Row, 8>;
  constexpr int step = warp_size;
  static_assert(part_of_segment % (in_flight * step) == 0);
  const auto count = static_cast<int>(segment.count());
  const auto source = detail::source_of_row(segment);
  typename Composite::accumulator_type of_part = c.identity();
  auto state = c.begin(of_part);
  auto mine = static_cast<int>(threadIdx.x % warp_size);
#pragma unroll 1
  while (count - mine > (in_flight - 1) * step) {
    detail::accumulate_together<in_flight>(source, c, state, mine, step);
    mine += in_flight * step;
    if (mine % part_of_segment < step) {
      c.finish(state, of_part);
      c.join(value, of_part);
      of_part = c.identity();
      state = c.begin(of_part);
    }
  }
  if (count % part_of_segment == 0) return;
  detail::gather_rest<in_flight>(source, c, state, 0, mine, step, count);
  c.finish(state, of_part);
  c.join(value, of_part);
}

/// By a team of a block's warps: up to 8 parts of a segment, from `from` on, of which each warp gathers its share. The
/// lanes of the first one have what gather_parts gives. `of_part` is memory for a lane's accumulator of each part. One
/// barrier of the block.
template <class Row, class Composite>
__device__ void gather_by_team(const Row& segment, const Composite& c, typename Composite::accumulator_type& value,
                               std::int64_t from, unsigned parts, unsigned warp, unsigned warps,
                               typename Composite::accumulator_type* of_part) {
  using accumulator = typename Composite::accumulator_type;
  accumulator first = c.identity();
#pragma unroll 1
  for (unsigned part = warp; part < parts; part += warps) {
    accumulator gathered = c.identity();
    detail::gather_part(segment, c, gathered, from + part * part_of_segment);
    if (part == 0) {
      first = gathered;
    } else {
      of_part[part * warp_size] = gathered;
    }
  }
  __syncthreads();
  if (warp != 0 || parts == 0) return;
  c.join(value, first);
#pragma unroll
  for (unsigned part = 1; part < parts_of_segment; ++part) {
    if (part < parts) c.join(value, of_part[part * warp_size]);
  }
}

}  // namespace fanin::detail
