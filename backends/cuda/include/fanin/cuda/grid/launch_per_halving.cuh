// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fanin/cuda/enqueue.cuh>

namespace fanin::detail {

/// The first launch: value i becomes element i and element i + half.
template <class Source, class Composite>
__global__ void __launch_bounds__(1024)
    halve_source_kernel(const Source source, const Composite c, typename Composite::accumulator_type* values,
                        std::int64_t half, const cuda_destination<typename Composite::result_type> destination) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= half && i != 0) return;
  values[i] = c.identity();
  auto state = c.begin(values[i]);
  if (i < source.count) source.accumulate(c, state, i);
  if (i + half < source.count) source.accumulate(c, state, i + half);
  c.finish(state, values[i]);
  if (half <= 1) destination.deliver(c.result(values[i]));
}

/// The later launches: value i + half is joined to value i.
template <class Composite>
__global__ void __launch_bounds__(1024)
    halve_values_kernel(const Composite c, typename Composite::accumulator_type* values, std::int64_t count,
                        std::int64_t half, const cuda_destination<typename Composite::result_type> destination) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= half) return;
  if (i + half < count) c.join(values[i], values[i + half]);
  if (half == 1) destination.deliver(c.result(values[i]));
}

/// One launch for each halving of the array; the first reads the elements and writes the workspace. No block combines
/// anything, and reduce_kernel has no part in it.
template <class Strategy, class Composite>
struct launch_per_halving : delivering_stage<launch_per_halving<Strategy, Composite>, Composite> {
  using accumulator = typename Composite::accumulator_type;
  using result_type = typename Composite::result_type;
  using workspace = cuda_workspace<workspace_memory>;

  template <class Source>
  static void enqueue(cuda_session& session, const cuda_tuning& tuning, const Source& source, const Composite& c,
                      const cuda_destination<result_type>& destination) {
    const void* const kernel = detail::kernel_pointer(&halve_source_kernel<Source, Composite>);
    cuda_plan plan = detail::make_plan<Strategy, Composite>(session, tuning, kernel, source, false);
    const auto blocks_for = [&](std::int64_t count) {
      return static_cast<int>((std::max<std::int64_t>(count, 1) - 1) / plan.launch.block_size + 1);
    };
    std::int64_t half = source.count - source.count / 2;
    const workspace_memory workspace = session.workspace(
        cuda_session::partials::plain, static_cast<std::size_t>(std::max<std::int64_t>(half, 1)) * sizeof(accumulator));
    auto* const values = static_cast<accumulator*>(workspace.partials);
    plan.launch.grid_size = blocks_for(half);
    void* arguments[] = {detail::argument(source), detail::argument(c), detail::argument(values), argument(half),
                         detail::argument(destination)};
    session.launch(kernel, plan.launch, arguments, {});

    cuda_launch pass = plan.launch;
    for (std::int64_t count = half; count > 1; count = half) {
      half = count - count / 2;
      pass.grid_size = blocks_for(half);
      void* pass_arguments[] = {detail::argument(c), detail::argument(values), argument(count), argument(half),
                                detail::argument(destination)};
      session.launch(detail::kernel_pointer(&halve_values_kernel<Composite>), pass, pass_arguments, {});
      ++plan.launch.launches;
    }
    session.record(plan.launch);
  }
};

}  // namespace fanin::detail
