// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/buffer.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/pending.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/runs.hpp>
#include <fanin/serial/serial.hpp>
#include <fanin/view.hpp>

#include "cuda/fault_device.hpp"
#include "support/data.hpp"
#include "support/failing_runtime.hpp"
#include "support/functors.hpp"
#include "support/user_reducers.hpp"

/// Each call of the CUDA runtime that Fanin makes in a list of steps, and each allocation, fails once: what comes is a
/// fanin::error that names the call and the place, or std::bad_alloc; nothing is lost; the same step, done again, and
/// all others are right. And from each on, all calls fail, as after a fault. The same program runs on the simulated
/// device and on a GPU.
namespace fanin_test {
namespace {

namespace cuda_strategy = fanin::cuda_strategy;
using cuda_strategy::one_pass;
using fanin::cuda_stage::grid;
using integer = std::int64_t;
constexpr integer most = 500;

const std::vector<integer>& integers() {
  static const auto all = make_data<integer>(data::random_signed, most);
  return all;
}
integer sum_of(integer first, integer last) {
  integer sum = 0;
  for (integer k = first; k < last; ++k)
    sum = static_cast<integer>(static_cast<std::uint64_t>(sum) +
                               static_cast<std::uint64_t>(integers()[static_cast<std::size_t>(k)]));
  return sum;
}
/// Of which a window of a thread has no room: what leaves it goes through the spill.
const std::vector<double>& wide_numbers() {
  static const std::vector<double> all{1e300, 1.0, -1e300, 1e-300, 3.0, 1e250, -1e250, 1e-300};
  return all;
}

/// An application's, which may throw. Not one of Fanin's calls.
struct resource {
  static void* allocate(std::size_t bytes, cudaStream_t) {
    const std::vector<char> lists(16);
    const not_counted by_fanin;
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
    return memory;
  }
  static void deallocate(void* memory, std::size_t, cudaStream_t) {
    const not_counted by_fanin;
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
  }
};

/// The application's, as the calls on it.
struct a_stream {
  cudaStream_t it = nullptr;
  a_stream() {
    const not_counted by_fanin;
    cudaStreamCreateWithFlags(&it, cudaStreamNonBlocking);
  }
  ~a_stream() {
    const not_counted by_fanin;
    cudaStreamDestroy(it);
  }
  a_stream(const a_stream&) = delete;
  a_stream& operator=(const a_stream&) = delete;
};

/// What the steps work on. A step makes what it lacks, so that it can be done again.
struct world {
  const a_stream stream;
  std::optional<fanin::cuda> object;
  std::optional<fanin::buffer<integer, fanin::cuda>> xs;
  std::optional<fanin::buffer<double, fanin::cuda>> doubles;
  std::optional<fanin::buffer<integer, fanin::cuda>> out;

