// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <fanin/detail/composite.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/handed_over.hpp>
#include <fanin/detail/label.hpp>
#include <fanin/detail/many.hpp>
#include <fanin/detail/md_places.hpp>
#include <fanin/detail/over.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/macros.hpp>
#include <fanin/md_range.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/pending.hpp>
#include <fanin/reduce.hpp>

/// What calls over ranks have in common, whatever carries the messages. A Way (detail::over_mpi) says that:
///   state_type              a communicator's
///   checked<Exec>           Exec, or words that refuse it
///   call<Exec, Composite>   made of (state, handle, name, label, composite, whether the first index is given); has
///                           now(part), into(out, part) and later(part), of which a part is what stands below
///   first_of(state, name, count, first)  the index of this rank's first element, where it is needed
namespace fanin {

namespace detail {

/// What a rank reduces its own part by, whose result is an accumulator.
template <class R>
struct reducer_of_part {
  static constexpr auto of(const R& reducer) {
    if constexpr (!has_result<R> && std::is_same_v<reducer_result_t<R>, reducer_accumulator_t<R>>) {
      return reducer;
    } else {
      static_assert(!std::is_final_v<R>, "fanin: over ranks a reducer with a result() of its own is not final");
      return handed_over<R>{reducer};
    }
  }
};

/// The reducers of a part, for those of a call.
template <class Plain>
constexpr auto reducers_of_part(const Plain& plain) {
  return plain.changed(
      [](auto, const auto& reducer) { return reducer_of_part<std::remove_cvref_t<decltype(reducer)>>::of(reducer); });
}
template <class Plain>
using part_composite = decltype(detail::reducers_of_part(std::declval<const Plain&>()));

/// What is taken for a range by over(communicator, range); go_over_ranks refuses those of many results, in words.
template <class Range>
concept range_for_ranks = index_range<Range> || range_of_many<Range> || has_runs<Range>;
template <range_for_ranks Range>
constexpr bool go_over_ranks() {
  static_assert(index_range<Range>,
                "fanin: over ranks go ranges of one result: range(exec, first, last), md_range(exec, lower, upper)");
  return index_range<Range>;
}

/// An execution object whose calls go over ranks.
template <class Way, class Exec>
struct on_ranks;

template <class Way, class Exec>
struct handle_on_ranks {
  typename Way::state_type* state;
  typename backend<Exec>::handle_type exec;
};

/// A rank's part of a range, and how its backend reduces it, by whichever reducers.
template <class Exec, class F>
struct part_of_range {
  const typename backend<Exec>::handle_type& handle;
  const char* label;
  std::int64_t first;
  std::int64_t count;
  const F& f;

  template <class Composite>
  auto now(const Composite& c) const {
    return backend<Exec>::reduce(handle, label, first, count, f, c);
  }
  template <class Composite>
  void into(typename Composite::result_type* out, const Composite& c) const {
    backend<Exec>::reduce_into(handle, label, out, first, count, f, c);
  }
  template <class Composite>
  auto later(const Composite& c) const {
    return backend<Exec>::reduce_async(handle, label, first, count, f, c);
  }
};

template <class T>
struct element_of_part {
  const T* data;
  std::int64_t first;
  FANIN_FUNCTION constexpr T operator()(std::int64_t i) const { return data[i - first]; }
};

/// A rank's part of an array. It is looked at when it is reduced.
template <class Exec, class T>
struct part_of_data {
  const typename backend<Exec>::handle_type& handle;
  const char* name;
  const char* label;
  std::span<const T> elements;

  std::int64_t count() const { return detail::check_span<Exec>(handle, elements, name); }
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
/// The same where reducers see indices.
template <class Exec, class T>
struct part_of_indexed_data {
  part_of_data<Exec, T> part;
  std::int64_t first;

