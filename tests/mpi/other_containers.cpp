// SPDX-License-Identifier: Apache-2.0
// Compiled with the standard library's containers of another layout than the library's own units (-D_GLIBCXX_DEBUG).
// Without GoogleTest, whose headers have some. Run by mpirun; gives how many results are wrong.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include <fanin/fanin.hpp>
#include <fanin/mpi/exact.hpp>
#include <fanin/mpi/over.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int wrong = 0;
  for (const int gather_up_to : {1024, 2}) {
    const fanin::mpi comm(MPI_COMM_WORLD, {.gather_up_to = gather_up_to});
    const fanin::serial exec;
    const std::vector<double> xs(5, comm.rank() + 1.0);
    const double expected = 2.5 * comm.size() * (comm.size() + 1);
    const auto check = [&](const char* what, double found) {
      if (found == expected) return;
      ++wrong;
      std::printf("rank %d of %d: %s gives %g, and %g is right\n", comm.rank(), comm.size(), what, found, expected);
    };
    const fanin::sum<double> sum;
    const fanin::exact_sum<double> exact;
    check("a sum", fanin::reduce(exec, fanin::over(comm, xs), sum));
    check("an exact sum", fanin::reduce(exec, fanin::over(comm, xs), exact));
    auto later = fanin::reduce_async(exec, fanin::over(comm, xs), sum);
    auto exact_later = fanin::reduce_async(exec, fanin::over(comm, xs), exact);
    const auto both = fanin::reduce(exec, fanin::over(comm, xs), sum, exact);
    check("a sum that comes later", later.get());
    check("an exact sum that comes later", exact_later.get());
    check("a sum beside an exact one", fanin::get<0>(both));
    check("an exact sum beside another one", fanin::get<1>(both));
    std::vector<double> of_rows(3'000);
    fanin::parallel_reduce_into(
        of_rows, fanin::over(comm, fanin::rows(exec, of_rows.size(), xs.size())),
        [&](std::int64_t, std::int64_t j) { return xs[static_cast<std::size_t>(j)]; }, sum);
    check("the last of many sums", of_rows.back());
  }
  MPI_Finalize();
  return wrong;
}
