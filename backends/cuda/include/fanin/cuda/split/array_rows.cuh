// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/cuda/thread/lines.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/device/memory.cuh>
#include <fanin/md_index.hpp>
#include <fanin/tuple.hpp>

/// Rows of an array: where they begin, how far their elements lie apart, and how these are loaded.
namespace fanin::detail {

/// Where a row of an array begins.
template <class F, class T, std::size_t Rank, class Axes>
__device__ const T* begin_of_row(const axes_functor<strided_values<F, Rank, T>, Axes, iterate::right>& all,
                                 const md_index<Axes::left_rank>& place) {
  return [&]<std::size_t... At>(std::index_sequence<At...>) {
    return get<0>(all.f.data) + ((place[At] * all.f.strides[0][Axes::dimension(false, At)]) + ...);
  }(std::make_index_sequence<Axes::left_rank>{});
}

/// A row's elements, which lie `apart`, numbered from 0: by additions alone where there are several.
template <class Row, class F, class T>
struct array_row_source : index_source<Row> {
  const T* data;
  std::int64_t apart;

  __device__ T value(std::int64_t i) const { return F{}(data[i * apart]); }
  template <int Count>
  __device__ void values(T (&value)[Count], std::int64_t i, std::int64_t step) const {
    const T* at = data + i * apart;
    const std::int64_t further = step * apart;
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      if (k > 0) at += further;  // to no element behind the last
      value[k] = F{}(*at);
    }
  }
  template <class Composite>
  __device__ void accumulate(const Composite& c, typename Composite::state_type& state, std::int64_t i) const {
    c.fold(state, value(i), this->index(i));
  }
};
template <class F, class T, std::size_t Rank, class Axes>
  requires(Axes::reduced_rank == 1 && gives_itself<F>)
__device__ auto source_of_row(
    const axes_row<const axes_functor<strided_values<F, Rank, T>, Axes, iterate::right>&>& row) {
  using row_type = std::remove_cvref_t<decltype(row)>;
  return array_row_source<row_type, F, T>{{row, row.first(), row.count()},
                                          detail::begin_of_row(row.all, row.place),
                                          row.all.f.strides[0][Axes::dimension(true, 0)]};
}

/// Whether All are rows of an array, and not of a functor.
template <class All>
inline constexpr bool are_of_array = false;
template <class F, class T, std::size_t Rank, class Axes>
inline constexpr bool are_of_array<axes_functor<strided_values<F, Rank, T>, Axes, iterate::right>> = true;

/// Whether All are rows of an array that lie across each other.
template <class All>
inline constexpr bool are_across = false;
template <class T, std::size_t Rank, class Axes>
inline constexpr bool are_across<axes_functor<strided_values<itself, Rank, T>, Axes, iterate::right>> =
    Axes::reduced_rank == 1 && has_lines<T, T>;

/// Whether most of the lines in which such rows' elements are belong to them: neighbours lie in one sector, and there
/// are many, or small gaps behind them.
template <class T, std::size_t Rank, class Axes>
bool fill_lines(const axes_functor<strided_values<itself, Rank, T>, Axes, iterate::right>& all) {
  constexpr std::size_t sector_bytes = 32;
  const std::int64_t step = all.f.strides[0][Axes::dimension(false, Axes::left_rank - 1)];
  const std::uint64_t apart = detail::magnitude(all.f.strides[0][Axes::dimension(true, 0)]);
  if (!detail::lie_within<T>(sector_bytes, step)) return false;
  const std::uint64_t side_by_side = detail::magnitude(step) * static_cast<std::uint64_t>(all.left.extent(0));
  return side_by_side >= 8 * line_bytes / sizeof(T) || apart <= 2 * side_by_side;
}
template <class T, std::size_t Rank, class Axes>
auto by_lines(const axes_functor<strided_values<itself, Rank, T>, Axes, iterate::right>& all) {
  using values = strided_values<by_whole_lines<itself>, Rank, T>;
  return axes_functor<values, Axes, iterate::right>{all.left, all.reduced, all.results, all.count,
                                                    detail::with_lines(all.f)};
}

}  // namespace fanin::detail