  part_of_range<Exec, element_of_part<T>> as_range(const element_of_part<T>& f) const {
    const std::int64_t count = part.count();
    if (first > 0 && count > std::numeric_limits<std::int64_t>::max() - first) {
      throw invalid_argument(std::string(part.name) + ": " + std::to_string(count) + " elements from index " +
                             std::to_string(first) + " on do not fit a 64-bit index");
    }
    return {part.handle, part.label, first, count, f};
  }
  element_of_part<T> functor() const { return {part.elements.data(), first}; }
  template <class Composite>
  auto now(const Composite& c) const {
    const auto f = functor();
    return as_range(f).now(c);
  }
  template <class Composite>
  void into(typename Composite::result_type* out, const Composite& c) const {
    const auto f = functor();
    as_range(f).into(out, c);
  }
  template <class Composite>
  auto later(const Composite& c) const {
    const auto f = functor();
    return as_range(f).later(c);
  }
};

}  // namespace detail

template <class Way, class Exec>
struct backend<detail::on_ranks<Way, Exec>> {
  using object = typename Way::template checked<Exec>;
  using handle_type = detail::handle_on_ranks<Way, Exec>;

  /// The part looks at it, whose failure the other ranks learn of.
  static void check_memory(const handle_type&, const void*, const char*) {}

  template <class F, class Composite>
  static typename Composite::result_type reduce(const handle_type& handle, const char* label, std::int64_t first,
                                                std::int64_t count, const F& f, const Composite& c) {
    return call(handle, "fanin::parallel_reduce", label, c).now(part_of(handle, label, first, count, f));
  }
  template <class F, class Composite>
  static void reduce_into(const handle_type& handle, const char* label, typename Composite::result_type* out,
                          std::int64_t first, std::int64_t count, const F& f, const Composite& c) {
    call(handle, "fanin::parallel_reduce_into", label, c).into(out, part_of(handle, label, first, count, f));
  }
  template <class F, class Composite>
  static pending<typename Composite::result_type> reduce_async(const handle_type& handle, const char* label,
                                                               std::int64_t first, std::int64_t count, const F& f,
                                                               const Composite& c) {
    return call(handle, "fanin::parallel_reduce_async", label, c).later(part_of(handle, label, first, count, f));
  }

 private:
  template <class Composite>
  static auto call(const handle_type& handle, const char* name, const char* label, const Composite& c) {
    return typename Way::template call<object, Composite>(*handle.state, handle.exec, name, label, c, false);
  }
  template <class F>
  static detail::part_of_range<object, F> part_of(const handle_type& handle, const char* label, std::int64_t first,
                                                  std::int64_t count, const F& f) {
    return {handle.exec, label, first, count, f};
  }
};

/// Each rank's part of a range. Cheap to copy. Refers to the communicator and to the range's object.
template <class Way, class Range>
class ranks_policy {
 public:
  using range_type = Range;
  using execution_type = detail::on_ranks<Way, typename Range::execution_type>;
  using handle_type = detail::handle_on_ranks<Way, typename Range::execution_type>;

  ranks_policy(typename Way::state_type& state, const Range& range) : state_{&state}, range_{range} {}

  handle_type handle() const { return {state_, range_.handle()}; }
  /// This rank's.
  std::int64_t size() const noexcept { return range_.size(); }
  const Range& range() const noexcept { return range_; }

 private:
  typename Way::state_type* state_;
  Range range_;
};

/// Each rank's part of an array. Refers to the communicator and to the elements.
template <class Way, class T>
class ranks_data {
 public:
  using state_type = typename Way::state_type;

  ranks_data(state_type& state, std::span<const T> elements, std::optional<std::int64_t> first)
      : state_{&state}, elements_{elements}, first_{first} {}

  std::span<const T> elements() const noexcept { return elements_; }
  /// The index of the first of them, where it was given.
  std::optional<std::int64_t> first() const noexcept { return first_; }

 private:
  friend state_type& state_of(const ranks_data& data) noexcept { return *data.state_; }

  state_type* state_;
  std::span<const T> elements_;
  std::optional<std::int64_t> first_;
};

namespace detail {

template <class Range>
inline constexpr bool is_md_range = false;
template <class Exec, std::size_t Rank, iterate Order, class Index, class Tag>
inline constexpr bool is_md_range<md_range_policy<Exec, Rank, Order, Index, Tag>> = true;

template <class Way, class Range>
struct over<ranks_policy<Way, Range>> {
  using inner = over<Range>;
  using execution_type = typename ranks_policy<Way, Range>::execution_type;
  using range_type = ranks_policy<Way, Range>;
  template <class... Reducer>
  using result_type = typename inner::template result_type<Reducer...>;

