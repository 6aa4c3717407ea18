// SPDX-License-Identifier: Apache-2.0
// The last rung: reductions inside a solver's loop. Conjugate gradients for the Poisson equation -u'' = f on a line,
// with an execution object that is made once and kept, labels, and two dot products in one pass.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>

namespace {

// Extended lambdas may not stand in functions with a deduced return type, hence plain functions with plain pointers.
void apply(std::int64_t n, const double* p, double* q) {
  fanin::parallel_for(
      "q = A p", fanin::range(n),
      FANIN_LAMBDA(std::int64_t i) { q[i] = 2.0 * p[i] - (i > 0 ? p[i - 1] : 0.0) - (i + 1 < n ? p[i + 1] : 0.0); });
}

double dot(std::int64_t n, const double* a, const double* b) {
  return fanin::parallel_reduce(
      "dot", fanin::range(n), FANIN_LAMBDA(std::int64_t i) { return a[i] * b[i]; }, fanin::sum<double>{});
}

// x += alpha p, r -= alpha q; gives r.r and the largest |r| of the same pass over r.
fanin::tuple<double, double> step(std::int64_t n, double alpha, const double* p, const double* q, double* x,
                                  double* r) {
  fanin::parallel_for(
      "update", fanin::range(n), FANIN_LAMBDA(std::int64_t i) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
      });
  return fanin::parallel_reduce(
      "residual", fanin::range(n),
      FANIN_LAMBDA(std::int64_t i) { return fanin::tuple{r[i] * r[i], r[i] < 0 ? -r[i] : r[i]}; }, fanin::sum<double>{},
      fanin::max<double>{});
}

void direction(std::int64_t n, double beta, const double* r, double* p) {
  fanin::parallel_for("direction", fanin::range(n), FANIN_LAMBDA(std::int64_t i) { p[i] = r[i] + beta * p[i]; });
}

void start(std::int64_t n, double* x, double* r, double* p) {
  fanin::parallel_for(
      "start", fanin::range(n), FANIN_LAMBDA(std::int64_t i) {
        const double f = i == n / 2 ? 1.0 : 0.0;
        x[i] = 0.0;
        r[i] = f;
        p[i] = f;
      });
}

}  // namespace

int main() {
  const std::int64_t n = 501;
  fanin::buffer<double> x(n), r(n), p(n), q(n);
  start(n, x.data(), r.data(), p.data());

  double rr = dot(n, r.data(), r.data());
  double largest = 1.0;
  int iterations = 0;
  while (largest > 1e-12 && iterations < 2 * n) {
    apply(n, p.data(), q.data());
    const double alpha = rr / dot(n, p.data(), q.data());
    const auto [next, residual] = step(n, alpha, p.data(), q.data(), x.data(), r.data());
    direction(n, next / rr, r.data(), p.data());
    rr = next;
    largest = residual;
    ++iterations;
  }

  const double peak = fanin::reduce(x, fanin::max<double>{});
  std::printf("%d iterations, largest residual %.1e, u in the middle %.6f (exact 125.5)\n", iterations, largest, peak);
  return largest <= 1e-12 && std::fabs(peak - 125.5) < 1e-6 ? 0 : 1;
}
