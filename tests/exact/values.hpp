// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Data that exact sums must not lose a bit of.
namespace fanin_test {

/// Finite numbers of any bits: every exponent, denormals, both signs.
template <class T>
std::vector<T> of_all_exponents(std::size_t n, std::uint64_t seed) {
  using word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  std::mt19937_64 random(seed);
  std::vector<T> x(n);
  for (T& element : x) {
    do {
      element = std::bit_cast<T>(static_cast<word>(random()));
    } while (!std::isfinite(element));
  }
  return x;
}

/// Of exponents from lowest to highest alike, of both signs.
template <class T>
std::vector<T> of_range(std::size_t n, int lowest, int highest, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> x(n);
  for (T& element : x) {
    const int exponent = lowest + static_cast<int>(random() % static_cast<std::uint64_t>(highest - lowest + 1));
    const double fraction = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
    element = static_cast<T>(std::ldexp(random() % 2 == 0 ? fraction : -fraction, exponent));
  }
  return x;
}

/// Every one in `often` elements is one of the others.
template <class T>
std::vector<T> mixed(std::vector<T> x, const std::vector<T>& others, std::size_t often) {
  for (std::size_t i = often / 2; i < x.size(); i += often) x[i] = others[i];
  return x;
}

/// Of every shape that decides how exact sums take elements.
template <class T>
std::vector<std::pair<std::string, std::vector<T>>> kinds_of_values(std::size_t n, std::uint64_t seed) {
  constexpr int most = sizeof(T) == 8 ? 1023 : 127;
  constexpr int least = sizeof(T) == 8 ? -1074 : -149;
  const std::vector<T> zeros(n);
  const auto any = of_all_exponents<T>(n, seed);
  std::vector<std::pair<std::string, std::vector<T>>> all{{"any bits", any}};
  for (const int binades : {1, 8, 30, 50, 64, 90, 120, 200}) {
    all.emplace_back("of " + std::to_string(binades) + " binades", of_range<T>(n, -binades / 2, binades / 2, seed));
  }
  const auto narrow = of_range<T>(n, -2, 2, seed + 1);
  for (const std::size_t often : {2, 10, 100, 1000}) {
    all.emplace_back("with outliers in " + std::to_string(often), mixed(narrow, any, often));
  }
  all.emplace_back("sparse", mixed(zeros, narrow, 16));
  all.emplace_back("sparse, of any bits", mixed(zeros, any, 16));
  all.emplace_back("the largest", of_range<T>(n, most - 3, most, seed));
  all.emplace_back("denormal", of_range<T>(n, least, least + 20, seed));
  all.emplace_back("nearly denormal", of_range<T>(n, least + 10, least + 90, seed));
  all.emplace_back("products nearly vanish", of_range<T>(n, most / 2 - most - 30, most / 2 - most + 30, seed));
  auto sorted = of_range<T>(n, -50, 50, seed);
  std::sort(sorted.begin(), sorted.end());
  all.emplace_back("sorted", sorted);
  auto cancelling = of_range<T>(n, -20, 20, seed);
  for (std::size_t i = 1; i < n; i += 2) cancelling[i] = -cancelling[i - 1];
  all.emplace_back("cancelling", cancelling);
  return all;
}

}  // namespace fanin_test
