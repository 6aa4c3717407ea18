// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

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

#include <fanin/detail/array.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/over.hpp>
#include <fanin/detail/ranks.hpp>
#include <fanin/detail/ranks_call.hpp>
#include <fanin/detail/ranks_data.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/md_index.hpp>
#include <fanin/mpi/call.hpp>
#include <fanin/mpi/exchange.hpp>
#include <fanin/mpi/many.hpp>
#include <fanin/mpi/message.hpp>
#include <fanin/mpi/mpi.hpp>
#include <fanin/pending.hpp>

namespace fanin {

namespace detail {

/// How a call's result is made of the accumulators of all ranks: on hosts there, and on devices all but what finished()
/// does, which is for the backend. Made where the call is, for whenever the accumulators come.
template <class Exec, class Composite>
class last_step {
 public:
  last_step(const typename backend<Exec>::handle_type&, const Composite&) {}
  typename Composite::result_type operator()(const Composite& c,
                                             const typename Composite::accumulator_type& acc) const {
    return c.result_on_host(acc);
  }
};
template <class Exec, class Composite>
  requires(!is_host_backend<Exec> && Composite::is_finished)
class last_step<Exec, Composite> {
 public:
  last_step(const typename backend<Exec>::handle_type& handle, const Composite&)
      : finish_{backend<Exec>::template finish_aside<Composite>(handle)} {}
  typename Composite::result_type operator()(const Composite& c,
                                             const typename Composite::accumulator_type& acc) const {
    return finish_(c, acc);
  }

 private:
  decltype(backend<Exec>::template finish_aside<Composite>(
      std::declval<const typename backend<Exec>::handle_type&>())) finish_;
};

/// A call's part, and how its result is made of all.
template <class Exec, class Composite>
class pending_part final
    : public part_under_way<part_to_come, typename part_composite<typename Composite::plain_type>::result_type> {
 public:
  using message = rank_message<typename Composite::plain_type>;

  template <class Part>
  void begin(const typename backend<Exec>::handle_type& handle, const Composite& c, const Part& part) {
    finish_.emplace(handle, c);
    this->accumulators_ = part.later(detail::reducers_of_part(c.plain()));
  }
  rank_part take() override {
    rank_part taken;
    this->attempt([&] { taken = message::part_of(message::of_result(this->accumulators_.get())); });
    return this->failure() == nullptr ? taken : message::failed_part();
  }
  typename Composite::result_type result(const Composite& c, const rank_part& whole) const {
    return (*finish_)(c, message::whole_of(c.plain(), whole));
  }

 private:
  std::optional<last_step<Exec, Composite>> finish_;
};

/// What is to come from all ranks.
template <class Exec, class Composite>
class pending_of_ranks final : public pending_slot {
 public:
  using part = pending_part<Exec, Composite>;

  pending_of_ranks(const Composite& c, std::shared_ptr<rank_exchange> exchange, std::shared_ptr<part> own)
      : composite_{c}, exchange_{std::move(exchange)}, part_{std::move(own)} {}

  bool is_ready() noexcept override {
    try {
      return exchange_->is_done();
    } catch (...) {
      return true;  // get() says it again
    }
  }
  void take(void* to, std::size_t bytes) override {
    exchange_->wait();
    if (part_->failure() != nullptr) std::rethrow_exception(part_->failure());
    if (exchange_->failed() != 0) detail::throw_failed_ranks("fanin::pending::get", exchange_->failed());
    const auto result = part_->result(composite_, exchange_->whole());
    std::memcpy(to, std::addressof(result), bytes);
  }
  void release() noexcept override { delete this; }

 private:
  Composite composite_;
  std::shared_ptr<rank_exchange> exchange_;
  std::shared_ptr<part> part_;
};

/// A call over ranks: its own part, and what of it goes to the others.
template <class Exec, class Composite>
class call_over_ranks : waiting_call<Exec> {
 public:
  using plain_type = typename Composite::plain_type;
  using message = rank_message<plain_type>;
  using result_type = typename Composite::result_type;
  using handle_type = typename backend<Exec>::handle_type;

  call_over_ranks(mpi_state& state, const handle_type& handle, const char* name, const char* label, const Composite& c,
                  bool has_first)
      : waiting_call<Exec>{handle, name}, state_{state}, composite_{c} {
    detail::check_rank_call(state, detail::rank_call_of<Composite>(name, label, has_first));
  }

