// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fanin/detail/array.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/label.hpp>
#include <fanin/detail/over.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/execution.hpp>
#include <fanin/macros.hpp>
#include <fanin/md_range.hpp>
#include <fanin/mpi/exchange.hpp>
#include <fanin/mpi/mpi.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/pending.hpp>
#include <fanin/reduce.hpp>

namespace fanin {

namespace detail {

/// A reducer's accumulator as its result.
template <class G>
struct handed_over_gathering : G {
  template <class R, class Partial>
  FANIN_FUNCTION static auto result(const R& r, const Partial& held) {
    Partial copy = held;
    auto acc = r.identity();
    G::deposit(r, copy, acc);
    return acc;
  }
};
template <class R>
struct handed_over : R {
  using accumulator_type = reducer_accumulator_t<R>;
  using result_type = accumulator_type;
  FANIN_FUNCTION constexpr accumulator_type result(const accumulator_type& acc) const { return acc; }
};
template <class R>
  requires(gathering_t<R>::has_partials)
struct handed_over<R> : R {
  using accumulator_type = reducer_accumulator_t<R>;
  using result_type = accumulator_type;
  using gathering = handed_over_gathering<gathering_t<R>>;
  FANIN_FUNCTION constexpr accumulator_type result(const accumulator_type& acc) const { return acc; }
};

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

/// Accumulators that are sums of integers travel as so many words, which MPI adds up: in any order, with the same bits.
template <class Accumulator>
struct words_of {
  static constexpr std::size_t count = 0;
};

/// How the accumulators of a call's reducers travel.
template <class Plain>
struct rank_message;
template <class... R>
struct rank_message<composite<R...>> {
  using plain_type = composite<R...>;
  using accumulators = typename plain_type::accumulator_type;
  static constexpr std::size_t size = sizeof...(R);
  static constexpr std::array<std::size_t, size> words{words_of<reducer_accumulator_t<R>>::count...};
  static constexpr std::array<std::size_t, size> bytes{
      (words_of<reducer_accumulator_t<R>>::count != 0 ? 0 : sizeof(reducer_accumulator_t<R>))...};
  static constexpr std::size_t before(const std::array<std::size_t, size>& of, std::size_t at) {
    std::size_t sum = 0;
    for (std::size_t k = 0; k < at; ++k) sum += of[k];
    return sum;
  }

  static rank_part part_of(const accumulators& acc, bool has_failed) {
    rank_part part{std::vector<std::byte>(before(bytes, size)), std::vector<std::uint64_t>(before(words, size)),
                   has_failed};
    for_each([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      using of = words_of<std::remove_cvref_t<decltype(get<I>(acc))>>;
      if constexpr (of::count != 0) {
        of::put(get<I>(acc), part.summed.data() + before(words, I));
      } else {
        std::memcpy(part.gathered.data() + before(bytes, I), std::addressof(get<I>(acc)), bytes[I]);
      }
    });
    return part;
  }
  static accumulators whole_of(const plain_type& c, const rank_part& part) {
    accumulators acc = c.identity();
    for_each([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      using type = std::remove_cvref_t<decltype(get<I>(acc))>;
      if constexpr (words[I] != 0) {
        get<I>(acc) = words_of<type>::get(part.summed.data() + before(words, I));
      } else {
        get<I>(acc) = read<type>(part.gathered.data() + before(bytes, I));
      }
    });
    return acc;
  }
  static join_parts join_of(const plain_type& c) {
    return [c](std::byte* into, const std::byte* from) {
      for_each([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
        if constexpr (words[I] == 0) {
          using type = std::tuple_element_t<I, accumulators>;
          type joined = read<type>(into + before(bytes, I));
          get<I>(c.reducers).join(joined, read<type>(from + before(bytes, I)));
          std::memcpy(into + before(bytes, I), std::addressof(joined), bytes[I]);
        }
      });
    };
  }

 private:
  template <class Use>
  static void for_each(const Use& use) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (use(std::integral_constant<std::size_t, I>{}), ...);
    }(std::make_index_sequence<size>{});
  }
  template <class T>
  static T read(const std::byte* from) {
    bytes_of<T> room;
    std::memcpy(static_cast<void*>(std::addressof(room)), from, sizeof(T));
    return room.value;
  }
};

template <class Exec>
struct check_for_ranks {
  static_assert(is_host_backend<Exec>,
                "fanin: over ranks reductions run on fanin::serial and on Kokkos's host spaces so far");
  using type = Exec;
};
template <class Exec>
using checked_for_ranks = typename check_for_ranks<Exec>::type;

/// An execution object whose calls go over ranks.
template <class Exec>
struct on_ranks;

