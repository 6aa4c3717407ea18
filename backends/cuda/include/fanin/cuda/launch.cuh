// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fanin/cuda/kernel.cuh>
#include <fanin/cuda/plan.cuh>
#include <fanin/cuda/reducer/joins_alike.hpp>
#include <fanin/cuda/session.hpp>

namespace fanin::detail {

template <class... Parameter>
const void* kernel_pointer(void (*kernel)(Parameter...)) {
  return reinterpret_cast<const void*>(kernel);
}

template <class T>
void* argument(const T& value) {
  return const_cast<void*>(static_cast<const void*>(&value));
}

/// The partial results that are left to the host: in device memory, or on their way into the mailbox (then `data` is
/// null). None where a block has joined them all.
struct cuda_partials {
  const void* data = nullptr;
  std::size_t count = 0;
  int block_size = 0;
};

/// In a blocking call with a grid of up to so many blocks and words of partial results, every block writes its own into
/// the mailbox and the host joins them, so that no block waits for another. On an H200 that took 0.5 to 1.0 us less for
/// 17 to 128 blocks, and 0.3 more for 256.
inline constexpr int most_blocks_that_post = 128;
inline constexpr int most_words_that_are_posted = 512;

/// Only where the host's joins give the bits that the device's give, so that the _into form of a call, and one from
/// which no block posts, have the same result.
template <class Strategy, class Composite>
inline constexpr bool may_post_partials = is_watched<Strategy, Composite> && joins_alike<Composite> &&
                                          Strategy::recipe.block == cuda_stage::block::warp_shuffle;

constexpr std::size_t round_up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// Room for so many tagged units, and for nothing else: the one way to scratch of that kind.
inline watched_scratch units_scratch(cuda_session& session, std::size_t units) {
  const cuda_scratch room = session.scratch(cuda_session::partials::tagged, round_up(units * sizeof(tagged_unit)));
  return {static_cast<tagged_unit*>(room.partials), room.partial_bytes, room.counter};
}

/// One launch, and what it leaves: the result, or partial results for the host.
template <class Strategy, class Source, class Composite>
cuda_partials enqueue_single(cuda_session& session, cuda_plan& plan, const Source& source, const Composite& c,
                             cuda_destination<typename Composite::result_type> destination) {
  using accumulator = typename Composite::accumulator_type;
  constexpr cuda_recipe recipe = Strategy::recipe;
  const auto threads = static_cast<std::size_t>(plan.launch.block_size);
  const auto largest_grid = static_cast<std::size_t>(plan.largest_grid);
  const std::size_t values = recipe.memory == cuda_stage::memory::global ? largest_grid * threads * sizeof(accumulator)
                             : hands_over_parcels<Strategy, Composite>
                                 ? left_scratches<accumulator>::bytes(largest_grid)
                                 : 0;
  workspace_of<Strategy, Composite> work;
  if constexpr (is_watched<Strategy, Composite>) {
    work.scratch = units_scratch(
        session, largest_grid * static_cast<std::size_t>(tagged_units(sizeof(partial_of<Strategy, Composite>))));
    if (values > 0) work.values = session.scratch(cuda_session::partials::plain, values).partials;
  } else {
    const std::size_t bytes =
        round_up(largest_grid * sizeof(accumulator) * (recipe.block == cuda_stage::block::none ? threads : 1));
    work.scratch = session.scratch(cuda_session::partials::plain, bytes + values);
    work.values = static_cast<unsigned char*>(work.scratch.partials) + bytes;
  }
  work.chunks = plan.chunks;
  const int contributors = plan.launch.grid_size / recipe.cluster_size;
  if constexpr (may_post_partials<Strategy, Composite>) {
    destination.takes_partials =
        destination.mailbox.words != nullptr && contributors > 1 && contributors <= most_blocks_that_post &&
        contributors * mailbox_words(sizeof(accumulator)) <= most_words_that_are_posted && rounds_as_device();
  }
  void* arguments[] = {argument(source), argument(c), argument(work), argument(destination)};
  session.launch(kernel_pointer(&reduce_kernel<Strategy, Source, Composite>), plan.launch, arguments, plan.options);
  if (destination.takes_partials) return {nullptr, static_cast<std::size_t>(contributors), plan.launch.block_size};
  if constexpr (recipe.grid == cuda_stage::grid::host_finish) {
    return {work.scratch.partials,
            static_cast<std::size_t>(plan.launch.grid_size) * (recipe.block == cuda_stage::block::none ? threads : 1)};
  }
  return {};
}

/// The strategy's launch on the elements, then again on the partial results, until one block is enough and delivers.
template <class Strategy, class Source, class Composite>
void enqueue_passes(cuda_session& session, cuda_plan& plan, const Source& source, const Composite& c,
                    const cuda_destination<typename Composite::result_type>& destination) {
  using accumulator = typename Composite::accumulator_type;
  using partials = partials_source<accumulator>;
  constexpr cuda_recipe recipe = Strategy::recipe;
  const std::int64_t elements_of_block = static_cast<std::int64_t>(plan.launch.block_size) * plan.chunks;
  const auto blocks_for = [&](std::int64_t count) { return (count - 1) / elements_of_block + 1; };
  const auto bytes_of = [](std::int64_t count) {
    return round_up(static_cast<std::size_t>(count) * sizeof(accumulator));
  };
  const std::size_t first_bytes = bytes_of(plan.largest_grid);
  const std::size_t second_bytes = bytes_of(blocks_for(plan.largest_grid));
  const std::size_t values = recipe.memory == cuda_stage::memory::global
                                 ? bytes_of(std::int64_t{plan.largest_grid} * plan.launch.block_size)
                                 : 0;

  cuda_workspace<cuda_scratch> work;
  work.scratch = session.scratch(cuda_session::partials::plain, first_bytes + second_bytes + values);
  auto* const first = static_cast<unsigned char*>(work.scratch.partials);
  work.values = first + first_bytes + second_bytes;
  work.chunks = plan.chunks;
  const merging<Composite> merge{c};
  const void* const merging_kernel = kernel_pointer(&reduce_kernel<Strategy, partials, merging<Composite>>);
  check_fits<Strategy, Composite>(facts_of<Strategy, partials, merging<Composite>>(
                                      merging_kernel, session, plan.launch.block_size, plan.launch.shared_bytes),
                                  plan.launch);
  void* arguments[] = {argument(source), argument(c), argument(work), argument(destination)};
  session.launch(kernel_pointer(&reduce_kernel<Strategy, Source, Composite>), plan.launch, arguments, plan.options);

  cuda_launch pass = plan.launch;
  partials from{reinterpret_cast<const accumulator*>(first), plan.launch.grid_size};
  for (bool into_second = true; from.count > 1; into_second = !into_second) {
    work.scratch.partials = into_second ? first + first_bytes : first;
    pass.grid_size = static_cast<int>(blocks_for(from.count));
    void* pass_arguments[] = {argument(from), argument(merge), argument(work), argument(destination)};
    session.launch(merging_kernel, pass, pass_arguments, plan.options);
    ++plan.launch.launches;
    from = {static_cast<const accumulator*>(work.scratch.partials), pass.grid_size};
    if (pass.grid_size == 1) break;
  }
}

/// One launch for each halving of the array; the first reads the elements and writes scratch.
template <class Strategy, class Source, class Composite>
void enqueue_halvings(cuda_session& session, cuda_plan& plan, const Source& source, const Composite& c,
                      const cuda_destination<typename Composite::result_type>& destination) {
  using accumulator = typename Composite::accumulator_type;
  const auto blocks_for = [&](std::int64_t count) {
    return static_cast<int>((std::max<std::int64_t>(count, 1) - 1) / plan.launch.block_size + 1);
  };
  std::int64_t half = source.count - source.count / 2;
  const cuda_scratch scratch = session.scratch(
      cuda_session::partials::plain, static_cast<std::size_t>(std::max<std::int64_t>(half, 1)) * sizeof(accumulator));
  auto* const values = static_cast<accumulator*>(scratch.partials);
  plan.launch.grid_size = blocks_for(half);
  void* arguments[] = {argument(source), argument(c), argument(values), argument(half), argument(destination)};
  session.launch(kernel_pointer(&halve_source_kernel<Source, Composite>), plan.launch, arguments, {});

  cuda_launch pass = plan.launch;
  for (std::int64_t count = half; count > 1; count = half) {
    half = count - count / 2;
    pass.grid_size = blocks_for(half);
    void* pass_arguments[] = {argument(c), argument(values), argument(count), argument(half), argument(destination)};
    session.launch(kernel_pointer(&halve_values_kernel<Composite>), pass, pass_arguments, {});
    ++plan.launch.launches;
  }
}

/// Everything that the strategy launches.
template <class Strategy, class Source, class Composite>
cuda_partials enqueue(cuda_session& session, const cuda_tuning& tuning, const Source& source, const Composite& c,
                      const cuda_destination<typename Composite::result_type>& destination) {
  using cuda_stage::grid;
  check_accumulators_fit<accumulators_in_block<Strategy, Composite>>();
  static_assert(!computes_long_doubles<Composite>,
                "fanin: long double is no type for the CUDA backend: a device computes it as double; sum doubles, or "
                "reduce on a host");
  cuda_partials left;
  cuda_plan plan;
  if constexpr (Strategy::recipe.grid == grid::launch_per_halving) {
    plan = make_plan<Strategy, Composite>(session, tuning, kernel_pointer(&halve_source_kernel<Source, Composite>),
                                          source);
    enqueue_halvings<Strategy>(session, plan, source, c, destination);
  } else {
    plan = make_plan<Strategy, Composite>(session, tuning, kernel_pointer(&reduce_kernel<Strategy, Source, Composite>),
                                          source);
    if constexpr (Strategy::recipe.grid == grid::second_pass) {
      enqueue_passes<Strategy>(session, plan, source, c, destination);
    } else {
      left = enqueue_single<Strategy>(session, plan, source, c, destination);
    }
  }
  session.record(plan.launch);
  return left;
}

/// Reduces and waits for the value.
template <class Strategy, class Source, class Composite>
typename Composite::result_type reduce_blocking(const cuda_handle& handle, const char* label, const Source& source,
                                                const Composite& c) {
  using result = typename Composite::result_type;
  cuda_session session(handle, label, cuda_session::mode::blocking, "fanin::parallel_reduce");
  if (source.count == 0) {
    cuda_launch nothing;
    nothing.strategy = Strategy::name;
    nothing.launches = 0;
    session.record(nothing);
    return c.result(c.identity());
  }
  if constexpr (Strategy::recipe.grid == cuda_stage::grid::host_finish) {
    using accumulator = typename Composite::accumulator_type;
    const cuda_partials partials = enqueue<Strategy>(session, handle.tuning, source, c, {});
    const auto* const fetched =
        static_cast<const unsigned char*>(session.fetch(partials.data, partials.count * sizeof(accumulator)));
    accumulator total = c.identity();
    for (std::size_t k = 0; k < partials.count; ++k) {
      accumulator partial;
      std::memcpy(static_cast<void*>(&partial), fetched + k * sizeof(accumulator), sizeof(accumulator));
      c.join(total, partial);
    }
    return c.result(total);
  } else {
    constexpr int result_words = mailbox_words(sizeof(result));
    constexpr bool posts = may_post_partials<Strategy, Composite>;
    constexpr int most_words = std::max(result_words, posts ? most_words_that_are_posted : 0);
    const cuda_mailbox mailbox = session.mailbox(most_words);
    const cuda_partials left = enqueue<Strategy>(session, handle.tuning, source, c, {nullptr, mailbox});
    std::uint32_t payload[most_words];
    if constexpr (posts) {
      if (left.count > 0) {
        using accumulator = typename Composite::accumulator_type;
        constexpr int words = mailbox_words(sizeof(accumulator));
        const auto count = static_cast<int>(left.count);
        session.wait(mailbox, payload, count * words);
        const auto partial = [&](int k) {
          accumulator value;
          std::memcpy(static_cast<void*>(&value), payload + k * words, sizeof(value));
          return value;
        };
        return c.result(join_as_watched(c, count, left.block_size, partial));
      }
    }
    session.wait(mailbox, payload, result_words);
    result value;
    std::memcpy(static_cast<void*>(&value), payload, sizeof(value));
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
      "use a strategy with another grid stage for the _into forms (cuda_strategy::finished_by)");
  cuda_session session(handle, label, cuda_session::mode::ordered, "fanin::parallel_reduce_into");
  enqueue<Strategy>(session, handle.tuning, source, c, {out, {}});
}

template <class F>
void launch_for(const cuda_handle& handle, const char* label, std::int64_t first, std::int64_t count, const F& f) {
  constexpr int block_size = 256;
  constexpr int blocks_per_sm = 32;
  cuda_session session(handle, label, cuda_session::mode::ordered, "fanin::parallel_for");
  const std::int64_t blocks = (count - 1) / block_size + 1;
  const auto grid = static_cast<int>(std::min<std::int64_t>(blocks, session.multiprocessors() * blocks_per_sm));
  void* arguments[] = {argument(f), argument(first), argument(count)};
  cuda_launch launch;
  launch.strategy = "parallel_for";
  launch.grid_size = grid;
  launch.block_size = block_size;
  session.launch(kernel_pointer(&for_kernel<F>), launch, arguments, {});
  session.record(launch);
}

}  // namespace fanin::detail
