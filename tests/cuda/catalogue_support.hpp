// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda/gpu_test.hpp"
#include "support/expect_invalid.hpp"
#include "support/user_reducers.hpp"

/// What the tests of the catalogue share: which unit tests which rows, data, and the sweep over sizes and blocks.
namespace fanin_test {

/// The rows by unit: catalogue_count_test.cpp checks that together they are the catalogue, so that a new row cannot go
/// untested.
using rows_of_partials =
    fanin::cuda_strategy_list<fanin::cuda_strategy::thread_partials, fanin::cuda_strategy::shared_thread0,
                              fanin::cuda_strategy::shared_tree, fanin::cuda_strategy::shared_tree_last_warp,
                              fanin::cuda_strategy::shuffle>;
using rows_of_global_memory =
    fanin::cuda_strategy_list<fanin::cuda_strategy::global_interleaved, fanin::cuda_strategy::global_neighbored,
                              fanin::cuda_strategy::global_unroll, fanin::cuda_strategy::global_halving>;
using rows_of_shared_memory =
    fanin::cuda_strategy_list<fanin::cuda_strategy::shared_interleaved, fanin::cuda_strategy::shared_neighbored,
                              fanin::cuda_strategy::shared_neighbored_strided, fanin::cuda_strategy::shared_shrink>;
using rows_of_unrolled_trees =
    fanin::cuda_strategy_list<fanin::cuda_strategy::shared_warp, fanin::cuda_strategy::shared_unroll,
                              fanin::cuda_strategy::shared_shuffle_tail, fanin::cuda_strategy::shared_shuffle>;
using rows_of_one_launch =
    fanin::cuda_strategy_list<fanin::cuda_strategy::one_pass, fanin::cuda_strategy::one_pass_bulk,
                              fanin::cuda_strategy::cluster>;

template <class List>
struct typed;
template <class... Strategy>
struct typed<fanin::cuda_strategy_list<Strategy...>> {
  using types = ::testing::Types<Strategy...>;
};

struct row_names {
  template <class Strategy>
  static std::string GetName(int) {
    return Strategy::name;
  }
};

/// Tests of one strategy, which are skipped in words on a device that it needs more than.
template <class Strategy>
class strategy_test : public gpu_test {
 protected:
  void SetUp() override {
    gpu_test::SetUp();
    if (IsSkipped()) return;
    int major = 0;
    int minor = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    if (10 * major + minor < fanin::least_compute_capability(Strategy::recipe)) {
      GTEST_SKIP() << Strategy::name << " needs compute capability 9.0, and this device has " << major << "." << minor;
    }
  }
};

/// An array on both sides, of which a case takes a part: what stands around the part would change the answer.
template <class T>
class mirrored {
 public:
  mirrored(fanin::cuda& gpu, std::vector<T> host) : host_{std::move(host)}, there_(gpu, host_) {}
  std::span<const T> host(std::size_t start, std::size_t n) const {
    return std::span<const T>(host_).subspan(start, n);
  }
  std::span<const T> there(std::size_t start, std::size_t n) const { return there_.span().subspan(start, n); }
  void renew(std::vector<T> host) {
    host_ = std::move(host);
    fanin::cuda gpu;
    fanin::copy_from_host(gpu, host_, std::span<T>(there_.data(), there_.size()));
  }
  bool is_as_it_was() const { return there_.host() == host_; }

