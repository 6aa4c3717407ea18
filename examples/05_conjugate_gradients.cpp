// SPDX-License-Identifier: Apache-2.0
// The last rung: reductions inside a solver's loop. Conjugate gradients for the Poisson equation -u'' = f on a line,
// with labels and two reductions in one pass: first with alpha and beta on the host, then with no host value in the
// loop.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>

namespace {

constexpr double tolerance = 1e-12;  // of the largest |r|

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

// Gives the number of iterations.
int solve(std::int64_t n, double* x, double* r, double* p, double* q) {
  start(n, x, r, p);
  double rr = dot(n, r, r);
  double largest = 1.0;
  int iterations = 0;
  while (largest > tolerance && iterations < 2 * n) {
    apply(n, p, q);
    const double alpha = rr / dot(n, p, q);
    const auto [next, residual] = step(n, alpha, p, q, x, r);
    direction(n, next / rr, r, p);
    rr = next;
    largest = residual;
    ++iterations;
  }
  return iterations;
}

// The same on the device alone: three launches an iteration, of which two end with alpha and beta. What is solved stays
// so, since the host learns of it later.
struct progress {
  double square;   // r.r
  double beta;     // its ratio to the one before
  double largest;  // |r|
};

void apply_and_make_alpha(std::int64_t n, const double* p, double* q, const progress* last, double* alpha) {
  fanin::parallel_reduce_into(
      "q = A p, alpha", alpha, fanin::range(n),
      FANIN_LAMBDA(std::int64_t i) {
        q[i] = 2.0 * p[i] - (i > 0 ? p[i - 1] : 0.0) - (i + 1 < n ? p[i + 1] : 0.0);
        return p[i] * q[i];
      },
      fanin::finished(FANIN_LAMBDA(double pq) { return pq > 0 ? last->square / pq : 0.0; }, fanin::sum<double>{}));
}

void step_and_make_beta(std::int64_t n, const double* alpha, const double* p, const double* q, double* x, double* r,
                        progress* last) {
  fanin::parallel_reduce_into(
      "update, beta", last, fanin::range(n),
      FANIN_LAMBDA(std::int64_t i) {
        x[i] += *alpha * p[i];
        r[i] -= *alpha * q[i];
        return fanin::tuple{r[i] * r[i], r[i] < 0 ? -r[i] : r[i]};
      },
      fanin::finished(
          FANIN_LAMBDA(double rr, double largest) {
            return progress{rr, last->square > 0 ? rr / last->square : 0.0, largest};
          },
          fanin::sum<double>{}, fanin::max<double>{}));
}

void direction_by(std::int64_t n, const progress* last, const double* r, double* p) {
  fanin::parallel_for("direction", fanin::range(n), FANIN_LAMBDA(std::int64_t i) { p[i] = r[i] + last->beta * p[i]; });
}

fanin::pending<double> look(const progress* last) {
  return fanin::parallel_reduce_async(
      "look", fanin::range(1), FANIN_LAMBDA(std::int64_t) { return last->largest; }, fanin::max<double>{});
}

void start_on_device(std::int64_t n, double* x, double* r, double* p, progress* last) {
  start(n, x, r, p);
  fanin::parallel_reduce_into(
      "r.r", last, fanin::range(n), FANIN_LAMBDA(std::int64_t i) { return r[i] * r[i]; },
      fanin::finished(FANIN_LAMBDA(double rr) { return progress{rr, 0.0, 1.0}; }, fanin::sum<double>{}));
}

// Every so many iterations the host takes the residual that it asked for so many before: the device never waits for it.
int solve_on_device(std::int64_t n, double* x, double* r, double* p, double* q) {
  const int between_looks = 50;
  fanin::buffer<progress> last(1);
  fanin::buffer<double> alpha(1);
  start_on_device(n, x, r, p, last.data());
  fanin::pending<double> residual = look(last.data());
  int iterations = 0;
  while (iterations < 2 * n) {
    for (int k = 0; k < between_looks; ++k) {
      apply_and_make_alpha(n, p, q, last.data(), alpha.data());
      step_and_make_beta(n, alpha.data(), p, q, x, r, last.data());
      direction_by(n, last.data(), r, p);
    }
    iterations += between_looks;
    if (residual.get() <= tolerance) break;
    residual = look(last.data());
  }
  return iterations;
}

bool report(const char* how, int iterations, const fanin::buffer<double>& x) {
  const double peak = fanin::reduce(x, fanin::max<double>{});
  std::printf("%s: %d iterations, u in the middle %.6f (exact 125.5)\n", how, iterations, peak);
  return iterations < 1000 && std::fabs(peak - 125.5) < 1e-6;
}

}  // namespace

int main() {
  const std::int64_t n = 501;
  fanin::buffer<double> x(n), r(n), p(n), q(n);
  const int by_host = solve(n, x.data(), r.data(), p.data(), q.data());
  const bool right = report("with the host", by_host, x);
  const int by_device = solve_on_device(n, x.data(), r.data(), p.data(), q.data());
  return report("on the device", by_device, x) && right ? 0 : 1;
}
