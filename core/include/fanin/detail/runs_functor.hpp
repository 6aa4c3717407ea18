// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/md_functor.hpp>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/macros.hpp>
#include <fanin/md_index.hpp>

namespace fanin::detail {

/// f of an element, whichever run's it is.
template <class F>
struct of_run {
  using dimensions = std::index_sequence<0>;

  F f;

  template <class... State>
    requires(takes_indices<F, dimensions, State...>)
  FANIN_FUNCTION constexpr typename given_for_indices<F, dimensions, State...>::type operator()(
      std::int64_t, std::int64_t k, State&&... state) const {
    return f(k, static_cast<State&&>(state)...);
  }
};

/// Keys, of which equal neighbours are of one run.
template <class Key>
struct runs_keys {
  using key_type = Key;

  const Key* keys;
  std::int64_t elements;

  FANIN_FUNCTION static constexpr bool are_equal(const Key& a, const Key& b) { return static_cast<bool>(a == b); }
  /// Whether a run begins there.
  FANIN_FUNCTION constexpr bool begins(std::int64_t k) const { return k == 0 || !are_equal(keys[k - 1], keys[k]); }
  /// Where the run ends in which k is.
  FANIN_FUNCTION constexpr std::int64_t end_of(std::int64_t k) const {
    for (++k; k < elements && are_equal(keys[k - 1], keys[k]);) ++k;
    return k;
  }
};

/// A functor f(run, k) over the runs of keys: what backends reduce. Where runs begin they find out themselves; one of
/// which that is known is a row as a segment is.
template <class F, class Key>
struct runs_functor : runs_keys<Key> {
  using axes = axes_of<2, 1>;
  using functor_type = F;

  F f;

  FANIN_FUNCTION constexpr md_index<1> place(std::int64_t run) const { return {{run}}; }
  FANIN_FUNCTION constexpr segment_row<const runs_functor&> row(std::int64_t run, std::int64_t begin,
                                                                std::int64_t end) const {
    return {*this, place(run), begin, end};
  }
};

/// Where results go: with a step from one to the next.
template <class Result>
struct results_in_line {
  Result* to;
  std::int64_t stride;

  FANIN_FUNCTION constexpr void put(std::int64_t row, const Result& result) const { to[row * stride] = result; }
};

/// Where runs go: keys.put(run, key) and results.put(run, result), for the first `capacity` of them.
template <class Keys, class Put>
struct runs_put {
  Keys keys;
  Put results;
  std::int64_t capacity;

  FANIN_FUNCTION constexpr std::int64_t fitting(std::int64_t runs) const { return runs < capacity ? runs : capacity; }
};

}  // namespace fanin::detail
