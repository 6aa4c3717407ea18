// SPDX-License-Identifier: Apache-2.0
#include "harness/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "harness/json_report.hpp"

namespace fanin_perf {
namespace {

using json = nlohmann::json;

constexpr std::array peers{"cub", "kokkos"};  // the first that both runs have
constexpr double least_noise = 0.03;
constexpr std::size_t most_listed = 10;  // of each verdict but slower

// `percent` is null where there were no bounds.
interval read_interval(const json& mean, const json& percent) {
  interval found{.mean = mean.get<double>()};
  if (!(found.mean > 0)) throw std::runtime_error("a time or ratio is not above 0");
  if (percent.is_null()) return found;
  const double factor = 1 + percent.get<double>() / 100;
  if (!(factor >= 1)) throw std::runtime_error("bounds lie on the wrong sides of their mean");
  found.low = found.mean / factor;
  found.high = found.mean * factor;
  return found;
}

stored_row read_row(const json& row, const json& of_case, const json& ways, const std::string& input) {
  const json& way = ways.at(row.at(0).get<std::size_t>());
  const auto text = [&](const char* key) { return way.at(key).get<std::string>(); };
  stored_row found;
  found.contender = text("contender");
  found.is_peer = way.at("is_peer").get<bool>();
  found.who =
      fmt::format("{}/{}/{}/{}/{}", found.contender, text("backend"), text("strategy"), text("form"), text("place"));
  const std::string data = of_case.value("data", input);
  const std::string of =
      fmt::format("{}{}{} {} of {}", data, data.empty() ? "" : ": ", of_case.at("type").get<std::string>(),
                  of_case.at("operation").get<std::string>(), of_case.at("n").get<std::int64_t>());
  found.what = fmt::format("{} to {} ({})", of, text("destination"), text("timing"));
  found.title = fmt::format("{}, {} to {} ({})", of, text("label"), text("destination"), text("timing"));
  found.time_us = read_interval(row.at(2), row.at(3));
  for (const json& ratio : row.at(4)) {
    const json& peer = ways.at(ratio.at(0).get<std::size_t>());
    found.ratios.emplace(peer.at("contender").get<std::string>(), read_interval(ratio.at(1), ratio.at(2)));
  }
  return found;
}

stored_run read_run(const json& all) {
  if (all.at("meta").at("program") != "fanin-perf") throw std::runtime_error("another program wrote it");
  if (all.at("schema") != json_schema || all.at("columns") != json(json_columns)) {
    throw std::runtime_error(fmt::format("it is of schema {}, this fanin-perf reads and writes {}: measure again",
                                         all.at("schema").dump(), json_schema));
  }
  stored_run run;
  const json& meta = all.at("meta");
  if (!meta.at("gpu").is_null()) run.machine_gpu = meta.at("gpu").at("name").get<std::string>();
  run.machine_cpu = meta.at("host").at("cpu").get<std::string>();
  run.made_by = meta.at("commit").get<std::string>().substr(0, 12) + ", " + meta.at("date").get<std::string>();
  for (const json& of_case : all.at("cases")) {
    const json& input = of_case.at("input");
    const std::string label =
        input.is_null() ? "" : all.at("inputs").at(input.get<std::size_t>()).at("label").get<std::string>();
    for (const json& row : of_case.at("rows")) {
      // A wrong answer has no time.
      if (!row.at(1).is_null()) run.rows.push_back(read_row(row, of_case, all.at("ways"), label));
    }
  }
  return run;
}

double noise(const interval& a, const interval& b) {
  return std::max(least_noise, 2 * std::max(a.half_width(), b.half_width()));
}

bool above(const interval& a, const interval& b) { return a.low > b.high * (1 + noise(a, b)); }

compared_row compare_rows(const stored_row& before, const stored_row& now) {
  compared_row out;
  out.title = now.title;
  out.before = before.time_us;
  out.now = now.time_us;
  out.is_peer = now.is_peer;
  for (const char* const peer : peers) {
    const auto ratio_before = before.ratios.find(peer);
    const auto ratio_now = now.ratios.find(peer);
    if (ratio_before == before.ratios.end() || ratio_now == now.ratios.end()) continue;
    out.peer = peer;
    out.ratio_before = ratio_before->second;
    out.ratio_now = ratio_now->second;
    break;
  }
  if (above(out.before, out.now)) {
    out.found = verdict::faster;
  } else if (above(out.now, out.before)) {
    const bool fell = !out.is_peer && (out.peer.empty() || above(out.ratio_before, out.ratio_now));
    out.found = fell ? verdict::slower : verdict::drifted;
  }
  return out;
}

std::string words_for(const compared_row& row) {
  switch (row.found) {
    case verdict::same: return "same";
    case verdict::faster: return "faster";
    case verdict::slower: return "SLOWER";
    case verdict::drifted: break;
  }
  return row.is_peer ? "slower, itself a peer" : "slower, within the noise beside " + row.peer;
}

std::string line_of(const compared_row& row) {
  std::string text = fmt::format("  {:<72} {:>10.2f} {:>10.2f} {:>7.3f}  ", row.title, row.before.mean, row.now.mean,
                                 row.now.mean / row.before.mean);
  text += words_for(row);
  if (!row.peer.empty()) {
    text += fmt::format(" ({} over it: {:.2f}, was {:.2f})", row.peer, row.ratio_now.mean, row.ratio_before.mean);
  }
  return text + "\n";
}

}  // namespace

stored_run as_stored_run(const std::string& text) { return read_run(json::parse(text)); }

stored_run read_stored_run(const std::string& file) {
  std::ifstream from(file);
  if (!from) throw std::runtime_error("cannot read " + file + ": check its name and permissions");
  const std::string text((std::istreambuf_iterator<char>(from)), std::istreambuf_iterator<char>());
  try {
    return as_stored_run(text);
  } catch (const std::exception& error) {
    throw std::runtime_error(file + " cannot be read as what fanin-perf --json writes: " + error.what());
  }
}

std::string machine_difference(const stored_run& stored, const std::string& gpu, const std::string& cpu) {
  const auto named = [](const std::string& name) { return name.empty() ? std::string("none") : "\"" + name + "\""; };
  std::string text;
  if (stored.machine_gpu != gpu) {
    text = fmt::format("its GPU is {}, the one here is {}", named(stored.machine_gpu), named(gpu));
  }
  if (stored.machine_cpu != cpu) {
    text += fmt::format("{}its host is {}, the one here is {}", text.empty() ? "" : "; ", named(stored.machine_cpu),
                        named(cpu));
  }
  return text;
}

comparison compare(const stored_run& before, const stored_run& now) {
  std::map<std::pair<std::string_view, std::string_view>, const stored_row*> stored;
  for (const stored_row& row : before.rows)
    stored.emplace(std::pair<std::string_view, std::string_view>(row.who, row.what), &row);
  comparison found;
  for (const stored_row& row : now.rows) {
    const auto same = stored.find({row.who, row.what});
    if (same == stored.end()) {
      ++found.only_now;
    } else {
      found.rows.push_back(compare_rows(*same->second, row));
    }
  }
  return found;
}

int comparison::count(verdict which) const {
  return static_cast<int>(
      std::count_if(rows.begin(), rows.end(), [=](const compared_row& row) { return row.found == which; }));
}

std::string comparison::text(const stored_run& stored, const std::string& file) const {
  std::string text =
      fmt::format("against {} ({}): {} rows, {} slower, {} slower with the machine, {} faster", file, stored.made_by,
                  rows.size(), count(verdict::slower), count(verdict::drifted), count(verdict::faster));
  text += only_now == 0 ? "\n" : fmt::format("; {} more are not in it\n", only_now);
  if (count(verdict::same) == static_cast<int>(rows.size())) return text;
  text += fmt::format("  {:<72} {:>10} {:>10} {:>7}  verdict\n", "", "then us", "now us", "factor");
  for (const verdict which : {verdict::slower, verdict::drifted, verdict::faster}) {
    std::vector<const compared_row*> those;
    for (const compared_row& row : rows) {
      if (row.found == which) those.push_back(&row);
    }
    const auto change = [](const compared_row* row) { return std::abs(std::log(row->now.mean / row->before.mean)); };
    std::stable_sort(those.begin(), those.end(),
                     [&](const compared_row* a, const compared_row* b) { return change(a) > change(b); });
    const std::size_t shown = which == verdict::slower ? those.size() : std::min(those.size(), most_listed);
    for (std::size_t k = 0; k < shown; ++k) text += line_of(*those[k]);
    if (shown < those.size()) text += fmt::format("  and {} like this\n", those.size() - shown);
  }
  return text;
}

}  // namespace fanin_perf
