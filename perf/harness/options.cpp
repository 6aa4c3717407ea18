// SPDX-License-Identifier: Apache-2.0
#include "harness/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <stdexcept>

namespace fanin_perf {
namespace {

using names = std::vector<std::string>;

constexpr std::int64_t largest_size = std::int64_t{1} << 40;

names names_of(const contender_list& known, const std::function<std::string(const contender&)>& field) {
  names found;
  for (const contender& who : known) {
    const std::string text = field(who);
    if (!text.empty() && std::find(found.begin(), found.end(), text) == found.end()) {
      found.push_back(text);
    }
  }
  return found;
}

names backend_names(const contender_list& known) {
  return names_of(known, [](const contender& who) { return who.backend; });
}
names strategy_names(const contender_list& known) {
  return names_of(known, [](const contender& who) { return who.strategy; });
}
names contender_names(const contender_list& known) {
  return names_of(known, [](const contender& who) { return who.name; });
}

template <class List>
std::string joined(const List& list) {
  std::string text;
  for (const auto& item : list) {
    if (!text.empty()) text += ", ";
    text += item;
  }
  return text;
}

bool contains(const names& list, const std::string& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

std::string no_such(std::string_view what, std::string_view given, const names& valid) {
  return fmt::format("there is no {} \"{}\"; there are: {}", what, given, joined(valid));
}

template <class List>
CLI::Validator one_of(std::string what, const List& list, bool or_all) {
  names valid(list.begin(), list.end());
  if (or_all) valid.insert(valid.begin(), "all");
  return CLI::Validator(
      [what = std::move(what), valid](std::string& given) -> std::string {
        if (contains(valid, given)) return {};
        return no_such(what, given, valid);
      },
      "", "");
}

std::int64_t parse_size(std::string_view text) {
  const auto number = [&](std::string_view digits) {
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (status != std::errc{} || end != digits.data() + digits.size()) {
      throw std::invalid_argument(
          fmt::format("\"{}\" is no size; give numbers as 1000 or 2^20, ranges as 2^10..2^26", text));
    }
    return value;
  };
  const auto caret = text.find('^');
  std::int64_t size = 0;
  if (caret == std::string_view::npos) {
    size = number(text);
  } else {
    const std::int64_t base = number(text.substr(0, caret));
    const std::int64_t exponent = number(text.substr(caret + 1));
    if (base != 2 || exponent < 0 || exponent > 40) {
      throw std::invalid_argument(fmt::format("\"{}\" is no size; powers go from 2^0 to 2^40", text));
    }
    size = std::int64_t{1} << exponent;
  }
  if (size < 1 || size > largest_size) {
    throw std::invalid_argument(fmt::format("the size {} is out of range; sizes go from 1 to 2^40", text));
  }
  return size;
}

template <class Enum, class Table>
std::vector<Enum> to_enums(const names& given, const Table& table) {
  std::vector<Enum> found;
  for (const std::string& text : given) {
    if (text == "all") {
      found.clear();
      for (std::size_t i = 0; i < table.size(); ++i) found.push_back(static_cast<Enum>(i));
      return found;
    }
    const auto value = *find_name<Enum>(table, text);
    if (std::find(found.begin(), found.end(), value) == found.end()) found.push_back(value);
  }
  return found;
}

// "between" stands for all that begin so.
std::vector<timing> to_timings(const names& given) {
  names every;
  for (const std::string& text : given) {
    if (text != "between") {
      every.push_back(text);
      continue;
    }
    for (std::size_t k = 0; k < timing_names.size(); ++k) {
      if (is_between(static_cast<timing>(k))) every.emplace_back(timing_names[k]);
    }
  }
  return to_enums<timing>(every, timing_names);
}

void check_data(const std::string& text, const data_kind& kind, const std::vector<element>& types) {
  for (const element type : types) {
    const bool takes = with_type(type, [](auto t) { return takes_data_kinds<typename decltype(t)::type>; });
    if (!takes && text != "uniform") {
      throw std::invalid_argument(
          fmt::format("the data {} are for f32, f64, c32, c64 and s64: leave {} out of --types", text, name(type)));
    }
    for (int k = 0; k < kind.parts && component_of(type) == element::f32; ++k) {
      if (kind.part[k].shape != data_shape::loguniform || kind.part[k].number <= most_binades_of_f32) continue;
      throw std::invalid_argument(
          fmt::format("{}: {} has 254 binades; ask for {} at most", text, name(type), most_binades_of_f32));
    }
  }
}

// Each kind once. Throws where a type has uniform data only.
void set_data(const names& given, options& chosen) {
  constexpr std::string_view worst = "worst:";
  chosen.data.clear();
  for (const std::string& text : given) {
    data_kind kind;
    if (text.starts_with(worst)) {
      const char* const end = text.data() + text.size();
      const auto [stop, status] = std::from_chars(text.data() + worst.size(), end, chosen.worst_seconds);
      if (status != std::errc{} || stop != end || !(chosen.worst_seconds > 0 && chosen.worst_seconds <= 3600)) {
        throw std::invalid_argument(
            fmt::format("\"{}\" is no data: after worst: stand the seconds of a search, up to 3600", text));
      }
    } else {
      kind = parse_data_kind(text);
      if (std::find(chosen.data.begin(), chosen.data.end(), kind) == chosen.data.end()) chosen.data.push_back(kind);
    }
    check_data(text, kind, chosen.types);
  }
}

// --array belongs to the --input before it, so the order on the command line counts.
std::vector<input_choice> pair_inputs(const CLI::App& app, const CLI::Option* input, const CLI::Option* array) {
  std::vector<input_choice> chosen;
  std::size_t files = 0;
  std::size_t arrays = 0;
  for (const CLI::Option* option : app.parse_order()) {
    if (option == input) {
      chosen.push_back({input->results().at(files++), {}});
    } else if (option == array) {
      if (chosen.empty() || !chosen.back().array.empty()) {
        throw std::invalid_argument(
            "--array names an array of the --input before it: give one --array for each --input");
      }
      chosen.back().array = array->results().at(arrays++);
    }
  }
  return chosen;
}

}  // namespace

void check_known(std::string_view what, const std::vector<std::string>& given, std::vector<std::string> known) {
  for (const std::string& one : given) {
    if (contains(known, one)) continue;
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    throw std::invalid_argument(no_such(what, one, known));
  }
}

std::vector<std::int64_t> parse_sizes(std::string_view text) {
  std::vector<std::int64_t> sizes;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const auto dots = item.find("..");
    if (dots == std::string_view::npos) {
      sizes.push_back(parse_size(item));
      continue;
    }
    std::string_view last = item.substr(dots + 2);
    std::int64_t factor = 2;
    if (const auto colon = last.find(':'); colon != std::string_view::npos) {
      factor = parse_size(last.substr(colon + 1));
      last = last.substr(0, colon);
    }
    const std::int64_t from = parse_size(item.substr(0, dots));
    const std::int64_t to = parse_size(last);
    if (factor < 2 || from > to) {
      throw std::invalid_argument(fmt::format("\"{}\" is no range; ranges ascend, by a factor of at least 2", item));
    }
    for (std::int64_t size = from; size <= to; size *= factor) sizes.push_back(size);
  }
  if (sizes.empty()) throw std::invalid_argument("no sizes are given");
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

bool options::selects(const contender& who) const {
  const auto wants = [](const names& chosen, const std::string& field) {
    return contains(chosen, "all") || contains(chosen, field);
  };
  return wants(backends, who.backend) && wants(contenders, who.name) &&
         (who.strategy.empty() || wants(strategies, who.strategy)) && !timings_of(who).empty();
}

std::vector<timing> options::timings_of(const contender& who) const {
  std::vector<timing> found = who.timings();
  std::erase_if(found, [&](timing how) { return std::find(timings.begin(), timings.end(), how) == timings.end(); });
  return found;
}

std::string describe_choices(const contender_list& known) {
  std::string text;
  const auto line = [&](std::string_view title, const auto& list) {
    text += fmt::format("{:<12}{}\n", title, joined(list));
  };
  line("backends", backend_names(known));
  line("strategies", strategy_names(known));
  line("types", element_names);
  line("operations", operation_names);
  line("contenders", contender_names(known));
  line("timings", timing_names);
  text += "\nwhat is measured\n";
  for (const contender& who : known) {
    names timings;
    for (const timing how : who.timings()) timings.emplace_back(name(how));
    text += fmt::format("  {:<15}{:<34}{:<12} to {:<7}{}", who.backend, who.label(), name(who.where), name(who.to),
                        joined(timings));
    if (who.is_baseline) text += "   (ratios refer to it)";
    if (who.largest > 0) text += fmt::format("   (up to {} elements)", who.largest);
    text += '\n';
  }
  return text;
}

std::optional<options> read_options(int argc, const char* const* argv, const contender_list& known, bool has_gpu,
                                    int& exit_code) {
  options chosen;
  names types{"f32", "f64"};
  names operations{"sum", "min_loc", "dot"};
  names timings{"host", "calls", "graph", "blocking"};
  names data{"uniform"};
  std::string sizes = has_gpu ? "2^10..2^29" : "2^10..2^26:4";
  std::string host_max = "2^26";
  int series = 0;

  CLI::App app{
      "fanin-perf compares reductions: Fanin's backends and strategies, Kokkos, and what else the\n"
      "machine has. Every answer is checked against an oracle before it is timed.",
      "fanin-perf"};
  app.option_defaults()->always_capture_default();
  app.add_option("--backends", chosen.backends, "Where to run")
      ->delimiter(',')
      ->check(one_of("backend", backend_names(known), true));
  app.add_option("--strategies", chosen.strategies, "Fanin's strategies")
      ->delimiter(',')
      ->check(one_of("strategy", strategy_names(known), true));
  app.add_option("--contenders", chosen.contenders, "Whose reductions")
      ->delimiter(',')
      ->check(one_of("contender", contender_names(known), true));
  auto* types_option =
      app.add_option("--types", types,
                     "Element types of synthetic arrays; those of less than 32 bits, complex numbers (c32, c64) "
                     "and s64, a struct of eight f64, are only summed")
          ->delimiter(',')
          ->check(one_of("type", element_names, true));
  auto* ops_option = app.add_option("--ops", operations, "Operations on synthetic arrays")
                         ->delimiter(',')
                         ->check(one_of("operation", operation_names, true));
  auto* sizes_option = app.add_option("--sizes", sizes,
                                      "Elements of synthetic arrays: 1000, 2^20, 2^10..2^26 (doubling), "
                                      "2^10..2^26:4 (by a factor), with commas");
  names timing_choices(timing_names.begin(), timing_names.end());
  timing_choices.insert(timing_choices.begin(), "between");
  app.add_option(
         "--timings", timings,
         "What times are taken from: the host's clock (host, blocking), calls back to back on the GPU (calls), "
         "a CUDA graph of them (graph), a graph in which each stands behind a kernel of a user's, whose own time "
         "is taken off (between: the four between_...)")
      ->delimiter(',')
      ->check(one_of("timing", timing_choices, true));
  app.add_option("--host-max", host_max, "Largest size for contenders on the host");
  auto* series_option =
      app.add_option("--series", series, "Times that each contender is timed, in turn with the others")
          ->check(CLI::Range(1, 1000))
          ->default_str("7, with --quick 3");
  auto* data_option =
      app.add_option(
             "--data", data,
             "What synthetic numbers of f32, f64, c32, c64 and s64 look like: uniform, normal, loguniform:B (over "
             "B binades), lognormal:S, scaled, outliers:P (one in P of any bits), sparse:P (one in P not zero), "
             "anybits, sorted, cancelling, denormals; mixture:RUN:W*KIND+W*KIND of these; worst:SECONDS, what a "
             "search finds the slowest for exact_sum; docs/perf.md has the formulas")
          ->delimiter(',');
  app.add_option("--seed", chosen.seed, "Seed of the synthetic data");
  app.add_option("--json", chosen.json, "Write all figures to this file")->default_str("no file");
  app.add_option(
         "--baseline", chosen.baseline,
         "Compare with this file, which --json wrote on the same machine; exit with 3 where something is slower")
      ->default_str("no file");
  auto* input_option =
      app.add_option("--input", "Reduce the array in this .npy or .npz file instead of synthetic ones; repeatable")
          ->expected(1)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
          ->type_name("FILE");
  auto* array_option =
      app.add_option("--array", "The array in the .npz of the --input before; needed where it holds several")
          ->expected(1)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
          ->type_name("NAME");
  app.add_flag("--with-synthetic", chosen.with_synthetic, "With --input: measure synthetic arrays, too")
      ->default_str("off");
  app.add_flag("--quick", chosen.quick, "A short look: f32 sum of 2^10, 2^16 and 2^20 elements, short series")
      ->default_str("off");
  app.add_flag(
         "--tune", chosen.tune,
         "Instead of contenders: the default CUDA strategy with other blocks and grids, and by bulk copies; prints "
         "what to ask for on this GPU, if anything")
      ->default_str("off");
  app.add_flag("--list", chosen.list, "Name what can be chosen, and exit")->default_str("off");

  try {
    app.parse(argc, argv);
    chosen.inputs = pair_inputs(app, input_option, array_option);
    if (chosen.quick) {
      if (types_option->empty()) types = {"f32"};
      if (ops_option->empty()) operations = {"sum"};
      if (sizes_option->empty()) sizes = "2^10,2^16,2^20";
    }
    chosen.series = series_option->empty() ? (chosen.quick ? 3 : 7) : series;
    chosen.types = to_enums<element>(types, element_names);
    chosen.operations = to_enums<operation>(operations, operation_names);
    chosen.timings = to_timings(timings);
    set_data(data, chosen);
    if (!data_option->empty() && !chosen.inputs.empty() && !chosen.with_synthetic) {
      throw std::invalid_argument("--data is of synthetic arrays: with --input, --with-synthetic measures them, too");
    }
    chosen.sizes = parse_sizes(sizes);
    // A run on a GPU takes every power of two there, and a coarser list on the host.
    const bool coarse = has_gpu && sizes_option->empty() && !chosen.quick;
    chosen.host_sizes = parse_sizes(coarse ? "2^10..2^26:4" : sizes);
    const std::int64_t most = parse_size(host_max);
    std::erase_if(chosen.host_sizes, [=](std::int64_t n) { return n > most; });
  } catch (const CLI::ParseError& stop) {
    exit_code = app.exit(stop);
    return std::nullopt;
  } catch (const std::invalid_argument& wrong) {
    fmt::print(stderr, "fanin-perf: {}\n", wrong.what());
    exit_code = 2;
    return std::nullopt;
  }
  exit_code = 0;
  return chosen;
}

}  // namespace fanin_perf
