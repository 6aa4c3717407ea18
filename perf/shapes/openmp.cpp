// SPDX-License-Identifier: Apache-2.0

// All threads of the host by OpenMP alone, as an application writes it: the outer loop shared, or all loops of a box
// (collapse), or the outer one with vectors in the inner one (simd).

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shapes/box.hpp"
#include "shapes/shape.hpp"

namespace fanin_perf::shapes {
namespace {

enum class nest { plain, collapse, simd };

template <nest As, class T, class F>
T sum_box(const box<2>& within, const F& f) {
  const std::int64_t i0 = within.lower[0], i1 = within.upper[0];
  const std::int64_t j0 = within.lower[1], j1 = within.upper[1];
  T sum = 0;
  if constexpr (As == nest::collapse) {
#pragma omp parallel for collapse(2) reduction(+ : sum)
    for (std::int64_t i = i0; i < i1; ++i) {
      for (std::int64_t j = j0; j < j1; ++j) sum += f(i, j);
    }
  } else if constexpr (As == nest::simd) {
#pragma omp parallel for reduction(+ : sum)
    for (std::int64_t i = i0; i < i1; ++i) {
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = j0; j < j1; ++j) sum += f(i, j);
    }
  } else {
#pragma omp parallel for reduction(+ : sum)
    for (std::int64_t i = i0; i < i1; ++i) {
      for (std::int64_t j = j0; j < j1; ++j) sum += f(i, j);
    }
  }
  return sum;
}
template <nest As, class T, class F>
T sum_box(const box<3>& within, const F& f) {
  const std::int64_t i0 = within.lower[0], i1 = within.upper[0];
  const std::int64_t j0 = within.lower[1], j1 = within.upper[1];
  const std::int64_t k0 = within.lower[2], k1 = within.upper[2];
  T sum = 0;
  if constexpr (As == nest::collapse) {
#pragma omp parallel for collapse(3) reduction(+ : sum)
    for (std::int64_t i = i0; i < i1; ++i) {
      for (std::int64_t j = j0; j < j1; ++j) {
        for (std::int64_t k = k0; k < k1; ++k) sum += f(i, j, k);
      }
    }
  } else if constexpr (As == nest::simd) {
#pragma omp parallel for collapse(2) reduction(+ : sum)
    for (std::int64_t i = i0; i < i1; ++i) {
      for (std::int64_t j = j0; j < j1; ++j) {
#pragma omp simd reduction(+ : sum)
        for (std::int64_t k = k0; k < k1; ++k) sum += f(i, j, k);
      }
    }
  } else {
#pragma omp parallel for reduction(+ : sum)
    for (std::int64_t i = i0; i < i1; ++i) {
      for (std::int64_t j = j0; j < j1; ++j) {
        for (std::int64_t k = k0; k < k1; ++k) sum += f(i, j, k);
      }
    }
  }
  return sum;
}

template <nest As, class T>
T sum_elements(const T* x, std::int64_t m) {
  T sum = 0;
  if constexpr (As == nest::simd) {
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < m; ++j) sum += x[j];
  } else {
    for (std::int64_t j = 0; j < m; ++j) sum += x[j];
  }
  return sum;
}

/// Few columns in a thread's own sums; of many each thread has some.
template <class T>
void sum_columns(const T* x, std::int64_t n, std::int64_t m, T* out) {
  constexpr std::int64_t most_of_own = 4096;
  std::fill_n(out, m, T{0});
  if (m <= most_of_own) {
#pragma omp parallel for reduction(+ : out[ : m])
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < m; ++j) out[j] += x[i * m + j];
    }
    return;
  }
#pragma omp parallel for
  for (std::int64_t first = 0; first < m; first += most_of_own) {
    const std::int64_t last = std::min(m, first + most_of_own);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = first; j < last; ++j) out[j] += x[i * m + j];
    }
  }
}

template <nest As, class T>
struct nests : on_host<T> {
  using on_host<T>::on_host;
  void reduce(const problem<T>& of, const element_at<T>& f, T* out) {
    const kind what = of.of.what;
    const std::int64_t n = of.of.n, m = of.of.m;
    const T* const x = f.x;
    if (what == kind::rows) {
#pragma omp parallel for
      for (std::int64_t i = 0; i < n; ++i) out[i] = sum_elements<As>(x + i * m, m);
    } else if (what == kind::columns) {
      sum_columns(x, n, m, out);
    } else if (what == kind::triangle) {
      const sum_in_triangle<T> sum_of_row{x, n, m};
      T sum = 0;
#pragma omp parallel for schedule(dynamic, chunk_of_triangle) reduction(+ : sum)
      for (std::int64_t i = 0; i < n; ++i) sum += sum_of_row(i);
      *out = sum;
    } else {
      shapes::with_box(of.of, x, [&](const auto& within, const auto& g) { *out = sum_box<As, T>(within, g); });
    }
  }
};
template <class T>
using plain = nests<nest::plain, T>;
template <class T>
using collapsed = nests<nest::collapse, T>;
template <class T>
using by_vectors = nests<nest::simd, T>;

}  // namespace

void add_openmp(registry& to) {
  to.contenders.push_back(of_library<plain>(
      {.name = "openmp", .kinds = {kind::rows, kind::columns, kind::md, kind::stencil, kind::triangle}}));
  to.contenders.push_back(of_library<collapsed>({.name = "openmp-collapse", .kinds = {kind::md, kind::stencil}}));
  to.contenders.push_back(
      of_library<by_vectors>({.name = "openmp-simd", .kinds = {kind::rows, kind::md, kind::stencil}}));
}

}  // namespace fanin_perf::shapes
