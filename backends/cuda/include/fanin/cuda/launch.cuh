// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <fanin/cuda/kernel.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/error.hpp>

namespace fanin::detail {

/// Blocks and threads of a launch.
struct cuda_plan {
  cuda_launch launch;
  int largest_grid = 1;  ///< what scratch is sized for, so that it does not grow with n
  bool starts_early = false;
};

/// What the device says of one kernel, asked once per device and block size.
template <class Kernel>
cuda_kernel_facts facts_of(Kernel* kernel, int device, int block_size, std::size_t shared_bytes) {
  constexpr int devices = 64;
  static std::atomic<std::uint64_t> known[devices];  // block size, blocks, early start: 32, 16 and 16 bits
  const auto key = static_cast<std::uint64_t>(block_size);
  const bool cacheable = device >= 0 && device < devices;
  if (cacheable) {
    const std::uint64_t value = known[device].load(std::memory_order_relaxed);
    if (value >> 32 == key) return {static_cast<int>(value >> 16 & 0xffffu), (value & 1u) != 0};
  }
  const cuda_kernel_facts facts = kernel_facts(reinterpret_cast<const void*>(kernel), device, block_size, shared_bytes);
  if (cacheable) {
    known[device].store(key << 32 | static_cast<std::uint64_t>(facts.resident_blocks) << 16 |
                            static_cast<std::uint64_t>(facts.starts_early),
                        std::memory_order_relaxed);
  }
  return facts;
}

/// The work that a thread can take on its own: a vector or an element.
template <class Strategy, class Source>
std::int64_t units_of(const Source& source) {
  if constexpr (Source::has_vectors && Strategy::recipe.thread == cuda_stage::thread::vectorised) {
    return std::max<std::int64_t>(source.vectors(), 1);
  } else {
    return std::max<std::int64_t>(source.count, 1);
  }
}

/// How many of them a thread has in flight.
template <class Strategy, class Source>
inline constexpr int units_in_flight = Source::has_vectors ? Strategy::recipe.loads : Strategy::recipe.elements;

template <class Strategy, class Composite, class Kernel, class Source>
cuda_plan make_plan(const cuda_session& session, const cuda_tuning& tuning, Kernel* kernel, const Source& source) {
  constexpr cuda_recipe recipe = Strategy::recipe;
  constexpr bool through_slots = goes_through_slots(Composite::largest_accumulator);
  constexpr std::size_t accumulator_bytes = sizeof(typename Composite::accumulator_type);
  constexpr std::size_t shared_budget = 32 * 1024;
  constexpr int slots_block_size = 128;

  cuda_plan plan{};
  cuda_launch& launch = plan.launch;
  launch.strategy = Strategy::name;
  launch.block_size = tuning.block_size != 0 ? tuning.block_size : recipe.block_size;
  const auto shared_bytes = [&] {
    return dynamic_shared_bytes(recipe, launch.block_size, accumulator_bytes, through_slots);
  };
  if (tuning.block_size == 0) {
    if (through_slots) launch.block_size = std::min(launch.block_size, slots_block_size);
    while (shared_bytes() > shared_budget && launch.block_size > 32)
      launch.block_size = launch.block_size / 64 * 32;
  }
  launch.shared_bytes = shared_bytes();
  constexpr std::size_t shared_limit = 48 * 1024;
  const cuda_kernel_facts facts = launch.shared_bytes > shared_limit
                                      ? cuda_kernel_facts{}
                                      : facts_of(kernel, session.device(), launch.block_size, launch.shared_bytes);
  const int resident = facts.resident_blocks;
  plan.starts_early = facts.starts_early && recipe.grid == cuda_stage::grid::watching_block;
  if (resident == 0) {
    throw invalid_argument(std::string("fanin: strategy ") + Strategy::name + " cannot launch blocks of " +
                           std::to_string(launch.block_size) + " threads for accumulators of " +
                           std::to_string(accumulator_bytes) + " bytes; ask for a smaller block_size");
  }
  const auto grid_of = [&](int blocks_per_sm) {
    return std::max(1, session.multiprocessors() * std::min(blocks_per_sm, resident));
  };
  const int blocks_per_sm = tuning.blocks_per_sm != 0 ? tuning.blocks_per_sm : recipe.blocks_per_sm;
  plan.largest_grid = grid_of(blocks_per_sm);
  if (tuning.grid_size != 0) {
    launch.grid_size = tuning.grid_size;
    plan.largest_grid = std::max(plan.largest_grid, launch.grid_size);
    return plan;
  }
  const std::int64_t units = units_of<Strategy>(source);
  const std::int64_t threads_of_block = launch.block_size;
  launch.grid_size = static_cast<int>(std::min<std::int64_t>((units - 1) / threads_of_block + 1, plan.largest_grid));
  if (tuning == cuda_tuning{} && recipe.thread == cuda_stage::thread::vectorised) {
    const std::int64_t round_of_block = threads_of_block * units_in_flight<Strategy, Source>;
    if (units <= recipe.rounds_of_one_block * round_of_block) {
      launch.grid_size = 1;
    } else if (units < recipe.rounds_of_full_grid * round_of_block * plan.largest_grid) {
      launch.grid_size = std::min(launch.grid_size, grid_of(std::min(2, blocks_per_sm)));
    }
  }
  return plan;
}

/// Launches the strategy's kernel; gives where the blocks' partial results lie.
template <class Strategy, class Source, class Composite>
const void* enqueue(cuda_session& session, const cuda_plan& plan, const Source& source, const Composite& c,
                    const cuda_destination<typename Composite::result_type>& destination) {
  using accumulator = typename Composite::accumulator_type;
  constexpr bool tagged = is_watched<Strategy, Composite>;
  constexpr std::size_t bytes_of_block =
      tagged ? tagged_units(sizeof(accumulator)) * sizeof(tagged_unit) : sizeof(accumulator);
  const cuda_scratch scratch = session.scratch(tagged ? cuda_session::partials::tagged : cuda_session::partials::plain,
                                               static_cast<std::size_t>(plan.largest_grid) * bytes_of_block);
  void* arguments[] = {const_cast<Source*>(&source), const_cast<Composite*>(&c), const_cast<cuda_scratch*>(&scratch),
                       const_cast<cuda_destination<typename Composite::result_type>*>(&destination)};
  session.launch(reinterpret_cast<const void*>(&reduce_kernel<Strategy, Source, Composite>), plan.launch, arguments,
                 plan.starts_early);
  return scratch.partials;
}

/// Reduces and waits for the value.
template <class Strategy, class Source, class Composite>
typename Composite::result_type reduce_blocking(const cuda_handle& handle, const char* label, const Source& source,
                                                const Composite& c) {
  using result = typename Composite::result_type;
  cuda_session session(handle, label, cuda_session::mode::blocking, "fanin::parallel_reduce");
  if (source.count == 0) {
    session.record({Strategy::name, 0, 0, 0});
    return c.result(c.identity());
  }
  const cuda_plan plan =
      make_plan<Strategy, Composite>(session, handle.tuning, &reduce_kernel<Strategy, Source, Composite>, source);
  if constexpr (Strategy::recipe.grid == cuda_stage::grid::host_finish) {
    using accumulator = typename Composite::accumulator_type;
    const void* const partials = enqueue<Strategy>(session, plan, source, c, {});
    const auto blocks = static_cast<std::size_t>(plan.launch.grid_size);
    const auto* const fetched =
        static_cast<const unsigned char*>(session.fetch(partials, blocks * sizeof(accumulator)));
    accumulator total = c.identity();
    for (std::size_t k = 0; k < blocks; ++k) {
      accumulator partial;
      std::memcpy(&partial, fetched + k * sizeof(accumulator), sizeof(accumulator));
      c.join(total, partial);
    }
    return c.result(total);
  } else {
    const cuda_mailbox mailbox = session.mailbox(sizeof(result));
    enqueue<Strategy>(session, plan, source, c, {nullptr, mailbox});
    result value;
    session.wait(mailbox, &value, sizeof(result));
    return value;
  }
}

/// Reduces into device memory in the stream's order.
template <class Strategy, class Source, class Composite>
void reduce_ordered(const cuda_handle& handle, const char* label, typename Composite::result_type* out,
                    const Source& source, const Composite& c) {
  static_assert(
      is_stream_ordered(Strategy::recipe),
      "fanin: this strategy finishes on the host, so that its result cannot be written in the stream's order: "
      "use a strategy with another grid stage for the _into forms");
  cuda_session session(handle, label, cuda_session::mode::ordered, "fanin::parallel_reduce_into");
  const cuda_plan plan =
      make_plan<Strategy, Composite>(session, handle.tuning, &reduce_kernel<Strategy, Source, Composite>, source);
  enqueue<Strategy>(session, plan, source, c, {out, {}});
}

template <class F>
void launch_for(const cuda_handle& handle, const char* label, std::int64_t first, std::int64_t count, const F& f) {
  constexpr int block_size = 256;
  constexpr int blocks_per_sm = 32;
  cuda_session session(handle, label, cuda_session::mode::ordered, "fanin::parallel_for");
  const std::int64_t blocks = (count - 1) / block_size + 1;
  const auto grid = static_cast<int>(std::min<std::int64_t>(blocks, session.multiprocessors() * blocks_per_sm));
  void* arguments[] = {const_cast<F*>(&f), &first, &count};
  session.launch(reinterpret_cast<const void*>(&for_kernel<F>), {"parallel_for", grid, block_size, 0}, arguments,
                 false);
}

}  // namespace fanin::detail
