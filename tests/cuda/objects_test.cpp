// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/gpu_test.hpp"
#include "support/expect_invalid.hpp"
#include "support/user_reducers.hpp"

/// The execution object, its views, and proof of which strategy ran.
namespace fanin_test {
namespace {

using cuda_objects = gpu_test;

std::int64_t sum_of_indices(std::size_t n) { return static_cast<std::int64_t>(n * (n - 1) / 2); }

TEST_F(cuda_objects, borrow_a_stream) {
  test_stream stream;
  {
    fanin::cuda gpu(stream.get());
    EXPECT_EQ(gpu.stream(), stream.get());
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, 1'000), index_itself{}, int64_sum), 499'500);
  }
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaSuccess) << "a borrowed stream was destroyed";
  fanin::cuda legacy(cudaStream_t{nullptr});
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(legacy, 1'000), index_itself{}, int64_sum), 499'500);
}

TEST_F(cuda_objects, move) {
  fanin::cuda a;
  const auto range = fanin::range(a, 1'000);
  fanin::buffer<std::int64_t, fanin::cuda> x(a, std::vector<std::int64_t>{1, 2, 4});
  auto* const stream = a.stream();
  fanin::cuda b(std::move(a));
  EXPECT_EQ(b.stream(), stream);
  // Ranges and buffers made before stay valid.
  EXPECT_EQ(fanin::parallel_reduce(range, index_itself{}, int64_sum), 499'500);
  EXPECT_EQ(fanin::reduce(b, x, int64_sum), 7);
  EXPECT_THROW(a.stream(), fanin::state_error);  // NOLINT(bugprone-use-after-move)
  EXPECT_THROW(a.synchronize(), fanin::state_error);
  EXPECT_THROW(fanin::range(a, 3), fanin::state_error);
  EXPECT_THROW(fanin::reduce(a, x, int64_sum), fanin::state_error);
  fanin::cuda c;
  c = std::move(b);
  EXPECT_EQ(fanin::reduce(c, x, int64_sum), 7);
  static_assert(!std::is_copy_constructible_v<fanin::cuda>);
}

template <class Strategy>
void expect_launched(fanin::cuda& gpu, const placed<std::int64_t, fanin::cuda>& x) {
  const auto view = gpu.with<Strategy>();
  const auto expected = fanin::reduce(fanin::serial{}, x.host(), int64_sum);
  EXPECT_EQ(fanin::reduce(view, x.span(), int64_sum), expected) << Strategy::name;
  EXPECT_STREQ(gpu.last_launch().strategy, Strategy::name);
  EXPECT_GE(gpu.last_launch().grid_size, 1);
  EXPECT_LE(gpu.last_launch().block_size, Strategy::recipe.block_size);
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(view, x.size()), at<std::int64_t>{x.data()}, int64_sum), expected);
  EXPECT_STREQ(gpu.last_launch().strategy, Strategy::name);
}

