// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/error.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reducers.hpp>
#include <fanin/tuple.hpp>

#include "mailboxes.hpp"
#include "simulator/seeds.hpp"

/// Results that are got later, on the simulated device: any number, in any order, dropped, beyond their object's end.
namespace simulator_test {
namespace {

namespace rows = fanin::cuda_strategy;
using fanin::cuda_stage::grid;
using last_block = rows::finished_by<rows::one_pass, grid::last_block>;
using number = std::int64_t;
using pair_of_numbers = fanin::tuple<number, number>;

/// f(i) = step + i: another sum for every call.
struct rising {
  number step;
  FANIN_FUNCTION number operator()(number i) const { return step + i; }
  number sum(number n) const { return step * n + n * (n - 1) / 2; }
};

/// A call whose result is got later, and what that must be.
struct outstanding {
  fanin::pending<number> one;
  fanin::pending<pair_of_numbers> two;
  number expected = 0;
  number greatest = 0;

  bool ready() const { return one.valid() ? one.ready() : two.ready(); }
  std::string get() {
    const pair_of_numbers got = one.valid() ? pair_of_numbers{one.get(), greatest} : two.get();
    if (got == pair_of_numbers{expected, greatest}) return "";
    return "got " + std::to_string(fanin::get<0>(got)) + ", expected " + std::to_string(expected) + "; ";
  }
};

template <class Strategy>
outstanding call(const fanin::cuda& gpu, int blocks, rising f, number n, bool is_of_two) {
  const auto range = fanin::range(gpu.with<Strategy>({.block_size = 32, .grid_size = blocks}), n);
  outstanding made{{}, {}, f.sum(n), f.step + n - 1};
  if (is_of_two) {
    made.two = fanin::parallel_reduce_async("two", range, f, fanin::sum<number>{}, fanin::max<number>{});
  } else {
    made.one = fanin::parallel_reduce_async(range, f, fanin::sum<number>{});
  }
  return made;
}

outstanding some_call(const fanin::cuda& gpu, choices& draw) {
  const rising f{static_cast<number>(draw.below(1'000'000))};
  const number n = 1 + static_cast<number>(draw.below(1'500));
  const int blocks = 1 + static_cast<int>(draw.below(6));
  const bool is_of_two = draw.below(3) == 0;
  return draw.below(3) == 0 ? call<last_block>(gpu, blocks, f, n, is_of_two)
                            : call<rows::one_pass>(gpu, blocks, f, n, is_of_two);
}

void for_some_seeds(std::uint64_t count, const auto& story) {
  for_each_seed(count_of_seeds(count), [&](std::uint64_t seed) {
    return run_seed(seed, [&](choices& draw, std::string&) { return std::string(story(draw)); });
  });
}

std::string blocking(const fanin::cuda& gpu, choices& draw) {
  const rising f{static_cast<number>(draw.below(1'000'000))};
  const auto range = fanin::range(gpu.with({.block_size = 32, .grid_size = 3}), 700);
  return fanin::parallel_reduce(range, f, fanin::sum<number>{}) == f.sum(700) ? "" : "a blocking call is wrong; ";
}

/// Calls of all forms, and results that are got, looked at, moved and dropped among them.
TEST(pending, any_number_in_any_order) {
  for_some_seeds(120, [](choices& draw) {
    const fanin::cuda gpu;
    std::string wrong;
    std::vector<outstanding> all;
    std::vector<number> out(40, -1);
    std::vector<number> expected(out.size(), -1);
    for (std::size_t k = 0; k < out.size(); ++k) {
      const std::size_t which = all.empty() ? 0 : draw.below(all.size());
      switch (all.empty() ? 0 : draw.below(8)) {
        case 4: all.erase(all.begin() + static_cast<std::ptrdiff_t>(which)); break;
        case 5:
          if (draw.below(2) == 0) all[which].ready();
          wrong += all[which].get();
          all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
          break;
        case 6: wrong += blocking(gpu, draw); break;
        case 7: {
          const rising f{static_cast<number>(draw.below(1'000))};
          fanin::parallel_reduce_into(&out[k], fanin::range(gpu.with({.block_size = 32, .grid_size = 4}), 600), f,
                                      fanin::sum<number>{});
          expected[k] = f.sum(600);
          break;
        }
        default: all.push_back(some_call(gpu, draw)); break;
      }
    }
    while (!all.empty()) {
      std::swap(all[draw.below(all.size())], all.back());
      wrong += all.back().get();
      all.pop_back();
    }
    gpu.synchronize();
    return out == expected ? wrong : wrong + "an _into form is wrong; ";
  });
}

/// Looks alone bring it on.
TEST(pending, a_look_is_enough) {
  for_some_seeds(50, [](choices& draw) {
    const fanin::cuda gpu;
    outstanding first = some_call(gpu, draw);
    outstanding second = some_call(gpu, draw);
    while (!second.ready()) continue;
    std::string wrong = first.ready() ? "" : "the later one came first; ";
    wrong += second.get();
    return wrong + first.get();
  });
}

/// What is ready needs no more of the device: all its words are there, two of them, or four.
TEST(pending, is_ready_when_all_of_it_is_there) {
  for_some_seeds(200, [](choices& draw) {
    const fanin::cuda gpu;
    std::string wrong;
    std::vector<outstanding> all;  // behind the last kernel's end all words come at once
    while (all.size() < 5) all.push_back(some_call(gpu, draw));
    for (outstanding& one : all) {
      while (!one.ready()) continue;
      const std::uint64_t before = simulator::counted().switches;
      wrong += one.get();
      if (simulator::counted().switches != before) wrong += "get() waited for what was ready; ";
    }
    return wrong;
  });
}

TEST(pending, outlives_its_object_and_its_thread) {
  for_some_seeds(100, [](choices& draw) {
    std::string wrong;
    std::vector<outstanding> all;
    for (int k = 0; k < 2; ++k) {
      const fanin::cuda gpu;
      for (int calls = 0; calls < 5; ++calls) all.push_back(some_call(gpu, draw));
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(draw.below(all.size())));
    }
    wrong += all.front().get();
    all.erase(all.begin());
    std::thread([&wrong, of_thread = std::move(all)]() mutable {
      for (outstanding& one : of_thread) {
        if (!one.ready()) wrong += "it is not there, although its object is gone; ";
        wrong += one.get();
      }
    }).join();
    return wrong;
  });
}

/// Those that are dropped make room, and results of one size have mailboxes of their own.
TEST(pending, mailboxes_are_used_again) {
  simulator::begin(simulator::schedule(4));
  const fanin::cuda gpu;
  const auto several = [&](std::size_t count, bool of_two) {
    std::vector<outstanding> all;
    while (all.size() < count) {
      const auto step = static_cast<number>(all.size());
      all.push_back(call<rows::one_pass>(gpu, 2, {step}, 100, of_two));
    }
    std::string wrong;
    for (std::size_t k = 0; k < all.size(); k += 2) wrong += all[k].get();
    EXPECT_EQ(wrong, "");
  };
  several(70, false);
  several(70, true);
  const std::int64_t allocations = gpu.workspace_allocations();
  for (int round = 0; round < 3; ++round) {
    several(70, round % 2 == 0);
    for (int k = 0; k < 100; ++k) static_cast<void>(call<rows::one_pass>(gpu, 2, {7}, 100, k % 2 == 0));
  }
  EXPECT_EQ(gpu.workspace_allocations(), allocations);
  several(200, false);
  EXPECT_GT(gpu.workspace_allocations(), allocations);
}

/// After 2^32 results of a mailbox its numbers come again.
TEST(pending, numbers_wrap) {
  for_some_seeds(100, [](choices& draw) {
    const fanin::cuda gpu;
    std::string wrong = call<rows::one_pass>(gpu, 3, {1}, 500, false).get();
    {
      constexpr int words = fanin::detail::mailbox_words(sizeof(number));
      fanin::detail::cuda_state& state = *gpu.handle().state;
      const fanin::detail::cuda_pending next = state.mailboxes->take(state, words);
      static_cast<fanin::detail::mailbox_slot*>(next.slot.get())->sequence =
          0xffffffffU - static_cast<std::uint32_t>(draw.below(4));
    }
    for (number k = 0; k < 6; ++k) {
      outstanding one = call<rows::one_pass>(gpu, 3, {k}, 500, false);
      if (draw.below(3) != 0) wrong += one.get();
    }
    return wrong;
  });
}

// --- Captures

TEST(pending, a_capture_refuses_the_call_and_not_the_result) {
  for_some_seeds(40, [](choices& draw) {
    const fanin::cuda gpu;
    outstanding before = some_call(gpu, draw);
    outstanding looked_at = some_call(gpu, draw);
    std::string wrong;
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal);
    try {
      static_cast<void>(some_call(gpu, draw));
      wrong += "a call was taken; ";
    } catch (const fanin::state_error& refused) {
      if (std::string(refused.what()).find("is being captured") == std::string::npos) wrong += refused.what();
    }
    while (!looked_at.ready()) continue;
    wrong += before.get() + looked_at.get();
    if (cudaStreamEndCapture(gpu.stream(), &graph) != cudaSuccess) wrong += "the capture is invalid; ";
    cudaGraphDestroy(graph);
    return wrong + some_call(gpu, draw).get();
  });
}

/// Its destructor cannot wait for its stream.
TEST(pending, outlives_an_object_that_captures) {
  for_some_seeds(40, [](choices& draw) {
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    std::optional<fanin::cuda> gpu(stream);
    outstanding one = some_call(*gpu, draw);
    outstanding dropped = some_call(*gpu, draw);
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    gpu.reset();
    const std::string wrong = one.get();
    cudaStreamEndCapture(stream, &graph);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return wrong;
  });
}

// --- Faults

/// One thread waits where no other comes to.
struct stuck {
  FANIN_FUNCTION number operator()(number i) const {
    if (i == 3) __syncthreads();
    return i;
  }
};

/// A call whose kernel fails; null where the device tells so before the call has returned.
std::optional<fanin::pending<number>> failing_call(const fanin::cuda& gpu) {
  const auto range = fanin::range(gpu.with({.block_size = 32, .grid_size = 2}), 64);
  try {
    return fanin::parallel_reduce_async(range, stuck{}, fanin::sum<number>{});
  } catch (const fanin::cuda_error&) {
    return std::nullopt;
  }
}

void expect_fault(fanin::pending<number>& failed) {
  try {
    static_cast<void>(failed.get());
    ADD_FAILURE() << "a kernel failed, and nothing was thrown";
  } catch (const fanin::cuda_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("cudaErrorLaunchFailure"), std::string::npos) << failure.what();
  }
  EXPECT_FALSE(failed.valid());
}

TEST(pending, throws_what_the_kernel_failed_of) {
  int outstanding_calls = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    simulator::begin(simulator::schedule(seed));
    std::optional<fanin::cuda> gpu(std::in_place);
    EXPECT_EQ(call<rows::one_pass>(*gpu, 2, {5}, 300, false).get(), "");
    auto failed = failing_call(*gpu);
    if (!failed.has_value()) continue;
    auto behind = failing_call(*gpu);
    if (seed % 2 == 0) gpu.reset();
    while (!failed->ready()) continue;
    expect_fault(*failed);
    if (behind.has_value()) expect_fault(*behind);
    ++outstanding_calls;
  }
  EXPECT_GT(outstanding_calls, 20);
}

/// A stream that captures cannot be asked: another one tells of the fault.
TEST(pending, throws_also_while_its_stream_captures) {
  int outstanding_calls = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    simulator::begin(simulator::schedule(seed));
    const fanin::cuda gpu;
    auto failed = failing_call(gpu);
    if (!failed.has_value()) continue;
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal);
    expect_fault(*failed);
    EXPECT_EQ(cudaStreamEndCapture(gpu.stream(), &graph), cudaSuccess);
    cudaGraphDestroy(graph);
    ++outstanding_calls;
  }
  EXPECT_GT(outstanding_calls, 10);
}

/// After a cudaDeviceReset, as which a new simulated device goes: the mailbox went with its context.
TEST(pending, of_a_context_that_is_gone) {
  simulator::begin(simulator::schedule(1));
  std::optional<fanin::cuda> gpu(std::in_place);
  outstanding got = call<rows::one_pass>(*gpu, 2, {5}, 300, false);
  const outstanding dropped = call<rows::one_pass>(*gpu, 2, {5}, 300, false);
  simulator::begin(simulator::schedule(2));
  EXPECT_TRUE(got.ready());
  try {
    static_cast<void>(got.get());
    ADD_FAILURE() << "a result of a context that is gone";
  } catch (const fanin::state_error& refused) {
    EXPECT_NE(std::string(refused.what()).find("fanin::pending::get"), std::string::npos) << refused.what();
  }
  gpu.reset();
}

}  // namespace
}  // namespace simulator_test
