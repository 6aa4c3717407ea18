// SPDX-License-Identifier: Apache-2.0
#include "shapes/input.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace fanin_perf::shapes {

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

element type_of(const input_array& array) {
  if (array.type == element_type::float32) return element::f32;
  if (array.type == element_type::float64) return element::f64;
  throw std::invalid_argument(
      fmt::format("{} holds {}, and sums are of float32 and float64: save x.astype(float)", array.source, array.dtype));
}

}  // namespace fanin_perf::shapes