TEST_F(cuda_objects, say_which_strategy_ran) {
  fanin::cuda gpu;
  const placed<std::int64_t, fanin::cuda> x(gpu, make_data<std::int64_t>(data::random_signed, 100'003));
  fanin::reduce(gpu, x.span(), int64_sum);
  EXPECT_STREQ(gpu.last_launch().strategy, "one_pass");
  EXPECT_EQ(gpu.last_launch().block_size, 256);  // few enough for blocks of one round
  EXPECT_EQ(gpu.last_launch().grid_size, (100'003 / 2 + 1'023) / 1'024);
  expect_launched<fanin::cuda_strategy::shuffle>(gpu, x);
  expect_launched<fanin::cuda_strategy::shared_tree>(gpu, x);
  expect_launched<fanin::cuda_strategy::one_pass>(gpu, x);
}

/// Every legal block size, powers of two or not, and grids smaller and larger than the work.
template <class Strategy>
void check_tunings(fanin::cuda& gpu) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{33}, std::size_t{1'000}, std::size_t{70'001}}) {
    const auto host = make_data<std::int64_t>(data::random_signed, n);
    const placed<std::int64_t, fanin::cuda> x(gpu, host, 1);
    for (int block = 32; block <= 1024; block += (block < 128 ? 32 : 96)) {
      for (const int grid : {0, 1, 3, 40, 3'000}) {
        const fanin::cuda_tuning tuning{.block_size = block, .grid_size = grid};
        const auto view = gpu.with<Strategy>(tuning);
        const auto where = std::string(Strategy::name) + ", block " + std::to_string(block) + ", grid " +
                           std::to_string(grid) + ", n " + std::to_string(n);
        EXPECT_TRUE(is_sum_of(std::span<const std::int64_t>(host), fanin::reduce(view, x.span(), int64_sum), 0))
            << where;
        EXPECT_EQ(gpu.last_launch().block_size, block) << where;
        if (grid != 0) EXPECT_EQ(gpu.last_launch().grid_size, grid) << where;
        const auto least =
            fanin::parallel_reduce(fanin::range(view, n), at<std::int64_t>{x.data()}, fanin::min_loc<std::int64_t>{});
        EXPECT_TRUE(is_same(least, fanin::reduce(fanin::serial{}, host, fanin::min_loc<std::int64_t>{}))) << where;
      }
    }
    const auto few = gpu.with<Strategy>({.blocks_per_sm = 1});
    EXPECT_TRUE(is_sum_of(std::span<const std::int64_t>(host), fanin::reduce(few, x.span(), int64_sum), 0));
  }
}

TEST_F(cuda_objects, take_every_block_size) {
  fanin::cuda gpu;
  check_tunings<fanin::cuda_strategy::one_pass>(gpu);
  check_tunings<fanin::cuda_strategy::shuffle>(gpu);
  check_tunings<fanin::cuda_strategy::shared_tree>(gpu);
}

/// Large accumulators and thread states, whatever the block.
TEST_F(cuda_objects, take_every_block_size_for_large_accumulators) {
  fanin::cuda gpu;
  const auto host = make_data<std::uint32_t>(data::random_signed, 50'001);
  const placed<std::uint32_t, fanin::cuda> x(gpu, host);
  const auto wide = fanin::reduce(fanin::serial{}, host, wide_counts{});
  const auto counts = fanin::reduce(fanin::serial{}, host, histogram{});
  for (const int block : {32, 64, 96, 256, 512, 1024}) {
    for (const int grid : {0, 1, 7}) {
      const auto view = gpu.with({.block_size = block, .grid_size = grid});
      EXPECT_EQ(fanin::reduce(view, x.span(), wide_counts{}), wide) << "block " << block << ", grid " << grid;
      EXPECT_EQ(fanin::reduce(view, x.span(), histogram{}), counts) << "block " << block << ", grid " << grid;
    }
  }
}

TEST_F(cuda_objects, refuse_a_block_size_that_cannot_launch) {
  fanin::cuda gpu;
  for (const int block : {-32, 1, 31, 33, 1000, 1056, 2048}) {
    expect_invalid([&] { gpu.with<fanin::cuda_strategy::shuffle>({.block_size = block}); },
                   "block_size " + std::to_string(block));
  }
  expect_invalid([&] { gpu.with({.blocks_per_sm = -1}); }, "counts");
  expect_invalid([&] { gpu.with({.grid_size = -1}); }, "counts");
  // Four times 64 bytes for each of 1024 threads are more than the shared memory of any block.
  const auto tree = gpu.with<fanin::cuda_strategy::shared_tree>({.block_size = 1024});
  const placed<octet, fanin::cuda> x(gpu, std::vector<octet>(10));
  const fanin::sum<octet> octets;
  expect_invalid([&] { fanin::reduce(tree, x.span(), octets, octets, octets, octets); }, "smaller block_size");
  // And the object works on.
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, 100), index_itself{}, int64_sum), sum_of_indices(100));
}

TEST_F(cuda_objects, refuse_host_memory) {
  fanin::cuda gpu;
  std::vector<std::int64_t> host(100, 1);
  std::int64_t out = 17;
  placed<std::int64_t, fanin::cuda> x(gpu, host);
  destination<std::int64_t, fanin::cuda> there(gpu);
  const std::span<const std::int64_t> on_host(host);
  expect_invalid([&] { fanin::reduce(gpu, on_host, int64_sum); }, "host memory");
  expect_invalid([&] { fanin::reduce(gpu, host, int64_sum); }, "host memory");
  expect_invalid([&] { fanin::reduce_into(there.pointer(), gpu, on_host, int64_sum); }, "host memory");
  expect_invalid([&] { fanin::reduce_into(&out, gpu, x.span(), int64_sum); }, "host memory");
  expect_invalid([&] { fanin::parallel_reduce_into(&out, fanin::range(gpu, 5), index_itself{}, int64_sum); },
                 "host memory");
  expect_invalid([&] { fanin::transform_reduce(gpu, x.span(), on_host, multiply{}, int64_sum); }, "host memory");
  expect_invalid([&] { fanin::copy_from_host(gpu, host, std::span(host)); }, "host memory");
  expect_invalid([&] { fanin::copy_to_host(gpu, on_host, std::span(host)); }, "host memory");
  EXPECT_EQ(out, 17);
}

