// SPDX-License-Identifier: Apache-2.0
// What it costs that two ranks hand over to each other within a launch, without what lies between two GPUs: both are on
// this one, each with a stream and a graph of sums of its own elements, by the code and kernels of fanin::nccl. Beside
// them the same sums without the other rank's: of one alone, of both at the same time, which share the GPU as the ranks
// do but drift apart, and of the elements of both as one array, which the GPU loads at the same time as those of ranks
// that wait for each other. Neither MPI nor NCCL is needed (tests/mpi/nccl/nccl_by_threads.cpp).
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <fanin/buffer.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/device/timer.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/nccl/over.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>

#include "medians.hpp"
#include "slices.hpp"

namespace {

using fanin_perf_ranks::check;

constexpr int ranks = 2;
constexpr int series = 31;
/// Ten of those that begin early where two grids do not fit beside each other take as long.
constexpr std::chrono::milliseconds patience{1'000};

/// Both ranks of a communicator.
struct both_ranks {
  std::unique_ptr<fanin::nccl> of[ranks];

  both_ranks() {
    const fanin::nccl_id id = fanin::nccl::make_id();
    std::thread other([&] { of[1] = std::make_unique<fanin::nccl>(id, 1, ranks, options()); });
    of[0] = std::make_unique<fanin::nccl>(id, 0, ranks, options());
    other.join();
  }
  /// Whether no call has given the other rank up.
  bool works() const {
    try {
      for (const auto& one : of) one->check();
      return true;
    } catch (const fanin::error&) {
      return false;
    }
  }
  static fanin::nccl_options options() { return {.patience = patience}; }
};

/// Holds streams up while the host launches on them.
struct wait_until {
  std::uint64_t nanoseconds;
  __host__ __device__ void operator()(std::int64_t) const {
    const std::uint64_t begin = fanin::detail::nanoseconds_now();
    while (fanin::detail::nanoseconds_now() - begin < nanoseconds) continue;
  }
};

template <class T>
struct fill {
  T* all;
  fanin_perf_ranks::small_element value;
  __host__ __device__ void operator()(std::int64_t i) const { all[i] = static_cast<T>(value(i)); }
};

struct contender {
  std::string name;
  int streams;                           ///< one, or both
  enum { own, over_both, as_one } what;  ///< each rank's own elements; those of both, over them; as one array
  std::function<void(int rank, std::int64_t slice, void* out)> enqueue;
  std::vector<double> times{};  ///< us of a node, until both streams have ended
  std::string why_not{};
};

template <class T>
class measurement {
 public:
  measurement(std::int64_t elements, fanin::cuda_early_start early)
      : data_{{elements, 0}, {elements, 1}},
        both_{ranks * elements, 0},
        early_{early},
        nodes_{elements <= (1 << 22) ? 100 : 10},
        results_(nodes_ * ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      fanin::parallel_for(fanin::range(gpu_[rank], data_[rank].all_elements()),
                          fill<T>{data_[rank].data(0), {data_[rank].first(0, rank)}});
      gpu_[rank].synchronize();
      check(cudaEventCreate(&end_[rank]));
    }
    fanin::parallel_for(fanin::range(gpu_[0], both_.all_elements()), fill<T>{both_.data(0), {both_.first(0, 0)}});
    gpu_[0].synchronize();
    check(cudaEventCreate(&begin_));
    check(cudaMalloc(&out_, static_cast<std::size_t>(nodes_ * ranks) * sizeof(T)));
  }
  measurement(const measurement&) = delete;
  measurement& operator=(const measurement&) = delete;
  ~measurement() {
    cudaFree(out_);
    cudaEventDestroy(begin_);
    for (const cudaEvent_t one : end_) cudaEventDestroy(one);
  }

  std::vector<contender> measure() {
    const both_ranks sums;
    const both_ranks exact_sums;
    std::vector<contender> all;
    add(all, "sum", fanin::sum<T>{}, sums);
    add(all, "exact_sum", fanin::exact_sum<T>{}, exact_sums);
    std::vector<std::vector<cudaGraphExec_t>> graphs;
    for (const contender& one : all) graphs.push_back(make_graphs(one));
    for (int at = 0; at < series + 1; ++at) {
      for (std::size_t k = 0; k < all.size(); ++k) {
        contender& one = all[k];
        if (!one.why_not.empty()) continue;
        const double time = run(one, graphs[k]);
        const both_ranks& of_call = k < all.size() / 2 ? sums : exact_sums;
        if (one.what == contender::over_both && !of_call.works()) {
          one.why_not = "gave the other rank up: the grids had no room beside each other";
        } else if (at == 0) {
          look(one);
        } else {
          one.times.push_back(time);
        }
      }
    }
    check(cudaDeviceSynchronize());
    for (const auto& of_one : graphs) {
      for (const cudaGraphExec_t graph : of_one) check(cudaGraphExecDestroy(graph));
    }
    return all;
  }

 private:
  template <class Reducer>
  void add(std::vector<contender>& all, const std::string& name, const Reducer& reducer, const both_ranks& comms) {
    const auto own = [this, reducer](int rank, std::int64_t slice, void* out) {
      fanin::reduce_into(static_cast<T*>(out), object(rank), span(rank, slice), reducer);
    };
    // Allocates what the calls need, while nothing waits for the other rank.
    for (int rank = 0; rank < ranks; ++rank) {
      const fanin::nccl alone(fanin::nccl::make_id(), 0, 1, {.patience = patience, .exchanges_alone = true});
      own(rank, 0, out_);
      fanin::reduce_into(out_, object(rank), fanin::over(alone, span(rank, 0)), reducer);
      gpu_[rank].synchronize();
    }
    all.push_back({name + ", one rank alone", 1, contender::own, own});
    all.push_back({name + ", both, each its own", ranks, contender::own, own});
    all.push_back(
        {name + ", of both as one array", 1, contender::as_one, [this, reducer](int, std::int64_t slice, void* out) {
           fanin::reduce_into(static_cast<T*>(out), object(0), span_of(both_, slice), reducer);
         }});
    all.push_back({name + ", over both", ranks, contender::over_both,
                   [this, reducer, &comms](int rank, std::int64_t slice, void* out) {
                     fanin::reduce_into(static_cast<T*>(out), object(rank),
                                        fanin::over(*comms.of[rank], span(rank, slice)), reducer);
                   }});
  }
  auto object(int rank) const { return gpu_[rank].template with<>({.early_start = early_}); }
  static std::span<const T> span_of(const fanin_perf_ranks::slices<T>& data, std::int64_t slice) {
    return {data.data(slice), static_cast<std::size_t>(data.elements())};
  }
  std::span<const T> span(int rank, std::int64_t slice) const { return span_of(data_[rank], slice); }
  T* place(int rank, int node) const { return out_ + rank * nodes_ + node; }

  std::vector<cudaGraphExec_t> make_graphs(const contender& one) const {
    std::vector<cudaGraphExec_t> made;
    for (int rank = 0; rank < one.streams; ++rank) {
      cudaGraph_t graph = nullptr;
      check(cudaStreamBeginCapture(gpu_[rank].stream(), cudaStreamCaptureModeThreadLocal));
      for (int k = 0; k < nodes_; ++k) one.enqueue(rank, k, place(rank, k));
      check(cudaStreamEndCapture(gpu_[rank].stream(), &graph));
      check(cudaGraphInstantiate(&made.emplace_back(), graph, 0));
      check(cudaGraphDestroy(graph));
      check(cudaGraphUpload(made.back(), gpu_[rank].stream()));
      check(cudaStreamSynchronize(gpu_[rank].stream()));
    }
    return made;
  }
  double run(const contender& one, const std::vector<cudaGraphExec_t>& graphs) {
    fanin::parallel_for(fanin::range(gate_, 1), wait_until{500'000});
    check(cudaEventRecord(begin_, gate_.stream()));
    for (int rank = 0; rank < one.streams; ++rank) {
      check(cudaStreamWaitEvent(gpu_[rank].stream(), begin_, 0));
      check(cudaGraphLaunch(graphs[static_cast<std::size_t>(rank)], gpu_[rank].stream()));
      check(cudaEventRecord(end_[rank], gpu_[rank].stream()));
    }
    float longest = 0;
    for (int rank = 0; rank < one.streams; ++rank) {
      float ms = 0;
      check(cudaEventSynchronize(end_[rank]));
      check(cudaEventElapsedTime(&ms, begin_, end_[rank]));
      longest = std::max(longest, ms);
    }
    return longest * 1e3 / nodes_;
  }
  void look(contender& one) {
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(results_.data(), out_, results_.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (int rank = 0; rank < one.streams; ++rank) {
      for (int k = 0; k < nodes_; ++k) {
        const auto got = static_cast<double>(results_[static_cast<std::size_t>(rank * nodes_ + k)]);
        const double expected = one.what == contender::as_one
                                    ? both_.expected(k, false, ranks)
                                    : data_[rank].expected(k, one.what == contender::over_both, ranks);
        if (got != expected) one.why_not = "gives a wrong sum";
      }
    }
  }

  fanin_perf_ranks::slices<T> data_[ranks];
  fanin_perf_ranks::slices<T> both_;
  fanin::cuda gpu_[ranks];
  fanin::cuda gate_;
  fanin::cuda_early_start early_;
  int nodes_;
  std::vector<T> results_;
  T* out_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_[ranks] = {};
};

int report(const std::vector<contender>& all, nlohmann::ordered_json json, const std::string& path) {
  int status = EXIT_SUCCESS;
  for (const contender& one : all) {
    if (!one.why_not.empty()) {
      std::printf("%-44s %s\n", one.name.c_str(), one.why_not.c_str());
      json["medians"][one.name] = nullptr;
      if (one.why_not == "gives a wrong sum") status = EXIT_FAILURE;
      continue;
    }
    fanin_perf_ranks::report_median(one.name, one.times, json);
  }
  return fanin_perf_ranks::write_json(json, path) ? status : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // code comes to the device when nothing waits there
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  CLI::App app(
      "Reductions over two ranks on one GPU, as nodes of graphs: medians of 31, the later one of both streams");
  std::int64_t elements = 1 << 20;
  std::string type = "f32";
  std::string early = "automatic";
  std::string path;
  app.add_option("--elements", elements, "elements of a rank")->check(CLI::Range(1, 1 << 26));
  app.add_option("--type", type, "f32 or f64")->check(CLI::IsMember({"f32", "f64"}));
  app.add_option("--early-start", early, "whether nodes begin before those in front of them have ended")
      ->check(CLI::IsMember({"automatic", "off"}));
  app.add_option("--json", path, "where to write the medians, too");
  CLI11_PARSE(app, argc, argv);
  try {
    const auto how = early == "off" ? fanin::cuda_early_start::off : fanin::cuda_early_start::automatic;
    const std::vector<contender> all =
        type == "f32" ? measurement<float>(elements, how).measure() : measurement<double>(elements, how).measure();
    return report(
        all, {{"ranks", ranks}, {"type", type}, {"elements", elements}, {"early start", early}, {"unit", "us"}}, path);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
