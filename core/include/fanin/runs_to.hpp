// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fanin/detail/array.hpp>
#include <fanin/detail/axes_results.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/runs_functor.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/md_index.hpp>

namespace fanin {

namespace detail {

/// Of a destination that does not take how many runs there are.
struct no_count {};

/// Whether Count, which stands behind two destinations, is where how many runs there are can go, or not there at all.
template <class Count>
inline constexpr bool is_count = std::is_same_v<Count, no_count> || std::is_same_v<Count, std::int64_t*>;

/// As what a destination is kept that is T: a reference to what has a name, if it is no mere way to other memory.
template <class T>
using kept_destination = std::conditional_t<std::is_pointer_v<std::remove_reference_t<T>> ||
                                                std::ranges::enable_borrowed_range<std::remove_cvref_t<T>>,
                                            std::remove_cvref_t<T>, T>;

}  // namespace detail

/// Where the runs of a call go: their keys, their results, and, for the `_into` forms, in memory of the backend, how
/// many there are: runs_to(keys, results) and runs_to(keys, results, count).
///
/// `keys` is an array of one dimension of the keys' type, which has room for as many runs as it has elements. `results`
/// is an array of as many results, a pointer to memory for so many, or, for several results, a tuple with one such
/// array or pointer for each. All of it is memory of the backend, apart from each other and from what is read; that
/// keys and results do not lie on each other is not checked, for those with strides may lie between each other. Refers
/// to arrays that have a name. Pointers and spans are copied, and what has none.
template <class Keys, class Results, class Count = detail::no_count>
struct runs_to {
  static_assert(detail::is_count<Count>,
                "fanin: the count of runs_to(keys, results, count) is a std::int64_t*, to memory of the backend, and "
                "nothing else");

  Keys keys;
  Results results;
  Count count;

  template <class K, class R>
  constexpr runs_to(K&& of_keys, R&& of_results)
      : keys{std::forward<K>(of_keys)}, results{std::forward<R>(of_results)}, count{} {}
  template <class K, class R>
    requires(!std::is_same_v<Count, detail::no_count>)
  constexpr runs_to(K&& of_keys, R&& of_results, Count how_many)
      : keys{std::forward<K>(of_keys)}, results{std::forward<R>(of_results)}, count{how_many} {}
};
template <class Keys, class Results>
runs_to(Keys&&, Results&&) -> runs_to<detail::kept_destination<Keys>, detail::kept_destination<Results>>;
template <class Keys, class Results>
runs_to(Keys&&, Results&&,
        std::int64_t*) -> runs_to<detail::kept_destination<Keys>, detail::kept_destination<Results>, std::int64_t*>;
template <class Keys, class Results, class Count>
  requires(!std::is_convertible_v<Count, std::int64_t*>)
runs_to(Keys&&, Results&&,
        const Count&) -> runs_to<detail::kept_destination<Keys>, detail::kept_destination<Results>, Count>;

namespace detail {

template <class To>
inline constexpr bool is_runs_to = false;
template <class Keys, class Results, class Count>
inline constexpr bool is_runs_to<runs_to<Keys, Results, Count>> = true;

/// Refuses, in words, what cannot hold runs of such keys and results.
template <class Keys, class Results, class Key, class Result>
constexpr bool check_runs_to() {
  using to_keys = std::remove_cvref_t<Keys>;
  constexpr bool is_array = array<to_keys>;
  static_assert(is_array,
                "fanin: the first destination of runs_to(keys, results) is an array, whose length says for how many "
                "runs there is room: of a pointer, std::span(pointer, room)");
  if constexpr (is_array) {
    using element = std::remove_pointer_t<decltype(detail::destination_data(std::declval<Keys&>()))>;
    constexpr bool has_rank = strided_rank<to_keys> == 1;
    constexpr bool has_type = std::is_same_v<element, Key>;
    static_assert(has_rank, "fanin: the keys' destination is an array of one dimension");
    static_assert(has_type, "fanin: the elements of the keys' destination are const, or of another type than the keys");
    constexpr bool holds_results =
        destination_of_one<std::remove_cvref_t<Results>> || are_destinations<std::remove_cvref_t<Results>>;
    static_assert(holds_results,
                  "fanin: the second destination of runs_to(keys, results) is a pointer or an array, or for several "
                  "results a tuple of them");
    if constexpr (has_rank && has_type && holds_results) {
      return detail::check_destination_type<std::remove_reference_t<Results>, Result, 1>();
    } else {
      return false;
    }
  } else {
    return false;
  }
}

/// Memory from one end of an array to the other.
struct stretch_of_memory {
  std::uintptr_t begin;
  std::uintptr_t end;

