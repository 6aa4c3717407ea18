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

constexpr std::array peers{"cub", "kokkos"};  // the first that there is
constexpr double least_noise = 0.03;
constexpr std::size_t most_listed = 10;  // of each verdict but slower

stored_row read_row(const json& r, const json& inputs) {
  const auto text = [&](const char* key) { return r.at(key).get<std::string>(); };
  stored_row row;
  row.contender = text("contender");
  row.who =
      fmt::format("{}/{}/{}/{}/{}", row.contender, text("backend"), text("strategy"), text("form"), text("place"));
  const std::string input =
      r.at("input").is_null() ? "" : inputs.at(r.at("input").get<std::size_t>()).at("label").get<std::string>();
  const std::string of = fmt::format("{}{}{} {} of {}", input, input.empty() ? "" : ": ", text("type"),
                                     text("operation"), r.at("n").get<std::int64_t>());
  row.what = fmt::format("{} to {} ({})", of, text("destination"), text("timing"));
  row.title = fmt::format("{}, {} to {} ({})", of, text("label"), text("destination"), text("timing"));
  row.series_us = r.at("series_us").get<std::vector<double>>();
  if (row.series_us.empty() ||
      std::any_of(row.series_us.begin(), row.series_us.end(), [](double us) { return !(us > 0); })) {
    throw std::runtime_error("a row has no times: " + row.title);
  }
  return row;
}

stored_run read_run(const json& all) {
  if (all.at("schema") != json_schema || all.at("meta").at("program") != "fanin-perf") {
    throw std::runtime_error(fmt::format("not of schema {}", json_schema));
  }
  stored_run run;
  const json& meta = all.at("meta");
  if (!meta.at("gpu").is_null()) run.machine_gpu = meta.at("gpu").at("name").get<std::string>();
  run.machine_cpu = meta.at("host").at("cpu").get<std::string>();
  run.made_by = meta.at("commit").get<std::string>().substr(0, 12) + ", " + meta.at("date").get<std::string>();
  for (const json& r : all.at("rows")) {
    if (r.at("ok").get<bool>()) run.rows.push_back(read_row(r, all.at("inputs")));
  }
  return run;
}

double noise(const interval& a, const interval& b) {
  return std::max(least_noise, 2 * std::max(a.half_width(), b.half_width()));
}

bool above(const interval& a, const interval& b) { return a.low > b.high * (1 + noise(a, b)); }

// The row of CUB, else of Kokkos, beside this one.
const stored_row* peer_of(const stored_row& row, const std::vector<const stored_row*>& beside,
                          std::string_view contender) {
  const auto place = [](const stored_row& r) { return std::string_view(r.who).substr(r.who.rfind('/')); };
  for (const stored_row* other : beside) {
    if (other->contender == contender && row.contender != contender && place(*other) == place(row)) return other;
  }
  return nullptr;
}

using rows_by_case = std::map<std::string_view, std::vector<const stored_row*>>;

rows_by_case by_case(const stored_run& run) {
  rows_by_case found;
  for (const stored_row& row : run.rows) found[row.what].push_back(&row);
  return found;
}

compared_row compare_rows(const stored_row& before, const std::vector<const stored_row*>& beside_before,
                          const stored_row& now, const std::vector<const stored_row*>& beside_now) {
  compared_row out;
  out.title = now.title;
  out.before = geometric_mean(before.series_us);
  out.now = geometric_mean(now.series_us);
  for (const char* const peer : peers) {
    out.is_peer = out.is_peer || now.contender == peer;
  }
  for (const char* const peer : peers) {
    const stored_row* const peer_before = peer_of(before, beside_before, peer);
    const stored_row* const peer_now = peer_of(now, beside_now, peer);
    if (peer_before == nullptr || peer_now == nullptr) continue;
    out.peer = peer;
    out.ratio_before = paired_ratio(peer_before->series_us, before.series_us);
    out.ratio_now = paired_ratio(peer_now->series_us, now.series_us);
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
    throw std::runtime_error(file + " is nothing that fanin-perf --json wrote: " + error.what());
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
  const rows_by_case cases_before = by_case(before);
  const rows_by_case cases_now = by_case(now);
  comparison found;
  for (const stored_row& row : now.rows) {
    const auto at = cases_before.find(row.what);
    const stored_row* same = nullptr;
    if (at != cases_before.end()) {
      const auto is_it = [&](const stored_row* other) { return other->who == row.who; };
      const auto where = std::find_if(at->second.begin(), at->second.end(), is_it);
      if (where != at->second.end()) same = *where;
    }
    if (same == nullptr) {
      ++found.only_now;
      continue;
    }
    found.rows.push_back(compare_rows(*same, at->second, row, cases_now.at(row.what)));
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
