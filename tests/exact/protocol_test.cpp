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
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <fanin/fanin.hpp>

#include "exact/values.hpp"
#include "support/same.hpp"

namespace fanin_test {
namespace {

template <class R>
using partial_of = typename fanin::gathering_t<R>::partial_type;

/// The functions of a reducer's gathering.
template <class R>
auto begin(const R& reducer, typename R::accumulator_type& spill) {
  return fanin::gathering_t<R>::begin(reducer, spill);
}
template <class R>
void finish(const R& reducer, typename R::thread_state& state, typename R::accumulator_type& spill) {
  fanin::gathering_t<R>::finish(reducer, state, spill);
}
template <class R>
auto drain(const R& reducer, typename R::thread_state& state) {
  return fanin::gathering_t<R>::drain(reducer, state);
}
template <class R>
void deposit(const R& reducer, partial_of<R>& held, typename R::accumulator_type& spill) {
  fanin::gathering_t<R>::deposit(reducer, held, spill);
}
template <class R>
int scale(const R& reducer, const partial_of<R>& held) {
  return fanin::gathering_t<R>::scale(reducer, held);
}
template <class R>
bool rescale(const R& reducer, partial_of<R>& held, int scale) {
  return fanin::gathering_t<R>::rescale(reducer, held, scale);
}
template <class R>
bool is_in_spill(const R& reducer, const partial_of<R>& held) {
  return fanin::gathering_t<R>::is_in_spill(reducer, held);
}
template <class R>
auto result(const R& reducer, const partial_of<R>& held) {
  return fanin::gathering_t<R>::result(reducer, held);
}
template <class R, class Of>
void join_spills(const R& reducer, typename R::accumulator_type& spill, const Of& of, unsigned count, unsigned worker,
                 unsigned workers) {
  fanin::gathering_t<R>::join_spills(reducer, spill, of, count, worker, workers);
}

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
    reducer.fold_batch(state, fanin::tile_batch<Rows, Columns, Value>{tile, 0, 0, rows});
    at += static_cast<std::size_t>(rows) * Columns;
  }
  for (; at < x.size(); ++at) reducer.fold(state, x[at], 0);
}

template <int Rows, int Columns, class T>
void expect_sum_of_tiles(const std::vector<T>& x) {
  const fanin::exact_sum<T> reducer;
  const T expected = fanin::reduce(fanin::serial{}, x, reducer);
  auto spill = reducer.identity();
  auto state = begin(reducer, spill);
  fold_in_tiles<Rows, Columns>(reducer, state, x);
  finish(reducer, state, spill);
  EXPECT_TRUE(same(reducer.result(spill), expected)) << Rows << " rows of " << Columns << ", " << x.size();
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
    auto spill = reducer.identity();
    auto state = begin(reducer, spill);
    reducer.fold(state, T{1}, 0);
    for (int k = 0; k < tiles; ++k) fold(state);
    finish(reducer, state, spill);
    EXPECT_TRUE(same(reducer.result(spill), expected.value_as<T>()));
  };
  fold_all([&](auto& state) { reducer.fold_batch(state, fanin::tile_batch<4, 2, T>{tile, 0, 0}); });
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
  auto spill = reducer.identity();
  auto state = begin(reducer, spill);
  fold_in_tiles<4, 2>(reducer, state, x);
  finish(reducer, state, spill);
  EXPECT_EQ(reducer.result(spill).serialise(), expected.serialise());
  const auto of_a_span = fanin::reduce(fanin::serial{}, x, reducer);
  EXPECT_EQ(of_a_span.serialise(), expected.serialise());

  // Numbers of one sign: a digit without carries would hold up to 2^32 of each of 2^21.
  auto of_one_sign = reducer.identity();
  auto next = begin(reducer, of_one_sign);
  const auto units = static_cast<TypeParam>(sizeof(TypeParam) == 8 ? 0xffff'ffff : 0x7f'ffff);
  const std::vector<TypeParam> misses(1 << 21, std::numeric_limits<TypeParam>::denorm_min() * units);
  const std::vector<TypeParam> high(8, TypeParam{1});
  fold_in_tiles<4, 2>(reducer, next, high);
  fold_in_tiles<4, 2>(reducer, next, misses);
  finish(reducer, next, of_one_sign);
  std::int64_t digits[sizeof(of_one_sign) / 8];
  std::memcpy(digits, &of_one_sign, sizeof(of_one_sign));
  for (const std::int64_t digit : digits) EXPECT_LT(std::abs(digit), std::int64_t{1} << 51);
}

