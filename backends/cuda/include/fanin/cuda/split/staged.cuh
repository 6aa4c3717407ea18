// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/cuda/block/warp_shuffle.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/vectorised.cuh>
#include <fanin/detail/runs_functor.hpp>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/device/atomics.hpp>
#include <fanin/device/memory.cuh>
#include <fanin/device/multiprocessor.cuh>
#include <fanin/device/warp.cuh>
#include <fanin/segments.hpp>

/// Segments whose values a warp reads one beside the other, whatever their lengths are, and folds from memory of the
/// block. Where each lane reads a segment of its own, of 16 floats, a warp touches 16 lines of memory with every load,
/// and waits for the first-level cache. What is joined with what, and so the bits, follows from a segment's length
/// alone, staged or not.
namespace fanin::detail {

/// Up to how many elements of a segment a lane, and lanes_of_group take; and how many of them one of those has in
/// flight.
struct segment_classes {
  int of_lane;
  int of_group;
  int in_flight;
};
inline constexpr segment_classes read_in_place{16, 64, 4};
inline constexpr segment_classes read_by_warps{32, 128, 4};
inline constexpr int lanes_of_group = 8;
inline constexpr unsigned threads_of_segments = 256;

/// How many blocks of so many threads the compiler may be asked to make room for.
inline constexpr int most_blocks_of_segments = least_threads_of_multiprocessor / int{threads_of_segments};

/// Values that are made first, assigned then, and small: more bytes would leave room for fewer warps.
template <class T>
inline constexpr bool can_be_staged = std::is_trivially_default_constructible_v<T> && std::is_trivially_copyable_v<T> &&
                                      std::is_copy_assignable_v<T> && sizeof(T) <= 8;
template <>
inline constexpr bool can_be_staged<void> = false;

/// How many lanes of a mask are before this one.
__device__ inline int lanes_before(std::uint32_t mask) {
  return __popc(mask & ((std::uint32_t{1} << threadIdx.x % warp_size) - 1));
}

/// Where elements of neighbouring segments are in memory of the block. Lanes that read a segment each, all of one
/// length, are to find theirs in different banks, which one way does not do for all lengths.
enum class staged_gaps {
  none,       ///< one behind the other, the fewest instructions: many lanes wait where they begin multiples of 8 apart
  behind_16,  ///< with a gap behind each 16: many lanes wait where lengths are 10, 15 or 30
  behind_64,  ///< with three behind each 64: no more than four wait for one bank, whatever the one length
};

/// Room for elements with any of these gaps: of one behind each 16 it is most.
template <class T, int Most>
struct staged_elements {
  template <staged_gaps Gaps>
  static constexpr unsigned place(int k) {
    const auto element = static_cast<unsigned>(k);
    if constexpr (Gaps == staged_gaps::none) {
      return element;
    } else if constexpr (Gaps == staged_gaps::behind_16) {
      return element + element / 16;
    } else {
      return element + element / 64 * 3;
    }
  }

  T elements[place<staged_gaps::behind_16>(Most) + 1];
};

/// A segment's elements there, of which the first is number `begin`, and the segment's index `first`.
template <staged_gaps Gaps, class T, int Most>
struct staged_source {
  static constexpr bool has_vectors = false;
  static constexpr std::size_t words = 1;
  static constexpr std::size_t value_size = sizeof(T);
  using value_type = T;

  const staged_elements<T, Most>& staged;
  int begin;
  std::int64_t first;

