// SPDX-License-Identifier: Apache-2.0
#pragma once

// The solution that every form is compared with.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/values.hpp"
#include "loop/kernels.hpp"

namespace fanin_perf::cg {

/// b[i]: of either sign, and without the box's symmetries.
template <class T>
T right_side(std::int64_t i) {
  return value_at<T>(1, static_cast<std::uint64_t>(i));
}

struct reference {
  std::vector<double> squares;  ///< r.r at the start and after each iteration
  std::vector<double> x;        ///< after the last one
};

/// Iterations for b of type T, all in double and one point after the other.
template <class T>
reference solve(box points, std::int64_t iterations) {
  const auto n = static_cast<std::size_t>(points.points());
  reference found;
  found.x.resize(n);
  std::vector<double> r(n);
  for (std::size_t i = 0; i < n; ++i) r[i] = static_cast<double>(right_side<T>(static_cast<std::int64_t>(i)));
  std::vector<double> p = r;
  std::vector<double> q(n);
  const vectors<double> v{points, found.x.data(), r.data(), p.data(), q.data()};
  const auto sum = [&](const auto& f) {
    double total = 0;
    for (std::int64_t i = 0; i < points.points(); ++i) total += f(i);
    return total;
  };
  double square = sum([&](std::int64_t i) { return v.r[i] * v.r[i]; });
  found.squares = {square};
  for (std::int64_t k = 0; k < iterations; ++k) {
    const double alpha = square / sum(apply<double>{{points, v.p}, v.q});
    const double next = sum(update<double>{v, {.known = alpha}});
    const direct<double> direction{v.r, v.p, {.known = next / square}};
    for (std::int64_t i = 0; i < points.points(); ++i) direction(i);
    square = next;
    found.squares.push_back(square);
  }
  return found;
}

/// How far a square may be from the reference's, and x from its largest element. Rounding in 20 iterations makes 1e-13
/// and, where plain float sums of 2^17 points come one after the other, 1e-3.
template <class T>
constexpr double tolerance() {
  return sizeof(T) == sizeof(double) ? 1e-10 : 1e-2;
}

inline double relative_error(double value, double right) { return std::fabs(value - right) / std::fabs(right); }

template <class T>
double relative_error(const std::vector<T>& x, const std::vector<double>& right) {
  double largest = 0;
  double error = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(x[i]) - right[i]);
    if (!(difference <= error)) error = difference;  // a NaN stays
    largest = std::max(largest, std::fabs(right[i]));
  }
  return error / largest;
}

}  // namespace fanin_perf::cg
