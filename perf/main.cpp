// SPDX-License-Identifier: Apache-2.0

// fanin-perf: compares reductions, each checked before it is timed.
// Exit: 0 all right, 1 a wrong answer, 2 a bad command line, input or environment.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>

#include "harness/build.hpp"
#include "harness/device.hpp"
#include "harness/json_report.hpp"
#include "harness/options.hpp"
#include "harness/registry.hpp"
#include "harness/runner.hpp"

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

  if (gpu == nullptr) leave_out_what_cannot_run(all.contenders, *chosen, why_not);
  if (std::none_of(all.contenders.begin(), all.contenders.end(),
                   [&](const contender& who) { return chosen->selects(who); })) {
    fmt::print(stderr, "fanin-perf: no contender is left of what was chosen; see --list\n");
    return 2;
  }
  if (!chosen->json.empty()) check_writable(chosen->json);

  const bool uses_kokkos = std::any_of(all.contenders.begin(), all.contenders.end(),
                                       [](const contender& who) { return who.backend.starts_with("kokkos"); });
  const std::shared_ptr<void> kokkos = uses_kokkos ? start_kokkos() : nullptr;
  const run_result result = run_all(*chosen, all.contenders, gpu.get());
  if (result.rows.empty()) {
    fmt::print(stderr, "fanin-perf: no contender offers what was chosen; see --list\n");
    return 2;
  }

  if (chosen->json.empty()) {
    fmt::print("{}", to_table(result));
  } else {
    write_json(chosen->json, result, *chosen, all.versions, gpu.get());
    fmt::print("fanin-perf: {} measurements written to {}\n", result.rows.size(), chosen->json);
  }
  if (!result.all_right) {
    fmt::print(stderr, "fanin-perf: there were WRONG answers\n");
    return 1;
  }
  return 0;
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
