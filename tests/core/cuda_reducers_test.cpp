// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <fanin/cuda/reducer/ordered.hpp>
#include <fanin/cuda/reducer/packed_sum.hpp>
#include <fanin/cuda/reducer/substitute.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/reducers.hpp>

#include "support/data.hpp"
#include "support/same.hpp"

/// The reducers that the CUDA backend puts in the place of the built-in ones, against those, on the host.
namespace fanin_test {
namespace {

using fanin::detail::make_composite;
using fanin::detail::ordered_extreme;
using fanin::detail::ordered_key;
using fanin::detail::ordered_pair;
using fanin::detail::ordered_place;
using fanin::detail::packed_sum;

template <class T>
using bits_of = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// What a comparison can get wrong: both ends, both zeros, NaNs of both signs and several payloads, denormals.
template <class T>
std::vector<T> special_values() {
  using limits = std::numeric_limits<T>;
  if constexpr (std::floating_point<T>) {
    using bits = bits_of<T>;
    std::vector<T> all{
        T{0}, T{1}, limits::min(), limits::denorm_min(), T{1} + limits::epsilon(), limits::max(), limits::infinity()};
    const auto infinity = std::bit_cast<bits>(limits::infinity());
    const auto quiet = std::bit_cast<bits>(limits::quiet_NaN());
    all.push_back(std::bit_cast<T>(bits{std::bit_cast<bits>(limits::min()) - 1}));  // the largest denormal
    for (const bits nan : {quiet, bits{quiet + 1}, bits{quiet + 0x1234}, bits{infinity + 1}, bits{infinity + 0x4321},
                           bits{~bits{0} >> 1}}) {
      all.push_back(std::bit_cast<T>(nan));
    }
    const std::size_t positive = all.size();
    for (std::size_t k = 0; k < positive; ++k) {
      all.push_back(std::bit_cast<T>(std::bit_cast<bits>(all[k]) | ~(~bits{0} >> 1)));
    }
    return all;
  } else {
    return {limits::lowest(),
            static_cast<T>(limits::lowest() + 1),
            static_cast<T>(-1),
            T{0},
            T{1},
            static_cast<T>(limits::max() / 2),
            static_cast<T>(limits::max() / 2 + 1),
            static_cast<T>(limits::max() - 1),
            limits::max()};
  }
}

/// The special values, and any bits.
template <class T>
std::vector<T> many_values() {
  auto all = special_values<T>();
  for (std::uint64_t i = 0; i < 400; ++i) {
    if constexpr (std::floating_point<T>) {
      all.push_back(std::bit_cast<T>(static_cast<bits_of<T>>(mix(i))));
    } else {
      all.push_back(static_cast<T>(mix(i)));
    }
  }
  return all;
}

template <class T>
class cuda_reducers : public ::testing::Test {};
using all_types = ::testing::Types<float, double, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                                   std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(cuda_reducers, all_types);

/// The lower key is that of the preferred value, and equal keys are those of equal values: NaN is as good as NaN.
template <class T, bool Least>
void check_keys() {
  using key = ordered_key<T, Least>;
  for (const T x : many_values<T>()) {
    EXPECT_TRUE(is_same(key::value(key::of(x)), x));
    if (key::none_is_no_value) {
      EXPECT_LT(key::of(x), key::none);
    }
    for (const T y : many_values<T>()) {
      const bool preferred = Least ? fanin::detail::is_lower(x, y) : fanin::detail::is_higher(x, y);
      ASSERT_EQ(key::of(x) < key::of(y), preferred) << x << " and " << y;
      ASSERT_EQ(key::of(x) == key::of(y), same(x, y)) << x << " and " << y;
    }
  }
  const T identity = Least ? fanin::detail::highest_identity<T>() : fanin::detail::lowest_identity<T>();
  EXPECT_TRUE(is_same(key::value(key::none), identity));
}

TYPED_TEST(cuda_reducers, keys_stand_in_the_order_of_preference) {
  check_keys<TypeParam, true>();
  check_keys<TypeParam, false>();
}

/// A warp takes the lowest rank instead of joining its lanes' places.
template <class T, bool Least>
void check_ranks() {
  using reducer = ordered_place<T, Least>;
  const auto is_below = [](const auto& a, const auto& b) {
    return std::lexicographical_compare(std::begin(a.words), std::end(a.words), std::begin(b.words), std::end(b.words));
  };
  std::vector<typename reducer::accumulator_type> all{reducer{}.identity()};
  for (const T x : {T{0}, T{1}, std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()}) {
    for (const std::int64_t index :
         {INT64_MIN, std::int64_t{-1} << 40, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 40}) {
      all.push_back(reducer::accumulator_type::of(ordered_key<T, Least>::of(x), index));
    }
  }
  for (const auto& a : all) {
    const auto back = reducer::of_rank(reducer::rank(a));
    EXPECT_TRUE(back.key == a.key && back.index() == a.index());
    for (const auto& b : all) {
      auto joined = a;
      reducer{}.join(joined, b);
      const auto& lowest = is_below(reducer::rank(b), reducer::rank(a)) ? b : a;
      EXPECT_TRUE(joined.key == lowest.key && joined.index() == lowest.index()) << a.index() << " and " << b.index();
    }
  }
}

TYPED_TEST(cuda_reducers, ranks_stand_in_the_order_of_joins) {
  check_ranks<TypeParam, true>();
  check_ranks<TypeParam, false>();
}

/// Arrays in which an identity, a tie or a NaN decides: n equal values, pairs of any two, and mixtures.
template <class T>
std::vector<std::vector<T>> telling_arrays() {
  std::vector<std::vector<T>> all{{}};
  const auto values = special_values<T>();
  for (const T x : values) {
    all.push_back({x});
    all.push_back(std::vector<T>(5, x));
    for (const T y : values) {
      all.push_back({x, y});
      all.push_back({x, y, y, x, y});
    }
  }
  auto mixture = many_values<T>();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    permute(mixture, seed);
    for (const std::size_t n : {std::size_t{1}, std::size_t{3}, std::size_t{17}, std::size_t{100}}) {
      all.emplace_back(mixture.begin(), mixture.begin() + static_cast<std::ptrdiff_t>(n));
    }
  }
  return all;
}

/// The array from index `first` on, by one accumulator and by two that are joined, both ways round.
template <class Reducer, class T>
std::vector<fanin::reducer_result_t<Reducer>> results_of(const Reducer& reducer, const std::vector<T>& x,
                                                         std::int64_t first) {
  const auto c = make_composite(reducer);
  auto alone = c.identity();
  auto front = c.identity();
  auto back = c.identity();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto index = first + static_cast<std::int64_t>(i);
    c.fold(alone, x[i], index);
    c.fold(i % 2 == 0 ? front : back, x[i], index);
  }
  auto other = back;
  c.join(other, front);
  c.join(front, back);
  return {c.result(alone), c.result(front), c.result(other)};
}

