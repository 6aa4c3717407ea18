// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <ranges>
#include <string>
#include <tuple>
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
#include <fanin/tuple.hpp>

/// Destinations of many results that are views, or a tuple with one for each of several reducers.
namespace fanin::detail {

template <class Result>
void check_destination(Result* out, const char* call, const char* of = "one result") {
  if (out == nullptr) {
    throw invalid_argument(std::string(call) + ": the destination is null; give memory of the backend for " + of);
  }
  if (reinterpret_cast<std::uintptr_t>(out) % alignof(Result) != 0) {
    throw invalid_argument(std::string(call) + ": the destination's address is no multiple of its type's alignment, " +
                           std::to_string(alignof(Result)) + " bytes");
  }
}

/// Whether Out, as a forwarding reference deduces it, is a container that has no name, and goes with its elements at
/// the end of the call's statement. (What refers to other memory has nothing to destroy, or is a std view.)
template <class Out>
inline constexpr bool is_temporary_container =
    !std::is_lvalue_reference_v<Out> && std::ranges::range<Out> && !std::ranges::view<std::remove_cv_t<Out>> &&
    !std::ranges::borrowed_range<Out> && !std::is_trivially_destructible_v<Out>;
template <class Out>
constexpr void refuse_temporary() {
  static_assert(!is_temporary_container<Out>,
                "fanin: the destination is a container without a name, with which the results would go: give one that "
                "has a name, or a span or a view of its elements");
}

/// "call: part", for what is said only where something is wrong: without an allocation in each call.
class part_of_call {
 public:
  part_of_call(const char* call, const char* part) {
    char* at = text_;
    for (const char* from : {call, ": ", part}) {
      const std::size_t some = std::min(std::strlen(from), static_cast<std::size_t>(text_ + sizeof(text_) - 1 - at));
      std::memcpy(at, from, some);
      at += some;
    }
    *at = '\0';
  }
  const char* get() const { return text_; }

 private:
  char text_[96];
};

/// Where results go: by strides, at the index that each stands for.
template <class Result, std::size_t Rank, iterate Order>
struct results_in_view {
  static constexpr bool has_addresses = true;

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

/// Where several reducers' results go that have a destination each.
template <class... Put>
struct results_in_each {
  static constexpr bool has_addresses = false;

  tuple<Put...> to;

  template <class Results>
  FANIN_FUNCTION constexpr void put(std::int64_t row, const Results& results) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (get<I>(to).put(row, get<I>(results)), ...);
    }(std::index_sequence_for<Put...>{});
  }
};

/// Elements of a destination by the strides of the indices that are left.
template <class Result, std::size_t Rank>
struct opened_destination {
  Result* to;
  md_index<Rank> strides;
};

/// A destination's type is a tuple's, fanin's or std's.
template <class Out>
concept tuple_of_destinations = requires { std::tuple_size<Out>::value; } && !array<Out>;
template <class Out>
concept destination_of_one = array<Out> || std::is_pointer_v<Out>;
template <class Out>
inline constexpr bool are_destinations = false;
template <tuple_of_destinations Out>
inline constexpr bool are_destinations<Out> = []<std::size_t... I>(std::index_sequence<I...>) {
  return sizeof...(I) > 1 && (destination_of_one<std::remove_cvref_t<std::tuple_element_t<I, Out>>> && ...);
}(std::make_index_sequence<std::tuple_size_v<Out>>{});
template <class Result, std::size_t Size>
inline constexpr bool is_tuple_of = false;
template <class... Each, std::size_t Size>
inline constexpr bool is_tuple_of<tuple<Each...>, Size> = sizeof...(Each) == Size;
/// What many results go to beside a pointer.
template <class Out>
concept destination_of_many = array<Out> || are_destinations<Out>;

