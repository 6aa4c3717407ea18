// SPDX-License-Identifier: Apache-2.0
// Sparse matrices as compressed rows: y = A x in one call, whose rows are made ready for many such products, and from
// one pass over A the largest element off the diagonal of each row with its place, and the rows' sums.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>
#include <vector>

namespace {

constexpr std::int32_t side = 200;  // of a grid of side x side points

// The five-point Laplacian of the grid, whose values outside are 0.
struct compressed_rows {
  std::vector<std::int32_t> offsets{0};
  std::vector<std::int32_t> column;
  std::vector<double> value;

  void add(std::int32_t j, double a) {
    column.push_back(j);
    value.push_back(a);
  }
};

compressed_rows laplacian() {
  compressed_rows a;
  for (std::int32_t row = 0; row < side * side; ++row) {
    if (row >= side) a.add(row - side, -1);
    if (row % side != 0) a.add(row - 1, -1);
    a.add(row, 4);
    if (row % side != side - 1) a.add(row + 1, -1);
    if (row < side * (side - 1)) a.add(row + side, -1);
    a.offsets.push_back(static_cast<std::int32_t>(a.column.size()));
  }
  return a;
}

template <class T>
fanin::buffer<T> stored(const std::vector<T>& host) {
  fanin::buffer<T> memory(host.size());
  memory.copy_from(host);
  return memory;
}

// y = A x.
template <class Rows>
void multiply(double* y, const Rows& rows, const std::int32_t* column, const double* value, const double* x) {
  fanin::parallel_reduce_into(
      "y = A x", y, rows, FANIN_LAMBDA(std::int64_t, std::int64_t k) { return value[k] * x[column[k]]; },
      fanin::sum<double>{});
}

// For each row the largest |a(row, j)| with j != row and where it is stored, and the sum of all.
using sizes = fanin::tuple<fanin::value_index<double>, double>;
void measure(sizes* out, const fanin::buffer<std::int32_t>& offsets, const std::int32_t* column, const double* value) {
  fanin::parallel_reduce_into(
      "sizes", out, fanin::segments(offsets),
      FANIN_LAMBDA(std::int64_t row, std::int64_t k) {
        const double off_diagonal = column[k] == row ? 0.0 : std::abs(value[k]);
        return fanin::tuple{off_diagonal, value[k]};
      },
      fanin::max_loc<double>{}, fanin::sum<double>{});
}

}  // namespace

int main() {
  const compressed_rows host = laplacian();
  const std::size_t rows = host.offsets.size() - 1;
  const auto offsets = stored(host.offsets);
  const auto column = stored(host.column);
  const auto value = stored(host.value);
  const auto x = stored(std::vector<double>(rows, 0.5));
  fanin::buffer<double> y(rows);
  fanin::buffer<sizes> of_rows(rows);
  const auto rows_of_a = fanin::segments(offsets).prepared();
  multiply(y.data(), rows_of_a, column.data(), value.data(), x.data());
  measure(of_rows.data(), offsets, column.data(), value.data());
  const auto at_corner = fanin::reduce(std::span(y.data(), 1), fanin::sum<double>{});
  const double all = fanin::reduce(y, fanin::sum<double>{});
  std::vector<sizes> host_sizes(rows);
  of_rows.copy_to(host_sizes);
  const auto& [largest, sum] = host_sizes[side];  // the second row's first point, at the grid's edge

  std::printf("y at a corner: %g, all of y: %g\n", at_corner, all);
  std::printf("row %d: largest off the diagonal %g, stored at %lld; sum %g\n", side, largest.value,
              static_cast<long long>(largest.index), sum);
  const bool is_right = at_corner == 1 && all == 0.5 * 4 * side && largest.value == 1 && sum == 1;
  return is_right ? 0 : 1;
}
