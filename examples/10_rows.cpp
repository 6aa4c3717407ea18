// SPDX-License-Identifier: Apache-2.0
// A result for each row or column: the residual b - A x of a dense system in one launch, the largest element of each
// column and its row, as a pivot search wants it, both bounds of each row, and the mean temperature of each layer of a
// grid.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>
#include <tuple>
#include <vector>

namespace {

constexpr std::int64_t n = 300;

// r = b - A x; each row's sum is finished with its own index.
void residual(double* r, const double* a, const double* x, const double* b) {
  fanin::parallel_reduce_into(
      "residual", r, fanin::rows(n, n), FANIN_LAMBDA(std::int64_t i, std::int64_t j) { return a[i * n + j] * x[j]; },
      fanin::finished(FANIN_LAMBDA(double product, std::int64_t i) { return b[i] - product; }, fanin::sum<double>{}));
}

// For each column the largest of |a[i][j]| and its row.
void pivots(fanin::value_index<double>* out, const double* a) {
  fanin::parallel_reduce_into(
      "pivots", out, fanin::columns(n, n),
      FANIN_LAMBDA(std::int64_t i, std::int64_t j) { return std::abs(a[i * n + j]); }, fanin::max_loc<double>{});
}

// The least and the largest element of each row of a matrix of any layout.
void bounds(double* least, double* largest, const fanin::view<const double, 2>& a) {
  fanin::reduce_into("bounds", std::tuple(least, largest), fanin::rows(a), fanin::min<double>{}, fanin::max<double>{});
}

// The mean of each layer k of a grid that lies as Fortran has it, x[i + nx * (j + ny * k)], without its halo.
void means(double* out, const double* x, std::int64_t nx, std::int64_t ny, std::int64_t nz) {
  const auto inner = fanin::md_range<fanin::iterate::left>({1, 1, 0}, {nx - 1, ny - 1, nz});
  const double cells = static_cast<double>((nx - 2) * (ny - 2));
  fanin::parallel_reduce_into(
      "means", out, fanin::axes<0, 1>(inner),
      FANIN_LAMBDA(std::int64_t i, std::int64_t j, std::int64_t k) { return x[i + nx * (j + ny * k)]; },
      fanin::finished(FANIN_LAMBDA(double sum) { return sum / cells; }, fanin::sum<double>{}));
}

template <class T>
fanin::buffer<T> on_backend(const std::vector<T>& host) {
  fanin::buffer<T> memory(host.size());
  memory.copy_from(host);
  return memory;
}

template <class T>
std::vector<T> on_host(const fanin::buffer<T>& memory) {
  std::vector<T> host(memory.size());
  memory.copy_to(host);
  return host;
}

}  // namespace

int main() {
  std::vector<double> a(n * n);
  std::vector<double> x(n, 2.0);
  std::vector<double> b(n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      a[static_cast<std::size_t>(i * n + j)] = static_cast<double>((i * 7 + j * 3) % 11) - 5;
      b[static_cast<std::size_t>(i)] += 2 * a[static_cast<std::size_t>(i * n + j)];
    }
  }
  for (std::int64_t i = 0; i < n; ++i) a[static_cast<std::size_t>((n - 1 - i) * n + i)] = -100;
  const auto matrix = on_backend(a);
  const auto vector = on_backend(x);
  const auto right = on_backend(b);
  fanin::buffer<double> r(n);
  fanin::buffer<fanin::value_index<double>> largest(n);
  residual(r.data(), matrix.data(), vector.data(), right.data());
  pivots(largest.data(), matrix.data());
  fanin::buffer<double> lower(n);
  fanin::buffer<double> upper(n);
  bounds(lower.data(), upper.data(), {matrix.data(), {n, n}});

  // The product has lost the old element of row i in column n - 1 - i, and has -100 in its place.
  bool right_answers = true;
  const auto residuals = on_host(r);
  const auto pivot = on_host(largest);
  const auto lower_bounds = on_host(lower);
  const auto upper_bounds = on_host(upper);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double lost = static_cast<double>((i * 7 + (n - 1 - i) * 3) % 11) - 5;
    right_answers = right_answers && residuals[at] == 2 * (lost + 100);
    right_answers = right_answers && lower_bounds[at] == -100 && upper_bounds[at] == 5;
    right_answers = right_answers && pivot[at].value == 100 && pivot[at].index == n - 1 - i;
  }
  std::printf("residual of row 0: %g; pivot of column 0: %g in row %lld\n", residuals[0], pivot[0].value,
              static_cast<long long>(pivot[0].index));

  constexpr std::int64_t nx = 34;
  constexpr std::int64_t ny = 18;
  constexpr std::int64_t nz = 5;
  std::vector<double> grid(nx * ny * nz, 1e9);  // the halo
  for (std::int64_t k = 0; k < nz; ++k) {
    for (std::int64_t j = 1; j < ny - 1; ++j) {
      for (std::int64_t i = 1; i < nx - 1; ++i) {
        grid[static_cast<std::size_t>(i + nx * (j + ny * k))] = static_cast<double>(100 * k + i % 2);
      }
    }
  }
  const auto temperatures = on_backend(grid);
  fanin::buffer<double> of_layers(nz);
  means(of_layers.data(), temperatures.data(), nx, ny, nz);
  const auto layers = on_host(of_layers);
  for (std::int64_t k = 0; k < nz; ++k) {
    right_answers = right_answers && layers[static_cast<std::size_t>(k)] == static_cast<double>(100 * k) + 0.5;
  }
  std::printf("mean of layer 3: %g\n", layers[3]);
  return right_answers ? 0 : 1;
}
