// SPDX-License-Identifier: Apache-2.0
// What a call over ranks with a GPU costs, from call to result on every rank: over MPI, over NCCL where it is, and
// beside CUB, a copy and a collective. Run by mpirun; ranks may share a GPU, but for NCCL's.
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
#include <fanin/nccl/from_mpi.hpp>
#include <fanin/nccl/over.hpp>
#endif

#include "measure.hpp"

namespace {

using fanin_perf_ranks::contender;
using fanin_perf_ranks::element;

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

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
  return fanin_perf_ranks::report(all, path, comm.size(), elements) ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CLI::App app("Reductions over ranks with GPUs, run by mpirun: medians, on rank 0");
  std::int64_t elements = 1 << 20;
  std::string path;
  app.add_option("--elements", elements, "doubles of a rank")->check(CLI::Range(1, 1 << 22));
  app.add_option("--json", path, "where to write the medians, too");
  int status = EXIT_FAILURE;
  try {
    app.parse(argc, argv);
    status = run(elements, path);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error);
  }
  MPI_Finalize();
  return status;
}
