// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/error.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/runs.hpp>
#include <fanin/segments.hpp>
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

// --- Many results

struct rising_plane {
  number step;
  number columns;
  FANIN_FUNCTION number operator()(number i, number j) const { return step + i * columns + j; }
};

/// A call with many results in the host's own memory, which the simulated device writes to, and what must stand there
/// as soon as it is got.
struct many_outstanding {
  fanin::pending<void> all;
  fanin::pending<number> runs;
  std::shared_ptr<std::vector<number>> out = std::make_shared<std::vector<number>>();
  std::shared_ptr<std::vector<number>> keys = std::make_shared<std::vector<number>>();
  std::vector<number> in;  ///< what the call reads
  std::vector<number> offsets;
  std::vector<number> expected;
  std::vector<number> expected_keys;
  number count = -1;

  bool ready() const { return all.valid() ? all.ready() : runs.ready(); }
  std::string get() {
    number told = -1;
    if (all.valid()) {
      all.get();
    } else {
      told = runs.get();
    }
    return seen(told);
  }
  /// All of it, without a wait.
  std::string seen(number told) const {
    if (*out != expected) return "results are not there; ";
    if (*keys != expected_keys) return "keys are not there; ";
    return told == count ? "" : "told " + std::to_string(told) + " runs, expected " + std::to_string(count) + "; ";
  }
};

