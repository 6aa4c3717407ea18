// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fanin/detail/array.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/many.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/macros.hpp>
#include <fanin/tuple.hpp>

/// How a call goes over arrays: what of them is checked, and what a backend is given for them.
namespace fanin::detail {

template <class Exec, class T>
std::int64_t check_span(const typename backend<Exec>::handle_type& handle, std::span<const T> xs, const char* call) {
  if (xs.empty()) return 0;
  if (xs.data() == nullptr) {
    throw invalid_argument(std::string(call) + ": the array is null and has " + std::to_string(xs.size()) +
                           " elements");
  }
  if (!std::in_range<std::int64_t>(xs.size())) {
    throw invalid_argument(std::string(call) + ": " + std::to_string(xs.size()) +
                           " elements do not fit a 64-bit index");
  }
  if (reinterpret_cast<std::uintptr_t>(xs.data()) % alignof(T) != 0) {
    throw invalid_argument(std::string(call) + ": the array's address is no multiple of its type's alignment, " +
                           std::to_string(alignof(T)) + " bytes");
  }
  backend<Exec>::check_memory(handle, xs.data(), call);
  return static_cast<std::int64_t>(xs.size());
}

/// f over elements at the same index of several arrays: the functor behind transform_reduce.
template <class F, class... T>
struct span_transform {
  F f;
  tuple<const T*...> data;

  FANIN_FUNCTION constexpr auto operator()(std::int64_t i) const { return at(i, std::index_sequence_for<T...>{}); }

