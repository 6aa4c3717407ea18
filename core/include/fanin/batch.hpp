// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstdint>
#include <type_traits>

#include <fanin/gathering.hpp>
#include <fanin/macros.hpp>

/// Batches: several elements of a reducer's value_type that a thread has at once. A reducer may have
///     fold_batch(state&, const fanin::span_batch<value_type>&)           for hosts, FANIN_FUNCTION where it is one
///     template <int Rows, int Columns>
///     fold_batch(state&, const fanin::tile_batch<Rows, Columns, value_type>&)   for devices, FANIN_FUNCTION
/// which gives what folding one element after the other would give. Without it elements are folded so. A thread's
/// batches and elements come in rising order of their indices.
///
/// For a device's inner loop it may tell how fast a whole tile goes:
///     fast_level(const state&, const tile_batch<Rows, Columns, value_type>&) -> unsigned
///     fold_fast(state&, const tile_batch<Rows, Columns, value_type>&, unsigned level)
/// The fastest level is 0; what a level takes each higher one takes, so that all lanes of a warp fold at the greatest
/// level among theirs; a tile of no_fast_level goes to fold_batch. fold_fast calls no function that is not inlined.
namespace fanin {

/// Elements first, first + 1, ..., first + count - 1 of an array.
template <class T>
struct span_batch {
  const T* values;
  std::int64_t count;
  std::int64_t first;
};

/// Rows of Columns values each: row r holds the elements first + r * row_step, + 1, ... Only the first `rows` rows
/// count; the others repeat the first row's values.
template <int Rows, int Columns, class T>
struct tile_batch {
  static constexpr int size = Rows * Columns;
  const T* values;
  std::int64_t first;
  std::int64_t row_step;
  int rows = Rows;

  FANIN_FUNCTION constexpr std::int64_t index(int at) const { return first + at / Columns * row_step + at % Columns; }
  FANIN_FUNCTION constexpr bool counts(int at) const { return at / Columns < rows; }
};

inline constexpr unsigned no_fast_level = ~0U;

namespace detail {

template <class R, class Batch>
concept takes_batch =
    requires(const R r, reducer_state_t<R>& state, const Batch& batch) { r.fold_batch(state, batch); };
template <class R, class Batch>
concept has_fast_levels =
    requires(const R r, const reducer_state_t<R>& state, const Batch& batch) { r.fast_level(state, batch); };

/// Whether a reducer takes arrays of T at once: only of its own value_type, so that nothing is converted on the way.
template <class R, class T>
inline constexpr bool takes_spans = std::is_same_v<reducer_value_t<R>, T> && takes_batch<R, span_batch<T>>;

}  // namespace detail

}  // namespace fanin
