// SPDX-License-Identifier: Apache-2.0
// A block stage of one's own for the CUDA backend: a tree that joins three values at a time, and so needs a barrier for
// every factor of 3 where the notes' trees need one for every factor of 2.
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>

struct ternary_tree {
  static constexpr const char* name = "ternary_tree";
  static constexpr const char* purpose = "a tree in shared memory that joins three values at a time";
  static constexpr const char* source = "this example";
  static constexpr fanin::cuda_recipe recipe{.thread = fanin::cuda_stage::thread::fold_n,
                                             .block = fanin::cuda_stage::block::own,
                                             .memory = fanin::cuda_stage::memory::shared,
                                             .grid = fanin::cuda_stage::grid::second_pass,
                                             .block_size = 288,
                                             .chunks = 8};

  /// What block::own asks for. `left` values in memory, value t written by thread t, a barrier behind them; all threads
  /// of the block come here. The result has to be in memory[0], and visible to thread 0. Any number of values.
  /// Barriers: ceil(log3(left)).
  template <class Op, class T>
  static __device__ void combine(const Op& op, T* memory, unsigned left) {
    while (left > 1) {
      const unsigned third = (left + 2) / 3;
      if (threadIdx.x < third) {
        if (threadIdx.x + third < left) op.join(memory[threadIdx.x], memory[threadIdx.x + third]);
        if (threadIdx.x + 2 * third < left) op.join(memory[threadIdx.x], memory[threadIdx.x + 2 * third]);
      }
      __syncthreads();
      left = third;
    }
  }
};

int main() {
  const std::int64_t n = 1'000'003;
  const fanin::cuda gpu;

  const std::int64_t sum = fanin::parallel_reduce(
      fanin::range(gpu.with<ternary_tree>(), 0, n), FANIN_LAMBDA(std::int64_t i) { return i; },
      fanin::sum<std::int64_t>{});
  const fanin::cuda_launch launch = gpu.last_launch();
  std::printf("%s, %d blocks of %d threads, %d launches: sum %lld\n", launch.strategy, launch.grid_size,
              launch.block_size, launch.launches, static_cast<long long>(sum));

  // The same stage for a reducer with a position and more chunks a block.
  const auto [value, index] = fanin::parallel_reduce(
      fanin::range(gpu.with<ternary_tree>({.chunks = 64}), 0, n),
      FANIN_LAMBDA(std::int64_t i) { return static_cast<double>((i * 7919) % 1'000'003); }, fanin::max_loc<double>{});
  std::printf("largest %g at %lld\n", value, static_cast<long long>(index));

  return sum == n * (n - 1) / 2 && value == 1'000'002.0 && (index * 7919) % n == n - 1 ? 0 : 1;
}