/// What was joined so often that the next join might overflow is refused, at whatever scale.
TEST(exact_protocol_of_partials, digits_may_be_too_large) {
  fanin::detail::exact_window_sum<2> partial;
  partial.digit[0] = std::int64_t{1} << 52;
  EXPECT_TRUE(partial.rescale(0));
  partial.digit[0] = std::int64_t{1} << 54;
  EXPECT_FALSE(partial.rescale(0));
  EXPECT_EQ(partial.digit[0], std::int64_t{1} << 54);
}

TEST(exact_protocol_of_products, tiles) {
  using reducer_type = fanin::detail::exact_product_sum<double>;
  const reducer_type reducer;
  for (const std::size_t n : {1, 100, 5'003}) {
    for (const auto& xs : telling_arrays<double>(n)) {
      const std::vector<double> ys(xs.rbegin(), xs.rend());
      std::vector<reducer_type::value_type> pairs(n);
      for (std::size_t i = 0; i < n; ++i) pairs[i] = {xs[i], ys[i]};
      auto spill = reducer.identity();
      auto state = begin(reducer, spill);
      fold_in_tiles<2, 2>(reducer, state, pairs);
      finish(reducer, state, spill);
      auto of_odd_tiles = reducer.identity();
      auto odd_state = begin(reducer, of_odd_tiles);
      fold_in_tiles<3, 2>(reducer, odd_state, pairs);
      finish(reducer, odd_state, of_odd_tiles);
      fanin::exact_product_accumulator expected;
      for (std::size_t i = 0; i < n; ++i) expected.add_product(xs[i], ys[i]);
      EXPECT_EQ(spill.serialise(), expected.serialise()) << n;
      EXPECT_EQ(of_odd_tiles.serialise(), expected.serialise()) << n;
      auto one_by_one = reducer.identity();
      auto other_state = begin(reducer, one_by_one);
      for (const auto& pair : pairs) reducer.fold(other_state, pair, 0);
      finish(reducer, other_state, one_by_one);
      EXPECT_EQ(one_by_one.serialise(), expected.serialise()) << n;
    }
  }
}

/// What lanes do who hold something each: all to the least scale, and what does not go there to the spill.
template <class Reducer>
int to_one_scale(const Reducer& reducer, std::vector<partial_of<Reducer>>& held,
                 typename Reducer::accumulator_type& spill) {
  int alone = 0;
  int least = std::numeric_limits<int>::max();
  for (const auto& each : held) least = std::min(least, scale(reducer, each));
  for (auto& each : held) {
    if (rescale(reducer, each, least)) continue;
    ++alone;
    deposit(reducer, each, spill);
    EXPECT_TRUE(is_in_spill(reducer, each));
    EXPECT_TRUE(rescale(reducer, each, least));
  }
  return alone;
}

/// The warp of a lane that says what it would add, and then of one that gets the totals.
struct asking_warp {
  std::array<std::uint32_t, 64>& totals;
  mutable std::size_t call = 0;
  std::uint32_t sum(std::uint32_t x) const { return totals.at(call++) += x; }
};
struct telling_warp {
  const std::array<std::uint32_t, 64>& totals;
  mutable std::size_t call = 0;
  std::uint32_t sum(std::uint32_t) const { return totals.at(call++); }
};

/// The sum of a warp's lanes, which on a GPU all call at once.
template <class Reducer>
void join_lanes(const Reducer& reducer, std::vector<partial_of<Reducer>>& held) {
  std::array<std::uint32_t, 64> totals{};
  for (const auto& each : held) {
    auto copy = each;
    fanin::gathering_t<Reducer>::join_in_warp(reducer, copy, asking_warp{totals});
  }
  for (auto& each : held) fanin::gathering_t<Reducer>::join_in_warp(reducer, each, telling_warp{totals});
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
partial_of<Reducer> joined(const Reducer& reducer, std::vector<partial_of<Reducer>> held,
                           typename Reducer::accumulator_type& spill, int& alone) {
  const partial_of<Reducer> nothing{};
  EXPECT_EQ(scale(reducer, nothing), std::numeric_limits<int>::max());
  EXPECT_FALSE(is_in_spill(reducer, nothing));
  alone += to_one_scale(reducer, held, spill);
  auto one_by_one = held.front();
  for (std::size_t k = 1; k < held.size(); ++k)
    fanin::gathering_t<Reducer>::join_partials(reducer, one_by_one, held[k]);
  join_lanes(reducer, held);
  for (const auto& each : held) {
    EXPECT_EQ(is_in_spill(reducer, each), is_in_spill(reducer, one_by_one));
    EXPECT_TRUE(same_result(result(reducer, each), result(reducer, one_by_one)));
  }
  return held.front();
}

/// What the threads of a block do at the end: the sum of what they hold is deposited once.
template <class Reducer>
void finish_joined(const Reducer& reducer, std::vector<typename Reducer::thread_state>& states,
                   typename Reducer::accumulator_type& spill, int& alone) {
  std::vector<partial_of<Reducer>> held;
  for (auto& state : states) held.push_back(drain(reducer, state));
  auto sum = joined(reducer, held, spill, alone);
  deposit(reducer, sum, spill);
  EXPECT_EQ(scale(reducer, sum), std::numeric_limits<int>::max());
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
            states.push_back(begin(reducer, partials[b]));
            std::vector<TypeParam> share;
            for (std::size_t i = b * threads + t; i < n; i += blocks * threads) share.push_back(x[i]);
            fold_in_tiles<4, 2>(reducer, states.back(), share);
          }
          finish_joined(reducer, states, partials[b], alone);
        }
        for (const unsigned workers : {1U, 32U, 100U, 1'024U}) {
          accumulator total = partials[0];
          const auto of = [&](unsigned k) -> const accumulator& { return partials[k + 1]; };
          for (unsigned worker = 0; worker < workers; ++worker) {
            join_spills(reducer, total, of, static_cast<unsigned>(blocks) - 1, worker, workers);
          }
          EXPECT_TRUE(same(reducer.result(total), expected)) << n << ", " << blocks << ", " << workers;
        }
      }
    }
  }
  EXPECT_GT(alone, 0) << "no array had ranges that are too far apart for one scale";
}

