// SPDX-License-Identifier: Apache-2.0
// Reductions over grids with halos, as hydrodynamics and heat codes have them: a summary of a staggered two-dimensional
// field in one pass, a time step and the cell that limits it, and the residual of a Jacobi step in three dimensions.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fanin/fanin.hpp>
#include <vector>

namespace {

/// Cells with a halo of two around them; velocities are of the cells' corners, so they have one more in each direction.
struct field {
  std::int64_t nx;
  std::int64_t ny;
  const double* density;
  const double* energy;
  const double* u;
  const double* v;

  FANIN_FUNCTION std::int64_t cell(std::int64_t j, std::int64_t i) const { return j * (nx + 4) + i; }
  FANIN_FUNCTION std::int64_t corner(std::int64_t j, std::int64_t i) const { return j * (nx + 5) + i; }
  FANIN_FUNCTION double kinetic(std::int64_t j, std::int64_t i) const {
    double squares = 0;
    for (std::int64_t a = j; a <= j + 1; ++a) {
      for (std::int64_t b = i; b <= i + 1; ++b) {
        squares += 0.25 * (u[corner(a, b)] * u[corner(a, b)] + v[corner(a, b)] * v[corner(a, b)]);
      }
    }
    return 0.5 * density[cell(j, i)] * squares;
  }
  FANIN_FUNCTION double pressure(std::int64_t j, std::int64_t i) const {
    return 0.4 * density[cell(j, i)] * energy[cell(j, i)];
  }
};

constexpr double volume = 0.01;  // of a cell

// Volume, mass, internal and kinetic energy, pressure.
fanin::tuple<double, double, double, double, double> summary(const field& f) {
  const fanin::sum<double> sum;
  return fanin::parallel_reduce(
      "field summary", fanin::md_range({2, 2}, {f.ny + 2, f.nx + 2}),
      FANIN_LAMBDA(std::int64_t j, std::int64_t i) {
        const double mass = f.density[f.cell(j, i)] * volume;
        return fanin::tuple{volume, mass, mass * f.energy[f.cell(j, i)], f.kinetic(j, i) * volume,
                            f.pressure(j, i) * volume};
      },
      sum, sum, sum, sum, sum);
}

// The smallest time that sound takes through a cell, and which cell.
fanin::value_index<double, fanin::md_index<2>> time_step(const field& f) {
  return fanin::parallel_reduce(
      "time step", fanin::md_range({2, 2}, {f.ny + 2, f.nx + 2}),
      FANIN_LAMBDA(std::int64_t j, std::int64_t i) {
        return 0.1 / std::sqrt(1.4 * f.pressure(j, i) / f.density[f.cell(j, i)]);
      },
      fanin::min_loc<double>{});
}

// new = the mean of six neighbours, and the squares of what changes; a halo of one.
double jacobi(std::int64_t n, const double* old, double* now) {
  const std::int64_t row = n + 2;
  return fanin::parallel_reduce(
      "jacobi", fanin::md_range({1, 1, 1}, {n + 1, n + 1, n + 1}),
      FANIN_LAMBDA(std::int64_t k, std::int64_t j, std::int64_t i) {
        const std::int64_t at = (k * row + j) * row + i;
        now[at] =
            (old[at - 1] + old[at + 1] + old[at - row] + old[at + row] + old[at - row * row] + old[at + row * row]) / 6;
        return (now[at] - old[at]) * (now[at] - old[at]);
      },
      fanin::sum<double>{});
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-10 * std::abs(b); }

std::vector<double> wavy(std::int64_t n, double mean) {
  std::vector<double> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = mean + 0.1 * std::sin(0.7 * static_cast<double>(i));
  return values;
}

fanin::buffer<double> on_backend(const std::vector<double>& values) {
  fanin::buffer<double> buffer(values.size());
  buffer.copy_from(values);
  return buffer;
}

}  // namespace

int main() {
  const std::int64_t nx = 300;
  const std::int64_t ny = 200;
  const auto density = wavy((ny + 4) * (nx + 4), 1.0);
  const auto energy = wavy((ny + 4) * (nx + 4), 2.5);
  const auto velocity = wavy((ny + 5) * (nx + 5), 0.3);
  const auto on_density = on_backend(density);
  const auto on_energy = on_backend(energy);
  const auto on_velocity = on_backend(velocity);
  const field f{nx, ny, on_density.data(), on_energy.data(), on_velocity.data(), on_velocity.data()};
  const auto [total, mass, internal, kinetic, pressure] = summary(f);
  const auto [step, at] = time_step(f);
  std::printf("volume %.1f, mass %.3f, internal energy %.3f, kinetic energy %.3f, pressure %.3f\n", total, mass,
              internal, kinetic, pressure);
  std::printf("time step %.5f at row %lld, column %lld\n", step, static_cast<long long>(at[0]),
              static_cast<long long>(at[1]));

  // The same by plain loops.
  const field host{nx, ny, density.data(), energy.data(), velocity.data(), velocity.data()};
  double sums[5] = {};
  double least = 1e300;
  fanin::md_index<2> least_at{};
  for (std::int64_t j = 2; j < ny + 2; ++j) {
    for (std::int64_t i = 2; i < nx + 2; ++i) {
      const double of_cell = host.density[host.cell(j, i)] * volume;
      const double values[] = {volume, of_cell, of_cell * host.energy[host.cell(j, i)], host.kinetic(j, i) * volume,
                               host.pressure(j, i) * volume};
      for (int k = 0; k < 5; ++k) sums[k] += values[k];
      const double of_sound = 0.1 / std::sqrt(1.4 * host.pressure(j, i) / host.density[host.cell(j, i)]);
      if (of_sound < least) {
        least = of_sound;
        least_at = {{j, i}};
      }
    }
  }

  const std::int64_t n = 40;
  const auto start = wavy((n + 2) * (n + 2) * (n + 2), 1.0);
  const auto old = on_backend(start);
  fanin::buffer<double> now = on_backend(start);
  const double residual = jacobi(n, old.data(), now.data());
  double change = 0;
  const std::int64_t row = n + 2;
  const auto value = [&](std::int64_t k, std::int64_t j, std::int64_t i) {
    return start[static_cast<std::size_t>((k * row + j) * row + i)];
  };
  for (std::int64_t k = 1; k <= n; ++k) {
    for (std::int64_t j = 1; j <= n; ++j) {
      for (std::int64_t i = 1; i <= n; ++i) {
        const double mean = (value(k, j, i - 1) + value(k, j, i + 1) + value(k, j - 1, i) + value(k, j + 1, i) +
                             value(k - 1, j, i) + value(k + 1, j, i)) /
                            6;
        change += (mean - value(k, j, i)) * (mean - value(k, j, i));
      }
    }
  }
  std::printf("residual %.6f\n", std::sqrt(residual));

  const bool is_right = near(total, sums[0]) && near(mass, sums[1]) && near(internal, sums[2]) &&
                        near(kinetic, sums[3]) && near(pressure, sums[4]) && near(step, least) && at == least_at &&
                        near(residual, change);
  return is_right ? 0 : 1;
}
