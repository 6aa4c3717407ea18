// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fanin/exact_sum.hpp>
#include <fanin/finished.hpp>
#include <fanin/runs.hpp>
#include <fanin/view.hpp>

#include "contract/contract.hpp"
#include "contract/many.hpp"
#include "support/expect_invalid.hpp"

/// A key and a result for each run of equal neighbours.
namespace fanin_test {

// A destination with a name is referred to, and a mere way to other memory is copied: a function may have made it.
static_assert(std::is_same_v<decltype(fanin::runs_to(std::declval<std::span<int>&>(), std::declval<double* const&>())),
                             fanin::runs_to<std::span<int>, double*>>);
static_assert(
    std::is_same_v<decltype(fanin::runs_to(std::declval<std::vector<int>&>(), std::declval<fanin::view<double, 1>&>())),
                   fanin::runs_to<std::vector<int>&, fanin::view<double, 1>&>>);

/// Keys of runs of these lengths.
inline std::vector<std::int32_t> keys_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int32_t> keys;
  std::int32_t key = 0;
  for (const std::int64_t length : lengths) {
    keys.insert(keys.end(), static_cast<std::size_t>(length), key);
    key = key % 5 == 3 ? key - 2 : key + 1;  // the same ones again, elsewhere
  }
  return keys;
}

