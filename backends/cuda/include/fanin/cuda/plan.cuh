// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <fanin/cuda/block/memory.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/plan_few_blocks.cuh>
#include <fanin/cuda/reducer/exact_columns.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/error.hpp>

namespace fanin::detail {

/// What the device says of one kernel, asked once per device and block size (of those between two powers of two it
/// knows one), and again in a new context, which does not know how much shared memory the kernel was allowed. `Key`
/// names the kernel: the type of a function does not, kernels of different strategies share it. Static, since of two
/// libraries that a program loads each has kernels of its own by the same names.
template <class... Key>
static cuda_kernel_facts facts_of(const cuda_session& session, const cuda_plan& plan) {
  constexpr int devices = 64;
  constexpr int sizes = 6;  // 32 to 1024 threads
  // Context and block size, blocks, compute capability, spills, early start: 20, 12, 16, 8, 7 bits and 1.
  static std::atomic<std::uint64_t> known[devices][sizes];
  const int device = session.device();
  const auto key = (session.context() << 12 | static_cast<std::uint64_t>(plan.launch.block_size)) & 0xffffffffu;
  const int size = static_cast<int>(std::bit_width(static_cast<unsigned>(plan.launch.block_size) / warp_size)) - 1;
  const bool cacheable = device >= 0 && device < devices && size >= 0 && size < sizes;
  if (cacheable) {
    const std::uint64_t value = known[device][size].load(std::memory_order_relaxed);
    if (value >> 32 == key) {
      return {static_cast<int>(value >> 16 & 0xffffu), (value & 1u) != 0, static_cast<int>(value >> 8 & 0xffu),
              static_cast<int>(value >> 1 & 0x7fu)};
    }
  }
  const cuda_kernel_facts facts =
      kernel_facts(plan.kernel, device, plan.launch.block_size, plan.launch.shared_bytes, plan.spills);
  if (cacheable) {
    known[device][size].store(key << 32 | static_cast<std::uint64_t>(facts.resident_blocks) << 16 |
                                  static_cast<std::uint64_t>(facts.compute_capability) << 8 |
                                  static_cast<std::uint64_t>(facts.objects) << 1 |
                                  static_cast<std::uint64_t>(facts.starts_early),
                              std::memory_order_relaxed);
  }
  return facts;
}

template <class Strategy>
[[noreturn]] void refuse(const std::string& why) {
  throw invalid_argument(std::string("fanin: strategy ") + Strategy::name + " cannot launch: " + why);
}

template <class Strategy, class Composite>
void check_fits(const cuda_kernel_facts& facts, const cuda_launch& launch) {
  if (facts.resident_blocks > 0) return;
  detail::refuse<Strategy>("blocks of " + std::to_string(launch.block_size) + " threads with accumulators of " +
                           std::to_string(sizeof(typename Composite::accumulator_type)) +
                           " bytes do not fit a multiprocessor; ask for a smaller block_size");
}

/// By rounds of vectors, or of elements (thread/vectorised.cuh).
constexpr bool gathers_in_rounds(const cuda_recipe& recipe) {
  return recipe.thread == cuda_stage::thread::vectorised || recipe.thread == cuda_stage::thread::bulk;
}

/// The work that a thread can take on its own: a vector or an element.
template <class Strategy, class Source>
std::int64_t units_of(const Source& source) {
  if constexpr (Source::has_vectors && detail::gathers_in_rounds(Strategy::recipe)) {
    return std::max<std::int64_t>(source.vectors(), 1);
  } else {
    return std::max<std::int64_t>(source.count, 1);
  }
}

/// Blocks that hand over parcels, where the tuning does not say: a lone one, one a multiprocessor, then two; and the
/// smaller, the fewer units there are, since the threads of a block join what they hold. On an H200, exact_sum<float>:
/// 2^10 elements 2.2 us instead of 2.8 with 1024 threads, 2^16 4.2 instead of 6.1, 2^20 6.0 instead of 7.1. As nodes of
/// a graph, with one block of 512 threads, two, and one of 1024: 2^20 doubles 7.16, 7.23 and 7.52 us, 2^21 9.91, 9.26
/// and 9.44, 2^22 14.73, 13.60 and 13.73; floats 2^23 14.26, 13.19 and 13.42, 2^26 78.23, 66.91 and 66.99, 2^28 292.0,
/// 245.9 and 245.1. Squares of 2^22 doubles took 16.0 with two and 14.7 with one of 1024, functors that take an
/// accumulator 30.5 and 29.2, of 2^21 22.6 with two and 27.4 with one of 512.
struct parcel_block {
  static constexpr int few_threads = 256;
  static constexpr int some_threads = 512;
  static constexpr int all_threads = 1024;