  __device__ T value(std::int64_t i) const {
    return staged.elements[staged.template place<Gaps>(begin + static_cast<int>(i))];
  }
  template <int Count>
  __device__ void values(T (&value)[Count], std::int64_t i, std::int64_t step) const {
#pragma unroll
    for (int k = 0; k < Count; ++k) value[k] = this->value(i + k * step);
  }
  __device__ std::int64_t index(std::int64_t element) const { return first + element; }
  template <class Composite>
  __device__ void accumulate(const Composite& c, typename Composite::state_type& state, std::int64_t i) const {
    c.fold(state, value(i), index(i));
  }
};

/// What a thread gathers of a segment there: elements mine, mine + step, ... of `count`.
template <class Source, class Composite>
__device__ void gather_of_staged(const Source& source, const Composite& c, typename Composite::accumulator_type& value,
                                 int mine, int step, int count) {
  constexpr int at_once = 4;
  auto state = c.begin(value);
#pragma unroll 1
  for (; count - mine > (at_once - 1) * step; mine += at_once * step) {
    detail::accumulate_together<at_once>(source, c, state, mine, step);
  }
#pragma unroll 1
  for (; mine < count; mine += step) source.accumulate(c, state, mine);
  c.finish(state, value);
}

/// Whether f(segment, k) needs to be told the segment.
template <class F>
inline constexpr bool asks_for_segment = true;
template <class T>
inline constexpr bool asks_for_segment<contiguous_element<T>> = false;
template <class T>
inline constexpr bool asks_for_segment<strided_element<T>> = false;

/// Whether f(segment, k) knows more than one array, by one of which it mostly says where to read in another: each of
/// its elements is two waits, one after the other.
template <class F>
inline constexpr bool reads_several = asks_for_segment<F> && (words_of<F> > 1);

/// Whether f gives elements of an array, and ones that can be staged.
template <class F>
inline constexpr bool gives_elements = false;
template <class T>
inline constexpr bool gives_elements<contiguous_element<T>> = can_be_staged<T>;
template <class T>
inline constexpr bool gives_elements<strided_element<T>> = can_be_staged<T>;

/// A value that was staged, and one that was not, go into a sum alike.
template <class All>
inline constexpr bool keeps_values<segment_row<All>> = !gives_elements<typename segment_row<All>::functor_type>;

/// How many elements a warp has staged at a time, in whole rounds of its lanes. Not more: of 3 KiB a warp, what is left
/// of the first-level cache makes all else slower (segments of 256 floats 101 us instead of 73 for 2^26 of them, on an
/// H200).
template <class T>
inline constexpr int staged_at_a_time = sizeof(T) <= 4 ? 512 : 256;

/// What a warp has staged of neighbouring segments, one behind the other.
template <class T>
struct staged_segments : staged_elements<T, staged_at_a_time<T>> {
  static constexpr int capacity = staged_at_a_time<T>;
  static constexpr int lanes = static_cast<int>(warp_size);
  static_assert(capacity % (2 * lanes) == 0);
  struct segment {
    std::int16_t begin;
    std::int16_t count;
    std::int32_t lane;
  };

  std::uint32_t heads[capacity / lanes];  ///< a bit for each element that is a segment's first
  std::uint8_t lane_of[lanes];            ///< whose segments those are, one after the other
  segment of_group[lanes];                ///< the segments that lanes_of_group take

  /// By a warp, each lane of which may have a segment, of elements begin .. begin + count - 1 there.
  __device__ void mark_heads(bool has_segment, int begin, int count) {
    const unsigned lane = threadIdx.x % warp_size;
    if (lane < capacity / lanes) heads[lane] = 0;
    __syncwarp();
    const bool has_head = has_segment && count > 0;
    const std::uint32_t with_head = lanes_where(has_head);
    if (has_head) {
      fanin::atomic_fetch_add(heads[begin / lanes], std::uint32_t{1} << begin % lanes);
      lane_of[lanes_before(with_head)] = static_cast<std::uint8_t>(lane);
    }
    __syncwarp();
  }

  /// By a warp: elements from .. from + total - 1, of segments behind `base`, whose heads are marked if f asks. What is
  /// left behind whole rounds goes in halves where f has several arrays: ptxas waits between the loads of more (a
  /// matrix of 27 floats a row times a vector 174 us instead of 144, on an H200). An array has `readable` elements from
  /// there on.
  template <staged_gaps Gaps, class F>
  __device__ void stage(const F& f, std::int64_t base, std::int64_t from, int total, int readable) {
    constexpr int at_once = capacity / 64;  // 32 bytes a lane
    constexpr int of_rest = gives_elements<F> || at_once <= 4 ? at_once : at_once / 2;
    int heads_before = 0;
    int done = 0;
    if constexpr (of_rest < at_once) {
#pragma unroll 1
      for (; total - done >= at_once * lanes; done += at_once * lanes) {
        stage_some<Gaps>(f, base, from, done, total, readable, heads_before,
                         std::make_integer_sequence<int, at_once>{});
      }
    }
#pragma unroll 1
    for (; done < total; done += of_rest * lanes) {
      stage_some<Gaps>(f, base, from, done, total, readable, heads_before, std::make_integer_sequence<int, of_rest>{});
    }
  }

