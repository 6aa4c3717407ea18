// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/gpu_test.hpp"
#include "cuda/replay.hpp"

/// Calls while a stream captures: on that stream and on others, in this thread and in others.
namespace fanin_test {
namespace {

using cuda_graphs = gpu_test;

/// A millisecond of one thread: whoever waits for it asks the stream how it stands.
struct takes_a_while {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t) const {
#if defined(__CUDA_ARCH__)
    for (int k = 0; k < 1'000; ++k) __nanosleep(1'000);
#endif
    return 1;
  }
};

/// 20 milliseconds of a warp.
struct takes_long {
  FANIN_FUNCTION std::int64_t operator()([[maybe_unused]] std::int64_t i) const {
#if defined(__CUDA_ARCH__)
    for (int k = 0; k < 20'000; ++k) __nanosleep(1'000);
#endif
    return 1;
  }
};

const std::vector<cudaStreamCaptureMode> capture_modes{cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                                       cudaStreamCaptureModeRelaxed};

/// Runs `call` in this thread or in another one, and gives the words of what it threw.
std::string words_of(bool elsewhere, const std::function<void()>& call) {
  std::string words;
  const auto run = [&] {
    try {
      call();
    } catch (const fanin::state_error& e) {
      words = std::string("state_error: ") + e.what();
    } catch (const std::exception& e) {
      words = e.what();
    }
  };
  if (elsewhere) {
    std::thread(run).join();
  } else {
    run();
  }
  return words;
}

struct named_call {
  const char* name;
  std::function<void()> run;
};

/// What waits is refused on a capturing stream, before it launches anything; the capture stays valid.
TEST_F(cuda_graphs, blocking_calls_are_refused_in_capture) {
  fanin::cuda gpu;
  placed<std::int64_t, fanin::cuda> x(gpu, make_data<std::int64_t>(data::random_signed, 10'000));
  destination<std::int64_t, fanin::cuda> out(gpu);
  fanin::buffer<std::int64_t, fanin::cuda> copy(gpu, 10);
  std::vector<std::int64_t> host(10);
  const auto stream = gpu.stream();
  const auto tree = gpu.with<fanin::cuda_strategy::shared_tree>();
  const named_call calls[] = {
      {"reduce", [&] { fanin::reduce(gpu, x.span(), int64_sum); }},
      {"reduce, finished by the host", [&] { fanin::reduce(tree, x.span(), int64_sum); }},
      {"parallel_reduce", [&] { fanin::parallel_reduce(fanin::range(gpu, 10), index_itself{}, int64_sum); }},
      {"of nothing", [&] { fanin::parallel_reduce(fanin::range(gpu, 0), index_itself{}, int64_sum); }},
      {"copy_to", [&] { copy.copy_to(host); }},
      {"copy_from", [&] { copy.copy_from(host); }},
      {"synchronize", [&] { gpu.synchronize(); }},
  };
  for (const auto mode : capture_modes) {
    for (const bool elsewhere : {false, true}) {
      check(cudaStreamBeginCapture(stream, mode));
      for (const auto& call : calls) {
        const std::string words = words_of(elsewhere, call.run);
        EXPECT_NE(words.find("state_error"), std::string::npos) << call.name << ": " << words;
        EXPECT_NE(words.find("captured into a graph"), std::string::npos) << call.name << ": " << words;
      }
      fanin::reduce_into(out.pointer(), gpu, x.span(), int64_sum);
      cudaGraph_t graph = nullptr;
      ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess) << "a refused call invalidated the capture";
      std::size_t nodes = 0;
      check(cudaGraphGetNodes(graph, nullptr, &nodes));
      EXPECT_EQ(nodes, 1U) << "something but the one reduction was captured";
      replay one(graph);
      one.launch(stream);
      EXPECT_EQ(out.get(), fanin::reduce(fanin::serial{}, x.host(), int64_sum));
      EXPECT_EQ(fanin::reduce(gpu, x.span(), int64_sum), out.get());
    }
  }
}

/// While one stream captures, in whichever mode, this thread or another one does everything that there is with objects
/// on other streams: it works as ever, and the capture stays valid.
TEST_F(cuda_graphs, calls_on_other_streams_leave_a_capture_valid) {
  fanin::cuda gpu;
  test_stream borrowed;
  const auto host = make_data<std::int64_t>(data::random_signed, 100'000);
  placed<std::int64_t, fanin::cuda> x(gpu, host);
  const auto expected = fanin::reduce(fanin::serial{}, host, int64_sum);
  destination<std::int64_t, fanin::cuda> out(gpu);
  fanin::buffer<std::int64_t, fanin::cuda> copy(gpu, 10);
  std::vector<std::int64_t> few(10, 3);
  auto kept = std::make_unique<fanin::cuda>();
  const auto expect_sum = [&](auto& exec) { EXPECT_EQ(fanin::reduce(exec, x.span(), int64_sum), expected); };
  const named_call calls[] = {
      {"an object's whole life",
       [&] {
         fanin::cuda fresh;
         expect_sum(fresh);
         fanin::reduce(fresh, x.span(), fanin::min_max_loc<std::int64_t>{});
         expect_sum(fresh);
       }},
      {"on a borrowed stream",
       [&] {
         fanin::cuda fresh(borrowed.get());
         expect_sum(fresh);
       }},
      {"on a stream that captures itself",
       [&] {
         test_stream other;
         check(cudaStreamBeginCapture(other.get(), cudaStreamCaptureModeRelaxed));
         {
           fanin::cuda fresh(other.get());
           fanin::reduce_into(out.pointer(), fresh, x.span(), int64_sum);
         }
         cudaGraph_t graph = nullptr;
         EXPECT_EQ(cudaStreamEndCapture(other.get(), &graph), cudaSuccess);
         if (graph != nullptr) check(cudaGraphDestroy(graph));
       }},
      {"the default object", [&] { expect_sum(fanin::backend<fanin::cuda>::default_object()); }},
      {"destruction", [&] { kept = std::make_unique<fanin::cuda>(); }},
      {"reduce", [&] { expect_sum(gpu); }},
      {"reduce, finished by the host",
       [&] {
         const auto tree = gpu.with<fanin::cuda_strategy::shared_tree>();
         expect_sum(tree);
       }},
      {"reduce, many launches",
       [&] {
         const auto halving = gpu.with<fanin::cuda_strategy::global_halving>();
         expect_sum(halving);
       }},
      {"a reduction that takes a while",
       [&] { EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, 1), takes_a_while{}, int64_sum), 1); }},
      {"parallel_reduce",
       [&] { EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, 1'000), index_itself{}, int64_sum), 499'500); }},
      {"parallel_for, reduce_into",
       [&] {
         fanin::parallel_for(fanin::range(gpu, 1), takes_a_while{});
         fanin::reduce_into(out.pointer(), gpu, x.span(), int64_sum);
       }},
      {"synchronize", [&] { gpu.synchronize(); }},
      {"a buffer's life", [&] { const fanin::buffer<std::int64_t, fanin::cuda> y(gpu, few); }},
      {"copies",
       [&] {
         copy.copy_from(few);
         copy.copy_to(few);
         fanin::copy_from_host(gpu, few, copy.span());
         fanin::copy_to_host(gpu, std::as_const(copy).span(), std::span(few));
       }},
      {"questions",
       [&] {
         EXPECT_EQ(gpu.last_launch().launches, 1);
         EXPECT_GT(gpu.workspace_bytes(), 0U);
         EXPECT_GT(gpu.workspace_allocations(), 0);
       }},
      {"refused arguments", [&] { EXPECT_THROW(fanin::reduce(gpu, host, int64_sum), fanin::invalid_argument); }},
  };
  for (const unsigned flags : {cudaStreamNonBlocking, cudaStreamDefault}) {
    const test_stream capturing(flags);
    for (const auto mode : capture_modes) {
      for (const bool elsewhere : {false, true}) {
        for (const auto& call : calls) {
          const auto where = std::string(call.name) + ", mode " + std::to_string(mode) +
                             (elsewhere ? ", in another thread" : "") +
                             (flags == cudaStreamDefault ? ", blocking" : "");
          check(cudaStreamBeginCapture(capturing.get(), mode));
          EXPECT_EQ(words_of(elsewhere, call.run), "") << where;
          cudaGraph_t graph = nullptr;
          EXPECT_EQ(cudaStreamEndCapture(capturing.get(), &graph), cudaSuccess) << where << " invalidated the capture";
          if (graph != nullptr) check(cudaGraphDestroy(graph));
          cudaGetLastError();
        }
      }
    }
  }
  gpu.synchronize();
  EXPECT_EQ(out.get(), expected);
}

