// SPDX-License-Identifier: Apache-2.0
#include "cuda/block_stages.hpp"

#include <numeric>

#include "cuda/catalogue_support.hpp"

/// Every block stage alone, for every count of values that a block can have.
namespace fanin_test {
namespace {

using cuda_block_stages = gpu_test;

std::vector<unsigned> every_count() {
  std::vector<unsigned> all(1'024);
  std::iota(all.begin(), all.end(), 1U);
  return all;
}

/// All different: the difference of a wrong sum is the element that is missing or too many.
TEST_F(cuda_block_stages, name_the_element_that_is_missing) {
  fanin::cuda gpu;
  expect_all_block_stages(gpu, fanin::sum<std::uint64_t>{}, make_data<std::uint64_t>(data::random_signed, 1'024),
                          every_count());
}

TEST_F(cuda_block_stages, one_bit_an_index) {
  fanin::cuda gpu;
  std::vector<unsigned> counts(64);
  std::iota(counts.begin(), counts.end(), 1U);
  expect_all_block_stages(gpu, fanin::sum<std::uint64_t>{}, make_data<std::uint64_t>(data::bit_per_index, 64), counts);
}

TEST_F(cuda_block_stages, structs_of_12_bytes) {
  fanin::cuda gpu;
  std::vector<triple> values;
  for (int i = 0; i < 1'024; ++i) values.push_back({i * 3 + 1, -i, 1});
  expect_all_block_stages(gpu, fanin::sum<triple>{}, values, telling_counts(1'024));
}

/// With an identity that is not made of zeros.
TEST_F(cuda_block_stages, structs_of_64_bytes) {
  fanin::cuda gpu;
  expect_all_block_stages(gpu, lanewise{}, make_octets(512), telling_counts(512));
}

/// Too large to shuffle, and for one a thread in shared memory.
TEST_F(cuda_block_stages, accumulators_of_600_bytes) {
  fanin::cuda gpu;
  std::vector<wide_counts::counters> values(1'024);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = 0; k < wide_counts::bins; ++k) {
      values[i].count[k] = static_cast<std::int64_t>(mix(i * wide_counts::bins + k) >> 20);
    }
  }
  expect_block_stage<through_slots>(gpu, wide_counts{}, values, telling_counts(1'024));
  expect_block_stage<in_memory<interleaved, false>>(gpu, wide_counts{}, values, telling_counts(1'024));
  expect_block_stage<in_memory<neighbored_divergent, false>>(gpu, wide_counts{}, values, telling_counts(1'024));
  expect_block_stage<in_memory<unrolled, false>>(gpu, wide_counts{}, values, telling_counts(1'024));
}

/// A thousand runs in global memory, where no tool looks for races.
TEST_F(cuda_block_stages, global_memory_again_and_again) {
  fanin::cuda gpu;
  const auto values = make_data<std::uint64_t>(data::random_signed, 1'024);
  const fanin::sum<std::uint64_t> sum;
  std::vector<unsigned> counts(1'000, 1'024);
  for (std::size_t k = 0; k < counts.size(); ++k) counts[k] -= static_cast<unsigned>(k % 5);
  expect_block_stage<in_memory<interleaved, false>>(gpu, sum, values, counts);
  expect_block_stage<in_memory<neighbored_divergent, false>>(gpu, sum, values, counts);
  expect_block_stage<in_memory<neighbored_strided, false>>(gpu, sum, values, counts);
  expect_block_stage<in_memory<interleaved_unrolled_warp, false>>(gpu, sum, values, counts);
  expect_block_stage<in_memory<unrolled, false>>(gpu, sum, values, counts);
  expect_block_stage<in_memory<unrolled_shuffle_tail, false>>(gpu, sum, values, counts);
}

}  // namespace
}  // namespace fanin_test
