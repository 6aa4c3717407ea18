// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fanin/cuda/destination.cuh>
#include <fanin/cuda/plan.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/workspace.cuh>
#include <fanin/device/kernel_pointer.cuh>

/// What the host halves of the grid stages share.
namespace fanin::detail {

template <class T>
void* argument(const T& value) {
  return const_cast<void*>(static_cast<const void*>(&value));
}

constexpr std::size_t round_up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// Room for so many tagged units, and for nothing else: the one way to memory of that kind.
inline watched_memory units_memory(cuda_session& session, std::size_t units) {
  const workspace_memory room =
      session.workspace(cuda_session::partials::tagged, round_up(units * sizeof(tagged_unit)));
  return {static_cast<tagged_unit*>(room.partials), room.partial_bytes, room.counter};
}

/// One launch of reduce_kernel, as planned, maybe for another strategy's.
template <class Strategy, class Source, class Composite>
void launch_reduce(cuda_session& session, const cuda_plan& plan, const Source& source, const Composite& c,
                   const workspace_of<Strategy, Composite>& work,
                   const cuda_destination<typename Composite::result_type>& destination) {
  void* arguments[] = {detail::argument(source), detail::argument(c), detail::argument(work),
                       detail::argument(destination)};
  session.launch(detail::kernel_pointer(&reduce_kernel<Strategy, Source, Composite>), plan.launch, arguments,
                 plan.options);
}

/// Bytes for one accumulator a thread, where the block stage combines in global memory.
template <class Strategy, class Accumulator>
std::size_t bytes_of_threads(const cuda_plan& plan) {
  if (Strategy::recipe.memory != cuda_stage::memory::global) return 0;
  return static_cast<std::size_t>(plan.largest_grid) * static_cast<std::size_t>(plan.launch.block_size) *
         sizeof(Accumulator);
}

/// Gives a workspace of plain values room for so many partial results, and for what bytes_of_threads says.
template <class Strategy, class Accumulator>
void allocate_plain(cuda_session& session, const cuda_plan& plan, cuda_workspace<workspace_memory>& work,
                    std::size_t partials) {
  const std::size_t bytes = round_up(partials * sizeof(Accumulator));
  work.memory =
      session.workspace(cuda_session::partials::plain, bytes + detail::bytes_of_threads<Strategy, Accumulator>(plan));
  work.values = static_cast<unsigned char*>(work.memory.partials) + bytes;
  work.chunks = plan.chunks;
}

/// The first value of T in a mailbox's payload, or another.
template <class T>
T from_payload(const std::uint32_t* payload, int index = 0) {
  T value;
  std::memcpy(static_cast<void*>(&value), payload + index * mailbox_words(sizeof(T)), sizeof(T));
  return value;
}

/// A grid stage whose launches deliver the result: its blocking call is enqueue() with a mailbox as the destination,
/// and the wait for that.
template <class Stage, class Composite>
struct delivering_stage {
  template <class Source>
  static typename Composite::result_type reduce(cuda_session& session, const cuda_tuning& tuning, const Source& source,
                                                const Composite& c) {
    using result_type = typename Composite::result_type;
    constexpr int words = mailbox_words(sizeof(result_type));
    const cuda_mailbox mailbox = session.mailbox(words);
    Stage::enqueue(session, tuning, source, c, {nullptr, mailbox});
    std::uint32_t payload[words];
    session.wait(mailbox, payload, words);
    return detail::from_payload<result_type>(payload);
  }
};

}  // namespace fanin::detail
