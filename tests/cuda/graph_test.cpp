// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/gpu_test.hpp"
#include "support/user_reducers.hpp"

/// Reductions as nodes of CUDA graphs.
namespace fanin_test {
namespace {

using cuda_graphs = gpu_test;

const fanin::sum<std::int64_t> sum;

/// x[i] = a different number for every index and round.
struct renew {
  std::int64_t* x;
  const std::int64_t* round;
  FANIN_FUNCTION void operator()(std::int64_t i) const {
    x[i] = static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(i + *round)));
  }
};

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

/// A captured graph, ready to launch.
class replay {
 public:
  explicit replay(cudaGraph_t graph) : graph_{graph} { check(cudaGraphInstantiate(&executable_, graph, 0)); }
  ~replay() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  replay(const replay&) = delete;
  replay& operator=(const replay&) = delete;
  void launch(cudaStream_t stream) { check(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraph_t graph_;
  cudaGraphExec_t executable_ = nullptr;
};

/// Two reductions of the same launch that run side by side: forked from one stream to two, and joined.
cudaGraph_t capture_two(cudaStream_t stream, fanin::cuda& a, fanin::cuda& b, const std::span<const std::int64_t>& x,
                        std::int64_t* total, fanin::value_index<std::int64_t>* least) {
  const test_event forked;
  const test_event first_done;
  const test_event second_done;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  check(cudaEventRecord(forked.get(), stream));
  check(cudaStreamWaitEvent(a.stream(), forked.get(), 0));
  check(cudaStreamWaitEvent(b.stream(), forked.get(), 0));
  fanin::reduce_into(total, a, x, sum);
  fanin::reduce_into(least, b, x, fanin::min_loc<std::int64_t>{});
  check(cudaEventRecord(first_done.get(), a.stream()));
  check(cudaEventRecord(second_done.get(), b.stream()));
  check(cudaStreamWaitEvent(stream, first_done.get(), 0));
  check(cudaStreamWaitEvent(stream, second_done.get(), 0));
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph));
  return graph;
}

/// What a replay with this round's numbers must give.
struct expected_of_round {
  std::int64_t total;
  fanin::value_index<std::int64_t> least;
};

expected_of_round expect_round(std::int64_t round, std::size_t n) {
  std::vector<std::int64_t> x(n);
  renew write{x.data(), &round};
  for (std::size_t i = 0; i < n; ++i) write(static_cast<std::int64_t>(i));
  return {fanin::reduce(fanin::serial{}, x, sum), fanin::reduce(fanin::serial{}, x, fanin::min_loc<std::int64_t>{})};
}

