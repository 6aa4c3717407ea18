// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fanin/cuda/block/combine.cuh>
#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/grid/finisher.cuh>
#include <fanin/cuda/grid/lone_block.cuh>
#include <fanin/cuda/grid/tagged_units.cuh>
#include <fanin/cuda/grid/watched_order.hpp>
#include <fanin/cuda/partial/in_registers.cuh>
#include <fanin/cuda/partial/parcel.cuh>
#include <fanin/cuda/recipe.hpp>
#include <fanin/cuda/reducer/joins_alike.hpp>
#include <fanin/cuda/workspace.cuh>
#include <fanin/device/grid_order.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>

namespace fanin::detail {

/// Where blocks leave spills that something is in, for a grid of so many.
template <class Accumulator>
struct left_spills {
  unsigned* blocks;  ///< the watching block's list
  Accumulator* of_block;

  static constexpr std::size_t bytes_of_list(std::size_t grid) { return (grid * sizeof(unsigned) + 255) / 256 * 256; }
  static constexpr std::size_t bytes(std::size_t grid) { return bytes_of_list(grid) + grid * sizeof(Accumulator); }
  __device__ left_spills(void* memory, unsigned grid)
      : blocks{static_cast<unsigned*>(memory)},
        of_block{reinterpret_cast<Accumulator*>(static_cast<unsigned char*>(memory) + bytes_of_list(grid))} {}
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

/// The block with the highest index watches for the others' partial results, in the same launch: see tagged_units.cuh.
template <class Strategy, class Composite>
struct watching_block {
  using accumulator = typename Composite::accumulator_type;
  using result_type = typename Composite::result_type;
  using workspace = cuda_workspace<watched_memory>;
  static constexpr bool starts_early = true;

  // --- On the device
  const workspace& work;
  const cuda_destination<result_type>& destination;
  contributor self;

  __device__ watching_block(const workspace& of_launch, const cuda_destination<result_type>& to,
                            block_memory<Strategy, Composite>& block)
      : work{of_launch},
        destination{to},
        self{blockIdx.x / Strategy::recipe.cluster_size, gridDim.x / Strategy::recipe.cluster_size} {
    wait_for_grid_before();
    if (self.count > 1 && !destination.takes_partials) {
      if (self.finishes()) {
        detail::prefetch_partials<partial_of<Strategy, Composite>>(work.memory, self.count - 1);
      } else if (threadIdx.x == 0 && blockIdx.x % Strategy::recipe.cluster_size == 0) {
        block.launches.load(work.memory.launches);  // by the block that hands over
      }
    }
  }

  template <class Source>
  __device__ void finish(partial_in_registers<Strategy, Composite>& partial, const Source&) const {
    if (self.count > 1) {
      if (destination.takes_partials) {
        if (threadIdx.x == 0) destination.post(partial.value, self.index);
        return;
      }
      if (!self.finishes()) {
        if (threadIdx.x == 0)
          detail::publish_partial(partial.value, self.index, work.memory, partial.block.launches.when_loaded());
        return;
      }
      finisher<Composite> finish{partial.c};
      const std::uint32_t launches = launches_before(work.memory);
      // Thread 0 starts from the block's own.
      if (threadIdx.x != 0) partial.value = partial.c.identity();
      const auto take = [&](const accumulator& from, unsigned) { partial.c.join(partial.value, from); };
      if (Strategy::recipe.block == cuda_stage::block::warp_shuffle &&
          self.count - 1 <= watched_at_once<accumulator, Source>) {
        if (threadIdx.x < warp_size) {
          detail::for_few_watched<accumulator, Source>(self, work.memory, launches, take, [&] { finish.look(); });
          detail::combine_in_warp(partial.c, partial.value);
        }
      } else {
        detail::for_watched<accumulator>(self, work.memory, launches, 0, take);
        detail::combine_in_block<Strategy, largest_travelling<Strategy, Composite>>(partial.c, partial.value,
                                                                                    partial.memory, blockDim.x);
        finish.look();  // warps wait each for itself
      }
      if (threadIdx.x == 0) destination.deliver(partial.c.result_by(finish, partial.value));
      close_launch(work.memory, launches);
      return;
    }
    if (threadIdx.x == 0) destination.deliver(partial.c.result(partial.value));
  }

  template <class Source>
  __device__ void finish(partial_parcel<Strategy, Composite>& partial, const Source&) const {
    if (self.count > 1) {
      const left_spills<accumulator> left(work.values, gridDim.x);
      if (!self.finishes()) {
        if (threadIdx.x < warp_size) publish(partial, left);
        return;
      }
      finisher<Composite> finish{partial.c};
      const std::uint32_t launches = launches_before(work.memory);
      gather_parcels(partial, left, launches, finish);
      if (threadIdx.x == 0) destination.deliver(partial.result_by(finish));
      close_launch(work.memory, launches);
      return;
    }
    if (threadIdx.x == 0) destination.deliver(partial.result());
  }

  // --- On the host
  template <class Source>
  static void enqueue(cuda_session& session, const cuda_tuning& tuning, const Source& source, const Composite& c,
                      const cuda_destination<result_type>& destination) {
    enqueue_and_tell(session, tuning, source, c, destination, false);
  }

