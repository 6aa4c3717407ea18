// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/error.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reducers.hpp>

#include "simulator/seeds.hpp"
#include "state.hpp"
#include "support/functors.hpp"

/// What an object does around its kernels, on the simulated device: captures, workspace of graphs that are gone,
/// the mailbox near its last number.
namespace simulator_test {
namespace {

namespace rows = fanin::cuda_strategy;
using fanin::cuda_stage::grid;
using last_block = rows::finished_by<rows::one_pass, grid::last_block>;

/// f(i) = step + i: another sum for every call.
struct rising {
  std::int64_t step;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const { return step + i; }
  std::int64_t sum(std::int64_t n) const { return step * n + n * (n - 1) / 2; }
};

template <class Strategy>
auto with_grid(const fanin::cuda& gpu, int size) {
  return gpu.with<Strategy>({.block_size = 32, .grid_size = size});
}

template <class View>
std::string call(const View& view, const rising& f, std::int64_t n) {
  const std::int64_t got = fanin::parallel_reduce(fanin::range(view, n), f, fanin::sum<std::int64_t>{});
  return got == f.sum(n) ? "" : "got " + std::to_string(got) + ", expected " + std::to_string(f.sum(n)) + "; ";
}

/// A call that was captured, and what it writes to.
struct node {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  std::int64_t out = -1;

  template <class View, class F>
  node(const fanin::cuda& gpu, const View& view, const F& f, std::int64_t n) {
    cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal);
    fanin::parallel_reduce_into(&out, fanin::range(view, n), f, fanin::sum<std::int64_t>{});
    cudaStreamEndCapture(gpu.stream(), &graph);
    cudaGraphInstantiate(&executable, graph, 0);
  }
  node(const node&) = delete;
  node& operator=(const node&) = delete;
  ~node() {
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
  void launch(const fanin::cuda& gpu) const { cudaGraphLaunch(executable, gpu.stream()); }
};

/// Memory behind all that was allocated so far, which nobody writes to.
class wall {
 public:
  wall() : memory_{static_cast<unsigned char*>(simulator::allocate(bytes))} { std::memset(memory_, 0x5a, bytes); }
  std::string look() const {
    const bool stands = std::all_of(memory_, memory_ + bytes, [](unsigned char byte) { return byte == 0x5a; });
    return stands ? "" : "somebody wrote beyond the workspace; ";
  }

 private:
  static constexpr std::size_t bytes = 4096;
  unsigned char* memory_;
};

void for_some_seeds(const auto& story) {
  for_each_seed(from_environment("FANIN_SIMULATOR_COUNT", 40), [&](std::uint64_t seed) {
    return run_seed(seed, [&](choices& draw, std::string&) { return std::string(story(draw)); });
  });
}

// --- Captures

TEST(sessions, a_call_that_waits_is_refused_in_a_capture_and_leaves_it_valid) {
  simulator::begin(simulator::schedule(1));
  const fanin::cuda gpu;
  const rising f{5};
  cudaGraph_t graph = nullptr;
  cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal);
  EXPECT_THROW(call(gpu, f, 100), fanin::state_error);
  EXPECT_THROW(gpu.synchronize(), fanin::state_error);
  cudaStreamEndCapture(gpu.stream(), &graph);
  cudaGraphDestroy(graph);
  EXPECT_EQ(call(gpu, f, 100), "");
}

/// In a stream always; in a graph behind a node of the same object that lets it, and nowhere else.
TEST(sessions, start_early_where_it_pays) {
  simulator::begin(simulator::schedule(1));
  const fanin::cuda gpu;
  const fanin::cuda other(gpu.stream());
  const rising f{5};
  std::int64_t out = -1;
  const auto is_early = [&](const auto& view) {
    const unsigned before = simulator::launches_that_start_early();
    fanin::parallel_reduce_into(&out, fanin::range(view, 100), f, fanin::sum<std::int64_t>{});
    return simulator::launches_that_start_early() != before;
  };
  const auto with = [&](fanin::cuda_early_start how) { return gpu.with<>({.early_start = how}); };
  EXPECT_TRUE(is_early(gpu));
  EXPECT_TRUE(is_early(gpu));
  EXPECT_FALSE(is_early(with(fanin::cuda_early_start::off)));
  gpu.synchronize();
  for (int capture = 0; capture < 2; ++capture) {
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal);
    EXPECT_FALSE(is_early(gpu)) << "the first node";
    EXPECT_TRUE(is_early(gpu));
    EXPECT_TRUE(is_early(gpu));
    EXPECT_FALSE(is_early(other)) << "it cannot know that the one before lets it";
    EXPECT_FALSE(is_early(gpu)) << "the one before is another object's";
    fanin::parallel_for(fanin::range(gpu, 100), [](std::int64_t) {});
    EXPECT_FALSE(is_early(gpu)) << "the one before lets nobody begin";
    cudaMemsetAsync(&out, 0, sizeof(out), gpu.stream());
    EXPECT_FALSE(is_early(gpu)) << "the one before is no kernel";
    EXPECT_FALSE(is_early(with(fanin::cuda_early_start::off)));
    EXPECT_TRUE(is_early(gpu)) << "it lets the next one begin, however it began itself";
    cudaMemsetAsync(&out, 0, sizeof(out), gpu.stream());
    EXPECT_TRUE(is_early(with(fanin::cuda_early_start::on)));
    EXPECT_FALSE(is_early(gpu.with<rows::shared_shuffle>())) << "this strategy never does";
    EXPECT_FALSE(is_early(gpu));
    cudaStreamEndCapture(gpu.stream(), &graph);
    cudaGraphDestroy(graph);
  }
}

