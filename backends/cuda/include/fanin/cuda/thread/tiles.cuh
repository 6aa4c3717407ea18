// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <fanin/batch.hpp>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/recipe.hpp>
#include <fanin/cuda/reducer/substitute.hpp>
#include <fanin/cuda/thread/lines.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/vectorised.cuh>
#include <fanin/detail/divider.hpp>
#include <fanin/detail/md_functor.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>
#include <fanin/macros.hpp>

namespace fanin::detail {

/// A box of several dimensions as tiles of its two fastest, one for a warp at a time: each lane has an index of the
/// fastest dimension, and `height` of the next. See docs/adr/0023.
class md_tiles {
 public:
  static constexpr int height = 8;
  static constexpr int width = warp_size;
  static constexpr std::int64_t least_length = 24;
  static constexpr std::int64_t least_count = std::int64_t{3} << 18;

  /// Which tile: along the fastest dimension, down the next, and of which plane, which the others number.
  struct place {
    std::uint32_t across;
    std::uint32_t down;
    std::uint32_t plane;
  };

  md_tiles() = default;
  /// Of a box of `count` indices, if it has `least` and is not too narrow, or beyond 31 bits, in a dimension. Tiles
  /// begin where a row's index is a multiple of their width, since arrays mostly begin, with a line of memory, where it
  /// is 0; but with the row where that saves one of few. (Not by the address of a view's elements: no bits depend on
  /// one modulo more than 16.)
  template <std::size_t Rank, iterate Order>
  md_tiles(const md_shape<Rank, Order>& shape, std::int64_t count, std::int64_t least = least_count) {
    const std::int64_t length = shape.extent(0);
    if (count < least || length < least_length) return;
    std::int64_t rows = count / length;
    std::int64_t planes = 1;
    if constexpr (Rank > 2) {
      planes = rows / shape.extent(1);
      rows = shape.extent(1);
    }
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - width;  // where tiles end, too
    if (rows < height || length > most || rows > most || planes > most) return;
    length_ = static_cast<int>(length);
    rows_ = static_cast<int>(rows);
    planes_ = static_cast<std::uint32_t>(planes);
    down_ = divider((rows - 1) / height + 1);

    constexpr std::int64_t many = 32;
    const auto behind = static_cast<int>(static_cast<std::uint64_t>(shape.lower(shape.fastest)) % width);
    const std::int64_t least_across = (length - 1) / width + 1;
    const std::int64_t across = (length + behind - 1) / width + 1;
    const bool is_aligned = across == least_across || least_across >= many;
    across_ = divider(is_aligned ? across : least_across);
    behind_ = is_aligned ? behind : 0;
  }

  /// 0 where the box is not taken by tiles.
  FANIN_FUNCTION std::uint32_t planes() const { return planes_; }
  std::int64_t count() const { return std::int64_t{planes_} * across() * down(); }
  FANIN_FUNCTION int length() const { return length_; }
  FANIN_FUNCTION int rows() const { return rows_; }
  /// Where a lane is in a row, of a tile so far across; in none where it is negative, or the length and more.
  FANIN_FUNCTION int along(std::uint32_t across, unsigned lane) const {
    return static_cast<int>(across * width + lane) - behind_;
  }

  /// Of the tile whose number is n < 2^31.
  FANIN_FUNCTION place place_of(std::uint32_t n) const {
    const std::uint32_t row = across_.quotient(n);
    const std::uint32_t plane = down_.quotient(row);
    return {n - row * across(), row - plane * down(), plane};
  }
  /// As many tiles further as `by` is from the first one.
  FANIN_FUNCTION place after(place at, const place& by) const {
    at.across += by.across;
    at.down += by.down;
    at.plane += by.plane;
    if (at.across >= across()) {
      at.across -= across();
      ++at.down;
    }
    if (at.down >= down()) {
      at.down -= down();
      ++at.plane;
    }
    return at;
  }

 private:
  FANIN_FUNCTION std::uint32_t across() const { return static_cast<std::uint32_t>(across_.divisor()); }
  FANIN_FUNCTION std::uint32_t down() const { return static_cast<std::uint32_t>(down_.divisor()); }

