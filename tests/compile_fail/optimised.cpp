// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include <fanin/fanin.hpp>

// Compiles without a warning when it is optimised, too: few results into arrays of the caller's, which hold nothing
// yet.

double use_view(const fanin::view<const double, 1>& x) {
  const fanin::serial exec;
  return fanin::reduce(exec, x, fanin::sum<double>{});
}

#if !defined(A_VIEW_ALONE)
struct product {
  const double* x;
  double operator()(std::int64_t i, std::int64_t j) const { return x[i * 9 + j] * x[j]; }
};

double use(const std::vector<double>& x) {
  const fanin::serial exec;
  double of_columns[9];
  fanin::parallel_reduce_into(of_columns, fanin::columns(exec, 64, 9), product{x.data()}, fanin::sum<double>{});
  double of_rows[64];
  fanin::parallel_reduce_into(of_rows, fanin::rows(exec, 64, 9), product{x.data()}, fanin::sum<double>{});
  fanin::value_index<double> places[3];
  fanin::parallel_reduce_into(places, fanin::columns(exec, 30, 3), product{x.data()}, fanin::min_loc<double>{});
  const std::int64_t offsets[] = {0, 4, 9};
  double of_segments[2];
  fanin::reduce_into(of_segments, exec, fanin::segments(x, offsets), fanin::sum<double>{});
  double lone;
  fanin::reduce_into(&lone, exec, x, fanin::sum<double>{});
  const fanin::serial left(fanin::serial_order::left_to_right);
  double of_one[1];
  fanin::parallel_reduce_into(of_one, fanin::columns(left, 64, 1), product{x.data()}, fanin::sum<double>{});
  return of_columns[8] + of_rows[63] + places[2].value + of_segments[1] + lone + of_one[0];
}

double use_constants() {
  const std::vector<double> x(64 * 9, 1.0);
  const double* const at = x.data();
  const fanin::serial exec;
  std::vector<double> of_columns(9);
  fanin::parallel_reduce_into(
      of_columns.data(), fanin::columns(exec, 64, 9), [at](std::int64_t i, std::int64_t j) { return at[i * 9 + j]; },
      fanin::sum<double>{});
  double again[9];
  fanin::parallel_reduce_into(
      again, fanin::columns(exec, 64, 9), [at](std::int64_t i, std::int64_t j) { return at[i * 9 + j]; },
      fanin::sum<double>{});
  const fanin::serial left(fanin::serial_order::left_to_right);
  fanin::parallel_reduce_into(
      of_columns.data(), fanin::columns(left, 64, 9), [at](std::int64_t i, std::int64_t) { return at[i] * at[i]; },
      fanin::sum<double>{});
  return of_columns[0] + again[8];
}
#endif