 private:
  template <std::size_t... I>
  FANIN_FUNCTION constexpr auto at(std::int64_t i, std::index_sequence<I...>) const {
    return f(get<I>(data)[i]...);
  }
};

/// Whether F takes one element of each; one that does not is refused in words.
template <class F, class... X>
constexpr bool check_transform() {
  constexpr bool takes_elements = std::is_invocable_v<const F&, const element_t<X>&...>;
  static_assert(takes_elements,
                "fanin: transform_reduce's functor, what stands behind the arrays, must be callable, as const, with "
                "one element of each of them");
  return takes_elements;
}

template <class Exec, class F, class X, class... Y>
span_transform<F, element_t<X>, element_t<Y>...> make_transform(const typename backend<Exec>::handle_type& handle,
                                                                const char* call, std::int64_t& count, const F& f,
                                                                const X& xs, const Y&... ys) {
  count = detail::check_span<Exec>(handle, detail::view_of(xs, call), call);
  const bool same_length = ((detail::check_span<Exec>(handle, detail::view_of(ys, call), call) == count) && ...);
  if (!same_length) {
    std::string lengths = std::to_string(detail::size_of(xs));
    ((lengths += ", " + std::to_string(detail::size_of(ys))), ...);
    throw invalid_argument(std::string(call) + ": the arrays' lengths differ (" + lengths +
                           "); give arrays of one length");
  }
  detail::check_layouts(call, xs, ys...);
  return {f, {{{detail::data_of(xs)}, {detail::data_of(ys)}...}}};
}

/// Reduces an array: elements(data, count, composite) where they lie one behind the other, numbers(f, count, composite)
/// where a functor finds them by strides.
template <class Exec, class Elements, class Numbers, class X, class... Reducer>
auto over_array(const typename backend<Exec>::handle_type& handle, const char* call, const Elements& elements,
                const Numbers& numbers, const X& xs, const Reducer&... reducers) {
  if constexpr (strided_rank<X> == 0 || (strided_rank<X> == 1 && is_row_major<X>)) {
    const auto view = detail::view_of(xs, call);
    const std::int64_t count = detail::check_span<Exec>(handle, view, call);
    return elements(view.data(), count, detail::make_composite(reducers...));
  } else {
    const auto opened = detail::open_arrays<Exec, (sees_index<Reducer> || ...)>(handle, call, xs);
    const auto all = opened.composite_of(reducers...);
    if constexpr (!is_row_major<X>) {
      if (!opened.walk.is_flat) return numbers(opened.functor(itself{}), opened.count, all);
    }
    return elements(get<0>(opened.data), opened.count, all);
  }
}

/// Reduces f over elements at the same index of several arrays: use(count, functor of numbers, how reducers become
/// one), numbers as indices rise where reducers see those.
template <class Exec, bool InOrder, class Use, class F, class... X>
auto over_elements(const typename backend<Exec>::handle_type& handle, const char* call, const Use& use, const F& f,
                   const std::tuple<const X&...>& arrays) {
  const auto over = [&](const X&... xs) {
    constexpr std::size_t rank = common_rank<X...>;
    constexpr bool are_row_major = (is_row_major<X> && ...);
    if constexpr (!detail::check_transform<F, X...>()) {
      return;
    } else if constexpr (rank == 0 || (rank == 1 && are_row_major)) {
      std::int64_t count = 0;
      const auto transform = detail::make_transform<Exec>(handle, call, count, f, xs...);
      return use(count, transform, [](const auto&... reducers) { return detail::make_composite(reducers...); });
    } else {
      const auto opened = detail::open_arrays<Exec, InOrder>(handle, call, xs...);
      const auto composite_of = [&](const auto&... reducers) { return opened.composite_of(reducers...); };
      if constexpr (!are_row_major) {
        if (!opened.walk.is_flat) return use(opened.count, opened.functor(f), composite_of);
      }
      return use(opened.count, span_transform<F, element_t<X>...>{f, opened.data}, composite_of);
    }
  };
  return std::apply(over, arrays);
}

/// Whether X is over(communicator, xs), each rank's part of an array: see detail/ranks_data.hpp.
template <class X>
inline constexpr bool is_ranks_data = false;
template <class X>
inline constexpr bool stands_for_array = array<X> || is_ranks_data<X>;

/// How many of a call's arguments are arrays before the first that is none.
template <class... Argument>
inline constexpr std::size_t leading_arrays = [] {
  std::size_t count = 0;
  bool only_arrays = true;
  ((only_arrays = only_arrays && stands_for_array<Argument>, count += only_arrays ? 1 : 0), ...);
  return count;
}();

/// The common_rank of these arrays.
template <class... Argument>
inline constexpr std::size_t leading_rank = [] {
  std::size_t rank = 0;
  bool is_first = true;
  bool only_arrays = true;
  const auto take = [&](bool is_array, std::size_t other) {
    only_arrays = only_arrays && is_array;
    if (only_arrays) rank = is_first || rank == other ? other : 0;
    is_first = false;
  };
  (take(array<Argument>, strided_rank<Argument>), ...);
  return rank;
}();

/// What the reducers give over arrays of this rank that stand behind Skip other arguments: `void` where there are none.
template <std::size_t Rank, std::size_t Skip, class... Argument>
struct result_behind {
  using type = void;
};
template <std::size_t Rank, class... Argument>
struct result_behind<Rank, 0, Argument...> : result_over_rank<Rank, Argument...> {};
template <std::size_t Rank, std::size_t Skip, class First, class... Others>
  requires(Skip > 0)
struct result_behind<Rank, Skip, First, Others...> : result_behind<Rank, Skip - 1, Others...> {};

template <class... Argument>
using transform_result_t =
    typename result_behind<leading_rank<Argument...>, leading_arrays<Argument...> + 1, Argument...>::type;

/// Takes a call of transform_reduce apart: use(handle, count, functor of numbers, composite).
template <class Exec, class Use, class... Argument>
auto take_transform(const char* call, Exec&& exec, const Use& use, const Argument&... arguments) {
  using object = std::remove_cvref_t<Exec>;
  constexpr std::size_t arrays = leading_arrays<Argument...>;
  static_assert(arrays > 0,
                "fanin: transform_reduce takes arrays, a functor and reducers: what comes first is no array");
  static_assert(arrays <= 3,
                "fanin: transform_reduce takes up to three arrays: reduce more of them by index, with parallel_reduce");
  static_assert(sizeof...(Argument) > arrays + 1,
                "fanin: transform_reduce takes arrays, a functor and reducers: behind the arrays something is missing");
  const auto all = std::forward_as_tuple(arguments...);
  return [&]<std::size_t... X, std::size_t... R>(std::index_sequence<X...>, std::index_sequence<R...>) {
    const auto handle = detail::handle_of(std::forward<Exec>(exec));
    const auto run = [&](std::int64_t count, const auto& f, const auto& composite_of) {
      return use(handle, count, f, composite_of(std::get<arrays + 1 + R>(all)...));
    };
    constexpr bool in_order =
        (sees_index<std::remove_cvref_t<std::tuple_element_t<arrays + 1 + R, decltype(all)>>> || ...);
    return detail::over_elements<object, in_order>(handle, call, run, std::get<arrays>(all),
                                                   std::tie(std::get<X>(all)...));
  }(std::make_index_sequence<arrays>{}, std::make_index_sequence<sizeof...(Argument) - arrays - 1>{});
}

/// Goes over data that give many results, of one kind, by form(put, rows, composite), if there are any, into a pointer,
/// an array or a tuple of them.
template <class Data>
struct call_of_many_data {
  template <class Object, class Out, class Form, class... Reducer>
  static void run(const typename backend<Object>::handle_type& handle, Out& out, const char* name, const Form& form,
                  const Data& data, const Reducer&... reducers) {
    using many = many_in<Data>;
    using result = one_of_data_t<Data, Reducer...>;
    if constexpr (detail::check_destination_type<Out, result, many::left_rank>()) {
      const auto opened = detail::open_destinations<Object, result>(handle, out, many::left_extents(data),
                                                                    data.results(), iterate::right, name);
      if (data.results() == 0) return;
      many::template check<Object>(handle, data, name);
      const auto use = [&]<class Put, class Rows, class Composite>(const Put& put, const Rows& rows,
                                                                   const Composite& all) {
        if constexpr (detail::check_composite_of_many<typename Rows::functor_type, Rows::axes::rank>(
                          std::type_identity<typename Composite::plain_type>{})) {
          form(put, rows, all);
        }
      };
      many::with_rows(data, opened, use, reducers...);
    }
  }
};
template <class Object, class Out, class Form, class Data, class... Reducer>
void over_data_of_many(const typename backend<Object>::handle_type& handle, Out& out, const char* name,
                       const Form& form, const Data& data, const Reducer&... reducers) {
  call_of_many_data<Data>::template run<Object>(handle, out, name, form, data, reducers...);
}

}  // namespace fanin::detail
