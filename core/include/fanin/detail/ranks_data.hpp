// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fanin/detail/array.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/label.hpp>
#include <fanin/detail/ranks.hpp>
#include <fanin/detail/ranks_places.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/macros.hpp>
#include <fanin/md_index.hpp>
#include <fanin/pending.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/view.hpp>

/// Calls over arrays of which each rank has a part, whatever carries the messages: see ranks.hpp.
namespace fanin {

namespace detail {

/// A rank's part of an array. It is looked at when it is reduced.
template <class Exec, class T>
struct part_of_data {
  const typename backend<Exec>::handle_type& handle;
  const char* name;
  const char* label;
  std::span<const T> elements;
  const std::exception_ptr& refusal;  ///< why it is none, or null

  std::int64_t count() const {
    if (refusal != nullptr) std::rethrow_exception(refusal);
    return detail::check_span<Exec>(handle, elements, name);
  }
  template <class Composite>
  auto now(const Composite& c) const {
    return backend<Exec>::reduce_span(handle, label, elements.data(), count(), c);
  }
  template <class Composite>
  void into(typename Composite::result_type* out, const Composite& c) const {
    backend<Exec>::reduce_span_into(handle, label, out, elements.data(), count(), c);
  }
  template <class Composite>
  auto later(const Composite& c) const {
    return backend<Exec>::reduce_span_async(handle, label, elements.data(), count(), c);
  }
};

/// What over(communicator, data, first) takes for `first`: an index of any integer type, or none. One beyond 2^63 - 1
/// stands for that, which no part's first element has: where a reducer folds indices, the part is refused.
struct first_index {
  std::optional<std::int64_t> value{};

  first_index() = default;
  first_index(std::nullopt_t) {}
  template <index_value T>
  first_index(T given)
      : value{std::in_range<std::int64_t>(given) ? static_cast<std::int64_t>(given)
                                                 : std::numeric_limits<std::int64_t>::max()} {}
  template <index_value T>
  first_index(const std::optional<T>& given) : value{given ? first_index(*given).value : std::nullopt} {}
};

/// A number that is no index, which would be converted to one where over(communicator, data, first) takes that.
template <class First>
inline constexpr bool is_no_first = (std::is_arithmetic_v<First> || std::is_enum_v<First>) && !index_value<First>;
template <class First>
inline constexpr bool is_no_first<std::optional<First>> = is_no_first<First>;
template <class First>
concept no_first = is_no_first<First>;
template <no_first First>
constexpr void refuse_first() {
  static_assert(dependent_false<First>,
                "fanin: the first index of over(communicator, data, first) is an integer, and no bool, character, "
                "enumerator or floating-point number");
}

/// f of numbers that count from `first` instead of from 0.
template <class F>
struct counted_from {
  F f;
  std::int64_t first;
  FANIN_FUNCTION constexpr auto operator()(std::int64_t i) const { return f(i - first); }
};

/// Throws invalid_argument where so many elements from `first`, above 0, on have no 64-bit indices.
inline void check_last_index(std::int64_t count, std::int64_t first, const char* call) {
  if (count > std::numeric_limits<std::int64_t>::max() - first) {
    throw invalid_argument(std::string(call) + ": " + std::to_string(count) + " elements from index " +
                           std::to_string(first) + " on do not fit a 64-bit index");
  }
}

/// A rank's part of arrays whose elements at one index f takes together. They are looked at when they are reduced.
template <class Exec, class F, class... X>
struct part_of_elements {
  const typename backend<Exec>::handle_type& handle;
  const char* name;
  const char* label;
  const F& f;
  std::tuple<X...> arrays;
  std::int64_t first;                 ///< index of the whole, where reducers see indices
  bool first_differs;                 ///< which the arrays were given otherwise
  const std::exception_ptr& refusal;  ///< why one is none, or null

  template <class Composite>
  auto now(const Composite& c) const {
    return opened<Composite>([&](const auto& range) { return range.now(c); });
  }
  template <class Composite>
  void into(typename Composite::result_type* out, const Composite& c) const {
    opened<Composite>([&](const auto& range) { range.into(out, c); });
  }
  template <class Composite>
  auto later(const Composite& c) const {
    return opened<Composite>([&](const auto& range) { return range.later(c); });
  }