  template <class Part>
  result_type now(const Part& part) const {
    return now(part, [] {});
  }
  /// The host waits for the others, and then writes for the object.
  template <class Part>
  void into(result_type* out, const Part& part) const {
    const auto check_destination = [&] {
      backend<Exec>::check_memory(handle_, out, (std::string(name_) + ": the destination").c_str());
    };
    if constexpr (is_host_backend<Exec>) {
      *out = now(part, check_destination);
    } else if (is_alone()) {
      check_destination();
      check_may_wait();
      part.into(out, composite_);
    } else {
      const result_type result = now(part, check_destination);
      backend<Exec>::copy_from_host(backend<Exec>::memory(handle_), out, std::addressof(result), sizeof(result));
    }
  }
  /// What goes wrong with the part comes from get(), on every number of ranks.
  template <class Part>
  pending<result_type> later(const Part& part) const {
    if constexpr (!is_host_backend<Exec>) {
      if (is_alone()) {
        try {
          return in_words([&] { return part.later(composite_); });
        } catch (...) {
          return pending<result_type>(std::current_exception());
        }
      }
    }
    const auto own = detail::make_for_step(state_, [] { return std::make_shared<pending_part<Exec, Composite>>(); });
    own->attempt([&] { in_words([&] { own->begin(handle_, composite_, part); }); });
    auto exchange = detail::begin_exchange(state_, own, join_of_all());
    return pending<result_type>(
        pending_handle(new pending_of_ranks<Exec, Composite>(composite_, std::move(exchange), own)));
  }

 private:
  using waiting_call<Exec>::handle_;
  using waiting_call<Exec>::name_;
  using waiting_call<Exec>::check_may_wait;
  using waiting_call<Exec>::in_words;

  bool is_alone() const noexcept { return detail::ranks_of(state_) == 1; }
  join_parts join_of_all() const {
    return detail::make_for_step(state_, [this] { return message::join_of(composite_.plain()); });
  }
  template <class Part, class Check>
  result_type now(const Part& part, const Check& check) const {
    if constexpr (!is_host_backend<Exec>) {
      if (is_alone()) {  // as without ranks
        check();
        return in_words([&] { return part.now(composite_); });
      }
    }
    std::optional<last_step<Exec, Composite>> finish;
    std::optional<typename message::accumulators> acc;
    std::exception_ptr failure;
    try {
      check();
      in_words([&] {
        finish.emplace(handle_, composite_);
        acc.emplace(message::of_result(part.now(detail::reducers_of_part(composite_.plain()))));
      });
    } catch (...) {
      failure = std::current_exception();
    }
    if (!is_alone()) {
      rank_part own = detail::make_for_step(
          state_, [&] { return failure == nullptr ? message::part_of(*acc) : message::failed_part(); });
      const std::int64_t failed = detail::exchange_now(state_, own, join_of_all());
      if (failure == nullptr && failed != 0) detail::throw_failed_ranks(name_, failed);
      if (failure == nullptr) acc.emplace(message::whole_of(composite_.plain(), own));
    }
    if (failure != nullptr) std::rethrow_exception(failure);
    return (*finish)(composite_, *acc);
  }

  mpi_state& state_;
  Composite composite_;
};

/// By MPI, between hosts.
struct over_mpi {
  using state_type = mpi_state;
  template <class Exec>
  using checked = Exec;
  template <class Exec, class Composite>
  using call = call_over_ranks<Exec, Composite>;

  template <class Exec>
  using many_call = many_over_ranks<Exec>;
  static bool exchanges(const mpi_state& state) { return detail::ranks_of(state) != 1; }

  static std::int64_t first_of(mpi_state& state, const char*, std::int64_t count, std::optional<std::int64_t> first) {
    return first ? *first : detail::indices_before(state, count);
  }

