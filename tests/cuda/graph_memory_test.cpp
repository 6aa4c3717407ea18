// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <thread>
#include <vector>

#include "cuda/gpu_test.hpp"
#include "cuda/replay.hpp"

/// Workspace of graphs, and memory of a resource.
namespace fanin_test {
namespace {

using cuda_graphs = gpu_test;

std::size_t free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  return free;
}

/// Waits up to two seconds, synchronizing, until `done`: a graph says some time after it was destroyed that it is gone.
template <class Done>
bool comes_true(fanin::cuda& gpu, const Done& done) {
  for (int k = 0; k < 200; ++k) {
    gpu.synchronize();
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// Counts what it gave and has not got back.
struct counting_resource {
  std::atomic<std::int64_t> out{0};
  std::atomic<int> allocations{0};
  std::atomic<bool> refuses{false};

  void* allocate(std::size_t bytes, std::size_t alignment, cudaStream_t stream) {
    EXPECT_EQ(alignment % 256, 0U);
    if (refuses) throw std::bad_alloc();
    void* memory = nullptr;
    EXPECT_EQ(cudaMallocAsync(&memory, bytes, stream), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(memory, 0xff, bytes, stream), cudaSuccess);  // nothing may count on zeros
    out += static_cast<std::int64_t>(bytes);
    ++allocations;
    return memory;
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t, cudaStream_t stream) {
    EXPECT_EQ(cudaMemsetAsync(memory, 0xfe, bytes, stream), cudaSuccess);  // nobody may still be reading
    EXPECT_EQ(cudaFreeAsync(memory, stream), cudaSuccess);
    out -= static_cast<std::int64_t>(bytes);
  }
};

/// An application's memory, in stream order: for workspace, for graphs, for buffers; all of it is given back.
TEST_F(cuda_graphs, take_memory_of_a_resource) {
  counting_resource memory;
  test_stream stream;
  const auto host = make_data<std::int64_t>(data::random_signed, 1'000'000);
  const auto expected = fanin::reduce(fanin::serial{}, host, int64_sum);
  std::unique_ptr<replay> graph;
  fanin::cuda plain;
  destination<std::int64_t, fanin::cuda> out(plain);
  {
    fanin::cuda gpu(stream.get(), memory);
    EXPECT_EQ(memory.allocations, 0);
    const fanin::buffer<std::int64_t, fanin::cuda> x(gpu, host);
    EXPECT_EQ(memory.out, 8'000'000);
    const auto halving = gpu.with<fanin::cuda_strategy::global_halving>();
    for (const std::size_t n : {std::size_t{1'000}, std::size_t{300'000}, host.size()}) {
      const auto part = x.span().first(n);
      const auto of_part = fanin::reduce(fanin::serial{}, std::span(host).first(n), int64_sum);
      for (int round = 0; round < 20; ++round) {
        fanin::reduce_into(out.pointer(), gpu, part, int64_sum);
        gpu.synchronize();
        EXPECT_EQ(out.get(), of_part);
        EXPECT_EQ(fanin::reduce(halving, part, int64_sum), of_part);
      }
    }
    EXPECT_EQ(memory.out, static_cast<std::int64_t>(8'000'000 + gpu.workspace_bytes())) << "what was outgrown was kept";
    const std::int64_t of_object = memory.out;
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
    fanin::reduce_into(out.pointer(), gpu, x, int64_sum);
    { const fanin::buffer<std::int64_t, fanin::cuda> while_capturing(gpu, 1'000); }
    cudaGraph_t captured = nullptr;
    check(cudaStreamEndCapture(stream.get(), &captured));
    EXPECT_GT(memory.out, of_object) << "the graph's workspace is from elsewhere";
    graph = std::make_unique<replay>(captured);
    graph->launch(stream.get());
    check(cudaStreamSynchronize(stream.get()));
    EXPECT_EQ(out.get(), expected);

    memory.refuses = true;
    EXPECT_THROW((fanin::buffer<std::int64_t, fanin::cuda>(gpu, 10)), std::bad_alloc);
    fanin::cuda other(stream.get(), &memory);
    EXPECT_THROW(fanin::reduce(other, x, fanin::min_max_loc<std::int64_t>{}), std::bad_alloc);
    memory.refuses = false;
    fanin::reduce(other, x, fanin::min_max_loc<std::int64_t>{});
    EXPECT_EQ(fanin::reduce(gpu, x, int64_sum), expected);
  }
  EXPECT_GT(memory.out, 0) << "the graph lost its workspace";
  graph.reset();
  EXPECT_TRUE(comes_true(plain, [&] { return memory.out == 0; })) << memory.out << " bytes were not given back";
}

/// Buffers may outlive their object, and share what it had.
TEST_F(cuda_graphs, buffers_share_a_resource) {
  const auto memory = std::make_shared<counting_resource>();
  const std::weak_ptr<counting_resource> seen = memory;
  test_stream stream;
  auto gpu = std::make_unique<fanin::cuda>(stream.get(), memory);
  auto x = std::make_unique<fanin::buffer<std::int64_t, fanin::cuda>>(*gpu, std::vector<std::int64_t>{1, 2, 4});
  EXPECT_EQ(fanin::reduce(*gpu, *x, int64_sum), 7);
  gpu.reset();
  std::vector<std::int64_t> host(3);
  x->copy_to(host);
  EXPECT_EQ(host, (std::vector<std::int64_t>{1, 2, 4}));
  EXPECT_EQ(memory->out, 24);
  x.reset();
  EXPECT_EQ(memory->out, 0);
  EXPECT_EQ(seen.use_count(), 1);
}

/// The forms that resources of other libraries have.
struct stream_in_front {
  int calls = 0;
  void* allocate(cudaStream_t, std::size_t bytes, std::size_t alignment) {
    return ++calls, bytes == 64 && alignment == 256 ? this : nullptr;
  }
  void deallocate(cudaStream_t, void*, std::size_t, std::size_t) noexcept { ++calls; }
};
struct without_alignment {
  int calls = 0;
  void* allocate(std::size_t bytes, cudaStream_t) { return ++calls, bytes == 64 ? this : nullptr; }
  void deallocate(void*, std::size_t, cudaStream_t) { ++calls; }
};
struct named_async {
  mutable int calls = 0;
  void* allocate_async(std::size_t bytes, std::size_t alignment, cudaStream_t) const {
    return ++calls, bytes == 64 && alignment == 256 ? const_cast<named_async*>(this) : nullptr;
  }
  void deallocate_async(void*, std::size_t, std::size_t, cudaStream_t) const { ++calls; }
};

template <class Resource>
void expect_called(Resource& resource) {
  const auto erased = fanin::detail::make_resource(resource);
  void* const memory = erased->allocate(64, 256, nullptr);
  EXPECT_EQ(memory, &resource);
  erased->deallocate(memory, 64, 256, nullptr);
  EXPECT_EQ(resource.calls, 2);
}

TEST(cuda_resources, of_every_form) {
  stream_in_front first;
  without_alignment second;
  const named_async third;
  expect_called(first);
  expect_called(second);
  expect_called(third);
  const auto shared = std::make_shared<without_alignment>();
  {
    const auto erased = fanin::detail::make_resource(shared);
    EXPECT_EQ(shared.use_count(), 2) << "it is kept";
    EXPECT_EQ(erased->allocate(64, 256, nullptr), shared.get());
  }
  const auto of_pointer = fanin::detail::make_resource(&second);
  EXPECT_EQ(of_pointer->allocate(64, 256, nullptr), &second);
  static_assert(fanin::detail::shape_of_resource<std::vector<int>>() == fanin::detail::resource_shape::none);
}

/// Workspace of graphs that are gone is used again: capturing over and over does not grow without bound.
TEST_F(cuda_graphs, workspace_of_destroyed_graphs_is_used_again) {
  fanin::cuda gpu;
  placed<std::int64_t, fanin::cuda> x(gpu, make_data<std::int64_t>(data::random_signed, 1'000'000));
  destination<std::int64_t, fanin::cuda> out(gpu);
  const auto expected = fanin::reduce(gpu, x.span(), int64_sum);
  for (int round = 0; round < 300; ++round) {
    check(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal));
    fanin::reduce_into(out.pointer(), gpu, x.span(), int64_sum);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(gpu.stream(), &graph));
    replay one(graph);
    one.launch(gpu.stream());
    if (round % 50 == 0) ASSERT_EQ(out.get(), expected);
    gpu.synchronize();
  }
  EXPECT_LT(gpu.workspace_allocations(), 100);
}

/// Large workspace of graphs goes back when they are gone; so does what is left when memory is short.
TEST_F(cuda_graphs, workspace_of_destroyed_graphs_goes_back) {
  fanin::cuda gpu;
  destination<std::int64_t, fanin::cuda> out(gpu);
  const auto halving = gpu.with<fanin::cuda_strategy::global_halving>();
  fanin::parallel_reduce(fanin::range(halving, 100), index_itself{}, int64_sum);
  gpu.synchronize();
  const std::size_t before = free_memory();
  const std::int64_t n = std::int64_t{1} << 27;  // 512 MiB of values
  check(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeThreadLocal));
  for (int k = 0; k < 2; ++k) {
    fanin::parallel_reduce_into(out.pointer(), fanin::range(halving, n), index_itself{}, int64_sum);
  }
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(gpu.stream(), &graph));
  {
    replay two(graph);
    two.launch(gpu.stream());
    EXPECT_EQ(out.get(), n / 2 * (n - 1));
    // CUDA's own pools, which other tests used, may give something back meanwhile.
    EXPECT_LT(free_memory() + (std::size_t{1} << 30), before + (std::size_t{256} << 20));
  }
  EXPECT_TRUE(comes_true(gpu, [&] { return free_memory() + (std::size_t{64} << 20) > before; }))
      << "it kept " << (before - free_memory()) << " bytes";
}

}  // namespace
}  // namespace fanin_test
