// SPDX-License-Identifier: Apache-2.0

// fanin-perf: compares reductions, each checked before it is timed.
// Exit: 0 all right, 1 a wrong answer, 2 a bad command line, input or environment, 3 slower than --baseline.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "harness/baseline.hpp"
#include "harness/build.hpp"
#include "harness/device.hpp"
#include "harness/host.hpp"
#include "harness/json_report.hpp"
#include "harness/options.hpp"
#include "harness/registry.hpp"
#include "harness/runner.hpp"
#include "harness/tuning.hpp"

namespace {

using namespace fanin_perf;

// Kokkos with CUDA cannot start where no GPU is; its host spaces are then left out, too.
void leave_out_what_cannot_run(contender_list& contenders, const options& chosen, const std::string& why_not) {
  bool missed = false;
  std::erase_if(contenders, [&](const contender& who) {
    const bool cannot = who.where == place::gpu || (FANIN_PERF_HAS_KOKKOS_CUDA && who.backend.starts_with("kokkos"));
    missed = missed || (cannot && chosen.selects(who));
    return cannot;
  });
  if (!missed) return;
  fmt::print(stderr, "fanin-perf: {}: contenders on the GPU are left out{}\n", why_not,
             FANIN_PERF_HAS_KOKKOS_CUDA ? ", and Kokkos, which this build has with CUDA" : "");
}

// Throws where there is nothing to compare with, so that it is known before anything is measured.
stored_run read_baseline(const std::string& file, const device* gpu) {
  stored_run stored = read_stored_run(file);
  const std::string difference =
      machine_difference(stored, gpu == nullptr ? std::string() : gpu->facts().gpu, look_at_host().cpu);
  if (!difference.empty()) throw std::runtime_error(file + " cannot be compared with: " + difference);
  return stored;
}

// Prints the comparison; whether nothing is slower.
bool holds_against(const stored_run& stored, const std::string& file, const stored_run& now) {
  const comparison found = compare(stored, now);
  if (found.rows.empty()) throw std::runtime_error("no row of this run is in " + file);
  fmt::print("{}", found.text(stored, file));
  return found.count(verdict::slower) == 0;
}

int run(int argc, char** argv) {
  registry all = all_contenders();
  std::string why_not;
  const std::unique_ptr<device> gpu = open_device(why_not);

  int exit_code = 0;
  const auto chosen = read_options(argc, argv, all.contenders, gpu != nullptr, exit_code);
  if (!chosen) return exit_code == 0 ? 0 : 2;
  if (chosen->list) {
    fmt::print("{}", describe_choices(all.contenders));
    return 0;
  }

  if (chosen->tune) {
    all.contenders = all_tunings().contenders;
    if (gpu == nullptr || all.contenders.empty()) {
      fmt::print(stderr, "fanin-perf: --tune needs a GPU and a build with CUDA{}\n",
                 gpu == nullptr ? ": " + why_not : std::string());
      return 2;
    }
  }
  if (gpu == nullptr) leave_out_what_cannot_run(all.contenders, *chosen, why_not);
  if (std::none_of(all.contenders.begin(), all.contenders.end(),
                   [&](const contender& who) { return chosen->selects(who); })) {
    fmt::print(stderr, "fanin-perf: no contender is left of what was chosen; see --list\n");
    return 2;
  }
  if (!chosen->json.empty()) check_writable(chosen->json);
  stored_run stored;
  if (!chosen->baseline.empty()) stored = read_baseline(chosen->baseline, gpu.get());

  const bool uses_kokkos = std::any_of(all.contenders.begin(), all.contenders.end(),
                                       [](const contender& who) { return who.backend.starts_with("kokkos"); });
  const std::shared_ptr<void> kokkos = uses_kokkos ? start_kokkos() : nullptr;
  const run_result result = run_all(*chosen, all.contenders, gpu.get());
  if (result.rows.empty()) {
    fmt::print(stderr, "fanin-perf: no contender offers what was chosen; see --list\n");
    return 2;
  }

  if (chosen->tune) fmt::print("{}", tuning_table(result));
  if (chosen->json.empty()) {
    if (!chosen->tune) fmt::print("{}", to_table(result));
  } else {
    write_json(chosen->json, result, *chosen, all.versions, gpu.get());
    fmt::print("fanin-perf: {} measurements written to {}\n", result.rows.size(), chosen->json);
  }
  if (!result.all_right) {
    fmt::print(stderr, "fanin-perf: there were WRONG answers\n");
    return 1;
  }
  if (chosen->baseline.empty()) return 0;
  const stored_run now = as_stored_run(to_json(result, *chosen, all.versions, gpu.get()));
  return holds_against(stored, chosen->baseline, now) ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fanin-perf: {}\n", error.what());
    return 2;
  }
}
