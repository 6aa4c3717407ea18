// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/cuda/recipe.hpp>

namespace fanin {

/// The named strategies. Each is a name, what it is for, where it comes from (a document of the five that
/// docs/strategies.md retells), and its recipe. Blocks and n are the documents' own where they say any.
namespace cuda_strategy {

using cuda_stage::block;
using cuda_stage::grid;
using cuda_stage::memory;
using cuda_stage::thread;

/// The default. Measured on an H200, float and double sums, time of the best of block 256 to 1024, loads 2 to 8, 1 to 8
/// blocks a multiprocessor: 512 threads x 4 loads x 4 blocks is within 0.3 % of it from 2^26 elements up; two blocks
/// are 6 % faster at 2^22 floats and 0.5 % slower at 2^26; one block of 1024 threads alone is 12 % faster at 2^14
/// floats (64 KiB).
struct one_pass {
  static constexpr const char* name = "one_pass";
  static constexpr const char* purpose =
      "one launch at memory speed: wide loads, shuffles, one block watches for the rest";
  static constexpr const char* source = "beyond the documents";
  static constexpr cuda_recipe recipe{.thread = thread::vectorised,
                                      .block = block::warp_shuffle,
                                      .memory = memory::registers,
                                      .grid = grid::watching_block,
                                      .block_size = 512,
                                      .chunks = 1,
                                      .blocks_per_sm = 4,
                                      .loads = 4,
                                      .elements = 8};
  static constexpr cuda_grid_tuning tunings[] = {
      // H200. For sums of 2^16, 2^20, 2^24 and 2^28 floats and doubles fanin-perf --tune found nothing that was faster
      // by more than 3 %.
      {.compute_capability = 90,
       .most_element_bytes = 16,
       .lone_block_size = 1024,
       .blocks_per_sm = 4,
       .few_blocks_per_sm = 2,
       .rounds_of_full_grid = 6},
      // H200. Structs of 64 bytes, 1 GiB: 4459 GB/s with one block a multiprocessor, 4308 with two. No array is so long
      // that more would run.
      {.compute_capability = 90,
       .lone_block_size = 1024,
       .blocks_per_sm = 4,
       .few_blocks_per_sm = 1,
       .rounds_of_full_grid = 1 << 20},
      // Not measured: as many blocks as are resident, once each has something to do in several rounds.
      {.lone_block_size = 1024, .few_blocks_per_sm = 2, .rounds_of_full_grid = 6}};
};

struct thread_partials {
  static constexpr const char* name = "thread_partials";
  static constexpr const char* purpose = "each thread of one block folds its share; nobody combines";
  static constexpr const char* source = "000 step 1";
  static constexpr cuda_recipe recipe{.thread = thread::grid_stride,
                                      .block = block::none,
                                      .memory = memory::registers,
                                      .grid = grid::host_finish,
                                      .block_size = 256,
                                      .chunks = 1,
                                      .grid_size = 1};
};

struct shared_thread0 {
  static constexpr const char* name = "shared_thread0";
  static constexpr const char* purpose = "256 blocks; thread 0 of each adds up its block's shared memory";
  static constexpr const char* source = "000 step 2";
  static constexpr cuda_recipe recipe{.thread = thread::grid_stride,
                                      .block = block::thread0_serial,
                                      .memory = memory::shared,
                                      .grid = grid::host_finish,
                                      .block_size = 256,
                                      .chunks = 1,
                                      .grid_size = 256};
};

struct shared_tree {
  static constexpr const char* name = "shared_tree";
  static constexpr const char* purpose = "the upper half of a block's shared memory is added to the lower half";
  static constexpr const char* source = "000 step 2";
  static constexpr cuda_recipe recipe{.thread = thread::grid_stride,
                                      .block = block::interleaved,
                                      .memory = memory::shared,
                                      .grid = grid::host_finish,
                                      .block_size = 256,
                                      .chunks = 1,
                                      .grid_size = 256};
};

struct shared_tree_last_warp {
  static constexpr const char* name = "shared_tree_last_warp";
  static constexpr const char* purpose = "the same, and the last warp needs no barrier";
  static constexpr const char* source = "000 step 3";
  static constexpr cuda_recipe recipe{.thread = thread::grid_stride,
                                      .block = block::interleaved_unrolled_warp,
                                      .memory = memory::shared,
                                      .grid = grid::host_finish,
                                      .block_size = 256,
                                      .chunks = 1,
                                      .grid_size = 256};
};

struct shuffle {
  static constexpr const char* name = "shuffle";
  static constexpr const char* purpose = "warps combine by shuffles, without shared memory but for one value a warp";
  static constexpr const char* source = "000 step 4";
  static constexpr cuda_recipe recipe{.thread = thread::grid_stride,
                                      .block = block::warp_shuffle,
                                      .memory = memory::registers,
                                      .grid = grid::host_finish,
                                      .block_size = 256,
                                      .chunks = 1,
                                      .grid_size = 256};
};

struct global_interleaved {
  static constexpr const char* name = "global_interleaved";
  static constexpr const char* purpose = "the baseline: interleaved pairs in global memory";
  static constexpr const char* source = "001 reduce_global1, 002, 004 reduce_global";
  static constexpr cuda_recipe recipe{.thread = thread::one,
                                      .block = block::interleaved,
                                      .memory = memory::global,
                                      .grid = grid::second_pass,
                                      .block_size = 512};
};

struct global_neighbored {
  static constexpr const char* name = "global_neighbored";
  static constexpr const char* purpose = "neighbouring pairs in global memory, by divergent warps";
  static constexpr const char* source = "001 reduce_global2, 002";
  static constexpr cuda_recipe recipe{.thread = thread::one,
                                      .block = block::neighbored_divergent,
                                      .memory = memory::global,
                                      .grid = grid::second_pass,
                                      .block_size = 512};
};

struct global_unroll {
  static constexpr const char* name = "global_unroll";
  static constexpr const char* purpose = "four chunks a block are folded first, then an unrolled tree in global memory";
  static constexpr const char* source = "001 reduce_global_unroll";
  static constexpr cuda_recipe recipe{.thread = thread::fold_n,
                                      .block = block::unrolled,
                                      .memory = memory::global,
                                      .grid = grid::second_pass,
                                      .block_size = 1024,
                                      .chunks = 4};
};

struct shared_interleaved {
  static constexpr const char* name = "shared_interleaved";
  static constexpr const char* purpose = "interleaved pairs in shared memory: no two lanes share a bank";
  static constexpr const char* source = "001 reduce_shared, 003 contiguous, 004 reduce_shared";
  static constexpr cuda_recipe recipe{.thread = thread::one,
                                      .block = block::interleaved,
                                      .memory = memory::shared,
                                      .grid = grid::second_pass,
                                      .block_size = 512};
};

struct shared_neighbored {
  static constexpr const char* name = "shared_neighbored";
  static constexpr const char* purpose = "neighbouring pairs in shared memory, by divergent warps";
  static constexpr const char* source = "003 reduce0";
  static constexpr cuda_recipe recipe{.thread = thread::one,
                                      .block = block::neighbored_divergent,
                                      .memory = memory::shared,
                                      .grid = grid::second_pass,
                                      .block_size = 1024};
};

struct shared_neighbored_strided {
  static constexpr const char* name = "shared_neighbored_strided";
  static constexpr const char* purpose = "neighbouring pairs in shared memory, by the first threads: lanes share banks";
  static constexpr const char* source = "001 reduce_shared2, 003 non-contiguous";
  static constexpr cuda_recipe recipe{.thread = thread::one,
                                      .block = block::neighbored_strided,
                                      .memory = memory::shared,
                                      .grid = grid::second_pass,
                                      .block_size = 512};
};

struct shared_shrink {
  static constexpr const char* name = "shared_shrink";
  static constexpr const char* purpose = "four chunks a block are folded into shared memory first: every thread works";
  static constexpr const char* source = "001 reduce_shared_shrink";
  static constexpr cuda_recipe recipe{.thread = thread::fold_n,
                                      .block = block::interleaved,
                                      .memory = memory::shared,
                                      .grid = grid::second_pass,
                                      .block_size = 1024,
                                      .chunks = 4};
};

struct shared_warp {
  static constexpr const char* name = "shared_warp";
  static constexpr const char* purpose = "the same, and the last warp is unrolled";
  static constexpr const char* source = "001 reduce_shared_warp";
  static constexpr cuda_recipe recipe{.thread = thread::fold_n,
                                      .block = block::interleaved_unrolled_warp,
                                      .memory = memory::shared,
                                      .grid = grid::second_pass,
                                      .block_size = 1024,
                                      .chunks = 4};
};

struct shared_unroll {
  static constexpr const char* name = "shared_unroll";
  static constexpr const char* purpose = "the same, and the whole tree is unrolled";
  static constexpr const char* source = "001 reduce_shared_unroll";
  static constexpr cuda_recipe recipe{.thread = thread::fold_n,
                                      .block = block::unrolled,
                                      .memory = memory::shared,
                                      .grid = grid::second_pass,
                                      .block_size = 1024,
                                      .chunks = 4};
};

struct shared_shuffle_tail {
  static constexpr const char* name = "shared_shuffle_tail";
  static constexpr const char* purpose = "the same, and the last warp shuffles: not a good way, says 001";
  static constexpr const char* source = "001, first paragraph on reduce_shared_shuffle";
  static constexpr cuda_recipe recipe{.thread = thread::fold_n,
                                      .block = block::unrolled_shuffle_tail,
                                      .memory = memory::shared,
                                      .grid = grid::second_pass,
                                      .block_size = 1024,
                                      .chunks = 4};
};

struct shared_shuffle {
  static constexpr const char* name = "shared_shuffle";
  static constexpr const char* purpose = "eight chunks a block are folded in registers, then two levels of shuffles";
  static constexpr const char* source = "001 reduce_shared_shuffle";
  static constexpr cuda_recipe recipe{.thread = thread::fold_n,
                                      .block = block::warp_shuffle,
                                      .memory = memory::registers,
                                      .grid = grid::second_pass,
                                      .block_size = 1024,
                                      .chunks = 8};
};

struct global_halving {
  static constexpr const char* name = "global_halving";
  static constexpr const char* purpose = "the array's upper half is added to its lower half, a launch each time";
  static constexpr const char* source = "004, the first kernel";
  static constexpr cuda_recipe recipe{.thread = thread::pairs,
                                      .block = block::none,
                                      .memory = memory::global,
                                      .grid = grid::launch_per_halving,
                                      .block_size = 128};
};

struct one_pass_bulk {
  static constexpr const char* name = "one_pass_bulk";
  static constexpr const char* purpose = "one_pass, fed by the bulk copy engine through shared memory";
  static constexpr const char* source = "beyond the documents";
  static constexpr cuda_recipe recipe{.thread = thread::bulk,
                                      .block = block::warp_shuffle,
                                      .memory = memory::registers,
                                      .grid = grid::watching_block,
                                      .block_size = 256,
                                      .chunks = 1,
                                      .blocks_per_sm = 2,
                                      .loads = 4,
                                      .elements = 8};
};

struct cluster {
  static constexpr const char* name = "cluster";
  static constexpr const char* purpose = "one_pass, and eight blocks combine through distributed shared memory first";
  static constexpr const char* source = "beyond the documents";
  static constexpr cuda_recipe recipe{.thread = thread::vectorised,
                                      .block = block::warp_shuffle,
                                      .memory = memory::registers,
                                      .grid = grid::watching_block,
                                      .block_size = 512,
                                      .chunks = 1,
                                      .blocks_per_sm = 4,
                                      .loads = 4,
                                      .elements = 8,
                                      .cluster_size = 8};
};

/// A strategy with another grid stage than its own. Ill-formed, with why_invalid's sentence, where that has no meaning.
template <cuda_strategy_tag Strategy, grid Grid>
struct finished_by : Strategy {
  static constexpr cuda_recipe recipe = [] {
    cuda_recipe other = Strategy::recipe;
    other.grid = Grid;
    return other;
  }();
};

}  // namespace cuda_strategy

/// A list of strategies. for_each calls visit with a value of each tag type.
template <class... Strategy>
struct cuda_strategy_list {
  static constexpr int size = sizeof...(Strategy);
  static_assert(((fanin::why_invalid(Strategy::recipe) == nullptr) && ...), "fanin: a strategy's recipe is illegal");
  template <class Visit>
  static void for_each(Visit&& visit) {
    (visit(Strategy{}), ...);
  }
};

/// Every strategy that Fanin names, the default first.
using cuda_catalogue = cuda_strategy_list<
    cuda_strategy::one_pass, cuda_strategy::thread_partials, cuda_strategy::shared_thread0, cuda_strategy::shared_tree,
    cuda_strategy::shared_tree_last_warp, cuda_strategy::shuffle, cuda_strategy::global_interleaved,
    cuda_strategy::global_neighbored, cuda_strategy::global_unroll, cuda_strategy::shared_interleaved,
    cuda_strategy::shared_neighbored, cuda_strategy::shared_neighbored_strided, cuda_strategy::shared_shrink,
    cuda_strategy::shared_warp, cuda_strategy::shared_unroll, cuda_strategy::shared_shuffle_tail,
    cuda_strategy::shared_shuffle, cuda_strategy::global_halving, cuda_strategy::one_pass_bulk, cuda_strategy::cluster>;

}  // namespace fanin
