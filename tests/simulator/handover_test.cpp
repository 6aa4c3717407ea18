// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include <fanin/cuda/grid/last_block.cuh>
#include <fanin/cuda/grid/tagged_units.cuh>
#include <fanin/cuda/workspace.cuh>
#include <fanin/device/grid_order.cuh>

#include "simulator/machine.hpp"

/// How blocks of one thread hand over their partial results, in every order of its steps and of its stores' arrival.
namespace simulator_test {
namespace {

namespace detail = fanin::detail;

/// Words that are told apart, whoever has them.
template <int Words>
struct partial {
  std::uint32_t word[Words];
  static partial of(unsigned launch, unsigned block) {
    partial made{};
    for (int k = 0; k < Words; ++k) made.word[k] = 100 * launch + 10 * block + static_cast<unsigned>(k) + 1;
    return made;
  }
  friend bool operator==(const partial&, const partial&) = default;
};

/// What is wrong of the partial results that the finishing block of each launch took.
template <class Partial>
std::string what_is_wrong(const std::vector<std::vector<Partial>>& taken, unsigned others) {
  if (const std::string& fault = simulator::last_fault(); !fault.empty()) return fault;
  for (unsigned launch = 0; launch < taken.size(); ++launch) {
    if (taken[launch].size() != others) return "launch " + std::to_string(launch) + " has no result";
    for (unsigned block = 0; block < others; ++block) {
      if (taken[launch][block] != Partial::of(launch, block)) {
        return "launch " + std::to_string(launch) + " took something else for the partial of block " +
               std::to_string(block);
      }
    }
  }
  return "";
}

/// Runs `thread(memory, launch, taken)` in every order, until one is wrong; says what is.
template <class Partial, class Thread>
std::string explore(unsigned blocks, unsigned launches, std::size_t bytes, unsigned others, const Thread& thread) {
  simulator::exploration all;
  while (all.next()) {
    auto* const memory = static_cast<unsigned char*>(simulator::allocate(bytes));
    std::memset(memory, 0, bytes);
    simulator::stream* const stream = simulator::make_stream();
    std::vector<std::vector<Partial>> taken(launches);
    for (unsigned launch = 0; launch < launches; ++launch) {
      simulator::launch kernel;
      kernel.blocks = blocks;
      kernel.threads = 1;
      kernel.starts_early = true;
      kernel.thread = [&taken, &thread, memory, launch] { thread(memory, launch, taken[launch]); };
      simulator::enqueue(stream, kernel);
    }
    simulator::finish(stream);
    if (all.was_cut_short()) continue;
    const std::string wrong = what_is_wrong(taken, others);
    if (!wrong.empty()) return "order " + std::to_string(all.schedules()) + ": " + wrong;
  }
  std::cout << blocks << " blocks, " << launches << " launches: " << all.schedules() << " orders, " << all.states()
            << " states\n";
  return "";
}

template <int Words>
std::string explore_units(unsigned blocks, unsigned launches) {
  using value = partial<Words>;
  constexpr auto units = static_cast<std::size_t>(detail::tagged_units(sizeof(value)));
  const std::size_t bytes_of_units = blocks * units * 16;
  return explore<value>(blocks, launches, 256 + bytes_of_units, blocks - 1,
                        [=](unsigned char* memory, unsigned launch, std::vector<value>& taken) {
                          const detail::watched_memory workspace{reinterpret_cast<detail::tagged_unit*>(memory + 256),
                                                                 bytes_of_units, reinterpret_cast<unsigned*>(memory)};
                          const detail::contributor self{blockIdx.x, gridDim.x};
                          detail::wait_for_grid_before();
                          const std::uint32_t before = detail::launches_before(workspace);
                          if (!self.finishes()) {
                            detail::publish_partial(value::of(launch, self.index), self.index, workspace, before);
                            return;
                          }
                          for (unsigned block = 0; block + 1 < self.count; ++block) {  // as a lane of its own each
                            value one;
                            while (!detail::take_partial(one, workspace.units + block * units, before)) continue;
                            taken.push_back(one);
                          }
                          detail::close_launch(workspace, before);
                        });
}

template <int Words>
std::string explore_ticket(unsigned blocks, unsigned launches) {
  using value = partial<Words>;
  return explore<value>(
      blocks, launches, 256 + blocks * sizeof(value), blocks,
      [](unsigned char* memory, unsigned launch, std::vector<value>& taken) {
        auto* const partials = reinterpret_cast<value*>(memory + 256);
        const detail::contributor self{blockIdx.x, gridDim.x};
        detail::wait_for_grid_before();
        unsigned is_last = 0;
        const value mine = value::of(launch, self.index);
        if (!detail::is_last_block(mine, self, partials, reinterpret_cast<unsigned*>(memory), is_last)) return;
        taken.clear();
        for (unsigned k = 0; k < self.count; ++k) {
          value one;
          detail::load_from_other_block(one, partials + k);
          taken.push_back(one);
        }
      });
}

TEST(handover, tagged_units) {
  EXPECT_EQ(explore_units<5>(2, 1), "");
  EXPECT_EQ(explore_units<2>(3, 1), "");
  if (std::getenv("FANIN_SIMULATOR_SECONDS") != nullptr) {
    EXPECT_EQ(explore_units<5>(3, 1), "");  // ten seconds
  }
  EXPECT_EQ(explore_units<2>(2, 2), "");
}

TEST(handover, ticket) {
  EXPECT_EQ(explore_ticket<2>(2, 1), "");
  EXPECT_EQ(explore_ticket<1>(3, 1), "");
  EXPECT_EQ(explore_ticket<1>(2, 2), "");
}

/// Whatever orders them is left out in turn.
TEST(handover, without_what_orders_it) {
  const auto run_all = [] {
    std::string wrong = explore_units<2>(2, 1);
    if (wrong.empty()) wrong = explore_units<2>(2, 2);
    if (wrong.empty()) wrong = explore_ticket<1>(2, 1);
    if (wrong.empty()) wrong = explore_ticket<1>(2, 2);
    return wrong;
  };
  std::set<simulator::ordering_place> seen;
  simulator::note_places(&seen);
  EXPECT_EQ(run_all(), "");
  simulator::note_places(nullptr);
  EXPECT_GE(seen.size(), 6U);
  for (const simulator::ordering_place& place : seen) {
    if (place.what == "__syncthreads") continue;  // of blocks of one thread
    simulator::leave_out(&place);
    EXPECT_NE(run_all(), "") << place.what << " at " << place.file << ":" << place.line;
    simulator::leave_out(nullptr);
  }
}

}  // namespace
}  // namespace simulator_test
