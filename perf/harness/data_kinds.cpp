// SPDX-License-Identifier: Apache-2.0
#include "harness/data_kinds.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "harness/kinds.hpp"

namespace fanin_perf {
namespace {

struct range {
  const char* what;
  double least;
  double most;
  bool is_integer;
};

// Of the shapes that have a parameter.
const range* range_of(data_shape shape) {
  static constexpr range binades{"the number of binades", 1, 2000, true};
  static constexpr range sigma{"the standard deviation of the logarithm", 0.1, 100, false};
  static constexpr range one_in{"how many numbers there are for one", 1, 0x1p40, true};
  switch (shape) {
    case data_shape::loguniform: return &binades;
    case data_shape::lognormal: return &sigma;
    case data_shape::outliers:
    case data_shape::sparse: return &one_in;
    default: return nullptr;
  }
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

data_part parse_part(std::string_view text) {
  const auto colon = text.find(':');
  const auto shape = find_name<data_shape>(data_shape_names, text.substr(0, colon));
  if (!shape) {
    std::string all;
    for (const std::string_view name : data_shape_names) all += fmt::format("{}, ", name);
    throw std::invalid_argument(
        fmt::format("there is no data \"{}\"; there are: {}mixture, worst; arrays of files: --input", text, all));
  }
  const bool has_parameter = colon != std::string_view::npos;
  if (range_of(*shape) == nullptr && has_parameter) {
    throw std::invalid_argument(fmt::format("\"{}\" is no data: {} has nothing after it", text, text.substr(0, colon)));
  }
  const auto parameter = has_parameter ? number_in(text.substr(colon + 1)) : std::nullopt;
  return make_data_part(*shape, parameter.value_or(0));
}

// RUN:W*KIND+W*KIND
data_kind parse_mixture(std::string_view text, std::string_view rest) {
  const auto refuse = [&] {
    throw std::invalid_argument(
        fmt::format("\"{}\" is no data: mixture:RUN:W*KIND+W*KIND has a RUN from 0 to {}, up to {} kinds, each with a "
                    "whole number from 1 to {} as its W",
                    text, data_kind::most_run_bits, data_kind::most_parts, data_kind::most_weight));
  };
  const auto whole = [&](std::string_view digits, double least, double most) {
    const double value = number_in(digits).value_or(-1);
    if (!(value >= least && value <= most) || value != std::floor(value)) refuse();
    return value;
  };
  data_kind kind{.parts = 0};
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos) refuse();
  kind.run_bits = static_cast<int>(whole(rest.substr(0, colon), 0, data_kind::most_run_bits));
  for (rest.remove_prefix(colon + 1);; ++kind.parts) {
    const std::string_view item = rest.substr(0, rest.find('+'));
    const auto star = item.find('*');
    if (kind.parts == data_kind::most_parts || star == std::string_view::npos) refuse();
    data_part& part = kind.part[kind.parts];
    part = parse_part(item.substr(star + 1));
    part.weight = static_cast<std::uint32_t>(whole(item.substr(0, star), 1, data_kind::most_weight));
    if (item.size() == rest.size()) break;
    rest.remove_prefix(item.size() + 1);
  }
  ++kind.parts;
  return kind;
}

std::string to_text(const data_part& part) {
  std::string text(data_shape_names[static_cast<std::size_t>(part.shape)]);
  if (range_of(part.shape) != nullptr) text += fmt::format(":{}", part.parameter);
  return text;
}

}  // namespace

data_part make_data_part(data_shape shape, double parameter) {
  const range* const allowed = range_of(shape);
  if (allowed == nullptr) return {.shape = shape};
  if (!(parameter >= allowed->least && parameter <= allowed->most) ||
      (allowed->is_integer && parameter != std::floor(parameter))) {
    throw std::invalid_argument(
        fmt::format("after \"{}:\" stands {}, {} from {:g} to {:g}", data_shape_names[static_cast<std::size_t>(shape)],
                    allowed->what, allowed->is_integer ? "a whole number" : "a number", allowed->least, allowed->most));
  }
  constexpr double log2_of_e = 1.4426950408889634;
  const double number = shape == data_shape::lognormal ? parameter * log2_of_e * 0x1p16 : parameter;
  return {.shape = shape, .number = std::llround(number), .parameter = parameter};
}

std::optional<std::pair<double, double>> parameters_of(data_shape shape) {
  const range* const allowed = range_of(shape);
  if (allowed == nullptr) return std::nullopt;
  return std::pair(allowed->least, allowed->most);
}

data_kind parse_data_kind(std::string_view text) {
  constexpr std::string_view mixture = "mixture:";
  if (text.starts_with(mixture)) return parse_mixture(text, text.substr(mixture.size()));
  return {.part = {parse_part(text)}};
}

std::string to_text(const data_kind& kind) {
  if (kind.parts == 1 && kind.part[0].weight == 1 && kind.run_bits == 0) return to_text(kind.part[0]);
  std::string text = fmt::format("mixture:{}:", kind.run_bits);
  for (int k = 0; k < kind.parts; ++k) {
    text += fmt::format("{}{}*{}", k == 0 ? "" : "+", kind.part[k].weight, to_text(kind.part[k]));
  }
  return text;
}

}  // namespace fanin_perf
