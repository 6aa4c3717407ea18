// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

/// What programs over ranks print and write.
namespace fanin_perf_ranks {

inline double median_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Prints the median of times in us, and puts it into the JSON, in whole nanoseconds.
inline void report_median(const std::string& name, const std::vector<double>& times, nlohmann::ordered_json& json) {
  const double time = median_of(times);
  std::printf("%-44s %10.2f us\n", name.c_str(), time);
  json["medians"][name] = std::round(time * 1000) / 1000;
}

/// False, with words, where it cannot be written; without a path there is nothing to write.
inline bool write_json(const nlohmann::ordered_json& json, const std::string& path) {
  if (path.empty()) return true;
  std::ofstream file(path);
  file << json.dump() << '\n';
  if (file.flush()) return true;
  std::fprintf(stderr, "%s cannot be written\n", path.c_str());
  return false;
}

}  // namespace fanin_perf_ranks