 private:
  template <class Composite, class Run>
  auto opened(const Run& run) const {
    const auto use = [&]<class Numbers>(std::int64_t count, const Numbers& numbers, const auto&) {
      if constexpr (!Composite::template check_functor<Numbers>()) {
        return;
      } else if constexpr (sees_index<Composite>) {
        check_indices(count);
        const counted_from<Numbers> indices{numbers, first};
        return run(part_of_range<Exec, counted_from<Numbers>>{handle, label, first, count, indices});
      } else {
        return run(part_of_range<Exec, Numbers>{handle, label, 0, count, numbers});
      }
    };
    if (refusal != nullptr) std::rethrow_exception(refusal);
    return std::apply(
        [&](const X&... xs) {
          return detail::over_elements<Exec, sees_index<Composite>>(handle, name, use, f, std::tie(xs...));
        },
        arrays);
  }
  void check_indices(std::int64_t count) const {
    if (first_differs) {
      throw invalid_argument(std::string(name) + ": the arrays' first elements were given different indices");
    }
    if (first > 0) detail::check_last_index(count, first, name);
  }
};

}  // namespace detail

/// Each rank's part of an array, X, a span or a view of it, or why it has none. Refers to the communicator and to the
/// elements.
template <class Way, class X>
class ranks_data {
 public:
  using state_type = typename Way::state_type;

  /// Of elements(), whose refusal is the part's.
  template <class Elements>
  ranks_data(state_type& state, const Elements& elements, std::optional<std::int64_t> first)
      : state_{&state}, first_{first} {
    try {
      elements_ = elements();
    } catch (const invalid_argument&) {
      refusal_ = std::current_exception();
    }
  }

  const X& elements() const noexcept { return elements_; }
  const std::exception_ptr& refusal() const noexcept { return refusal_; }
  /// The index of the first of them, where it was given.
  std::optional<std::int64_t> first() const noexcept { return first_; }
  state_type& state() const noexcept { return *state_; }

