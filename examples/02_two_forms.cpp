// SPDX-License-Identifier: Apache-2.0
// The second rung: a functor gives a value, f(i), or combines by itself, f(i, acc&); and reducers with a position.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>

int main() {
  const std::int64_t n = 1000;

  const double norm = std::sqrt(fanin::parallel_reduce(
      "norm2", fanin::range(n),
      FANIN_LAMBDA(std::int64_t i, double& acc) { acc += static_cast<double>(i) * static_cast<double>(i); },
      fanin::sum<double>{}));

  const auto [value, index] = fanin::parallel_reduce(
      "closest to 300.4", fanin::range(n),
      FANIN_LAMBDA(std::int64_t i) {
        const double distance = static_cast<double>(i) - 300.4;
        return distance < 0 ? -distance : distance;
      },
      fanin::min_loc<double>{});

  std::printf("norm of 0 to 999: %.3f; closest to 300.4: %lld, off by %.1f\n", norm, static_cast<long long>(index),
              value);
  return index == 300 ? 0 : 1;
}
