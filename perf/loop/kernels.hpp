// SPDX-License-Identifier: Apache-2.0
#pragma once

// Conjugate gradients on a 7-point stencil: the vectors, and what is done at each point. The same for every form.

#include <cstdint>

#include "harness/values.hpp"

namespace fanin_perf::cg {

/// A box of 2^bits points, its extents powers of two that are as alike as can be, with x fastest.
struct box {
  int bits = 0;

  FANIN_PERF_FUNCTION constexpr int x_bits() const { return (bits + 2) / 3; }
  FANIN_PERF_FUNCTION constexpr int y_bits() const { return (bits + 1) / 3; }
  FANIN_PERF_FUNCTION constexpr int z_bits() const { return bits / 3; }
  FANIN_PERF_FUNCTION constexpr std::int64_t points() const { return std::int64_t{1} << bits; }
};

/// What an iteration reads and writes, in the memory of the place where it runs.
template <class T>
struct vectors {
  box points;
  T* x;
  T* r;
  T* p;
  T* q;
};

/// r.r after an iteration, and its ratio to the one before.
template <class T>
struct progress {
  T square;
  T beta;
};

/// The scalars of an iteration, beside the vectors. Each form uses those that it needs.
template <class T>
struct scalars {
  T squares[2];  ///< r.r before and after iteration k: squares[k % 2] and the other
  T product;     ///< p.q
  T alpha;
  progress<T> last;
  T zero;
  T one;
};

/// (A p)[i]: six times the point less its neighbours, with zeros around the box.
template <class T>
struct stencil {
  box points;
  const T* p;

  FANIN_PERF_FUNCTION T operator()(std::int64_t i) const {
    const std::int64_t row = std::int64_t{1} << points.x_bits();
    const std::int64_t plane = row << points.y_bits();
    const std::int64_t x = i & (row - 1);
    const std::int64_t y = i & (plane - row);
    T value = 6 * p[i];
    if (x > 0) value -= p[i - 1];
    if (x < row - 1) value -= p[i + 1];
    if (y > 0) value -= p[i - row];
    if (y < plane - row) value -= p[i + row];
    if (i >= plane) value -= p[i - plane];
    if (i < points.points() - plane) value -= p[i + plane];
    return value;
  }
};

/// Alpha or beta: what stands in memory, a quotient of what stands there, or a number that the host knows.
template <class T>
struct factor {
  const T* over = nullptr;
  const T* under = nullptr;
  T known = 0;

  FANIN_PERF_FUNCTION T operator()() const {
    if (over == nullptr) return known;
    return under == nullptr ? *over : *over / *under;
  }
};

/// q = A p; gives the terms of p.q.
template <class T>
struct apply {
  stencil<T> matrix;
  T* q;

  FANIN_PERF_FUNCTION T operator()(std::int64_t i) const {
    const T value = matrix(i);
    q[i] = value;
    return matrix.p[i] * value;
  }
};

/// x += alpha p, r -= alpha q; gives the terms of r.r.
template <class T>
struct update {
  vectors<T> of;
  factor<T> alpha;

  FANIN_PERF_FUNCTION T operator()(std::int64_t i) const {
    const T a = alpha();
    of.x[i] += a * of.p[i];
    const T r = of.r[i] - a * of.q[i];
    of.r[i] = r;
    return r * r;
  }
};

/// p = r + beta p
template <class T>
struct direct {
  const T* r;
  T* p;
  factor<T> beta;

  FANIN_PERF_FUNCTION void operator()(std::int64_t i) const { p[i] = r[i] + beta() * p[i]; }
};

}  // namespace fanin_perf::cg