/// Where ranges begin and end: negative, around both halves of an index's words, and up to the last index there is.
std::vector<std::int64_t> first_indices(std::int64_t count) {
  constexpr std::int64_t word = std::int64_t{1} << 32;
  return {0, -3, -count, -word - 2, word - 2, 5 * word, INT64_MIN, INT64_MAX - count};
}

template <class Substitute, class Reducer, class T>
void expect_as(const std::vector<T>& x) {
  for (const std::int64_t first : first_indices(static_cast<std::int64_t>(x.size()))) {
    const auto expected = results_of(Reducer{}, x, first)[0];
    for (const auto& got : results_of(Substitute{}, x, first)) {
      ASSERT_TRUE(is_same(got, expected)) << x.size() << " elements from index " << first;
    }
  }
}

TYPED_TEST(cuda_reducers, extremes_are_those_of_the_reducers_they_stand_for) {
  using T = TypeParam;
  using least = ordered_extreme<T, true>;
  using most = ordered_extreme<T, false>;
  using least_at = ordered_place<T, true>;
  using most_at = ordered_place<T, false>;
  for (const auto& x : telling_arrays<T>()) {
    expect_as<least, fanin::min<T>>(x);
    expect_as<most, fanin::max<T>>(x);
    expect_as<ordered_pair<least, most, fanin::min_max_value<T>>, fanin::min_max<T>>(x);
    expect_as<least_at, fanin::min_loc<T>>(x);
    expect_as<most_at, fanin::max_loc<T>>(x);
    expect_as<ordered_pair<least_at, most_at, fanin::min_max_index<T>>, fanin::min_max_loc<T>>(x);
    if (this->HasFatalFailure()) return;
  }
}

/// Each tile as a thread meets them: `rows` of Rows rows count, the others repeat the first; a later tile's indices are
/// all larger.
template <int Rows, int Columns, class T>
struct tile {
  std::vector<T> values;
  std::int64_t first;
  std::int64_t row_step;
  int rows;

  /// Of elements of an array of which `at(index)` gives each.
  template <class At>
  tile(std::int64_t first_index, std::int64_t step, int rows_that_count, const At& at)
      : values(Rows * Columns), first{first_index}, row_step{step}, rows{rows_that_count} {
    for (int r = 0; r < Rows; ++r) {
      for (int k = 0; k < Columns; ++k) {
        const std::int64_t row = r < rows ? r : 0;
        values[static_cast<std::size_t>(r * Columns + k)] = at(first + row * row_step + k);
      }
    }
  }

