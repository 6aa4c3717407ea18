// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fanin::detail {

/// On the host, what the watching block makes of `count` partial results (`partial(k)` gives block k's) by
/// watching_block::finish: the same joins in the same order, so that both give the same bits.
template <class Composite, class Partial>
typename Composite::accumulator_type join_as_watched(const Composite& c, int count, int block_size,
                                                     const Partial& partial) {
  using accumulator = typename Composite::accumulator_type;
  constexpr int warp = 32;
  const auto combine = [&](accumulator* values) {
    for (int delta = warp / 2; delta > 0; delta /= 2) {
      for (int k = 0; k < delta; ++k) c.join(values[k], values[k + delta]);
    }
    return values[0];
  };
  accumulator of_warp[warp];
  for (int w = 0; w < warp; ++w) {
    of_warp[w] = c.identity();
    if (w * warp >= block_size || w * warp >= count) continue;  // a warp that gathers nothing
    accumulator values[warp];
    for (int lane = 0; lane < warp; ++lane) {
      const int thread = w * warp + lane;
      values[lane] = thread == 0 ? partial(count - 1) : c.identity();
      for (int block = thread; block < count - 1; block += block_size) c.join(values[lane], partial(block));
    }
    of_warp[w] = combine(values);
  }
  return count <= warp + 1 ? of_warp[0] : combine(of_warp);
}

}  // namespace fanin::detail
