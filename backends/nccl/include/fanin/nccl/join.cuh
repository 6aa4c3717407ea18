// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <fanin/cuda/destination.cuh>
#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/functor.hpp>
#include <fanin/cuda/session.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/device/kernel_pointer.cuh>
#include <fanin/nccl/exchange.hpp>
#include <fanin/nccl/message.hpp>

/// The end of a call over NCCL's ranks: what came is joined, and becomes the result.
namespace fanin::detail {

/// A result, and no zero where a rank failed.
template <class Result>
struct nccl_answer {
  Result result;
  std::uint64_t failed;
};

/// Device memory, with memory of the host where it is told, unless it is known, that nothing was written; or a mailbox.
template <class Result>
struct nccl_destination {
  Result* out;
  std::uint64_t* failures;
  cuda_destination<nccl_answer<Result>> answer;

  __device__ void deliver(const Result& result) const {
    if (out == nullptr) {
      answer.deliver({result, 0});
    } else {
      *out = result;
    }
  }
  /// There is no result.
  __device__ void refuse(std::uint64_t failed) const {
    if (out == nullptr) {
      alignas(nccl_answer<Result>) unsigned char bytes[sizeof(nccl_answer<Result>)] = {};
      auto& none = *reinterpret_cast<nccl_answer<Result>*>(bytes);
      none.failed = failed;
      answer.deliver(none);
    } else if (failures != nullptr) {
      *static_cast<volatile std::uint64_t*>(failures) = failed;
    }
  }
};

/// Whether a rank's part failed, as messages say that lie so far from each other.
__device__ inline bool has_failed_part(const unsigned char* messages, std::size_t bytes, int count) {
  std::uint64_t failed = 0;
  for (int rank = 0; rank < count; ++rank) {
    failed |= *reinterpret_cast<const std::uint64_t*>(messages + static_cast<std::size_t>(rank) * bytes);
  }
  return failed != 0;
}

/// Of one result of a rank's message.
template <class Plain>
__device__ typename Plain::accumulator_type accumulators_of(const unsigned char* message, std::int64_t at = 0) {
  using value_type = typename nccl_message<Plain>::value_type;
  const auto& value = reinterpret_cast<const value_type*>(message + nccl_message<Plain>::offset)[at];
  if constexpr (Plain::size == 1) {
    return {{{value}}};
  } else {
    return value;
  }
}

/// By one thread, from the first rank to the last.
template <class Composite>
__global__ void __launch_bounds__(32)
    join_ranks_kernel(const Composite c, const unsigned char* messages, int count,
                      const nccl_destination<typename Composite::result_type> destination) {
  using plain_type = typename Composite::plain_type;
  using message = nccl_message<plain_type>;
  if (threadIdx.x != 0) return;
  if (detail::has_failed_part(messages, message::bytes, count)) {  // nothing of the user's is called
    return destination.refuse(part_failed);
  }
  const auto of_rank = [&](int rank) {
    return detail::accumulators_of<plain_type>(messages + static_cast<std::size_t>(rank) * message::bytes);
  };
  typename plain_type::accumulator_type joined = message::is_sum ? c.identity() : of_rank(0);
  for (int rank = message::is_sum ? 0 : 1; rank < count; ++rank) c.join(joined, of_rank(rank));
  destination.deliver(c.result(joined));
}

/// A kernel of one warp in the session's stream.
inline void launch_warp(cuda_session& session, const void* kernel, const char* name, void** arguments) {
  cuda_launch launch;
  launch.strategy = name;
  launch.grid_size = 1;
  launch.block_size = 32;
  session.launch(kernel, launch, arguments, {});
}

template <class Composite>
void launch_join(cuda_session& session, const Composite& c, const unsigned char* messages, int count,
                 const nccl_destination<typename Composite::result_type>& destination) {
  if constexpr (Composite::is_finished) check_device_functor<typename Composite::finish_type>();
  void* arguments[] = {detail::argument(c), argument(messages), argument(count), detail::argument(destination)};
  detail::launch_warp(session, detail::kernel_pointer(&join_ranks_kernel<Composite>), "join_ranks", arguments);
}

}  // namespace fanin::detail