 private:
  std::vector<T> host_;
  placed<T, fanin::cuda> there_;
};

inline constexpr std::size_t most_elements = (std::size_t{1} << 20) + 7;
inline constexpr std::size_t starts = 3;

/// Few, where compute-sanitizer runs the program (FANIN_TEST_FEW_SIZES).
inline const std::vector<std::size_t>& row_sizes() {
  static const std::vector<std::size_t> all{0,   1,    2,     31,    32,    33,    255,    256,
                                            257, 1000, 1'023, 1'024, 1'025, 4'099, 70'001, most_elements};
  static const std::vector<std::size_t> few{33, 5'003};
  static const bool is_slow = std::getenv("FANIN_TEST_FEW_SIZES") != nullptr;
  return is_slow ? few : all;
}

inline const std::vector<int>& row_blocks() {
  static const std::vector<int> all{0, 32, 96, 256, 512, 1024};
  return all;
}

/// A reducer of the tests' own with an accumulator of 64 bytes, whose identity is not made of zeros.
struct lanewise {
  using value_type = octet;
  FANIN_FUNCTION octet identity() const {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
    return {{0, 0, 0, 0, most, most, least, least}};
  }
  FANIN_FUNCTION void join(octet& into, const octet& from) const {
    for (int k = 0; k < 4; ++k) {
      into.lane[k] = static_cast<std::int64_t>(static_cast<std::uint64_t>(into.lane[k]) +
                                               static_cast<std::uint64_t>(from.lane[k]));
    }
    for (int k = 4; k < 6; ++k) into.lane[k] = from.lane[k] < into.lane[k] ? from.lane[k] : into.lane[k];
    for (int k = 6; k < 8; ++k) into.lane[k] = from.lane[k] > into.lane[k] ? from.lane[k] : into.lane[k];
  }
};

inline std::vector<octet> make_octets(std::size_t n) {
  std::vector<octet> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < 8; ++k) x[i].lane[k] = static_cast<std::int64_t>(mix(8 * i + k));
  }
  return x;
}

inline bool same(const octet& a, const octet& b) { return a == b; }

/// That this strategy ran, and as it was asked to.
template <class Strategy>
void expect_ran(const fanin::cuda& gpu, std::size_t n, int block_size) {
  const fanin::cuda_launch launch = gpu.last_launch();
  EXPECT_STREQ(launch.strategy, Strategy::name) << "another one ran";
  if (n == 0) return;
  EXPECT_GE(launch.grid_size, 1);
  if (block_size != 0) {
    EXPECT_EQ(launch.block_size, block_size);
  }
  if (fanin::is_single_launch(Strategy::recipe)) {
    EXPECT_EQ(launch.launches, 1);
  }
}

/// run(view, start, n) on the device against answer(start, n), for every block size. Only what one block's shared
/// memory may not hold on some device may be refused.
template <class Strategy, class Run, class Answer>
void expect_as_serial(fanin::cuda& gpu, const std::vector<std::size_t>& sizes, const std::vector<int>& blocks,
                      const Run& run, const Answer& answer) {
  constexpr std::size_t every_block_has = 48 * 1024;
  for (const std::size_t n : sizes) {
    const std::size_t start = n % starts;
    const auto expected = answer(start, n);
    using result = std::remove_const_t<decltype(expected)>;
    const std::size_t of_thread = 2 * sizeof(result);
    for (const int block : blocks) {
      SCOPED_TRACE(std::string(Strategy::name) + ", n = " + std::to_string(n) + " from element " +
                   std::to_string(start) + ", blocks of " + std::to_string(block));
      try {
        const auto got = run(gpu.with<Strategy>({.block_size = block}), start, n);
        ASSERT_TRUE(same(got, expected));
        expect_ran<Strategy>(gpu, n, block);
      } catch (const fanin::invalid_argument& refusal) {
        ASSERT_GT(static_cast<std::size_t>(block) * of_thread, every_block_has) << refusal.what();
        ASSERT_NE(std::string(refusal.what()).find("do not fit a multiprocessor"), std::string::npos) << refusal.what();
      }
    }
  }
}

/// Sums of 64-bit integers that wrap: a wrong one names the element that is missing or too many.
template <class Strategy>
void expect_sum(fanin::cuda& gpu, const mirrored<std::int64_t>& x, std::size_t n, const fanin::cuda_tuning& tuning) {
  const std::size_t start = n % starts;
  const auto got = fanin::reduce(gpu.with<Strategy>(tuning), x.there(start, n), fanin::sum<std::int64_t>{});
  ASSERT_TRUE(is_sum_of(x.host(start, n), got, 0.0))
      << Strategy::name << " finished by " << to_string(Strategy::recipe.grid) << ", n = " << n << ", block "
      << tuning.block_size << ", grid " << tuning.grid_size << ", chunks " << tuning.chunks;
  expect_ran<Strategy>(gpu, n, tuning.block_size);
}

inline mirrored<std::int64_t> integers(fanin::cuda& gpu) {
  return {gpu, make_data<std::int64_t>(data::random_signed, most_elements + starts)};
}

/// What a stream captured, ready to launch.
class captured {
 public:
  template <class Work>
  captured(cudaStream_t stream, const Work& work) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    work();
    check(cudaStreamEndCapture(stream, &graph_));
    check(cudaGraphInstantiate(&executable_, graph_, 0));
  }
  ~captured() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  captured(const captured&) = delete;
  captured& operator=(const captured&) = delete;
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace fanin_test