  template <class T>
  stretch_of_memory(const T* data, std::int64_t stride, std::int64_t count)
      : begin{reinterpret_cast<std::uintptr_t>(data)}, end{begin + sizeof(T)} {
    const std::uintptr_t reach = static_cast<std::uintptr_t>(count - 1) * detail::magnitude(stride) * sizeof(T);
    stride < 0 ? begin -= reach : end += reach;
  }
  bool meets(const stretch_of_memory& other) const { return begin < other.end && other.begin < end; }
};

/// Throws invalid_argument where a destination lies on what is read.
inline void check_not_read(const stretch_of_memory& written, std::initializer_list<stretch_of_memory> from,
                           const char* call) {
  for (const stretch_of_memory& read : from) {
    if (written.meets(read)) {
      throw invalid_argument(std::string(call) +
                             ": the destination lies among what is read, between its first element and its last; "
                             "give it memory of its own");
    }
  }
}

/// Throws invalid_argument where results would have another number of places than keys.
template <class Out>
void check_room(const Out& out, std::int64_t room, const char* call) {
  if constexpr (are_destinations<Out>) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      using std::get;
      (detail::check_room(get<I>(out), room, call), ...);
    }(std::make_index_sequence<std::tuple_size_v<Out>>{});
  } else if constexpr (array<Out>) {
    const std::int64_t own = detail::extents_of<1>(out, call)[0];
    if (own != room) {
      throw invalid_argument(std::string(call) + ": there is room for " + std::to_string(room) + " keys and for " +
                             std::to_string(own) + " results; give destinations of one length");
    }
  }
}

/// What puts one after the other into what was opened of an Out.
template <class Out, class Result>
constexpr auto line_of(const opened_destination<Result, 1>& opened) {
  if constexpr (std::is_pointer_v<std::remove_cvref_t<Out>> || is_row_major<std::remove_cvref_t<Out>>) {
    return results_in_order<Result>{opened.to};
  } else {
    return results_in_line<Result>{opened.to, opened.strides[0]};
  }
}
template <class Out, class... Result>
constexpr auto lines_of(const tuple<opened_destination<Result, 1>...>& opened) {
  if constexpr (sizeof...(Result) == 1) {
    return detail::line_of<Out>(get<0>(opened));
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      using all = results_in_each<decltype(detail::line_of<std::tuple_element_t<I, Out>>(get<I>(opened)))...>;
      return all{{{{detail::line_of<std::tuple_element_t<I, Out>>(get<I>(opened))}...}}};
    }(std::index_sequence_for<Result...>{});
  }
}

/// Throws invalid_argument, in words, for a count that cannot be written.
template <class Exec>
void check_count(const typename backend<Exec>::handle_type& handle, const std::int64_t* count, const char* call) {
  detail::check_destination(count, call, "how many runs there are");
  backend<Exec>::check_memory(handle, count, part_of_call(call, "the count").get());
}

/// Opens the destination of runs of `size` keys, which are read from `from` as other things are. Throws
/// invalid_argument as destinations do, and where it lies on what is read, or the count on the rest. Of no keys nothing
/// but the count is looked at.
template <class Exec, class Key, class Result, class Keys, class Results, class Count>
auto open_runs(const typename backend<Exec>::handle_type& handle, const runs_to<Keys, Results, Count>& to,
               std::int64_t size, std::initializer_list<stretch_of_memory> from, const char* call) {
  const std::int64_t room = size == 0 ? 0 : detail::extents_of<1>(to.keys, call)[0];
  const md_index<1> extents{{room}};
  if (room > 0) detail::check_room(to.results, room, call);
  const auto check_apart = [&](const auto& opened) {
    if (room == 0) return;
    const stretch_of_memory written(opened.to, opened.strides[0], room);
    detail::check_not_read(written, from, call);
    if constexpr (!std::is_same_v<Count, no_count>) {
      if (written.meets(stretch_of_memory(to.count, 1, 1))) {
        throw invalid_argument(std::string(call) +
                               ": the count lies among the keys' or the results' destination, between its first "
                               "element and its last; give it memory of its own");
      }
    }
  };
  if constexpr (!std::is_same_v<Count, no_count>) {
    detail::check_count<Exec>(handle, to.count, call);
    detail::check_not_read(stretch_of_memory(to.count, 1, 1), from, call);
  }
  const auto keys = [&] {
    if (room == 0) return opened_destination<Key, 1>{};
    return detail::open_destination<Exec, Key>(handle, to.keys, extents, room, iterate::right, call);
  }();
  check_apart(keys);
  const auto results = [&] {
    using opened_type =
        decltype(detail::open_destinations<Exec, Result>(handle, to.results, extents, room, iterate::right, call));
    if (room == 0) return opened_type{};
    return detail::open_destinations<Exec, Result>(handle, to.results, extents, room, iterate::right, call);
  }();
  [&]<class... Each>(const tuple<opened_destination<Each, 1>...>& opened) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (check_apart(get<I>(opened)), ...);
    }(std::index_sequence_for<Each...>{});
  }(results);
  const auto lines = detail::lines_of<std::remove_reference_t<Results>>(results);
  const auto line_of_keys = detail::line_of<Keys>(keys);
  return runs_put<std::remove_const_t<decltype(line_of_keys)>, std::remove_const_t<decltype(lines)>>{line_of_keys,
                                                                                                     lines, room};
}

/// What a blocking call gives.
inline std::int64_t told_runs(std::int64_t runs, std::int64_t room, const char* call) {
  if (runs > room) {
    throw invalid_argument(std::string(call) + ": there are " + std::to_string(runs) +
                           " runs, and the destination has room for " + std::to_string(room) +
                           "; give one for as many as there are keys, or for as many as there are");
  }
  return runs;
}

}  // namespace detail

}  // namespace fanin
