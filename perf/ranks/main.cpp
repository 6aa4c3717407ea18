// SPDX-License-Identifier: Apache-2.0
// What a call over ranks costs, from call to result on every rank: beside MPI's own collectives for one number a rank,
// beside a loop and a collective, and a reproducible sum of two, for arrays. Run by mpirun.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <fanin/fanin.hpp>
#include <fanin/mpi/over.hpp>

#include "columns.hpp"
#include "integer_vector.hpp"
#include "measure.hpp"

namespace {

using fanin_perf_ranks::calls;
using fanin_perf_ranks::contender;
using fanin_perf_ranks::element;
using fanin_perf_ranks::measure;
using fanin_perf_ranks::most_elements;
using fanin_perf_ranks::report;
using fanin_perf_ranks::run_of_ranks;

/// Contenders of one number a rank: what stands between MPI and the result.
std::vector<contender> of_messages(const fanin::serial& exec, const fanin::mpi& comm, std::span<const double> data) {
  constexpr std::size_t words = 72;
  const double mine = data[0];
  const auto sum_of_words = [mine](const auto& exchange) {
    std::array<std::uint64_t, words> sums{};
    sums[0] = static_cast<std::uint64_t>(static_cast<std::int64_t>(std::ldexp(mine, 20)));
    exchange(sums);
    return std::ldexp(static_cast<double>(static_cast<std::int64_t>(sums[0])), -20);
  };
  return {{"MPI_Allreduce of a double",
           [mine] {
             double sum = 0;
             MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
             return sum;
           }},
          {"MPI_Allreduce of 576 bytes",
           [sum_of_words] {
             return sum_of_words([](auto& sums) {
               MPI_Allreduce(MPI_IN_PLACE, sums.data(), words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
             });
           }},
          {"MPI_Iallreduce of 576 bytes, MPI_Wait",
           [sum_of_words] {
             return sum_of_words([](auto& sums) {
               MPI_Request request = MPI_REQUEST_NULL;
               MPI_Iallreduce(MPI_IN_PLACE, sums.data(), words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &request);
               MPI_Wait(&request, MPI_STATUS_IGNORE);
             });
           }},
          {"fanin sum, async", [&exec, &comm, data] {
             return fanin::reduce_async(exec, fanin::over(comm, data), fanin::sum<double>{}).get();
           }}};
}

/// Contenders of arrays.
std::vector<contender> of_arrays(const fanin::serial& exec, const fanin::mpi& comm, std::span<const double> data) {
  std::vector<contender> all{
      {"loop, MPI_Allreduce",
       [data] {
         double sum = 0;
         for (const double x : data) sum += x;
         MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
         return sum;
       }},
      {"integer vectors, two MPI_Allreduce", [data] { return sum_by_integer_vectors(data, MPI_COMM_WORLD); }},
      {"fanin sum",
       [&exec, &comm, data] { return fanin::reduce(exec, fanin::over(comm, data), fanin::sum<double>{}); }},
      {"fanin exact_sum",
       [&exec, &comm, data] { return fanin::reduce(exec, fanin::over(comm, data), fanin::exact_sum<double>{}); }}};
#if FANIN_HAS_KOKKOS && !FANIN_KOKKOS_NEEDS_CUDA
  all.push_back({"Kokkos, MPI_Allreduce", [data] {
                   using policy = Kokkos::RangePolicy<Kokkos::Serial, Kokkos::IndexType<std::int64_t>>;
                   double sum = 0;
                   Kokkos::parallel_reduce(
                       policy(0, static_cast<std::int64_t>(data.size())),
                       [x = data.data()](std::int64_t i, double& acc) { acc += x[i]; }, sum);
                   MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
                   return sum;
                 }});
#endif
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = EXIT_SUCCESS;
  {
    CLI::App app("Reductions over MPI's ranks, run by mpirun: medians, on rank 0");
    std::int64_t elements = 1;
    std::int64_t total = 0;
    std::string path;
    auto* const of_rank = app.add_option("--elements", elements, "doubles of a rank (weak scaling)")
                              ->check(CLI::Range(std::int64_t{1}, most_elements));
    app.add_option("--total", total, "doubles of all ranks together (strong scaling)")
        ->check(CLI::Range(std::int64_t{1}, most_elements))
        ->excludes(of_rank);
    std::int64_t columns = 0;
    app.add_option("--columns", columns,
                   "each rank's doubles are rows of so many, whose columns are summed over all ranks")
        ->check(CLI::Range(std::int64_t{1}, most_elements));
    app.add_option("--json", path, "where to write the medians, too");
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      MPI_Finalize();
      return app.exit(error);
    }
#if FANIN_HAS_KOKKOS && !FANIN_KOKKOS_NEEDS_CUDA
    const Kokkos::ScopeGuard kokkos(Kokkos::InitializationSettings().set_num_threads(1).set_disable_warnings(true));
#endif
    const fanin::serial exec;
    const fanin::mpi comm(MPI_COMM_WORLD);
    const bool is_strong = total > 0;
    if (!is_strong) total = elements * comm.size();
    if (total > most_elements) {
      if (comm.rank() == 0) {
        std::fprintf(stderr, "%lld elements a rank are more than %lld in all\n", static_cast<long long>(elements),
                     static_cast<long long>(most_elements));
      }
      MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    const std::int64_t rows = std::max<std::int64_t>(columns, 1);  // of so many doubles, of which none is cut
    if (total % rows != 0 && comm.rank() == 0) {
      std::fprintf(stderr, "%lld doubles are no whole rows of %lld\n", static_cast<long long>(total),
                   static_cast<long long>(rows));
    }
    if (total % rows != 0) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    const std::int64_t begin = total / rows * comm.rank() / comm.size() * rows;
    const std::int64_t end = total / rows * (comm.rank() + 1) / comm.size() * rows;
    std::vector<double> data;
    for (std::int64_t i = begin; i < end; ++i) data.push_back(element(i));
    double expected = 0;
    for (std::int64_t i = columns / 2; i < total; i += rows) expected += element(i);
    std::vector<contender> all =
        columns > 0 ? fanin_perf_ranks::of_columns(exec, comm, data, columns) : of_arrays(exec, comm, data);
    if (columns == 0 && total == comm.size()) {
      for (contender& one : of_messages(exec, comm, data)) all.push_back(std::move(one));
    }
    measure(all, expected, std::max<std::int64_t>(1, std::min(calls, (std::int64_t{1} << 22) * comm.size() / total)));
    const run_of_ranks run{comm.size(), total / comm.size(), is_strong, columns};
    if (!report(all, path, run)) status = EXIT_FAILURE;
  }
  MPI_Finalize();
  return status;
}
