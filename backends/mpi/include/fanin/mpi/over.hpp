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

#include <fanin/detail/array.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/over.hpp>
#include <fanin/detail/ranks.hpp>
#include <fanin/detail/ranks_data.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/md_index.hpp>
#include <fanin/mpi/exchange.hpp>
#include <fanin/mpi/mpi.hpp>
#include <fanin/pending.hpp>

namespace fanin {

namespace detail {

/// Accumulators that are sums of integers travel as so many words, which are added up: in any order, the same bits.
template <class Accumulator>
struct summed_words {
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
  static constexpr std::array<std::size_t, size> words{
      (hands_over_words<R> ? summed_words<reducer_accumulator_t<R>>::count : 0)...};
  static constexpr std::array<std::size_t, size> bytes{(hands_over_words<R> ? 0 : sizeof(reducer_accumulator_t<R>))...};
  static constexpr std::size_t before(const std::array<std::size_t, size>& of, std::size_t at) {
    std::size_t sum = 0;
    for (std::size_t k = 0; k < at; ++k) sum += of[k];
    return sum;
  }

  /// Of what a part gives, which is the accumulator itself where there is one reducer.
  template <class Result>
  static accumulators of_result(const Result& result) {
    if constexpr (size == 1) {
      return {{{result}}};
    } else {
      return result;
    }
  }

