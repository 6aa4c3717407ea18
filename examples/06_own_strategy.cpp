// SPDX-License-Identifier: Apache-2.0
// A strategy of one's own for the CUDA backend, out of stages that are there: the notes' unrolled tree in shared
// memory, but fed by 16-byte loads and finished in the same launch. It works for every reducer and type from here on.
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>

using fanin::cuda_stage::block;
using fanin::cuda_stage::grid;
using fanin::cuda_stage::memory;
using fanin::cuda_stage::thread;

// clang-format off
struct wide_tree {
  static constexpr const char* name = "wide_tree";
  static constexpr const char* purpose = "an unrolled tree in shared memory, fed by wide loads, in one launch";
  static constexpr const char* source = "this example";
  static constexpr fanin::cuda_recipe recipe{
      .thread = thread::vectorised, .block = block::unrolled, .memory = memory::shared, .grid = grid::watching_block,
      .block_size = 256, .blocks_per_sm = 4, .loads = 4, .elements = 8};
};
// clang-format on

int main() {
  const std::int64_t n = 1'000'003;
  const fanin::cuda gpu;
  fanin::buffer<std::int64_t, fanin::cuda> buffer(gpu, n);
  std::int64_t* const x = buffer.data();
  fanin::parallel_for(fanin::range(gpu, 0, n), FANIN_LAMBDA(std::int64_t i) { x[i] = i % 1000 - (i == 777'777); });

  const std::int64_t sum = fanin::reduce(gpu.with<wide_tree>(), buffer, fanin::sum<std::int64_t>{});
  const fanin::cuda_launch launch = gpu.last_launch();
  std::printf("%s, %d blocks of %d threads, %zu bytes of shared memory each: sum %lld\n", launch.strategy,
              launch.grid_size, launch.block_size, launch.shared_bytes, static_cast<long long>(sum));

  // Over an index space, with a smaller block and another reducer.
  const auto [value, index] = fanin::parallel_reduce(
      fanin::range(gpu.with<wide_tree>({.block_size = 96}), 0, n),
      FANIN_LAMBDA(std::int64_t i) { return static_cast<double>(x[i] - x[n - 1 - i]); }, fanin::max_loc<double>{});
  std::printf("largest difference to the mirror image: %g at %lld\n", value, static_cast<long long>(index));

  // 1000 full rounds of 0 to 999, then 0, 1, 2, less the one; and 999 stands opposite 3 first at 999.
  return sum == 1000LL * 499'500 + 3 - 1 && value == 996.0 && index == 999 ? 0 : 1;
}
