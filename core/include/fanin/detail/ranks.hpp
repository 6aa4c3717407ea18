// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/detail/composite.hpp>
#include <fanin/detail/handed_over.hpp>
#include <fanin/detail/many.hpp>
#include <fanin/detail/md_places.hpp>
#include <fanin/detail/over.hpp>
#include <fanin/detail/ranks_places.hpp>
#include <fanin/detail/ranks_rows.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/execution.hpp>
#include <fanin/macros.hpp>
#include <fanin/md_range.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/pending.hpp>

/// What calls over ranks have in common, whatever carries the messages. A Way (detail::over_mpi) says that:
///   state_type              a communicator's
///   checked<Exec>           Exec, or words that refuse it
///   call<Exec, Composite>   made of (state, handle, name, label, composite, whether the first index is given); has
///                           now(part), into(out, part) and later(part), of which a part is part_of_range, or one of
///                           ranks_data.hpp
///   many_call<Exec>, exchanges(state)    for calls with many results: see ranks_many.hpp
///   first_of(state, name, count, first)  the index of this rank's first element, where it is needed
///   tells_bounds            whether ranks tell each other the bounds of their md_ranges, where places are asked for:
///                           widen<Shape, Reducer...>(state, is_empty, lower, upper) makes them those of all, of a call
///                           that is the same on all ranks in these
namespace fanin {

template <class Way, class Range>
class ranks_policy;

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

/// Whether R's accumulators are handed over as words that may be added up in any order: exact sums
/// (detail/exact_ranks.hpp).
template <class R>
inline constexpr bool hands_over_words = false;

/// What is taken for a range by over(communicator, range); go_over_ranks refuses, in words, those that do not go there.
template <class Range>
concept range_for_ranks = index_range<Range> || range_of_many<Range> || has_runs<Range>;
template <class Range>
inline constexpr bool is_ranks_policy = false;
template <class Way, class Range>
inline constexpr bool is_ranks_policy<ranks_policy<Way, Range>> = true;
template <range_for_ranks Range>
constexpr bool go_over_ranks() {
  static_assert(!has_runs<Range>,
                "fanin: runs do not go over ranks, which have other keys each: reduce the runs of each rank's own");
  static_assert(!is_ranks_policy<Range>, "fanin: over(communicator, range) goes over one communicator's ranks");
  return !has_runs<Range> && !is_ranks_policy<Range>;
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

  template <class Put, class Rows, class Composite>
  static void reduce_many_into(const handle_type& handle, const char* label, const Put& put, const Rows& rows,
                               const Composite& c) {
    const auto call = many_call(handle, "fanin::parallel_reduce_into", label, rows, c);
    const detail::part_of_rows<object, Rows, Composite> part{handle.exec, label, rows, c};
    if (Way::exchanges(*handle.state)) return call.into(put, detail::left_of(rows), part, c);
    call.check_alone();
    detail::check_put<object>(handle.exec, put, "fanin::parallel_reduce_into");
    part.into(put);
  }
  template <class Put, class Rows, class Composite>
  static pending<void> reduce_many_async(const handle_type& handle, const char* label, const Put& put, const Rows& rows,
                                         const Composite& c) {
    const auto call = many_call(handle, "fanin::parallel_reduce_async", label, rows, c);
    const detail::part_of_rows<object, Rows, Composite> part{handle.exec, label, rows, c};
    if (Way::exchanges(*handle.state)) return call.later(put, detail::left_of(rows), part, c);
    call.check_alone();
    detail::check_put<object>(handle.exec, put, "fanin::parallel_reduce_async");
    return part.later(put);
  }

 private:
  template <class Composite>
  static auto call(const handle_type& handle, const char* name, const char* label, const Composite& c) {
    return typename Way::template call<object, Composite>(*handle.state, handle.exec, name, label, c, false);
  }
  template <class Rows, class Composite>
  static auto many_call(const handle_type& handle, const char* name, const char* label, const Rows& rows,
                        const Composite&) {
    return typename Way::template many_call<object>(*handle.state, handle.exec, name, label,
                                                    std::type_identity<Composite>{}, rows.results, false);
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
  std::int64_t size() const noexcept
    requires(detail::index_range<Range>)
  {
    return range_.size();
  }
  /// Alike on all ranks.
  std::int64_t results() const noexcept
    requires(detail::range_of_many<Range>)
  {
    return range_.results();
  }
  const Range& range() const noexcept { return range_; }
  typename Way::state_type& state() const noexcept { return *state_; }

 private:
  typename Way::state_type* state_;
  Range range_;
};

namespace detail {

template <class Range>
inline constexpr bool is_md_range = false;
template <class Exec, std::size_t Rank, iterate Order, class Index, class Tag>
inline constexpr bool is_md_range<md_range_policy<Exec, Rank, Order, Index, Tag>> = true;

/// The part's box in the smallest one that holds all ranks', of a call with these reducers. Collective.
template <class... Reducer, class Way, class Exec, std::size_t Rank, iterate Order, class Index, class Tag>
part_of_box<Rank, Order> box_of_part(
    const ranks_policy<Way, md_range_policy<Exec, Rank, Order, Index, Tag>>& of_ranks) {
  const auto& part = of_ranks.range();
  md_index<Rank> lower = part.lower();
  md_index<Rank> upper = part.upper();
  Way::template widen<md_shape<Rank, Order>, Reducer...>(of_ranks.state(), part.size() == 0, lower, upper);
  using box = md_range_policy<Exec, Rank, Order>;  // whatever a rank's functor takes for indices
  return {over<md_range_policy<Exec, Rank, Order, Index, Tag>>::shape(part),
          over<box>::shape(box(part.handle(), lower, upper))};
}

template <class Way, index_range Range>
struct over<ranks_policy<Way, Range>> {
  using inner = over<Range>;
  using execution_type = typename ranks_policy<Way, Range>::execution_type;
  using range_type = ranks_policy<Way, Range>;
  template <class... Reducer>
  using result_type = typename inner::template result_type<Reducer...>;

  static constexpr std::int64_t first(const range_type& range) { return inner::first(range.range()); }
  template <class F, class Composite>
  static constexpr bool check_functor() {
    constexpr bool is_refused =
        !Way::tells_bounds && is_md_range<Range> && tells_any_place<typename Composite::plain_type>;
    static_assert(!is_refused,
                  "fanin: over NCCL's ranks reducers that tell a place go over ranges of one dimension: range(exec, "
                  "first, last)");
    return !is_refused && inner::template check_functor<F, Composite>();
  }
  template <class F>
  static constexpr bool check_for_functor() {
    static_assert(dependent_false<F>,
                  "fanin: parallel_for does nothing over ranks: give it the range itself, on each rank");
    return false;
  }
  template <class... Reducer>
  static constexpr auto composite_of(const range_type& range, const Reducer&... reducers) {
    if constexpr (Way::tells_bounds && is_md_range<Range> && (sees_index<Reducer> || ...)) {
      const auto box = detail::box_of_part<Reducer...>(range);
      const auto make = [&](const auto&... counted) { return detail::make_md_composite(box.whole, counted...); };
      return detail::with_counted_in(box, make, reducers...);
    } else {
      return inner::composite_of(range.range(), reducers...);
    }
  }
  template <class F>
  static constexpr decltype(auto) functor(const range_type& range, const F& f) {
    return inner::functor(range.range(), f);
  }
};

}  // namespace detail

}  // namespace fanin
