// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "spaces.hpp"
#include "support/denormals.hpp"
#include "support/in_lanes.hpp"
#include "support/in_order.hpp"
#include "support/same.hpp"

// What a thread of a host space folds in vectors and blocks, against the serial backend: at sizes around both, with
// NaN of either sign, zeros of either sign, infinities and ties in every place.

namespace {

using fanin_test::same;

/// Once, and not in every one of some hundred instances.
void expect_same(bool is_same, const char* form, const char* what, std::int64_t n) {
  EXPECT_TRUE(is_same) << what << ", " << form << ", n = " << n;
}

/// The span, f(i), f(i, acc&), and f(i) from an index other than 0.
template <class Space, class Reducer, class T>
void compare(const std::vector<T>& values, Reducer reducer, const char* what) {
  fanin::kokkos<Space> exec;
  const fanin::serial oracle = fanin_test::in_order;
  const auto n = static_cast<std::int64_t>(values.size());
  const load<T> f{values.data()};
  const fold_in<Reducer> g{values.data(), reducer};
  const auto expected = fanin::reduce(oracle, values, reducer);
  const auto range = fanin::range(exec, n);
  expect_same(same(fanin::reduce(exec, values, reducer), expected), "span", what, n);
  expect_same(same(fanin::parallel_reduce(range, f, reducer), expected), "f(i)", what, n);
  expect_same(same(fanin::parallel_reduce(range, g, reducer), expected), "f(i, acc)", what, n);
  expect_same(same(fanin::parallel_reduce(fanin::range(exec, n / 3, n), f, reducer),
                   fanin::parallel_reduce(fanin::range(oracle, n / 3, n), f, reducer)),
              "f(i) from n / 3", what, n);
}

template <class Space, class T>
void compare_all(const std::vector<T>& values, const char* what) {
  compare<Space>(values, fanin::min<T>{}, what);
  compare<Space>(values, fanin::max<T>{}, what);
  compare<Space>(values, fanin::min_max<T>{}, what);
  compare<Space>(values, fanin::min_loc<T>{}, what);
  compare<Space>(values, fanin::max_loc<T>{}, what);
  compare<Space>(values, fanin::min_max_loc<T>{}, what);
}

/// Around one vector, eight accumulators, a block of 8 KiB, two threads' blocks.
template <class T>
std::vector<std::size_t> sizes() {
  constexpr std::size_t block = 8192 / sizeof(T);
  std::vector<std::size_t> list;
  for (std::size_t n = 0; n <= 70; ++n) list.push_back(n);
  for (const std::size_t n : {block - 1, block, block + 1, 2 * block, 2 * block + 17, 5 * block + 3}) list.push_back(n);
  return list;
}

template <class T>
std::vector<T> some_of(const std::vector<T>& choice, std::size_t n, std::uint64_t seed) {
  std::mt19937_64 engine(seed + n);
  std::uniform_int_distribution<std::size_t> pick(0, choice.size() - 1);
  std::vector<T> values(n);
  for (T& value : values) value = choice[pick(engine)];
  return values;
}

template <class T>
std::vector<T> spread(std::size_t n) {
  std::mt19937_64 engine(n);
  std::vector<T> values(n);
  for (T& value : values) {
    if constexpr (std::is_floating_point_v<T>) {
      value = std::uniform_real_distribution<T>(-1, 1)(engine);
    } else {
      value = static_cast<T>(engine());
    }
  }
  return values;
}

template <class Space, class T>
void floats() {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const T zero = 0;
  for (const std::size_t n : sizes<T>()) {
    compare_all<Space>(spread<T>(n), "uniform");
    compare_all<Space>(some_of<T>({-zero, zero}, n, 1), "zeros");
    compare_all<Space>(std::vector<T>(n, -zero), "-0");
    compare_all<Space>(some_of<T>({-zero, zero, T{1}}, n, 2), "zeros and 1");
    compare_all<Space>(some_of<T>({-zero, zero, T{-1}}, n, 3), "zeros and -1");
    compare_all<Space>(std::vector<T>(n, infinity), "infinity");
    compare_all<Space>(std::vector<T>(n, -infinity), "-infinity");
    compare_all<Space>(some_of<T>({infinity, -infinity, nan}, n, 4), "infinities and NaN");
    compare_all<Space>(some_of<T>({nan, -nan}, n, 5), "NaN");
  }
  // One odd element, in every place of a vector, of a block's end and beginning.
  for (const std::size_t n : {std::size_t{67}, 8192 / sizeof(T) + 35}) {
    for (std::size_t at = 0; at < n; at += at < 70 || at > n - 70 ? 1 : 61) {
      for (const T odd : {nan, -nan, -zero, zero, T{-2}, T{2}, infinity}) {
        for (const T other : {T{1}, T{-1}, zero, -zero}) {
          std::vector<T> values(n, other);
          values[at] = odd;
          fanin::kokkos<Space> exec;
          const fanin::serial oracle = fanin_test::in_order;
          const fanin::min_max_loc<T> both;
          EXPECT_TRUE(same(fanin::reduce(exec, values, both), fanin::reduce(oracle, values, both)))
              << odd << " at " << at << " of " << n << " times " << other;
        }
      }
    }
  }
}

template <class Space, class T>
void integers() {
  for (const std::size_t n : sizes<T>()) {
    compare_all<Space>(spread<T>(n), "uniform");
    compare_all<Space>(some_of<T>({std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}, n, 1), "limits");
    compare_all<Space>(std::vector<T>(n, std::numeric_limits<T>::max()), "largest");
    compare_all<Space>(std::vector<T>(n, std::numeric_limits<T>::lowest()), "lowest");
  }
}

template <class Space>
using kokkos_host_fold = kokkos_case<Space>;
// One space: what a thread folds does not depend on it, and the instances take half a minute to compile.
using one_space = testing::Types<Kokkos::DefaultHostExecutionSpace>;
TYPED_TEST_SUITE(kokkos_host_fold, one_space);

TYPED_TEST(kokkos_host_fold, extremes_of_floats) { floats<TypeParam, float>(); }
TYPED_TEST(kokkos_host_fold, extremes_of_doubles) { floats<TypeParam, double>(); }
/// One of each width; the library's loops have every type in core/host_loops_test.cpp.
TYPED_TEST(kokkos_host_fold, extremes_of_integers) {
  integers<TypeParam, std::int8_t>();
  integers<TypeParam, std::uint16_t>();
  integers<TypeParam, std::uint32_t>();
  integers<TypeParam, std::int64_t>();
}

#if defined(__SSE2__)
/// Flush-to-zero and denormals-are-zero in this thread and in all of OpenMP's.
class flushing {
 public:
  flushing() : before_{_mm_getcsr()} { set(before_ | 0x8040); }
  ~flushing() { set(before_); }
  flushing(const flushing&) = delete;
  flushing& operator=(const flushing&) = delete;

