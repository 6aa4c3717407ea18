// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fanin/axes.hpp>
#include <fanin/detail/axes_results.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/many.hpp>
#include <fanin/detail/ranks.hpp>
#include <fanin/detail/ranks_data.hpp>
#include <fanin/detail/ranks_places.hpp>
#include <fanin/detail/ranks_rows.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/execution.hpp>
#include <fanin/md_range.hpp>
#include <fanin/pending.hpp>
#include <fanin/reduce.hpp>

/// Calls with many results over ranks, whatever carries the messages: each rank has a part of every result. See
/// ranks.hpp; a Way that takes_many says besides:
///   many_call<Exec>   made of (state, handle, name, label, a composite's type, how many results, whether the first
///                     index is given); has into(put, left, part, composite) and later(...): put says where a result
///                     goes whose number `left`, a shape, gives an index, and a part is the one below, or that of
///                     ranks_rows.hpp; and check_alone(), for a call on one rank that goes without it
///   exchanges(state)  whether there are other ranks
namespace fanin {

namespace detail {

/// A call for no results exchanges nothing; of ranks that compare their calls one that has some learns of it here.
template <class Way, class Exec, class Composite>
void compare_call_of_none(typename Way::state_type& state, const typename backend<Exec>::handle_type& handle,
                          std::type_identity<Composite> composite) {
  [[maybe_unused]] const typename Way::template many_call<Exec> call(state, handle, "fanin::parallel_reduce_into",
                                                                     nullptr, composite, 0, false);
}

template <class Way, range_of_many Range>
struct many_over<ranks_policy<Way, Range>> {
  using inner = many_over<Range>;
  using execution_type = typename ranks_policy<Way, Range>::execution_type;
  using range_type = ranks_policy<Way, Range>;
  using axes = typename inner::axes;
  template <class... Reducer>
  using result_type = typename inner::template result_type<Reducer...>;

  static constexpr iterate order = inner::order;
  static auto left_extents(const range_type& range) { return inner::left_extents(range.range()); }
  template <class F, class Composite>
  static constexpr bool check_functor() {
    constexpr bool is_refused =
        !Way::tells_bounds && axes::reduced_rank > 1 && tells_any_place<typename Composite::plain_type>;
    static_assert(!is_refused, "fanin: over NCCL's ranks reducers that tell a place reduce one dimension");
    return !is_refused && inner::template check_functor<F, Composite>();
  }
  template <class... Reducer>
  static auto composite_of(const range_type& range, const Reducer&... reducers) {
    const auto all = composite_in_whole(range, reducers...);
    if (range.results() == 0) {
      using object = typename Way::template checked<typename Range::execution_type>;
      detail::compare_call_of_none<Way, object>(range.state(), range.handle().exec,
                                                std::type_identity<std::remove_const_t<decltype(all)>>{});
    }
    return all;
  }
  template <class F>
  static constexpr auto functor(const range_type& range, const F& f) {
    return inner::functor(range.range(), f);
  }

 private:
  /// Of several reduced axes ranks tell each other their bounds where reducers see indices: collective.
  template <class... Reducer>
  static constexpr auto composite_in_whole(const range_type& range, const Reducer&... reducers) {
    constexpr bool sees_indices_of_several = axes::reduced_rank > 1 && (sees_index<Reducer> || ...);
    if constexpr (Way::tells_bounds && sees_indices_of_several) {
      const auto& part = range.range();
      auto [lower, upper] = inner::reduced_bounds(part);
      Way::template widen<axes, Reducer...>(range.state(), part.count() == 0, lower, upper);
      using box = md_range_policy<typename inner::execution_type, axes::reduced_rank, order>;
      const part_of_box<axes::reduced_rank, order> in_whole{inner::reduced_shape(part),
                                                            over<box>::shape(box(part.handle(), lower, upper))};
      const auto make = [&](const auto&... counted) {
        return detail::make_axes_composite<axes>(in_whole.whole, counted...);
      };
      return detail::with_counted_in(in_whole, make, reducers...);
    } else {
      return inner::composite_of(range.range(), reducers...);
    }
  }
};

}  // namespace detail

/// Each rank's part of data that give many results. Refers to the communicator and to the elements.
template <class Way, class Data>
class ranks_many_data {
 public:
  using state_type = typename Way::state_type;

  ranks_many_data(state_type& state, const Data& data, std::optional<std::int64_t> first)
      : state_{&state}, data_{data}, first_{first} {}

  state_type& state() const noexcept { return *state_; }
  const Data& data() const noexcept { return data_; }
  /// The index of the first element along the reduced axis, where it was given.
  std::optional<std::int64_t> first() const noexcept { return first_; }

