// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <fanin/cuda/cuda.hpp>
#include <fanin/detail/array.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/ranks.hpp>
#include <fanin/detail/ranks_call.hpp>
#include <fanin/detail/ranks_data.hpp>
#include <fanin/detail/ranks_many.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/nccl/exchange.hpp>
#include <fanin/nccl/message.hpp>
#include <fanin/nccl/nccl.hpp>
#include <fanin/pending.hpp>
#if defined(__CUDACC__)
#include <fanin/nccl/join.cuh>
#include <fanin/nccl/many.cuh>
#include <fanin/nccl/peers.cuh>
#include <fanin/nccl/step.cuh>
#endif

namespace fanin {

namespace detail {

#if defined(__CUDACC__)

/// A part's result, whose bytes are another one's.
template <class Answer>
class slot_of_pending final : public pending_slot {
 public:
  explicit slot_of_pending(pending<Answer> answer) : answer_{std::move(answer)} {}

  bool is_ready() noexcept override { return answer_.ready(); }
  void take(void* to, std::size_t bytes) override {
    const Answer answer = answer_.get();
    std::memcpy(to, &answer, bytes);
  }
  void release() noexcept override { delete this; }

 private:
  pending<Answer> answer_;
};

/// A call over NCCL's ranks: all of it in the stream's order.
template <class Exec, class Composite>
class call_over_nccl : nccl_step<Exec> {
 public:
  using plain_type = typename Composite::plain_type;
  using message = nccl_message<plain_type>;
  using result_type = typename Composite::result_type;
  using handle_type = typename backend<Exec>::handle_type;

  call_over_nccl(nccl_state& state, const handle_type& handle, const char* name, const char* label, const Composite& c,
                 bool has_first)
      : nccl_step<Exec>{state, handle, name}, composite_{c} {
    this->compare(detail::rank_call_of<Composite>(name, label, has_first));
  }

  template <class Part>
  result_type now(const Part& part) const {
    if (!detail::exchanges(state_)) return part.now(composite_);
    return by_ranks(part, name_).get();
  }
  template <class Part>
  void into(result_type* out, const Part& part) const {
    const auto check_destination = [&] {
      backend<Exec>::check_memory(handle_, out, (std::string(name_) + ": the destination").c_str());
    };
    if (!detail::exchanges(state_)) {
      check_destination();
      return part.into(out, composite_);
    }
    const nccl_destination<result_type> destination{out, detail::failures_of(state_), {}};
    std::exception_ptr failure;
    if (is_one_launch()) {
      launch_once(cuda_session::mode::ordered, destination, failure, [&](const auto& c) {
        check_destination();
        part.into(take_answer(), c);
      });
    } else {
      const room of_call = this->take_room(cuda_session::mode::ordered, message::bytes, messages());
      enqueue(of_call, part, check_destination, destination, failure);
    }
    if (failure != nullptr) std::rethrow_exception(failure);
  }
  template <class Part>
  pending<result_type> later(const Part& part) const {
    if (!detail::exchanges(state_)) return part.later(composite_);
    return by_ranks(part, "fanin::pending::get");
  }

 private:
  using nccl_step<Exec>::state_;
  using nccl_step<Exec>::handle_;
  using nccl_step<Exec>::name_;
  using nccl_step<Exec>::in_step;
  using typename nccl_step<Exec>::room;
  using exchange_type = exchange_of_peers<Composite>;
  using answer_type = peer_answer<result_type>;

  template <class Part>
  pending<result_type> by_ranks(const Part& part, const char* waits) const {
    std::exception_ptr failure;
    pending_handle slot = is_one_launch() ? in_one_launch(part, failure) : exchanged(part, failure);
    return pending<result_type>(pending_handle(new pending_of_nccl<result_type>(
        detail::share(state_), detail::watched(state_, std::move(slot)), std::move(failure), waits)));
  }
  template <class Part>
  pending_handle exchanged(const Part& part, std::exception_ptr& failure) const {
    const room of_call = this->take_room(cuda_session::mode::blocking, message::bytes, messages());
    cuda_pending made =
        in_step([&] { return cuda_calls::place_for(handle_, mailbox_words(sizeof(nccl_answer<result_type>)), name_); });
    enqueue(of_call, part, [] {}, nccl_destination<result_type>{nullptr, nullptr, {nullptr, made.mailbox}}, failure);
    return std::move(made.slot);
  }