/// What blocks hand the one that watches for them: what they drained, and spills only where something is there.
TYPED_TEST(exact_protocol, blocks_that_hand_over_what_they_drained) {
  using reducer_type = fanin::exact_sum<TypeParam>;
  using accumulator = typename reducer_type::accumulator_type;
  const reducer_type reducer;
  constexpr std::size_t threads = 32;
  int alone = 0;
  int without_spill = 0;
  int with_spill = 0;
  for (const std::size_t n : {1, 3, 1'000, 30'000}) {
    for (const auto& x : telling_arrays<TypeParam>(n)) {
      const TypeParam expected = fanin::reduce(fanin::serial{}, x, reducer);
      for (const std::size_t blocks : {1, 2, 9, 32}) {
        std::vector<accumulator> spills(blocks, reducer.identity());
        std::vector<partial_of<reducer_type>> parcels;
        for (std::size_t b = 0; b < blocks; ++b) {
          std::vector<partial_of<reducer_type>> held;
          for (std::size_t t = 0; t < threads; ++t) {
            auto state = begin(reducer, spills[b]);
            std::vector<TypeParam> share;  // one after the other: a block has numbers of a kind
            for (std::size_t i = b * n / blocks + t; i < (b + 1) * n / blocks; i += threads) share.push_back(x[i]);
            fold_in_tiles<4, 2>(reducer, state, share);
            held.push_back(drain(reducer, state));
          }
          parcels.push_back(joined(reducer, held, spills[b], alone));
        }
        accumulator spill = reducer.identity();
        std::vector<const accumulator*> left;
        for (std::size_t b = 0; b < blocks; ++b) {
          if (is_in_spill(reducer, parcels[b])) {
            left.push_back(&spills[b]);
          } else {
            EXPECT_EQ(spills[b].serialise(), accumulator{}.serialise());
          }
        }
        const auto of = [&](unsigned k) -> const accumulator& { return *left[k]; };
        for (unsigned worker = 0; worker < 64; ++worker) {
          join_spills(reducer, spill, of, static_cast<unsigned>(left.size()), worker, 64);
        }
        auto total = joined(reducer, parcels, spill, alone);
        if (is_in_spill(reducer, total)) {
          ++with_spill;
          deposit(reducer, total, spill);
          EXPECT_TRUE(same(reducer.result(spill), expected)) << n << ", " << blocks;
        } else {
          ++without_spill;
          EXPECT_TRUE(same(result(reducer, total), expected)) << n << ", " << blocks;
        }
      }
    }
  }
  EXPECT_GT(alone, 0);
  EXPECT_GT(with_spill, 0);
  EXPECT_GT(without_spill, 0);
}

