// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/cuda/recipe.hpp>

namespace fanin {

/// The named strategies. Each is a row: a name, a recipe, what it is for, and where it comes from.
namespace cuda_strategy {

/// The default. Measured on an H200, float and double sums, time of the best of block 256 to 1024, loads 2 to 8, 1 to 8
/// blocks a multiprocessor: 512 threads x 4 loads x 4 blocks is within 0.3 % of it from 2^26 elements up; two blocks
/// are 6 % faster at 2^22 floats and 0.5 % slower at 2^26; one block alone is 12 % faster at 2^14 floats (64 KiB).
struct one_pass {
  static constexpr const char* name = "one_pass";
  static constexpr const char* purpose =
      "one launch at memory speed: wide loads, shuffles, one block watches for the rest";
  static constexpr const char* source = "beyond the documents";
  static constexpr cuda_recipe recipe{.thread = cuda_stage::thread::vectorised,
                                      .block = cuda_stage::block::warp_shuffle,
                                      .memory = cuda_stage::memory::registers,
                                      .grid = cuda_stage::grid::watching_block,
                                      .block_size = 512,
                                      .blocks_per_sm = 4,
                                      .loads = 4,
                                      .elements = 8,
                                      .rounds_of_one_block = 2,
                                      .rounds_of_full_grid = 6};
};

struct shuffle {
  static constexpr const char* name = "shuffle";
  static constexpr const char* purpose = "warps combine by shuffles, without shared memory but for one value a warp";
  static constexpr const char* source = "000 step 4";
  static constexpr cuda_recipe recipe{.thread = cuda_stage::thread::grid_stride,
                                      .block = cuda_stage::block::warp_shuffle,
                                      .memory = cuda_stage::memory::registers,
                                      .grid = cuda_stage::grid::host_finish,
                                      .block_size = 256,
                                      .blocks_per_sm = 8};
};

struct shared_tree {
  static constexpr const char* name = "shared_tree";
  static constexpr const char* purpose = "the upper half of a block's shared memory is added to the lower half";
  static constexpr const char* source = "000 step 2";
  static constexpr cuda_recipe recipe{.thread = cuda_stage::thread::grid_stride,
                                      .block = cuda_stage::block::interleaved,
                                      .memory = cuda_stage::memory::shared,
                                      .grid = cuda_stage::grid::host_finish,
                                      .block_size = 256,
                                      .blocks_per_sm = 8};
};

}  // namespace cuda_strategy

/// A type with a name, a purpose, a source and a legal recipe. Users may write their own.
template <class S>
concept cuda_strategy_tag = requires {
  S::name;
  S::purpose;
  S::source;
  requires why_invalid(S::recipe) == nullptr;
};

/// A list of strategies. for_each calls visit with a value of each tag type.
template <class... Strategy>
struct cuda_strategy_list {
  static constexpr int size = sizeof...(Strategy);
  static_assert(((why_invalid(Strategy::recipe) == nullptr) && ...), "fanin: a strategy's recipe is illegal");
  template <class Visit>
  static void for_each(Visit&& visit) {
    (visit(Strategy{}), ...);
  }
};

/// Every strategy that Fanin names, the default first.
using cuda_catalogue = cuda_strategy_list<cuda_strategy::one_pass, cuda_strategy::shuffle, cuda_strategy::shared_tree>;

}  // namespace fanin
