// SPDX-License-Identifier: Apache-2.0
#include "loop/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/json_report.hpp"
#include "harness/numbers.hpp"
#include "harness/options.hpp"

namespace fanin_perf::cg {
namespace {

using json = nlohmann::ordered_json;

bool same_case(const row& a, const row& b) { return a.type == b.type && a.n == b.n && a.how == b.how; }

// The ratio to the fastest peer of a form; null where there is none.
const ratio* to_fastest(const row& r, std::string_view form) {
  const ratio* found = nullptr;
  for (const ratio& one : r.ratios) {
    if (one.peer->form == form && (found == nullptr || one.times.mean < found->times.mean)) found = &one;
  }
  return found;
}

std::string ratio_text(const ratio* one) {
  if (one == nullptr) return {};
  return fmt::format("{:.2f} ({:.2f} to {:.2f}) {}", one->times.mean, one->times.low, one->times.high,
                     one->peer->library);
}

// Null where there was one series only.
json within_percent(const interval& found) {
  return std::isfinite(found.high) ? json(rounded(found.half_width() * 100, 3)) : json(nullptr);
}

json row_to_json(const row& r) {
  json out{{"library", r.who->library}, {"form", r.who->form}};
  if (!r.fault.empty()) {
    out["fault"] = r.fault;
    return out;
  }
  const interval mean = geometric_mean(r.series_us);
  out["time_us"] = rounded(r.time_us, 5);
  out["mean_us"] = rounded(mean.mean, 5);
  out["within_percent"] = within_percent(mean);
  if (r.who->is_kernels) return out;
  out["error"] = rounded(r.error, 2);
  if (r.kernels.mean > 0) {
    out["kernels_share"] = rounded(r.kernels.mean, 4);
    out["kernels_within_percent"] = within_percent(r.kernels);
  }
  for (const ratio& one : r.ratios) {
    out["ratios"][one.peer->label()] = {rounded(one.times.mean, 4), within_percent(one.times)};
  }
  return out;
}

}  // namespace

std::string to_table(const std::vector<row>& rows) {
  std::string text = fmt::format("{:>9} {:<4} {:<8} {:<24} {:>11} {:>7} {:>11}  {:<32} {}\n", "points", "type", "mode",
                                 "form", "iteration", "within", "reductions", "x arrays of", "x fused of");
  for (const row& r : rows) {
    text += fmt::format("{:>9} {:<4} {:<8} {:<24} ", r.n, fanin_perf::name(r.type), name(r.how), r.who->label());
    if (!r.fault.empty()) {
      text += "WRONG: " + r.fault + "\n";
      continue;
    }
    const interval mean = geometric_mean(r.series_us);
    const std::string within = std::isfinite(mean.high) ? fmt::format("{:.1f}%", mean.half_width() * 100) : "";
    const std::string share = r.kernels.mean > 0 ? fmt::format("{:.0f}%", (1 - r.kernels.mean) * 100) : "";
    text += fmt::format("{:>8.2f} us {:>7} {:>11}  {:<32} {}\n", r.time_us, within, share,
                        ratio_text(to_fastest(r, "arrays")), ratio_text(to_fastest(r, "fused")));
  }
  return text;
}

std::string to_json(const std::vector<row>& rows, const options& chosen,
                    const std::map<std::string, std::string>& versions, const device* gpu) {
  json meta = json::parse(describe_machine(versions, gpu));
  meta["program"] = "fanin-perf-cg";
  meta["series"] = chosen.series;
  meta["iterations"] = chosen.iterations;
  meta["quick"] = chosen.quick;
  // A line for each row, so that two runs can be compared by line.
  std::string to = fmt::format("{{\n\"meta\": {},\n\"cases\": [", meta.dump(1));
  for (auto at = rows.begin(); at != rows.end(); ++at) {
    const bool goes_on = at != rows.begin() && same_case(*std::prev(at), *at);
    if (!goes_on) {
      if (at != rows.begin()) to += "]},";
      std::string facts = json{{"n", at->n}, {"type", fanin_perf::name(at->type)}, {"mode", name(at->how)}}.dump();
      facts.pop_back();
      to += "\n" + facts + ",\"rows\":[";
    }
    to += (goes_on ? ",\n" : "\n") + row_to_json(*at).dump();
  }
  return to + (rows.empty() ? "" : "]}") + "\n]\n}\n";
}

}  // namespace fanin_perf::cg