/// What a graph left in its workspace would pass for units of the next one's first launch: two sums, 0 and 2^31, make
/// one.
TEST(sessions, workspace_of_a_graph_that_is_gone_is_as_new) {
  struct of_every_second_block {
    std::int64_t operator()(std::int64_t i) const { return i / 32 % 2 == 0 ? 0 : std::int64_t{1} << 26; }
  };
  for_some_seeds([](choices&) {
    const fanin::cuda gpu;
    {
      constexpr int blocks = 330;  // whose partial results are as much as the units of 160
      const node first(gpu, with_grid<last_block>(gpu, blocks), of_every_second_block{}, blocks * 32);
      first.launch(gpu);
      gpu.synchronize();
      if (first.out != std::int64_t{blocks / 2} << 31) return "the first graph is wrong";
    }
    const rising f{3};
    const node second(gpu, with_grid<rows::one_pass>(gpu, 4), f, 1'000);
    second.launch(gpu);
    gpu.synchronize();
    return second.out == f.sum(1'000) ? "" : "the second graph took what the first one left";
  });
}

TEST(sessions, workspace_of_a_graph_that_is_gone_may_be_too_small) {
  for_some_seeds([](choices&) {
    const fanin::cuda gpu;
    const rising f{3};
    { const node first(gpu, with_grid<rows::one_pass>(gpu, 2), f, 1'000); }
    const wall behind;
    const node second(gpu, with_grid<rows::one_pass>(gpu, 200), f, 2'500);  // the first one has room for 160
    second.launch(gpu);
    gpu.synchronize();
    return behind.look() + (second.out == f.sum(2'500) ? "" : "the second graph is wrong");
  });
}

/// Each keeps its own workspace.
TEST(sessions, graphs_of_two_objects_run_at_once) {
  for_some_seeds([](choices&) {
    const fanin::cuda objects[2];
    const rising f[2] = {{3}, {4'000'000}};
    const node first(objects[0], with_grid<rows::one_pass>(objects[0], 5), f[0], 1'500);
    const node second(objects[1], with_grid<rows::one_pass>(objects[1], 5), f[1], 1'500);
    std::string wrong;
    for (int k = 0; k < 3; ++k) {
      first.launch(objects[0]);
      second.launch(objects[1]);
      for (const fanin::cuda& gpu : objects) gpu.synchronize();
      if (first.out != f[0].sum(1'500) || second.out != f[1].sum(1'500)) wrong = "one has taken the other's";
    }
    return wrong;
  });
}

/// With other arguments and blocks each time, beside launches of before; the executable alone keeps its graph's
/// workspace.
TEST(sessions, an_executable_takes_what_is_captured_anew) {
  for_some_seeds([](choices& draw) {
    const fanin::cuda gpu;
    const node first(gpu, with_grid<rows::one_pass>(gpu, 4), rising{3}, 900);
    std::string wrong;
    std::array<std::int64_t, 6> got{};
    std::array<std::int64_t, 6> expected{};
    for (std::size_t k = 0; k < got.size(); ++k) {
      const rising f{static_cast<std::int64_t>(draw.below(1'000))};
      const std::int64_t n = 900 + static_cast<std::int64_t>(k);
      expected[k] = f.sum(n);
      cudaGraph_t graph = nullptr;
      cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal);
      fanin::parallel_reduce_into(&got[k], fanin::range(with_grid<rows::one_pass>(gpu, 4 - static_cast<int>(k % 3)), n),
                                  f, fanin::sum<std::int64_t>{});
      cudaStreamEndCapture(gpu.stream(), &graph);
      if (cudaGraphExecUpdate(first.executable, graph, nullptr) != cudaSuccess) wrong = "it was not updated";
      cudaGraphDestroy(graph);
      for (int launch = 0; launch < 3; ++launch) first.launch(gpu);
    }
    gpu.synchronize();
    if (gpu.workspace_allocations() > 4) wrong += "workspace is not used again; ";
    return wrong + (got == expected ? "" : "another sum");
  });
}

// --- Workspace and mailbox

TEST(sessions, workspace_grows) {
  for_some_seeds([](choices& draw) {
    const fanin::cuda gpu;
    std::string wrong = call(with_grid<last_block>(gpu, 2), {1}, 500);
    const wall behind;
    for (const int size : {40, 3, 120}) {
      wrong += call(with_grid<last_block>(gpu, size), {static_cast<std::int64_t>(draw.below(100))}, 2'000);
    }
    return wrong + behind.look();
  });
}

/// The result of 2400 bytes.
struct spread_sum {
  using value_type = std::int64_t;
  using accumulator_type = std::int64_t;
  using result_type = std::array<std::int64_t, 300>;
  FANIN_FUNCTION std::int64_t identity() const { return 0; }
  FANIN_FUNCTION void join(std::int64_t& into, const std::int64_t& from) const { into += from; }
  FANIN_FUNCTION result_type result(const std::int64_t& acc) const {
    result_type all{};
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = acc + static_cast<std::int64_t>(k);
    return all;
  }
};

TEST(sessions, a_result_of_more_than_a_page_of_the_mailbox) {
  for_some_seeds([](choices&) {
    const fanin::cuda gpu;
    std::string wrong = call(with_grid<rows::one_pass>(gpu, 2), {1}, 500);
    const rising f{7};
    const auto view = with_grid<rows::one_pass>(gpu, 3);
    const auto got = fanin::parallel_reduce(fanin::range(view, 800), f, spread_sum{});
    for (std::size_t k = 0; k < got.size(); ++k) {
      if (got[k] != f.sum(800) + static_cast<std::int64_t>(k)) wrong = "another result";
    }
    return wrong;
  });
}

/// Its numbers begin again after 2^32 calls, at 1: 0 is what a mailbox holds where nothing was written.
TEST(sessions, mailbox_numbers_wrap) {
  for_some_seeds([](choices& draw) {
    const fanin::cuda gpu;
    std::uint32_t& number = gpu.handle().state->sequence;
    std::string wrong = call(with_grid<rows::one_pass>(gpu, 8), {1}, 500);
    number = 0xffffffffU - static_cast<std::uint32_t>(draw.below(3));
    for (std::int64_t k = 2; k < 6; ++k) wrong += call(with_grid<rows::one_pass>(gpu, 8), {k}, 700);

    const fanin::cuda other;
    wrong += call(with_grid<rows::one_pass>(other, 1), {1}, 500);
    other.handle().state->sequence = 0xffffffffU;
    return wrong + call(with_grid<rows::one_pass>(other, 8), {9}, 700);
  });
}

// --- The end of an object

/// Also where another thread, which copies or frees a buffer, takes the state just as the destructor has seen that
/// nobody has it. Of many rounds some meet.
TEST(sessions, a_destructor_waits_for_the_end_of_the_state) {
  for (int round = 0; round < 300; ++round) {
    simulator::begin(simulator::schedule(1));
    std::optional<fanin::cuda> gpu;
    gpu.emplace();
    const std::weak_ptr<fanin::detail::cuda_state> state = gpu->handle().state->weak_from_this();
    std::atomic<bool> has_begun{false};
    std::thread other([&] {
      while (state.lock() != nullptr) has_begun = true;
    });
    while (!has_begun) std::this_thread::yield();
    gpu.reset();
    EXPECT_TRUE(state.expired()) << "in round " << round;
    other.join();
    if (HasFailure()) return;
  }
}

// --- Others

TEST(sessions, parallel_for_calls_with_every_index_once) {
  simulator::schedule how(3);
  how.multiprocessors = 2;
  simulator::begin(how);
  const fanin::cuda gpu;
  // Also more than all blocks have threads, and fewer than are in front of an index that 32 divides.
  for (const std::int64_t first : {-3, 0, 1, 64}) {
    for (const std::size_t size : {1, 40, 256, 20'000}) {
      std::vector<std::uint8_t> visits(size);
      fanin::parallel_for(fanin::range(gpu, first, first + static_cast<std::int64_t>(size)),
                          fanin_test::visit{visits.data(), first});
      gpu.synchronize();
      EXPECT_TRUE(std::all_of(visits.begin(), visits.end(), [](std::uint8_t count) { return count == 1; }));
    }
  }
}

/// What arrives between the host's look at the mailbox and its question whether the stream is at rest.
TEST(sessions, a_result_that_arrives_with_the_end_of_the_stream) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    simulator::schedule how(seed);
    how.host_is_quick = true;
    simulator::begin(how);
    const fanin::cuda gpu;
    for (const std::int64_t step : {1, 2, 3}) EXPECT_EQ(call(with_grid<rows::one_pass>(gpu, 3), rising{step}, 500), "");
  }
}

}  // namespace
}  // namespace simulator_test