 private:
  static void set(unsigned control) {
    _mm_setcsr(control);
#if defined(_OPENMP)
#pragma omp parallel
    _mm_setcsr(control);
#endif
  }
  unsigned before_;
};

/// Serial's six extremes by the integers', then those of the space by serial's.
template <class Space, class T>
void extremes_while_flushing() {
  const flushing mode;
  for (const std::size_t n : {1, 2, 17, 64, 1024, 5000}) {
    for (const auto& values : fanin_test::arrays_of_denormals<T>(n)) {
      const auto right = fanin_test::extremes_by_integers(values);
      const fanin::serial oracle = fanin_test::in_order;
      EXPECT_TRUE(same(fanin::reduce(oracle, values, fanin::min_max_loc<T>{}), right)) << n;
      EXPECT_TRUE(same(fanin::reduce(oracle, values, fanin::min_max<T>{}), {right.min, right.max})) << n;
      EXPECT_TRUE(same(fanin::reduce(oracle, values, fanin::min_loc<T>{}), {right.min, right.min_index})) << n;
      EXPECT_TRUE(same(fanin::reduce(oracle, values, fanin::max_loc<T>{}), {right.max, right.max_index})) << n;
      EXPECT_TRUE(same(fanin::reduce(oracle, values, fanin::min<T>{}), right.min)) << n;
      EXPECT_TRUE(same(fanin::reduce(oracle, values, fanin::max<T>{}), right.max)) << n;
      compare_all<Space>(values, "denormals");
    }
    const std::vector<T> least(n, std::numeric_limits<T>::denorm_min());
    const fanin::kokkos<Space> exec;
    EXPECT_EQ(fanin::reduce(exec, least, fanin::land<T>{}), 1) << n;
    EXPECT_EQ(fanin::reduce(exec, least, fanin::lor<T>{}), 1) << n;
    compare_all<Space>(some_of<T>({T{0}, -T{0}, T{1}, std::numeric_limits<T>::quiet_NaN()}, n, 6), "zeros and NaN");
  }
}

TYPED_TEST(kokkos_host_fold, extremes_while_denormals_count_as_zero) {
  extremes_while_flushing<TypeParam, float>();
  extremes_while_flushing<TypeParam, double>();
}
#endif

/// Each reducer goes over the block by itself; f is called once for every index all the same.
TYPED_TEST(kokkos_host_fold, several_reducers_read_one_block) {
  struct counted {
    const std::int32_t* data;
    std::int32_t* calls;
    std::int32_t operator()(std::int64_t i) const {
      ++calls[i];
      return data[i];
    }
  };
  fanin::kokkos<TypeParam> exec;
  const fanin::min_loc<std::int32_t> least;
  const fanin::sum<std::int32_t> sum;
  const fanin::max<std::int32_t> most;
  for (const std::size_t n : sizes<std::int32_t>()) {
    const auto values = spread<std::int32_t>(n);
    std::vector<std::int32_t> calls(n);
    const auto expected = fanin::reduce(fanin_test::in_order, values, least, sum, most);
    EXPECT_EQ(fanin::reduce(exec, values, least, sum, most), expected) << n;
    const auto range = fanin::range(exec, n);
    EXPECT_EQ(fanin::parallel_reduce(range, counted{values.data(), calls.data()}, least, sum, most), expected) << n;
    EXPECT_EQ(calls, std::vector<std::int32_t>(n, 1)) << n;
  }
}

/// A value that differs for each reducer, or that has to be converted first.
TYPED_TEST(kokkos_host_fold, values_that_are_not_the_reducers_own) {
  fanin::kokkos<TypeParam> exec;
  const auto values = spread<double>(5000);
  const double* const x = values.data();
  const auto halves = [=](std::int64_t i) { return static_cast<float>(x[i]) / 2; };
  const auto pairs = [=](std::int64_t i) { return fanin::tuple{x[i], -x[i]}; };
  const fanin::serial oracle = fanin_test::in_order;
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec, 5000), halves, fanin::min_loc<double>{}),
            fanin::parallel_reduce(fanin::range(oracle, 5000), halves, fanin::min_loc<double>{}));
  EXPECT_EQ(
      fanin::parallel_reduce(fanin::range(exec, 5000), pairs, fanin::min_loc<double>{}, fanin::max_loc<double>{}),
      fanin::parallel_reduce(fanin::range(oracle, 5000), pairs, fanin::min_loc<double>{}, fanin::max_loc<double>{}));
}

