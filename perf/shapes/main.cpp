// SPDX-License-Identifier: Apache-2.0

// fanin-perf-shapes: sums of rows, of columns, of segments and over several dimensions, and products of sparse matrices
// and vectors, against what users of other libraries write.
// Exit: 0 all right, 1 a wrong answer, 2 a bad command line or environment.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/json_report.hpp"
#include "harness/options.hpp"
#include "shapes/input.hpp"
#include "shapes/run.hpp"

namespace {

using namespace fanin_perf;

constexpr const char* about =
    "Times sums of rows (rows:NxM), of columns (columns:NxM), of all but a halo (md:NxM, md:NxMxK), of the "
    "squares of a stencil within it (stencil:NxM, stencil:NxMxK), of rows by offsets "
    "(segments:NxM) and by keys (runs:NxM) of an array of N rows of M elements, from memory; of N segments of M "
    "elements on average whose lengths have a power law (powerlaw:NxM), or of which one has all elements "
    "(giant:NxM); of segments whose offsets are an array in a file (segments:FILE.npy, segments:FILE.npz:ARRAY); along "
    "the middle axis of three (middle:NxMxK); in and below a diagonal, a row an index (triangle:NxM); or along the "
    "axes of an array in a file. And products of a sparse matrix "
    "of N rows, compressed, and a vector: of a stencil on a box of N points (spmv:stencil7:N, spmv:stencil27:N), with "
    "lengths of rows by a power law (spmv:powerlaw:N) or one dense row among short ones (spmv:denserow:N). Each is "
    "compared with sums in double first. With a GPU as nodes of a CUDA graph, else on the host.";

// What the design asks for, of so many elements.
std::vector<shapes::shape> usual_shapes(std::int64_t elements) {
  std::vector<shapes::shape> found;
  for (const shapes::kind what : {shapes::kind::rows, shapes::kind::columns, shapes::kind::md}) {
    for (const std::int64_t m : {1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 72, 100, 256, 1000, 1024, 4096}) {
      if (what == shapes::kind::md && m < 64) continue;
      if (elements / m > (what == shapes::kind::md ? 2 : 0)) found.push_back({what, elements / m, m});
    }
    for (std::int64_t m = 16'384; m <= elements; m *= 4) {
      if (what != shapes::kind::md || elements / m > 2) found.push_back({what, elements / m, m});
    }
  }
  for (const std::int64_t m : {1, 4, 16, 64, 256, 4096, 65'536, 1'048'576}) {
    if (elements / m > 0) found.push_back({shapes::kind::segments, elements / m, m});
    if (elements / m > 0) found.push_back({shapes::kind::runs, elements / m, m});
  }
  for (const std::int64_t m : {4, 16, 256}) {
    if (elements / m > 0) found.push_back({shapes::kind::powerlaw, elements / m, m});
    if (elements / m > 0) found.push_back({shapes::kind::giant, elements / m, m});
  }
  for (const std::int64_t m : {4, 64, 1024}) {
    for (const std::int64_t inner : {2, 33, 256, 4096}) {
      if (elements / m / inner > 1) found.push_back({shapes::kind::middle, elements / m / inner, m, inner});
    }
  }
  for (const std::int64_t n : {4, 1}) {
    found.push_back({shapes::kind::segments, n, elements / n});
    found.push_back({shapes::kind::runs, n, elements / n});
  }
  return found;
}

struct request {
  shapes::options chosen;
  input_array array{};
  std::string json;
};

request read_command_line(CLI::App& app, int argc, char** argv, bool has_gpu) {
  request asked;
  std::vector<std::string> given;
  std::string elements = has_gpu ? "2^28" : "2^24";
  std::vector<std::string> types{"f64", "f32"};
  std::string file;
  std::string name;
  std::vector<std::int64_t> axes;
  app.option_defaults()->always_capture_default();
  app.add_option("--shapes", given,
                 "rows:2^20x256,middle:64x64x256,giant:2^20x16,segments:offsets.npy,spmv:stencil7:2^20; none: many of "
                 "--elements, without matrices")
      ->delimiter(',');
  app.add_option("--elements", elements, "of each shape, where none are named: 2^24,2^28");
  app.add_option("--types", types, "f64, f32")->delimiter(',')->check(CLI::IsMember({"f64", "f32"}));
  auto* const input = app.add_option("--input", file, "instead of shapes: the array in this .npy or .npz file");
  app.add_option("--array", name, "which one of an .npz; needed where it holds several")->needs(input);
  app.add_option("--axis", axes, "along which axes, counted from 0, or from the last one, -1, on; none: along each")
      ->delimiter(',')
      ->needs(input);
  for (const char* const of_synthetic : {"--shapes", "--elements", "--types"}) input->excludes(of_synthetic);
  app.add_option("--contenders", asked.chosen.contenders, "as the table names them; none: all")->delimiter(',');
  app.add_option("--series", asked.chosen.series, "how often each is timed")->check(CLI::Range(1, 1000));
  app.add_flag("--quick", asked.chosen.quick, "short series, to see that it runs");
  app.add_option("--json", asked.json, "a file for all figures; the table is printed anyway");
  app.parse(argc, argv);
  for (const std::string& text : given) asked.chosen.shapes.push_back(shapes::parse_shape(text));
  if (!file.empty()) {
    asked.array = load_array(file, name);
    asked.chosen.input = asked.array.source;
    asked.chosen.numbers = asked.array.data.data();
    asked.chosen.types = {shapes::type_of(asked.array)};
    for (std::int64_t axis = 0; axes.empty() && axis < std::int64_t(asked.array.shape.size()); ++axis) {
      asked.chosen.shapes.push_back(shapes::shape_along(asked.array, axis));
    }
    for (const std::int64_t axis : axes) asked.chosen.shapes.push_back(shapes::shape_along(asked.array, axis));
    if (asked.chosen.shapes.empty()) throw std::invalid_argument(asked.array.source + " is one number: it has no axis");
    return asked;
  }
  if (given.empty()) {
    for (const std::int64_t n : parse_sizes(elements)) {
      const std::vector<shapes::shape> some = usual_shapes(n);
      asked.chosen.shapes.insert(asked.chosen.shapes.end(), some.begin(), some.end());
    }
  }
  asked.chosen.types.clear();
  for (const std::string& text : types) asked.chosen.types.push_back(text == "f32" ? element::f32 : element::f64);
  return asked;
}

int measure(const request& asked, device* gpu) {
  if (!asked.json.empty()) check_writable(asked.json);
  const shapes::registry all = shapes::all_contenders(gpu != nullptr);
  std::vector<std::string> contenders;
  for (const shapes::contender& who : all.contenders) contenders.push_back(who.name);
  check_known("contender", asked.chosen.contenders, contenders);
  for (const std::string& words : all.without) {
    const auto is_matrix = [](const shapes::shape& of) { return of.what == shapes::kind::spmv; };
    if (std::any_of(asked.chosen.shapes.begin(), asked.chosen.shapes.end(), is_matrix)) {
      fmt::print(stderr, "fanin-perf-shapes: {}\n", words);
    }
  }
  fmt::print("{}", shapes::table_head());
  const std::vector<shapes::row> rows =
      shapes::run_all(asked.chosen, all, gpu, [](const std::vector<shapes::row>& of_one_shape) {
        fmt::print("{}", shapes::to_table(of_one_shape));
        std::fflush(stdout);
      });
  if (!asked.json.empty()) {
    std::ofstream to(asked.json);
    to << shapes::to_json(rows, asked.chosen, all, gpu);
    to.close();
    if (!to) throw std::runtime_error("cannot write " + asked.json + ": check its folder, permissions and space");
  }
  return std::all_of(rows.begin(), rows.end(), [](const shapes::row& r) { return r.fault.empty(); }) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(about, "fanin-perf-shapes");
  try {
    std::string why_not;
    const std::unique_ptr<device> gpu = open_device(why_not);
    const request asked = read_command_line(app, argc, argv, gpu != nullptr);
    if (gpu == nullptr) fmt::print(stderr, "fanin-perf-shapes: {}: on the host\n", why_not);
    return measure(asked, gpu.get());
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "fanin-perf-shapes: {}\n", error.what());
    return 2;
  }
}
