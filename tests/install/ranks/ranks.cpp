// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <cstdint>
#include <fanin/fanin.hpp>
#include <fanin/mpi/over.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  {
    const fanin::serial exec;
    const fanin::mpi comm(MPI_COMM_WORLD);
    const auto sum = fanin::parallel_reduce(
        fanin::over(comm, fanin::range(exec, 10 * comm.rank(), 10 * comm.rank() + 10)),
        [](std::int64_t i) { return static_cast<double>(i); }, fanin::exact_sum<double>{});
    right = comm.size() == 3 && sum == 435;
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
