// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

#include <fanin/detail/array.hpp>
#include <fanin/detail/many.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/macros.hpp>
#include <fanin/md_index.hpp>

/// Destinations of many results that are views.
namespace fanin::detail {

/// Where results go: by strides, at the index that each stands for.
template <class Result, std::size_t Rank, iterate Order>
struct results_in_view {
  Result* to;
  md_shape<Rank, Order> shape;  ///< of indices from 0 on
  md_index<Rank> strides;

  FANIN_FUNCTION constexpr Result* address(std::int64_t row) const {
    const md_index<Rank> index = shape.index_of(row);
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < Rank; ++d) offset += index[d] * strides[d];
    return to + offset;
  }
  FANIN_FUNCTION constexpr void put(std::int64_t row, const Result& result) const { *address(row) = result; }
};

/// Its elements, not const where they may be written.
template <class Out>
constexpr auto destination_data(Out& out) {
  using array = std::remove_const_t<Out>;
  if constexpr (std::rank_v<array> > 1) {
    using element = std::remove_all_extents_t<Out>;
    return reinterpret_cast<element*>(out);
  } else if constexpr (has_data<array>) {
    return std::data(out);
  } else {
    return out.data_handle();
  }
}

/// Refuses, in words, what cannot hold results of many results' type with so many indices left.
template <class Out, class Result, std::size_t Rank>
constexpr bool check_destination_type() {
  using array = std::remove_const_t<Out>;
  using element = std::remove_pointer_t<decltype(detail::destination_data(std::declval<Out&>()))>;
  constexpr bool is_writable = !std::is_const_v<element>;
  constexpr bool has_type = std::is_same_v<std::remove_const_t<element>, Result>;
  constexpr bool has_rank = strided_rank<array> == Rank;
  static_assert(is_writable, "fanin: the destination's elements are const");
  static_assert(
      has_type,
      "fanin: the destination's elements are not what the reducers give (a fanin::tuple for several of them)");
  static_assert(has_rank, "fanin: the destination has not as many dimensions as indices are left");
  return is_writable && has_type && has_rank;
}

template <std::size_t Rank>
std::string to_text(const md_index<Rank>& extents) {
  std::string text = std::to_string(extents[0]);
  for (std::size_t d = 1; d < Rank; ++d) text += " x " + std::to_string(extents[d]);
  return text;
}

/// Whether all indices have places of their own: each dimension's steps go beyond all that those with shorter ones
/// reach.
template <std::size_t Rank>
bool are_distinct(const md_index<Rank>& extents, const md_index<Rank>& strides) {
  bool is_done[Rank] = {};
  std::uint64_t reach = 0;
  for (std::size_t k = 0; k < Rank; ++k) {
    std::size_t next = Rank;
    for (std::size_t d = 0; d < Rank; ++d) {
      if (is_done[d]) continue;
      if (next == Rank || detail::magnitude(strides[d]) < detail::magnitude(strides[next])) next = d;
    }
    is_done[next] = true;
    if (extents[next] == 1) continue;
    const std::uint64_t stride = detail::magnitude(strides[next]);
    if (stride <= reach) return false;
    reach += stride * static_cast<std::uint64_t>(extents[next] - 1);
  }
  return true;
}

/// Calls use(put) with where results go, `extents` being those of the indices that are left and `count` how many.
/// Throws invalid_argument where the destination has others, where two of its elements are one, and as arrays do.
template <class Exec, class Result, iterate Order, std::size_t Rank, class Out, class Use>
void with_destination(const typename backend<Exec>::handle_type& handle, Out& out, const md_index<Rank>& extents,
                      std::int64_t count, const char* call, const Use& use) {
  const md_index<Rank> own = detail::extents_of<Rank>(out, call);
  if (own != extents) {
    throw invalid_argument(std::string(call) + ": the destination's extents are " + detail::to_text(own) +
                           ", and those of the indices that are left " + detail::to_text(extents));
  }
  if (count == 0) return;
  Result* const to = detail::destination_data(out);
  const md_index<Rank> strides = detail::strides_of<Rank>(out);
  const std::string it = std::string(call) + ": the destination";
  detail::check_strided<Exec>(handle, static_cast<const Result*>(to), extents, strides, count, it.c_str());
  if (!detail::are_distinct(extents, strides)) {
    throw invalid_argument(std::string(call) +
                           ": elements of the destination lie on each other; give one whose strides keep them apart");
  }
  bool is_packed = true;
  std::int64_t behind = 1;
  for (std::size_t k = 0; k < Rank; ++k) {
    const std::size_t d = Order == iterate::right ? Rank - 1 - k : k;
    is_packed = is_packed && (extents[d] == 1 || strides[d] == behind);
    behind *= extents[d];
  }
  if constexpr (Rank == 1 && is_row_major<std::remove_const_t<Out>>) {
    use(results_in_order<Result>{to});
  } else if (is_packed) {
    use(results_in_order<Result>{to});
  } else {
    use(results_in_view<Result, Rank, Order>{to, {{}, extents, count}, strides});
  }
}

}  // namespace fanin::detail