  const fanin::cuda& gpu() {
    if (!object) object.emplace();
    return *object;
  }
  const integer* elements() {
    if (!xs) xs.emplace(gpu(), integers());
    return xs->data();
  }
  integer* result() {
    if (!out) out.emplace(gpu(), 1);
    return out->data();
  }
  integer delivered() {
    integer value = 0;
    out->copy_to({&value, 1});
    return value;
  }
};

/// What went wrong, or nothing; it throws where Fanin does.
using step = std::string (*)(world&);

std::string compared(const char* what, integer got, integer expected) {
  if (got == expected) return "";
  return std::string(what) + ": got " + std::to_string(got) + ", expected " + std::to_string(expected);
}

template <class Strategy>
integer reduce_by(world& w, fanin::cuda_tuning tuning, integer last) {
  const integer* const x = w.elements();
  return fanin::parallel_reduce(fanin::range(w.gpu().with<Strategy>(tuning), last), at<integer>{x},
                                fanin::sum<integer>{});
}
template <class Strategy>
std::string blocking(world& w, fanin::cuda_tuning tuning, integer last = most) {
  return compared(Strategy::name, reduce_by<Strategy>(w, tuning, last), sum_of(0, last));
}
template <class Strategy>
std::string into(world& w, fanin::cuda_tuning tuning, integer last = most) {
  const integer* const x = w.elements();
  integer* const out = w.result();
  fanin::parallel_reduce_into(out, fanin::range(w.gpu().with<Strategy>(tuning), last), at<integer>{x},
                              fanin::sum<integer>{});
  w.gpu().synchronize();
  return compared(Strategy::name, w.delivered(), sum_of(0, last));
}

template <class View>
std::string of_two(const View& view) {
  const auto both =
      fanin::parallel_reduce(fanin::range(view, 1'000), index_itself{}, fanin::sum<integer>{}, fanin::max<integer>{});
  return compared("the first of two", fanin::get<0>(both), 499'500) + compared("the second", fanin::get<1>(both), 999);
}

struct square {
  FANIN_FUNCTION std::uint32_t operator()(integer i) const { return static_cast<std::uint32_t>(i * i); }
};

/// 600 bytes a block, which the host joins.
std::string on_the_host(world& w, int blocks) {
  const auto view = w.gpu().with<cuda_strategy::shared_tree>({.block_size = 32, .grid_size = blocks});
  const auto got = fanin::parallel_reduce(fanin::range(view, most), square{}, wide_counts{});
  const auto expected = fanin::parallel_reduce(fanin::range(fanin::serial{}, most), square{}, wide_counts{});
  return got == expected ? "" : "counters: another result";
}

/// A capture that is ended, whatever happens in it, and the graph. Fanin makes none of these calls.
class captured {
 public:
  explicit captured(cudaStream_t of) : stream_{of} {
    const not_counted by_fanin;
    cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal);
  }
  ~captured() {
    const not_counted by_fanin;
    end();
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  captured(const captured&) = delete;
  captured& operator=(const captured&) = delete;
  void launch() {
    const not_counted by_fanin;
    end();
    cudaGraphLaunch(executable_, stream_);
  }

 private:
  void end() {
    if (graph_ != nullptr) return;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph_), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&executable_, graph_, 0), cudaSuccess);
  }
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

std::string in_a_graph(world& w, int blocks) {
  const integer* const x = w.elements();
  integer* const out = w.result();
  const auto view = w.gpu().with<one_pass>({.block_size = 32, .grid_size = blocks});
  captured graph(w.gpu().stream());
  fanin::parallel_reduce_into(out, fanin::range(view, most), at<integer>{x}, fanin::sum<integer>{});
  for (int k = 0; k < 2; ++k) {
    graph.launch();
    w.gpu().synchronize();
    if (const std::string wrong = compared("a graph", w.delivered(), sum_of(0, most)); !wrong.empty()) return wrong;
  }
  return "";
}

/// A stream that captures nothing, for a while.
class capturing {
 public:
  explicit capturing(cudaStream_t of) : stream_{of} {
    const not_counted by_fanin;
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  }
  ~capturing() {
    const not_counted by_fanin;
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    cudaGraphDestroy(graph);
  }
  capturing(const capturing&) = delete;
  capturing& operator=(const capturing&) = delete;

 private:
  cudaStream_t stream_;
};

/// Of an object with memory of the application's, whose stream captures: a buffer is made and freed, then the object
/// goes, and the buffer that is left.
std::string beside_a_capture(world& w) {
  const a_stream own;
  integer* const out = w.result();
  std::optional<fanin::cuda> gpu;
  gpu.emplace(own.it, resource{});
  const fanin::buffer<integer, fanin::cuda> x(*gpu, integers());
  std::vector<fanin::buffer<integer, fanin::cuda>> left;
  fanin::parallel_reduce_into(out, fanin::range(gpu->with<one_pass>({.block_size = 32, .grid_size = 3}), most),
                              at<integer>{x.data()}, fanin::sum<integer>{});
  {
    const capturing here(own.it);
    static_cast<void>(fanin::buffer<integer, fanin::cuda>(*gpu, 10));
    left.emplace_back(*gpu, 20);
    gpu.reset();
  }
  std::vector<integer> back(integers().size());
  x.copy_to(back);
  return compared("behind a destructor", w.delivered(), sum_of(0, most)) + (back == integers() ? "" : "another copy");
}

/// Three launches: of a long run and some short ones. Where the second or third cannot launch, what the first left is
/// nothing to the next call.
std::string of_runs(world& w) {
  constexpr integer length = 4'100;
  constexpr integer count = 40;
  std::vector<integer> host(length, 7);
  for (integer k = 1; k < count; ++k) host.push_back(7 + k);
  const fanin::buffer<integer, fanin::cuda> keys(w.gpu(), host);
  fanin::buffer<integer, fanin::cuda> to_keys(w.gpu(), count);
  fanin::buffer<integer, fanin::cuda> sums(w.gpu(), count);
  const integer runs =
      fanin::reduce(fanin::runs_to(to_keys, sums), w.gpu(), fanin::runs(keys, keys), fanin::sum<integer>{});
  std::vector<integer> got(count);
  sums.copy_to(got);
  return compared("runs", runs, count) + compared("the long run", got.front(), 7 * length) +
         compared("the last run", got.back(), 7 + count - 1);
}

std::string exact(world& w) {
  if (!w.doubles) w.doubles.emplace(w.gpu(), wide_numbers());
  const auto view = w.gpu().with<cuda_strategy::one_pass>({.block_size = 32, .grid_size = 3});
  const double got = fanin::reduce(view, *w.doubles, fanin::exact_sum<double>{});
  return got == 4.0 ? "" : "an exact sum: got " + std::to_string(got);
}

/// A result of which a page has room for one.
struct spread_sum {
  using value_type = integer;
  using accumulator_type = integer;
  using result_type = std::array<integer, 150>;
  FANIN_FUNCTION integer identity() const { return 0; }
  FANIN_FUNCTION void join(integer& into, const integer& from) const { into += from; }
  FANIN_FUNCTION result_type result(const integer& acc) const {
    result_type all{};
    for (integer& one : all) one = acc;
    return all;
  }
};

auto sum_later(const fanin::cuda& gpu, integer n) {
  return fanin::parallel_reduce_async(fanin::range(gpu.with({.block_size = 32, .grid_size = 2}), n), index_itself{},
                                      spread_sum{});
}
std::string compared_last(const char* what, fanin::pending<spread_sum::result_type>& of, integer n) {
  return compared(what, of.get().back(), n * (n - 1) / 2);
}

/// More than there is room for at first, one of them dropped, one looked at, got in another order.
std::string got_later(world& w) {
  auto first = sum_later(w.gpu(), 100);
  static_cast<void>(sum_later(w.gpu(), 200));
  auto second = sum_later(w.gpu(), 300);
  auto third = sum_later(w.gpu(), 400);
  while (!third.ready()) continue;
  return compared_last("the third", third, 400) + compared_last("the first", first, 100) +
         compared_last("the second", second, 300);
}

/// Of an object that is gone, with or without a capture, in which it cannot wait for its stream.
std::string got_after_the_object(world& w) {
  std::string wrong;
  for (const bool captures : {false, true}) {
    const a_stream own;
    std::optional<fanin::cuda> gpu(own.it);
    auto one = sum_later(*gpu, 100);
    std::optional<capturing> here;
    if (captures) here.emplace(own.it);
    gpu.reset();
    wrong += compared_last(captures ? "after an object that captured" : "after its object", one, 100);
  }
  auto another = sum_later(w.gpu(), 90);
  return wrong + compared_last("another object's", another, 90);
}

/// Rows by a launch and runs by two, each with one more that tells their end.
std::string many_got_later(world& w) {
  const std::span<const integer> x(w.elements(), most);
  fanin::buffer<integer, fanin::cuda> out(w.gpu(), 4);
  const fanin::view<const integer, 2> matrix(x.data(), {2, most / 2});
  auto of_rows = fanin::reduce_async(out.data(), w.gpu(), fanin::rows(matrix), fanin::sum<integer>{});
  auto runs = fanin::reduce_async(fanin::runs_to(std::span(out.data() + 2, 1), out.data() + 3), w.gpu(),
                                  fanin::runs(x, x), fanin::sum<integer>{});
  const std::string wrong = compared("runs that are got later", runs.get(), most);
  of_rows.get();
  std::vector<integer> got(4);
  out.copy_to(got);
  return wrong + compared("the first row", got[0], sum_of(0, most / 2)) +
         compared("the second row", got[1], sum_of(most / 2, most)) + compared("the first run", got[3], sum_of(0, 1));
}

constexpr step steps[] = {
    [](world& w) { return blocking<one_pass>(w, {}, 100); },
    [](world& w) { return of_two(w.gpu().with<one_pass>({.block_size = 32, .grid_size = 5})); },
    // Tagged workspace grows: of one unit 160 have room, of two 64.
    [](world& w) { return into<one_pass>(w, {.block_size = 32, .grid_size = 6}); },
    [](world& w) { return blocking<one_pass>(w, {.block_size = 32, .grid_size = 5}); },
    [](world& w) { return on_the_host(w, 2); },
    [](world& w) { return on_the_host(w, 10); },  // pinned memory grows
    [](world& w) {
      return into<cuda_strategy::finished_by<cuda_strategy::shuffle, grid::second_pass>>(
          w, {.block_size = 32, .grid_size = 4});
    },
    [](world& w) { return blocking<cuda_strategy::global_halving>(w, {.block_size = 32}, 300); },
    [](world& w) { return into<cuda_strategy::global_halving>(w, {.block_size = 64}); },  // plain workspace grows
    &exact,
    &of_runs,
    &got_later,
    &many_got_later,
    [](world& w) { return in_a_graph(w, 3); },
    [](world& w) { return in_a_graph(w, 4); },
    &got_after_the_object,
    [](world& w) { return of_two(w.gpu()); },
    &beside_a_capture,
    [](world& w) {
      w.doubles.reset();  // of the object, in whose place comes another one
      w.xs.reset();
      w.out.reset();
      w.object.reset();
      w.object.emplace(w.stream.it, resource{});
      return exact(w) + into<one_pass>(w, {.block_size = 32, .grid_size = 4}) + in_a_graph(w, 3);
    },
    [](world& w) {
      w.out.reset();  // and made anew, beside the object's work
      return into<one_pass>(w, {}, 300);
    },
};

/// Does it, and says what is wrong: with the answer, or with what was thrown.
std::string attempt(step one, world& w, const failing_runtime& layer, bool& threw) {
  threw = false;
  const std::string failed = layer.failed();
  try {
    return one(w);
  } catch (const fanin::cuda_error& failure) {
    threw = true;
    const std::string text = failure.what();
    // Of a function of the driver the runtime's is named that is asked instead.
    if (layer.fails_once() && layer.failed().starts_with("cuda") && text.find(layer.failed()) == std::string::npos) {
      return "does not name " + layer.failed() + ": " + text;
    }
    if (text.find(".cpp:") == std::string::npos) return "names no place: " + text;
  } catch (const fanin::error& failure) {
    threw = true;
    return std::string("is no cuda_error: ") + failure.what();
  } catch (const std::bad_alloc&) {
    threw = true;
    if (layer.failed() != "operator new") return "bad_alloc, of " + layer.failed();
  }
  if (!layer.has_failed() || (layer.fails_once() && !failed.empty())) return "thrown where nothing failed";
  return "";
}

/// All steps in a world of their own. A step that throws is done again, once. What is wrong, or nothing.
std::string do_all(const failing_runtime& layer) {
  std::string wrong;
  {
    world w;
    int number = 0;
    for (const step one : steps) {
      ++number;
      bool threw = false;
      std::string of_step = attempt(one, w, layer, threw);
      if (threw && of_step.empty() && layer.fails_once()) of_step = attempt(one, w, layer, threw);
      if (cudaGetLastError() != cudaSuccess) of_step += " an error is left in cudaGetLastError()";
      if (!of_step.empty()) wrong += "\n  step " + std::to_string(number) + ": " + of_step;
    }
  }
  if (cudaGetLastError() != cudaSuccess) wrong += "\n  an error is left in cudaGetLastError() by a destructor";
  return wrong;
}

/// Runs the steps for every k, until no call is the k-th.
void fail_each(bool and_all_later) {
  // Fanin keeps memory of graphs that are gone for the next one, and a stream of its own.
  renew_fault_device();
  for (int k = 0; k < 2; ++k) ASSERT_EQ(do_all(failing_runtime(0)), "");
  const std::int64_t held = held_of_runtime() + graphs_that_end_late;
  int red = 0;
  std::int64_t k = 0;
  for (bool has_failed = true; has_failed && red < 5;) {
    k += and_all_later ? 3 : 1;
    std::string wrong;
    std::string what;
    renew_fault_device();
    {
      const failing_runtime layer(k, and_all_later ? failing_runtime::all : 1);
      wrong = do_all(layer);
      has_failed = layer.has_failed();
      what = layer.failed();
    }
    // Once all calls fail there is no way to give anything back.
    if (!and_all_later && held_of_runtime() > held) wrong += "\n  lost: " + std::to_string(held_of_runtime() - held);
    if (wrong.empty()) continue;
    ++red;
    ADD_FAILURE() << "where call " << k << " fails, of " << what << ":" << wrong;
  }
  EXPECT_GT(k, 300) << "calls and allocations of the steps";
  renew_fault_device();
  EXPECT_EQ(do_all(failing_runtime(0)), "");
  std::cout << k - 1 << " calls and allocations, or a few less\n";
}

class injected_faults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_fault_device(); !why.empty()) GTEST_SKIP() << why;
  }
};

