// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
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

}  // namespace fanin_test
