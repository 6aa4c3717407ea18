// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/device/grid_order.cuh>

namespace fanin::detail {

/// The grid is one block, whose result is the result: no workspace, and a kernel of little code. In the watching
/// block's place where there are few elements; Strategy is alone<...> of that one.
template <class Strategy, class Composite>
struct lone_block {
  using result_type = typename Composite::result_type;
  struct workspace {
    static constexpr int chunks = 1;
  };
  static constexpr std::int64_t most_elements = std::int64_t{1} << 24;

  // --- On the device
  const cuda_destination<result_type>& destination;

  __device__ lone_block(const workspace&, const cuda_destination<result_type>& to,
                        const block_memory<Strategy, Composite>&)
      : destination{to} {
    wait_for_grid_before();
  }

  template <class Partial, class Source>
  __device__ void finish(const Partial& partial, const Source&) const {
    if (threadIdx.x == 0) destination.deliver(partial.result());
  }

  // --- On the host
  template <class Source>
  static bool takes(const cuda_plan& plan, const Source& source) {
    return plan.launch.grid_size == 1 && source.count <= most_elements;
  }
  /// As planned for the watching block.
  template <class Source>
  static void enqueue(cuda_session& session, const cuda_plan& plan, const Source& source, const Composite& c,
                      const cuda_destination<result_type>& destination) {
    detail::launch_reduce<Strategy>(session, plan, source, c, {}, destination);
    session.record(plan.launch);
  }
};

}  // namespace fanin::detail