  /// Whether more of an array is read than is to be staged, where it has so much, rather than by less than all of a
  /// lane's loads: ptxas waits between those (H200, us, 2^28 floats in segments of 17 322, 310, of 27 328, 309).
  template <staged_gaps Gaps, class F>
  static constexpr bool reads_over = gives_elements<F> && Gaps == staged_gaps::none && sizeof(T) <= 4;

 private:
  template <staged_gaps Gaps, class F, int... K>
  __device__ void stage_some(const F& f, std::int64_t base, std::int64_t from, int done, int total, int readable,
                             [[maybe_unused]] int& heads_before, std::integer_sequence<int, K...>) {
    constexpr int at_once = sizeof...(K);
    const int lane = static_cast<int>(threadIdx.x % warp_size);
    const int mine = done + lane;
    std::int64_t of[at_once]{};
    if constexpr (asks_for_segment<F>) {
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const std::uint32_t some = heads[done / lanes + k];
        of[k] = base + lane_of[heads_before + __popc(some & all_lanes >> (lanes - 1 - lane)) - 1];
        heads_before += __popc(some);
      }
    }
    static_assert(at_once * lanes % 64 == 0);  // gaps before `mine` are those before `done`
    constexpr auto place = [](int k) { return staged_segments::template place<Gaps>(k * lanes); };
    T* const to = this->elements + this->template place<Gaps>(mine);
    const bool reads_more =
        reads_over<Gaps, F> && readable - done >= at_once * lanes && total - done > at_once * lanes / 2;
    if (total - done >= at_once * lanes || reads_more) {
      const T value[] = {f(of[K], from + (mine + K * lanes))...};
      all_loads_first();
      ((to[place(K)] = value[K]), ...);
    } else {
      T value[at_once]{};
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (mine + k * lanes < total) value[k] = f(of[k], from + (mine + k * lanes));
      }
      all_loads_first();
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (mine + k * lanes < total) to[place(k)] = value[k];
      }
    }
  }
};
static_assert(staged_at_a_time<double> >= read_by_warps.of_group);

/// By a warp: staged segments of groups. Of more than a group each, half as many lanes take each, which fold two parts
/// and join them as all of them would: the second one goes through a shuffle, as it would, with which no fold is fused.
template <staged_gaps Gaps, class T, class Composite, class Put>
__device__ void reduce_staged_groups(const staged_segments<T>& memory, int segments, std::int64_t from,
                                     const Composite& c, const Put& put) {
  using accumulator = typename Composite::accumulator_type;
  constexpr int parts = lanes_of_group;
  const int width = Gaps == staged_gaps::none && segments > memory.lanes / parts ? parts / 2 : parts;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int mine = lane & (width - 1);
  for (int group = lane / width; group - lane / width < segments; group += memory.lanes / width) {
    const bool has_segment = group < segments;
    const auto segment = memory.of_group[has_segment ? group : 0];
    const int count = has_segment ? segment.count : 0;
    const staged_source<Gaps, T, staged_segments<T>::capacity> source{memory, segment.begin, from + segment.begin};
    accumulator value = c.identity();
    detail::gather_of_staged(source, c, value, mine, parts, count);
    if (width < parts) {
      accumulator other = c.identity();
      detail::gather_of_staged(source, c, other, mine + width, parts, count);
      c.join(value, detail::shuffle_down(other, 0));
    }
    detail::join_lanes(c, value, static_cast<unsigned>(width));
    if (has_segment && mine == 0) put(segment.lane, value);
  }
}