/// A thousand replays with other numbers each, every result checked; the objects that captured are gone by then.
TEST_F(cuda_graphs, two_parallel_nodes_replayed_a_thousand_times) {
  const std::size_t n = 60'001;
  fanin::cuda gpu;
  fanin::buffer<std::int64_t, fanin::cuda> x(gpu, n);
  destination<std::int64_t, fanin::cuda> total(gpu);
  destination<fanin::value_index<std::int64_t>, fanin::cuda> least(gpu);
  fanin::buffer<std::int64_t, fanin::cuda> round_there(gpu, 1);
  std::unique_ptr<replay> graph;
  {
    fanin::cuda a;
    fanin::cuda b;
    graph = std::make_unique<replay>(
        capture_two(gpu.stream(), a, b, std::as_const(x).span(), total.pointer(), least.pointer()));
    EXPECT_STREQ(a.last_launch().strategy, "one_pass");
    EXPECT_GT(a.last_launch().grid_size, 1) << "one block alone would use no workspace";
    EXPECT_GT(b.last_launch().grid_size, 1);
  }
  for (std::int64_t round = 0; round < 1'000; ++round) {
    round_there.copy_from(std::vector<std::int64_t>{round * 77'777});
    fanin::parallel_for(fanin::range(gpu, n), renew{x.data(), round_there.data()});
    graph->launch(gpu.stream());
    // A blocking call of the same object between replays has workspace of its own.
    if (round % 100 == 0) fanin::reduce(gpu, x, sum);
    const auto expected = expect_round(round * 77'777, n);
    ASSERT_EQ(total.get(), expected.total) << "round " << round;
    ASSERT_TRUE(is_same(least.get(), expected.least)) << "round " << round;
  }
}

/// Replays queued without a wait between, of two graphs on two streams at once.
TEST_F(cuda_graphs, two_graphs_at_once) {
  const std::size_t n = 500'001;
  fanin::cuda first;
  fanin::cuda second;
  placed<std::int64_t, fanin::cuda> x(first, make_data<std::int64_t>(data::random_signed, n));
  placed<std::int64_t, fanin::cuda> y(second, make_data<std::int64_t>(data::pairs, n));
  destination<std::int64_t, fanin::cuda> total_x(first);
  destination<std::int64_t, fanin::cuda> total_y(second);
  destination<fanin::value_index<std::int64_t>, fanin::cuda> least_x(first);
  destination<fanin::value_index<std::int64_t>, fanin::cuda> least_y(second);
  fanin::cuda a;
  fanin::cuda b;
  replay graph_x(capture_two(first.stream(), a, b, x.span(), total_x.pointer(), least_x.pointer()));
  replay graph_y(capture_two(second.stream(), a, b, y.span(), total_y.pointer(), least_y.pointer()));
  for (int round = 0; round < 200; ++round) {
    graph_x.launch(first.stream());
    graph_y.launch(second.stream());
  }
  EXPECT_EQ(total_x.get(), fanin::reduce(fanin::serial{}, x.host(), sum));
  EXPECT_EQ(total_y.get(), fanin::reduce(fanin::serial{}, y.host(), sum));
  EXPECT_TRUE(is_same(least_x.get(), fanin::reduce(fanin::serial{}, x.host(), fanin::min_loc<std::int64_t>{})));
  EXPECT_TRUE(is_same(least_y.get(), fanin::reduce(fanin::serial{}, y.host(), fanin::min_loc<std::int64_t>{})));
}

/// Functors, user reducers of every size, several reducers, parallel_for and nothing at all, one after the other.
TEST_F(cuda_graphs, every_kind_of_call) {
  const std::size_t n = 30'001;
  fanin::cuda gpu;
  const auto host = make_data<std::uint32_t>(data::random_signed, n);
  placed<std::uint32_t, fanin::cuda> x(gpu, host);
  destination<std::int64_t, fanin::cuda> indices(gpu);
  destination<std::uint64_t, fanin::cuda> wide(gpu);
  destination<histogram::summary, fanin::cuda> counts(gpu);
  destination<fanin::tuple<std::uint32_t, std::uint32_t>, fanin::cuda> both(gpu);
  destination<std::uint32_t, fanin::cuda> none(gpu);
  const auto stream = gpu.stream();
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  fanin::parallel_reduce_into(indices.pointer(), fanin::range(gpu, n), index_itself{}, sum);
  fanin::reduce_into(wide.pointer(), gpu, x.span(), wide_counts{});
  fanin::reduce_into(counts.pointer(), gpu, x.span(), histogram{});
  fanin::reduce_into(both.pointer(), gpu, x.span(), fanin::min<std::uint32_t>{}, fanin::max<std::uint32_t>{});
  fanin::reduce_into(none.pointer(), gpu, x.span().first(0), fanin::sum<std::uint32_t>{});
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph));
  replay all(graph);
  for (int round = 0; round < 20; ++round) all.launch(stream);
  EXPECT_EQ(indices.get(), static_cast<std::int64_t>(n * (n - 1) / 2));
  EXPECT_EQ(wide.get(), fanin::reduce(fanin::serial{}, host, wide_counts{}));
  EXPECT_EQ(counts.get(), fanin::reduce(fanin::serial{}, host, histogram{}));
  EXPECT_TRUE(is_same(both.get(),
                      fanin::reduce(fanin::serial{}, host, fanin::min<std::uint32_t>{}, fanin::max<std::uint32_t>{})));
  EXPECT_EQ(none.get(), 0U);
}

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
      {"reduce", [&] { fanin::reduce(gpu, x.span(), sum); }},
      {"reduce, finished by the host", [&] { fanin::reduce(tree, x.span(), sum); }},
      {"parallel_reduce", [&] { fanin::parallel_reduce(fanin::range(gpu, 10), index_itself{}, sum); }},
      {"of nothing", [&] { fanin::parallel_reduce(fanin::range(gpu, 0), index_itself{}, sum); }},
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
      fanin::reduce_into(out.pointer(), gpu, x.span(), sum);
      cudaGraph_t graph = nullptr;
      ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess) << "a refused call invalidated the capture";
      std::size_t nodes = 0;
      check(cudaGraphGetNodes(graph, nullptr, &nodes));
      EXPECT_EQ(nodes, 1U) << "something but the one reduction was captured";
      replay one(graph);
      one.launch(stream);
      EXPECT_EQ(out.get(), fanin::reduce(fanin::serial{}, x.host(), sum));
      EXPECT_EQ(fanin::reduce(gpu, x.span(), sum), out.get());
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
  const auto expected = fanin::reduce(fanin::serial{}, host, sum);
  destination<std::int64_t, fanin::cuda> out(gpu);
  fanin::buffer<std::int64_t, fanin::cuda> copy(gpu, 10);
  std::vector<std::int64_t> few(10, 3);
  auto kept = std::make_unique<fanin::cuda>();
  const auto expect_sum = [&](auto& exec) { EXPECT_EQ(fanin::reduce(exec, x.span(), sum), expected); };
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
           fanin::reduce_into(out.pointer(), fresh, x.span(), sum);
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
       [&] { EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, 1), takes_a_while{}, sum), 1); }},
      {"parallel_reduce",
       [&] { EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, 1'000), index_itself{}, sum), 499'500); }},
      {"parallel_for, reduce_into",
       [&] {
         fanin::parallel_for(fanin::range(gpu, 1), takes_a_while{});
         fanin::reduce_into(out.pointer(), gpu, x.span(), sum);
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
      {"refused arguments", [&] { EXPECT_THROW(fanin::reduce(gpu, host, sum), fanin::invalid_argument); }},
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
  const auto expected = fanin::reduce(legacy, x.span(), sum);
  const named_call calls[] = {
      {"reduce", [&] { fanin::reduce(legacy, x.span(), sum); }},
      {"reduce_into", [&] { fanin::reduce_into(out.pointer(), legacy, x.span(), sum); }},
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
  EXPECT_EQ(fanin::reduce(legacy, x.span(), sum), expected);
}

/// A capture that begins while a call on the legacy stream waits: that call must not ask the stream then.
TEST_F(cuda_graphs, a_call_that_waits_on_the_legacy_stream_leaves_a_later_capture_valid) {
  fanin::cuda legacy(cudaStream_t{nullptr});
  const test_stream capturing(cudaStreamDefault);
  for (const auto mode : capture_modes) {
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(legacy, 1), takes_a_while{}, sum), 1);
    std::atomic<bool> has_begun = false;
    std::int64_t got = 0;
    std::string words;
    std::thread waits([&] {
      has_begun = true;
      words = words_of(false, [&] { got = fanin::parallel_reduce(fanin::range(legacy, 0, 20), takes_long{}, sum); });
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

std::size_t free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  return free;
}

/// Waits up to two seconds, synchronizing, until `done`: a graph says some time after it was destroyed that it is gone.
template <class Done>
bool comes_true(fanin::cuda& gpu, const Done& done) {
  for (int k = 0; k < 200; ++k) {
    gpu.synchronize();
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// Counts what it gave and has not got back.
struct counting_resource {
  std::atomic<std::int64_t> out{0};
  std::atomic<int> allocations{0};
  std::atomic<bool> refuses{false};

  void* allocate(std::size_t bytes, std::size_t alignment, cudaStream_t stream) {
    EXPECT_EQ(alignment % 256, 0U);
    if (refuses) throw std::bad_alloc();
    void* memory = nullptr;
    EXPECT_EQ(cudaMallocAsync(&memory, bytes, stream), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(memory, 0xff, bytes, stream), cudaSuccess);  // nothing may count on zeros
    out += static_cast<std::int64_t>(bytes);
    ++allocations;
    return memory;
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t, cudaStream_t stream) {
    EXPECT_EQ(cudaMemsetAsync(memory, 0xfe, bytes, stream), cudaSuccess);  // nobody may still be reading
    EXPECT_EQ(cudaFreeAsync(memory, stream), cudaSuccess);
    out -= static_cast<std::int64_t>(bytes);
  }
};

/// An application's memory, in stream order: for workspace, for graphs, for buffers; all of it is given back.
TEST_F(cuda_graphs, take_memory_of_a_resource) {
  counting_resource memory;
  test_stream stream;
  const auto host = make_data<std::int64_t>(data::random_signed, 1'000'000);
  const auto expected = fanin::reduce(fanin::serial{}, host, sum);
  std::unique_ptr<replay> graph;
  fanin::cuda plain;
  destination<std::int64_t, fanin::cuda> out(plain);
  {
    fanin::cuda gpu(stream.get(), memory);
    EXPECT_EQ(memory.allocations, 0);
    const fanin::buffer<std::int64_t, fanin::cuda> x(gpu, host);
    EXPECT_EQ(memory.out, 8'000'000);
    const auto halving = gpu.with<fanin::cuda_strategy::global_halving>();
    for (const std::size_t n : {std::size_t{1'000}, std::size_t{300'000}, host.size()}) {
      const auto part = x.span().first(n);
      const auto of_part = fanin::reduce(fanin::serial{}, std::span(host).first(n), sum);
      for (int round = 0; round < 20; ++round) {
        fanin::reduce_into(out.pointer(), gpu, part, sum);
        gpu.synchronize();
        EXPECT_EQ(out.get(), of_part);
        EXPECT_EQ(fanin::reduce(halving, part, sum), of_part);
      }
    }
    EXPECT_EQ(memory.out, static_cast<std::int64_t>(8'000'000 + gpu.workspace_bytes())) << "what was outgrown was kept";
    const std::int64_t of_object = memory.out;
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
    fanin::reduce_into(out.pointer(), gpu, x, sum);
    { const fanin::buffer<std::int64_t, fanin::cuda> while_capturing(gpu, 1'000); }
    cudaGraph_t captured = nullptr;
    check(cudaStreamEndCapture(stream.get(), &captured));
    EXPECT_GT(memory.out, of_object) << "the graph's workspace is from elsewhere";
    graph = std::make_unique<replay>(captured);
    graph->launch(stream.get());
    check(cudaStreamSynchronize(stream.get()));
    EXPECT_EQ(out.get(), expected);

    memory.refuses = true;
    EXPECT_THROW((fanin::buffer<std::int64_t, fanin::cuda>(gpu, 10)), std::bad_alloc);
    fanin::cuda other(stream.get(), &memory);
    EXPECT_THROW(fanin::reduce(other, x, fanin::min_max_loc<std::int64_t>{}), std::bad_alloc);
    memory.refuses = false;
    fanin::reduce(other, x, fanin::min_max_loc<std::int64_t>{});
    EXPECT_EQ(fanin::reduce(gpu, x, sum), expected);
  }
  EXPECT_GT(memory.out, 0) << "the graph lost its workspace";
  graph.reset();
  EXPECT_TRUE(comes_true(plain, [&] { return memory.out == 0; })) << memory.out << " bytes were not given back";
}

/// Buffers may outlive their object, and share what it had.
TEST_F(cuda_graphs, buffers_share_a_resource) {
  const auto memory = std::make_shared<counting_resource>();
  const std::weak_ptr<counting_resource> seen = memory;
  test_stream stream;
  auto gpu = std::make_unique<fanin::cuda>(stream.get(), memory);
  auto x = std::make_unique<fanin::buffer<std::int64_t, fanin::cuda>>(*gpu, std::vector<std::int64_t>{1, 2, 4});
  EXPECT_EQ(fanin::reduce(*gpu, *x, sum), 7);
  gpu.reset();
  std::vector<std::int64_t> host(3);
  x->copy_to(host);
  EXPECT_EQ(host, (std::vector<std::int64_t>{1, 2, 4}));
  EXPECT_EQ(memory->out, 24);
  x.reset();
  EXPECT_EQ(memory->out, 0);
  EXPECT_EQ(seen.use_count(), 1);
}

/// The forms that resources of other libraries have.
struct stream_in_front {
  int calls = 0;
  void* allocate(cudaStream_t, std::size_t bytes, std::size_t alignment) {
    return ++calls, bytes == 64 && alignment == 256 ? this : nullptr;
  }
  void deallocate(cudaStream_t, void*, std::size_t, std::size_t) noexcept { ++calls; }
};
struct without_alignment {
  int calls = 0;
  void* allocate(std::size_t bytes, cudaStream_t) { return ++calls, bytes == 64 ? this : nullptr; }
  void deallocate(void*, std::size_t, cudaStream_t) { ++calls; }
};
struct named_async {
  mutable int calls = 0;
  void* allocate_async(std::size_t bytes, std::size_t alignment, cudaStream_t) const {
    return ++calls, bytes == 64 && alignment == 256 ? const_cast<named_async*>(this) : nullptr;
  }
  void deallocate_async(void*, std::size_t, std::size_t, cudaStream_t) const { ++calls; }
};

template <class Resource>
void expect_called(Resource& resource) {
  const auto erased = fanin::detail::make_resource(resource);
  void* const memory = erased->allocate(64, 256, nullptr);
  EXPECT_EQ(memory, &resource);
  erased->deallocate(memory, 64, 256, nullptr);
  EXPECT_EQ(resource.calls, 2);
}

TEST(cuda_resources, of_every_form) {
  stream_in_front first;
  without_alignment second;
  const named_async third;
  expect_called(first);
  expect_called(second);
  expect_called(third);
  const auto shared = std::make_shared<without_alignment>();
  {
    const auto erased = fanin::detail::make_resource(shared);
    EXPECT_EQ(shared.use_count(), 2) << "it is kept";
    EXPECT_EQ(erased->allocate(64, 256, nullptr), shared.get());
  }
  const auto of_pointer = fanin::detail::make_resource(&second);
  EXPECT_EQ(of_pointer->allocate(64, 256, nullptr), &second);
  static_assert(fanin::detail::shape_of_resource<std::vector<int>>() == fanin::detail::resource_shape::none);
}

/// Workspace of graphs that are gone is used again: capturing over and over does not grow without bound.
TEST_F(cuda_graphs, workspace_of_destroyed_graphs_is_used_again) {
  fanin::cuda gpu;
  placed<std::int64_t, fanin::cuda> x(gpu, make_data<std::int64_t>(data::random_signed, 1'000'000));
  destination<std::int64_t, fanin::cuda> out(gpu);
  const auto expected = fanin::reduce(gpu, x.span(), sum);
  for (int round = 0; round < 300; ++round) {
    check(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal));
    fanin::reduce_into(out.pointer(), gpu, x.span(), sum);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(gpu.stream(), &graph));
    replay one(graph);
    one.launch(gpu.stream());
    if (round % 50 == 0) ASSERT_EQ(out.get(), expected);
    gpu.synchronize();
  }
  EXPECT_LT(gpu.workspace_allocations(), 100);
}

/// Large workspace of graphs goes back when they are gone; so does what is left when memory is short.
TEST_F(cuda_graphs, workspace_of_destroyed_graphs_goes_back) {
  fanin::cuda gpu;
  destination<std::int64_t, fanin::cuda> out(gpu);
  const auto halving = gpu.with<fanin::cuda_strategy::global_halving>();
  fanin::parallel_reduce(fanin::range(halving, 100), index_itself{}, sum);
  gpu.synchronize();
  const std::size_t before = free_memory();
  const std::int64_t n = std::int64_t{1} << 27;  // 512 MiB of values
  check(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeThreadLocal));
  for (int k = 0; k < 2; ++k) {
    fanin::parallel_reduce_into(out.pointer(), fanin::range(halving, n), index_itself{}, sum);
  }
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(gpu.stream(), &graph));
  {
    replay two(graph);
    two.launch(gpu.stream());
    EXPECT_EQ(out.get(), n / 2 * (n - 1));
    // CUDA's own pools, which other tests used, may give something back meanwhile.
    EXPECT_LT(free_memory() + (std::size_t{1} << 30), before + (std::size_t{256} << 20));
  }
  EXPECT_TRUE(comes_true(gpu, [&] { return free_memory() + (std::size_t{64} << 20) > before; }))
      << "it kept " << (before - free_memory()) << " bytes";
}

}  // namespace
}  // namespace fanin_test