/// Of whole numbers, whose sum is exact in every order: each thread reads its share of both arrays.
TYPED_TEST(kokkos_host_fold, dot_products) {
  fanin::kokkos<TypeParam> exec;
  for (const std::size_t n : sizes<double>()) {
    std::vector<double> x(n), y(n);
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = static_cast<double>(i % 17) - 8;
      y[i] = static_cast<double>(i % 23);
      expected += x[i] * y[i];
    }
    EXPECT_EQ(fanin::transform_reduce(exec, x, y, std::multiplies<>{}, fanin::sum<double>{}), expected) << n;
  }
}

/// In lanes, each thread its share: sums differ by rounding only, and not from run to run. On one thread those over an
/// array are serial's, bit for bit.
TYPED_TEST(kokkos_host_fold, sums) {
  fanin::kokkos<TypeParam> exec;
  for (const std::size_t n : sizes<float>()) {
    const auto values = spread<float>(n);
    const auto words = spread<std::uint64_t>(n);
    EXPECT_EQ(fanin::reduce(exec, words, fanin::sum<std::uint64_t>{}),
              fanin::reduce(fanin_test::in_order, words, fanin::sum<std::uint64_t>{}))
        << n;
    const float sum = fanin::reduce(exec, values, fanin::sum<float>{});
    const double exact = fanin::parallel_reduce(
        fanin::range(fanin_test::in_order, n),
        [&](std::int64_t i) { return static_cast<double>(values[static_cast<std::size_t>(i)]); }, fanin::sum<double>{});
    EXPECT_NEAR(static_cast<double>(sum), exact, 1.2e-7 * static_cast<double>(n * n)) << n;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(fanin::reduce(exec, values, fanin::sum<float>{})),
              std::bit_cast<std::uint32_t>(sum))
        << n;
    if (exec.space().concurrency() == 1) {
      EXPECT_EQ(sum, fanin_test::sum_in_lanes(std::span<const float>(values))) << n;
    }
  }
}