  divider across_;
  divider down_;
  int length_ = 0;
  int rows_ = 0;
  std::uint32_t planes_ = 0;
  int behind_ = 0;
};

/// A lane's column of a tile: f from the index on that is so far behind the box's first one.
template <class F, std::size_t Rank, iterate Order>
__device__ md_column<F, Rank, Order> column_of(const md_functor<F, Rank, Order>& f, std::int64_t plane,
                                               std::int64_t row, std::int64_t along) {
  return {f.f, f.shape.index_of(plane, row, along)};
}

/// A functor over a box that is taken by tiles.
template <class F, std::size_t Rank, iterate Order>
struct md_source : index_source<md_functor<F, Rank, Order>> {
  md_tiles tiles;
};
template <class F, std::size_t Rank, iterate Order>
inline constexpr bool has_tiles<md_source<F, Rank, Order>> = true;

/// Whether a box is taken by tiles where it is not too small: a lane's values are held before they are folded, or go to
/// accumulators at once, and the block's accumulators are in registers. A functor of more words is taken to write.
template <class Strategy, class F, class Composite>
inline constexpr bool takes_tiles = [] {
  using cuda_stage::thread;
  constexpr thread stage = Strategy::recipe.thread;
  constexpr std::size_t most_words = 3;
  constexpr std::size_t most_of_reducers = 1024;  // bytes; a kernel's arguments have 4096
  return (stage == thread::vectorised || stage == thread::bulk) &&
         partial_kind_of<Strategy, Composite> == partial_kind::in_registers &&
         (Composite::template takes_accumulator<F> || values_fit_registers<index_source<F>, md_tiles::height>) &&
         words_of<F> <= most_words && sizeof(Composite) <= most_of_reducers;
}();

/// Whether tiles have whole lines of memory read: of an array that is walked through along its smallest stride.
template <class Composite, class F>
inline constexpr bool reads_lines = false;
template <class Composite, class F, std::size_t Rank, class T>
inline constexpr bool reads_lines<Composite, md_functor<strided_values<F, Rank, T>, Rank, iterate::right>> =
    !sees_index<Composite> && has_lines<T, std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>>;

/// Calls use(source) with the source for a functor over a box's numbers first, first + 1, ...
template <class Strategy, class Composite, class F, std::size_t Rank, iterate Order, class Use>
decltype(auto) with_index_source(const md_functor<F, Rank, Order>& f, std::int64_t first, std::int64_t count,
                                 const Use& use) {
  using functor = md_functor<F, Rank, Order>;
  if constexpr (Rank > 1 && takes_tiles<Strategy, functor, Composite>) {
    const md_tiles tiles = first == 0 ? md_tiles(f.shape, count) : md_tiles();
    const auto by_tiles = [&]<class G>(const G& g) {
      return use(md_source<G, Rank, Order>{{{f.shape, g}, first, count}, tiles});
    };
    if constexpr (reads_lines<Composite, functor>) {
      if (tiles.planes() > 0 && detail::share_lines(f.f)) return by_tiles(detail::with_lines(f.f));
    } else {
      if (tiles.planes() > 0) return by_tiles(f.f);
    }
  }
  return use(index_source<functor>{f, first, count});
}

/// Whether all reducers may get such batches in any order, or get none.
template <class Composite, class Batch>
inline constexpr bool takes_all_in_any_order = []<std::size_t... I>(std::index_sequence<I...>) {
  return ((takes_batches_in_any_order<typename Composite::template reducer_type<I>> ||
           !takes_batch<typename Composite::template reducer_type<I>, Batch>) &&
          ...);
}(typename Composite::indices{});

/// Count elements of a column from number `from` on: all of their loads, and then the folds. Their numbers in the box
/// are `number`, `number` + `distance`, ..., and not all larger than what the state has seen.
template <int Count, class Source, class Column, class Composite>
__device__ void accumulate_column(const Column& column, const Composite& c, typename Composite::state_type& state,
                                  int from, std::int64_t number, std::int64_t distance) {
  if constexpr (Source::value_size == 0) {
#pragma unroll
    for (int k = 0; k < Count; ++k) c.accumulate(column, state, from + k);
  } else {
    using value_type = typename Source::value_type;
    using batch = tile_batch<Count, 1, value_type>;
    value_type value[Count];
#pragma unroll
    for (int k = 0; k < Count; ++k) value[k] = column(from + k);
    all_loads_first();
    if constexpr (takes_all_in_any_order<Composite, batch>) {
      c.fold_batch(state, batch{value, number + from * distance, distance});
    } else {
#pragma unroll
      for (int k = 0; k < Count; ++k) c.fold(state, value[k], number + (from + k) * distance);
    }
  }
}

/// The tiles of a box, by the warps of the grid in turn: use(plane, row, along, left) for this lane's column of each,
/// of which `left` rows are in the box, or all.
template <class Use>
__device__ void for_columns(const md_tiles& tiles, const Use& use) {
  constexpr int height = md_tiles::height;
  const std::uint32_t warps = blockDim.x / warp_size;
  md_tiles::place at = tiles.place_of(blockIdx.x * warps + threadIdx.x / warp_size);
  const md_tiles::place step = tiles.place_of(gridDim.x * warps);
#pragma unroll 1
  for (; at.plane < tiles.planes(); at = tiles.after(at, step)) {
    const int row = static_cast<int>(at.down) * height;
    const int left = tiles.rows() - row;
    const int along = tiles.along(at.across, threadIdx.x % warp_size);
    if (along < 0 || along >= tiles.length()) continue;
    use(at.plane, row, along, left);
  }
}

/// Of each tile a lane's column at once, or half of it. Every index once.
template <int Elements, class F, std::size_t Rank, iterate Order, class Composite>
__device__ void gather_tiles(const md_source<F, Rank, Order>& source, const Composite& c,
                             typename Composite::state_type& state) {
  using source_type = md_source<F, Rank, Order>;
  constexpr int height = md_tiles::height;
  constexpr int together = Elements < height ? height / 2 : height;
  const md_tiles& tiles = source.tiles;
  detail::for_columns(tiles, [&](std::uint32_t plane, int row, int along, int left) {
    const auto column = detail::column_of(source.f, plane, row, along);
    const std::int64_t number = (std::int64_t{plane} * tiles.rows() + row) * tiles.length() + along;
    int done = 0;
    const auto accumulate = [&]<int Count>() {
      detail::accumulate_column<Count, source_type>(column, c, state, done, number, tiles.length());
      done += Count;
    };
    if (left >= height) {
#pragma unroll 1
      while (done < height) accumulate.template operator()<together>();
    } else {
      static_assert(height == 8);
      if ((left & 4) != 0) accumulate.template operator()<4>();
      if ((left & 2) != 0) accumulate.template operator()<2>();
      if ((left & 1) != 0) accumulate.template operator()<1>();
    }
  });
}

}  // namespace fanin::detail