  /// As large as any other, and nobody looks at what is in it.
  static rank_part failed_part() {
    return {rank_array<std::byte>(before(bytes, size)), rank_array<std::uint64_t>(before(words, size)), true};
  }
  static rank_part part_of(const accumulators& acc) {
    rank_part part = failed_part();
    part.has_failed = false;
    for_each([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if constexpr (words[I] != 0) {
        using of = summed_words<std::remove_cvref_t<decltype(get<I>(acc))>>;
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
        get<I>(acc) = summed_words<type>::get(part.summed.begin() + before(words, I));
      } else {
        get<I>(acc) = read<type>(part.gathered.begin() + before(bytes, I));
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

/// A part whose accumulators are still to come from its backend.
template <class Exec, class Composite>
class pending_part final : public part_to_come {
 public:
  using plain_type = typename Composite::plain_type;
  using message = rank_message<plain_type>;
  using step = last_step<Exec, Composite>;

  /// Begins it; a failure is the part's.
  template <class Begin>
  void begin(const Begin& begin) {
    try {
      begin(*this);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  bool is_ready() noexcept override {
    try {
      return failure_ != nullptr || accumulators.ready();
    } catch (...) {
      return true;
    }
  }
  rank_part take() override {
    if (failure_ == nullptr) {
      try {
        return message::part_of(message::of_result(accumulators.get()));
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
    return message::failed_part();
  }
  /// Why it failed, when it has been taken.
  const std::exception_ptr& failure() const noexcept { return failure_; }

  std::optional<step> finish;
  pending<typename part_composite<plain_type>::result_type> accumulators;

 private:
  std::exception_ptr failure_;
};

/// What is to come from all ranks.
template <class Exec, class Composite>
class pending_of_ranks final : public pending_slot {
 public:
  using plain_type = typename Composite::plain_type;
  using result_type = typename Composite::result_type;
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
    const result_type result =
        (*part_->finish)(composite_, rank_message<plain_type>::whole_of(composite_.plain(), exchange_->whole()));
    std::memcpy(to, std::addressof(result), bytes);
  }
  void release() noexcept override { delete this; }

 private:
  Composite composite_;
  std::shared_ptr<rank_exchange> exchange_;
  std::shared_ptr<part> part_;
};

/// Words that tell a type from others, the same on all ranks of a program; there without run-time type information.
template <class T>
constexpr const char* name_of() {
  return __PRETTY_FUNCTION__;
}

/// Of what a call has, the types that are the same on all ranks: g may be a lambda of a template, one for each backend.
template <class What>
struct without_g {
  using type = What;
};
template <class G, class... R>
struct without_g<finished_reducers<G, R...>> {
  using type = tuple<R...>;
};
template <class What>
using reducers_without_g = typename without_g<What>::type;

/// A call over ranks: its own part, and what of it goes to the others.
template <class Exec, class Composite>
class call_over_ranks {
 public:
  using plain_type = typename Composite::plain_type;
  using message = rank_message<plain_type>;
  using result_type = typename Composite::result_type;
  using handle_type = typename backend<Exec>::handle_type;

  call_over_ranks(mpi_state& state, const handle_type& handle, const char* name, const char* label, const Composite& c,
                  bool has_first)
      : state_{state}, handle_{handle}, name_{name}, composite_{c} {
    detail::check_rank_call(state, {name, label, name_of<plain_type>(), has_first, Composite::is_finished});
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
    own->begin([&](auto& to) {
      in_words([&] {
        to.finish.emplace(handle_, composite_);
        to.accumulators = part.later(detail::reducers_of_part(composite_.plain()));
      });
    });
    auto exchange = detail::begin_exchange(state_, own, join_of_all());
    return pending<result_type>(
        pending_handle(new pending_of_ranks<Exec, Composite>(composite_, std::move(exchange), own)));
  }

 private:
  bool is_alone() const noexcept { return detail::ranks_of(state_) == 1; }
  join_parts join_of_all() const {
    return detail::make_for_step(state_, [this] { return message::join_of(composite_.plain()); });
  }
  /// On devices, whose streams may capture.
  void check_may_wait() const {
    if constexpr (!is_host_backend<Exec>) {
      if (backend<Exec>::is_capturing(handle_, name_)) {
        throw state_error(std::string(name_) +
                          " over ranks: the host waits for the other ranks in this call, and the object's stream is "
                          "being captured into a graph; call it outside the capture");
      }
    }
  }

  /// A capture refuses calls that wait, and of those over ranks in other words.
  template <class Call>
  auto in_words(const Call& call) const {
    try {
      return call();
    } catch (const state_error&) {
      check_may_wait();
      throw;
    }
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
  handle_type handle_;
  const char* name_;
  Composite composite_;
};

/// By MPI, between hosts.
struct over_mpi {
  using state_type = mpi_state;
  template <class Exec>
  using checked = Exec;
  template <class Exec, class Composite>
  using call = call_over_ranks<Exec, Composite>;

  static std::int64_t first_of(mpi_state& state, const char*, std::int64_t count, std::optional<std::int64_t> first) {
    return first ? *first : detail::indices_before(state, count);
  }

  static constexpr bool tells_bounds = true;
  template <class... What, std::size_t Rank>
  static void widen(mpi_state& state, bool is_empty, md_index<Rank>& lower, md_index<Rank>& upper) {
    detail::widen_bounds(state, name_of<tuple<reducers_without_g<What>...>>(), is_empty, lower.at, upper.at);
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
/// before (a null destination) must be alike on all ranks, or the others wait. Throws mpi_error for what MPI says;
/// where a reducer's join throws, all get rank_error. The async form begins the exchange, or, of a part on a device, a
/// later call over the communicator does, its ready() and get() among them; exchanges begin in the order of the calls.
/// get() waits for the other ranks, which need not call theirs yet where they have begun. (So where parts are on
/// devices nothing but Fanin's calls may wait for another rank's get(); nor of more than gather_up_to ranks, where
/// messages go on from group to group only while the groups' first ranks are inside of Fanin's calls.) The pending may
/// outlive the communicator and the object; the communicator outlives what over() gives.
template <detail::range_for_ranks Range>
auto over(const mpi& comm, const Range& range) {
  if constexpr (detail::go_over_ranks<Range>()) return ranks_policy<detail::over_mpi, Range>(state_of(comm), range);
}

/// The same of data: reduce(exec, over(comm, xs), reducers...), transform_reduce(exec, over(comm, xs), over(comm, ys),
/// f, reducers...), their _into and _async forms, exact_dot and exact_norm2_squared. xs is an array or a view of the
/// backend's memory, of any length on each rank; of several arrays those of a rank have one shape, and all go over one
/// communicator. Indices count from `first`, which all ranks give or none, of several arrays for one of them or alike,
/// or, without it, from the number of elements that the ranks before this one have, which ranks tell each other where a
/// reducer folds indices; in 2 dimensions and more they count in the order of C's arrays, and built-in reducers that
/// tell a place are refused. A part that is no array, or whose last index is 2^63 - 1 or more, throws invalid_argument,
/// as a part does. The elements outlive the call, and of an _async form on a device get(); a view itself is copied. On
/// fanin::cuda a unit that no CUDA compiler reads has what is precompiled, but for reducers that fold indices.
template <detail::array X>
auto over(const mpi& comm, const X& xs, std::optional<std::int64_t> first = {}) {
  const auto elements = [&] { return detail::elements_for_ranks(xs); };
  return ranks_data<detail::over_mpi, decltype(elements())>(state_of(comm), elements, first);
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