  template <class Composite>
  void fold_at_once(const Composite& c, typename Composite::state_type& state) const {
    c.fold_batch(state, fanin::tile_batch<Rows, Columns, T>{values.data(), first, row_step, rows});
  }
  template <class Composite>
  void fold_one_by_one(const Composite& c, typename Composite::state_type& state) const {
    for (int r = 0; r < rows; ++r) {
      for (int k = 0; k < Columns; ++k) {
        c.fold(state, values[static_cast<std::size_t>(r * Columns + k)], first + r * row_step + k);
      }
    }
  }
};

/// Values of which few differ, so that ties are within a row, across rows and across tiles; some tiles are all of one
/// value, the reducer's own identity among them.
template <class T>
std::vector<T> few_values(std::uint64_t seed) {
  const auto all = special_values<T>();
  std::vector<T> some;
  for (std::uint64_t k = 0; k < 1 + seed % 4; ++k) some.push_back(all[mix(seed * 8 + k) % all.size()]);
  return some;
}

/// Two to four tiles in a row by `fast` in tiles and by `plain` element by element.
template <int Rows, int Columns, class T, class Fast, class Plain>
void compare_tiles(const Fast& fast, const Plain& plain) {
  constexpr std::int64_t step = Columns + 3;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto some = few_values<T>(seed);
    const auto at = [&](std::int64_t index) {
      return some[mix(static_cast<std::uint64_t>(index) ^ seed) % some.size()];
    };
    constexpr std::int64_t spread = 4 * Rows * step;
    for (std::int64_t first : first_indices(spread)) {
      auto by_tile = fast.identity();
      auto by_element = plain.identity();
      auto fast_state = fast.begin(by_tile);
      auto plain_state = plain.begin(by_element);
      for (int k = 0; k < 2 + static_cast<int>(seed % 3); ++k) {
        const int rows =
            k == 0 && seed % 2 == 0 ? Rows : 1 + static_cast<int>(mix(seed + 31 * static_cast<unsigned>(k)) % Rows);
        const tile<Rows, Columns, T> here(first, step, rows, at);
        here.fold_at_once(fast, fast_state);
        here.fold_one_by_one(plain, plain_state);
        first += Rows * step;
      }
      fast.finish(fast_state, by_tile);
      plain.finish(plain_state, by_element);
      ASSERT_TRUE(is_same(fast.result(by_tile), plain.result(by_element)))
          << Rows << " rows of " << Columns << ", seed " << seed << ", up to index " << first;
    }
  }
}

template <class T, class... Reducer>
void compare_tiles_of_every_shape(const Reducer&... reducers) {
  const auto plain = make_composite(reducers...);
  const auto fast = fanin::detail::substitute_composite(plain);
  constexpr int vector = static_cast<int>(16 / sizeof(T));
  compare_tiles<4, vector, T>(fast, plain);
  compare_tiles<1, vector, T>(fast, plain);
  compare_tiles<8, 1, T>(fast, plain);
  compare_tiles<1, 1, T>(fast, plain);
}

TYPED_TEST(cuda_reducers, tiles_give_the_place_of_every_element) {
  using T = TypeParam;
  compare_tiles_of_every_shape<T>(fanin::min_loc<T>{});
  compare_tiles_of_every_shape<T>(fanin::max_loc<T>{});
  compare_tiles_of_every_shape<T>(fanin::min_max_loc<T>{});
}

/// Each value in each place of a tile: the first of equals is found wherever they stand.
TYPED_TEST(cuda_reducers, an_extreme_is_found_wherever_it_stands_in_a_tile) {
  using T = TypeParam;
  constexpr int rows = 4;
  constexpr int columns = 4;
  const auto fast = make_composite(ordered_place<T, true>{}, ordered_place<T, false>{});
  for (const T low : special_values<T>()) {
    for (const T high : special_values<T>()) {
      for (std::int64_t where = 0; where < rows * columns; ++where) {
        const auto at = [&](std::int64_t i) { return i / 100 * columns + i % 100 == where ? low : high; };
        const tile<rows, columns, T> here(0, 100, rows, at);
        const auto plain = make_composite(fanin::min_loc<T>{}, fanin::max_loc<T>{});
        auto by_tile = fast.identity();
        auto by_element = plain.identity();
        here.fold_at_once(fast, by_tile);
        here.fold_one_by_one(plain, by_element);
        ASSERT_TRUE(is_same(fast.result(by_tile), plain.result(by_element))) << "place " << where;
      }
    }
  }
}

// --- Packed sums ------------------------------------------------------------------------------------