  static constexpr std::int64_t first(const range_type& range) { return inner::first(range.range()); }
  template <class F, class Composite>
  static constexpr bool check_functor() {
    constexpr bool has_places = is_md_range<Range> && []<class... R>(std::type_identity<composite<R...>>) {
      return (tells_place<R> || ...);
    }(std::type_identity<typename Composite::plain_type>{});
    static_assert(!has_places,
                  "fanin: over ranks reducers that tell a place go over ranges of one dimension: range(exec, first, "
                  "last)");
    return !has_places && inner::template check_functor<F, Composite>();
  }
  template <class F>
  static constexpr bool check_for_functor() {
    static_assert(dependent_false<F>,
                  "fanin: parallel_for does nothing over ranks: give it the range itself, on each rank");
    return false;
  }
  template <class... Reducer>
  static constexpr auto composite_of(const range_type& range, const Reducer&... reducers) {
    return inner::composite_of(range.range(), reducers...);
  }
  template <class F>
  static constexpr decltype(auto) functor(const range_type& range, const F& f) {
    return inner::functor(range.range(), f);
  }
};

/// A call over data of ranks: run(call, this rank's part).
template <class Exec, class Way, class T, class Run, class... Reducer>
auto reduce_over_ranks(const char* name, const char* label, const typename backend<Exec>::handle_type& handle,
                       const ranks_data<Way, T>& data, const Run& run, const Reducer&... reducers) {
  const auto all = detail::make_composite(reducers...);
  typename Way::state_type& state = state_of(data);
  const typename Way::template call<Exec, std::remove_const_t<decltype(all)>> call(state, handle, name, label, all,
                                                                                   data.first().has_value());
  const part_of_data<Exec, T> part{handle, name, label, data.elements()};
  if constexpr ((detail::sees_index<Reducer> || ...)) {
    const auto count = static_cast<std::int64_t>(data.elements().size());
    return run(call, part_of_indexed_data<Exec, T>{part, Way::first_of(state, name, count, data.first())});
  } else {
    return run(call, part);
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

template <class Exec, class Way, class T, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
detail::result_t<Reducer...> reduce(detail::call_label label, Exec&& exec, const ranks_data<Way, T>& data,
                                    const Reducer&... reducers) {
  return detail::reduce_over_ranks<typename Way::template checked<std::remove_cvref_t<Exec>>>(
      "fanin::reduce", label.get(), detail::handle_of(std::forward<Exec>(exec)), data, detail::call_now{}, reducers...);
}
template <class Exec, class Way, class T, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
detail::result_t<Reducer...> reduce(Exec&& exec, const ranks_data<Way, T>& data, const Reducer&... reducers) {
  return fanin::reduce(nullptr, std::forward<Exec>(exec), data, reducers...);
}
template <class Exec, class Way, class T, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
void reduce_into(detail::call_label label, detail::result_t<Reducer...>* out, Exec&& exec,
                 const ranks_data<Way, T>& data, const Reducer&... reducers) {
  detail::check_destination(out, "fanin::reduce_into");
  detail::reduce_over_ranks<typename Way::template checked<std::remove_cvref_t<Exec>>>(
      "fanin::reduce_into", label.get(), detail::handle_of(std::forward<Exec>(exec)), data,
      detail::call_into<detail::result_t<Reducer...>>{out}, reducers...);
}
template <class Exec, class Way, class T, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
void reduce_into(detail::result_t<Reducer...>* out, Exec&& exec, const ranks_data<Way, T>& data,
                 const Reducer&... reducers) {
  fanin::reduce_into(nullptr, out, std::forward<Exec>(exec), data, reducers...);
}
template <class Exec, class Way, class T, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] detail::pending_t<detail::result_t<Reducer...>> reduce_async(detail::call_label label, Exec&& exec,
                                                                           const ranks_data<Way, T>& data,
                                                                           const Reducer&... reducers) {
  return detail::reduce_over_ranks<typename Way::template checked<std::remove_cvref_t<Exec>>>(
      "fanin::reduce_async", label.get(), detail::handle_of(std::forward<Exec>(exec)), data, detail::call_later{},
      reducers...);
}
template <class Exec, class Way, class T, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] detail::pending_t<detail::result_t<Reducer...>> reduce_async(Exec&& exec, const ranks_data<Way, T>& data,
                                                                           const Reducer&... reducers) {
  return fanin::reduce_async(nullptr, std::forward<Exec>(exec), data, reducers...);
}

}  // namespace fanin
