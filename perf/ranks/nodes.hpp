// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "measure.hpp"
#include "slices.hpp"

/// Calls over ranks as nodes of a graph that each rank launches, whose results are on every device.
namespace fanin_perf_ranks {

struct node {
  std::string name;
  bool is_of_all;  ///< ranks, or of the rank's own elements
  /// Enqueues the sum of the slice, into the place.
  std::function<void(std::int64_t slice, void* out)> enqueue;
  std::vector<double> times{};  ///< us of one node, the slowest rank's, of each series
};

/// Times each node of a graph of many, in turn in each series; what each gives is looked at.
template <class T>
void measure_nodes(std::vector<node>& all, const slices<T>& data, int ranks, cudaStream_t stream) {
  const int nodes = data.elements() <= (1 << 22) ? 100 : 10;
  T* results = nullptr;
  check(cudaMalloc(&results, static_cast<std::size_t>(nodes) * sizeof(T)));
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<cudaGraphExec_t> executables;
  for (const node& one : all) {
    one.enqueue(0, results);  // allocates
    check(cudaStreamSynchronize(stream));
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < nodes; ++k) one.enqueue(k, results + k);
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&executables.emplace_back(), graph, 0));
    check(cudaGraphDestroy(graph));
  }
  for (int at = 0; at < series + 1; ++at) {
    for (std::size_t which = 0; which < all.size(); ++which) {
      node& one = all[which];
      MPI_Barrier(MPI_COMM_WORLD);
      check(cudaEventRecord(begin, stream));
      check(cudaGraphLaunch(executables[which], stream));
      check(cudaEventRecord(end, stream));
      check(cudaEventSynchronize(end));
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin, end));
      double time = ms * 1e3 / nodes;
      MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (at > 0) {
        one.times.push_back(time);
        continue;
      }
      std::vector<T> got(static_cast<std::size_t>(nodes));
      check(cudaMemcpy(got.data(), results, got.size() * sizeof(T), cudaMemcpyDeviceToHost));
      for (int k = 0; k < nodes; ++k) {
        if (static_cast<double>(got[static_cast<std::size_t>(k)]) == data.expected(k, one.is_of_all, ranks)) continue;
        std::fprintf(stderr, "%s gives a wrong sum\n", one.name.c_str());
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }
  check(cudaStreamSynchronize(stream));
  for (const cudaGraphExec_t executable : executables) check(cudaGraphExecDestroy(executable));
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  check(cudaFree(results));
}

}  // namespace fanin_perf_ranks
