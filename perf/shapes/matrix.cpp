// SPDX-License-Identifier: Apache-2.0
#include "shapes/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/options.hpp"

namespace fanin_perf::shapes {
namespace {

constexpr std::int64_t most_elements = (std::int64_t{1} << 31) - 1;  // by offsets of 32 bits
constexpr std::int64_t average_of_powerlaw = 16;

class compressed_rows {
 public:
  /// Behind the row's elements before it.
  void add(std::int64_t column) { columns_.push_back(static_cast<std::int32_t>(column)); }
  void end_row() { offsets_.push_back(std::int64_t(columns_.size())); }
  pattern named(std::string name) { return {std::move(name), std::move(offsets_), std::move(columns_)}; }

 private:
  std::vector<std::int64_t> offsets_{0};
  std::vector<std::int32_t> columns_;
};

// The largest factor of n whose power is not above it.
std::int64_t side_of(std::int64_t n, int power) {
  std::int64_t found = 1;
  for (std::int64_t side = 2; (power == 3 ? side * side * side : side * side) <= n; ++side) {
    if (n % side == 0) found = side;
  }
  return found;
}

// Values outside of the box are 0. As near to a cube as the factors of n allow.
compressed_rows stencil(std::int64_t n, bool with_corners) {
  const std::int64_t depth = side_of(n, 3);
  const std::int64_t height = side_of(n / depth, 2);
  const std::int64_t width = n / depth / height;
  compressed_rows rows;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::array<std::int64_t, 3> at{i / (width * height), i / width % height, i % width};
    for (std::int64_t z = std::max<std::int64_t>(at[0] - 1, 0); z <= std::min(at[0] + 1, depth - 1); ++z) {
      for (std::int64_t y = std::max<std::int64_t>(at[1] - 1, 0); y <= std::min(at[1] + 1, height - 1); ++y) {
        for (std::int64_t x = std::max<std::int64_t>(at[2] - 1, 0); x <= std::min(at[2] + 1, width - 1); ++x) {
          const std::int64_t away = std::abs(z - at[0]) + std::abs(y - at[1]) + std::abs(x - at[2]);
          if (with_corners || away <= 1) rows.add((z * height + y) * width + x);
        }
      }
    }
    rows.end_row();
  }
  return rows;
}

// A row of m elements has one in each of m equal parts of the columns.
compressed_rows by_power_law(std::int64_t n) {
  const std::vector<std::int64_t> lengths = shape{kind::powerlaw, n, average_of_powerlaw}.offsets();
  std::minstd_rand random(2);
  compressed_rows rows;
  for (std::size_t row = 0; row + 1 < lengths.size(); ++row) {
    const std::int64_t m = std::min(lengths[row + 1] - lengths[row], n);
    for (std::int64_t k = 0; k < m; ++k) {
      rows.add(std::uniform_int_distribution<std::int64_t>(k * n / m, (k + 1) * n / m - 1)(random));
    }
    rows.end_row();
  }
  return rows;
}

compressed_rows with_dense_row(std::int64_t n) {
  compressed_rows rows;
  for (std::int64_t row = 0; row < n; ++row) {
    const bool dense = row == n / 2;
    const std::int64_t first = dense ? 0 : std::max<std::int64_t>(row - 1, 0);
    const std::int64_t last = dense ? n - 1 : std::min(row + 1, n - 1);
    for (std::int64_t column = first; column <= last; ++column) rows.add(column);
    rows.end_row();
  }
  return rows;
}

struct known_matrix {
  std::string_view name;
  std::int64_t average;  ///< of the elements of a row, at most
  compressed_rows (*rows)(std::int64_t n);
};
constexpr known_matrix known[] = {{"stencil7", 7, [](std::int64_t n) { return stencil(n, false); }},
                                  {"stencil27", 27, [](std::int64_t n) { return stencil(n, true); }},
                                  {"powerlaw", average_of_powerlaw, by_power_law},
                                  {"denserow", 4, with_dense_row}};

}  // namespace

shape sparse_matrix(std::string_view name) {
  const std::size_t colon = name.find(':');
  const auto* const matrix = std::find_if(std::begin(known), std::end(known),
                                          [&](const known_matrix& one) { return one.name == name.substr(0, colon); });
  if (matrix == std::end(known) || colon == name.npos) {
    throw std::invalid_argument(
        fmt::format("spmv:{} is no matrix; write spmv:stencil7:2^20, spmv:stencil27:2^20, spmv:powerlaw:2^20 or "
                    "spmv:denserow:2^20",
                    name));
  }
  const std::vector<std::int64_t> sizes = parse_sizes(name.substr(colon + 1));
  if (sizes.size() != 1) {
    throw std::invalid_argument(fmt::format("spmv:{} has several sizes; name one matrix after the other", name));
  }
  const std::int64_t n = sizes.front();
  if (n > most_elements / matrix->average) {
    throw std::invalid_argument(fmt::format(
        "spmv:{} has 2^31 elements or more, of {} a row, and its offsets have 32 bits; {} rows are the most", name,
        matrix->average, most_elements / matrix->average));
  }
  shape found{kind::spmv, n};
  found.given = std::make_shared<pattern>(matrix->rows(n).named(fmt::format("{}:{}", matrix->name, n)));
  return found;
}

}  // namespace fanin_perf::shapes
