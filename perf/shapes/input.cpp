// SPDX-License-Identifier: Apache-2.0
#include "shapes/input.hpp"

#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace fanin_perf::shapes {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 40;

template <class Offset>
std::vector<std::int64_t> checked(std::span<const Offset> offsets, const std::string& source) {
  std::vector<std::int64_t> all;
  for (const Offset offset : offsets) {
    if (std::cmp_less(offset, 0)) {
      throw std::invalid_argument(
          fmt::format("{}: offset {} is {}: offsets are 0 or more", source, all.size(), offset));
    }
    if (std::cmp_greater(offset, most_elements)) {
      throw std::invalid_argument(
          fmt::format("{}: offset {} is {}, and 2^40 is the most elements", source, all.size(), offset));
    }
    all.push_back(static_cast<std::int64_t>(offset));
    if (all.size() > 1 && all.back() < all[all.size() - 2]) {
      throw std::invalid_argument(
          fmt::format("{}: offset {} is {}, less than {}, the one before it: offsets may not fall", source,
                      all.size() - 1, offset, all[all.size() - 2]));
    }
  }
  return all;
}

}  // namespace

shape shape_along(const input_array& array, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(array.shape.size());
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) {
    throw std::invalid_argument(
        fmt::format("{} has the shape {}: --axis {} is none of its axes", array.source, shape_text(array.shape), axis));
  }
  if (array.n == 0)
    throw std::invalid_argument(fmt::format("{} holds no elements: there is nothing to sum", array.source));
  std::int64_t slower = 1;
  std::int64_t faster = 1;
  for (std::int64_t d = 0; d < rank; ++d) {
    if (d == at) continue;
    ((d < at) != array.fortran_order ? slower : faster) *= array.shape[static_cast<std::size_t>(d)];
  }
  const std::int64_t along = array.shape[static_cast<std::size_t>(at)];
  if (faster == 1) return {kind::rows, slower, along};
  if (slower == 1) return {kind::columns, along, faster};
  return {kind::middle, slower, along, faster};
}

shape segments_by(const input_array& array, std::string name) {
  if (array.shape.size() != 1 || array.n < 2) {
    throw std::invalid_argument(
        fmt::format("{} has the shape {}: the offsets of n segments are n + 1 integers, two at least", array.source,
                    shape_text(array.shape)));
  }
  auto offsets = visit_elements(array, [&](auto elements) -> std::vector<std::int64_t> {
    using offset = typename decltype(elements)::value_type;
    if constexpr (std::is_integral_v<offset>) {
      return checked<offset>(elements, array.source);
    } else {
      throw std::invalid_argument(
          fmt::format("{} holds {}, and offsets are integers: save x.astype(int)", array.source, array.dtype));
    }
  });
  if (offsets.front() == offsets.back()) {
    throw std::invalid_argument(
        fmt::format("{}: all offsets are {}: there is nothing to sum", array.source, offsets.front()));
  }
  shape found{kind::segments, array.n - 1};
  found.given = std::make_shared<pattern>(pattern{std::move(name), std::move(offsets)});
  return found;
}

element type_of(const input_array& array) {
  if (array.type == element_type::float32) return element::f32;
  if (array.type == element_type::float64) return element::f64;
  throw std::invalid_argument(
      fmt::format("{} holds {}, and sums are of float32 and float64: save x.astype(float)", array.source, array.dtype));
}

}  // namespace fanin_perf::shapes
