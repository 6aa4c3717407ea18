// SPDX-License-Identifier: Apache-2.0
// What a call over ranks costs beside MPI's own collectives: one number a rank, from call to result on every rank.
// Run by mpirun. Writes a table; with an argument, JSON to that file, from rank 0.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fanin/fanin.hpp>
#include <fanin/mpi/over.hpp>

namespace {

constexpr int series = 41;
constexpr int calls = 200;  // of a series

struct contender {
  std::string name;
  std::function<double()> call;  ///< gives the sum over all ranks
  std::vector<double> times{};   ///< us of one call, the slowest rank's, of each series
};

double median_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// All in turn in each series; what they give is looked at first.
void measure(std::vector<contender>& all, double expected) {
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
      for (int k = 0; k < calls; ++k) one.call();
      double time = (MPI_Wtime() - begin) * 1e6 / calls;
      MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      one.times.push_back(time);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = EXIT_SUCCESS;
  {
    const fanin::serial exec;
    const fanin::mpi comm(MPI_COMM_WORLD);
    const double mine = 1.5 + comm.rank();
    const std::array<double, 1> data{mine};
    const double expected = comm.size() * (1.5 + (comm.size() - 1) / 2.0);
    constexpr int words = 72;
    std::array<std::uint64_t, words> own{};
    std::array<std::uint64_t, words> sums{};
    std::vector<contender> all{
        {"MPI_Allreduce of a double",
         [&] {
           double sum = 0;
           MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
           return sum;
         }},
        {"MPI_Allreduce of 576 bytes",
         [&] {
           own[0] = static_cast<std::uint64_t>(2 * mine);
           MPI_Allreduce(own.data(), sums.data(), words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
           return static_cast<double>(sums[0]) / 2;
         }},
        {"MPI_Iallreduce of 576 bytes, MPI_Wait",
         [&] {
           own[0] = static_cast<std::uint64_t>(2 * mine);
           MPI_Request request = MPI_REQUEST_NULL;
           MPI_Iallreduce(own.data(), sums.data(), words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &request);
           MPI_Wait(&request, MPI_STATUS_IGNORE);
           return static_cast<double>(sums[0]) / 2;
         }},
        {"fanin sum", [&] { return fanin::reduce(exec, fanin::over(comm, data), fanin::sum<double>{}); }},
        {"fanin exact_sum", [&] { return fanin::reduce(exec, fanin::over(comm, data), fanin::exact_sum<double>{}); }},
        {"fanin sum, async",
         [&] { return fanin::reduce_async(exec, fanin::over(comm, data), fanin::sum<double>{}).get(); }}};
    measure(all, expected);
    if (comm.rank() == 0) {
      std::string json = fmt::format("{{\n\"ranks\": {},\n\"unit\": \"us\",\n\"medians\": {{\n", comm.size());
      for (const contender& one : all) {
        const double time = median_of(one.times);
        fmt::print("{:<38} {:>8.2f} us\n", one.name, time);
        json += fmt::format(" \"{}\": {:.3f}{}\n", one.name, time, &one == &all.back() ? "" : ",");
      }
      json += "}\n}\n";
      if (argc > 1) {
        std::FILE* const file = std::fopen(argv[1], "w");
        if (file == nullptr || std::fputs(json.c_str(), file) < 0 || std::fclose(file) != 0) {
          std::fprintf(stderr, "%s cannot be written\n", argv[1]);
          status = EXIT_FAILURE;
        }
      }
    }
  }
  MPI_Finalize();
  return status;
}
