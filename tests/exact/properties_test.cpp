// SPDX-License-Identifier: Apache-2.0
// What holds of exact sums of any elements at all.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <fanin/exact_sum.hpp>
#include <fanin/serial/serial.hpp>

#include "support/same.hpp"

namespace {

using fanin_test::same;

double sum(const std::vector<double>& x) { return fanin::reduce(fanin::serial{}, x, fanin::exact_sum<double>{}); }

fanin::exact_accumulator accumulated(const std::vector<double>& x) {
  return fanin::reduce(fanin::serial{}, x, fanin::exact_sum<double, fanin::exact_accumulator>{});
}

/// Finite ones of every kind: any bits, or near to each other in size.
rc::Gen<std::vector<double>> elements() {
  return rc::gen::exec([] {
    const auto bits = *rc::gen::arbitrary<std::vector<std::uint64_t>>();
    const auto repeats = *rc::gen::inRange<std::size_t>(1, 40);
    const auto from = *rc::gen::inRange(0, 0x7ff);
    const auto width = *rc::gen::element(1, 20, 90, 2047);
    std::mt19937_64 random(bits.size());
    std::vector<double> x;
    for (const std::uint64_t seed : bits) {
      for (std::size_t k = 0; k < repeats; ++k) {
        const std::uint64_t word = random() ^ seed;
        const auto field = static_cast<std::uint64_t>(
            std::min(from + static_cast<int>(random() % static_cast<unsigned>(width)), 0x7fe));
        x.push_back(std::bit_cast<double>((word & ~(0x7ffULL << 52)) | field << 52));
      }
    }
    return x;
  });
}

RC_GTEST_PROP(exact_sum_properties, is_that_of_any_order, ()) {
  auto x = *elements();
  const double before = sum(x);
  std::mt19937_64 random(x.size());
  std::ranges::shuffle(x, random);
  RC_ASSERT(same(sum(x), before));
}

RC_GTEST_PROP(exact_sum_properties, of_two_parts_is_that_of_the_whole, ()) {
  auto x = *elements();
  const auto y = *elements();
  auto parts = accumulated(x);
  parts.merge(accumulated(y));
  x.insert(x.end(), y.begin(), y.end());
  RC_ASSERT(accumulated(x).serialise() == parts.serialise());
}

RC_GTEST_PROP(exact_sum_properties, with_all_elements_negated_as_well_is_zero, ()) {
  auto x = *elements();
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) x.push_back(-x[i]);
  x.push_back(0.375);
  RC_ASSERT(same(sum(x), 0.375));
}

RC_GTEST_PROP(exact_sum_properties, changes_sign_with_its_elements, ()) {
  auto x = *elements();
  const double before = sum(x);
  for (double& value : x) value = -value;
  RC_ASSERT(same(sum(x) + 0.0, -before + 0.0));
}

RC_GTEST_PROP(exact_sum_properties, of_the_sum_and_what_it_lacks_is_zero, ()) {
  // The rounding error of the sum is at most half a unit in its last place.
  const auto x = *elements();
  auto rest = accumulated(x);
  const double rounded = rest.value();
  RC_PRE(std::isfinite(rounded));
  rest.add(-rounded);
  const double error = std::fabs(rest.value());
  const double next = std::nextafter(std::fabs(rounded), INFINITY);
  RC_ASSERT(error <= (next - std::fabs(rounded)) / 2 || (error == 0 && next < 1));
}

RC_GTEST_PROP(exact_sum_properties, is_monotone, ()) {
  auto x = *elements();
  RC_PRE(!x.empty());
  const double before = sum(x);
  x.front() = std::nextafter(x.front(), INFINITY);
  RC_ASSERT(sum(x) >= before);
}

}  // namespace
