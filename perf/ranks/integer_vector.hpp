// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

/// A reproducible sum as climate models carry it (P. Worley, shr_reprosum_mod of CESM and E3SM, whose comment describes
/// it): a collective for the largest and the least exponent, then numbers as integers of a few levels, which another
/// collective adds up. Written from that description, for finite doubles.
///
/// Exponents are read from the bits, and numbers are scaled by a multiplication.
inline double sum_by_integer_vectors(std::span<const double> xs, MPI_Comm comm) {
  const auto exponent_of = [](double x) {
    return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1022;
  };
  const auto power_of_two = [](int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  };
  // The largest exponent, the least one, negated, and the most elements of a rank.
  std::array<int, 3> bounds{INT_MIN, INT_MIN, static_cast<int>(xs.size())};
  for (const double x : xs) {
    if (x == 0) continue;
    const int exponent = exponent_of(x);
    bounds[0] = std::max(bounds[0], exponent);
    bounds[1] = std::max(bounds[1], -exponent);
  }
  MPI_Allreduce(MPI_IN_PLACE, bounds.data(), 3, MPI_INT, MPI_MAX, comm);
  if (bounds[0] == INT_MIN) return 0;
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);

  // A level has 62 bits, less those by which its sum grows.
  const int bits = 62 - static_cast<int>(std::ceil(std::log2(static_cast<double>(bounds[2]) * ranks + 1)));
  const int levels = (bounds[0] + bounds[1] + 53) / bits + 1;
  constexpr int most_levels = 70;
  std::array<std::int64_t, most_levels> sums{};
  if (levels > most_levels) return std::nan("");
  for (const double x : xs) {
    if (x == 0) continue;
    const int below = bounds[0] - exponent_of(x);
    auto level = static_cast<std::size_t>(below / bits);
    double rest = x * power_of_two(bits * static_cast<int>(level + 1) - bounds[0]);
    while (rest != 0) {
      const double whole = std::trunc(rest);
      sums[level++] += static_cast<std::int64_t>(whole);
      rest = (rest - whole) * power_of_two(bits);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), levels, MPI_INT64_T, MPI_SUM, comm);

  // From the bottom, with what goes over into the level above.
  double sum = 0;
  for (int level = levels; level-- > 0;) {
    auto& digit = sums[static_cast<std::size_t>(level)];
    if (level > 0) {
      const std::int64_t carry = digit >> bits;
      digit -= carry << bits;
      sums[static_cast<std::size_t>(level) - 1] += carry;
    }
    sum += std::ldexp(static_cast<double>(digit), bounds[0] - bits * (level + 1));
  }
  return sum;
}
