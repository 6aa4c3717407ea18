// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <fanin/cuda/functor.hpp>
#include <fanin/cuda/launch.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/ranks.hpp>
#include <fanin/detail/ranks_many.hpp>
#include <fanin/detail/ranks_rows.hpp>
#include <fanin/device/kernel_pointer.cuh>
#include <fanin/execution.hpp>
#include <fanin/nccl/exchange.hpp>
#include <fanin/nccl/join.cuh>
#include <fanin/nccl/message.hpp>
#include <fanin/nccl/step.cuh>
#include <fanin/pending.hpp>

/// Calls with many results over NCCL's ranks: all of it in the stream's order. Every rank gets all ranks' parts, by
/// NCCL's kernels, and joins them.
namespace fanin::detail {

/// A thread for each result, from the first rank to the last.
template <class Composite, class Put, class Left>
__global__ void __launch_bounds__(for_block_size)
    join_many_kernel(const Composite all, const Put put, const Left left, const unsigned char* messages,
                     std::size_t bytes, int count, std::int64_t results, std::uint64_t* failures) {
  using plain_type = typename Composite::plain_type;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (detail::has_failed_part(messages, bytes, count)) {  // nothing of the user's is called
    if (thread == 0 && failures != nullptr) *static_cast<volatile std::uint64_t*>(failures) = part_failed;
    return;
  }
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t at = thread; at < results; at += threads) {
    const auto of_rank = [&](int rank) {
      return detail::accumulators_of<plain_type>(messages + static_cast<std::size_t>(rank) * bytes, at);
    };
    const auto one = all.at(left.index_of(at));
    auto joined = of_rank(0);
    for (int rank = 1; rank < count; ++rank) one.join(joined, of_rank(rank));
    put.put(at, one.result(joined));
  }
}

/// Says that all of it is done, or that there are no results.
template <class Nothing>
__global__ void __launch_bounds__(32) answer_many_kernel(const unsigned char* messages, std::size_t bytes, int count,
                                                         const nccl_destination<Nothing> destination) {
  if (threadIdx.x != 0) return;
  __threadfence_system();  // so that the host, who sees the answer, sees the results, too
  if (detail::has_failed_part(messages, bytes, count)) {
    destination.refuse(part_failed);
  } else {
    destination.deliver({});
  }
}

/// See detail/ranks_many.hpp.
template <class Exec>
class many_over_nccl : nccl_step<Exec> {
 public:
  using handle_type = typename backend<Exec>::handle_type;

  template <class Composite>
  many_over_nccl(nccl_state& state, const handle_type& handle, const char* name, const char* label,
                 std::type_identity<Composite>, std::int64_t results, bool has_first)
      : nccl_step<Exec>{state, handle, name}, results_{results} {
    this->compare(detail::rank_call_of_many<Composite>(name, label, has_first, results));
  }

  void check_alone() const {}

  template <class Put, class Left, class Part, class Composite>
  void into(const Put& put, const Left& left, const Part& part, const Composite& all) const {
    std::exception_ptr failure;
    exchange(cuda_session::mode::ordered, put, left, part, all, std::nullopt, failure);
    if (failure != nullptr) std::rethrow_exception(failure);
  }
  template <class Put, class Left, class Part, class Composite>
  pending<void> later(const Put& put, const Left& left, const Part& part, const Composite& all) const {
    cuda_pending made = this->in_step(
        [&] { return cuda_calls::place_for(handle_, mailbox_words(sizeof(nccl_answer<no_result>)), name_); });
    std::exception_ptr failure;
    exchange(cuda_session::mode::blocking, put, left, part, all,
             nccl_destination<no_result>{nullptr, nullptr, {nullptr, made.mailbox}}, failure);
    return pending<void>(pending_handle(new pending_of_nccl<no_result>(detail::share(state_),
                                                                       detail::watched(state_, std::move(made.slot)),
                                                                       std::move(failure), "fanin::pending::get")));
  }

 private:
  using nccl_step<Exec>::state_;
  using nccl_step<Exec>::handle_;
  using nccl_step<Exec>::name_;

  /// A part that fails is a message that says so.
  template <class Put, class Left, class Part, class Composite>
  void exchange(cuda_session::mode how, const Put& put, const Left& left, const Part& part, const Composite& all,
                const std::optional<nccl_destination<no_result>>& answer, std::exception_ptr& failure) const {
    using message = nccl_message<typename Composite::plain_type>;
    if constexpr (Composite::is_finished) check_device_functor<typename Composite::finish_type>();
    const std::size_t bytes = message::bytes_of(static_cast<std::size_t>(results_));
    const auto of_call = this->take_room(how, bytes, detail::ranks_of(state_));
    try {
      detail::check_put<Exec>(handle_, put, name_);
      part.into_room(reinterpret_cast<typename message::value_type*>(of_call.own + message::offset),
                     detail::reducers_of_part(all.plain()));
    } catch (...) {
      failure = std::current_exception();
    }
    std::optional<cuda_session> session;
    this->send(session, of_call, bytes, failure != nullptr, false);
    std::uint64_t* failures = failure == nullptr && !answer ? detail::failures_of(state_) : nullptr;
    int count = detail::ranks_of(state_);
    std::int64_t results = results_;
    void* arguments[] = {
        detail::argument(all), detail::argument(put), detail::argument(left), detail::argument(of_call.all),
        argument(bytes),       argument(count),       argument(results),      argument(failures)};
    cuda_launch launch;
    launch.strategy = "join_many";
    launch.grid_size = for_grid(results, session->multiprocessors() * for_blocks_per_sm);
    launch.block_size = for_block_size;
    session->launch(detail::kernel_pointer(&join_many_kernel<Composite, Put, Left>), launch, arguments, {});
    if (answer) {
      void* of_answer[] = {detail::argument(of_call.all), argument(bytes), argument(count), argument(*answer)};
      detail::launch_warp(*session, kernel_pointer(&answer_many_kernel<no_result>), "answer_many", of_answer);
    }
  }

  std::int64_t results_;
};

}  // namespace fanin::detail