/// By a warp: the segments of the lanes where it is_mine, each of `count` elements from `begin` on, which follow each
/// other: `total` elements from `from` on.
template <staged_gaps Gaps, class All, class Composite, class Put, class T>
__device__ void reduce_staged(const All& all, std::int64_t base, bool is_mine, std::int64_t from, std::int64_t begin,
                              int count, int total, const Composite& c, const Put& put, staged_segments<T>& memory) {
  using accumulator = typename Composite::accumulator_type;
  using source = staged_source<Gaps, T, staged_segments<T>::capacity>;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int at = static_cast<int>(begin - from);
  if constexpr (asks_for_segment<typename All::functor_type>) memory.mark_heads(is_mine, at, count);
  const std::uint32_t of_group = lanes_where(is_mine && count > read_by_warps.of_lane);
  if ((of_group >> lane & 1) != 0) {
    memory.of_group[lanes_before(of_group)] = {static_cast<std::int16_t>(at), static_cast<std::int16_t>(count), lane};
  }
  int readable = 0;
  if constexpr (staged_segments<T>::template reads_over<Gaps, typename All::functor_type>) {
    readable = static_cast<int>(all.elements - from < memory.capacity ? all.elements - from : memory.capacity);
  }
  memory.template stage<Gaps>(all.f, base, from, total, readable);
  __syncwarp();
  if (is_mine && count <= read_by_warps.of_lane) {
    accumulator value = c.identity();
    detail::gather_of_staged(source{memory, at, begin}, c, value, 0, 1, count);
    put.put(base + lane, c.at(all.place(base + lane)).result(value));
  }
  const auto put_of_group = [&](int of, const accumulator& value) {
    put.put(base + of, c.at(all.place(base + of)).result(value));
  };
  detail::reduce_staged_groups<Gaps>(memory, __popc(of_group), from, c, put_of_group);
  __syncwarp();  // the memory is the next segments'
}

/// How many elements of a functor that reads several arrays are worth it: a lane would wait twice for each four (H200,
/// us, 2^15 rows by a power law, floats and doubles, 18.2, 16.8 and 19.8, 18.5; 2^21 234.8, 232.5 and 265.0, 264.1; but
/// from 5 on 2^20 rows of 7 24.2, 29.1 and 35.9, 37.3).
inline constexpr int least_of_several = 9;

/// By a warp, of which each lane has segment base + lane, of `count` elements from `begin` on, or none (-1): those that
/// are worth it. Gives -1 for those, and the count of others.
template <staged_gaps Gaps, class All, class Composite, class Put, class T>
__device__ std::int64_t reduce_staged_segments(const All& all, std::int64_t base, std::int64_t begin,
                                               std::int64_t count, const Composite& c, const Put& put,
                                               staged_segments<T>& memory) {
  constexpr unsigned bytes_worth_it = 1536;  // of all, or
  constexpr bool several = reads_several<typename All::functor_type>;
  constexpr unsigned bytes_of_lane_worth_it = several ? least_of_several * sizeof(T) : 80;  // of one of them
  constexpr int least_worth_it = several ? least_of_several : 64;  // elements that follow each other
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const bool is_short = count >= 0 && count <= read_by_warps.of_group;
  const unsigned mine = is_short ? static_cast<unsigned>(count) : 0;
  if (sum_in_warp(mine) * sizeof(T) <= bytes_worth_it && most_in_warp(mine) * sizeof(T) < bytes_of_lane_worth_it) {
    return count;
  }
  // Lanes whose elements follow those of the lane before.
  const std::uint32_t follow = lanes_where(begin + count == shuffle_down(begin, 1)) << 1;
  std::uint32_t left = lanes_where(is_short);
  while (left != 0) {
    const int first = __ffs(static_cast<int>(left)) - 1;
    const std::int64_t from = of_lane(begin, first);
    const std::int64_t end = begin + count - from;
    const bool fits = is_short && (follow >> lane & 1) != 0 && end <= memory.capacity;
    const std::uint32_t others = lanes_where(lane > first && !fits);
    const int last = others == 0 ? memory.lanes : __ffs(static_cast<int>(others)) - 1;
    left = last == memory.lanes ? 0 : left & (all_lanes << last);
    const int total = static_cast<int>(of_lane(end, last - 1));
    if (total < least_worth_it) continue;
    const bool is_mine = lane >= first && lane < last;
    detail::reduce_staged<Gaps>(all, base, is_mine, from, begin, static_cast<int>(mine), total, c, put, memory);
    if (is_mine) count = -1;
  }
  return count;
}

template <class T>
struct memory_of_staging {
  staged_segments<T> of_warp[threads_of_segments / warp_size];
};

}  // namespace fanin::detail
