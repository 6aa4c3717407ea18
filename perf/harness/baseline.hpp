// SPDX-License-Identifier: Apache-2.0
#pragma once

// --baseline: this run against one that was stored, row by row.

#include <map>
#include <string>
#include <vector>

#include "harness/confidence.hpp"
#include "harness/result.hpp"

namespace fanin_perf {

/// A row as the JSON has it.
struct stored_row {
  std::string contender;
  std::string who;   ///< backend, label, form, place
  std::string what;  ///< type, operation, size, input, destination, timing
  std::string title;
  bool is_peer = false;
  interval time_us;                        ///< the geometric mean of its series
  std::map<std::string, interval> ratios;  ///< peer's time over this one's, by contender
};

/// What of a run is compared: its rows whose answers were right, and the machine.
struct stored_run {
  std::string machine_gpu;  ///< empty: none
  std::string machine_cpu;
  std::string made_by;  ///< commit and date
  std::vector<stored_row> rows;
};

/// Reads what write_json() wrote, throws std::runtime_error in words for anything else.
stored_run read_stored_run(const std::string& file);

/// The same of the run at hand, as text that write_json() would write.
stored_run as_stored_run(const std::string& json);

/// In which the machines differ, in words; empty where times can be compared.
std::string machine_difference(const stored_run& stored, const std::string& gpu, const std::string& cpu);

enum class verdict : unsigned char { same, faster, slower, drifted };

struct compared_row {
  std::string title;
  interval before;
  interval now;
  verdict found = verdict::same;
  bool is_peer = false;   ///< a row of a library that others are compared with
  std::string peer;       ///< the contender beside which `found` was looked at; empty: there was none in both runs
  interval ratio_before;  ///< peer's time over this one's
  interval ratio_now;
};

struct comparison {
  std::vector<compared_row> rows;
  int only_now = 0;  ///< rows that the stored run has not

  int count(verdict which) const;
  std::string text(const stored_run& stored, const std::string& file) const;
};

/// A time has become slower where its lower bound is above the stored upper bound by more than the noise, which is 3 %
/// or twice the wider of the two intervals' half widths; and, where a peer (CUB, else Kokkos) is beside it in both
/// runs, only if the ratio to the peer fell likewise. Otherwise the machine has changed, not the row: it has drifted.
/// So have the peers' own rows (Kokkos, CUB, cuBLAS), which are the measure: another version of theirs is nothing that
/// this library could mend.
comparison compare(const stored_run& before, const stored_run& now);

}  // namespace fanin_perf
