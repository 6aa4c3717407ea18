// SPDX-License-Identifier: Apache-2.0
// Prints the backend that the application was configured for, and computes on it.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>

#include <fanin/fanin.hpp>

double host_sum(std::int64_t n);

namespace {

double device_norm2(std::int64_t n) {
  fanin::buffer<double> values(n);
  double* x = values.data();
  fanin::parallel_for(fanin::range(n), FANIN_LAMBDA(std::int64_t i) { x[i] = static_cast<double>(i); });
  return fanin::parallel_reduce(
      "norm2", fanin::range(n), FANIN_LAMBDA(std::int64_t i, double& acc) { acc += x[i] * x[i]; },
      fanin::sum<double>{});
}

}  // namespace

int main() {
  std::printf("backend: %s\n", fanin::backend<fanin::default_backend>::name);
  try {
    if (const double sum = host_sum(100); sum != 4950.0) {
      std::printf("host sum: %g, not 4950\n", sum);
      return 1;
    }
    // The sum of squares below 100: 99 * 100 * 199 / 6.
    if (const double norm2 = device_norm2(100); norm2 != 328350.0) {
      std::printf("norm2: %g, not 328350\n", norm2);
      return 1;
    }
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
  std::printf("correct\n");
  return 0;
}