  // --- Where ranks reach each other's memory

  bool is_one_launch() const { return peer_message<plain_type>::fits && detail::peers_of(state_).memory != nullptr; }
  template <class Part>
  pending_handle in_one_launch(const Part& part, std::exception_ptr& failure) const {
    pending<answer_type> answer;
    launch_once(cuda_session::mode::blocking, {}, failure, [&](const auto& c) { answer = part.later(c); });
    if (failure != nullptr) answer = pending<answer_type>(failure);
    return pending_handle(new slot_of_pending<answer_type>(std::move(answer)));
  }
  /// Device memory that nobody reads, for what the part's launch gives.
  answer_type* take_answer() const {
    constexpr std::size_t offset = alignof(answer_type) > 16 ? alignof(answer_type) : 16;  // behind what stays 0
    cuda_session session(handle_, nullptr, cuda_session::mode::ordered, name_);
    const auto memory = session.workspace(cuda_session::partials::of_ranks, offset + sizeof(answer_type));
    return reinterpret_cast<answer_type*>(static_cast<unsigned char*>(memory.partials) + offset);
  }
  /// A part that fails, or has no memory, is a message that says so.
  template <class Launch>
  void launch_once(cuda_session::mode how, const nccl_destination<result_type>& destination,
                   std::exception_ptr& failure, const Launch& launch) const {
    exchange_type exchange{composite_, detail::peers_of(state_), destination};
    in_step([&] {
      const cuda_session session(handle_, nullptr, how, name_);
      detail::check_nccl_call(state_, session.device(), name_);
      detail::come_behind_others(state_, handle_, session.stream(), session.is_capturing());
    });
    try {
      launch(detail::finished_part(exchange, peer_message<plain_type>::reducers_of_part(composite_.plain())));
    } catch (...) {
      failure = std::current_exception();
      exchange.destination = {};  // this rank throws
      in_step([&] {
        cuda_session session(handle_, nullptr, cuda_session::mode::ordered, name_);
        detail::launch_failure(session, exchange);
      });
    }
  }

  // --- By NCCL's own kernels

  /// A part that fails is a message that says so.
  template <class Part, class Check>
  void enqueue(const room& of_call, const Part& part, const Check& check, nccl_destination<result_type> destination,
               std::exception_ptr& failure) const {
    try {
      check();
      part.into(reinterpret_cast<typename message::value_type*>(of_call.own + message::offset),
                detail::reducers_of_part(composite_.plain()));
    } catch (...) {
      failure = std::current_exception();
      destination.failures = nullptr;  // this rank throws
    }
    std::optional<cuda_session> session;
    this->send(session, of_call, message::bytes, failure != nullptr, message::is_sum);
    detail::launch_join(*session, composite_, of_call.all, messages(), destination);
  }
  int messages() const { return message::is_sum ? 1 : detail::ranks_of(state_); }

  Composite composite_;
};

#else

/// In units that no CUDA compiler reads, which checked<Exec> refuses.
template <class Exec, class Composite>
class call_over_nccl;
template <class Exec>
class many_over_nccl;

#endif

template <class Exec>
inline constexpr bool is_cuda_object = false;
template <>
inline constexpr bool is_cuda_object<cuda> = true;
template <class Strategy>
inline constexpr bool is_cuda_object<cuda_view<Strategy>> = true;

template <class Exec>
struct check_for_nccl {
  static_assert(is_cuda_object<Exec>,
                "fanin: NCCL's ranks have their parts on fanin::cuda: over(mpi, ...) takes parts on other backends");
#if !defined(__CUDACC__)
  static_assert(dependent_false<Exec>,
                "fanin: calls over NCCL's ranks need a CUDA compiler: give this file's target the CMake function "
                "fanin_target(<target>)");
#endif
  using type = Exec;
};

/// By NCCL, between devices.
struct over_nccl {
  using state_type = nccl_state;
  template <class Exec>
  using checked = typename check_for_nccl<Exec>::type;
  template <class Exec, class Composite>
  using call = call_over_nccl<Exec, Composite>;

  template <class Exec>
  using many_call = many_over_nccl<Exec>;
  static bool exchanges(const nccl_state& state) { return detail::exchanges(state); }

  static std::int64_t first_of(nccl_state& state, const char* name, std::int64_t, std::optional<std::int64_t> first) {
    if (!first && detail::exchanges(state)) {
      throw invalid_argument(std::string(name) +
                             " over NCCL's ranks: a reducer asks for indices; give the index of this rank's first "
                             "element, over(comm, xs, first), which ranks do not tell each other here");
    }
    return first.value_or(0);
  }

