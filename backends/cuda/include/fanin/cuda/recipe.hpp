// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace fanin {

/// The stages that a CUDA strategy is composed of, in the order in which data passes them.
namespace cuda_stage {

/// How a thread gathers its elements.
enum class thread {
  grid_stride,  ///< one element at a time, a grid's width apart
  vectorised,   ///< tiles that are contiguous per block: 16-byte loads, several in flight; a functor gets several
                ///< indices
};

/// How the threads of a block combine.
enum class block {
  interleaved,   ///< the upper half is added to the lower half until one is left
  warp_shuffle,  ///< each warp by shuffles, then the warps' results by the first warp
};

/// Where the block combines.
enum class memory {
  shared,     ///< one accumulator per thread in shared memory
  registers,  ///< in registers, and one accumulator per warp in shared memory
};

/// How the blocks' partial results combine.
enum class grid {
  host_finish,     ///< copied to the host and folded there
  last_block,      ///< by the block that takes the last ticket, in the same launch
  watching_block,  ///< by the block with the highest index, which watches for the others' results, in the same launch
};

}  // namespace cuda_stage

/// What makes a strategy. Everything else about it is derived from this.
struct cuda_recipe {
  cuda_stage::thread thread;
  cuda_stage::block block;
  cuda_stage::memory memory;
  cuda_stage::grid grid;
  int block_size;               ///< threads a block, unless the tuning says otherwise
  int blocks_per_sm;            ///< blocks on each multiprocessor at most
  int loads = 1;                ///< 16-byte loads in flight a thread (vectorised)
  int elements = 1;             ///< indices in flight a thread where a functor is gathered (vectorised)
  int rounds_of_one_block = 0;  ///< up to so many rounds one block does alone, without a grid stage (vectorised)
  int rounds_of_full_grid =
      0;  ///< with fewer rounds than this, at most two blocks run on a multiprocessor (vectorised)

  friend bool operator==(const cuda_recipe&, const cuda_recipe&) = default;
};

/// Null for a legal block size, otherwise a sentence.
constexpr const char* why_invalid_block_size(int block_size) {
  if (block_size < 32 || block_size > 1024) return "a block has 32 to 1024 threads";
  if (block_size % 32 != 0) return "a block is made of whole warps: a multiple of 32 threads";
  return nullptr;
}

/// Null for a recipe that can run, otherwise the sentence that says why it cannot.
constexpr const char* why_invalid(const cuda_recipe& recipe) {
  using namespace cuda_stage;
  if (const char* why = why_invalid_block_size(recipe.block_size)) return why;
  if (recipe.block == block::warp_shuffle && recipe.memory != memory::registers) {
    return "warp_shuffle combines in registers: shuffles move no shared memory";
  }
  if (recipe.block == block::interleaved && recipe.memory == memory::registers) {
    return "interleaved needs memory that all threads of a block see: no thread reads another's registers";
  }
  if (recipe.blocks_per_sm < 1) return "a grid needs at least one block on each multiprocessor";
  if (recipe.loads < 1 || recipe.elements < 1) return "a thread gathers at least one element";
  if (recipe.thread != thread::vectorised && recipe.loads != 1) return "only vectorised gathering has several loads";
  return nullptr;
}

/// Whether the result is there in the stream's order, without the host: what the _into forms and graphs need.
constexpr bool is_stream_ordered(const cuda_recipe& recipe) {
  return recipe.grid != cuda_stage::grid::host_finish;
}

/// Kernel launches of one reduction.
constexpr int launches(const cuda_recipe&) {
  return 1;
}

/// Accumulators of up to so many bytes travel through shuffles; larger ones through slots in shared memory.
inline constexpr std::size_t largest_shuffled_accumulator = 64;

/// Shared memory that the block stage asks for at launch, for an accumulator of so many bytes.
constexpr std::size_t dynamic_shared_bytes(const cuda_recipe& recipe, int block_size, std::size_t accumulator_bytes,
                                           bool through_slots) {
  if (through_slots || recipe.memory != cuda_stage::memory::shared) return 0;
  return static_cast<std::size_t>(block_size) * accumulator_bytes;
}

}  // namespace fanin
