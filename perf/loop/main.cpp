// SPDX-License-Identifier: Apache-2.0

// fanin-perf-cg: what a reduction costs in the loop of a solver: iterations of conjugate gradients, in several forms.
// Exit: 0 all right, 1 a wrong answer, 2 a bad command line or environment.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/json_report.hpp"
#include "harness/options.hpp"
#include "loop/report.hpp"
#include "loop/run.hpp"

namespace {

using namespace fanin_perf;

constexpr const char* about =
    "Times iterations of conjugate gradients on a 7-point stencil (zeros around it), in several forms: reductions of "
    "arrays, fused with the kernels before them, and with alpha and beta finished in the same launch. Each form is "
    "compared with a serial solution first. With a GPU the forms on it, else those of the host.";

// Of fewer points the solution is exact before the last iteration, and what is left is noise.
constexpr std::int64_t fewest_points = 4096;

struct request {
  cg::options chosen;
  std::string json;
};

template <class Enum, class Table>
std::vector<Enum> to_enums(const std::vector<std::string>& given, const Table& names) {
  std::vector<Enum> found;
  for (const std::string& text : given) {
    found.push_back(static_cast<Enum>(std::find(names.begin(), names.end(), text) - names.begin()));
  }
  return found;
}

request read_command_line(CLI::App& app, int argc, char** argv, bool has_gpu) {
  request asked;
  std::string sizes = has_gpu ? "2^14..2^24" : "2^12..2^16";
  std::vector<std::string> types{"f64"};
  std::vector<std::string> modes(cg::mode_names.begin(), cg::mode_names.end());
  app.option_defaults()->always_capture_default();
  app.add_option("--sizes", sizes, "points of the box, powers of two of 2^12 at least: 2^14,2^16..2^20");
  app.add_option("--types", types, "f64, f32")->delimiter(',')->check(CLI::IsMember({"f64", "f32"}));
  app.add_option("--modes", modes,
                 "graph: all iterations as one; calls: enqueued; checked: r.r comes to the host in each iteration. "
                 "On the host there is checked alone")
      ->delimiter(',')
      ->check(CLI::IsMember({"graph", "calls", "checked"}));
  app.add_option("--libraries", asked.chosen.libraries, "fanin, cub, ... as the table names them; none: all")
      ->delimiter(',');
  app.add_option("--series", asked.chosen.series, "how often each is timed")->check(CLI::Range(1, 1000));
  app.add_option("--iterations", asked.chosen.iterations, "from the start; few enough not to converge")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--quick", asked.chosen.quick, "short series, to see that it runs");
  app.add_option("--json", asked.json, "a file for all figures; the table is printed anyway");
  app.parse(argc, argv);

  asked.chosen.sizes = parse_sizes(sizes);
  for (const std::int64_t n : asked.chosen.sizes) {
    if (n < fewest_points || !std::has_single_bit(static_cast<std::uint64_t>(n))) {
      throw std::invalid_argument(
          fmt::format("a box has {} points or a larger power of two, not {}", fewest_points, n));
    }
  }
  asked.chosen.types.clear();
  for (const std::string& text : types) asked.chosen.types.push_back(text == "f32" ? element::f32 : element::f64);
  asked.chosen.modes = to_enums<cg::mode>(modes, cg::mode_names);
  return asked;
}

int measure(const request& asked, device* gpu) {
  if (!asked.json.empty()) check_writable(asked.json);
  const cg::registry all = cg::all_contenders(gpu != nullptr);
  std::vector<std::string> libraries;
  for (const cg::contender& who : all.contenders) libraries.push_back(who.library);
  check_known("library", asked.chosen.libraries, libraries);
  const std::vector<cg::row> rows = cg::run_all(asked.chosen, all, gpu);
  fmt::print("{}", cg::to_table(rows));
  if (!asked.json.empty()) {
    std::ofstream to(asked.json);
    to << cg::to_json(rows, asked.chosen, all.versions, gpu);
    to.close();
    if (!to) throw std::runtime_error("cannot write " + asked.json + ": check its folder, permissions and space");
  }
  return std::all_of(rows.begin(), rows.end(), [](const cg::row& r) { return r.fault.empty(); }) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(about, "fanin-perf-cg");
  try {
    std::string why_not;
    const std::unique_ptr<device> gpu = open_device(why_not);
    const request asked = read_command_line(app, argc, argv, gpu != nullptr);
    if (gpu == nullptr) fmt::print(stderr, "fanin-perf-cg: {}: forms of the host\n", why_not);
    return measure(asked, gpu.get());
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "fanin-perf-cg: {}\n", error.what());
    return 2;
  }
}
