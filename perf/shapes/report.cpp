// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/confidence.hpp"
#include "harness/json_report.hpp"
#include "harness/numbers.hpp"
#include "shapes/run.hpp"

namespace fanin_perf::shapes {

std::string table_head() {
  return fmt::format("{:<26} {:<5} {:<16} {:>12} {:>9}  {}\n", "shape", "type", "contender", "us", "GB/s",
                     "peers' times, of this one's");
}

std::string to_table(const std::vector<row>& rows) {
  std::string table;
  for (const row& one : rows) {
    table += fmt::format("{:<26} {:<5} {:<16} ", one.of.text(), name(one.type), one.who->name);
    if (!one.fault.empty()) {
      table += one.fault + "\n";
      continue;
    }
    table += fmt::format("{:>12.2f} {:>9.2f} ", one.time_us, one.gb_per_s);
    for (const ratio& beside : one.ratios) {
      table += fmt::format(" {} {:.2f} ({:.2f}..{:.2f})", beside.peer->name, beside.times.mean, beside.times.low,
                           beside.times.high);
    }
    if (!one.before.what.empty()) table += "  before: " + one.before.what;
    if (one.before.us > 0) table += fmt::format(" {:.1f} us", one.before.us);
    table += "\n";
  }
  return table;
}

std::string to_json(const std::vector<row>& rows, const options& chosen, const registry& all, const device* gpu) {
  nlohmann::ordered_json root;
  root["meta"] = nlohmann::ordered_json::parse(describe_machine(all.versions, gpu));
  root["meta"]["series"] = chosen.series;
  if (!chosen.input.empty()) root["meta"]["input"] = chosen.input;
  for (const row& one : rows) {
    nlohmann::ordered_json entry{{"shape", one.of.text()}, {"type", name(one.type)}, {"contender", one.who->name}};
    if (one.of.given != nullptr) {
      entry["results"] = one.of.results();
      entry["elements"] = one.of.elements();
    }
    if (one.fault.empty()) {
      entry["time_us"] = rounded(one.time_us, 4);
      entry["gb_per_s"] = rounded(one.gb_per_s, 4);
      const interval mean = geometric_mean(one.series_us);
      entry["mean_us"] = rounded(mean.mean, 4);
      if (std::isfinite(mean.high)) entry["within_percent"] = rounded(mean.half_width() * 100, 3);
      if (!one.before.what.empty()) entry["before"] = one.before.what;
      if (one.before.us > 0) entry["before_us"] = rounded(one.before.us, 4);
      for (const ratio& beside : one.ratios) {
        entry["ratios"][beside.peer->name] = {rounded(beside.times.mean, 4), rounded(beside.times.low, 4),
                                              rounded(beside.times.high, 4)};
      }
    } else {
      entry["fault"] = one.fault;
    }
    root["rows"].push_back(entry);
  }
  // A file's name may be no UTF-8.
  std::string text = root.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  for (std::size_t at = text.find("{\"shape\""); at != std::string::npos; at = text.find("{\"shape\"", at + 2)) {
    text.insert(at, "\n");  // a row a line
  }
  return text;
}

}  // namespace fanin_perf::shapes
