// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cfenv>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/grid/tagged_units.cuh>
#include <fanin/cuda/grid/watching_block.cuh>
#include <fanin/cuda/kernel.cuh>
#include <fanin/cuda/launch.cuh>
#include <fanin/cuda/reducer/substitute.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/exact_limbs.hpp>
#include <fanin/reducers.hpp>
#include <fanin/tuple.hpp>

#include "support/data.hpp"
#include "support/same.hpp"

/// The host's order of joins in a blocking call against the watching block's, played thread by thread. Needs no GPU.
namespace fanin_test {
namespace {

/// A join that is neither associative nor commutative, so that the result tells the order. 0 is neutral.
struct order_of_joins {
  using value_type = std::uint64_t;
  FANIN_FUNCTION std::uint64_t identity() const { return 0; }
  FANIN_FUNCTION void join(std::uint64_t& into, const std::uint64_t& from) const {
    if (from != 0) into = into == 0 ? from : mix(3 * into + from) | 1;
  }
};

/// What the 32 lanes of a warp hold after shuffles: beyond the last lane, a lane gets its own value.
template <class Composite, class T>
void shuffle_as_warp(const Composite& c, T* lane) {
  for (std::size_t delta = 16; delta > 0; delta /= 2) {
    const std::vector<T> before(lane, lane + 32);
    for (std::size_t k = 0; k < 32; ++k) c.join(lane[k], before[k + delta < 32 ? k + delta : k]);
  }
}

/// watching_block::finish, in all threads of the watching block.
template <class Composite>
auto as_on_the_device(const Composite& c, const std::vector<typename Composite::accumulator_type>& partials,
                      std::size_t block_size, std::size_t most_of_first_warp) {
  using accumulator = typename Composite::accumulator_type;
  const std::size_t others = partials.size() - 1;
  if (others <= most_of_first_warp) block_size = 32;
  std::vector<accumulator> value(block_size, c.identity());
  value[0] = partials[others];
  for (std::size_t thread = 0; thread < block_size; ++thread) {
    for (std::size_t block = thread; block < others; block += block_size) c.join(value[thread], partials[block]);
  }
  const std::size_t warps = block_size / 32;
  std::vector<accumulator> of_warp(32, c.identity());
  for (std::size_t warp = 0; warp < warps; ++warp) {
    shuffle_as_warp(c, value.data() + 32 * warp);
    of_warp[warp] = value[32 * warp];
  }
  if (warps > 1) shuffle_as_warp(c, of_warp.data());
  return of_warp[0];
}

struct array {
  static constexpr bool has_vectors = true;
};
struct functor {
  static constexpr bool has_vectors = false;
};

template <class Composite, class Make>
void expect_the_same_order(const Composite& c, const Make& make) {
  for (int block_size = 32; block_size <= 1024; block_size += 32) {
    for (int count = 2; count <= 300; ++count) {
      std::vector<typename Composite::accumulator_type> partials;
      for (int k = 0; k < count; ++k) partials.push_back({make(static_cast<std::size_t>(k))});
      const auto partial = [&](int k) { return partials[static_cast<std::size_t>(k)]; };
      const auto size = static_cast<std::size_t>(block_size);
      // Of accumulators of up to 12 bytes the first warp takes so many.
      ASSERT_TRUE(is_same(fanin::detail::join_as_watched<array>(c, count, block_size, partial),
                          as_on_the_device(c, partials, size, 5 * 32)))
          << count << " blocks of " << block_size;
      ASSERT_TRUE(is_same(fanin::detail::join_as_watched<functor>(c, count, block_size, partial),
                          as_on_the_device(c, partials, size, 4 * 32)))
          << count << " blocks of " << block_size << ", of a functor";
    }
  }
}

TEST(cuda_watched_order, of_joins_that_tell_it) {
  expect_the_same_order(fanin::detail::make_composite(order_of_joins{}), [](std::size_t k) { return mix(k) | 1; });
}

TEST(cuda_watched_order, of_sums) {
  expect_the_same_order(fanin::detail::make_composite(fanin::sum<float>{}),
                        [](std::size_t k) { return element<float>(data::random_signed, k, 0); });
  expect_the_same_order(fanin::detail::make_composite(fanin::sum<double>{}),
                        [](std::size_t k) { return element<double>(data::huge_and_tiny, k, 0); });
}

/// Values whose words are settled before a unit's tag is made of them are all but those that have no bytes but theirs.
using fanin::detail::is_whole;
static_assert(is_whole<fanin::tuple<float>> && is_whole<fanin::tuple<double, std::int64_t>> &&
              is_whole<fanin::tuple<bool>>);
static_assert(is_whole<fanin::tuple<fanin::detail::exact_limbs<11, true>, double>>);
static_assert(!is_whole<fanin::tuple<fanin::detail::exact_limbs<8>, double>>);
static_assert(!is_whole<fanin::tuple<float, double>> && !is_whole<fanin::tuple<std::int64_t, float>>);
static_assert(!is_whole<fanin::tuple<fanin::value_index<float>>> && !is_whole<fanin::tuple<std::complex<float>>>);

/// What is left to the host: only joins that are the device's bit by bit.
template <class... Reducer>
constexpr bool posts() {
  using all = decltype(fanin::detail::substitute_composite(fanin::detail::composite<Reducer...>{}));
  return fanin::detail::may_post_partials<fanin::cuda_strategy::one_pass, all>;
}
static_assert(posts<fanin::sum<float>>() &&
              posts<fanin::sum<double>, fanin::min_loc<float>, fanin::max<std::int64_t>>());
static_assert(posts<fanin::sum<std::complex<double>>>() && posts<fanin::prod<float>>() && posts<fanin::band<int>>());
static_assert(!posts<fanin::prod<std::complex<double>>>() && !posts<fanin::prod<std::complex<float>>>());
static_assert(!posts<order_of_joins>() && !posts<fanin::sum<double>, order_of_joins>());

TEST(cuda_watched_order, is_followed_where_the_host_rounds_as_a_device) {
  EXPECT_TRUE(fanin::detail::rounds_as_device());
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    EXPECT_FALSE(fanin::detail::rounds_as_device()) << "rounding mode " << mode;
    std::fesetround(FE_TONEAREST);
  }
#if defined(__x86_64__)
  const unsigned usual = _mm_getcsr();
  for (const unsigned flushes : {0x8000u, 0x0040u}) {
    _mm_setcsr(usual | flushes);
    EXPECT_FALSE(fanin::detail::rounds_as_device()) << "MXCSR bit " << flushes;
    _mm_setcsr(usual);
  }
#endif
  EXPECT_TRUE(fanin::detail::rounds_as_device());
}

/// Whether a row that hands over tagged units gets memory that holds nothing else, and every other row plain memory.
template <class Strategy, class Reducer>
constexpr bool has_workspace_of_its_kind() {
  if constexpr (fanin::cuda_strategy_tag<Strategy>) {
    using all = fanin::detail::composite<Reducer>;
    using work = fanin::detail::workspace_of<Strategy, all>;
    constexpr bool holds_units = std::is_same_v<decltype(work::memory), fanin::detail::watched_memory>;
    return holds_units == fanin::detail::is_watched<Strategy, all> &&
           holds_units != requires(work w) { w.memory.partials; };
  } else {
    return true;
  }
}

TEST(cuda_watched_memory, is_of_a_type_of_its_own) {
  using fanin::cuda_stage::grid;
  fanin::cuda_catalogue::for_each([]<class Row>(Row) {
    using watched = fanin::cuda_strategy::finished_by<Row, grid::watching_block>;
    static_assert(has_workspace_of_its_kind<Row, fanin::sum<std::uint32_t>>());
    static_assert(has_workspace_of_its_kind<watched, fanin::sum<std::uint32_t>>());
    static_assert(has_workspace_of_its_kind<watched, fanin::min_max_loc<double>>());
  });
  SUCCEED() << "compiled";
}

/// The test's own means: another order shows.
TEST(cuda_watched_order, shows) {
  const auto c = fanin::detail::make_composite(order_of_joins{});
  auto forth = c.identity();
  auto back = c.identity();
  for (std::uint64_t k = 1; k <= 3; ++k) {
    c.join(forth, {k});
    c.join(back, {4 - k});
  }
  EXPECT_NE(forth, back);
}

}  // namespace
}  // namespace fanin_test