/// 1 / (i + 1), whose sum tells in which order it is added up; some indices take long, others in each run.
struct slow_at_random {
  unsigned run;
  float operator()(std::int64_t i) const {
    if ((static_cast<std::uint64_t>(i) * 2654435761U + run * 40503U) % 1'009 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return 1.0F / static_cast<float>(i + 1);
  }
};
struct add_slow_at_random {
  slow_at_random f;
  void operator()(std::int64_t i, float& acc) const { acc += f(i); }
};

/// The sums of chunks, one after the other.
float sum_of_chunks(std::int64_t n, std::int64_t chunk, const slow_at_random& f) {
  float total = 0;
  for (std::int64_t begin = 0; begin < n; begin += chunk) {
    fanin::tuple<float> part{};
    fanin::detail::fold_on_host(f, fanin::detail::make_composite(fanin::sum<float>{}), begin,
                                std::min(begin + chunk, n), part);
    total += get<0>(part);
  }
  return total;
}

/// Whichever thread is done first.
TYPED_TEST(kokkos_host_fold, dynamic_schedules_give_the_same_bits) {
  fanin::kokkos<TypeParam> exec;
  constexpr std::int64_t n = 20'011;
  for (const std::int64_t chunk : {0, 1, 64, 1'000, 1'000'000}) {
    const auto view = exec.with({.schedule = fanin::schedule::dynamic, .chunk = chunk});
    const float expected = sum_of_chunks(n, chunk == 0 ? n / 1'024 + 1 : chunk, slow_at_random{0});
    for (unsigned run = 0; run < 20; ++run) {
      const auto range = fanin::range(view, n);
      EXPECT_TRUE(same(fanin::parallel_reduce(range, slow_at_random{run}, fanin::sum<float>{}), expected)) << chunk;
      EXPECT_TRUE(same(fanin::parallel_reduce(range, add_slow_at_random{{run}}, fanin::sum<float>{}), expected))
          << chunk;
    }
  }
}

/// Marks at to[i].
struct mark_visits {
  std::int32_t* to;
  std::int64_t first;
  std::int64_t operator()(std::int64_t i) const {
    ++to[i - first];
    return i;
  }
};

TYPED_TEST(kokkos_host_fold, dynamic_schedules_visit_every_index_once) {
  fanin::kokkos<TypeParam> exec;
  for (const auto how : {fanin::schedule::fixed, fanin::schedule::dynamic}) {
    for (const std::int64_t chunk : {0, 1, 3, 100'000}) {
      for (const std::int64_t n : {0, 1, 2, 1'023, 70'001}) {
        const auto view = exec.with({.schedule = how, .chunk = chunk});
        const std::int64_t first = -5;
        std::vector<std::int32_t> visits(static_cast<std::size_t>(n), 0);
        const mark_visits f{visits.data(), first};
        const auto range = fanin::range(view, first, first + n);
        const std::int64_t expected = n * first + n * (n - 1) / 2;
        EXPECT_EQ(fanin::parallel_reduce(range, f, fanin::sum<std::int64_t>{}), expected) << n << " by " << chunk;
        std::int64_t out = 0;
        fanin::parallel_reduce_into(&out, range, f, fanin::sum<std::int64_t>{});
        EXPECT_EQ(out, expected);
        EXPECT_EQ(fanin::parallel_reduce_async(range, f, fanin::sum<std::int64_t>{}).get(), expected);
        fanin::parallel_for(range, f);
        view.synchronize();
        EXPECT_EQ(visits, std::vector<std::int32_t>(static_cast<std::size_t>(n), 4)) << n << " by " << chunk;
        EXPECT_EQ(fanin::reduce(view, visits, fanin::sum<std::int32_t>{}), 4 * n);
      }
    }
  }
  // Of one index each there are more chunks than a reduction makes partial results.
  EXPECT_EQ(fanin::detail::chunks_of(0, 70'001, 1, 65'536).items(), 35'001);
  EXPECT_EQ(fanin::detail::chunks_of(0, INT64_MAX, INT64_MAX, 65'536).items(), 1);
  EXPECT_THROW(exec.with({.schedule = fanin::schedule::dynamic, .chunk = -1}), fanin::invalid_argument);
}

/// The first indices take all the time.
struct slow_beginning {
  std::int64_t slow;
  std::thread::id* by;
  std::int64_t operator()(std::int64_t i) const {
    if (i < slow) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    by[i] = std::this_thread::get_id();
    return i;
  }
};

TYPED_TEST(kokkos_host_fold, dynamic_schedules_share_uneven_work) {
  fanin::kokkos<TypeParam> exec;
  if (exec.space().concurrency() < 2) GTEST_SKIP() << "one thread";
  constexpr std::int64_t slow = 32;  // the first thread's
  const std::int64_t n = slow * exec.space().concurrency();
  std::vector<std::thread::id> by(static_cast<std::size_t>(n));
  const slow_beginning f{slow, by.data()};
  const auto threads_of_the_slow = [&] {
    std::set<std::thread::id> threads(by.begin(), by.begin() + f.slow);
    return threads.size();
  };
  const auto view = exec.with({.schedule = fanin::schedule::dynamic, .chunk = 1});
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(view, n), f, fanin::sum<std::int64_t>{}), n * (n - 1) / 2);
  EXPECT_GT(threads_of_the_slow(), 1U);
  fanin::parallel_for(fanin::range(view, n), f);
  EXPECT_GT(threads_of_the_slow(), 1U);
  fanin::parallel_reduce(fanin::range(exec, n), f, fanin::sum<std::int64_t>{});
  EXPECT_EQ(threads_of_the_slow(), 1U);
}

}  // namespace
