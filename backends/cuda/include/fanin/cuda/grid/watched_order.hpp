// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace fanin::detail {

/// Units of 12 bytes and a tag that a partial result of so many bytes takes: see tagged_units.cuh.
constexpr int tagged_units(std::size_t bytes) { return static_cast<int>((bytes + 11) / 12); }

/// How many other blocks' partial results a lane of the first warp takes at once, so that no other warp is needed: as
/// many loads as fit the 32 registers of a kernel of which 2048 threads run on a multiprocessor, some of which are a
/// functor's where it calls one. On an H200 that took 0.15 us less of 2.8 to 3.7 for 33 to 132 blocks.
template <class T, class Source>
inline constexpr unsigned watched_by_lane = tagged_units(sizeof(T)) == 1   ? (Source::has_vectors ? 5 : 4)
                                            : tagged_units(sizeof(T)) == 2 ? 2
                                                                           : 1;
template <class T, class Source>
inline constexpr unsigned watched_at_once = 32 * watched_by_lane<T, Source>;

/// Of whatever source: what memory has room for.
struct source_of_vectors {
  static constexpr bool has_vectors = true;
};
template <class T>
inline constexpr unsigned most_watched_at_once = watched_at_once<T, source_of_vectors>;

/// How many threads of a watching block take other blocks' partial results.
template <class T, class Source>
constexpr int watching_threads(unsigned others, int block_size) {
  return others <= watched_at_once<T, Source> ? 32 : block_size;
}

/// On the host, what the watching block makes of `count` partial results (`partial(k)` gives block k's) by
/// watching_block::finish: the same joins in the same order, so that both give the same bits.
template <class Source, class Composite, class Partial>
typename Composite::accumulator_type join_as_watched(const Composite& c, int count, int block_size,
                                                     const Partial& partial) {
  using accumulator = typename Composite::accumulator_type;
  constexpr int warp = 32;
  const int threads = detail::watching_threads<accumulator, Source>(static_cast<unsigned>(count - 1), block_size);
  const auto combine = [&](accumulator* values) {
    for (int delta = warp / 2; delta > 0; delta /= 2) {
      for (int k = 0; k < delta; ++k) c.join(values[k], values[k + delta]);
    }
    return values[0];
  };
  accumulator of_warp[warp];
  for (int w = 0; w < warp; ++w) {
    of_warp[w] = c.identity();
    if (w * warp >= threads || w * warp >= count) continue;  // a warp that gathers nothing
    accumulator values[warp];
    for (int lane = 0; lane < warp; ++lane) {
      const int thread = w * warp + lane;
      values[lane] = thread == 0 ? partial(count - 1) : c.identity();
      for (int block = thread; block < count - 1; block += threads) c.join(values[lane], partial(block));
    }
    of_warp[w] = combine(values);
  }
  return threads <= warp ? of_warp[0] : combine(of_warp);
}

}  // namespace fanin::detail
