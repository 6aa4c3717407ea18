// SPDX-License-Identifier: Apache-2.0
// A reducer whose accumulator is too large for a thread: a histogram. On a GPU the threads of a block count together,
// in its shared memory; on a host each thread has counters of its own. Out of range is a bin of its own, so that
// nothing is lost.
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>

struct histogram {
  static constexpr int bins = 70;
  struct counts {
    std::int64_t of[bins];
    std::int64_t outside;
  };

  using value_type = float;
  using accumulator_type = counts;
  using gathering = fanin::gathering_in_counters<counts, std::int64_t>;

  float low, high;

  FANIN_FUNCTION counts identity() const { return {}; }
  FANIN_FUNCTION void fold(gathering::state_type& state, float x, std::int64_t) const {
    const bool is_inside = x >= low && x < high;
    std::int64_t& count = is_inside ? state->of[static_cast<int>((x - low) / (high - low) * bins)] : state->outside;
    fanin::atomic_fetch_add(count, std::int64_t{1});
  }
  FANIN_FUNCTION void join(counts& into, const counts& from) const {
    for (int k = 0; k < bins; ++k) into.of[k] += from.of[k];
    into.outside += from.outside;
  }
};

int main() {
  const std::int64_t n = 1'000'000;
  const auto counts = fanin::parallel_reduce(
      fanin::range(n), FANIN_LAMBDA(std::int64_t i) { return static_cast<float>(i % 80); }, histogram{0, 70});
  bool is_right = counts.outside == n / 80 * 10;
  for (const std::int64_t count : counts.of) is_right = is_right && count == n / 80;
  std::printf("%lld in each bin, %lld outside\n", static_cast<long long>(counts.of[0]),
              static_cast<long long>(counts.outside));
  return is_right ? 0 : 1;
}