 private:
  state_type* state_;
  X elements_{};
  std::optional<std::int64_t> first_;
  std::exception_ptr refusal_;
};

namespace detail {

/// What over(communicator, xs) keeps of xs: its elements side by side, or with their strides.
template <array X>
auto elements_for_ranks(const X& xs) {
  if constexpr (strided_rank<X> == 0 || (strided_rank<X> == 1 && is_row_major<X>)) {
    return detail::view_of(xs, "fanin::over");
  } else {
    detail::check_elements<X>();
    constexpr std::size_t rank = strided_rank<X>;
    const md_index<rank> extents = detail::extents_of<rank>(xs, "fanin::over");
    const bool is_empty = detail::count_elements(extents, "fanin::over") == 0;
    return view<const element_t<X>, rank>(detail::data_of(xs), extents,
                                          is_empty ? md_index<rank>{} : detail::strides_of<rank>(xs));
  }
}

template <class Way, class X>
inline constexpr bool is_ranks_data<ranks_data<Way, X>> = true;

/// A call over data of ranks, of which f takes the elements at one index: run(call, this rank's part).
template <class Exec, class Run, class F, class... Reducer, class Way, class X, class... Y>
auto elements_over_ranks(const char* name, const char* label, const typename backend<Exec>::handle_type& handle,
                         const Run& run, const F& f, const std::tuple<const Reducer&...>& reducers,
                         const ranks_data<Way, X>& data, const ranks_data<Way, Y>&... others) {
  typename Way::state_type& state = data.state();
  if (!((&others.state() == &state) && ...)) {
    throw invalid_argument(std::string(name) + ": the arrays go over different communicators");
  }
  std::optional<std::int64_t> first = data.first();
  ((first = first ? first : others.first()), ...);
  const auto is_other = [&](const auto& one) { return one.first() && one.first() != first; };
  const bool first_differs = (is_other(data) || ... || is_other(others));
  std::exception_ptr refusal = data.refusal();
  ((refusal = refusal != nullptr ? refusal : others.refusal()), ...);
  const auto whole = std::apply([](const Reducer&... each) { return detail::make_composite(each...); }, reducers);
  using composite_type = std::remove_const_t<decltype(whole)>;
  static_assert(
      !tells_any_place<typename composite_type::plain_type> || strided_rank<X> < 2 || ((strided_rank<Y> < 2) || ...),
      "fanin: over ranks reducers that tell a place go over arrays of one dimension, and over range(exec, "
      "first, last)");
  const typename Way::template call<Exec, composite_type> call(state, handle, name, label, whole, first.has_value());
  if constexpr ((sees_index<Reducer> || ...)) {
    first = Way::first_of(state, name, static_cast<std::int64_t>(data.elements().size()), first);
  }
  return run(
      call,
      part_of_elements<Exec, F, X, Y...>{
          handle, name, label, f, {data.elements(), others.elements()...}, first.value_or(0), first_differs, refusal});
}

/// The same of one array's elements.
template <class Exec, class Way, class X, class Run, class... Reducer>
auto reduce_over_ranks(const char* name, const char* label, const typename backend<Exec>::handle_type& handle,
                       const ranks_data<Way, X>& data, const Run& run, const Reducer&... reducers) {
  if constexpr (strided_rank<X> == 1 && is_row_major<X> && !(sees_index<Reducer> || ...)) {
    const auto whole = detail::make_composite(reducers...);
    const typename Way::template call<Exec, std::remove_const_t<decltype(whole)>> call(
        data.state(), handle, name, label, whole, data.first().has_value());
    return run(call, part_of_data<Exec, element_t<X>>{handle, name, label, data.elements(), data.refusal()});
  } else {
    return detail::elements_over_ranks<Exec>(name, label, handle, run, itself{}, std::tie(reducers...), data);
  }
}

/// transform_reduce over data of ranks.
template <class Exec, class Way, class Run, class... Argument>
auto transform_over_ranks(const char* name, const char* label, Exec&& exec, const Run& run,
                          const Argument&... arguments) {
  using object = typename Way::template checked<std::remove_cvref_t<Exec>>;
  constexpr std::size_t arrays = leading_arrays<Argument...>;
  static_assert(arrays <= 3,
                "fanin: transform_reduce takes up to three arrays: reduce more of them by index, with parallel_reduce");
  static_assert((!array<Argument> && ...),
                "fanin: of several arrays over ranks each one is over(communicator, xs): here one stands without");
  static_assert(sizeof...(Argument) > arrays + 1,
                "fanin: transform_reduce takes arrays, a functor and reducers: behind the arrays something is missing");
  const auto all = std::forward_as_tuple(arguments...);
  if constexpr ((!array<Argument> && ...)) {
    return [&]<std::size_t... X, std::size_t... R>(std::index_sequence<X...>, std::index_sequence<R...>) {
      return detail::elements_over_ranks<object>(name, label, detail::handle_of(std::forward<Exec>(exec)), run,
                                                 std::get<arrays>(all), std::tie(std::get<arrays + 1 + R>(all)...),
                                                 std::get<X>(all)...);
    }(std::make_index_sequence<arrays>{}, std::make_index_sequence<sizeof...(Argument) - arrays - 1>{});
  }
}

/// The forms of a call.
struct call_now {
  template <class Call, class Part>
  auto operator()(const Call& call, const Part& part) const {
    return call.now(part);
  }
};
template <class Result>
struct call_into {
  Result* out;
  template <class Call, class Part>
  void operator()(const Call& call, const Part& part) const {
    call.into(out, part);
  }
};
struct call_later {
  template <class Call, class Part>
  auto operator()(const Call& call, const Part& part) const {
    return call.later(part);
  }
};

}  // namespace detail

template <class Exec, class Way, class X, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
detail::result_t<Reducer...> reduce(detail::call_label label, Exec&& exec, const ranks_data<Way, X>& data,
                                    const Reducer&... reducers) {
  return detail::reduce_over_ranks<typename Way::template checked<std::remove_cvref_t<Exec>>>(
      "fanin::reduce", label.get(), detail::handle_of(std::forward<Exec>(exec)), data, detail::call_now{}, reducers...);
}
template <class Exec, class Way, class X, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
detail::result_t<Reducer...> reduce(Exec&& exec, const ranks_data<Way, X>& data, const Reducer&... reducers) {
  return fanin::reduce(nullptr, std::forward<Exec>(exec), data, reducers...);
}
template <class Exec, class Way, class X, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
void reduce_into(detail::call_label label, detail::result_t<Reducer...>* out, Exec&& exec,
                 const ranks_data<Way, X>& data, const Reducer&... reducers) {
  detail::check_destination(out, "fanin::reduce_into");
  detail::reduce_over_ranks<typename Way::template checked<std::remove_cvref_t<Exec>>>(
      "fanin::reduce_into", label.get(), detail::handle_of(std::forward<Exec>(exec)), data,
      detail::call_into<detail::result_t<Reducer...>>{out}, reducers...);
}
template <class Exec, class Way, class X, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
void reduce_into(detail::result_t<Reducer...>* out, Exec&& exec, const ranks_data<Way, X>& data,
                 const Reducer&... reducers) {
  fanin::reduce_into(nullptr, out, std::forward<Exec>(exec), data, reducers...);
}
template <class Exec, class Way, class X, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] detail::pending_t<detail::result_t<Reducer...>> reduce_async(detail::call_label label, Exec&& exec,
                                                                           const ranks_data<Way, X>& data,
                                                                           const Reducer&... reducers) {
  return detail::reduce_over_ranks<typename Way::template checked<std::remove_cvref_t<Exec>>>(
      "fanin::reduce_async", label.get(), detail::handle_of(std::forward<Exec>(exec)), data, detail::call_later{},
      reducers...);
}
template <class Exec, class Way, class X, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] detail::pending_t<detail::result_t<Reducer...>> reduce_async(Exec&& exec, const ranks_data<Way, X>& data,
                                                                           const Reducer&... reducers) {
  return fanin::reduce_async(nullptr, std::forward<Exec>(exec), data, reducers...);
}