/// That it throws, and that the text has these words.
template <class Call>
void expect_words(const Call& call, const char* words) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected: " << words;
  } catch (const fanin::error& failure) {
    EXPECT_NE(std::string(failure.what()).find(words), std::string::npos) << failure.what();
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << words;
}

/// The first: what the driver has is asked for once.
TEST_F(injected_faults, a_bad_machine_is_told_in_words) {
  {
    const old_driver layer("cuCtxGetId");
    expect_words([] { fanin::cuda(); }, "this driver has no cuCtxGetId, which came with CUDA 12.0");
  }
  {
    const failing_call layer("cuCtxGetId", cudaErrorInvalidValue);
    expect_words([] { fanin::cuda(); }, "CUDA names no current context");
  }
  {
    const failing_call layer("cudaGetDevice", cudaErrorNoDevice);
    expect_words([] { fanin::cuda(); }, "here is no GPU with a driver for this CUDA runtime");
  }
  {
    const failing_call layer("cudaGetDevice", cudaErrorInsufficientDriver);
    expect_words([] { fanin::cuda(); }, "cudaErrorInsufficientDriver");
  }
  {
    const failing_call layer("cudaGetDevice", cudaErrorNoKernelImageForDevice);
    expect_words([] { fanin::cuda(); }, "give its compute capability to CMAKE_CUDA_ARCHITECTURES");
  }
  const fanin::cuda gpu;
  const auto sum = [&]<class Strategy>(Strategy) {
    return fanin::parallel_reduce(fanin::range(gpu.with<Strategy>(), 100), index_itself{}, fanin::sum<integer>{});
  };
  {
    const failing_call layer("cudaMalloc", cudaErrorMemoryAllocation);
    expect_words([&] { fanin::buffer<integer, fanin::cuda>(gpu, 100); }, "cudaErrorMemoryAllocation");
    expect_words([&] { sum(cuda_strategy::global_halving{}); }, "from cudaMalloc(&memory, bytes) at workspace.cpp:");
  }
  {
    const failing_call layer("cudaHostAlloc", cudaErrorMemoryAllocation);
    const fanin::cuda other;
    expect_words([&] { fanin::parallel_reduce(fanin::range(other, 100), index_itself{}, fanin::sum<integer>{}); },
                 "cudaHostAlloc");
  }
  {
    const pretended_capability layer(8);
    expect_words(
        [&] { sum(cuda_strategy::cluster{}); },
        "strategy cluster cannot launch: it needs a device and code of compute capability 9.0, and one of them "
        "is 8.0");
    EXPECT_EQ(sum(one_pass{}), 4'950);
  }
  EXPECT_EQ(sum(cuda_strategy::global_halving{}), 4'950);
}

/// A resource that hands memory to the next user, in the order of the stream that it was given back on.
struct pool {
  static void* allocate(std::size_t bytes, cudaStream_t stream) { return resource::allocate(bytes, stream); }
  static void deallocate(void* memory, std::size_t bytes, cudaStream_t stream) {
    const not_counted by_fanin;
    EXPECT_EQ(cudaMemsetAsync(memory, 0, bytes, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }
};

/// Where all memory is a pool's, so that cudaMalloc gives none: what goes back to it is no longer used.
TEST_F(injected_faults, a_destructor_waits_without_memory) {
  using second_pass = cuda_strategy::finished_by<cuda_strategy::shuffle, grid::second_pass>;
  for (unsigned seed = 1; seed <= 50; ++seed) {
    renew_fault_device(seed);
    world w;
    integer* const out = w.result();
    for (const bool of_buffer : {false, true}) {
      const a_stream own;
      std::optional<fanin::cuda> gpu;
      gpu.emplace(own.it, pool{});
      std::optional<fanin::buffer<integer, fanin::cuda>> x;
      x.emplace(*gpu, integers());
      const fanin::cuda_tuning tuning{.block_size = 32, .grid_size = 8};
      fanin::parallel_reduce_into(out, fanin::range(gpu->with<second_pass>(tuning), most), at<integer>{x->data()},
                                  fanin::sum<integer>{});
      {
        const capturing here(own.it);
        const failing_call no_memory("cudaMalloc", cudaErrorMemoryAllocation);
        of_buffer ? x.reset() : gpu.reset();
      }
      gpu.reset();
      EXPECT_EQ(w.delivered(), sum_of(0, most)) << (of_buffer ? "a buffer's, seed " : "an object's, seed ") << seed;
    }
  }
}

/// Where calls that it makes fail, one or two after each other: the stream is at rest when the object is gone.
TEST_F(injected_faults, a_destructor_waits_where_calls_fail) {
  for (const bool captures : {false, true}) {
    for (const std::int64_t so_many : {1, 2}) {
      bool has_failed = true;
      for (std::int64_t k = 1; has_failed; ++k) {
        renew_fault_device(static_cast<unsigned>(k));
        const a_stream own;
        world w;
        const integer* const x = w.elements();
        integer* const out = w.result();
        std::optional<fanin::cuda> gpu(own.it);
        for (int call = 0; call < 8; ++call) {
          fanin::parallel_reduce_into(out, fanin::range(gpu->with({.block_size = 32, .grid_size = 8}), most),
                                      at<integer>{x}, fanin::sum<integer>{});
        }
        std::string failed;
        {
          std::optional<capturing> here;
          if (captures) here.emplace(own.it);
          const failing_runtime layer(k, so_many);
          gpu.reset();
          has_failed = layer.has_failed();
          failed = layer.failed();
        }
        EXPECT_EQ(cudaStreamQuery(own.it), cudaSuccess) << so_many << " from call " << k << " on, " << failed;
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
      }
    }
  }
}

/// A resource that takes its time.
struct slow_pool {
  std::atomic<bool>& is_taking;
  std::atomic<bool>& has_taken;
  static void* allocate(std::size_t bytes, cudaStream_t stream) { return resource::allocate(bytes, stream); }
  void deallocate(void* memory, std::size_t bytes, cudaStream_t stream) const {
    is_taking = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    resource::deallocate(memory, bytes, stream);
    has_taken = true;
  }
};

/// The stream is the application's to destroy as soon as the object is gone: also where another thread frees a buffer.
TEST_F(injected_faults, a_destructor_waits_for_buffers_of_other_threads) {
  std::atomic<bool> is_taking{false};
  std::atomic<bool> has_taken{false};
  const a_stream own;
  std::optional<fanin::cuda> gpu;
  gpu.emplace(own.it, slow_pool{is_taking, has_taken});
  std::optional<fanin::buffer<integer, fanin::cuda>> x;
  x.emplace(*gpu, integers());
  std::thread other([&] { x.reset(); });
  while (!is_taking) std::this_thread::yield();
  gpu.reset();
  EXPECT_TRUE(has_taken);
  other.join();
}

TEST_F(injected_faults, any_call_fails_once) { fail_each(false); }
TEST_F(injected_faults, from_any_call_on_all_fail) { fail_each(true); }

}  // namespace
}  // namespace fanin_test
