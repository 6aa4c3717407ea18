// SPDX-License-Identifier: Apache-2.0
// Over ranks: conjugate gradients for -u'' + c u = f on a line that MPI's ranks share. Its dot products are exact sums,
// which have the same bits for every number of ranks: so has every number of the solve. Run it by mpirun -n 1, 2, 3,
// ...
#include <mpi.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>
#include <fanin/mpi/over.hpp>
#include <vector>

namespace {

constexpr std::int64_t points = 501;
constexpr double tolerance = 1e-20;  // of r.r

double reaction(std::int64_t i) { return 0.001 * static_cast<double>(i * 37 % 11); }
double source(std::int64_t i) { return 1.0 / static_cast<double>(1 + i * 29 % 101); }

struct line {
  std::int64_t begin;  // this rank's points
  std::int64_t end;
  int before;  // the ranks that have the neighbours' points, or MPI_PROC_NULL
  int after;

  explicit line(const fanin::mpi& comm)
      : begin{points * comm.rank() / comm.size()},
        end{points * (comm.rank() + 1) / comm.size()},
        before{comm.rank() > 0 ? comm.rank() - 1 : MPI_PROC_NULL},
        after{comm.rank() + 1 < comm.size() ? comm.rank() + 1 : MPI_PROC_NULL} {}
  std::size_t size() const { return static_cast<std::size_t>(end - begin); }
};

// q = A p, with the neighbours' values of p.
void apply(const line& own, const std::vector<double>& p, std::vector<double>& q) {
  double left = 0.0;
  double right = 0.0;
  MPI_Sendrecv(&p.back(), 1, MPI_DOUBLE, own.after, 0, &left, 1, MPI_DOUBLE, own.before, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&p.front(), 1, MPI_DOUBLE, own.before, 1, &right, 1, MPI_DOUBLE, own.after, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (std::size_t i = 0; i < own.size(); ++i) {
    q[i] = (2.0 + reaction(own.begin + static_cast<std::int64_t>(i))) * p[i] - (i > 0 ? p[i - 1] : left) -
           (i + 1 < own.size() ? p[i + 1] : right);
  }
}

bool solve(const fanin::mpi& comm) {
  const fanin::serial exec;
  const line own(comm);
  std::vector<double> x(own.size(), 0.0), r, q(own.size());
  for (std::int64_t i = own.begin; i < own.end; ++i) r.push_back(source(i));
  std::vector<double> p = r;

  double rr = fanin::exact_norm2_squared(exec, fanin::over(comm, r));
  int iterations = 0;
  for (; rr > tolerance && iterations < 2 * points; ++iterations) {
    apply(own, p, q);
    const double alpha = rr / fanin::exact_dot(exec, fanin::over(comm, p), fanin::over(comm, q));
    for (std::size_t i = 0; i < own.size(); ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    const double next = fanin::exact_norm2_squared(exec, fanin::over(comm, r));
    const double beta = next / rr;
    for (std::size_t i = 0; i < own.size(); ++i) p[i] = r[i] + beta * p[i];
    rr = next;
    if (comm.rank() == 0 && iterations % 50 == 0) std::printf("%3d: r.r = %a\n", iterations + 1, rr);
  }

  const auto peak = fanin::reduce(exec, fanin::over(comm, x), fanin::max_loc<double>{});
  apply(own, x, q);
  const double error = fanin::parallel_reduce(
      fanin::over(comm, fanin::range(exec, own.begin, own.end)),
      [&](std::int64_t i) { return std::fabs(source(i) - q[static_cast<std::size_t>(i - own.begin)]); },
      fanin::max<double>{});
  if (comm.rank() == 0) {
    std::printf("%d iterations, |f - A u| at most %.1e, u at most %a, at %lld\n", iterations, error, peak.value,
                static_cast<long long>(peak.index));
  }
  return error < 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  {
    const fanin::mpi comm(MPI_COMM_WORLD);  // owns a duplicate, until before MPI_Finalize
    right = comm.size() <= points && solve(comm);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