template <class Exec>
struct handle_on_ranks {
  mpi_state* state;
  typename backend<Exec>::handle_type exec;
};

/// What is to come from all ranks.
template <class Composite>
class pending_of_ranks final : public pending_slot {
 public:
  using plain_type = typename Composite::plain_type;
  using result_type = typename Composite::result_type;

  pending_of_ranks(const Composite& c, std::shared_ptr<rank_exchange> exchange, std::exception_ptr failure)
      : composite_{c}, exchange_{std::move(exchange)}, failure_{std::move(failure)} {}

  bool is_ready() noexcept override {
    try {
      return exchange_->is_done();
    } catch (...) {
      return true;  // get() says it again
    }
  }
  void take(void* to, std::size_t bytes) override {
    exchange_->wait();
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    if (exchange_->failed() != 0) detail::throw_failed_ranks("fanin::pending::get", exchange_->failed());
    const result_type result =
        composite_.result_on_host(rank_message<plain_type>::whole_of(composite_.plain(), exchange_->whole()));
    std::memcpy(to, std::addressof(result), bytes);
  }
  void release() noexcept override { delete this; }

 private:
  Composite composite_;
  std::shared_ptr<rank_exchange> exchange_;
  std::exception_ptr failure_;
};

/// Words that tell a type from others, the same on all ranks of a program; there without run-time type information.
template <class T>
constexpr const char* name_of() {
  return __PRETTY_FUNCTION__;
}

/// A call over ranks: its own part, and what of it goes to the others.
template <class Composite>
class call_over_ranks {
 public:
  using plain_type = typename Composite::plain_type;
  using message = rank_message<plain_type>;
  using result_type = typename Composite::result_type;

  call_over_ranks(mpi_state& state, const char* name, const char* label, const Composite& c, bool has_first = false)
      : state_{state}, name_{name}, composite_{c} {
    detail::check_rank_call(state, {name, label, name_of<Composite>(), has_first});
  }

  /// `reduce_part` reduces this rank's part with other reducers, whose results are accumulators.
  template <class ReducePart>
  result_type now(const ReducePart& reduce_part) {
    std::exception_ptr failure;
    auto acc = of_part(reduce_part, failure);
    if (detail::ranks_of(state_) > 1) {
      rank_part part = message::part_of(acc, failure != nullptr);
      const std::int64_t failed = detail::exchange_now(state_, part, message::join_of(composite_.plain()));
      if (failure == nullptr && failed != 0) detail::throw_failed_ranks(name_, failed);
      if (failure == nullptr) acc = message::whole_of(composite_.plain(), part);
    }
    if (failure != nullptr) std::rethrow_exception(failure);
    return composite_.result_on_host(acc);
  }
  template <class ReducePart>
  pending<result_type> later(const ReducePart& reduce_part) {
    std::exception_ptr failure;
    const auto acc = of_part(reduce_part, failure);
    auto exchange =
        detail::begin_exchange(state_, message::part_of(acc, failure != nullptr), message::join_of(composite_.plain()));
    return pending<result_type>(
        pending_handle(new pending_of_ranks<Composite>(composite_, std::move(exchange), failure)));
  }

 private:
  template <class ReducePart>
  typename message::accumulators of_part(const ReducePart& reduce_part, std::exception_ptr& failure) {
    const auto reducers = composite_.plain().changed(
        [](auto, const auto& reducer) { return reducer_of_part<std::remove_cvref_t<decltype(reducer)>>::of(reducer); });
    try {
      if constexpr (plain_type::size == 1) {
        return {{{reduce_part(reducers)}}};
      } else {
        return reduce_part(reducers);
      }
    } catch (...) {
      failure = std::current_exception();
      return composite_.plain().identity();
    }
  }

  mpi_state& state_;
  const char* name_;
  Composite composite_;
};

}  // namespace detail

template <class Exec>
struct backend<detail::on_ranks<Exec>> {
  using inner = backend<detail::checked_for_ranks<Exec>>;
  using handle_type = detail::handle_on_ranks<Exec>;

  static void check_memory(const handle_type& handle, const void* pointer, const char* what) {
    inner::check_memory(handle.exec, pointer, what);
  }

