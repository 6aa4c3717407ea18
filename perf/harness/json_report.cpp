// SPDX-License-Identifier: Apache-2.0
#include "harness/json_report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <fanin/config.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "fanin_perf_commit.hpp"
#include "harness/build.hpp"
#include "harness/host.hpp"
#include "harness/numbers.hpp"

namespace fanin_perf {
namespace {

using json = nlohmann::ordered_json;

// Values are text, since JSON has no NaN, no infinity and no certain 64-bit integers.
json answer_to_json(const answer& a, operation op) {
  json out{{"value", to_text(a)}};
  if (has_index(op)) out["index"] = a.index;
  if (op != operation::several) return out;
  for (std::size_t k = 0; k < a.more.size(); ++k) {
    out[std::string(name(several_operations[k + 1]))] = to_text(a.more[k]);
  }
  return out;
}

// An entry of "ways": whose reduction it is, and what is timed.
json way_to_json(const contender& who, timing how) {
  return {{"contender", who.name},
          {"backend", who.backend},
          {"strategy", who.strategy},
          {"form", who.form},
          {"label", who.label()},
          {"place", name(who.where)},
          {"destination", name(who.to)},
          {"timing", name(how)},
          {"statistic", who.where == place::gpu ? "median" : "min"},
          {"is_peer", who.is_peer},
          {"is_kokkos_baseline", who.is_baseline}};
}

using ways = std::vector<std::pair<const contender*, timing>>;

ways ways_of(const std::vector<row>& rows) {
  ways found;
  for (const row& r : rows) {
    if (std::find(found.begin(), found.end(), ways::value_type(r.who, r.how)) == found.end()) {
      found.emplace_back(r.who, r.how);
    }
  }
  return found;
}

std::ptrdiff_t number_of(const contender* who, timing how, const ways& all) {
  return std::find(all.begin(), all.end(), ways::value_type(who, how)) - all.begin();
}

// How far the 95 % bounds are from the mean, as a factor in per cent; null where there was one series only.
json within_percent(const interval& found, int digits) {
  return std::isfinite(found.high) ? json(rounded(found.half_width() * 100, digits)) : json(nullptr);
}

// The values under "columns", without those that it has not at the end.
json row_to_json(const row& r, const ways& all) {
  json out = json::array({number_of(r.who, r.how, all)});
  if (r.fault.empty()) {
    const interval mean = geometric_mean(r.series_us);
    out.push_back(rounded(r.time_us, 5));
    out.push_back(rounded(mean.mean, 4));
    out.push_back(within_percent(mean, 2));
  } else {
    out.insert(out.end(), {nullptr, nullptr, nullptr});
  }
  json ratios = json::array();
  for (const peer_ratio& ratio : r.ratios) {
    ratios.push_back({number_of(ratio.peer, r.how, all), rounded(ratio.times.mean, 4), within_percent(ratio.times, 2)});
  }
  out.push_back(std::move(ratios));
  if (r.input < 0 && r.fault.empty()) return out;
  json got = answer_to_json(r.got, r.op);
  if (r.input >= 0 && has_index(r.op)) got["numpy_index"] = r.numpy_index;
  out.push_back(std::move(got));
  out.push_back(r.bound);
  if (!r.fault.empty()) out.push_back(r.fault);
  return out;
}

// What rows of one case have in common; these stand beside each other. Data are named where they are not uniform.
json case_to_json(const row& r) {
  json out{{"operation", name(r.op)},
           {"type", name(r.type)},
           {"n", r.n},
           {"bytes", r.bytes},
           {"input", r.input < 0 ? json(nullptr) : json(r.input)},
           {"reference", r.fault.empty() ? answer_to_json(r.right, r.op) : json(nullptr)}};
  if (r.kind != data_kind{}) out["data"] = to_text(r.kind);
  return out;
}

// By timing: the time of the kernel that stood before each call, which was taken off.
void add_kernels(std::vector<row>::const_iterator at, std::vector<row>::const_iterator end, json& facts) {
  for (; at != end; ++at) {
    if (at->kernel_us > 0) facts["kernel_us"][std::string(name(at->how))] = rounded(at->kernel_us, 4);
  }
}

bool same_case(const row& a, const row& b) {
  return a.op == b.op && a.type == b.type && a.n == b.n && a.input == b.input && a.kind == b.kind;
}

json input_to_json(const input_facts& facts) {
  return {{"file", facts.file},
          {"array", facts.array},
          {"label", facts.label()},
          {"dtype", facts.dtype},
          {"type", name(facts.type)},
          {"note", facts.note},
          {"shape", facts.shape},
          {"fortran_order", facts.fortran_order},
          {"n", facts.n},
          {"has_nan", facts.has_nan},
          {"left_out", facts.left_out}};
}

json machine_to_json(const std::map<std::string, std::string>& versions, const device* gpu) {
  const host_facts host = look_at_host();
  json meta{
      {"fanin", FANIN_VERSION_STRING},
      {"commit", FANIN_PERF_COMMIT},
      {"dirty", FANIN_PERF_DIRTY != 0},
      {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"compiler", FANIN_PERF_COMPILER},
      {"build_type", FANIN_PERF_BUILD_TYPE},
      {"host",
       {{"cpu", host.cpu}, {"threads", host.hardware_threads}, {"last_level_cache_bytes", host.last_level_cache}}},
      {"versions", versions}};
  if (gpu == nullptr) {
    meta["gpu"] = nullptr;
    return meta;
  }
  const device_facts& facts = gpu->facts();
  meta["gpu"] = {{"name", facts.gpu},
                 {"driver", facts.driver},
                 {"cuda_driver", facts.cuda_driver},
                 {"cuda_runtime", facts.cuda_runtime},
                 {"cuda_compiler", FANIN_PERF_CUDA_COMPILER},
                 {"multiprocessors", facts.multiprocessors},
                 {"memory_bytes", facts.memory},
                 {"l2_bytes", facts.l2_bytes}};
  return meta;
}

json meta_to_json(const options& chosen, const std::map<std::string, std::string>& versions, const device* gpu) {
  json meta = machine_to_json(versions, gpu);
  meta["program"] = "fanin-perf";
  meta["seed"] = chosen.seed;
  meta["series"] = chosen.series;
  meta["quick"] = chosen.quick;
  return meta;
}

json limits_to_json(const limits& found) {
  json out = json::object();
  if (found.host_gbs > 0) {
    out["host"] = {{"read_gbs", found.host_gbs},
                   {"read_one_thread_gbs", found.host_one_thread_gbs},
                   {"how",
                    "read of 512 MiB in passes of 64 and 512 MiB by all threads, each one stream with eight "
                    "accumulators, and eight pages at once; best pass"}};
  }
  if (found.device_gbs > 0) {
    out["device"] = {
        {"read_gbs", found.device_gbs},
        {"how", "plain 16-byte loads over 4 GiB, 512 threads, 4 loads in flight, 4 blocks an SM, best of 20"},
        {"blocking_floor_us", found.device_blocking_floor_us},
        {"blocking_floor_how", "an empty kernel and a wait for its stream, median of 1000"}};
  }
  return out;
}

std::string size_text(std::int64_t n) {
  for (int k = 10; k <= 40; ++k) {
    if (n == std::int64_t{1} << k) return fmt::format("2^{}", k);
  }
  return fmt::format("{}", n);
}

}  // namespace

std::string contender::label() const {
  std::string text = name;
  if (!strategy.empty()) text += " " + strategy;
  if (!form.empty() && form != "span") text += ", " + form;
  if (!tuning.empty()) text += " " + tuning;
  if (backend.starts_with("kokkos-")) {
    text += " " + (name == "kokkos" ? backend.substr(std::string_view("kokkos-").size()) : backend);
  }
  return text;
}

std::string input_facts::label() const {
  const std::string base = std::filesystem::path(file).filename().string();
  return array.empty() ? base : array + " of " + base;
}

void check_writable(const std::string& file) {
  const bool was_there = std::ifstream(file).good();
  if (!std::ofstream(file, std::ios::app)) {
    throw std::runtime_error("cannot write " + file + ": check its folder and permissions");
  }
  if (!was_there) std::remove(file.c_str());
}

std::string describe_machine(const std::map<std::string, std::string>& versions, const device* gpu) {
  return machine_to_json(versions, gpu).dump();
}

std::string to_json(const run_result& result, const options& chosen, const std::map<std::string, std::string>& versions,
                    const device* gpu) {
  // A line for each input, way, case and row, so that two runs can be compared by line.
  std::string to = fmt::format("{{\n\"schema\": {},\n\"meta\": {},\n\"limits\": {},\n\"inputs\": [", json_schema,
                               meta_to_json(chosen, versions, gpu).dump(1), limits_to_json(result.bandwidth).dump(1));
  const char* separator = "\n";
  for (const input_facts& facts : result.inputs) {
    to += separator + input_to_json(facts).dump();
    separator = ",\n";
  }
  const ways all = ways_of(result.rows);
  to += "\n],\n\"ways\": [";
  separator = "\n";
  for (const auto& [who, how] : all) {
    to += separator + way_to_json(*who, how).dump();
    separator = ",\n";
  }
  to += fmt::format("\n],\n\"columns\": {},\n\"cases\": [", json(json_columns).dump());
  for (auto at = result.rows.begin(); at != result.rows.end();) {
    const auto end = std::find_if_not(at, result.rows.end(), [&](const row& r) { return same_case(r, *at); });
    const auto right = std::find_if(at, end, [](const row& r) { return r.fault.empty(); });
    json of_case = case_to_json(right == end ? *at : *right);
    add_kernels(at, end, of_case);
    std::string facts = of_case.dump();
    facts.back() = ',';
    to += (at == result.rows.begin() ? "\n" : ",\n") + facts + "\"rows\":[";
    separator = "\n";
    for (; at != end; ++at) {
      to += separator + row_to_json(*at, all).dump();
      separator = ",\n";
    }
    to += "]}";
  }
  return to + "\n]\n}\n";
}

void write_json(const std::string& file, const run_result& result, const options& chosen,
                const std::map<std::string, std::string>& versions, const device* gpu) {
  std::ofstream to(file);
  to << to_json(result, chosen, versions, gpu);
  to.close();
  if (!to) throw std::runtime_error("cannot write " + file + ": check its folder, permissions and space");
}

std::string to_table(const run_result& result) {
  std::string text = fmt::format("{:>8} {:<4} {:<14} {:<34} {:<6} {:<17} {:>11} {:>9} {:>6} {:>9}\n", "n", "type",
                                 "operation", "contender", "to", "timing", "time us", "GB/s", "limit", "x Kokkos");
  data_kind kind;
  for (const row& r : result.rows) {
    if (r.kind != kind) text += fmt::format("data: {}\n", to_text(r.kind));
    kind = r.kind;
    text += fmt::format("{:>8} {:<4} {:<14} {:<34} {:<6} {:<17} ", size_text(r.n), name(r.type), name(r.op),
                        r.who->label(), name(r.who->to), name(r.how));
    if (!r.fault.empty()) {
      text += "WRONG: " + r.fault + "\n";
      continue;
    }
    text += fmt::format("{:>11.2f} {:>9.2f} {:>5.0f}% {:>9}\n", r.time_us, r.gbs, r.share_of_limit * 100,
                        r.ratio_to_kokkos ? fmt::format("{:.2f}", *r.ratio_to_kokkos) : "");
  }
  return text;
}

}  // namespace fanin_perf