/// Any bits, and all of one extreme, in tiles of every shape; with an accumulator that wraps and with wide ones.
template <class T, class Acc>
void check_packed_sum() {
  const fanin::sum<T, Acc> sum;
  static_assert(std::is_same_v<typename fanin::detail::substitute<fanin::sum<T, Acc>>::type, packed_sum<T, Acc>>);
  compare_tiles_of_every_shape<T>(sum);
  const auto fast = make_composite(packed_sum<T, Acc>{});
  constexpr int columns = static_cast<int>(16 / sizeof(T));
  for (const T extreme : {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()}) {
    const tile<4, columns, T> here(0, columns, 3, [&](std::int64_t) { return extreme; });
    auto acc = fast.identity();
    std::int64_t expected = 0;
    for (int k = 0; k < 20'000; ++k) {
      here.fold_at_once(fast, acc);
      expected += std::int64_t{3} * columns * static_cast<std::int64_t>(extreme);
    }
    EXPECT_EQ(fast.result(acc), static_cast<Acc>(expected)) << +extreme;
  }
}

TEST(cuda_packed_sums, of_8_bits) {
  check_packed_sum<std::int8_t, std::int32_t>();
  check_packed_sum<std::int8_t, std::int64_t>();
  check_packed_sum<std::int8_t, std::int8_t>();
  check_packed_sum<std::int8_t, std::uint16_t>();
  check_packed_sum<std::uint8_t, std::uint32_t>();
  check_packed_sum<std::uint8_t, std::int64_t>();
  check_packed_sum<std::uint8_t, std::uint8_t>();
}

TEST(cuda_packed_sums, of_16_bits) {
  check_packed_sum<std::int16_t, std::int32_t>();
  check_packed_sum<std::int16_t, std::int64_t>();
  check_packed_sum<std::int16_t, std::int16_t>();
  check_packed_sum<std::uint16_t, std::uint64_t>();
  check_packed_sum<std::uint16_t, std::int32_t>();
  check_packed_sum<std::uint16_t, std::uint16_t>();
}

/// bool is no number of 8 bits.
TEST(cuda_packed_sums, leave_bool_alone) {
  static_assert(std::is_same_v<fanin::detail::substitute<fanin::sum<bool, int>>::type, fanin::sum<bool, int>>);
}

// --- Several reducers --------------------------------------------------------------------------------

/// Some with the hook for tiles and some without, in every order, and few rows of many.
TEST(cuda_composites, of_reducers_with_and_without_tiles) {
  using T = std::int16_t;
  compare_tiles_of_every_shape<T>(fanin::min_loc<T>{}, fanin::sum<T, std::int32_t>{}, fanin::bor<T>{});
  compare_tiles_of_every_shape<T>(fanin::band<T>{}, fanin::max_loc<T>{}, fanin::prod<T>{});
  compare_tiles_of_every_shape<T>(fanin::min<T>{}, fanin::bor<T>{});
  compare_tiles_of_every_shape<double>(fanin::min<double>{}, fanin::max_loc<double>{}, fanin::lor<double>{});
}

/// A reducer whose value type is another than the element's takes converted elements one by one: its tiles are of its
/// own type.
TEST(cuda_composites, of_converted_elements) {
  compare_tiles_of_every_shape<std::int16_t>(fanin::min_loc<std::int64_t>{}, fanin::sum<std::int16_t, std::int64_t>{});
  compare_tiles_of_every_shape<float>(fanin::max_loc<double>{}, fanin::min_loc<float>{});
}

/// A tuple with a value for each reducer.
TEST(cuda_composites, of_tuples_with_a_value_each) {
  using pair = fanin::tuple<std::int32_t, double>;
  const auto plain = make_composite(fanin::min_loc<std::int32_t>{}, fanin::max_loc<double>{});
  const auto fast = fanin::detail::substitute_composite(plain);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto integers = few_values<std::int32_t>(seed);
    const auto doubles = few_values<double>(seed + 1);
    const auto at = [&](std::int64_t i) {
      const auto k = mix(static_cast<std::uint64_t>(i) ^ seed);
      return pair{integers[k % integers.size()], doubles[k / 64 % doubles.size()]};
    };
    for (int rows = 1; rows <= 4; ++rows) {
      const tile<4, 2, pair> here(-5, 7, rows, at);
      auto by_tile = fast.identity();
      auto by_element = plain.identity();
      here.fold_at_once(fast, by_tile);
      here.fold_one_by_one(plain, by_element);
      ASSERT_TRUE(is_same(fast.result(by_tile), plain.result(by_element))) << "seed " << seed << ", rows " << rows;
    }
  }
}

}  // namespace
}  // namespace fanin_test
