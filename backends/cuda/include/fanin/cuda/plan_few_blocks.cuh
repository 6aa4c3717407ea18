// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/recipe.hpp>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/thread/source.cuh>

/// Grids for few elements: fewer blocks than a device holds, and of other sizes, as was measured.
namespace fanin::detail {

/// 16-byte loads for what a thread takes on its own, a vector or an element.
template <class Source>
inline constexpr int loads_of_unit = static_cast<int>(std::max<std::size_t>(Source::value_size, 16) / 16);

/// Where all vectors fit one round, as few blocks as that takes: each thread has all its loads in flight. Not where a
/// functor is called with indices: one that writes has one call's loads in flight at a time, and an iteration of
/// conjugate gradients over 2^14 points took 11.5 us instead of 8.8 with the vectors' work apart. On an H200,
/// behind another kernel, floats: a lone block for 2^10 1.41 us with 128 threads and 1.50 with 512; 2^16 2.40 us with
/// 16 blocks of 256 threads and 2.50 with 32 of 512; 2^18 2.55 with 66 of 256, 2.70 with 128 of 512; 2^19 3.08 with 66
/// of 512 and 3.15 with 256.
struct one_round {
  static constexpr int least_threads = 128;
  static constexpr int some_threads = 256;
  static constexpr int most_threads = 512;
  static constexpr int most_threads_alone = 1024;

  static int lone_block_size(std::int64_t units, std::int64_t in_flight) {
    int threads = least_threads;
    while (threads < most_threads_alone && threads * in_flight < units) threads *= 2;
    return threads;
  }
  static int block_size(std::int64_t units, std::int64_t in_flight, int multiprocessors) {
    return 2 * units <= some_threads * in_flight * multiprocessors ? some_threads : most_threads;
  }
};

/// Beyond that, one block a multiprocessor, first of 512 threads, then of 1024: fewer partial results than with two
/// blocks of 512 and as many loads in flight, and the first warp of the watching block can take them all. On an H200,
/// behind another kernel, with cold caches: 2^21 floats 4.47 us with 132 blocks of 512 threads, 4.52 with 132 of 1024,
/// 4.59 with 256 of 512; 2^22 floats 6.46, 6.28 and 6.38; 2^22 doubles 10.39, 9.98 and 10.07; products of 2^21 doubles
/// 13.63, 10.05 and 10.12. From 2^23 doubles on more blocks are as fast, where those of the launch before and of this
/// one fit beside each other: where they do not, a multiprocessor that is done early takes more than its share. The
/// least of 2^23 doubles, of whose blocks three fit, took 22.4 us with two blocks of 512 in graphs, 17.5 with one of
/// 1024.
struct one_block_a_multiprocessor {
  static constexpr int threads = 512;
  static constexpr int most_half_rounds = 5;
  static constexpr int most_threads = 1024;
  static constexpr int most_rounds = 4;
  static constexpr int most_rounds_where_few_fit = 8;
  /// What was measured. Of smaller elements a thread has more to do for each load.
  static constexpr std::size_t least_element_bytes = 4;

  /// 0: others.
  static int block_size(std::int64_t units, std::int64_t in_flight, int multiprocessors, bool few_fit) {
    const std::int64_t rounds = few_fit ? most_rounds_where_few_fit : most_rounds;
    if (2 * units <= std::int64_t{most_half_rounds} * threads * in_flight * multiprocessors) return threads;
    if (units <= rounds * most_threads * in_flight * multiprocessors) return most_threads;
    return 0;
  }
};

/// Boxes by tiles, few of them: one block a multiprocessor. Of two that leave room for a third, early ones of the next
/// grid take it, and multiprocessors have more than others: on an H200, behind another kernel, 128^3 doubles 7.1 us
/// with one block of 1024 and 8.6 with two of 512, 2048 x 2048 10.6 and 12.9. Where four fit there is no such room, and
/// all take part: 128^3 floats 5.1 us with four of 512 and 5.7 with one of 1024.
inline constexpr int block_of_few_tiles = 1024;

/// Fewer or smaller blocks for few elements, as `measured` says. `full_grid(blocks_per_sm)` is the grid of so many.
template <class Strategy, class Composite, class Source, class FullGrid>
void plan_few_blocks(cuda_plan& plan, std::int64_t units, int multiprocessors, int resident_blocks,
                     const cuda_grid_tuning& measured, const FullGrid& full_grid) {
  constexpr cuda_recipe recipe = Strategy::recipe;
  constexpr bool has_few_threads = finishes_in_spill<Strategy, Composite>;
  constexpr std::int64_t in_flight =
      std::max(detail::units_in_flight<Source>(recipe, has_few_threads) / loads_of_unit<Source>, 1);
  constexpr std::int64_t in_flight_alone =
      std::max(detail::units_in_flight_alone<Source>(recipe) / loads_of_unit<Source>, 1);
  cuda_launch& launch = plan.launch;
  const std::int64_t round_of_block = launch.block_size * in_flight;
  // Calls with indices want all blocks earlier, as a call may wait for the one before: on an H200, x.y of 2^22 floats
  // 21.8 us with all and 22.3 with few, x and r updated with r.r over 2^20 doubles 14.9 and 15.2; over 2^18 5 % more.
  const std::int64_t rounds = Source::has_vectors ? measured.rounds_of_full_grid : measured.rounds_of_full_grid / 2;
  // Another block size would want other shared memory, where that goes by threads.
  const bool is_default_block = launch.block_size == recipe.block_size && recipe.memory != cuda_stage::memory::shared;
  const bool chooses_blocks = Source::has_vectors && is_default_block && measured.lone_block_size != 0;
  const bool few_fit = resident_blocks < 2 * measured.few_blocks_per_sm;
  const int block_size_of_one = Source::value_size >= one_block_a_multiprocessor::least_element_bytes
                                    ? one_block_a_multiprocessor::block_size(units, in_flight, multiprocessors, few_fit)
                                    : 0;
  if (is_default_block && units <= measured.lone_block_size * in_flight_alone) {
    launch.block_size = one_round::lone_block_size(units, in_flight_alone);
    launch.grid_size = 1;
  } else if (units <= round_of_block && measured.lone_block_size != 0) {
    launch.grid_size = 1;
  } else if (chooses_blocks && units <= one_round::most_threads * in_flight * multiprocessors) {
    launch.block_size = one_round::block_size(units, in_flight, multiprocessors);
    const std::int64_t round = launch.block_size * in_flight;
    launch.grid_size = static_cast<int>((units - 1) / round + 1);
  } else if (chooses_blocks && block_size_of_one != 0) {
    launch.block_size = block_size_of_one;
    launch.grid_size = multiprocessors;
  } else if (measured.few_blocks_per_sm != 0 && units < rounds * round_of_block * plan.largest_grid) {
    if (has_tiles<Source> && is_default_block && recipe.cluster_size == 1) {
      if (few_fit) {
        launch.block_size = block_of_few_tiles;
        launch.grid_size = multiprocessors;
      }
    } else {
      launch.grid_size = std::min(launch.grid_size, full_grid(measured.few_blocks_per_sm));
    }
  }
}

}  // namespace fanin::detail
