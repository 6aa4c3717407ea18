// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>

/// What an answer may differ by. Rounding errors are bounded as in Higham, Accuracy and Stability, chapter 4: a sum in
/// which no element takes part in more than d additions is off by at most d * u * sum|x| (to first order), u = eps/2.
namespace fanin_test {

/// A sum in long double with compensation: an error of a few units of 2^-64 relative to sum|x|, below every bound here.
struct exact_ish {
  long double sum = 0;
  long double carry = 0;
  long double magnitude = 0;
  void add(long double x) {
    const long double next = sum + x;
    carry += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
    magnitude += std::fabs(x);
  }
  long double value() const { return sum + carry; }
};

/// Names an element whose absence or repetition explains a wrong integer sum.
template <std::integral T>
std::string explain(std::span<const T> x, T got, T expected) {
  using word = std::make_unsigned_t<T>;
  const auto missing = static_cast<T>(static_cast<word>(static_cast<word>(expected) - static_cast<word>(got)));
  const auto surplus = static_cast<T>(static_cast<word>(static_cast<word>(got) - static_cast<word>(expected)));
  std::ostringstream text;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == missing) text << "; as if element " << i << " were dropped";
    if (x[i] == surplus) text << "; as if element " << i << " were counted twice";
    if (text.tellp() > 200) break;
  }
  return text.str();
}

template <std::integral T>
::testing::AssertionResult is_sum_of(std::span<const T> x, T got, double /*depth*/) {
  using word = std::make_unsigned_t<T>;
  word expected = 0;
  for (const T value : x) expected = static_cast<word>(expected + static_cast<word>(value));
  if (static_cast<word>(got) == expected) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "the sum of " << x.size() << " elements is " << +got << ", expected "
                                       << +static_cast<T>(expected) << explain(x, got, static_cast<T>(expected));
}

/// depth: how many additions an element takes part in at most, by the order that the backend uses.
template <std::floating_point T>
::testing::AssertionResult is_sum_of(std::span<const T> x, T got, double depth) {
  exact_ish expected;
  for (const T value : x) expected.add(value);
  const long double bound =
      static_cast<long double>((depth + 1) * std::numeric_limits<T>::epsilon() / 2) * expected.magnitude;
  const long double error = std::fabs(static_cast<long double>(got) - expected.value());
  if (error <= bound) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "the sum of " << x.size() << " elements is " << got << ", expected "
                                       << expected.value() << " within " << bound;
}

template <std::integral T>
::testing::AssertionResult is_product_of(std::span<const T> x, T got, double /*depth*/) {
  std::uint64_t expected = 1;
  for (const T value : x) expected *= static_cast<std::uint64_t>(value);
  if (got == static_cast<T>(expected)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "the product of " << x.size() << " elements is " << +got << ", expected "
                                       << +static_cast<T>(expected);
}

/// n - 1 multiplications whatever the order, each off by a factor of at most 1 + u: n * u, twice for the higher orders.
template <std::floating_point T>
::testing::AssertionResult is_product_of(std::span<const T> x, T got, double /*depth*/) {
  long double expected = 1;
  for (const T value : x) expected *= static_cast<long double>(value);
  const long double bound = std::fabs(expected) * static_cast<long double>(x.size()) *
                            static_cast<long double>(std::numeric_limits<T>::epsilon());
  const long double error = std::fabs(static_cast<long double>(got) - expected);
  if (error <= bound) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "the product of " << x.size() << " elements is " << got << ", expected "
                                       << expected << " within " << bound;
}

}  // namespace fanin_test
