// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace fanin {

/// The stages that a CUDA strategy is composed of, in the order in which data passes them.
namespace cuda_stage {

/// How a thread gathers its elements.
enum class thread {
  one,          ///< one element
  fold_n,       ///< one of each of n consecutive chunks of a block's width
  pairs,        ///< elements i and i + ceil(n / 2)
  grid_stride,  ///< one at a time, a grid's width apart
  vectorised,   ///< tiles contiguous per block: 16-byte loads, several in flight; a functor gets several indices
  bulk,         ///< the bulk copy engine fills a ring of tiles in shared memory; a functor is gathered as vectorised
};

/// How the threads of a block combine.
enum class block {
  none,                       ///< not at all: one partial result a thread
  thread0_serial,             ///< thread 0 alone
  neighbored_divergent,       ///< neighbours at a growing distance, the threads with t % (2 s) == 0
  neighbored_strided,         ///< the same pairs, worked on by the first threads
  interleaved,                ///< the upper half is joined to the lower half; a loop
  interleaved_unrolled_warp,  ///< the same loop down to 64 values, then the first warp alone, unrolled
  unrolled,                   ///< the whole tree without a loop
  unrolled_shuffle_tail,      ///< the unrolled tree down to 64 values, then shuffles
  warp_shuffle,               ///< each warp by shuffles, then the warps' results by the first warp
  own,                        ///< the strategy's static member combine(op, memory, count)
};

/// Where the block combines. Whatever a thread gathers it folds in registers, and stores once.
enum class memory {
  global,     ///< one accumulator a thread in device memory
  shared,     ///< one accumulator a thread in shared memory
  registers,  ///< in registers, and one accumulator a warp in shared memory
};

/// How the blocks' partial results combine.
enum class grid {
  host_finish,         ///< copied to the host and folded there
  second_pass,         ///< by the same strategy, launched again until one is left
  last_block,          ///< by the block that takes the last ticket, in the same launch
  watching_block,      ///< by the block with the highest index, which watches for the others', in the same launch
  launch_per_halving,  ///< one launch for each halving of the array
};

constexpr const char* to_string(thread stage) {
  constexpr const char* names[] = {"one", "fold_n", "pairs", "grid_stride", "vectorised", "bulk"};
  return names[static_cast<int>(stage)];
}
constexpr const char* to_string(block stage) {
  constexpr const char* names[] = {"none",
                                   "thread0_serial",
                                   "neighbored_divergent",
                                   "neighbored_strided",
                                   "interleaved",
                                   "interleaved_unrolled_warp",
                                   "unrolled",
                                   "unrolled_shuffle_tail",
                                   "warp_shuffle",
                                   "own"};
  return names[static_cast<int>(stage)];
}
constexpr const char* to_string(memory where) {
  constexpr const char* names[] = {"global", "shared", "registers"};
  return names[static_cast<int>(where)];
}
constexpr const char* to_string(grid stage) {
  constexpr const char* names[] = {"host_finish", "second_pass", "last_block", "watching_block", "launch_per_halving"};
  return names[static_cast<int>(stage)];
}

}  // namespace cuda_stage

/// What makes a strategy. Everything else about it is derived from this. With Clang as its host compiler nvcc 13.0
/// takes a member that designated initialisers skip for 0, whatever it is here: a strategy names all members that are
/// not 0 up to its last one.
struct cuda_recipe {
  cuda_stage::thread thread;
  cuda_stage::block block;
  cuda_stage::memory memory;
  cuda_stage::grid grid;
  int block_size;         ///< threads a block, unless the tuning says otherwise
  int chunks = 1;         ///< n of fold_n, unless the tuning says otherwise
  int blocks_per_sm = 0;  ///< blocks on each multiprocessor at most; 0: as many as the elements need
  int grid_size = 0;      ///< blocks of the launch, whatever the number of elements; 0: as above
  int loads = 1;          ///< 16-byte loads in flight a thread (vectorised)
  int elements = 1;       ///< indices in flight a thread where a functor is gathered (vectorised)
  int cluster_size = 1;   ///< blocks that combine through distributed shared memory before the grid stage

  friend bool operator==(const cuda_recipe&, const cuda_recipe&) = default;
};

/// How many blocks of its recipe's size a strategy with vectorised gathering launches, by the number of elements: as it
/// was measured for one kind of device and element. A strategy may have an array of them, `tunings`; without a
/// cuda_tuning of the caller the first row that fits decides.
struct cuda_grid_tuning {
  int compute_capability = 0;   ///< 10 * major + minor of the devices it is for; 0: of any
  int most_element_bytes = 0;   ///< for elements of up to so many bytes; 0: of any size
  int lone_block_size = 0;      ///< what one round of so many threads covers, one block does alone; 0: never
  int blocks_per_sm = 0;        ///< at most; 0: as many as are resident
  int few_blocks_per_sm = 0;    ///< with fewer rounds than the next: at most; 0: as above
  int rounds_of_full_grid = 0;  ///< that all blocks must have

  friend bool operator==(const cuda_grid_tuning&, const cuda_grid_tuning&) = default;
};

/// Null for a legal block size, otherwise a sentence.
constexpr const char* why_invalid_block_size(int block_size) {
  if (block_size < 32 || block_size > 1024) return "a block has 32 to 1024 threads";
  if (block_size % 32 != 0) return "a block is made of whole warps: a multiple of 32 threads";
  return nullptr;
}

