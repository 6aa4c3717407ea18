// SPDX-License-Identifier: Apache-2.0
#include "harness/tuning.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <vector>

#include "harness/confidence.hpp"

namespace fanin_perf {
namespace {

bool is_default(const row& r) { return r.who->strategy == "one_pass" && r.who->tuning.empty(); }

std::string in_a_program(const contender& who) {
  return fmt::format("gpu.with<fanin::cuda_strategy::{}>({})", who.strategy, who.tuning);
}

}  // namespace

std::string tuning_table(const run_result& result) {
  std::map<std::tuple<element, operation, std::int64_t, timing>, std::vector<const row*>> cases;
  for (const row& r : result.rows) {
    if (r.fault.empty()) cases[{r.type, r.op, r.n, r.how}].push_back(&r);
  }
  std::string text = fmt::format("{:<4} {:<14} {:>11} {:<6} {:>10} {:>10}  {:<20} {}\n", "type", "operation", "n",
                                 "timing", "default us", "best us", "times as fast", "as written in a program");
  for (const auto& [key, rows] : cases) {
    const row* own = nullptr;
    const row* best = nullptr;
    for (const row* r : rows) {
      if (is_default(*r)) own = r;
      if (best == nullptr || r->time_us < best->time_us) best = r;
    }
    if (own == nullptr) continue;
    const interval gain = paired_ratio(own->series_us, best->series_us);
    const auto& [type, op, n, how] = key;
    text += fmt::format("{:<4} {:<14} {:>11} {:<6} {:>10.2f} {:>10.2f}  ", name(type), name(op), n, name(how),
                        own->time_us, best->time_us);
    if (best == own || gain.low <= 1) {
      text += fmt::format("{:<20} {}\n", "", "the default is as fast as any");
    } else {
      text += fmt::format("{:<20} {}\n", fmt::format("{:.3f} ({:.3f} to {:.3f})", gain.mean, gain.low, gain.high),
                          in_a_program(*best->who));
    }
  }
  return text;
}

}  // namespace fanin_perf