/// Lengths of which all runs of a few shapes are made: at the edges of warps and tiles, all of one element, one run,
/// and giants among singles.
inline std::vector<std::vector<std::int64_t>> run_shapes() {
  std::vector<std::vector<std::int64_t>> shapes{{}, {1}, {2}, {1, 1}};
  for (const std::int64_t n : {31, 32, 33, 511, 512, 513, 1'023, 1'025}) {
    shapes.push_back({n});
    shapes.emplace_back(static_cast<std::size_t>(n), 1);
    shapes.push_back({n - 1, 1});
    shapes.push_back({1, n - 1, 1});
  }
  shapes.emplace_back(9'000, 1);
  shapes.push_back({300'007});
  for (const std::int64_t length : {2, 7, 16, 17, 64, 65, 512, 4'096, 4'097}) {
    shapes.emplace_back(static_cast<std::size_t>(20'000 / length), length);
  }
  std::vector<std::int64_t> mixed(700, 1);
  for (const std::int64_t length : segment_lengths(false)) {
    if (length > 0) mixed.insert(mixed.end(), {length, 1, 1});
  }
  shapes.push_back(std::move(mixed));
  return shapes;
}

/// As mark_element, of an element in whichever run.
struct mark_of_run {
  std::int32_t* visits;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t k) const {
    ++visits[k];
    return static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(k)) % 50);
  }
};

template <class Fixture>
class runs : public contract<Fixture> {};
TYPED_TEST_SUITE(runs, fixtures, fixture_names);

/// Blocking and not, over the indices, into exactly as much room as there are runs, or less.
TYPED_TEST(runs, of_every_length) {
  using exec_type = typename TypeParam::exec_type;
  constexpr std::int32_t poison = -7;
  for (const std::vector<std::int64_t>& lengths : run_shapes()) {
    const std::vector<std::int32_t> host = keys_of(lengths);
    const std::size_t count = lengths.size();
    std::vector<std::int32_t> expected_keys;
    std::vector<sum_and_place> expected;
    std::int64_t begin = 0;
    for (const std::int64_t length : lengths) {
      expected_keys.push_back(host[static_cast<std::size_t>(begin)]);
      expected.push_back(expected_of(length, [&](std::int64_t k) { return begin + k; }));
      fanin::get<1>(expected.back()).index += begin;
      begin += length;
    }
    const std::string what = std::to_string(count) + " runs of " + std::to_string(host.size());
    placed<std::int32_t, exec_type> keys(this->exec(), host);
    placed<std::int32_t, exec_type> visits(this->exec(), std::vector<std::int32_t>(host.size(), 0));
    placed<std::int64_t, exec_type> told(this->exec(), {-1});
    placed<std::int32_t, exec_type> to_keys(this->exec(), std::vector<std::int32_t>(count + 1, poison));
    placed<sum_and_place, exec_type> out(this->exec(), std::vector<sum_and_place>(count + 1));
    const sum_and_place untouched = out.host().back();
    const auto range = fanin::runs(this->exec(), keys.span());
    const mark_of_run f{visits.data()};
    const fanin::sum<std::int64_t> sum;
    const fanin::min_loc<std::int64_t> least;
    const auto room = [&](std::size_t some) { return std::span(to_keys.data(), some); };
    EXPECT_EQ(fanin::parallel_reduce(fanin::runs_to(room(count), out.data()), range, f, sum, least),
              static_cast<std::int64_t>(count))
        << what;
    synchronize(this->exec());
    const auto check = [&](std::size_t some, std::int32_t times) {
      std::vector<std::int32_t> keys_now(expected_keys.begin(),
                                         expected_keys.begin() + static_cast<std::ptrdiff_t>(some));
      keys_now.resize(count + 1, poison);
      std::vector<sum_and_place> now(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(some));
      now.resize(count + 1, untouched);
      EXPECT_EQ(to_keys.host(), keys_now) << what << ", room for " << some;
      EXPECT_TRUE(is_same(out.host(), now)) << what << ", room for " << some;
      EXPECT_EQ(visits.host(), std::vector<std::int32_t>(host.size(), times)) << what;
    };
    check(count, 1);
    fanin::parallel_reduce_into("runs", fanin::runs_to(room(count), out.data(), told.data()), range, f, sum, least);
    check(count, 2);
    EXPECT_EQ(told.host()[0], static_cast<std::int64_t>(count)) << what;
    if (count == 0) continue;

    // Less room than runs: of the last one, and of half of them.
    for (const std::size_t some : {count - 1, count / 2}) {
      to_keys = placed<std::int32_t, exec_type>(this->exec(), std::vector<std::int32_t>(count + 1, poison));
      out = placed<sum_and_place, exec_type>(this->exec(), std::vector<sum_and_place>(count + 1));
      told = placed<std::int64_t, exec_type>(this->exec(), {-1});
      visits = placed<std::int32_t, exec_type>(this->exec(), std::vector<std::int32_t>(host.size(), 0));
      const mark_of_run again{visits.data()};
      fanin::parallel_reduce_into(fanin::runs_to(room(some), out.data(), told.data()), range, again, sum, least);
      EXPECT_EQ(told.host()[0], static_cast<std::int64_t>(count)) << what;
      std::vector<std::int32_t> marks = visits.host();
      const std::int64_t end =
          std::accumulate(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(some), std::int64_t{0});
      for (std::size_t k = 0; k < marks.size(); ++k) {
        ASSERT_EQ(marks[k], static_cast<std::int64_t>(k) < end ? 1 : 0) << what << ", room for " << some;
      }
      visits = placed<std::int32_t, exec_type>(this->exec(), std::vector<std::int32_t>(host.size(), 1));
      check(some, 1);
    }
  }
}

/// Numbers with a NaN among them, zeros of both signs, and what it takes to see which key a run has.
TYPED_TEST(runs, keys_that_are_numbers) {
  using exec_type = typename TypeParam::exec_type;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> host{nan, nan, 0.0, -0.0, 1.5, 1.5, nan, -1.25, -0.0, 0.0, 0.0, nan};
  std::vector<std::int64_t> numbers(host.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = std::int64_t{1} << k;
  placed<double, exec_type> keys(this->exec(), host);
  placed<std::int64_t, exec_type> xs(this->exec(), numbers);
  placed<double, exec_type> to_keys(this->exec(), std::vector<double>(host.size()));
  placed<std::int64_t, exec_type> sums(this->exec(), std::vector<std::int64_t>(host.size()));
  const std::int64_t count = fanin::reduce(fanin::runs_to(std::span(to_keys.data(), 12), sums.data()), this->exec(),
                                           fanin::runs(xs.span(), keys.span()), fanin::sum<std::int64_t>{});
  synchronize(this->exec());
  ASSERT_EQ(count, 8);
  const std::vector<double> got = to_keys.host();
  const std::vector<double> expected{nan, nan, 0.0, 1.5, nan, -1.25, -0.0, nan};
  for (std::size_t r = 0; r < expected.size(); ++r) {
    EXPECT_TRUE(std::isnan(expected[r]) ? std::isnan(got[r]) : is_same(got[r], expected[r])) << r << ": " << got[r];
  }
  std::vector<std::int64_t> of_runs = sums.host();
  of_runs.resize(8);
  EXPECT_EQ(of_runs, (std::vector<std::int64_t>{1, 2, 12, 48, 64, 128, 1'792, 2'048}));
}

/// Three numbers of which two make the key.
struct place_key {
  std::int64_t x;
  std::int16_t y;
  std::int64_t name;
  FANIN_FUNCTION friend bool operator==(const place_key& a, const place_key& b) { return a.x == b.x && a.y == b.y; }
};

/// Keys of 1 and of 24 bytes, of which a tile begins with each of a run's first elements; elements and destinations
/// with steps; a destination for each of two reducers.
template <class Key, class Exec, class KeyAt>
void reduce_keys_of_a_type(Exec& exec, const KeyAt& key_at) {
  constexpr std::size_t n = 5'003;
  constexpr std::size_t step = 3;
  std::vector<Key> host;
  std::vector<std::int64_t> numbers(n * step, 1'000'000'000);
  std::vector<std::size_t> begins;
  for (std::size_t k = 0; k < n; ++k) {
    host.push_back(key_at(k));
    numbers[k * step] = static_cast<std::int64_t>(mix(k) % 1'000);
    if (k == 0 || !(host[k] == host[k - 1])) begins.push_back(k);
  }
  const std::size_t count = begins.size();
  placed<Key, Exec> keys(exec, host);
  placed<std::int64_t, Exec> xs(exec, numbers);
  placed<Key, Exec> to_keys(exec, std::vector<Key>(count, host[0]));
  placed<std::int64_t, Exec> sums(exec, std::vector<std::int64_t>(2 * count, -1));
  placed<std::int64_t, Exec> most(exec, std::vector<std::int64_t>(count, -1));
  placed<std::int64_t, Exec> told(exec, {-1});
  const fanin::view<const std::int64_t, 1> every_third(xs.data(), {{static_cast<std::int64_t>(n)}}, {{step}});
  const fanin::view<std::int64_t, 1> every_second(sums.data(), {{static_cast<std::int64_t>(count)}}, {{2}});
  fanin::reduce_into(
      fanin::runs_to(std::span(to_keys.data(), count), std::tuple(every_second, most.data()), told.data()), exec,
      fanin::runs(every_third, keys.span()), fanin::sum<std::int64_t>{}, fanin::max<std::int64_t>{});
  ASSERT_EQ(told.host()[0], static_cast<std::int64_t>(count));
  const std::vector<Key> got = to_keys.host();
  const std::vector<std::int64_t> got_sums = sums.host();
  const std::vector<std::int64_t> got_most = most.host();
  for (std::size_t r = 0; r < count; ++r) {
    std::int64_t sum = 0;
    std::int64_t greatest = -1;
    for (std::size_t k = begins[r]; k < (r + 1 < count ? begins[r + 1] : n); ++k) {
      sum += numbers[k * step];
      greatest = std::max(greatest, numbers[k * step]);
    }
    ASSERT_TRUE(got[r] == host[begins[r]]) << r;
    ASSERT_EQ(got_sums[2 * r], sum) << r;
    ASSERT_EQ(got_sums[2 * r + 1], -1) << r;
    ASSERT_EQ(got_most[r], greatest) << r;
    if constexpr (requires { got[r].name; }) {
      ASSERT_EQ(got[r].name, host[begins[r]].name);
    }
  }
}
TYPED_TEST(runs, keys_of_other_types) {
  reduce_keys_of_a_type<std::int8_t>(this->exec(), [](std::size_t k) {
    return static_cast<std::int8_t>(k < 3'000 ? k / 13 % 5 : k < 4'500 ? 1 : mix(k) % 2);
  });
  reduce_keys_of_a_type<place_key>(this->exec(), [](std::size_t k) {
    const auto at = static_cast<std::int64_t>(k);
    return place_key{at / 700, static_cast<std::int16_t>(at / 7 % 3), at};
  });
}

/// Lengths of many short runs among which longer ones are, as a warp, a group of lanes and a lane have them, so that of
/// those that are taken together some are and some are not; keys that end within a warp's share.
inline std::vector<std::int64_t> short_ones_and_longer(std::uint64_t seed) {
  std::vector<std::int64_t> lengths;
  std::int64_t elements = 0;
  while (elements < 11'000) {
    const std::uint64_t drawn = mix(seed * 977 + lengths.size());
    const std::uint64_t often = lengths.size() / 300 % 2 == 0 ? 40 : 400;  // one in so many is longer
    lengths.push_back(static_cast<std::int64_t>(drawn % often == 0 ? drawn / often % 150 : drawn / often % 4) + 1);
    elements += lengths.back();
  }
  return lengths;
}

/// Sums of an array's elements, `step` apart, that are exact in each order, into room for all runs and for fewer.
template <class T, class Exec>
void sum_short_and_longer(Exec& exec, std::int64_t step, std::uint64_t seed) {
  const std::vector<std::int64_t> lengths = short_ones_and_longer(seed);
  const std::vector<std::int32_t> host = keys_of(lengths);
  std::vector<T> numbers(host.size() * static_cast<std::size_t>(step), T(-1));
  std::vector<T> expected;
  std::size_t at = 0;
  for (const std::int64_t length : lengths) {
    T sum{};
    for (std::int64_t k = 0; k < length; ++k, at += static_cast<std::size_t>(step)) {
      numbers[at] = static_cast<T>(mix(at * 3 + seed) % 100);
      sum = static_cast<T>(sum + numbers[at]);
    }
    expected.push_back(sum);
  }
  placed<std::int32_t, Exec> keys(exec, host);
  placed<T, Exec> x(exec, numbers);
  for (const std::size_t room : {lengths.size(), lengths.size() - 1, lengths.size() / 2 + 45}) {
    placed<std::int32_t, Exec> to_keys(exec, std::vector<std::int32_t>(lengths.size()));
    placed<T, Exec> out(exec, std::vector<T>(lengths.size(), T(-1)));
    placed<std::int64_t, Exec> told(exec, {-1});
    const fanin::runs_to to(std::span(to_keys.data(), room), out.data(), told.data());
    if (step == 1) {
      fanin::reduce_into(to, exec, fanin::runs(x.span(), keys.span()), fanin::sum<T>{});
    } else {
      const fanin::view<const T, 1> view(x.data(), {{std::ssize(host)}}, {{step}});
      fanin::reduce_into(to, exec, fanin::runs(view, keys.span()), fanin::sum<T>{});
    }
    std::vector<T> now(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(room));
    now.resize(lengths.size(), T(-1));
    EXPECT_EQ(out.host(), now) << "a step of " << step << ", room for " << room << ", seed " << seed;
    EXPECT_EQ(told.host()[0], std::ssize(lengths));
  }
}
TYPED_TEST(runs, of_arrays_with_short_ones_and_longer) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    sum_short_and_longer<float>(this->exec(), 1, seed);
    sum_short_and_longer<float>(this->exec(), 3, seed);
    sum_short_and_longer<std::int16_t>(this->exec(), 1, seed);
  }
}

/// The same elements give the same bits, whatever stands before and behind them, and in each run.
TYPED_TEST(runs, a_result_does_not_see_the_others) {
  using exec_type = typename TypeParam::exec_type;
  const std::vector<std::int64_t> lengths{2, 100, 3'000, 20'001, 150'000, 7, 33, 40'000};
  std::vector<double> results[2];
  for (int round = 0; round < 2; ++round) {
    std::vector<std::int64_t> all;
    std::vector<double> numbers;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      for (std::size_t other = 0; other < (round == 0 ? 0 : 500 * s); ++other) {
        all.push_back(1 + static_cast<std::int64_t>(mix(other) % (other == 100 ? 70'000 : 20)));
        numbers.resize(numbers.size() + static_cast<std::size_t>(all.back()), 1e100);
      }
      all.push_back(lengths[s]);
      for (std::int64_t k = 0; k < lengths[s]; ++k) {
        numbers.push_back(static_cast<double>(mix(static_cast<std::uint64_t>(k) * 8 + s)) * 0x1p-40);
      }
    }
    const std::vector<std::int32_t> host = keys_of(all);
    placed<std::int32_t, exec_type> keys(this->exec(), host);
    placed<double, exec_type> x(this->exec(), numbers);
    placed<std::int32_t, exec_type> to_keys(this->exec(), std::vector<std::int32_t>(all.size()));
    placed<double, exec_type> out(this->exec(), std::vector<double>(all.size()));
    EXPECT_EQ(fanin::reduce("runs", fanin::runs_to(std::span(to_keys.data(), all.size()), out.data()), this->exec(),
                            fanin::runs(x.span(), keys.span()), fanin::sum<double>{}),
              std::ssize(all));
    synchronize(this->exec());
    const std::vector<double> got = out.host();
    std::size_t at = 0;
    for (std::size_t s = 0; s < lengths.size(); ++s, ++at) {
      at += round == 0 ? 0 : 500 * s;
      results[round].push_back(got[at]);
    }
  }
  EXPECT_EQ(results[0], results[1]);
}

struct add_number {
  const double* x;
  template <class State>
  FANIN_FUNCTION void operator()(std::int64_t k, State& acc) const {
    acc += x[k];
  }
};

/// What cancels but for a run's number: with a spill that a block keeps, and by hand; with room for all but the last.
TYPED_TEST(runs, exact_sums_finished_with_their_number) {
  using exec_type = typename TypeParam::exec_type;
  const std::vector<std::int64_t> lengths{1, 3, 41, 2'001, 1, 1, 40'001, 511, 1, 513, 1};
  std::vector<double> numbers;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    for (std::int64_t k = 1; k < lengths[s]; ++k) {
      const double large = 0x1p200 * static_cast<double>(1 + (k + 1) / 2);
      numbers.push_back(k % 2 == 0 ? -numbers.back() : large);
    }
    numbers.push_back(static_cast<double>(s * s));
  }
  const std::vector<std::int32_t> host = keys_of(lengths);
  placed<std::int32_t, exec_type> keys(this->exec(), host);
  placed<double, exec_type> x(this->exec(), numbers);
  const std::size_t room = lengths.size() - 1;
  placed<std::int32_t, exec_type> to_keys(this->exec(), std::vector<std::int32_t>(room));
  placed<double, exec_type> out(this->exec(), std::vector<double>(lengths.size(), -1));
  placed<std::int64_t, exec_type> told(this->exec(), {-1});
  fanin::parallel_reduce_into(fanin::runs_to(std::span(to_keys.data(), room), std::span(out.data(), room), told.data()),
                              fanin::runs(this->exec(), keys.span()), add_number{x.data()},
                              fanin::finished(residual_of_row{}, fanin::exact_sum<double>{}));
  const std::vector<double> got = out.host();
  for (std::size_t s = 0; s < room; ++s) {
    EXPECT_EQ(got[s], residual_of_row{}(static_cast<double>(s * s), static_cast<std::int64_t>(s))) << s;
  }
  EXPECT_EQ(got[room], -1);
  EXPECT_EQ(told.host()[0], std::ssize(lengths));
}

struct own_index {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t k) const { return k; }
};

TYPED_TEST(runs, what_is_wrong_is_told) {
  using exec_type = typename TypeParam::exec_type;
  placed<std::int32_t, exec_type> keys(this->exec(), {1, 1, 2, 3, 3});
  placed<std::int64_t, exec_type> xs(this->exec(), {1, 2, 3, 4, 5});
  placed<std::int32_t, exec_type> to_keys(this->exec(), {-1, -1, -1, -1});
  placed<std::int64_t, exec_type> sums(this->exec(), {-1, -1, -1, -1});
  placed<std::int64_t, exec_type> told(this->exec(), {-1});
  const fanin::sum<std::int64_t> sum;
  const auto reduce = [&](std::span<std::int32_t> room, auto results, std::size_t n = 5) {
    return fanin::reduce(
        fanin::runs_to(room, results), this->exec(),
        fanin::runs(std::span<const std::int64_t>(xs.data(), n), std::span<const std::int32_t>(keys.data(), n)), sum);
  };
  const auto room = [&](std::size_t some) { return std::span(to_keys.data(), some); };
  std::int64_t* const results = sums.data();
  expect_invalid([&] { reduce(room(2), results); },
                 "fanin::reduce: there are 3 runs, and the destination has room for 2; give one");
  expect_invalid([&] { reduce(std::span<std::int32_t>(), results); },
                 "there are 3 runs, and the destination has room for 0");
  synchronize(this->exec());
  EXPECT_EQ(sums.host(), (std::vector<std::int64_t>{3, 3, -1, -1}));
  EXPECT_EQ(to_keys.host(), (std::vector<std::int32_t>{1, 2, -1, -1}));
  EXPECT_EQ(reduce(room(4), std::span(results, 4)), 3);
  synchronize(this->exec());
  EXPECT_EQ(sums.host(), (std::vector<std::int64_t>{3, 3, 9, -1}));

  expect_invalid([&] { reduce(room(4), std::span(results, 3)); }, "room for 4 keys and for 3 results");
  expect_invalid([&] { reduce(room(4), static_cast<std::int64_t*>(nullptr)); },
                 "the destination is null; give memory of the backend for all");
  expect_invalid([&] { reduce(std::span(static_cast<std::int32_t*>(nullptr), 4), results); }, "the array is null");
  expect_invalid([&] { reduce(std::span(keys.data() + 4, 1), results); }, "the destination lies among what is read");
  expect_invalid([&] { reduce(room(4), xs.data() + 4); }, "the destination lies among what is read");
  expect_invalid([&] { (void)fanin::runs(xs.span(), keys.span().first(4)); }, "5 elements and 4 keys");
  const auto into = [&](std::int64_t* count) {
    fanin::reduce_into(fanin::runs_to(room(4), results, count), this->exec(), fanin::runs(xs.span(), keys.span()), sum);
  };
  expect_invalid([&] { into(nullptr); }, "the destination is null; give memory of the backend for how many runs");
  expect_invalid([&] { into(reinterpret_cast<std::int64_t*>(reinterpret_cast<std::uintptr_t>(told.data()) + 1)); },
                 "alignment");
  expect_invalid([&] { into(xs.data() + 4); }, "the destination lies among what is read");
  expect_invalid([&] { into(results + 3); }, "the count lies among the keys' or the results' destination");
  placed<std::int64_t, exec_type> long_keys(this->exec(), {1, 1, 2});
  placed<std::int64_t, exec_type> to_long_keys(this->exec(), {-1, -1, -1, -1});
  const auto into_behind_keys = [&](std::int64_t* count) {
    fanin::parallel_reduce_into(fanin::runs_to(std::span(to_long_keys.data(), 3), results, count),
                                fanin::runs(this->exec(), long_keys.span()), own_index{}, sum);
  };
  expect_invalid([&] { into_behind_keys(long_keys.data()); }, "the destination lies among what is read");
  expect_invalid([&] { into_behind_keys(to_long_keys.data() + 2); }, "the count lies among the keys'");
  into_behind_keys(to_long_keys.data() + 3);
  EXPECT_EQ(to_long_keys.host(), (std::vector<std::int64_t>{1, 2, -1, 2}));
  EXPECT_EQ(long_keys.host(), (std::vector<std::int64_t>{1, 1, 2}));

  // Of no keys nothing is looked at; how many there are can be asked for without a place for them.
  EXPECT_EQ(reduce(std::span(static_cast<std::int32_t*>(nullptr), 4), static_cast<std::int64_t*>(nullptr), 0), 0);
  fanin::reduce_into(fanin::runs_to(std::span<std::int32_t>(), static_cast<std::int64_t*>(nullptr), told.data()),
                     this->exec(), fanin::runs(xs.span(), keys.span()), sum);
  EXPECT_EQ(told.host()[0], 3);
}

}  // namespace fanin_test