  template <class F, class Composite>
  static typename Composite::result_type reduce(const handle_type& handle, const char* label, std::int64_t first,
                                                std::int64_t count, const F& f, const Composite& c) {
    return detail::call_over_ranks<Composite>(*handle.state, "fanin::parallel_reduce", label, c)
        .now([&](const auto& part) { return inner::reduce(handle.exec, label, first, count, f, part); });
  }
  template <class F, class Composite>
  static void reduce_into(const handle_type& handle, const char* label, typename Composite::result_type* out,
                          std::int64_t first, std::int64_t count, const F& f, const Composite& c) {
    *out = detail::call_over_ranks<Composite>(*handle.state, "fanin::parallel_reduce_into", label, c)
               .now([&](const auto& part) { return inner::reduce(handle.exec, label, first, count, f, part); });
  }
  template <class F, class Composite>
  static pending<typename Composite::result_type> reduce_async(const handle_type& handle, const char* label,
                                                               std::int64_t first, std::int64_t count, const F& f,
                                                               const Composite& c) {
    return detail::call_over_ranks<Composite>(*handle.state, "fanin::parallel_reduce_async", label, c)
        .later([&](const auto& part) { return inner::reduce(handle.exec, label, first, count, f, part); });
  }
};

/// Each rank's part of a range. Cheap to copy. Refers to the communicator and to the range's object.
template <class Range>
class ranks_policy {
 public:
  using range_type = Range;
  using execution_type = detail::on_ranks<typename Range::execution_type>;
  using handle_type = detail::handle_on_ranks<typename Range::execution_type>;

  ranks_policy(const mpi& comm, const Range& range) : state_{&state_of(comm)}, range_{range} {}

  handle_type handle() const { return {state_, range_.handle()}; }
  /// This rank's.
  std::int64_t size() const noexcept { return range_.size(); }
  const Range& range() const noexcept { return range_; }

 private:
  detail::mpi_state* state_;
  Range range_;
};

/// Each rank's part of an array. Refers to the communicator and to the elements.
template <class T>
class ranks_data {
 public:
  ranks_data(const mpi& comm, std::span<const T> elements, std::optional<std::int64_t> first)
      : state_{&state_of(comm)}, elements_{elements}, first_{first} {}

  std::span<const T> elements() const noexcept { return elements_; }
  /// The index of the first of them, where it was given.
  std::optional<std::int64_t> first() const noexcept { return first_; }

 private:
  friend detail::mpi_state& state_of(const ranks_data& data) noexcept { return *data.state_; }

  detail::mpi_state* state_;
  std::span<const T> elements_;
  std::optional<std::int64_t> first_;
};

/// Reduces a range over all ranks of a communicator: each gives its part, range(exec, first, last) or md_range(exec,
/// {lower...}, {upper...}) with the indices of the whole, and gets the whole's result. Parts may be empty, and be on
/// different backends (fanin::serial, Kokkos's host spaces). For parallel_reduce, its _into and _async forms, and every
/// reducer; _loc reducers, over ranges of one dimension, give the indices of the whole, of equals the least.
/// finished(g, ...) calls g once on each rank. Collective: all ranks make the same calls in the same order, also those
/// whose part is empty.
///
/// Accumulators are joined in the order of the ranks (mpi_options::gather_up_to says how many at once): the same bits
/// from run to run for the same number of ranks and parts, on all ranks. exact_sum gives the same bits for every number
/// of ranks, split and backend. Up to 2^31 - 1 ranks and 2^63 elements.
///
/// A rank whose part throws (a functor on serial) takes part all the same: it throws that, the others rank_error. What
/// the call is refused for before (a null destination) must be alike on all ranks, or the others wait. Throws
/// mpi_error for what MPI says; where a reducer's join throws, all get rank_error. The async form begins the exchange;
/// get() waits for the other ranks, which need not call theirs yet, where their part has been reduced. (Of more than
/// gather_up_to ranks messages go on from group to group only while the groups' first ranks are inside of Fanin's
/// calls: nothing but get() and ready() may wait for another rank's get() then.) The pending may outlive the
/// communicator, which outlives what over() gives.
template <class Range>
  requires(detail::index_range<Range> || detail::range_of_many<Range> || detail::has_runs<Range>)
auto over(const mpi& comm, const Range& range) {
  constexpr bool has_many_results = !detail::index_range<Range>;
  static_assert(!has_many_results,
                "fanin: over ranks go ranges of one result: range(exec, first, last), md_range(exec, lower, upper)");
  if constexpr (!has_many_results) return ranks_policy<Range>(comm, range);
}

/// The same of data: reduce(exec, over(comm, xs), reducers...), reduce_into, reduce_async. xs is a contiguous array of
/// the backend's memory, of any length on each rank. Indices count from `first`, which all ranks give or none, or,
/// without it, from the number of elements that the ranks before this one have, which ranks tell each other where a
/// reducer folds indices. A part whose last index does not fit 64 bits throws invalid_argument, as a part does. The
/// elements outlive the call.
template <detail::array X>
auto over(const mpi& comm, const X& xs, std::optional<std::int64_t> first = {}) {
  return ranks_data<detail::element_t<X>>(comm, detail::view_of(xs, "fanin::over"), first);
}

