// SPDX-License-Identifier: Apache-2.0
#pragma once

// All but a halo of one of an array of two or three dimensions: its elements, and what a stencil makes of them.

#include <array>
#include <cstddef>
#include <cstdint>

#include "shapes/shape.hpp"

namespace fanin_perf::shapes {

/// The square of what a point lacks to the mean of its neighbours, times their number.
template <class T>
struct lack_in_two {
  const T* x;
  std::int64_t m;
  FANIN_PERF_FUNCTION T operator()(std::int64_t i, std::int64_t j) const {
    const T* const at = x + i * m + j;
    const T lack = T{4} * at[0] - at[1] - at[-1] - at[m] - at[-m];
    return lack * lack;
  }
};
template <class T>
struct lack_in_three {
  const T* x;
  std::int64_t m;
  std::int64_t inner;
  FANIN_PERF_FUNCTION T operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    const T* const at = x + (i * m + j) * inner + k;
    const std::int64_t plane = m * inner;
    const T lack = T{6} * at[0] - at[1] - at[-1] - at[inner] - at[-inner] - at[plane] - at[-plane];
    return lack * lack;
  }
};

template <std::size_t Rank>
struct box {
  std::array<std::int64_t, Rank> lower;
  std::array<std::int64_t, Rank> upper;
};

/// Calls use(box, functor) with what is summed within the halo of the array that begins at x.
template <class T, class Use>
void with_box(const shape& of, const T* x, const Use& use) {
  const auto& [what, n, m, inner, given] = of;
  if (inner == 1) {
    const box<2> within{{1, 1}, {n - 1, m - 1}};
    what == kind::stencil ? use(within, lack_in_two<T>{x, m}) : use(within, element_at<T>{x, m});
  } else {
    const box<3> within{{1, 1, 1}, {n - 1, m - 1, inner - 1}};
    what == kind::stencil ? use(within, lack_in_three<T>{x, m, inner}) : use(within, element_of_three<T>{x, m, inner});
  }
}

/// A loop for each dimension, in the order of memory: add(i, j) or add(i, j, k).
template <class Add>
void for_each_in(const box<2>& within, const Add& add) {
  for (std::int64_t i = within.lower[0]; i < within.upper[0]; ++i) {
    for (std::int64_t j = within.lower[1]; j < within.upper[1]; ++j) add(i, j);
  }
}
template <class Add>
void for_each_in(const box<3>& within, const Add& add) {
  for (std::int64_t i = within.lower[0]; i < within.upper[0]; ++i) {
    for (std::int64_t j = within.lower[1]; j < within.upper[1]; ++j) {
      for (std::int64_t k = within.lower[2]; k < within.upper[2]; ++k) add(i, j, k);
    }
  }
}

}  // namespace fanin_perf::shapes