  int block_size = all_threads;
  int blocks_per_sm = 1;  ///< 0: a lone one

  /// So many units for each of some_threads a multiprocessor.
  struct limits {
    int of_one;  ///< block of some_threads
    int of_two;
  };
  template <class Composite>
  static constexpr limits limits_for() {
    constexpr std::size_t tables = number_of_columns<Composite>;
    if (tables == 0) return {8, 32};
    return tables == 1 && !Composite::loads_ahead ? limits{8, 256} : limits{32, 32};
  }

  template <class Composite>
  static constexpr int most_blocks_per_sm = limits_for<Composite>().of_one < limits_for<Composite>().of_two ? 2 : 1;

  template <class Composite>
  static parcel_block for_units(std::int64_t units, int multiprocessors) {
    constexpr limits most = limits_for<Composite>();
    const std::int64_t threads = std::int64_t{some_threads} * multiprocessors;
    if (units <= 4 * few_threads) return {few_threads, 0};
    if (units <= 8 * some_threads) return {some_threads, 0};
    if (units <= 4 * std::int64_t{few_threads} * multiprocessors) return {few_threads, 1};
    if (units <= most.of_one * threads) return {some_threads, 1};
    if (units <= most.of_two * threads) return {some_threads, 2};
    return {};
  }
};

template <class Strategy, class Composite>
inline constexpr bool plans_parcel_blocks =
    hands_over_parcels<Strategy, Composite> && Strategy::recipe.thread == cuda_stage::thread::vectorised;

/// The block size: the tuning's, or the recipe's, less where accumulators would not fit.
template <class Strategy, class Composite>
void plan_block(cuda_launch& launch, const cuda_tuning& tuning, std::int64_t units, int multiprocessors) {
  constexpr cuda_recipe recipe = Strategy::recipe;
  constexpr std::size_t largest = largest_travelling<Strategy, Composite>;
  constexpr std::size_t shared_budget = 48 * 1024;
  constexpr int slots_block_size = 128;
  constexpr int spill_block_size = 1024;  // few partial results, each of which is large
  launch.block_size = tuning.block_size != 0 ? tuning.block_size : recipe.block_size;
  const auto shared_bytes = [&] { return detail::shared_bytes_of_stages<Strategy, Composite>(launch.block_size); };
  if (tuning.block_size == 0) {
    if (goes_through_slots(recipe, largest)) launch.block_size = std::min(launch.block_size, slots_block_size);
    if (plans_parcel_blocks<Strategy, Composite>) {
      launch.block_size = parcel_block::for_units<Composite>(units, multiprocessors).block_size;
    } else if (finishes_in_spill<Strategy, Composite> && recipe.thread == cuda_stage::thread::vectorised) {
      launch.block_size = spill_block_size;
    }
    if (recipe.memory == cuda_stage::memory::shared) {
      while (shared_bytes() > shared_budget && launch.block_size > 32) launch.block_size = launch.block_size / 64 * 32;
    }
  }
  launch.shared_bytes = shared_bytes();
}

/// Memory for what threads gather into columns (reducer/exact_columns.cuh): blocks of fewer threads where it would not
/// fit, unless the tuning says how many.
template <class Strategy, class Composite>
void plan_columns(cuda_launch& launch, const cuda_tuning& tuning, int shared_bytes_of_block) {
  if constexpr (has_columns<Composite>) {
    static_assert(detail::shared_bytes_of_stages<Strategy, Composite>(1024) == 0, "they stand at the beginning");
    constexpr std::size_t beside = sizeof(block_memory<Strategy, Composite>);
    const auto fit = [&] {
      return detail::columns_bytes<Composite>(launch.block_size) + beside <=
             static_cast<std::size_t>(shared_bytes_of_block);
    };
    while (tuning.block_size == 0 && launch.block_size > least_threads_of_columns && !fit()) launch.block_size /= 2;
    launch.shared_bytes = detail::columns_bytes<Composite>(launch.block_size);
  }
}

/// Room for a block's first spill, where it may have several, and what more of them there may be: up to one a lane.
template <class Strategy, class Composite>
void plan_spills(cuda_plan& plan) {
  if constexpr (splits_spill<Strategy, Composite>) {
    using spills = objects_of_launch<typename Composite::accumulator_type>;
    plan.launch.shared_bytes = spills::bytes(plan.launch.shared_bytes, 1);
    plan.spills = {spills::bytes_of_one, static_cast<int>(warp_size) - 1};
  }
}

inline bool leaves_blocks_open(const cuda_tuning& tuning) {
  return tuning.block_size == 0 && tuning.blocks_per_sm == 0 && tuning.grid_size == 0 && tuning.chunks == 0;
}

/// Spills have to be cleared and joined: a block with fewer elements has one, unless the tuning says its blocks. On an
/// H200, 70 counters of 8 bytes, in us with one and with more: 7,943 elements a block, spread evenly, 8.5 and 9.6, in
/// one counter 12.1 and 10.6; 127,100 elements 24.4 and 25.9, in one counter 77.1 and 25.2. Nothing between was
/// measured.
inline constexpr std::int64_t elements_of_split_block = 32'768;

/// As many more spills as the device has room for, where there are elements enough for them.
inline void plan_more_spills(cuda_plan& plan, const cuda_tuning& tuning, std::int64_t elements, int fit) {
  if (leaves_blocks_open(tuning) && elements / plan.launch.grid_size < elements_of_split_block) return;
  plan.launch.shared_bytes += static_cast<std::size_t>(std::min(fit, plan.spills.most)) * plan.spills.bytes_of_one;
}

/// The first of a strategy's rows for a device and elements of so many bytes; nothing in particular if it has none.
template <class Strategy>
constexpr cuda_grid_tuning grid_tuning_for(int compute_capability, std::size_t element_bytes) {
  if constexpr (requires { Strategy::tunings; }) {
    for (const cuda_grid_tuning& row : Strategy::tunings) {
      const bool for_device = row.compute_capability == 0 || row.compute_capability == compute_capability;
      const bool for_element =
          row.most_element_bytes == 0 || element_bytes <= static_cast<std::size_t>(row.most_element_bytes);
      if (for_device && for_element) return row;
    }
  }
  cuda_grid_tuning of_recipe;
  of_recipe.blocks_per_sm = Strategy::recipe.blocks_per_sm;
  return of_recipe;
}

/// A grid of as many blocks as the elements need.
template <class Strategy, class Source>
void plan_whole_grid(cuda_plan& plan, const Source& source) {
  const std::int64_t elements_of_block = std::int64_t{plan.launch.block_size} * plan.chunks;
  const std::int64_t blocks = (std::max<std::int64_t>(source.count, 1) - 1) / elements_of_block + 1;
  if (blocks > std::numeric_limits<int>::max()) {
    detail::refuse<Strategy>(std::to_string(source.count) + " elements need " + std::to_string(blocks) +
                             " blocks, more than a grid has; ask for larger blocks or more chunks");
  }
  plan.launch.grid_size = plan.largest_grid = static_cast<int>(blocks);
}

/// What a round of vectors or elements is numbered by has 32 bits (thread/vectorised.cuh).
inline constexpr std::int64_t most_units_of_round = std::int64_t{1} << 31;

/// A grid of the size that was asked for.
template <class Strategy>
void plan_grid_of(cuda_plan& plan, int asked) {
  constexpr int cluster_size = Strategy::recipe.cluster_size;
  constexpr int in_flight = std::max(Strategy::recipe.loads, Strategy::recipe.elements);
  const std::int64_t most = most_units_of_round / (std::int64_t{plan.launch.block_size} * in_flight);
  if (detail::gathers_in_rounds(Strategy::recipe) && asked > most) {
    detail::refuse<Strategy>(
        "a grid of " + std::to_string(asked) + " blocks of " + std::to_string(plan.launch.block_size) +
        " threads has more to load at once than 32 bits number; ask for at most " + std::to_string(most));
  }
  if (asked % cluster_size != 0) {
    detail::refuse<Strategy>("a grid of " + std::to_string(asked) + " blocks is not made of clusters of " +
                             std::to_string(cluster_size));
  }
  plan.launch.grid_size = plan.largest_grid = asked;
}

/// As many blocks as the elements need and the device holds, or as the tuning says.
template <class Strategy, class Composite, class Source>
void plan_grid(cuda_plan& plan, const cuda_tuning& tuning, const Source& source, int multiprocessors,
               const cuda_kernel_facts& facts) {
  constexpr cuda_recipe recipe = Strategy::recipe;
  constexpr int cluster_size = recipe.cluster_size;
  if constexpr (!is_persistent(recipe)) {
    detail::plan_whole_grid<Strategy>(plan, source);
    return;
  }
  const int asked = tuning.grid_size != 0 ? tuning.grid_size : tuning.blocks_per_sm != 0 ? 0 : recipe.grid_size;
  if (asked != 0) {
    detail::plan_grid_of<Strategy>(plan, asked);
    return;
  }
  const std::int64_t units = detail::units_of<Strategy>(source);
  const std::int64_t blocks = (units - 1) / plan.launch.block_size + 1;
  const auto at_most = [&](std::int64_t some) {
    return static_cast<int>(std::min<std::int64_t>(some, plan.largest_grid));
  };
  if constexpr (plans_parcel_blocks<Strategy, Composite>) {
    if (leaves_blocks_open(tuning)) {
      const int blocks_per_sm = parcel_block::for_units<Composite>(units, multiprocessors).blocks_per_sm;
      plan.largest_grid = multiprocessors * parcel_block::most_blocks_per_sm<Composite>;
      const int most = multiprocessors * std::min(blocks_per_sm, facts.resident_blocks);
      plan.launch.grid_size = std::min(at_most(blocks), std::max(most, 1));
      return;
    }
  }
  const auto full_grid = [&](int blocks_per_sm) {
    const int resident = facts.resident_blocks;
    const int all = multiprocessors * (blocks_per_sm == 0 ? resident : std::min(blocks_per_sm, resident));
    return std::max(all / cluster_size, 1) * cluster_size;
  };
  const cuda_grid_tuning measured = detail::grid_tuning_for<Strategy>(facts.compute_capability, Source::value_size);
  plan.largest_grid = full_grid(tuning.blocks_per_sm != 0 ? tuning.blocks_per_sm : measured.blocks_per_sm);
  plan.launch.grid_size = at_most(blocks);
  if (leaves_blocks_open(tuning) && recipe.thread == cuda_stage::thread::vectorised) {
    detail::plan_few_blocks<Strategy, Composite, Source>(plan, units, multiprocessors, facts.resident_blocks, measured,
                                                         full_grid);
  }
  plan.launch.grid_size = at_most((plan.launch.grid_size + cluster_size - 1) / cluster_size * cluster_size);
}

template <class Strategy, class Composite, class Source>
cuda_plan make_new_plan(const cuda_session& session, const cuda_tuning& tuning, const void* kernel,
                        const Source& source, bool starts_early) {
  constexpr cuda_recipe recipe = Strategy::recipe;
  cuda_plan plan;
  plan.kernel = kernel;
  plan.launch.strategy = Strategy::name;
  if (tuning.chunks != 0 && recipe.thread != cuda_stage::thread::fold_n) {
    detail::refuse<Strategy>("only fold_n folds several chunks, and this strategy gathers by another stage");
  }
  if ((tuning.grid_size != 0 || tuning.blocks_per_sm != 0) && !is_persistent(recipe)) {
    detail::refuse<Strategy>("its grid follows from the number of elements; leave grid_size and blocks_per_sm at 0");
  }
  plan.chunks = tuning.chunks != 0 ? tuning.chunks : recipe.chunks;
  detail::plan_block<Strategy, Composite>(plan.launch, tuning, detail::units_of<Strategy>(source),
                                          session.multiprocessors());
  detail::plan_columns<Strategy, Composite>(plan.launch, tuning, session.shared_bytes_of_block());
  detail::plan_spills<Strategy, Composite>(plan);

  const cuda_kernel_facts facts = detail::facts_of<Strategy, Source, Composite>(session, plan);
  if (facts.compute_capability < least_compute_capability(recipe)) {
    detail::refuse<Strategy>(
        "it needs a device and code of compute capability " + std::to_string(least_compute_capability(recipe) / 10) +
        "." + std::to_string(least_compute_capability(recipe) % 10) + ", and one of them is " +
        std::to_string(facts.compute_capability / 10) + "." + std::to_string(facts.compute_capability % 10));
  }
  detail::check_fits<Strategy, Composite>(facts, plan.launch);
  plan.options.can_start_early = facts.starts_early && starts_early;
  plan.options.early_start = tuning.early_start;
  plan.options.cluster_size = recipe.cluster_size;
  detail::plan_grid<Strategy, Composite>(plan, tuning, source, session.multiprocessors(), facts);
  detail::plan_more_spills(plan, tuning, source.count, facts.objects);
  return plan;
}

/// Which kernel this is. A library that is loaded where another one was has kernels at the same addresses, of which the
/// device has been asked nothing yet, and numbers of its own. Static, as facts_of.
template <class... Key>
static std::uint64_t number_of_kernel() {
  static const std::uint64_t number = next_kernel_number();
  return number;
}

/// The object remembers it: for the call's time it stays where it is. Throws invalid_argument, in words, for what
/// cannot launch. `starts_early`: whether the kernel waits for the grid before it by itself.
template <class Strategy, class Composite, class Source>
const cuda_plan& make_plan(const cuda_session& session, const cuda_tuning& tuning, const void* kernel,
                           const Source& source, bool starts_early) {
  const std::uint64_t number = number_of_kernel<Strategy, Source, Composite>();
  const cuda_plan_key key{number, source.count, detail::units_of<Strategy>(source), tuning};
  remembered_plan& known = session.remembered(key);
  if (known.key != key) {
    known.plan = detail::make_new_plan<Strategy, Composite>(session, tuning, kernel, source, starts_early);
    known.key = key;
  }
  return known.plan;
}

}  // namespace fanin::detail
