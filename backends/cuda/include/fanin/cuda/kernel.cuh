// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <fanin/cuda/block/memory.cuh>
#include <fanin/cuda/grid/finisher.cuh>
#include <fanin/cuda/grid/host_finish.cuh>
#include <fanin/cuda/grid/last_block.cuh>
#include <fanin/cuda/grid/launch_per_halving.cuh>
#include <fanin/cuda/grid/lone_block.cuh>
#include <fanin/cuda/grid/second_pass.cuh>
#include <fanin/cuda/grid/watching_block.cuh>
#include <fanin/cuda/partial/in_registers.cuh>
#include <fanin/cuda/partial/in_spill.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/partial/of_threads.cuh>
#include <fanin/cuda/partial/parcel.cuh>
#include <fanin/cuda/thread/tiles.cuh>
#include <fanin/cuda/workspace.cuh>
#include <fanin/detail/md_functor.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/warp.cuh>

namespace fanin::detail {

template <class Strategy, class Composite>
constexpr auto choose_grid_stage() {
  using cuda_stage::grid;
  constexpr grid stage = Strategy::recipe.grid;
  if constexpr (is_alone<Strategy>) {
    return std::type_identity<lone_block<Strategy, Composite>>{};
  } else if constexpr (stage == grid::host_finish) {
    return std::type_identity<host_finish<Strategy, Composite>>{};
  } else if constexpr (stage == grid::second_pass) {
    return std::type_identity<second_pass<Strategy, Composite>>{};
  } else if constexpr (stage == grid::launch_per_halving) {
    return std::type_identity<launch_per_halving<Strategy, Composite>>{};
  } else if constexpr (is_watched<Strategy, Composite>) {
    return std::type_identity<watching_block<Strategy, Composite>>{};
  } else {
    return std::type_identity<last_block<Strategy, Composite>>{};
  }
}
/// The recipe's grid stage; the last block in place of the watching one where tagged units do not do.
template <class Strategy, class Composite>
using grid_stage_of = typename decltype(choose_grid_stage<Strategy, Composite>())::type;

template <class Strategy, class Composite>
constexpr auto choose_partial() {
  constexpr partial_kind kind = partial_kind_of<Strategy, Composite>;
  if constexpr (kind == partial_kind::of_threads) {
    return std::type_identity<partials_of_threads<Strategy, Composite>>{};
  } else if constexpr (kind == partial_kind::in_spill) {
    return std::type_identity<partial_in_spill<Strategy, Composite>>{};
  } else if constexpr (kind == partial_kind::parcel) {
    return std::type_identity<partial_parcel<Strategy, Composite>>{};
  } else {
    return std::type_identity<partial_in_registers<Strategy, Composite>>{};
  }
}
/// What a block hands to it.
template <class Strategy, class Composite>
using partial_type_of = typename decltype(choose_partial<Strategy, Composite>())::type;

template <class Strategy, class Composite>
struct workspace_of : grid_stage_of<Strategy, Composite>::workspace {};

/// A lone block has a multiprocessor to itself. That one is enough is said, as the compiler otherwise keeps to 32
/// registers, with which 2048 threads run, and folds between a thread's loads to do so. So it did of exact sums that
/// something finishes, with 4.6 KiB of stack (sums over ranks: a third of the speed), and of boxes by tiles. Where a
/// few bytes go to other ranks 32 registers do, but told so it loads in two goes what a watching block looks at, which
/// took 0.2 us.
template <class Strategy, class Source, class Composite>
inline constexpr int least_blocks_of_multiprocessor =
    is_alone<Strategy> || has_tiles<Source> || (Composite::is_finished && Composite::has_any_spill) ||
            (finisher<Composite>::asks_memory && sizeof(typename Composite::accumulator_type) <= sizeof(float))
        ? 1
        : 0;

/// Gather and combine in the block, combine in the cluster, hand to the grid stage: as the strategy's recipe says.
template <class Strategy, class Source, class Composite>
__global__ void __launch_bounds__(1024, least_blocks_of_multiprocessor<Strategy, Source, Composite>)
    reduce_kernel(const Source source, const Composite c, const workspace_of<Strategy, Composite> work,
                  const cuda_destination<typename Composite::result_type> destination) {
  unsigned char* const shared = memory_of_launch();
  auto& block = object_of_block<block_memory<Strategy, Composite>>();
  typename partial_type_of<Strategy, Composite>::value_type value;
  partial_type_of<Strategy, Composite> partial(c, work, block, shared, value);
  const grid_stage_of<Strategy, Composite> grid(work, destination, block);  // waits for the grids before
  partial.gather(source);
  if constexpr (Strategy::recipe.cluster_size > 1) {
    if (!partial.combine_in_cluster()) return;
  }
  grid.finish(partial, source);
}

/// f for indices first, first + 1, ...: a thread's are a grid's width apart, and warps begin with indices that 32
/// divides, and so with lines of memory, where arrays of 4 bytes and more an element begin with index 0.
template <class F>
__global__ void __launch_bounds__(256) for_kernel(const F f, std::int64_t first, std::int64_t count) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const auto behind = static_cast<std::int64_t>(static_cast<std::uint64_t>(first) % warp_size);
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x - behind;
  if (i < 0) i += threads;
  for (; i < count; i += threads) {
    f(first + i);
  }
}

/// The same for a box by tiles.
template <class F, std::size_t Rank, iterate Order>
__global__ void __launch_bounds__(256) for_tiles_kernel(const md_functor<F, Rank, Order> f, const md_tiles tiles) {
  detail::for_columns(tiles, [&](std::uint32_t plane, int row, int along, int left) {
    const auto column = detail::column_of(f, plane, row, along);
    for (int k = 0; k < md_tiles::height && k < left; ++k) column(k);
  });
}

}  // namespace fanin::detail
