// SPDX-License-Identifier: Apache-2.0
// The first rung: fill memory of the default backend and sum it. The backend is chosen at configure time by
// -DFANIN_DEFAULT_BACKEND=serial|kokkos|cuda; nothing here changes.
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>

int main() {
  const std::int64_t n = 1'000'000;
  fanin::buffer<double> buffer(n);
  double* const x = buffer.data();

  fanin::parallel_for(
      "fill", fanin::range(n), FANIN_LAMBDA(std::int64_t i) { x[i] = 1.0 / static_cast<double>((i + 1) * (i + 1)); });

  const double sum = fanin::parallel_reduce(
      "sum", fanin::range(n), FANIN_LAMBDA(std::int64_t i) { return x[i]; }, fanin::sum<double>{});

  std::printf("sum of 1/k^2, k = 1 to %lld: %.6f (pi^2/6 = 1.644934)\n", static_cast<long long>(n), sum);
  return sum > 1.6449 && sum < 1.6450 ? 0 : 1;
}
