// SPDX-License-Identifier: Apache-2.0
// What a call over ranks with a GPU costs: from call to result on every rank, over MPI, over NCCL where it is, and
// beside CUB, a copy and a collective; and as nodes of graphs, over NCCL, beside CUB and ncclAllReduce. Run by mpirun;
// ranks may share a GPU, but for NCCL's.
#include <cuda_runtime_api.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_reduce.cuh>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <fanin/fanin.hpp>
#include <fanin/mpi/over.hpp>
#if FANIN_PERF_HAS_NCCL
#include <nccl.h>

#include <fanin/nccl/from_mpi.hpp>
#include <fanin/nccl/over.hpp>
#endif

#include "measure.hpp"
#include "nodes.hpp"

namespace {

using fanin_perf_ranks::check;
using fanin_perf_ranks::contender;
using fanin_perf_ranks::element;

/// CUB's sum of the part, copied to pinned memory, and MPI's of all.
class cub_and_mpi {
 public:
  cub_and_mpi(cudaStream_t stream, std::span<const double> data) : stream_{stream}, data_{data} {
    check(cudaMalloc(&sum_, sizeof(double)));
    check(cudaMallocHost(&on_host_, sizeof(double)));
    check(cub::DeviceReduce::Sum(nullptr, bytes_, data_.data(), sum_, data_.size(), stream_));
    check(cudaMalloc(&workspace_, bytes_));
  }
  cub_and_mpi(const cub_and_mpi&) = delete;
  ~cub_and_mpi() {
    cudaFree(workspace_);
    cudaFreeHost(on_host_);
    cudaFree(sum_);
  }
  double sum() const {
    std::size_t bytes = bytes_;
    check(cub::DeviceReduce::Sum(workspace_, bytes, data_.data(), sum_, data_.size(), stream_));
    check(cudaMemcpyAsync(on_host_, sum_, sizeof(double), cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
    double all = 0;
    MPI_Allreduce(on_host_, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }

 private:
  cudaStream_t stream_;
  std::span<const double> data_;
  double* sum_ = nullptr;
  double* on_host_ = nullptr;
  void* workspace_ = nullptr;
  std::size_t bytes_ = 0;
};

int run(std::int64_t elements, const std::string& path) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  int gpus = 0;
  check(cudaGetDeviceCount(&gpus));
  check(cudaSetDevice(comm.rank() % gpus));
  const fanin::cuda gpu;
  std::vector<double> on_host;
  for (std::int64_t i = 0; i < elements; ++i) on_host.push_back(element(comm.rank() * elements + i));
  const fanin::buffer<double, fanin::cuda> buffer(gpu, std::span<const double>(on_host));
  const std::span<const double> data(buffer.data(), on_host.size());
  double expected = 0;
  for (std::int64_t i = 0; i < elements * comm.size(); ++i) expected += element(i);

  const auto peer = std::make_shared<cub_and_mpi>(gpu.stream(), data);
  const auto out = std::make_shared<fanin::buffer<double, fanin::cuda>>(gpu, 1);
  const auto value = [out, &gpu] {
    double got = 0;
    out->copy_to(std::span<double>(&got, 1));
    return got;
  };
  const fanin::sum<double> sum;
  const fanin::exact_sum<double> exact;
  std::vector<contender> all{
      {"CUB, copy, MPI_Allreduce", [peer] { return peer->sum(); }},
      {"fanin sum over MPI", [&] { return fanin::reduce(gpu, fanin::over(comm, data), sum); }},
      {"fanin sum over MPI, async", [&] { return fanin::reduce_async(gpu, fanin::over(comm, data), sum).get(); }},
      {"fanin exact_sum over MPI", [&] { return fanin::reduce(gpu, fanin::over(comm, data), exact); }},
      {"fanin sum over MPI, _into, copy", [&] {
         fanin::reduce_into(out->data(), gpu, fanin::over(comm, data), sum);
         return value();
       }}};
  if (comm.size() == 1) {
    all.push_back({"fanin sum, plain", [&] { return fanin::reduce(gpu, data, sum); }});
    all.push_back({"fanin exact_sum, plain", [&] { return fanin::reduce(gpu, data, exact); }});
  }
#if FANIN_PERF_HAS_NCCL
  std::unique_ptr<fanin::nccl> nccl;
  if (comm.size() <= gpus) {
    nccl = fanin::nccl_from_mpi(MPI_COMM_WORLD, {.exchanges_alone = true});
    all.push_back({"fanin sum over NCCL", [&] { return fanin::reduce(gpu, fanin::over(*nccl, data), sum); }});
    all.push_back({"fanin exact_sum over NCCL", [&] { return fanin::reduce(gpu, fanin::over(*nccl, data), exact); }});
    all.push_back({"fanin sum over NCCL, _into, copy", [&] {
                     fanin::reduce_into(out->data(), gpu, fanin::over(*nccl, data), sum);
                     return value();
                   }});
  } else if (comm.rank() == 0) {
    std::printf("Not over NCCL: there are %d ranks, and GPUs here: %d\n", comm.size(), gpus);
  }
#endif
  fanin_perf_ranks::measure(all, expected, fanin_perf_ranks::calls);
  return fanin_perf_ranks::report(all, path, {comm.size(), elements, false}) ? EXIT_SUCCESS : EXIT_FAILURE;
}

#if FANIN_PERF_HAS_NCCL

template <class T>
class cub_sum {
 public:
  cub_sum(std::int64_t elements, cudaStream_t stream) : elements_{elements}, stream_{stream} {
    check(cub::DeviceReduce::Sum(nullptr, bytes_, static_cast<const T*>(nullptr), static_cast<T*>(nullptr), elements_));
    check(cudaMalloc(&workspace_, bytes_));
  }
  cub_sum(const cub_sum&) = delete;
  cub_sum& operator=(const cub_sum&) = delete;
  ~cub_sum() { cudaFree(workspace_); }
  void enqueue(const T* data, T* out) const {
    std::size_t bytes = bytes_;
    check(cub::DeviceReduce::Sum(workspace_, bytes, data, out, elements_, stream_));
  }

 private:
  std::int64_t elements_;
  cudaStream_t stream_;
  void* workspace_ = nullptr;
  std::size_t bytes_ = 0;
};

template <class T>
bool run_nodes(std::int64_t elements, const std::string& path) {
  int rank = 0;
  int ranks = 0;
  int gpus = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  check(cudaGetDeviceCount(&gpus));
  if (ranks > gpus) {
    if (rank == 0) std::printf("No nodes: NCCL's ranks have a GPU each, and there are %d\n", gpus);
    return true;
  }
  check(cudaSetDevice(rank));
  const fanin::cuda gpu;
  const fanin_perf_ranks::slices<T> data(elements, rank);
  T* const all = data.data(0);
  const fanin_perf_ranks::small_element value{data.first(0, rank)};
  fanin::parallel_for(
      fanin::range(gpu, data.all_elements()), FANIN_LAMBDA(std::int64_t i) { all[i] = static_cast<T>(value(i)); });
  gpu.synchronize();
  const auto once = fanin::nccl_from_mpi(MPI_COMM_WORLD, {.exchanges_alone = true});
  const auto thrice = fanin::nccl_from_mpi(MPI_COMM_WORLD, {.exchanges_alone = true, .one_launch = false});
  const cub_sum<T> cub(elements, gpu.stream());
  const auto span = [&](std::int64_t slice) {
    return std::span<const T>(data.data(slice), static_cast<std::size_t>(elements));
  };
  const auto over = [&](const fanin::nccl& comm, const auto& reducer) {
    return [&gpu, &comm, span, reducer](std::int64_t slice, void* out) {
      fanin::reduce_into(static_cast<T*>(out), gpu, fanin::over(comm, span(slice)), reducer);
    };
  };
  const auto alone = [&](const auto& reducer) {
    return [&gpu, span, reducer](std::int64_t slice, void* out) {
      fanin::reduce_into(static_cast<T*>(out), gpu, span(slice), reducer);
    };
  };
  constexpr ncclDataType_t type = sizeof(T) == 4 ? ncclFloat32 : ncclFloat64;
  const auto cub_and_nccl = [&](std::int64_t slice, void* out) {
    cub.enqueue(data.data(slice), static_cast<T*>(out));
    if (ncclAllReduce(out, out, 1, type, ncclSum, once->get(), gpu.stream()) != ncclSuccess) {
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  };
  std::vector<fanin_perf_ranks::node> nodes{
      {"CUB, ncclAllReduce", true, cub_and_nccl},
      {"fanin sum, by NCCL's kernels", true, over(*thrice, fanin::sum<T>{})},
      {"fanin exact_sum, by NCCL's kernels", true, over(*thrice, fanin::exact_sum<T>{})},
      {"CUB, one GPU", false,
       [&](std::int64_t slice, void* out) { cub.enqueue(data.data(slice), static_cast<T*>(out)); }},
      {"fanin sum, one GPU", false, alone(fanin::sum<T>{})},
      {"fanin exact_sum, one GPU", false, alone(fanin::exact_sum<T>{})}};
  if (once->is_one_launch()) {
    nodes.push_back({"fanin sum", true, over(*once, fanin::sum<T>{})});
    nodes.push_back({"fanin exact_sum", true, over(*once, fanin::exact_sum<T>{})});
  } else if (rank == 0) {
    std::printf("Not in one launch: ranks do not reach each other, or the NCCL that is loaded is another version\n");
  }
  fanin_perf_ranks::measure_nodes(nodes, data, ranks, gpu.stream());
  std::vector<contender> report;
  for (const auto& one : nodes) report.push_back({one.name, {}, one.times});
  return fanin_perf_ranks::report(report, path, {ranks, elements, false});
}

#endif

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CLI::App app("Reductions over ranks with GPUs, run by mpirun: medians, on rank 0");
  std::int64_t elements = 1 << 20;
  std::string path;
  app.add_option("--elements", elements, "elements of a rank: doubles, up to 2^22 but for nodes")
      ->check(CLI::Range(1, 1 << 28));
#if FANIN_PERF_HAS_NCCL
  std::string nodes;
  app.add_option("--nodes", nodes, "nodes of graphs instead of calls: over f32 or f64")
      ->check(CLI::IsMember({"f32", "f64"}));
#endif
  app.add_option("--json", path, "where to write the medians, too");
  int status = EXIT_FAILURE;
  try {
    app.parse(argc, argv);
#if FANIN_PERF_HAS_NCCL
    if (!nodes.empty()) {
      const bool is_written = nodes == "f32" ? run_nodes<float>(elements, path) : run_nodes<double>(elements, path);
      status = is_written ? EXIT_SUCCESS : EXIT_FAILURE;
    } else
#endif
      status = run(elements, path);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error);
  }
  MPI_Finalize();
  return status;
}
