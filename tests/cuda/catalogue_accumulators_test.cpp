// SPDX-License-Identifier: Apache-2.0
#include "cuda/catalogue_support.hpp"

/// Accumulators that are too large for shuffles, thread states, several reducers at once, and a block stage of one's
/// own, on one row of each kind.
namespace fanin_test {

/// A block stage of the tests' own: thirds are joined, not halves.
struct by_thirds {
  static constexpr const char* name = "by_thirds";
  static constexpr const char* purpose = "a block stage that Fanin does not know";
  static constexpr const char* source = "the tests";
  static constexpr fanin::cuda_recipe recipe{.thread = fanin::cuda_stage::thread::one,
                                             .block = fanin::cuda_stage::block::own,
                                             .memory = fanin::cuda_stage::memory::shared,
                                             .grid = fanin::cuda_stage::grid::second_pass,
                                             .block_size = 384};
  template <class Op, class T>
  static __device__ void combine(const Op& op, T* memory, unsigned count) {
    while (count > 1) {
      const unsigned third = (count + 2) / 3;
      if (threadIdx.x < third) {
        if (threadIdx.x + third < count) op.join(memory[threadIdx.x], memory[threadIdx.x + third]);
        if (threadIdx.x + 2 * third < count) op.join(memory[threadIdx.x], memory[threadIdx.x + 2 * third]);
      }
      __syncthreads();
      count = third;
    }
  }
};

/// And a recombination of stages that are there.
struct pairs_in_global_memory {
  static constexpr const char* name = "pairs_in_global_memory";
  static constexpr const char* purpose = "chunks are folded, then neighbours in global memory";
  static constexpr const char* source = "the tests";
  static constexpr fanin::cuda_recipe recipe{.thread = fanin::cuda_stage::thread::fold_n,
                                             .block = fanin::cuda_stage::block::neighbored_strided,
                                             .memory = fanin::cuda_stage::memory::global,
                                             .grid = fanin::cuda_stage::grid::watching_block,
                                             .block_size = 128,
                                             .chunks = 5};
};

/// One with measured tunings, whose blocks of other sizes would need more shared memory.
struct tuned_tree {
  static constexpr const char* name = "tuned_tree";
  static constexpr const char* purpose = "wide loads, and a tree in shared memory";
  static constexpr const char* source = "the tests";
  static constexpr fanin::cuda_recipe recipe{.thread = fanin::cuda_stage::thread::vectorised,
                                             .block = fanin::cuda_stage::block::interleaved,
                                             .memory = fanin::cuda_stage::memory::shared,
                                             .grid = fanin::cuda_stage::grid::last_block,
                                             .block_size = 512,
                                             .chunks = 1,
                                             .blocks_per_sm = 4,
                                             .loads = 4,
                                             .elements = 8};
  static constexpr fanin::cuda_grid_tuning tunings[] = {{.lone_block_size = 1024}};
};

namespace {

namespace rows = fanin::cuda_strategy;

/// A spill with a small accumulator: eight counters of 64 bytes.
struct octal_digits {
  using value_type = std::uint32_t;
  using accumulator_type = octet;
  using gathering = fanin::gathering_in_counters<octet, std::int64_t>;
  FANIN_FUNCTION octet identity() const { return octet{}; }
  FANIN_FUNCTION void fold(gathering::state_type& state, std::uint32_t value, std::int64_t) const {
    fanin::atomic_fetch_add(state->lane[value % 8], std::int64_t{1});
  }
  FANIN_FUNCTION void join(octet& into, const octet& from) const { into = into + from; }
};

const std::vector<std::size_t> some_sizes{0, 1, 2, 33, 257, 1'025, 5'003, 100'003};
const std::vector<int> some_blocks{0, 32, 96, 256, 1024};

template <class Strategy>
class catalogue_accumulators : public strategy_test<Strategy> {
 protected:
  /// The same call with both, and every result on its own.
  template <class... Reducer>
  static void check(const Reducer&... reducer) {
    fanin::cuda gpu;
    const mirrored<std::uint32_t> x(gpu, make_data<std::uint32_t>(data::random_signed, 100'003 + starts));
    for (const std::size_t n : some_sizes) {
      const std::size_t start = n % starts;
      const auto expected = fanin::reduce(fanin::serial{}, x.host(start, n), reducer...);
      for (const int block : some_blocks) {
        const auto got = fanin::parallel_reduce(fanin::range(gpu.with<Strategy>({.block_size = block}), n),
                                                at<std::uint32_t>{x.there(start, n).data()}, reducer...);
        ASSERT_TRUE(equal(got, expected)) << Strategy::name << ", n = " << n << ", blocks of " << block;
        expect_ran<Strategy>(gpu, n, block);
      }
    }
    EXPECT_TRUE(x.is_as_it_was());
  }

 private:
  template <class T>
  static bool equal(const T& a, const T& b) {
    if constexpr (std::equality_comparable<T> && !std::is_floating_point_v<T>) {
      return a == b;
    } else {
      return same(a, b);
    }
  }
  template <class A, class B>
  static bool equal(const fanin::tuple<A, B>& a, const fanin::tuple<A, B>& b) {
    return same(fanin::get<0>(a), fanin::get<0>(b)) && same(fanin::get<1>(a), fanin::get<1>(b));
  }
};

using kinds = ::testing::Types<rows::thread_partials, rows::shared_tree, rows::global_interleaved, rows::shared_shuffle,
                               rows::global_halving, rows::one_pass_bulk, rows::cluster>;
TYPED_TEST_SUITE(catalogue_accumulators, kinds, row_names);

TYPED_TEST(catalogue_accumulators, of_600_bytes) { this->check(wide_counts{}); }

TYPED_TEST(catalogue_accumulators, a_large_spill_beside_a_small_reducer) {
  this->check(histogram{}, fanin::max_loc<std::uint32_t>{});
}

TYPED_TEST(catalogue_accumulators, a_small_spill) { this->check(small_tally{5}); }

TYPED_TEST(catalogue_accumulators, a_small_spill_beside_a_small_reducer) {
  this->check(octal_digits{}, fanin::sum<std::uint32_t>{});
}

using catalogue_own = gpu_test;

/// 10 KiB of counters, chosen by the value from digit `Shift` on.
template <int Shift>
struct many_counts {
  static constexpr int bins = 1'280;
  struct counters {
    std::int64_t count[bins];
  };
  using value_type = std::uint32_t;
  using accumulator_type = counters;
  using result_type = std::uint64_t;
  FANIN_FUNCTION counters identity() const { return counters{}; }
  FANIN_FUNCTION void fold(counters& acc, std::uint32_t value, std::int64_t) const {
    ++acc.count[(value >> Shift) % bins];
  }
  FANIN_FUNCTION void join(counters& into, const counters& from) const {
    for (int i = 0; i < bins; ++i) into.count[i] += from.count[i];
  }
  FANIN_FUNCTION std::uint64_t result(const counters& acc) const {
    std::uint64_t checksum = 0;
    for (int i = 0; i < bins; ++i) {
      checksum += mix(static_cast<std::uint64_t>(i)) * static_cast<std::uint64_t>(acc.count[i]);
    }
    return checksum;
  }
};

/// Two accumulators of which a slot would hold each, and not both: they travel together.
TEST_F(catalogue_own, accumulators_that_need_a_larger_slot_together) {
  fanin::cuda gpu;
  const mirrored<std::uint32_t> x(gpu, make_data<std::uint32_t>(data::random_signed, 5'003));
  for (const std::size_t n : {std::size_t{1}, std::size_t{33}, std::size_t{5'003}}) {
    const auto got = fanin::reduce(gpu, x.there(0, n), many_counts<0>{}, many_counts<13>{});
    const auto expected = fanin::reduce(fanin::serial{}, x.host(0, n), many_counts<0>{}, many_counts<13>{});
    EXPECT_EQ(fanin::get<0>(got), fanin::get<0>(expected)) << "n = " << n;
    EXPECT_EQ(fanin::get<1>(got), fanin::get<1>(expected)) << "n = " << n;
  }
}

/// Each fits a shuffle; one of every warp's are too many for shared memory.
template <std::size_t... I>
auto sums_of_octets(const octet* x, std::size_t n, fanin::cuda& gpu, std::index_sequence<I...>) {
  return fanin::parallel_reduce(fanin::range(gpu, n), at<octet>{x}, ((void)I, fanin::sum<octet>{})...);
}

TEST_F(catalogue_own, many_accumulators_that_travel_together) {
  fanin::cuda gpu;
  std::vector<octet> host(5'003);
  for (std::size_t i = 0; i < host.size(); ++i) host[i].lane[i % 8] = static_cast<std::int64_t>(i + 1);
  const mirrored<octet> x(gpu, host);
  const octet expected = fanin::reduce(fanin::serial{}, host, fanin::sum<octet>{});
  const auto got = sums_of_octets(x.there(0, host.size()).data(), host.size(), gpu, std::make_index_sequence<22>{});
  EXPECT_EQ(fanin::get<0>(got), expected);
  EXPECT_EQ(fanin::get<21>(got), expected);
}

/// Elements that cannot be made first and filled then.
struct made_whole {
  const std::int32_t number;
  explicit FANIN_FUNCTION made_whole(std::int32_t of) : number(of) {}
};
struct sum_of_made_whole {
  using value_type = made_whole;
  using accumulator_type = std::int64_t;
  FANIN_FUNCTION std::int64_t identity() const { return 0; }
  FANIN_FUNCTION void fold(std::int64_t& acc, const made_whole& value, std::int64_t) const { acc += value.number; }
  FANIN_FUNCTION void join(std::int64_t& into, std::int64_t from) const { into += from; }
};

TEST_F(catalogue_own, elements_without_a_default) {
  fanin::cuda gpu;
  const mirrored<std::int32_t> x(gpu, make_data<std::int32_t>(data::random_signed, 5'003));
  const auto whole = [](std::span<const std::int32_t> numbers) {
    return std::span(reinterpret_cast<const made_whole*>(numbers.data()), numbers.size());
  };
  EXPECT_EQ(fanin::reduce(gpu, whole(x.there(1, 5'000)), sum_of_made_whole{}),
            fanin::reduce(fanin::serial{}, whole(x.host(1, 5'000)), sum_of_made_whole{}));
}

/// A bulk copy's elements are folded from shared memory: by a span.
TEST_F(catalogue_own, bulk_copies_fold_into_spills) {
  fanin::cuda gpu;
  const std::size_t n = 200'003;
  const mirrored<std::uint32_t> x(gpu, make_data<std::uint32_t>(data::random_signed, n));
  const fanin::max_loc<std::uint32_t> most;
  try {
    const auto got = fanin::reduce(gpu.with<rows::one_pass_bulk>(), x.there(1, n - 1), histogram{}, most);
    const auto expected = fanin::reduce(fanin::serial{}, x.host(1, n - 1), histogram{}, most);
    EXPECT_EQ(fanin::get<0>(got), fanin::get<0>(expected));
    EXPECT_TRUE(is_same(fanin::get<1>(got), fanin::get<1>(expected)));
  } catch (const fanin::invalid_argument& refusal) {
    EXPECT_NE(std::string(refusal.what()).find("compute capability 9.0"), std::string::npos) << refusal.what();
    GTEST_SKIP() << refusal.what();
  }
}

/// Four accumulators of 64 bytes for each of 1024 threads are more than a block's shared memory on any device; without
/// a block size asked for, the block is as small as they need.
TEST_F(catalogue_own, what_does_not_fit_is_refused) {
  fanin::cuda gpu;
  const mirrored<octet> x(gpu, make_octets(5'003));
  const fanin::sum<octet> sum;
  expect_invalid(
      [&] {
        const auto view = gpu.with<rows::shared_tree>({.block_size = 1024});
        fanin::reduce(view, x.there(0, 5'003), sum, sum, sum, lanewise{});
      },
      "do not fit a multiprocessor; ask for a smaller block_size");
  const auto got = fanin::reduce(gpu.with<rows::shared_tree>(), x.there(0, 5'003), sum, sum, sum, lanewise{});
  const auto expected = fanin::reduce(fanin::serial{}, x.host(0, 5'003), sum, sum, sum, lanewise{});
  EXPECT_TRUE(fanin::get<0>(got) == fanin::get<0>(expected) && fanin::get<3>(got) == fanin::get<3>(expected));
  EXPECT_LE(gpu.last_launch().shared_bytes, 48U * 1024U);
}

template <class Strategy>
void check_own(fanin::cuda& gpu) {
  const auto x = integers(gpu);
  for (const std::size_t n : row_sizes()) {
    for (const int block : row_blocks()) expect_sum<Strategy>(gpu, x, n, {.block_size = block});
  }
}

TEST_F(catalogue_own, strategies_of_ones_own) {
  fanin::cuda gpu;
  check_own<by_thirds>(gpu);
  check_own<pairs_in_global_memory>(gpu);
  check_own<tuned_tree>(gpu);
  const auto x = integers(gpu);
  for (const std::size_t n : {std::size_t{6'000}, std::size_t{9'000}, std::size_t{12'000}})
    expect_sum<tuned_tree>(gpu, x, n, {});
}

}  // namespace
}  // namespace fanin_test