  template <class Source>
  static result_type reduce(cuda_session& session, const cuda_tuning& tuning, const Source& source,
                            const Composite& c) {
    constexpr int result_words = mailbox_words(sizeof(result_type));
    constexpr int most_words =
        std::max(result_words, may_post_partials<Strategy, Composite> ? most_words_that_are_posted : 0);
    const cuda_mailbox mailbox = session.mailbox(most_words);
    const posting posts = enqueue_and_tell(session, tuning, source, c, {nullptr, mailbox}, true);
    std::uint32_t payload[most_words];
    if constexpr (may_post_partials<Strategy, Composite>) {
      if (posts.blocks > 0) {
        session.wait(mailbox, payload, posts.blocks * mailbox_words(sizeof(accumulator)));
        const auto partial = [&](int k) { return detail::from_payload<accumulator>(payload, k); };
        return c.result(detail::join_as_watched<Source>(c, posts.blocks, posts.block_size, partial));
      }
    }
    session.wait(mailbox, payload, result_words);
    return detail::from_payload<result_type>(payload);
  }

 private:
  /// By the block's first warp: hands over its parcel, lane 0's, and the spill where something is there.
  __device__ void publish(const partial_parcel<Strategy, Composite>& partial,
                          const left_spills<accumulator>& left) const {
    if (detail::of_lane_0(partial.is_in_spill(partial.parcel))) {
      detail::copy_by_threads(left.of_block + self.index, *partial.spill, threadIdx.x, warp_size);
      __syncwarp();
      if (threadIdx.x == 0) __threadfence();
    }
    if (threadIdx.x == 0)
      detail::publish_partial(partial.parcel, self.index, work.memory, partial.block.launches.when_loaded());
  }

  /// All others' parcels to this block's, in thread 0; what they left in spills to this block's spill.
  __device__ void gather_parcels(partial_parcel<Strategy, Composite>& partial, const left_spills<accumulator>& left,
                                 std::uint32_t launches, finisher<Composite>& finish) const {
    using parcel_type = typename Composite::parcel_type;
    unsigned& blocks_that_left = partial.block.of_grid_stage;
    if (threadIdx.x == 0) blocks_that_left = 0;
    __syncthreads();

    // Thread 0 holds the block's own. Of the others each takes one, and mostly joins nothing to it, which takes its
    // time.
    bool holds = threadIdx.x == 0;
    if (!holds) partial.clear();
    detail::for_watched<parcel_type>(self, work.memory, launches, 1, [&](parcel_type& parcel, unsigned block) {
      if (partial.is_in_spill(parcel)) {
        __threadfence();
        left.blocks[atomicAdd(&blocks_that_left, 1u)] = block;
      }
      if (holds) {
        partial.join(parcel);
      } else {
        partial.parcel = parcel;
        holds = true;
      }
    });
    __syncthreads();
    finish.look();
    if (blocks_that_left > 0) {
      const auto spill_of = [&](unsigned k) -> const auto& { return left.of_block[left.blocks[k]]; };
      partial.join_spills(spill_of, blocks_that_left);
    }
    partial.combine(self.count);
  }

  /// How many blocks of a launch write to the mailbox, for the host to join; 0 where the watching block does.
  static int blocks_that_post(const cuda_launch& launch) {
    const int blocks = launch.grid_size / Strategy::recipe.cluster_size;
    return blocks > 1 && blocks <= most_blocks_that_post &&
                   blocks * mailbox_words(sizeof(accumulator)) <= most_words_that_are_posted && rounds_as_device()
               ? blocks
               : 0;
  }

  /// How many blocks write to the mailbox, and of how many threads.
  struct posting {
    int blocks = 0;
    int block_size = 0;
  };
  template <class Source>
  static posting enqueue_and_tell(cuda_session& session, const cuda_tuning& tuning, const Source& source,
                                  const Composite& c, cuda_destination<result_type> destination, bool may_post) {
    const void* const kernel = detail::kernel_pointer(&reduce_kernel<Strategy, Source, Composite>);
    const cuda_plan& plan = detail::make_plan<Strategy, Composite>(session, tuning, kernel, source, starts_early);
    if constexpr (works_alone<Strategy, Composite> && !has_tiles<Source>) {
      using lone = lone_block<alone<Strategy>, Composite>;
      if (lone::takes(plan, source)) {
        lone::enqueue(session, plan, source, c, destination);
        return {0, plan.launch.block_size};
      }
    }
    const auto largest_grid = static_cast<std::size_t>(plan.largest_grid);
    const std::size_t values = hands_over_parcels<Strategy, Composite>
                                   ? left_spills<accumulator>::bytes(largest_grid)
                                   : detail::bytes_of_threads<Strategy, accumulator>(plan);
    workspace_of<Strategy, Composite> work;
    using travelling = partial_of<Strategy, Composite>;
    work.memory = detail::units_memory(session, std::max<std::size_t>(largest_grid, most_watched_at_once<travelling>) *
                                                    static_cast<std::size_t>(tagged_units(sizeof(travelling))));
    if (values > 0) work.values = session.workspace(cuda_session::partials::plain, values).partials;
    work.chunks = plan.chunks;
    posting posts{0, plan.launch.block_size};
    if constexpr (may_post_partials<Strategy, Composite>) {
      posts.blocks = may_post ? blocks_that_post(plan.launch) : 0;
      destination.takes_partials = posts.blocks > 0;
    }
    detail::launch_reduce<Strategy>(session, plan, source, c, work, destination);
    session.record(plan.launch);
    return posts;
  }
};

}  // namespace fanin::detail
