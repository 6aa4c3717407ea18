// SPDX-License-Identifier: Apache-2.0
// The third rung: several reducers in one pass over memory, each with the same value or one of its own.
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>

int main() {
  const std::int64_t n = 100'000;
  fanin::buffer<float> buffer(n);
  float* const x = buffer.data();
  fanin::parallel_for(
      fanin::range(n), FANIN_LAMBDA(std::int64_t i) { x[i] = static_cast<float>((i * 7919) % 1000) - 500.0f; });

  const auto [low, high, sum, squares] = fanin::parallel_reduce(
      "statistics", fanin::range(n),
      FANIN_LAMBDA(std::int64_t i) {
        const float value = x[i];
        return fanin::tuple{value, value, static_cast<double>(value), static_cast<double>(value) * value};
      },
      fanin::min<float>{}, fanin::max<float>{}, fanin::sum<double>{}, fanin::sum<double>{});

  const double mean = sum / static_cast<double>(n);
  const double variance = squares / static_cast<double>(n) - mean * mean;
  std::printf("%g to %g, mean %g, variance %g\n", static_cast<double>(low), static_cast<double>(high), mean, variance);
  return low == -500.0f && high == 499.0f && mean == -0.5 ? 0 : 1;
}
