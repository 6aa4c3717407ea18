// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstdint>

#include <fanin/macros.hpp>

#pragma GCC visibility push(default)

/// The loops over many elements that hosts share: compiled once, in the library fanin::host, for several instruction
/// sets, of which a program takes the best that its processor has. Each gives the same bits, whatever the compiler and
/// the flags of the unit that calls it.
namespace fanin::detail::host {

/// Which instructions a loop uses: those that every processor of its kind has (SSE2 on x86-64), AVX2, or AVX-512 (F,
/// BW, DQ, VL).
enum class level { baseline, avx2, avx512 };

/// How many lanes a sum of T has: 256 bytes of them, which are four to sixteen vectors.
template <class T>
inline constexpr int lane_count = 256 / static_cast<int>(sizeof(T));

/// A sum or a product on its way: element k stands in lane k mod lane_count. Lanes start from the identity; in the end
/// lane j takes lane j + half in, for half = lane_count / 2, then the halves of what is left, until one is left. (Lanes
/// that no element has reached hold the identity, which changes nothing, and are not written.)
template <class T>
struct lanes {
  T lane[lane_count<T>];
  std::int64_t taken;

  FANIN_FUNCTION lanes() : taken{0} {}  // no lane is written
};

template <class T>
struct lowest_and_highest {
  T lowest;
  T highest;
};

/// The loops for elements of T: float, double and the signed and unsigned integers of 1, 2, 4 and 8 bytes. Sums and
/// products are of float, double and unsigned integers only (null for others), which wrap like the signed ones.
template <class T>
struct loops {
  /// Takes the next n elements in.
  void (*add)(lanes<T>& into, const T* from, std::int64_t n);
  void (*multiply)(lanes<T>& into, const T* from, std::int64_t n);
  /// What all lanes hold together; they are used up.
  T (*sum)(lanes<T>& of);
  T (*product)(lanes<T>& of);
  /// The extremes of n >= 1 elements, by the rules of fanin::min and fanin::max, in every mode of the thread.
  T (*lowest)(const T* from, std::int64_t n);
  T (*highest)(const T* from, std::int64_t n);
  lowest_and_highest<T> (*extremes)(const T* from, std::int64_t n);
  /// Where `value` stands first among n elements, of which it is one: -0 and +0 differ, one NaN is as good as another.
  std::int64_t (*place)(const T* from, std::int64_t n, T value);
  /// Adds the products of the next n elements of two arrays, each rounded before it is added; null where add is.
  void (*add_products)(lanes<T>& into, const T* x, const T* y, std::int64_t n);
};

/// Those of one level; null where the processor does not have it, or the library was compiled without.
template <class T>
const loops<T>* loops_at(level which) noexcept;

/// Those of the best level.
template <class T>
const loops<T>& loops_of() noexcept;

}  // namespace fanin::detail::host

#pragma GCC visibility pop
