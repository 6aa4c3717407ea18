// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "medians.hpp"

/// How calls over ranks are measured.
namespace fanin_perf_ranks {

inline constexpr int series = 31;
inline constexpr std::int64_t calls = 200;  // of a series, and fewer of many elements

struct contender {
  std::string name;
  std::function<double()> call;  ///< gives the sum over all ranks
  std::vector<double> times{};   ///< us of one call, the slowest rank's, of each series
};

/// All in turn in each series; what they give is looked at first.
inline void measure(std::vector<contender>& all, double expected, std::int64_t calls_of_series) {
  for (const contender& one : all) {
    if (one.call() != expected) {
      std::fprintf(stderr, "%s gives a wrong sum\n", one.name.c_str());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  for (int at = 0; at < series; ++at) {
    for (contender& one : all) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      for (std::int64_t k = 0; k < calls_of_series; ++k) one.call();
      double time = (MPI_Wtime() - begin) * 1e6 / static_cast<double>(calls_of_series);
      MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      one.times.push_back(time);
    }
  }
}

/// Of so many bits that sums of most_elements of them are doubles, however they are added.
inline constexpr std::int64_t most_elements = 1 << 25;
inline double element(std::int64_t i) {
  const auto draw = static_cast<std::uint64_t>(i + 1) * 0x9e37'79b9'7f4a'7c15U;
  return std::ldexp(static_cast<double>(static_cast<std::int64_t>(draw >> 36) - (1 << 27)), -20);
}

struct run_of_ranks {
  int ranks;
  std::int64_t elements;  ///< of a rank
  bool is_strong;         ///< as many in all for every number of ranks; otherwise as many a rank
  std::int64_t columns = 0;
};

/// Medians, on rank 0; false where they cannot be written.
inline bool report(const std::vector<contender>& all, const std::string& path, const run_of_ranks& run) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return true;
  nlohmann::ordered_json json{
      {"ranks", run.ranks}, {"elements", run.elements}, {"scaling", run.is_strong ? "strong" : "weak"}, {"unit", "us"}};
  if (run.columns > 0) json["columns"] = run.columns;
  for (const contender& one : all) report_median(one.name, one.times, json);
  return write_json(json, path);
}

}  // namespace fanin_perf_ranks
