// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <string>

#include <fanin/device/atomics.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/bulk_copy.cuh>
#include <fanin/device/cluster.cuh>
#include <fanin/device/tagged_unit.cuh>
#include <fanin/device/warp.cuh>

#include "simulator/machine.hpp"
#include "simulator/seeds.hpp"

/// What the simulated device says when a kernel is wrong.
namespace simulator_test {
namespace {

using fanin::detail::tagged_unit;

/// One launch under a few schedules; what the device says of each: it must be the same.
std::string fault_of(const std::function<void()>& kernel, unsigned blocks, unsigned threads,
                     unsigned blocks_of_cluster = 1, unsigned resident_blocks = 64) {
  std::set<std::string> all;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    simulator::schedule how(seed);
    how.resident_blocks = resident_blocks;
    simulator::begin(how);
    simulator::launch what;
    what.thread = kernel;
    what.blocks = blocks;
    what.threads = threads;
    what.blocks_of_cluster = blocks_of_cluster;
    simulator::stream* const stream = simulator::make_stream();
    simulator::enqueue(stream, what);
    EXPECT_FALSE(simulator::finish(stream)) << how.text();
    all.insert(simulator::last_fault());
  }
  EXPECT_EQ(all.size(), 1U);
  return *all.begin();
}

std::string at_line(int line) { return "machine_test.cpp:" + std::to_string(line); }

TEST(deadlocks, a_thread_does_not_come_to_a_barrier) {
  int line = 0;
  const auto kernel = [&] {
    if (threadIdx.x == 5) return;
    line = __LINE__ + 1;
    __syncthreads();
  };
  const std::string barrier = " wait for __syncthreads at ";
  const std::string fault = fault_of(kernel, 1, 64);
  const std::string where = barrier + at_line(line) + " without threads 5\n";
  EXPECT_EQ(fault,
            "nobody can go on\n"
            "  a grid of 1 blocks of 64: 0 ended, 0 not started\n"
            "    block 0, threads 0 to 4:" +
                where + "    block 0, threads 5 to 5: ended\n    block 0, threads 6 to 63:" + where);
}

TEST(deadlocks, a_lane_does_not_come) {
  int line = 0;
  const auto kernel = [&] {
    if (threadIdx.x == 40 || threadIdx.x == 41 || threadIdx.x == 50) return;
    line = __LINE__ + 1;
    __syncwarp();
  };
  EXPECT_NE(fault_of(kernel, 1, 64)
                .find("threads 51 to 63: wait for __syncwarp at " + at_line(line) + " without threads 40 to 41, 50\n"),
            std::string::npos);
}

TEST(deadlocks, a_block_of_a_cluster_does_not_come) {
  int line = 0;
  const auto kernel = [&] {
    if (blockIdx.x == 1 && threadIdx.x == 7) return;
    line = __LINE__ + 1;
    fanin::detail::sync_cluster();
  };
  EXPECT_NE(fault_of(kernel, 2, 32, 2)
                .find("block 0, threads 0 to 31: wait for sync_cluster at " + at_line(line) +
                      " without threads 7 of block 1\n"),
            std::string::npos);
}

TEST(deadlocks, blocks_wait_for_each_other) {
  int line = 0;
  const auto kernel = [&line] {
    // Their first address is that of the only allocation.
    auto* const units = reinterpret_cast<tagged_unit*>(simulator::allocations().at(0).memory);
    if (threadIdx.x != 0) return;
    line = __LINE__ + 1;
    while (fanin::detail::load_unit(units + (1 - blockIdx.x)).tag != 1) continue;
    fanin::detail::store_unit(units + blockIdx.x, {{0, 0, 0}, 1});
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    simulator::schedule how(seed);
    how.resident_blocks = 2;
    simulator::begin(how);
    std::memset(simulator::allocate(32), 0, 32);
    simulator::launch what;
    what.thread = kernel;
    what.blocks = 2;
    simulator::stream* const stream = simulator::make_stream();
    simulator::enqueue(stream, what);
    EXPECT_FALSE(simulator::finish(stream));
    const std::string waits = "threads 0 to 0: wait for memory that another block writes at " + at_line(line);
    for (const auto& [block, byte] : {std::pair{"0", "16"}, std::pair{"1", "0"}}) {
      const std::string said = std::string("block ") + block + ", " + waits + ", byte " + byte + " of allocation 0\n";
      EXPECT_NE(simulator::last_fault().find(said), std::string::npos) << simulator::last_fault();
    }
  }
}

TEST(deadlocks, a_block_waits_for_one_that_finds_no_room) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    simulator::schedule how(seed);
    how.resident_blocks = 1;
    simulator::begin(how);
    auto* const unit = static_cast<tagged_unit*>(simulator::allocate(sizeof(tagged_unit)));
    std::memset(static_cast<void*>(unit), 0, sizeof(*unit));
    simulator::launch what;
    what.blocks = 2;
    what.thread = [unit] {
      if (blockIdx.x == 1 && threadIdx.x == 0) fanin::detail::store_unit(unit, {{0, 0, 0}, 1});
      while (fanin::detail::load_unit(unit).tag != 1) continue;
    };
    simulator::stream* const stream = simulator::make_stream();
    simulator::enqueue(stream, what);
    EXPECT_FALSE(simulator::finish(stream));
    EXPECT_NE(simulator::last_fault().find("nobody can go on\n  a grid of 2 blocks of 32: 0 ended, 1 not started\n"),
              std::string::npos)
        << simulator::last_fault();
  }
}

