// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

/// fanin::serial_order::lanes as its comment states it, in the obvious loops.
namespace fanin_test {

template <class T, class Op>
T in_lanes(std::span<const T> x, T identity, const Op& op) {
  constexpr std::size_t count = 256 / sizeof(T);
  std::vector<T> lane(count, identity);
  for (std::size_t i = 0; i < x.size(); ++i) lane[i % count] = op(lane[i % count], x[i]);
  for (std::size_t half = count / 2; half > 0; half /= 2) {
    for (std::size_t k = 0; k < half; ++k) lane[k] = op(lane[k], lane[k + half]);
  }
  return lane[0];
}

template <class T>
T sum_in_lanes(std::span<const T> x) {
  return in_lanes(x, T{0}, [](T a, T b) { return static_cast<T>(a + b); });
}
/// Integers wrap.
template <class T>
T product_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}
template <class T>
T product_in_lanes(std::span<const T> x) {
  return in_lanes(x, T{1}, product_of<T>);
}

/// Sizes around some lanes of T and some blocks of 8 KiB.
template <class T>
std::vector<std::size_t> sizes_around_lanes() {
  constexpr std::size_t count = 256 / sizeof(T);
  constexpr std::size_t block = 8192 / sizeof(T);
  std::vector<std::size_t> sizes;
  for (std::size_t n = 0; n <= 2 * count + 2; ++n) sizes.push_back(n);
  for (const std::size_t n : {block - 1, block, block + 1, 2 * block + count + 3, 5 * block + 1}) sizes.push_back(n);
  return sizes;
}

}  // namespace fanin_test