namespace detail {

template <class Range>
inline constexpr bool is_md_range = false;
template <class Exec, std::size_t Rank, iterate Order, class Index, class Tag>
inline constexpr bool is_md_range<md_range_policy<Exec, Rank, Order, Index, Tag>> = true;

template <class Range>
struct over<ranks_policy<Range>> {
  using inner = over<Range>;
  using execution_type = typename ranks_policy<Range>::execution_type;
  using range_type = ranks_policy<Range>;
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

template <class T>
struct element_of_part {
  const T* data;
  std::int64_t first;
  FANIN_FUNCTION constexpr T operator()(std::int64_t i) const { return data[i - first]; }
};

/// Calls run(call, reduce_part) for data over ranks.
template <class Exec, class T, class Run, class... Reducer>
auto reduce_over_ranks(const char* name, const char* label, Exec&& exec, const ranks_data<T>& data, const Run& run,
                       const Reducer&... reducers) {
  using object = checked_for_ranks<std::remove_cvref_t<Exec>>;
  using inner = backend<object>;
  const auto handle = detail::handle_of(std::forward<Exec>(exec));
  const auto all = detail::make_composite(reducers...);
  mpi_state& state = state_of(data);
  detail::call_over_ranks<std::remove_const_t<decltype(all)>> call(state, name, label, all, data.first().has_value());
  constexpr bool sees_indices = (detail::sees_index<Reducer> || ...);
  std::int64_t first = data.first().value_or(0);
  if (sees_indices && !data.first()) {
    first = detail::indices_before(state, static_cast<std::int64_t>(data.elements().size()));
  }
  return run(call, [&](const auto& part) {
    const std::int64_t count = detail::check_span<object>(handle, data.elements(), name);
    if constexpr (sees_indices) {
      if (first > 0 && count > std::numeric_limits<std::int64_t>::max() - first) {
        throw invalid_argument(std::string(name) + ": " + std::to_string(count) + " elements from index " +
                               std::to_string(first) + " on do not fit a 64-bit index");
      }
      return inner::reduce(handle, label, first, count, detail::element_of_part<T>{data.elements().data(), first},
                           part);
    } else {
      return inner::reduce_span(handle, label, data.elements().data(), count, part);
    }
  });
}

}  // namespace detail

template <class Exec, class T, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
detail::result_t<Reducer...> reduce(detail::call_label label, Exec&& exec, const ranks_data<T>& data,
                                    const Reducer&... reducers) {
  return detail::reduce_over_ranks(
      "fanin::reduce", label.get(), std::forward<Exec>(exec), data,
      [](auto& call, const auto& reduce_part) { return call.now(reduce_part); }, reducers...);
}
template <class Exec, class T, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
detail::result_t<Reducer...> reduce(Exec&& exec, const ranks_data<T>& data, const Reducer&... reducers) {
  return fanin::reduce(nullptr, std::forward<Exec>(exec), data, reducers...);
}
template <class Exec, class T, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
void reduce_into(detail::call_label label, detail::result_t<Reducer...>* out, Exec&& exec, const ranks_data<T>& data,
                 const Reducer&... reducers) {
  detail::check_destination(out, "fanin::reduce_into");
  *out = detail::reduce_over_ranks(
      "fanin::reduce_into", label.get(), std::forward<Exec>(exec), data,
      [](auto& call, const auto& reduce_part) { return call.now(reduce_part); }, reducers...);
}
template <class Exec, class T, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
void reduce_into(detail::result_t<Reducer...>* out, Exec&& exec, const ranks_data<T>& data,
                 const Reducer&... reducers) {
  fanin::reduce_into(nullptr, out, std::forward<Exec>(exec), data, reducers...);
}
template <class Exec, class T, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] detail::pending_t<detail::result_t<Reducer...>> reduce_async(detail::call_label label, Exec&& exec,
                                                                           const ranks_data<T>& data,
                                                                           const Reducer&... reducers) {
  return detail::reduce_over_ranks(
      "fanin::reduce_async", label.get(), std::forward<Exec>(exec), data,
      [](auto& call, const auto& reduce_part) { return call.later(reduce_part); }, reducers...);
}
template <class Exec, class T, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] detail::pending_t<detail::result_t<Reducer...>> reduce_async(Exec&& exec, const ranks_data<T>& data,
                                                                           const Reducer&... reducers) {
  return fanin::reduce_async(nullptr, std::forward<Exec>(exec), data, reducers...);
}

}  // namespace fanin

#if !FANIN_DETAIL_REFUSES_EXACT_SUMS
#include <fanin/mpi/exact.hpp>
#endif