/// The sum of a window for the largest arrays there can be: what it holds is far above its top.
TYPED_TEST(exact_protocol, what_was_drained_takes_more_than_a_window) {
  using reducer_type = fanin::exact_sum<TypeParam>;
  const reducer_type reducer;
  for (const TypeParam sign : {TypeParam{1}, TypeParam{-1}}) {
    typename reducer_type::accumulator_type spill;
    auto state = begin(reducer, spill);
    for (int i = 0; i < 3'000; ++i) reducer.fold(state, sign * TypeParam{1.75}, i);
    reducer.fold(state, sign * std::ldexp(TypeParam{1}, -30), 0);
    auto held = drain(reducer, state);
    TypeParam expected = sign * 3'000 * TypeParam{1.75};
    int doublings = 0;
    for (; doublings < 40; ++doublings) {
      const auto copy = held;
      ASSERT_TRUE(rescale(reducer, held, scale(reducer, held))) << doublings;
      fanin::gathering_t<reducer_type>::join_partials(reducer, held, copy);
    }
    expected = std::ldexp(static_cast<TypeParam>(sign * (3'000 * 1.75L + std::ldexp(1.0L, -30))), doublings);
    EXPECT_FALSE(is_in_spill(reducer, held));
    EXPECT_EQ(result(reducer, held), expected);
    for (const int down : {1, 10, 20, 22, 23, 60}) {
      auto lower = held;
      EXPECT_FALSE(rescale(reducer, lower, scale(reducer, held) - down) && down > 10) << down;
      EXPECT_EQ(result(reducer, lower), expected) << down;
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

/// However many numbers went to the spill, the sum says that there are some: carries begin the count anew.
TYPED_TEST(exact_protocol, what_is_in_the_spill_is_never_forgotten) {
  const fanin::exact_sum<TypeParam> reducer;
  auto spill = reducer.identity();
  auto state = begin(reducer, spill);
  EXPECT_FALSE(is_in_spill(reducer, drain(reducer, state)));
  int forgotten = 0;
  for (int i = 0; i < (1 << 18) + 100; ++i) {
    reducer.fold(state, infinity<TypeParam>, i);
    forgotten += is_in_spill(reducer, drain(reducer, state)) ? 0 : 1;
  }
  EXPECT_EQ(forgotten, 0);
}

/// The inner loop of a GPU: tiles by the greatest level among a warp's lanes.
TYPED_TEST(exact_protocol, tiles_by_level) {
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
    typename reducer_type::accumulator_type spill;
    auto state = begin(reducer, spill);
    for (std::size_t i = 0; i + count <= x.size(); i += count) {
      const fanin::tile_batch<4, 2, TypeParam> tile{&x[i], 0, 2};
      const unsigned level = reducer.fast_level(state, tile);
      if (level <= 1) {
        const unsigned other_lanes = i / count % 5 == 0 ? 1 : 0;
        reducer.fold_fast(state, tile, std::max(level, other_lanes));
        ++seen[level];
      } else {
        reducer.fold_batch(state, tile);
        ++seen[2];
      }
    }
    finish(reducer, state, spill);
    EXPECT_TRUE(same(reducer.result(spill), fanin::reduce(fanin::serial{}, x, reducer)));
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
        states.push_back(begin(reducer, partial));
        for (int i = 0; i < 10; ++i) states.back() += std::complex<double>(t + i, imaginary);
      }
      finish_joined(reducer, states, partial, alone);
    }
    EXPECT_EQ(alone, imaginary == 1e-40 ? 5 * 8 : 0);
    auto total = partials[0];
    const auto of = [&](unsigned k) -> const auto& { return partials[k + 1]; };
    for (unsigned worker = 0; worker < 100; ++worker) join_spills(reducer, total, of, 4, worker, 100);
    EXPECT_EQ(reducer.result(total).real(), 5 * (8 * 45 + 10 * 28));
    fanin::exact_accumulator expected;
    for (int i = 0; i < 400; ++i) expected.add(imaginary);
    EXPECT_EQ(reducer.result(total).imag(), expected.value());
  }
}

/// Of which each part may be in the spill alone.
TEST(exact_protocol_of_complex_numbers, one_part_in_the_spill) {
  using reducer_type = fanin::exact_sum<std::complex<double>>;
  const reducer_type reducer;
  for (const std::complex<double> odd : {std::complex<double>(HUGE_VAL, 1.0), std::complex<double>(1.0, HUGE_VAL)}) {
    auto spill = reducer.identity();
    auto state = begin(reducer, spill);
    state += odd;
    const auto partial = reducer_type::gathering::drain(reducer, state);
    EXPECT_TRUE(reducer_type::gathering::is_in_spill(reducer, partial));
  }
}

}  // namespace
}  // namespace fanin_test