  static constexpr bool tells_bounds = false;
};

}  // namespace detail

/// Reduces a range over all ranks of an NCCL communicator: each gives its part, range(gpu, first, last) or
/// md_range(gpu, {lower...}, {upper...}) with the indices of the whole, and gets the whole's result. Parts may be
/// empty. For parallel_reduce, its _into and _async forms, and every reducer; _loc reducers, over ranges of one
/// dimension, give the indices of the whole, of equals the least; over an md_range a reducer of one's own gets the
/// number in the rank's part. finished(g, ...) calls g once on each rank, on the
/// device. In units that a CUDA compiler reads. Collective: all ranks make the same calls in the same order, also those
/// whose part is empty.
///
/// All of it is in the order of the object's stream: one launch where ranks reach each other's memory
/// (nccl::is_one_launch()), elsewhere the part, NCCL's exchange, and a small kernel that joins what came and makes the
/// result. The _into form waits for nothing (unless calls are compared: nccl_options::check_calls) and may be captured
/// into a graph, which all ranks launch; a replay exchanges anew, and must not run while other calls over the
/// communicator do. The blocking and the _async form are refused on a stream that is being captured, on all ranks or
/// the others wait. Objects with streams of their own take turns. A host waits no longer than nccl_options::patience
/// says, nor does a call of one launch.
///
/// Accumulators are joined in the order of the ranks: the same bits from run to run for the same number of ranks and
/// parts, on all ranks. By NCCL's kernels, exact sums alone travel as words that NCCL adds up; in one launch as between
/// blocks. Either way the same bits for every number of ranks, split and backend, and as over(mpi, ...) gives. Up to
/// 2^31 - 1 ranks and 2^63 elements.
///
/// A rank whose part is refused (an array it does not reach) takes part all the same: it throws that, the others
/// rank_error, of an _async form from get(); of an _into form their destination stays as it was, and comm.check() says
/// so. What kernels do wrong ends the context, and the others' patience. Objects of another device than the
/// communicator's are invalid_argument. The communicator outlives what over() gives.
///
/// Of a range of many results (rows, columns, axes<...>, segments) all ranks have as many, with the same indices, and
/// each a part of every result's elements. For parallel_reduce_into, which may be captured, and
/// parallel_reduce_async(out, ...). By NCCL's kernels: every rank gets all ranks' accumulators, in workspace, and joins
/// them. `_loc` reducers reduce one axis, whose indices are those of the whole.
template <detail::range_for_ranks Range>
auto over(const nccl& comm, const Range& range) {
  if constexpr (detail::go_over_ranks<Range>()) {
    return ranks_policy<detail::over_nccl, Range>(state_of(comm), range);
  }
}

/// The same of data: reduce(gpu, over(comm, xs), reducers...), transform_reduce(gpu, over(comm, xs), over(comm, ys), f,
/// reducers...), their _into and _async forms, exact_dot, exact_norm2_squared and their _into forms. xs is an array or
/// a view of device memory, of any length on each rank. Where a reducer folds indices, of arrays of one dimension, they
/// count from `first`, which then all ranks give. The elements live until the work is done; a view itself is copied.
template <detail::array X>
auto over(const nccl& comm, const X& xs, detail::first_index first = {}) {
  const auto elements = [&] { return detail::elements_for_ranks(xs); };
  return ranks_data<detail::over_nccl, decltype(elements())>(state_of(comm), elements, first.value);
}
/// The same of data that give many results: reduce_into(out, gpu, over(comm, columns(xs)), reducers...), and
/// reduce_async, of rows(xs), columns(xs), axes<...>(xs) and segments(xs, offsets). Where a reducer folds indices, they
/// count from `first`, which then all ranks give.
template <detail::data_of_many Data>
auto over(const nccl& comm, const Data& data, detail::first_index first = {}) {
  return ranks_many_data<detail::over_nccl, Data>(state_of(comm), data, first.value);
}

/// What is no index is refused in words.
template <class Data, detail::no_first First>
void over(const nccl&, const Data&, const First&) {
  detail::refuse_first<First>();
}

}  // namespace fanin

#if !FANIN_DETAIL_REFUSES_EXACT_SUMS
#include <fanin/nccl/exact.hpp>
#endif
