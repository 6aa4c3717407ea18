// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <fanin/reducers.hpp>

#include "support/data.hpp"

/// Arrays whose order is another where denormals count as zeros, and their extremes by integers alone.
namespace fanin_test {

template <class T>
using float_word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Denormals of both signs; of one sign; with zeros of both signs; with few normal numbers among them; equal ones.
template <class T>
std::vector<std::vector<T>> arrays_of_denormals(std::size_t n) {
  using word = float_word<T>;
  constexpr word sign = ~(~word{0} >> 1);
  const word normal = std::bit_cast<word>(std::numeric_limits<T>::min());
  std::vector<std::vector<T>> all(6, std::vector<T>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = static_cast<word>(mix(i));
    const word denormal = bits % normal;
    all[0][i] = std::bit_cast<T>(static_cast<word>(denormal | (bits & sign)));
    all[1][i] = std::bit_cast<T>(static_cast<word>(denormal + 1));
    all[2][i] = std::bit_cast<T>(static_cast<word>(denormal | sign));
    all[3][i] = std::bit_cast<T>(static_cast<word>((bits & sign) | bits % 3));
    all[4][i] = std::bit_cast<T>(static_cast<word>((i % 100 == 50 ? normal : 1 + denormal % 5) | (bits & sign)));
    all[5][i] = std::bit_cast<T>(static_cast<word>(0x400 + (bits & 1)));
  }
  return all;
}

/// NaN before all, -0 below +0, and the smallest index among equals.
template <class T>
fanin::min_max_index<T> extremes_by_integers(const std::vector<T>& x) {
  using word = float_word<T>;
  const auto rank = [](T value, std::int64_t of_nan) {
    const auto bits = std::bit_cast<word>(value);
    const auto magnitude = bits & (~word{0} >> 1);
    if (magnitude > std::bit_cast<word>(std::numeric_limits<T>::infinity())) return of_nan;
    const auto distance = static_cast<std::int64_t>(magnitude);
    return magnitude == bits ? distance : -1 - distance;
  };
  std::size_t least = 0;
  std::size_t most = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (rank(x[i], INT64_MIN) < rank(x[least], INT64_MIN)) least = i;
    if (rank(x[i], INT64_MAX) > rank(x[most], INT64_MAX)) most = i;
  }
  return {x[least], x[most], static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
}

}  // namespace fanin_test
