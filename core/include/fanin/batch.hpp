// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/gathering.hpp>
#include <fanin/macros.hpp>

/// Batches: several elements of a reducer's value_type that a thread has at once. A reducer may have const members
///     fold_batch(state&, const fanin::span_batch<value_type>&)           for hosts, FANIN_FUNCTION where it is one
///     template <int Rows, int Columns>
///     fold_batch(state&, const fanin::tile_batch<Rows, Columns, value_type>&)   for devices, FANIN_FUNCTION
/// which gives what folding one element after the other would give. Without it elements are folded so. Elements of
/// another type than value_type are converted, and folded one by one. All indices of a batch are larger than those that
/// the state has seen; single elements may come in any order. Tiles have any number of Rows and Columns, one of each,
/// too.
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
  using value_type = T;
  const T* values;
  std::int64_t count;
  std::int64_t first;
};

/// Rows of Columns values each: row r holds the elements first + r * row_step, + 1, ... Only the first `rows` rows
/// count; the others repeat the first row's values.
template <int Rows, int Columns, class T>
struct tile_batch {
  using value_type = T;
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

/// Only of its own value_type, so that nothing is converted on the way.
template <class R, class Batch>
concept takes_batch =
    std::is_same_v<typename Batch::value_type, reducer_value_t<R>> &&
    requires(const R r, reducer_state_t<R>& state, const Batch& batch) { r.fold_batch(state, batch); };
template <class R, class Batch>
concept has_fast_levels = takes_batch<R, Batch> && requires(const R r, reducer_state_t<R>& state, const Batch& batch) {
  { r.fast_level(std::as_const(state), batch) } -> std::same_as<unsigned>;
  r.fold_fast(state, batch, 0U);
};

}  // namespace detail

}  // namespace fanin