/// CUDA forbids work on the legacy default stream while a stream that waits for it captures: refused in words, and the
/// capture stays valid.
TEST_F(cuda_graphs, the_legacy_stream_is_refused_beside_a_blocking_stream_in_capture) {
  fanin::cuda legacy(cudaStream_t{nullptr});
  placed<std::int64_t, fanin::cuda> x(legacy, make_data<std::int64_t>(data::random_signed, 10'000));
  destination<std::int64_t, fanin::cuda> out(legacy);
  const auto expected = fanin::reduce(legacy, x.span(), int64_sum);
  const named_call calls[] = {
      {"reduce", [&] { fanin::reduce(legacy, x.span(), int64_sum); }},
      {"reduce_into", [&] { fanin::reduce_into(out.pointer(), legacy, x.span(), int64_sum); }},
      {"parallel_for", [&] { fanin::parallel_for(fanin::range(legacy, 1), takes_a_while{}); }},
      {"synchronize", [&] { legacy.synchronize(); }},
  };
  const test_stream capturing(cudaStreamDefault);
  for (const auto mode : capture_modes) {
    for (const bool elsewhere : {false, true}) {
      for (const auto& call : calls) {
        check(cudaStreamBeginCapture(capturing.get(), mode));
        const std::string words = words_of(elsewhere, call.run);
        EXPECT_NE(words.find("state_error"), std::string::npos) << call.name << ": " << words;
        EXPECT_NE(words.find("legacy default stream"), std::string::npos) << call.name << ": " << words;
        cudaGraph_t graph = nullptr;
        EXPECT_EQ(cudaStreamEndCapture(capturing.get(), &graph), cudaSuccess) << call.name << ", mode " << mode;
        if (graph != nullptr) check(cudaGraphDestroy(graph));
        cudaGetLastError();
      }
      check(cudaStreamBeginCapture(capturing.get(), mode));
      { const fanin::cuda goes_away(cudaStream_t{nullptr}); }
      cudaGraph_t graph = nullptr;
      EXPECT_EQ(cudaStreamEndCapture(capturing.get(), &graph), cudaSuccess) << "mode " << mode;
      if (graph != nullptr) check(cudaGraphDestroy(graph));
    }
  }
  EXPECT_EQ(fanin::reduce(legacy, x.span(), int64_sum), expected);
}

/// A capture that begins while a call on the legacy stream waits: that call must not ask the stream then.
TEST_F(cuda_graphs, a_call_that_waits_on_the_legacy_stream_leaves_a_later_capture_valid) {
  fanin::cuda legacy(cudaStream_t{nullptr});
  const test_stream capturing(cudaStreamDefault);
  for (const auto mode : capture_modes) {
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(legacy, 1), takes_a_while{}, int64_sum), 1);
    std::atomic<bool> has_begun = false;
    std::int64_t got = 0;
    std::string words;
    std::thread waits([&] {
      has_begun = true;
      words =
          words_of(false, [&] { got = fanin::parallel_reduce(fanin::range(legacy, 0, 20), takes_long{}, int64_sum); });
    });
    while (!has_begun) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    check(cudaStreamBeginCapture(capturing.get(), mode));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(capturing.get(), &graph), cudaSuccess) << "mode " << mode;
    waits.join();
    EXPECT_EQ(words, "");
    EXPECT_EQ(got, 20);
    if (graph != nullptr) check(cudaGraphDestroy(graph));
    cudaGetLastError();
  }
}

}  // namespace
}  // namespace fanin_test