 private:
  state_type* state_;
  Data data_;
  std::optional<std::int64_t> first_;
};

namespace detail {

template <class Way, class Data>
struct many_in<ranks_many_data<Way, Data>> {
  using element_type = typename many_in<Data>::element_type;
  template <class... Reducer>
  using result_type = typename many_in<Data>::template result_type<Reducer...>;
};

/// A rank's part of data that give many results. It is looked at when it is reduced.
template <class Exec, class Data>
struct part_of_many_data {
  const typename backend<Exec>::handle_type& handle;
  const char* name;
  const char* label;
  const Data& data;
  std::int64_t first;  ///< index of the whole, where reducers see indices

  template <class Result, class... R>
  void into_room(Result* room, const composite<R...>& reducers) const {
    with_rows(room, reducers, many_into<Exec>{handle, label});
  }
  template <class Result, class... R>
  pending<void> into_room_later(Result* room, const composite<R...>& reducers) const {
    pending<void> made;
    with_rows(room, reducers, many_later<Exec>{handle, label, made});
    return made;
  }

 private:
  /// Results stand in the order of the indices that are left, whatever the data's is.
  template <class Result, class Form, class... R>
  void with_rows(Result* room, const composite<R...>& reducers, const Form& form) const {
    using many = many_in<Data>;
    many::template check<Exec>(handle, data, name);
    if (first > 0) detail::check_last_index(many::elements(data), first, name);
    const tuple<opened_destination<Result, many::left_rank>> to{
        {{{room, detail::packed_strides(many::left_extents(data), iterate::right)}}}};
    const auto use = [&]<class Put, class Rows, class All>(const Put& put, const Rows& rows, const All& all) {
      if constexpr (detail::check_composite_of_many<typename Rows::functor_type, Rows::axes::rank>(
                        std::type_identity<typename All::plain_type>{})) {
        form(put, rows, all);
      }
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      many::with_rows(data, to, use, get<I>(reducers.reducers)...);
    }(std::index_sequence_for<R...>{});
  }
};

/// The forms of a call with many results, over ranks.
template <class Exec, class Call, class Put, class Left, class Part, class Composite>
void put_over_ranks(const many_into<Exec>&, const Call& call, const Put& put, const Left& left, const Part& part,
                    const Composite& all) {
  call.into(put, left, part, all);
}
template <class Exec, class Call, class Put, class Left, class Part, class Composite>
void put_over_ranks(const many_later<Exec>& form, const Call& call, const Put& put, const Left& left, const Part& part,
                    const Composite& all) {
  form.made = call.later(put, left, part, all);
}

template <class Way, class Data>
struct call_of_many_data<ranks_many_data<Way, Data>> {
  template <class Object, class Out, class Form, class... Reducer>
  static void run(const typename backend<Object>::handle_type& handle, Out& out, const char* name, const Form& form,
                  const ranks_many_data<Way, Data>& of_ranks, const Reducer&... reducers) {
    using many = many_in<Data>;
    using axes = typename many::axes;
    using result = one_of_data_t<Data, Reducer...>;
    using object = typename Way::template checked<Object>;
    const auto make = [](const auto&... counted) {
      return detail::make_axes_composite<axes>(md_shape<axes::reduced_rank, iterate::right>{}, counted...);
    };
    using plain_type = typename decltype(make(reducers...))::plain_type;
    constexpr bool has_places_of_several = axes::reduced_rank > 1 && tells_any_place<plain_type>;
    static_assert(!has_places_of_several,
                  "fanin: over ranks reducers that tell a place reduce one dimension of an array: give axes<...> of an "
                  "md_range");
    if constexpr (!has_places_of_several && detail::check_destination_type<Out, result, many::left_rank>()) {
      const Data& data = of_ranks.data();
      const auto extents = many::left_extents(data);
      const std::int64_t results = data.results();
      const md_shape<many::left_rank, iterate::right> left({}, extents, results);
      typename Way::state_type& state = of_ranks.state();
      const auto go = [&](const auto& put) {
        const typename Way::template many_call<object> call(state, handle, name, form.label,
                                                            std::type_identity<decltype(make(reducers...))>{}, results,
                                                            of_ranks.first().has_value());
        if constexpr ((sees_index<Reducer> || ...)) {
          const std::int64_t first = Way::first_of(state, name, many::elements(data), of_ranks.first());
          const auto all = detail::with_counted_in(part_of_line{first}, make, reducers...);
          detail::put_over_ranks(form, call, put, left,
                                 part_of_many_data<object, Data>{handle, name, form.label, data, first}, all);
        } else {
          if (!Way::exchanges(state)) {
            call.check_alone();
            return call_of_many_data<Data>::template run<object>(handle, out, name, form, data, reducers...);
          }
          detail::put_over_ranks(form, call, put, left,
                                 part_of_many_data<object, Data>{handle, name, form.label, data, 0}, make(reducers...));
        }
      };
      if (results == 0) {
        detail::compare_call_of_none<Way, object>(state, handle, std::type_identity<decltype(make(reducers...))>{});
      }
      // What the backend does not reach its part finds.
      detail::with_destination<on_ranks<Way, object>, result, iterate::right>({&state, handle}, out, extents, results,
                                                                              name, go);
    }
  }
};

}  // namespace detail

}  // namespace fanin
