// SPDX-License-Identifier: Apache-2.0
// The fourth rung: a reducer of one's own, with a value, an accumulator and a result of three types. It gives the mean
// and the variance of one pass by merging moments (T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise
// algorithm for computing sample variances", 1979), which does not cancel as sums of squares do.
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>

struct moments {
  std::int64_t count;
  double mean;
  double squares;  // of the distances from the mean
};

struct mean_and_variance {
  double mean;
  double variance;
};

struct variance_reducer {
  using value_type = float;
  using accumulator_type = moments;
  using result_type = mean_and_variance;

  FANIN_FUNCTION moments identity() const { return {0, 0.0, 0.0}; }
  FANIN_FUNCTION void fold(moments& acc, float value, std::int64_t) const {
    acc.count += 1;
    const double distance = value - acc.mean;
    acc.mean += distance / static_cast<double>(acc.count);
    acc.squares += distance * (value - acc.mean);
  }
  FANIN_FUNCTION void join(moments& into, const moments& from) const {
    if (from.count == 0) return;
    const std::int64_t count = into.count + from.count;
    const double distance = from.mean - into.mean;
    const double share = static_cast<double>(from.count) / static_cast<double>(count);
    into.squares += from.squares + distance * distance * static_cast<double>(into.count) * share;
    into.mean += distance * share;
    into.count = count;
  }
  FANIN_FUNCTION mean_and_variance result(const moments& acc) const {
    return {acc.mean, acc.count == 0 ? 0.0 : acc.squares / static_cast<double>(acc.count)};
  }
};

int main() {
  const std::int64_t n = 1'000'000;
  const auto [mean, variance] = fanin::parallel_reduce(
      fanin::range(n), FANIN_LAMBDA(std::int64_t i) { return 10000.0f + static_cast<float>(i % 2); },
      variance_reducer{});
  std::printf("mean %.6f, variance %.6f\n", mean, variance);
  return variance > 0.2499999 && variance < 0.2500001 ? 0 : 1;
}
