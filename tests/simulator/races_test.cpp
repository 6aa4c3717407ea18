// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include <fanin/device/atomics.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/bulk_copy.cuh>
#include <fanin/device/cluster.cuh>
#include <fanin/device/grid_order.cuh>
#include <fanin/device/tagged_unit.cuh>
#include <fanin/device/warp.cuh>

#include "simulator/machine.hpp"

/// What of a kernel ThreadSanitizer takes for a race: what CUDA's model does, and no more.
namespace simulator_test {
namespace {

struct shared {
  int words[64];
};
shared& of_block() { return fanin::detail::object_of_block<shared>(); }

/// So many launches of one kernel, in one stream or each in one of its own. Whether a race is seen under some schedule.
bool races(const std::function<void(unsigned* words)>& kernel, unsigned blocks = 1, unsigned threads = 64,
           int launches = 1, bool one_stream = true, bool starts_early = true) {
  const std::uint64_t before = simulator::races_seen();
  for (std::uint64_t seed = 0; seed < 100 && simulator::races_seen() == before; ++seed) {
    simulator::begin(simulator::schedule(seed));
    auto* const words = static_cast<unsigned*>(simulator::allocate(256));
    std::fill_n(words, 64, 0U);
    simulator::launch what;
    what.blocks = blocks;
    what.threads = threads;
    what.starts_early = starts_early;
    what.blocks_of_cluster = blocks > 1 ? 2 : 1;
    what.thread = [&kernel, words] { kernel(words); };
    simulator::stream* stream = nullptr;
    for (int k = 0; k < launches; ++k) {
      if (stream == nullptr || !one_stream) stream = simulator::make_stream();
      simulator::enqueue(stream, what);
    }
    const bool worked = simulator::finish_all();
    EXPECT_TRUE(worked || simulator::races_seen() != before) << simulator::last_fault();
  }
  return simulator::races_seen() != before;
}

/// Each thread writes its word, and after `between` reads the word `distance` further on.
template <class Between>
bool races_in_shared_memory(unsigned distance, const Between& between) {
  return races([&](unsigned*) {
    of_block().words[threadIdx.x] = 1;
    between();
    const volatile int other = of_block().words[(threadIdx.x + distance) % 64];
    (void)other;
  });
}

TEST(races, of_shared_memory) {
  EXPECT_TRUE(races_in_shared_memory(1, [] { simulator::give_way(); }));
  EXPECT_TRUE(races_in_shared_memory(32, [] { __syncwarp(); }));
  EXPECT_TRUE(races_in_shared_memory(1, [] { fanin::detail::all_in_warp(true); }));
  EXPECT_TRUE(races_in_shared_memory(1, [] { __threadfence(); }));
  EXPECT_FALSE(races_in_shared_memory(0, [] { simulator::give_way(); }));
  EXPECT_FALSE(races_in_shared_memory(1, [] { __syncthreads(); }));
  EXPECT_FALSE(races_in_shared_memory(1, [] { fanin::detail::sync_cluster(); }));
}
TEST(races, of_a_warp) {
  const auto exchange = [](bool with_barrier) {
    return races([=](unsigned*) {
      of_block().words[threadIdx.x] = 1;
      if (with_barrier) __syncwarp();
      const volatile int other = of_block().words[threadIdx.x ^ 1];
      (void)other;
    });
  };
  EXPECT_TRUE(exchange(false));
  EXPECT_FALSE(exchange(true));
}

TEST(races, of_atomic_accesses) {
  EXPECT_FALSE(races([](unsigned* words) { atomicAdd(words, 1U); }, 2));
  // Not the first word of an allocation, where the launch number is: see __tsan_default_suppressions.
  EXPECT_TRUE(races([](unsigned* words) { words[1] = words[1] + 1; }, 2));
  EXPECT_TRUE(races([](unsigned* words) { threadIdx.x == 0 ? (void)(words[1] = 1) : (void)atomicAdd(words + 1, 1U); }));
}

/// Block 0 writes a word, then a flag that block 1 waits for and then reads the word.
bool races_by_message(bool fence_before, bool fence_behind) {
  return races(
      [=](unsigned* words) {
        if (threadIdx.x != 0) return;
        unsigned* const data = words + 32;
        if (blockIdx.x == 0) {
          *data = 1;
          if (fence_before) __threadfence();
          atomicAdd(words, 1U);
        } else if (atomicAdd(words, 0U) == 1) {
          if (fence_behind) __threadfence();
          const volatile unsigned seen = *data;
          (void)seen;
        }
      },
      2, 32);
}
bool races_by_unit(bool fence_before, bool fence_behind) {
  return races(
      [=](unsigned* words) {
        if (threadIdx.x != 0) return;
        auto* const unit = reinterpret_cast<fanin::detail::tagged_unit*>(words);
        unsigned* const data = words + 32;
        if (blockIdx.x == 0) {
          *data = 1;
          if (fence_before) __threadfence();
          fanin::detail::store_unit(unit, {{0, 0, 0}, 1});
        } else if (fanin::detail::load_unit(unit).tag == 1) {
          if (fence_behind) __threadfence();
          const volatile unsigned seen = *data;
          (void)seen;
        }
      },
      2, 32);
}
TEST(races, of_messages) {
  for (const auto& by : {&races_by_message, &races_by_unit}) {
    EXPECT_FALSE(by(true, true));
    EXPECT_TRUE(by(false, true));
    EXPECT_TRUE(by(true, false));
    EXPECT_TRUE(by(false, false));
  }
}

TEST(races, of_launches) {
  const auto plain = [](unsigned* words) { words[threadIdx.x] += 1; };
  const auto waits = [](unsigned* words) {
    fanin::detail::wait_for_grid_before();
    words[threadIdx.x] += 1;
  };
  EXPECT_TRUE(races(plain, 1, 32, 3));
  EXPECT_FALSE(races(waits, 1, 32, 3));
  EXPECT_FALSE(races(plain, 1, 32, 3, true, false));
  EXPECT_TRUE(races(plain, 1, 32, 2, false, false));  // of two streams
  EXPECT_TRUE(races(plain, 2, 32));                   // of two blocks
}

/// Two rounds of a copy that all threads read.
TEST(races, of_bulk_copies) {
  struct memory {
    alignas(16) unsigned words[32];
    fanin::detail::copy_barrier barrier;
  };
  const auto copy_twice = [](bool with_barrier, bool with_wait) {
    return races(
        [=](unsigned* words) {
          auto& here = fanin::detail::object_of_block<memory>();
          if (threadIdx.x == 0) {
            here.barrier.init();
            fanin::detail::publish_copy_barriers();
          }
          __syncthreads();
          for (unsigned round = 0; round < 2; ++round) {
            if (threadIdx.x == 0) here.barrier.copy(here.words, words, 128);
            if (with_wait || threadIdx.x == 0) here.barrier.wait(round);
            const volatile unsigned seen = here.words[threadIdx.x];
            (void)seen;
            if (with_barrier) __syncthreads();
          }
        },
        1, 32);
  };
  EXPECT_FALSE(copy_twice(true, true));
  EXPECT_TRUE(copy_twice(false, true));
  EXPECT_TRUE(copy_twice(true, false));
}

}  // namespace
}  // namespace simulator_test
