// SPDX-License-Identifier: Apache-2.0
#include "support/device_on_host.hpp"
//
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fanin/cuda/thread/fold_n.cuh>
#include <fanin/cuda/thread/grid_stride.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/vectorised.cuh>
#include <fanin/detail/composite.hpp>

#include "support/functors.hpp"

/// The thread stages of the CUDA backend, run on the host by recorded coverage: for every grid, block, count and
/// alignment, every index exactly once and with the element that stands there.
namespace fanin_test {
namespace {

/// A reducer that writes down which index was folded.
struct record {
  using value_type = std::int64_t;
  using accumulator_type = std::int64_t;
  std::uint8_t* visits;
  std::int64_t first;
  bool* wrong;
  std::int64_t identity() const { return 0; }
  void fold(std::int64_t& acc, std::int64_t value, std::int64_t index) const {
    ++visits[index - first];
    if (value != index) *wrong = true;
    ++acc;
  }
  void join(std::int64_t& into, std::int64_t from) const { into += from; }
};

struct grid {
  unsigned blocks;
  unsigned threads;
};

const std::vector<grid>& grids() {
  static const std::vector<grid> all{{1, 32}, {1, 96}, {2, 32}, {3, 64}, {5, 96}, {7, 32}};
  return all;
}

const std::vector<std::int64_t>& counts() {
  static const std::vector<std::int64_t> all{0,   1,   2,   3,   4,     5,     7,     15,    16,
                                             17,  31,  32,  33,  63,    65,    127,   255,   256,
                                             257, 511, 513, 767, 1'023, 1'025, 2'047, 4'099, 9'001};
  return all;
}

/// Runs `gather(composite, state)` in every thread of every grid, and looks at what was visited.
template <class Gather>
void expect_coverage(std::int64_t first, std::int64_t count, const std::string& name, const Gather& gather) {
  for (const auto [blocks, threads] : grids()) {
    std::vector<std::uint8_t> visits(static_cast<std::size_t>(count) + 1, 0);
    bool wrong = false;
    std::int64_t total = 0;
    const auto c = fanin::detail::make_composite(record{visits.data(), first, &wrong});
    for_every_thread(blocks, threads, [&] {
      auto scratch = c.identity();
      auto state = c.begin(scratch);
      gather(c, state);
      total += fanin::get<0>(state);
    });
    const auto where = name + ", " + std::to_string(blocks) + " blocks of " + std::to_string(threads) +
                       ", n = " + std::to_string(count);
    EXPECT_EQ(total, count) << where;
    EXPECT_FALSE(wrong) << where << ": an element under another one's index";
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(visits[static_cast<std::size_t>(i)], 1) << where << ": index " << i;
    }
    EXPECT_EQ(visits.back(), 0) << where << ": beyond the end";
  }
}

using fanin::detail::index_source;
using fanin::detail::make_span_source;

TEST(gather_coverage, grid_stride) {
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1} << 40}) {
    for (const std::int64_t count : counts()) {
      const index_source<index_itself> source{{}, first, count};
      expect_coverage(first, count, "grid_stride",
                      [&](const auto& c, auto& state) { fanin::detail::gather_grid_stride(source, c, state); });
    }
  }
}

/// Runs fold_n in as many blocks as `chunks` chunks need, and looks at what was visited.
void check_fold_n(std::int64_t first, std::int64_t count, unsigned threads, int chunks) {
  const index_source<index_itself> source{{}, first, count};
  const std::int64_t of_block = static_cast<std::int64_t>(threads) * chunks;
  const auto blocks = static_cast<unsigned>((count + of_block - 1) / of_block);
  std::vector<std::uint8_t> visits(static_cast<std::size_t>(count) + 1, 0);
  bool wrong = false;
  const auto c = fanin::detail::make_composite(record{visits.data(), first, &wrong});
  for_every_thread(blocks, threads, [&] {
    auto scratch = c.identity();
    auto state = c.begin(scratch);
    fanin::detail::gather_fold_n(source, c, state, chunks);
  });
  EXPECT_FALSE(wrong);
  for (std::int64_t i = 0; i <= count; ++i) {
    ASSERT_EQ(visits[static_cast<std::size_t>(i)], i < count ? 1 : 0)
        << "fold_n, " << chunks << " chunks, " << blocks << " blocks of " << threads << ", index " << i << " of "
        << count;
  }
}

/// With one chunk this is `one`.
TEST(gather_coverage, fold_n) {
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1} << 40}) {
    for (const std::int64_t count : counts()) {
      for (const unsigned threads : {32U, 96U, 256U}) {
        for (const int chunks : {1, 2, 3, 4, 8, 16}) check_fold_n(first, count, threads, chunks);
      }
    }
  }
}

TEST(gather_coverage, indices_in_flight) {
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1} << 40}) {
    for (const std::int64_t count : counts()) {
      const index_source<index_itself> source{{}, first, count};
      expect_coverage(first, count, "8 indices",
                      [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<8>(source, c, state); });
      expect_coverage(first, count, "1 index",
                      [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<1>(source, c, state); });
    }
  }
}

/// Elements hold their own index, so that a value from elsewhere shows; every start that an array can have.
template <class T>
void check_vectors(const char* name) {
  for (std::size_t offset = 0; offset < 16 / sizeof(T) + 2; ++offset) {
    for (const std::int64_t count : counts()) {
      if (count > std::numeric_limits<T>::max()) continue;
      std::vector<T> memory(offset + static_cast<std::size_t>(count) + 16, T{0});
      T* const x = memory.data() + offset;
      for (std::int64_t i = 0; i < count; ++i) x[i] = static_cast<T>(i);
      const auto source = make_span_source<T>(x, count);
      static_assert(source.has_vectors);
      const auto where = std::string(name) + " from element " + std::to_string(offset);
      expect_coverage(0, count, where + ", 4 loads",
                      [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<4>(source, c, state); });
      expect_coverage(0, count, where + ", 1 load",
                      [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<1>(source, c, state); });
      expect_coverage(0, count, where + ", strided",
                      [&](const auto& c, auto& state) { fanin::detail::gather_grid_stride(source, c, state); });
    }
  }
}

TEST(gather_coverage, vectors_of_8_bytes) { check_vectors<std::int64_t>("int64"); }
TEST(gather_coverage, vectors_of_4_bytes) { check_vectors<std::int32_t>("int32"); }
TEST(gather_coverage, vectors_of_2_bytes) { check_vectors<std::int16_t>("int16"); }
TEST(gather_coverage, vectors_of_1_byte) { check_vectors<std::int8_t>("int8"); }

}  // namespace
}  // namespace fanin_test
