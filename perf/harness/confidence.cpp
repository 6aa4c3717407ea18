// SPDX-License-Identifier: Apache-2.0
#include "harness/confidence.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace fanin_perf {
namespace {

// The probability of |T| < tan(angle) * sqrt(degrees): finite sums (Abramowitz and Stegun, 26.7.3 and 26.7.4).
double probability_within(double angle, int degrees) {
  const double cosine = std::cos(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = 0;
  for (int k = odd ? 1 : 0; k <= degrees - 2; k += 2) {
    sum += term;
    term *= cosine * cosine * (k + 1) / (k + 2);
  }
  const double part = std::sin(angle) * sum;
  return odd ? 2 / std::numbers::pi * (angle + part) : part;
}

interval of_logarithms(const std::vector<double>& logarithms) {
  interval found;
  if (logarithms.empty()) return found;
  const auto count = static_cast<double>(logarithms.size());
  double mean = 0;
  for (const double x : logarithms) mean += x / count;
  found.mean = std::exp(mean);
  if (logarithms.size() < 2) return found;
  double squares = 0;
  for (const double x : logarithms) squares += (x - mean) * (x - mean);
  const double error = std::sqrt(squares / (count - 1) / count);
  const double half = student_t95(static_cast<int>(logarithms.size()) - 1) * error;
  found.low = std::exp(mean - half);
  found.high = std::exp(mean + half);
  return found;
}

}  // namespace

double student_t95(int degrees_of_freedom) {
  double low = 0;
  double high = std::numbers::pi / 2;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (probability_within(middle, degrees_of_freedom) < 0.95 ? low : high) = middle;
  }
  return std::tan(low) * std::sqrt(static_cast<double>(degrees_of_freedom));
}

interval geometric_mean(const std::vector<double>& values) {
  std::vector<double> logarithms;
  for (const double value : values) logarithms.push_back(std::log(value));
  return of_logarithms(logarithms);
}

interval paired_ratio(const std::vector<double>& peer, const std::vector<double>& own) {
  std::vector<double> logarithms;
  for (std::size_t k = 0; k < std::min(peer.size(), own.size()); ++k) {
    logarithms.push_back(std::log(peer[k] / own[k]));
  }
  return of_logarithms(logarithms);
}

}  // namespace fanin_perf