/// Its elements, not const where they may be written.
template <class Out>
constexpr auto destination_data(Out& out) {
  using array = std::remove_const_t<Out>;
  if constexpr (std::is_pointer_v<array>) {
    return out;
  } else if constexpr (std::rank_v<array> > 1) {
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
  if constexpr (are_destinations<array>) {
    constexpr bool has_one_each = is_tuple_of<Result, std::tuple_size_v<array>>;
    static_assert(has_one_each,
                  "fanin: a tuple of destinations is for as many results: of several reducers, or a fanin::tuple that "
                  "finished(g, ...) gives");
    if constexpr (has_one_each) {
      return []<std::size_t... I>(std::index_sequence<I...>) {
        return (detail::check_destination_type<std::remove_reference_t<std::tuple_element_t<I, array>>,
                                               std::tuple_element_t<I, Result>, Rank>() &&
                ...);
      }(std::make_index_sequence<std::tuple_size_v<array>>{});
    } else {
      return false;
    }
  } else {
    using element = std::remove_pointer_t<decltype(detail::destination_data(std::declval<Out&>()))>;
    constexpr bool is_writable = !std::is_const_v<element>;
    constexpr bool has_type = std::is_same_v<std::remove_const_t<element>, Result>;
    constexpr bool has_rank = std::is_pointer_v<array> || strided_rank<array> == Rank;
    static_assert(is_writable, "fanin: the destination's elements are const");
    static_assert(has_type,
                  "fanin: the destination's elements are not what the reducers give (a fanin::tuple for several of "
                  "them, or a tuple of destinations)");
    static_assert(has_rank, "fanin: the destination has not as many dimensions as indices are left");
    return is_writable && has_type && has_rank;
  }
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

template <std::size_t Rank>
constexpr md_index<Rank> packed_strides(const md_index<Rank>& extents, iterate order) {
  md_index<Rank> strides{};
  std::int64_t behind = 1;
  for (std::size_t k = 0; k < Rank; ++k) {
    const std::size_t d = order == iterate::right ? Rank - 1 - k : k;
    strides[d] = behind;
    behind *= extents[d];
  }
  return strides;
}

/// Opens a destination for the results of indices of these extents, `count` in all. Throws invalid_argument where it
/// has others, where two of its elements are one, and as arrays do. Behind a pointer results stand in the order.
template <class Exec, class Result, class Out, std::size_t Rank>
opened_destination<Result, Rank> open_destination(const typename backend<Exec>::handle_type& handle, Out& out,
                                                  const md_index<Rank>& extents, std::int64_t count, iterate order,
                                                  const char* call) {
  if constexpr (std::is_pointer_v<std::remove_const_t<Out>>) {
    if (count == 0) return {};
    detail::check_destination(out, call, "all results");
    backend<Exec>::check_memory(handle, out, part_of_call(call, "the destination").get());
    return {out, detail::packed_strides(extents, order)};
  } else {
    const md_index<Rank> own = detail::extents_of<Rank>(out, call);
    if (own != extents) {
      throw invalid_argument(std::string(call) + ": the destination's extents are " + detail::to_text(own) +
                             ", and those of the indices that are left " + detail::to_text(extents));
    }
    if (count == 0) return {};
    Result* const to = detail::destination_data(out);
    const md_index<Rank> strides = detail::strides_of<Rank>(out);
    detail::check_strided<Exec>(handle, static_cast<const Result*>(to), extents, strides, count,
                                part_of_call(call, "the destination").get());
    if (!detail::are_distinct(extents, strides)) {
      throw invalid_argument(std::string(call) +
                             ": elements of the destination lie on each other; give one whose strides keep them apart");
    }
    return {to, strides};
  }
}

/// The same of each destination of a tuple for the elements of a tuple of results; of any other as a tuple of one.
/// What does not fit is refused in words before: check_destination_type.
template <class Exec, class Result, class Out, std::size_t Rank>
auto open_destinations(const typename backend<Exec>::handle_type& handle, Out& out, const md_index<Rank>& extents,
                       std::int64_t count, iterate order, const char* call) {
  if constexpr (are_destinations<std::remove_const_t<Out>>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      using std::get;
      return tuple<opened_destination<std::tuple_element_t<I, Result>, Rank>...>{
          {{detail::open_destination<Exec, std::tuple_element_t<I, Result>>(handle, get<I>(out), extents, count, order,
                                                                            call)}...}};
    }(std::make_index_sequence<std::tuple_size_v<Result>>{});
  } else {
    return tuple<opened_destination<Result, Rank>>{
        {{detail::open_destination<Exec, Result>(handle, out, extents, count, order, call)}}};
  }
}

/// Where results go whose rows are numbered by a shape, strides being those of its indices in each destination.
template <iterate Order, std::size_t Rank, class... Result>
constexpr auto make_put(const tuple<opened_destination<Result, Rank>...>& opened, const md_index<Rank>& extents,
                        std::int64_t count, const std::array<md_index<Rank>, sizeof...(Result)>& strides) {
  const md_shape<Rank, Order> shape({}, extents, count);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (sizeof...(Result) == 1) {
      return results_in_view<Result..., Rank, Order>{get<0>(opened).to, shape, strides[0]};
    } else {
      return results_in_each<results_in_view<Result, Rank, Order>...>{{{{{get<I>(opened).to, shape, strides[I]}}...}}};
    }
  }(std::index_sequence_for<Result...>{});
}

/// Calls use(put) with where results of a range go whose rows are numbered in its order.
template <class Exec, class Result, iterate Order, std::size_t Rank, class Out, class Use>
void with_destination(const typename backend<Exec>::handle_type& handle, Out& out, const md_index<Rank>& extents,
                      std::int64_t count, const char* call, const Use& use) {
  const auto opened = detail::open_destinations<Exec, Result>(handle, out, extents, count, Order, call);
  if (count == 0) return;
  [&]<class... Each>(const tuple<opened_destination<Each, Rank>...>& all) {
    if constexpr (sizeof...(Each) > 1) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        use(detail::make_put<Order>(all, extents, count, std::array{get<I>(all).strides...}));
      }(std::index_sequence_for<Each...>{});
    } else if constexpr (std::is_pointer_v<std::remove_const_t<Out>> ||
                         (Rank == 1 && is_row_major<std::remove_const_t<Out>>)) {
      use(results_in_order<Result>{get<0>(all).to});
    } else {
      const md_index<Rank>& strides = get<0>(all).strides;
      const md_index<Rank> packed = detail::packed_strides(extents, Order);
      bool is_packed = true;
      for (std::size_t d = 0; d < Rank; ++d) is_packed = is_packed && (extents[d] == 1 || strides[d] == packed[d]);
      if (is_packed) {
        use(results_in_order<Result>{get<0>(all).to});
      } else {
        use(detail::make_put<Order>(all, extents, count, std::array{strides}));
      }
    }
  }(opened);
}

}  // namespace fanin::detail