/// Whether a thread takes a number of elements that grows with n, so that the grid does not have to.
constexpr bool is_persistent(const cuda_recipe& recipe) {
  using cuda_stage::thread;
  return recipe.thread == thread::grid_stride || recipe.thread == thread::vectorised || recipe.thread == thread::bulk;
}

/// Null for a recipe that can run, otherwise the sentence that says why it cannot.
constexpr const char* why_invalid(const cuda_recipe& recipe) {
  using namespace cuda_stage;
  if (const char* why = why_invalid_block_size(recipe.block_size)) return why;
  if ((recipe.thread == thread::pairs) != (recipe.grid == grid::launch_per_halving)) {
    return "pairs of elements half an array apart and a launch for each halving go together: each needs the other";
  }
  if (recipe.grid == grid::launch_per_halving && recipe.block != block::none) {
    return "with a launch for each halving no block combines anything: its block stage is none";
  }
  if (recipe.block == block::none && recipe.grid != grid::host_finish && recipe.grid != grid::launch_per_halving) {
    return "without a block stage every thread leaves a partial result, and a grid stage takes one a block: only the "
           "host "
           "can finish";
  }
  if (recipe.block == block::warp_shuffle && recipe.memory != memory::registers) {
    return "warp_shuffle combines in registers: shuffles move no memory";
  }
  if (recipe.block != block::warp_shuffle && recipe.block != block::none && recipe.memory == memory::registers) {
    return "this block stage needs memory that all threads of a block see: no thread reads another's registers";
  }
  if (recipe.thread == thread::bulk && recipe.memory != memory::registers) {
    return "bulk copies fill the shared memory that this block stage would need: combine in registers";
  }
  if (recipe.cluster_size != 1) {
    if (recipe.cluster_size < 1 || recipe.cluster_size > 8) return "a cluster has up to 8 blocks on every device";
    if (!is_persistent(recipe)) return "a cluster needs a grid of whole clusters: gather with a persistent grid";
    if (recipe.grid != grid::last_block && recipe.grid != grid::watching_block) {
      return "a cluster saves the grid stage work inside a launch: finish in the last or the watching block";
    }
    if (recipe.memory != memory::registers) return "a cluster's blocks hand over what they hold in registers";
  }
  if (is_persistent(recipe) && recipe.blocks_per_sm < 1 && recipe.grid_size < 1) {
    return "a persistent grid needs a size: blocks_per_sm or grid_size";
  }
  if (recipe.chunks < 1 || recipe.loads < 1 || recipe.elements < 1) return "a thread gathers at least one element";
  if (recipe.chunks != 1 && recipe.thread != thread::fold_n) return "only fold_n folds several chunks";
  if (recipe.loads != 1 && recipe.thread != thread::vectorised && recipe.thread != thread::bulk) {
    return "only vectorised gathering has several loads in flight";
  }
  return nullptr;
}

/// Whether the result is there in the stream's order, without the host: what the _into forms and graphs need.
constexpr bool is_stream_ordered(const cuda_recipe& recipe) { return recipe.grid != cuda_stage::grid::host_finish; }

/// Whether one launch does the whole reduction, whatever n.
constexpr bool is_single_launch(const cuda_recipe& recipe) {
  using cuda_stage::grid;
  return recipe.grid == grid::host_finish || recipe.grid == grid::last_block || recipe.grid == grid::watching_block;
}

/// The same bits from run to run: every order of joins depends on n, block and grid alone.
constexpr bool is_deterministic(const cuda_recipe&) { return true; }

/// 10 * major + minor of the least device that runs it.
constexpr int least_compute_capability(const cuda_recipe& recipe) {
  return recipe.thread == cuda_stage::thread::bulk || recipe.cluster_size > 1 ? 90 : 70;
}

/// Accumulators of up to so many bytes travel through shuffles and one a thread in shared memory; larger ones through
/// slots in shared memory. In global memory there is room for any.
inline constexpr std::size_t largest_shuffled_accumulator = 64;

constexpr bool goes_through_slots(const cuda_recipe& recipe, std::size_t largest_accumulator) {
  return largest_accumulator > largest_shuffled_accumulator && recipe.memory != cuda_stage::memory::global &&
         recipe.block != cuda_stage::block::none;
}

/// Shared memory for slots: room for one accumulator at least.
constexpr std::size_t slot_bytes(std::size_t largest_accumulator) {
  constexpr std::size_t some = 16 * 1024;
  return largest_accumulator < some ? some : largest_accumulator;
}

/// The ring of the bulk copy engine. On an H200 three stages of 32 KiB, 256 threads and two blocks a multiprocessor
/// reached 4601 GB/s, plain loads 4571.
inline constexpr int bulk_stages = 3;
inline constexpr std::size_t bulk_stage_bytes = 32 * 1024;

/// Shared memory that is asked for at launch, for an accumulator of so many bytes.
constexpr std::size_t dynamic_shared_bytes(const cuda_recipe& recipe, int block_size, std::size_t accumulator_bytes,
                                           std::size_t largest_accumulator) {
  if (recipe.thread == cuda_stage::thread::bulk) return bulk_stages * bulk_stage_bytes;
  if (goes_through_slots(recipe, largest_accumulator)) return slot_bytes(largest_accumulator);
  if (recipe.memory != cuda_stage::memory::shared) return 0;
  return static_cast<std::size_t>(block_size) * accumulator_bytes;
}

/// A type with a name, a purpose, a source and a legal recipe. Users may write their own.
template <class S>
concept cuda_strategy_tag = requires {
  S::name;
  S::purpose;
  S::source;
  requires fanin::why_invalid(S::recipe) == nullptr;
};

}  // namespace fanin