many_outstanding rows_or_columns(const fanin::cuda& gpu, choices& draw, number n, number m) {
  many_outstanding made;
  const bool is_of_rows = draw.below(2) == 0;
  const rising_plane f{static_cast<number>(draw.below(1'000)), m};
  const number results = is_of_rows ? n : m;
  const number length = is_of_rows ? m : n;
  for (number k = 0; k < results; ++k) {
    number sum = 0;
    for (number l = 0; l < length; ++l) sum += is_of_rows ? f(k, l) : f(l, k);
    made.expected.push_back(sum);
  }
  made.out->assign(made.expected.size(), -1);
  const fanin::sum<number> sum;
  made.all = is_of_rows ? fanin::parallel_reduce_async(made.out->data(), fanin::rows(gpu, n, m), f, sum)
                        : fanin::parallel_reduce_async("columns", *made.out, fanin::columns(gpu, n, m), f, sum);
  return made;
}

/// Lengths of which some are long, as segments or as runs, into less room than there are now and then.
many_outstanding segments_or_runs(const fanin::cuda& gpu, choices& draw) {
  many_outstanding made;
  const bool is_of_runs = draw.below(2) == 0;
  std::vector<number> of_element;
  made.offsets.push_back(0);
  for (number s = 1 + static_cast<number>(draw.below(40)); s > 0; --s) {
    const number length = draw.below(20) == 0 ? 4'500 : 1 + static_cast<number>(draw.below(30));
    made.offsets.push_back(made.offsets.back() + length);
    made.expected.push_back(0);
    made.expected_keys.push_back(s);
    for (number k = 0; k < length; ++k) {
      of_element.push_back(s);
      made.in.push_back(static_cast<number>(draw.below(1'000)));
      made.expected.back() += made.in.back();
    }
  }
  const fanin::sum<number> sum;
  made.out->assign(made.expected.size(), -1);
  if (is_of_runs) {
    made.count = static_cast<number>(made.expected.size());
    const std::size_t room = draw.below(3) == 0 ? draw.below(made.expected.size() + 1) : made.expected.size();
    made.keys->assign(made.expected.size(), -1);
    std::fill(made.expected.begin() + static_cast<std::ptrdiff_t>(room), made.expected.end(), -1);
    std::fill(made.expected_keys.begin() + static_cast<std::ptrdiff_t>(room), made.expected_keys.end(), -1);
    made.offsets = std::move(of_element);
    made.runs = fanin::reduce_async(fanin::runs_to(std::span(*made.keys).first(room), made.out->data()), gpu,
                                    fanin::runs(made.in, made.offsets), sum);
  } else {
    made.expected_keys.clear();
    made.all = fanin::reduce_async(*made.out, gpu, fanin::segments(made.in, made.offsets), sum);
  }
  return made;
}

/// Of short rows and long ones, few and many: one launch, two, three.
many_outstanding some_many(const fanin::cuda& gpu, choices& draw) {
  switch (draw.below(4)) {
    case 0:
      return rows_or_columns(gpu, draw, 1 + static_cast<number>(draw.below(50)),
                             1 + static_cast<number>(draw.below(40)));
    case 1: return rows_or_columns(gpu, draw, 1 + static_cast<number>(draw.below(3)), 6'000);
    default: return segments_or_runs(gpu, draw);
  }
}

TEST(pending_of_many, any_number_in_any_order) {
  for_some_seeds(60, [](choices& draw) {
    const fanin::cuda gpu;
    std::string wrong;
    std::vector<many_outstanding> all;
    std::vector<many_outstanding> dropped;  // whose memory kernels still write to
    std::vector<outstanding> single;
    for (std::size_t k = 0; k < 20; ++k) {
      const std::size_t which = all.empty() ? 0 : draw.below(all.size());
      const auto taken = all.begin() + static_cast<std::ptrdiff_t>(which);
      switch (all.empty() ? 0 : draw.below(8)) {
        case 4:
          taken->all = {};
          taken->runs = {};
          dropped.push_back(std::move(*taken));
          all.erase(taken);
          break;
        case 5:
          if (draw.below(2) == 0) taken->ready();
          wrong += taken->get();
          all.erase(taken);
          break;
        case 6: wrong += blocking(gpu, draw); break;
        case 7: single.push_back(some_call(gpu, draw)); break;
        default: all.push_back(some_many(gpu, draw)); break;
      }
    }
    for (outstanding& one : single) wrong += one.get();
    while (!all.empty()) {
      std::swap(all[draw.below(all.size())], all.back());
      wrong += all.back().get();
      all.pop_back();
    }
    gpu.synchronize();
    for (const many_outstanding& one : dropped) wrong += one.seen(one.count);
    return wrong;
  });
}

/// What is ready is there.
TEST(pending_of_many, a_look_is_enough) {
  for_some_seeds(60, [](choices& draw) {
    const fanin::cuda gpu;
    many_outstanding first = some_many(gpu, draw);
    many_outstanding second = some_many(gpu, draw);
    const outstanding behind = some_call(gpu, draw);
    while (!first.ready()) continue;
    std::string wrong = first.seen(first.count);
    while (!second.ready()) continue;
    wrong += second.seen(second.count);
    const std::uint64_t before = simulator::counted().switches;
    wrong += first.get() + second.get();
    return simulator::counted().switches == before ? wrong : wrong + "get() waited for what was ready; ";
  });
}

/// A row alone, and few long ones of reducers that keep their state in the block: by kernels that let the next one
/// start before they have ended.
TEST(pending_of_many, by_a_launch_each) {
  for_some_seeds(20, [](choices& draw) {
    const fanin::cuda gpu;
    constexpr number m = 50'000;
    const rising_plane f{static_cast<number>(draw.below(1'000)), m};
    const auto sum = [&](number i, number count) { return count * (f.step + i * m) + count * (count - 1) / 2; };
    std::string wrong;
    std::vector<number> of_one(1, -1);
    fanin::parallel_reduce_async(of_one, fanin::rows(gpu, 1, 9'000), f, fanin::sum<number>{}).get();
    if (of_one[0] != sum(0, 9'000)) wrong += "a row alone is not there; ";
    std::vector<double> exact(2, -1);
    fanin::parallel_reduce_async(exact, fanin::rows(gpu, 2, m), f, fanin::exact_sum<double>{}).get();
    for (number i = 0; i < 2; ++i) {
      if (exact[static_cast<std::size_t>(i)] != static_cast<double>(sum(i, m))) wrong += "an exact sum is not there; ";
    }
    gpu.synchronize();
    return wrong;
  });
}

TEST(pending_of_many, outlives_its_object_and_its_thread) {
  for_some_seeds(40, [](choices& draw) {
    std::string wrong;
    std::vector<many_outstanding> all;
    {
      const fanin::cuda gpu;
      for (int calls = 0; calls < 4; ++calls) all.push_back(some_many(gpu, draw));
    }
    wrong += all.front().get();
    all.erase(all.begin());
    std::thread([&wrong, of_thread = std::move(all)]() mutable {
      for (many_outstanding& one : of_thread) {
        if (!one.ready()) wrong += "it is not there, although its object is gone; ";
        wrong += one.get();
      }
    }).join();
    return wrong;
  });
}

TEST(pending_of_many, mailboxes_are_used_again) {
  const auto several = [&](const fanin::cuda& gpu, choices& draw) {
    std::vector<many_outstanding> all;
    while (all.size() < 70) all.push_back(some_many(gpu, draw));
    gpu.synchronize();
  };
  for_some_seeds(2, [&](choices& draw) {
    const fanin::cuda gpu;
    int without = 0;  // times in a row; a call larger than all before may come late
    for (int k = 0; k < 30 && without < 3; ++k) {
      const std::int64_t allocations = gpu.workspace_allocations();
      several(gpu, draw);
      without = gpu.workspace_allocations() == allocations ? without + 1 : 0;
    }
    return without == 3 ? "" : "something was allocated time and again; ";
  });
}

/// Nothing is launched; results of before are got.
TEST(pending_of_many, a_capture_refuses_the_call_and_not_the_result) {
  for_some_seeds(20, [](choices& draw) {
    const fanin::cuda gpu;
    many_outstanding before = some_many(gpu, draw);
    std::string wrong;
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal);
    const fanin::cuda_launch last = gpu.last_launch();
    for (int k = 0; k < 4; ++k) {
      try {
        static_cast<void>(some_many(gpu, draw));
        wrong += "a call was taken; ";
      } catch (const fanin::state_error& refused) {
        const std::string words = refused.what();
        if (words.find("is being captured") == std::string::npos || words.find("_async") == std::string::npos)
          wrong += words;
      }
    }
    if (gpu.last_launch() != last) wrong += "something was launched; ";
    wrong += before.get();
    if (cudaStreamEndCapture(gpu.stream(), &graph) != cudaSuccess) wrong += "the capture is invalid; ";
    cudaGraphDestroy(graph);
    return wrong + some_many(gpu, draw).get();
  });
}

struct stuck_in_plane {
  FANIN_FUNCTION number operator()(number i, number j) const {
    if (i + j == 3) __syncthreads();
    return i;
  }
};

TEST(pending_of_many, throws_what_the_kernel_failed_of) {
  int outstanding_calls = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    simulator::begin(simulator::schedule(seed));
    std::optional<fanin::cuda> gpu(std::in_place);
    std::vector<number> out(8, -1);
    fanin::pending<void> failed;
    try {
      failed = fanin::parallel_reduce_async(out, fanin::rows(*gpu, 8, 40), stuck_in_plane{}, fanin::sum<number>{});
    } catch (const fanin::cuda_error&) {
      continue;  // the device told so before the call had returned
    }
    if (seed % 2 == 0) gpu.reset();
    while (!failed.ready()) continue;
    EXPECT_THROW(failed.get(), fanin::cuda_error);
    EXPECT_FALSE(failed.valid());
    ++outstanding_calls;
  }
  EXPECT_GT(outstanding_calls, 10);
}

}  // namespace
}  // namespace simulator_test