/// Pinned and managed memory is reachable; an address that no element can have is not.
TEST_F(cuda_objects, take_what_a_device_reaches) {
  fanin::cuda gpu;
  void* pinned = nullptr;
  void* managed = nullptr;
  check(cudaMallocHost(&pinned, 800));
  check(cudaMallocManaged(&managed, 800));
  for (void* memory : {pinned, managed}) {
    auto* const x = static_cast<std::int64_t*>(memory);
    for (int i = 0; i < 100; ++i) x[i] = i;
    EXPECT_EQ(fanin::reduce(gpu, std::span<const std::int64_t>(x, 100), int64_sum), 4'950);
    fanin::parallel_reduce_into(x, fanin::range(gpu, 11), index_itself{}, int64_sum);
    gpu.synchronize();
    EXPECT_EQ(x[0], 55);
  }
  fanin::buffer<unsigned char, fanin::cuda> bytes(gpu, 100);
  const auto* const crooked = reinterpret_cast<const std::int64_t*>(bytes.data() + 1);
  expect_invalid([&] { fanin::reduce(gpu, std::span<const std::int64_t>(crooked, 5), int64_sum); }, "alignment");
  check(cudaFreeHost(pinned));
  check(cudaFree(managed));
}

/// cudaStreamPerThread is another stream in every thread, over one object's workspace.
TEST_F(cuda_objects, refuse_the_stream_that_is_another_one_in_every_thread) {
  expect_invalid([] { fanin::cuda gpu(cudaStreamPerThread); }, "cudaStreamPerThread");
  fanin::cuda legacy(cudaStreamLegacy);
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(legacy, 1'000), index_itself{}, int64_sum), 499'500);
}

/// Half a millisecond of one thread: the host asks the stream how it stands meanwhile.
struct long_one {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t) const {
#if defined(__CUDA_ARCH__)
    for (int k = 0; k < 1'000; ++k) __nanosleep(500);
#endif
    return 1;
  }
};

/// Everything that an object does, failing calls of its own too.
void use_an_object() {
  fanin::cuda gpu;
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, 1), long_one{}, int64_sum), 1);
  EXPECT_THROW((fanin::buffer<double, fanin::cuda>(gpu, std::int64_t{1} << 50)), fanin::cuda_error);
  std::vector<std::int64_t> host(100, 1);
  EXPECT_THROW(fanin::reduce(gpu, host, int64_sum), fanin::invalid_argument);
  fanin::buffer<std::int64_t, fanin::cuda> x(gpu, host);
  fanin::buffer<fanin::min_max_index<std::int64_t>, fanin::cuda> out(gpu, 1);
  fanin::parallel_for(fanin::range(gpu, 1), long_one{});
  fanin::reduce_into(out.data(), gpu, x, fanin::min_max_loc<std::int64_t>{});
  gpu.synchronize();
}