  static constexpr bool tells_bounds = true;
  template <class Shape, class... Reducer, std::size_t Rank>
  static void widen(mpi_state& state, bool is_empty, md_index<Rank>& lower, md_index<Rank>& upper) {
    const rank_call call{.name = "fanin::parallel_reduce",
                         .label = nullptr,
                         .types = name_of<tuple<Shape, reducers_without_g<Reducer>...>>(),
                         .reducers = name_of<typename written_reducers<Reducer...>::type>(),
                         .has_first = false,
                         .is_finished = (is_finished<Reducer> || ...),
                         .dimensions = Rank,
                         .order = words_of_shape<Shape>::order};
    detail::widen_bounds(state, call, is_empty, lower.at, upper.at);
  }
};

}  // namespace detail

/// Reduces a range over all ranks of a communicator: each gives its part, range(exec, first, last) or md_range(exec,
/// {lower...}, {upper...}) with the indices of the whole, and gets the whole's result. Parts may be empty, and be on
/// different backends (fanin::serial, fanin::kokkos, fanin::cuda). For parallel_reduce, its _into and _async
/// forms, and every reducer; _loc reducers give the indices of the whole, of equals the least, over an md_range the
/// first in the order of the smallest box that holds all parts: for that ranks tell each other their bounds in the
/// call, in its async form too, and all throw invalid_argument where that box has 2^63 indices or more.
/// finished(g, ...) calls g once on each rank, where its backend is; of an async form in get(), until when what it
/// reads stays as it is. Reducers' join() and result() run on the host. Collective: all ranks make the same calls in
/// the same order, also those whose part is empty.
///
/// Accumulators are joined in the order of the ranks (mpi_options::gather_up_to says how many at once): the same bits
/// from run to run for the same number of ranks and parts, on all ranks. exact_sum gives the same bits for every number
/// of ranks, split and backend. Up to 2^31 - 1 ranks and 2^63 elements.
///
/// The host waits for the other ranks: on devices (fanin::cuda, Kokkos's) also in the _into form, which writes to
/// device memory then, in the stream's order, and a stream that is being captured is refused with state_error, before
/// anything is launched, on one rank too. On one rank nothing is exchanged, and calls are the plain ones.
///
/// A rank whose part throws (a functor on serial, a kernel that fails, memory that its backend does not reach) takes
/// part all the same: it throws that, from the call or from get(), the others rank_error. What the call is refused for
/// before (a null destination) must be alike on all ranks, or the others wait. Throws mpi_error for what MPI says; a
/// reducer's join() that throws is rank_error where it does, on all ranks if they are given the same, and so is its
/// result() of many results; of one result it comes as it was thrown, as what g throws does. The async form begins the
/// exchange, or, of a part on a device, a later call over the communicator does, its ready() and get() among them;
/// exchanges begin in the order of the calls. get() waits for the other ranks, which need not call theirs yet where
/// they have begun. (So where parts are on devices nothing but Fanin's calls may wait for another rank's get(); nor of
/// more than gather_up_to ranks, where messages go on from group to group only while the groups' first ranks are inside
/// of Fanin's calls.) The pending may outlive the communicator and the object; the communicator outlives what over()
/// gives.
///
/// Of a range of many results (rows, columns, axes<...>, segments) all ranks have as many, with the same indices, and
/// each a part of every result's elements: over(comm, axes<0>(md_range(exec, {first, 0}, {last, m}))) are the columns
/// of rows that the ranks share. For parallel_reduce_into and parallel_reduce_async(out, ...), all of which stand at
/// each rank's destination, which may be of another layout on each: of an async form when get() has returned, which
/// writes them. `_loc` reducers give indices of the whole along the reduced axis, of several reduced axes as over an
/// md_range; segments' k count on through the ranks as offsets say. finished(g, ...) calls g once for each result on
/// each rank. Joined in the order of the ranks, however many there are; up to 64 KiB of all ranks' accumulators (and up
/// to gather_up_to ranks) on every rank, more by slices, of which each rank joins one, in whichever call goes on with
/// it: then what is said above of more than gather_up_to ranks holds. A rank sends another one up to 2^31 - 1 bytes
/// (invalid_argument beyond). Allocates on each call.
template <detail::range_for_ranks Range>
auto over(const mpi& comm, const Range& range) {
  if constexpr (detail::go_over_ranks<Range>()) {
    return ranks_policy<detail::over_mpi, Range>(state_of(comm), range);
  }
}

/// The same of data: reduce(exec, over(comm, xs), reducers...), transform_reduce(exec, over(comm, xs), over(comm, ys),
/// f, reducers...), their _into and _async forms, exact_dot, exact_norm2_squared and their _into forms. xs is an array
/// or a view of the backend's memory, of any length on each rank; of several arrays those of a rank have one shape, and
/// all go over one communicator. Indices count from `first`, which all ranks give or none, of several arrays for one of
/// them or alike, or, without it, from the number of elements that the ranks before this one have, which ranks tell
/// each other where a reducer folds indices; in 2 dimensions and more they count in the order of C's arrays, and
/// built-in reducers that tell a place are refused. A part that is no array, or whose last index is 2^63 - 1 or more
/// where a reducer folds indices, throws invalid_argument, as a part does. The elements outlive the call, and of an
/// _async form on a device get(); a view itself is copied. On fanin::cuda a unit that no CUDA compiler reads has what
/// is precompiled, but for reducers that fold indices.
template <detail::array X>
auto over(const mpi& comm, const X& xs, detail::first_index first = {}) {
  const auto elements = [&] { return detail::elements_for_ranks(xs); };
  return ranks_data<detail::over_mpi, decltype(elements())>(state_of(comm), elements, first.value);
}

/// The same of data that give many results: reduce_into(out, exec, over(comm, columns(xs)), reducers...), and
/// reduce_async, of rows(xs), columns(xs), axes<...>(xs) and segments(xs, offsets), each rank's own. All ranks have as
/// many results; how many elements, and in which layout, differs. Indices along the reduced axis (in a segment's array)
/// count from `first`, as above; of several reduced axes built-in reducers that tell a place are refused. On
/// fanin::cuda in units that a CUDA compiler reads.
template <detail::data_of_many Data>
auto over(const mpi& comm, const Data& data, detail::first_index first = {}) {
  return ranks_many_data<detail::over_mpi, Data>(state_of(comm), data, first.value);
}

/// What is no index is refused in words.
template <class Data, detail::no_first First>
void over(const mpi&, const Data&, const First&) {
  detail::refuse_first<First>();
}

/// MPI's own communicator is no fanin::mpi, whose making is collective.
template <class... Argument>
void over(MPI_Comm, const Argument&...) {
  static_assert(detail::dependent_false<tuple<Argument...>>,
                "fanin: over takes a fanin::mpi, not an MPI_Comm: fanin::mpi comm(MPI_COMM_WORLD), and over(comm, xs)");
}

}  // namespace fanin

#if !FANIN_DETAIL_REFUSES_EXACT_SUMS
#include <fanin/mpi/exact.hpp>
#endif