TEST(deadlocks, nobody_asked_for_a_copy) {
  const auto kernel = [] {
    auto& barrier = fanin::detail::object_of_block<fanin::detail::copy_barrier>();
    if (threadIdx.x == 0) {
      barrier.init();
      fanin::detail::publish_copy_barriers();
    }
    __syncthreads();
    barrier.wait(0);
  };
  EXPECT_NE(fault_of(kernel, 1, 32).find("threads 0 to 31: wait for a bulk copy at "), std::string::npos);
}

/// A GPU faults there, too.
TEST(faults, an_atomic_access_to_local_memory) {
  int line = 0;
  const auto add = [&line] {
    unsigned count = 0;
    line = __LINE__ + 1;
    atomicAdd(&count, 1U);
  };
  const auto exchange = [&line] {
    std::int64_t word = 0;
    line = __LINE__ + 1;
    fanin::atomic_exchange(word, std::int64_t{1});
  };
  for (const std::function<void()>& kernel : {std::function<void()>(add), std::function<void()>(exchange)}) {
    EXPECT_EQ(fault_of(kernel, 1, 1)
                  .find("an atomic access to memory that is local to a thread, by thread 0 of block 0 at " +
                        at_line(line) + "\n"),
              0U);
  }
}

/// Threads that add without an atomic access: some schedules are wrong.
std::string run_wrong_kernel(std::uint64_t seed) {
  return run_seed(seed, [&](choices&, std::string& text) -> std::string {
    text += "\n  32 additions";
    int sum = 0;
    simulator::launch what;
    what.thread = [&sum] {
      const int before = sum;
      simulator::give_way();
      sum = before + 1;
    };
    simulator::stream* const stream = simulator::make_stream();
    simulator::enqueue(stream, what);
    simulator::finish(stream);
    return sum == 32 ? "" : "got " + std::to_string(sum);
  });
}

TEST(seeds, a_failure_prints_its_seed_and_replays) {
  std::set<std::string> answers;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::string wrong = run_wrong_kernel(seed);
    answers.insert(wrong.substr(wrong.rfind('\n') + 1));
    if (wrong.empty()) continue;
    EXPECT_EQ(wrong.find("seed " + std::to_string(seed) + " ("), 0U) << wrong;
    EXPECT_NE(wrong.find("\n  32 additions\n  got "), std::string::npos) << wrong;
    EXPECT_EQ(run_wrong_kernel(seed), wrong);
  }
  EXPECT_GT(answers.size(), 2U);  // the seed decides
}

/// Sets a variable while it lives.
class variable {
 public:
  variable(const char* name, const char* value) : name_{name} {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~variable() {
    if (before_.empty()) {
      unsetenv(name_);
    } else {
      setenv(name_, before_.c_str(), 1);
    }
  }

 private:
  const char* name_;
  std::string before_;
};

TEST(seeds, one_of_the_environment) {
  const variable seed("FANIN_SIMULATOR_SEED", "123");
  std::set<std::uint64_t> ran;
  for_each_seed(50, [&](std::uint64_t one) {
    ran.insert(one);
    return "";
  });
  EXPECT_EQ(ran, std::set<std::uint64_t>{123});
  EXPECT_NONFATAL_FAILURE(for_each_seed(50, run_wrong_kernel), "seed 123 (");
}

TEST(seeds, so_many_seconds) {
  const variable seconds("FANIN_SIMULATOR_SECONDS", "1");
  const variable first("FANIN_SIMULATOR_FIRST", "1000");
  std::uint64_t ran = 0;
  const auto begun = std::chrono::steady_clock::now();
  for_each_seed(2, [&](std::uint64_t one) {
    EXPECT_EQ(one, 1000 + ran++);
    return "";
  });
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1));
  EXPECT_GT(ran, 2U);
}

}  // namespace
}  // namespace simulator_test