/// What cudaGetLastError() has to say is the application's: Fanin neither adds to it nor takes from it.
TEST_F(cuda_objects, leave_the_applications_last_error_alone) {
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  use_an_object();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an error of Fanin's own was left behind";
  void* memory = nullptr;
  ASSERT_EQ(cudaMemset(nullptr, 0, 1), cudaErrorInvalidValue);
  ASSERT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  {
    fanin::cuda gpu;
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, 1), long_one{}, int64_sum), 1) << "another's error was reported";
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue) << "by a call";
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue) << "by a destructor";
  use_an_object();
  EXPECT_NE(cudaGetLastError(), cudaSuccess) << "swallowed by a call that failed itself";
  EXPECT_EQ(cudaMalloc(&memory, 16), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

/// Two devices: an object goes away on its own one, and memory of the other one is refused until it is reached.
TEST_F(cuda_objects, of_two_devices) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  if (devices < 2) GTEST_SKIP() << "one GPU here";
  check(cudaSetDevice(1));
  std::int64_t* there = nullptr;
  check(cudaMalloc(&there, 100 * sizeof(std::int64_t)));
  check(cudaMemset(there, 0, 100 * sizeof(std::int64_t)));
  std::int64_t* pooled = nullptr;
  check(cudaMallocAsync(&pooled, 100 * sizeof(std::int64_t), cudaStream_t{nullptr}));
  check(cudaMemset(pooled, 0, 100 * sizeof(std::int64_t)));
  std::int64_t* managed = nullptr;
  check(cudaMallocManaged(&managed, 100 * sizeof(std::int64_t)));
  std::fill_n(managed, 100, 1);
  std::size_t free_before = 0;
  std::size_t free_after = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free_before, &total));
  auto of_second = std::make_unique<fanin::cuda>();
  EXPECT_EQ(of_second->device(), 1);
  check(cudaDeviceSynchronize());
  check(cudaSetDevice(0));
  const auto halving = of_second->with<fanin::cuda_strategy::global_halving>();  // 256 MiB of workspace
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(halving, std::int64_t{1} << 26), index_itself{}, int64_sum),
            sum_of_indices(std::size_t{1} << 26));
  of_second.reset();
  int current = -1;
  check(cudaGetDevice(&current));
  EXPECT_EQ(current, 0);
  check(cudaSetDevice(1));
  check(cudaMemGetInfo(&free_after, &total));
  check(cudaSetDevice(0));
  EXPECT_GT(free_after + (std::size_t{128} << 20), free_before) << "the destructor freed nothing";
  {
    fanin::cuda gpu;
    const std::span<const std::int64_t> far(there, 100);
    EXPECT_EQ(fanin::reduce(gpu, std::span<const std::int64_t>(managed, 100), int64_sum), 100);
    expect_invalid([&] { fanin::reduce(gpu, far, int64_sum); }, "another GPU");
    expect_invalid([&] { fanin::reduce(gpu, std::span<const std::int64_t>(pooled, 100), int64_sum); }, "another GPU");
    expect_invalid([&] { fanin::parallel_reduce_into(there, fanin::range(gpu, 5), index_itself{}, int64_sum); },
                   "another GPU");
    int reaches = 0;
    check(cudaDeviceCanAccessPeer(&reaches, 0, 1));
    if (reaches != 0) {
      check(cudaDeviceEnablePeerAccess(1, 0));
      EXPECT_EQ(fanin::reduce(gpu, far, int64_sum), 0);
      check(cudaDeviceDisablePeerAccess(1));
      expect_invalid([&] { fanin::reduce(gpu, far, int64_sum); }, "another GPU");
    }
  }
  check(cudaFree(there));
  check(cudaFree(managed));
  check(cudaFree(pooled));
}

TEST_F(cuda_objects, report_a_lack_of_memory) {
  fanin::cuda gpu;
  try {
    fanin::buffer<double, fanin::cuda> too_large(gpu, std::int64_t{1} << 50);
    ADD_FAILURE() << "8 PiB were given";
  } catch (const fanin::cuda_error& e) {
    EXPECT_EQ(e.code(), cudaErrorMemoryAllocation);
    EXPECT_NE(std::string(e.what()).find("cudaErrorMemoryAllocation"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(".cpp:"), std::string::npos) << "lacks file:line: " << e.what();
  }
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, 100), index_itself{}, int64_sum), sum_of_indices(100));
}

/// The bits may depend on the address modulo 16 and on the tuning; for the same of both they are the same.
TEST_F(cuda_objects, give_the_same_bits_for_the_same_tuning) {
  fanin::cuda gpu;
  const auto host = make_data<float>(data::random_signed, 1'000'003);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    const placed<float, fanin::cuda> x(gpu, host, offset);
    const placed<float, fanin::cuda> y(gpu, host, offset + 4);
    for (const fanin::cuda_tuning tuning : {fanin::cuda_tuning{}, fanin::cuda_tuning{.block_size = 96}}) {
      const auto view = gpu.with(tuning);
      const float first = fanin::reduce(view, x.span(), fanin::sum<float>{});
      EXPECT_TRUE(is_sum_of(std::span<const float>(host), first, 3'000));
      fanin::cuda other;
      const auto elsewhere = other.with(tuning);
      for (int run = 0; run < 10; ++run) {
        EXPECT_TRUE(is_same(fanin::reduce(view, y.span(), fanin::sum<float>{}), first));
        EXPECT_TRUE(is_same(fanin::reduce(elsewhere, x.span(), fanin::sum<float>{}), first));
      }
    }
  }
}

}  // namespace
}  // namespace fanin_test
