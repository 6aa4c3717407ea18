// SPDX-License-Identifier: Apache-2.0

// What a GPU does with an exact sum, in its steps and on the host: threads that fold tiles, share one accumulator and
// join what they hold, and blocks whose accumulators are joined by many threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <fanin/fanin.hpp>

#include "exact/values.hpp"
#include "support/same.hpp"

namespace fanin_test {
namespace {

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

template <class T>
std::vector<T> uniform(std::size_t n, double low, double high, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> values(low, high);
  std::vector<T> x(n);
  for (T& element : x) element = static_cast<T>(values(random));
  return x;
}

/// Arrays that take every way through a window: one range, many ranges, none at all, and changes between them.
template <class T>
std::vector<std::vector<T>> telling_arrays(std::size_t n) {
  std::vector<std::vector<T>> arrays{uniform<T>(n, 0, 1, 1), uniform<T>(n, -1e30, 1e30, 2), of_all_exponents<T>(n, 3),
                                     std::vector<T>(n, std::numeric_limits<T>::denorm_min()),
                                     std::vector<T>(n, T{-0.0F})};
  std::vector<T> moderate_after_wild = of_all_exponents<T>(n, 4);
  const std::vector<T> small = uniform<T>(n, -1, 1, 5);
  for (std::size_t i = n / 3; i < n; ++i) moderate_after_wild[i] = small[i];
  arrays.push_back(moderate_after_wild);
  std::vector<T> spikes = small;
  for (std::size_t i = 7; i < n; i += 97) spikes[i] = std::numeric_limits<T>::max() / 4;
  for (std::size_t i = 55; i < n; i += 97) spikes[i] = -std::numeric_limits<T>::max() / 4;
  arrays.push_back(spikes);
  std::vector<T> rising(n);
  for (std::size_t i = 0; i < n; ++i) {
    rising[i] = std::ldexp(T{1}, std::numeric_limits<T>::min_exponent + static_cast<int>(i * 200 / n));
  }
  arrays.push_back(rising);
  for (const auto& specials : {std::vector<T>{infinity<T>}, std::vector<T>{infinity<T>, -infinity<T>},
                               std::vector<T>{std::numeric_limits<T>::quiet_NaN()}}) {
    arrays.push_back(small);
    for (std::size_t i = 0; i < specials.size() && i < n; ++i) arrays.back()[n - 1 - i] = specials[i];
  }
  return arrays;
}

/// Folds x as a GPU's thread does: tiles of Rows rows, the last of them with fewer.
template <int Rows, int Columns, class Reducer, class Value>
void fold_in_tiles(const Reducer& reducer, typename Reducer::thread_state& state, const std::vector<Value>& x) {
  constexpr std::size_t size = Rows * Columns;
  std::size_t at = 0;
  while (at + Columns <= x.size()) {
    const int rows = static_cast<int>(std::min<std::size_t>(Rows, (x.size() - at) / Columns));
    Value tile[size];
    for (std::size_t k = 0; k < size; ++k) {
      tile[k] = k / Columns < static_cast<std::size_t>(rows) ? x[at + k] : x[at + k % Columns];
    }
    reducer.template fold_tile<Rows, Columns>(state, tile, 0, 0, rows);
    at += static_cast<std::size_t>(rows) * Columns;
  }
  for (; at < x.size(); ++at) reducer.fold(state, x[at], 0);
}

template <int Rows, int Columns, class T>
void expect_sum_of_tiles(const std::vector<T>& x) {
  const fanin::exact_sum<T> reducer;
  const T expected = fanin::reduce(fanin::serial{}, x, reducer);
  auto scratch = reducer.identity();
  auto state = reducer.begin(scratch);
  fold_in_tiles<Rows, Columns>(reducer, state, x);
  reducer.flush(state, scratch);
  EXPECT_TRUE(same(reducer.result(scratch), expected)) << Rows << " rows of " << Columns << ", " << x.size();
}

template <class T>
class exact_protocol : public testing::Test {};
using element_types = testing::Types<float, double>;
TYPED_TEST_SUITE(exact_protocol, element_types);

TYPED_TEST(exact_protocol, tiles_of_any_shape) {
  for (const std::size_t n : {0, 1, 7, 100, 5'003, 40'000}) {
    for (const auto& x : telling_arrays<TypeParam>(n)) {
      expect_sum_of_tiles<4, 2>(x);
      expect_sum_of_tiles<4, 4>(x);
      expect_sum_of_tiles<8, 1>(x);
      expect_sum_of_tiles<1, 2>(x);
      expect_sum_of_tiles<5, 2>(x);  // as a strategy with five loads in flight would have it
      expect_sum_of_tiles<3, 4>(x);
    }
  }
}

TYPED_TEST(exact_protocol, infinities_and_nan_in_tiles) {
  using T = TypeParam;
  std::vector<T> x = uniform<T>(1'000, 0, 1, 6);
  x[501] = infinity<T>;
  expect_sum_of_tiles<4, 2>(x);
  x[20] = -infinity<T>;
  expect_sum_of_tiles<4, 2>(x);
  std::vector<T> wild = of_all_exponents<T>(1'000, 7);
  wild[999] = std::numeric_limits<T>::quiet_NaN();
  expect_sum_of_tiles<4, 4>(wild);
}

/// Numbers just below the top of a window that a smaller one has placed move its bins the most. More fillings of the
/// bins than a window's integers take.
TYPED_TEST(exact_protocol, ten_million_of_the_largest_numbers_of_a_window) {
  using T = TypeParam;
  constexpr int tiles = 1'250'000;
  constexpr int size = 8;
  const T largest = std::nextafter(T{16}, T{0});
  const fanin::exact_sum<T> reducer;
  fanin::exact_product_accumulator expected;
  expected.add(T{1});
  expected.add_product(static_cast<double>(tiles) * size, static_cast<double>(largest));

  T tile[size];
  std::fill_n(tile, size, largest);
  const auto fold_all = [&](const auto& fold) {
    auto scratch = reducer.identity();
    auto state = reducer.begin(scratch);
    reducer.fold(state, T{1}, 0);
    for (int k = 0; k < tiles; ++k) fold(state);
    reducer.flush(state, scratch);
    EXPECT_TRUE(same(reducer.result(scratch), expected.value_as<T>()));
  };
  fold_all([&](auto& state) { reducer.template fold_tile<4, 2>(state, tile, 0, 0, 4); });
  fold_all([&](auto& state) {
    for (const T element : tile) reducer.fold(state, element, 0);
  });

  std::vector<T> x(300'000, largest);
  std::fill_n(x.begin(), 256, T{1});  // what an array's first block is
  fanin::exact_product_accumulator of_array;
  of_array.add(T{256});
  of_array.add_product(static_cast<double>(x.size() - 256), static_cast<double>(largest));
  EXPECT_TRUE(same(fanin::reduce(fanin::serial{}, x, reducer), of_array.value_as<T>()));
}

/// More numbers past a window than an accumulator takes before carries are handed on.
TYPED_TEST(exact_protocol, so_many_misses_that_carries_are_handed_on) {
  constexpr std::size_t n = 900'000;
  const std::vector<TypeParam> x = of_all_exponents<TypeParam>(n, 8);
  fanin::exact_accumulator expected;
  for (const TypeParam element : x) expected.add(element);
  const fanin::exact_sum<TypeParam, fanin::exact_accumulator> reducer;
  auto scratch = reducer.identity();
  auto state = reducer.begin(scratch);
  fold_in_tiles<4, 2>(reducer, state, x);
  reducer.flush(state, scratch);
  EXPECT_EQ(reducer.result(scratch).serialise(), expected.serialise());
  const auto of_a_span = fanin::reduce(fanin::serial{}, x, reducer);
  EXPECT_EQ(of_a_span.serialise(), expected.serialise());
}

TEST(exact_protocol_of_products, tiles) {
  using reducer_type = fanin::detail::exact_product_sum<double>;
  const reducer_type reducer;
  for (const std::size_t n : {1, 100, 5'003}) {
    for (const auto& xs : telling_arrays<double>(n)) {
      const std::vector<double> ys(xs.rbegin(), xs.rend());
      std::vector<reducer_type::value_type> pairs(n);
      for (std::size_t i = 0; i < n; ++i) pairs[i] = {xs[i], ys[i]};
      auto scratch = reducer.identity();
      auto state = reducer.begin(scratch);
      fold_in_tiles<2, 2>(reducer, state, pairs);
      reducer.flush(state, scratch);
      auto of_odd_tiles = reducer.identity();
      auto odd_state = reducer.begin(of_odd_tiles);
      fold_in_tiles<3, 2>(reducer, odd_state, pairs);
      reducer.flush(odd_state, of_odd_tiles);
      fanin::exact_product_accumulator expected;
      for (std::size_t i = 0; i < n; ++i) expected.add_product(xs[i], ys[i]);
      EXPECT_EQ(scratch.serialise(), expected.serialise()) << n;
      EXPECT_EQ(of_odd_tiles.serialise(), expected.serialise()) << n;
      auto of_a_span = reducer.identity();
      auto other_state = reducer.begin(of_a_span);
      reducer.fold_span(other_state, pairs.data(), static_cast<std::int64_t>(n), 0);
      reducer.flush(other_state, of_a_span);
      EXPECT_EQ(of_a_span.serialise(), expected.serialise()) << n;
    }
  }
}

/// What lanes do who hold something each: all to the least scale, and what does not go there to scratch.
template <class Reducer>
int to_one_scale(const Reducer& reducer, std::vector<typename Reducer::flush_type>& held,
                 typename Reducer::accumulator_type& scratch) {
  int alone = 0;
  int least = std::numeric_limits<int>::max();
  for (const auto& each : held) least = std::min(least, reducer.scale(each));
  for (auto& each : held) {
    if (reducer.rescale(each, least)) continue;
    ++alone;
    reducer.deposit(each, scratch);
    EXPECT_TRUE(reducer.in_scratch(each));
    EXPECT_TRUE(reducer.rescale(each, least));
  }
  return alone;
}

/// The sum of a warp's lanes, which on a GPU all call at once: first every lane says what it would add, then every lane
/// gets the totals.
template <class Reducer>
void join_lanes(const Reducer& reducer, std::vector<typename Reducer::flush_type>& held) {
  std::array<std::uint32_t, 64> totals{};
  for (const auto& each : held) {
    auto copy = each;
    std::size_t call = 0;
    reducer.join_lanes(copy, [&](std::uint32_t x) {
      totals.at(call++) += x;
      return x;
    });
  }
  for (auto& each : held) {
    std::size_t call = 0;
    reducer.join_lanes(each, [&](std::uint32_t) { return totals[call++]; });
  }
}

template <class T>
bool same_result(const T& a, const T& b) {
  return same(a, b);
}
template <class T>
bool same_result(const std::complex<T>& a, const std::complex<T>& b) {
  return same(a.real(), b.real()) && same(a.imag(), b.imag());
}

/// What up to 32 lanes hold, joined in both ways that there are.
template <class Reducer>
typename Reducer::flush_type joined(const Reducer& reducer, std::vector<typename Reducer::flush_type> held,
                                    typename Reducer::accumulator_type& scratch, int& alone) {
  const typename Reducer::flush_type nothing{};
  EXPECT_EQ(reducer.scale(nothing), std::numeric_limits<int>::max());
  EXPECT_FALSE(reducer.in_scratch(nothing));
  alone += to_one_scale(reducer, held, scratch);
  auto one_by_one = held.front();
  for (std::size_t k = 1; k < held.size(); ++k) reducer.join(one_by_one, held[k]);
  join_lanes(reducer, held);
  for (const auto& each : held) {
    EXPECT_EQ(reducer.in_scratch(each), reducer.in_scratch(one_by_one));
    EXPECT_TRUE(same_result(reducer.result(each), reducer.result(one_by_one)));
  }
  return held.front();
}

/// What the threads of a block do at the end: the sum of what they hold is deposited once.
template <class Reducer>
void flush_joined(const Reducer& reducer, std::vector<typename Reducer::thread_state>& states,
                  typename Reducer::accumulator_type& scratch, int& alone) {
  std::vector<typename Reducer::flush_type> held;
  for (auto& state : states) held.push_back(reducer.drain(state));
  auto sum = joined(reducer, held, scratch, alone);
  reducer.deposit(sum, scratch);
  EXPECT_EQ(reducer.scale(sum), std::numeric_limits<int>::max());
}

TYPED_TEST(exact_protocol, threads_of_a_block_and_blocks_of_a_grid) {
  using reducer_type = fanin::exact_sum<TypeParam>;
  using accumulator = typename reducer_type::accumulator_type;
  const reducer_type reducer;
  constexpr std::size_t threads = 32;
  int alone = 0;
  for (const std::size_t n : {0, 3, 1'000, 30'000}) {
    for (const auto& x : telling_arrays<TypeParam>(n)) {
      const TypeParam expected = fanin::reduce(fanin::serial{}, x, reducer);
      for (const std::size_t blocks : {1, 2, 9, 40}) {
        std::vector<accumulator> partials(blocks, reducer.identity());
        for (std::size_t b = 0; b < blocks; ++b) {
          std::vector<typename reducer_type::thread_state> states;
          for (std::size_t t = 0; t < threads; ++t) {
            states.push_back(reducer.begin(partials[b]));
            std::vector<TypeParam> share;
            for (std::size_t i = b * threads + t; i < n; i += blocks * threads) share.push_back(x[i]);
            fold_in_tiles<4, 2>(reducer, states.back(), share);
          }
          flush_joined(reducer, states, partials[b], alone);
        }
        for (const unsigned workers : {1U, 32U, 100U, 1'024U}) {
          accumulator total = partials[0];
          const auto of = [&](unsigned k) -> const accumulator& { return partials[k + 1]; };
          for (unsigned worker = 0; worker < workers; ++worker) {
            reducer.join_shared(total, of, static_cast<unsigned>(blocks) - 1, worker, workers);
          }
          EXPECT_TRUE(same(reducer.result(total), expected)) << n << ", " << blocks << ", " << workers;
        }
      }
    }
  }
  EXPECT_GT(alone, 0) << "no array had ranges that are too far apart for one scale";
}

/// What blocks hand the one that watches for them: what they drained, and scratch only where something is there.
TYPED_TEST(exact_protocol, blocks_that_hand_over_what_they_drained) {
  using reducer_type = fanin::exact_sum<TypeParam>;
  using accumulator = typename reducer_type::accumulator_type;
  const reducer_type reducer;
  constexpr std::size_t threads = 32;
  int alone = 0;
  int without_scratch = 0;
  int with_scratch = 0;
  for (const std::size_t n : {1, 3, 1'000, 30'000}) {
    for (const auto& x : telling_arrays<TypeParam>(n)) {
      const TypeParam expected = fanin::reduce(fanin::serial{}, x, reducer);
      for (const std::size_t blocks : {1, 2, 9, 32}) {
        std::vector<accumulator> scratches(blocks, reducer.identity());
        std::vector<typename reducer_type::flush_type> parcels;
        for (std::size_t b = 0; b < blocks; ++b) {
          std::vector<typename reducer_type::flush_type> held;
          for (std::size_t t = 0; t < threads; ++t) {
            auto state = reducer.begin(scratches[b]);
            std::vector<TypeParam> share;  // one after the other: a block has numbers of a kind
            for (std::size_t i = b * n / blocks + t; i < (b + 1) * n / blocks; i += threads) share.push_back(x[i]);
            fold_in_tiles<4, 2>(reducer, state, share);
            held.push_back(reducer.drain(state));
          }
          parcels.push_back(joined(reducer, held, scratches[b], alone));
        }
        accumulator scratch = reducer.identity();
        std::vector<const accumulator*> left;
        for (std::size_t b = 0; b < blocks; ++b) {
          if (reducer.in_scratch(parcels[b])) {
            left.push_back(&scratches[b]);
          } else {
            EXPECT_EQ(scratches[b].serialise(), accumulator{}.serialise());
          }
        }
        const auto of = [&](unsigned k) -> const accumulator& { return *left[k]; };
        for (unsigned worker = 0; worker < 64; ++worker) {
          reducer.join_shared(scratch, of, static_cast<unsigned>(left.size()), worker, 64);
        }
        auto total = joined(reducer, parcels, scratch, alone);
        if (reducer.in_scratch(total)) {
          ++with_scratch;
          reducer.deposit(total, scratch);
          EXPECT_TRUE(same(reducer.result(scratch), expected)) << n << ", " << blocks;
        } else {
          ++without_scratch;
          EXPECT_TRUE(same(reducer.result(total), expected)) << n << ", " << blocks;
        }
      }
    }
  }
  EXPECT_GT(alone, 0);
  EXPECT_GT(with_scratch, 0);
  EXPECT_GT(without_scratch, 0);
}

/// The sum of a window for the largest arrays there can be: what it holds is far above its top.
TYPED_TEST(exact_protocol, what_was_drained_takes_more_than_a_window) {
  using reducer_type = fanin::exact_sum<TypeParam>;
  const reducer_type reducer;
  for (const TypeParam sign : {TypeParam{1}, TypeParam{-1}}) {
    typename reducer_type::accumulator_type scratch;
    auto state = reducer.begin(scratch);
    for (int i = 0; i < 3'000; ++i) reducer.fold(state, sign * TypeParam{1.75}, i);
    reducer.fold(state, sign * std::ldexp(TypeParam{1}, -30), 0);
    auto held = reducer.drain(state);
    TypeParam expected = sign * 3'000 * TypeParam{1.75};
    int doublings = 0;
    for (; doublings < 40; ++doublings) {
      const auto copy = held;
      ASSERT_TRUE(reducer.rescale(held, reducer.scale(held))) << doublings;
      reducer.join(held, copy);
    }
    expected = std::ldexp(static_cast<TypeParam>(sign * (3'000 * 1.75L + std::ldexp(1.0L, -30))), doublings);
    EXPECT_FALSE(reducer.in_scratch(held));
    EXPECT_EQ(reducer.result(held), expected);
    for (const int down : {1, 10, 20, 22, 23, 60}) {
      auto lower = held;
      EXPECT_FALSE(reducer.rescale(lower, reducer.scale(held) - down) && down > 10) << down;
      EXPECT_EQ(reducer.result(lower), expected) << down;
    }
  }
}

/// Numbers with all their bits at every distance from the window's top, so that each bin takes its last bit once.
TYPED_TEST(exact_protocol, every_distance_from_the_top) {
  using T = TypeParam;
  for (int down = 0; down < 140; ++down) {
    const T number = std::ldexp(std::nextafter(T{2}, T{0}), -down);
    if (number < std::numeric_limits<T>::min()) break;
    std::vector<T> x(8, T{1});
    x.insert(x.end(), 16, number);
    x.insert(x.end(), 8, T{-1});
    SCOPED_TRACE(down);
    expect_sum_of_tiles<4, 2>(x);
    x.assign(8, T{1});
    for (int i = 0; i < 4; ++i) x.insert(x.end(), {number, T{0}, T{0}, number});
    x.insert(x.end(), 8, T{-1});
    expect_sum_of_tiles<4, 2>(x);
  }
}

/// However many numbers went to scratch, the sum says that there are some: carries begin the count anew.
TYPED_TEST(exact_protocol, what_is_in_scratch_is_never_forgotten) {
  const fanin::exact_sum<TypeParam> reducer;
  auto scratch = reducer.identity();
  auto state = reducer.begin(scratch);
  EXPECT_FALSE(reducer.in_scratch(reducer.drain(state)));
  int forgotten = 0;
  for (int i = 0; i < (1 << 18) + 100; ++i) {
    reducer.fold(state, infinity<TypeParam>, i);
    forgotten += reducer.in_scratch(reducer.drain(state)) ? 0 : 1;
  }
  EXPECT_EQ(forgotten, 0);
}

/// The inner loop of a GPU: tiles by the greatest effort among a warp's lanes.
TYPED_TEST(exact_protocol, tiles_by_effort) {
  using reducer_type = fanin::exact_sum<TypeParam>;
  const reducer_type reducer;
  constexpr std::size_t count = 8;
  std::vector<unsigned> seen(3, 0);
  auto arrays = telling_arrays<TypeParam>(20'000);
  std::vector<TypeParam> sparse(20'000);
  for (std::size_t i = 0; i < sparse.size(); i += 11) sparse[i] = static_cast<TypeParam>(1 + i % 7);
  arrays.push_back(sparse);
  std::vector<TypeParam> with_denormals = uniform<TypeParam>(20'000, 0.5, 1, 8);
  for (std::size_t i = 0; i < with_denormals.size(); i += 101) {
    with_denormals[i] = std::numeric_limits<TypeParam>::denorm_min();
  }
  arrays.push_back(with_denormals);
  std::vector<TypeParam> of_more_bins = uniform<TypeParam>(20'000, 0.5, 1, 9);
  for (std::size_t i = 0; i < of_more_bins.size(); i += 57) of_more_bins[i] = std::ldexp(of_more_bins[i], -40);
  arrays.push_back(of_more_bins);
  for (const auto& x : arrays) {
    typename reducer_type::accumulator_type scratch;
    auto state = reducer.begin(scratch);
    for (std::size_t i = 0; i + count <= x.size(); i += count) {
      const unsigned effort = reducer.template effort<count>(state, &x[i]);
      if (effort <= 1) {
        const unsigned other_lanes = i / count % 5 == 0 ? 1 : 0;
        reducer.template fold_easy<count>(state, &x[i], std::max(effort, other_lanes));
        ++seen[effort];
      } else {
        reducer.template fold_tile<4, 2>(state, &x[i], 0, 2, 4);
        ++seen[2];
      }
    }
    reducer.flush(state, scratch);
    EXPECT_TRUE(same(reducer.result(scratch), fanin::reduce(fanin::serial{}, x, reducer)));
  }
  for (const unsigned times : seen) EXPECT_GT(times, 100U);
}

TEST(exact_protocol_of_complex_numbers, parts_of_one_scale_and_of_far_ones) {
  using reducer_type = fanin::exact_sum<std::complex<double>>;
  const reducer_type reducer;
  for (const double imaginary : {1.0, 0.0, 1e-40}) {
    std::vector<reducer_type::accumulator_type> partials(5, reducer.identity());
    int alone = 0;
    for (auto& partial : partials) {
      std::vector<reducer_type::thread_state> states;
      for (int t = 0; t < 8; ++t) {
        states.push_back(reducer.begin(partial));
        for (int i = 0; i < 10; ++i) states.back() += std::complex<double>(t + i, imaginary);
      }
      flush_joined(reducer, states, partial, alone);
    }
    EXPECT_EQ(alone, imaginary == 1e-40 ? 5 * 8 : 0);
    auto total = partials[0];
    const auto of = [&](unsigned k) -> const auto& { return partials[k + 1]; };
    for (unsigned worker = 0; worker < 100; ++worker) reducer.join_shared(total, of, 4, worker, 100);
    EXPECT_EQ(reducer.result(total).real(), 5 * (8 * 45 + 10 * 28));
    fanin::exact_accumulator expected;
    for (int i = 0; i < 400; ++i) expected.add(imaginary);
    EXPECT_EQ(reducer.result(total).imag(), expected.value());
  }
}

}  // namespace
}  // namespace fanin_test