template <class Exec, class Way, class X, class... Argument>
  requires execution<std::remove_cvref_t<Exec>>
detail::transform_result_t<ranks_data<Way, X>, Argument...> transform_reduce(detail::call_label label, Exec&& exec,
                                                                             const ranks_data<Way, X>& xs,
                                                                             const Argument&... arrays_f_reducers) {
  return detail::transform_over_ranks<Exec, Way>("fanin::transform_reduce", label.get(), std::forward<Exec>(exec),
                                                 detail::call_now{}, xs, arrays_f_reducers...);
}
template <class Exec, class Way, class X, class... Argument>
  requires execution<std::remove_cvref_t<Exec>>
detail::transform_result_t<ranks_data<Way, X>, Argument...> transform_reduce(Exec&& exec, const ranks_data<Way, X>& xs,
                                                                             const Argument&... arrays_f_reducers) {
  return fanin::transform_reduce(nullptr, std::forward<Exec>(exec), xs, arrays_f_reducers...);
}
template <class Exec, class Way, class X, class... Argument>
  requires execution<std::remove_cvref_t<Exec>>
void transform_reduce_into(detail::call_label label, detail::transform_result_t<ranks_data<Way, X>, Argument...>* out,
                           Exec&& exec, const ranks_data<Way, X>& xs, const Argument&... arrays_f_reducers) {
  detail::check_destination(out, "fanin::transform_reduce_into");
  using result = detail::transform_result_t<ranks_data<Way, X>, Argument...>;
  detail::transform_over_ranks<Exec, Way>("fanin::transform_reduce_into", label.get(), std::forward<Exec>(exec),
                                          detail::call_into<result>{out}, xs, arrays_f_reducers...);
}
template <class Exec, class Way, class X, class... Argument>
  requires execution<std::remove_cvref_t<Exec>>
void transform_reduce_into(detail::transform_result_t<ranks_data<Way, X>, Argument...>* out, Exec&& exec,
                           const ranks_data<Way, X>& xs, const Argument&... arrays_f_reducers) {
  fanin::transform_reduce_into(nullptr, out, std::forward<Exec>(exec), xs, arrays_f_reducers...);
}
template <class Exec, class Way, class X, class... Argument>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] detail::pending_t<detail::transform_result_t<ranks_data<Way, X>, Argument...>> transform_reduce_async(
    detail::call_label label, Exec&& exec, const ranks_data<Way, X>& xs, const Argument&... arrays_f_reducers) {
  return detail::transform_over_ranks<Exec, Way>("fanin::transform_reduce_async", label.get(), std::forward<Exec>(exec),
                                                 detail::call_later{}, xs, arrays_f_reducers...);
}
template <class Exec, class Way, class X, class... Argument>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] detail::pending_t<detail::transform_result_t<ranks_data<Way, X>, Argument...>> transform_reduce_async(
    Exec&& exec, const ranks_data<Way, X>& xs, const Argument&... arrays_f_reducers) {
  return fanin::transform_reduce_async(nullptr, std::forward<Exec>(exec), xs, arrays_f_reducers...);
}

}  // namespace fanin
