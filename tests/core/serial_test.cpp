// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/host/ahead.hpp>
#include <fanin/md_range.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>

#include "support/data.hpp"
#include "support/functors.hpp"
#include "support/in_lanes.hpp"
#include "support/same.hpp"

/// The oracle itself, by cases that can be checked by hand.
namespace fanin_test {
namespace {

/// Not inlined: of an array whose few elements it sees, GCC 12 warns of accesses that no run makes.
template <class T, class Reducer>
[[gnu::noinline]] auto reduced(const fanin::serial& exec, const std::vector<T>& x, const Reducer& reducer) {
  return fanin::reduce(exec, x, reducer);
}

const fanin::serial lanes;
const fanin::serial left_to_right(fanin::serial_order::left_to_right);
const fanin::serial halving(fanin::serial_order::recursive_halving);

TEST(serial, sums_and_products) {
  for (const auto& exec : {lanes, left_to_right, halving}) {
    EXPECT_EQ(reduced(exec, std::vector<int>{}, fanin::sum<int>{}), 0);
    EXPECT_EQ(reduced(exec, std::vector<int>{7}, fanin::sum<int>{}), 7);
    EXPECT_EQ(reduced(exec, std::vector<int>{1, 2, 4, 8, 16}, fanin::sum<int>{}), 31);
    EXPECT_EQ(reduced(exec, std::vector<int>{2, 3, -5}, fanin::prod<int>{}), -30);
    EXPECT_EQ(reduced(exec, std::vector<double>{0.5, 0.25, -1.0}, fanin::sum<double>{}), -0.25);
    EXPECT_EQ(reduced(exec, std::vector<double>{0.5, 4.0, -3.0}, fanin::prod<double>{}), -6.0);
    EXPECT_EQ(reduced(exec, std::vector<std::uint32_t>{0xffffffffU, 2}, fanin::sum<std::uint32_t>{}), 1U);
  }
}

TEST(serial, extremes_and_their_places) {
  const std::vector<int> x{3, -1, 4, -1, 5, 9, 2, 9};
  for (const auto& exec : {lanes, left_to_right, halving}) {
    EXPECT_EQ(reduced(exec, x, fanin::min<int>{}), -1);
    EXPECT_EQ(reduced(exec, x, fanin::max<int>{}), 9);
    EXPECT_EQ(reduced(exec, x, fanin::min_loc<int>{}), (fanin::value_index<int>{-1, 1}));
    EXPECT_EQ(reduced(exec, x, fanin::max_loc<int>{}), (fanin::value_index<int>{9, 5}));
    EXPECT_EQ(reduced(exec, x, fanin::min_max<int>{}), (fanin::min_max_value<int>{-1, 9}));
    EXPECT_EQ(reduced(exec, x, fanin::min_max_loc<int>{}), (fanin::min_max_index<int>{-1, 9, 1, 5}));
  }
}

TEST(serial, logic_and_bits) {
  for (const auto& exec : {lanes, left_to_right, halving}) {
    EXPECT_EQ(reduced(exec, std::vector<int>{1, 2, 3}, fanin::land<int>{}), 1);
    EXPECT_EQ(reduced(exec, std::vector<int>{1, 0, 3}, fanin::land<int>{}), 0);
    EXPECT_EQ(reduced(exec, std::vector<int>{0, 0, 0}, fanin::lor<int>{}), 0);
    EXPECT_EQ(reduced(exec, std::vector<int>{0, -4, 0}, fanin::lor<int>{}), 1);
    EXPECT_EQ(reduced(exec, std::vector<double>{2.5}, fanin::land<double>{}), 1.0);
    EXPECT_EQ(reduced(exec, std::vector<unsigned>{0b1110, 0b0111, 0b1111}, fanin::band<unsigned>{}), 0b0110U);
    EXPECT_EQ(reduced(exec, std::vector<unsigned>{0b1000, 0b0010}, fanin::bor<unsigned>{}), 0b1010U);
    const bool all = fanin::parallel_reduce(fanin::range(exec, 5), [](std::int64_t i) { return i < 5; }, fanin::land{});
    EXPECT_TRUE(all);
  }
}

TEST(serial, minimum_and_maximum_of_ieee_754_2019) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& exec : {lanes, left_to_right, halving}) {
    const auto least = [&](const std::vector<double>& x) { return reduced(exec, x, fanin::min_loc<double>{}); };
    const auto most = [&](const std::vector<double>& x) { return reduced(exec, x, fanin::max_loc<double>{}); };
    EXPECT_TRUE(is_same(least({1, nan, -infinity, nan}), {nan, 1}));
    EXPECT_TRUE(is_same(most({1, 5, infinity, nan}), {nan, 3}));
    EXPECT_TRUE(is_same(least({0.0, -0.0, 0.0, -0.0}), {-0.0, 1}));
    EXPECT_TRUE(is_same(most({-0.0, 0.0, -0.0, 0.0}), {0.0, 1}));
    EXPECT_TRUE(is_same(least({infinity, infinity}), {infinity, 0}));
    EXPECT_TRUE(is_same(most({-infinity, -infinity}), {-infinity, 0}));
    EXPECT_TRUE(is_same(reduced(exec, std::vector<double>{-0.0}, fanin::sum<double>{}), 0.0));
  }
}

/// Writes down how it was called: the order is what is tested, which no commutative operation can show.
struct write_down {
  struct text {
    int length;
    char at[64];
  };
  using value_type = char;
  using accumulator_type = text;
  static text of(const std::string& s) {
    text t{static_cast<int>(s.size()), {}};
    s.copy(t.at, s.size());
    return t;
  }
  static std::string string_of(const text& t) { return {t.at, static_cast<std::size_t>(t.length)}; }
  text identity() const { return of(""); }
  void fold(text& acc, char value, std::int64_t) const {
    std::string all = string_of(acc);
    all.push_back(value);
    acc = of(all);
  }
  void join(text& into, const text& from) const {
    std::string all(1, '(');
    all.append(string_of(into)).append(1, '+').append(string_of(from)).append(1, ')');
    into = of(all);
  }
};

TEST(serial, the_order_is_the_stated_one) {
  const auto order = [](const fanin::serial& exec, int n) {
    const auto letter = [](std::int64_t i) { return static_cast<char>('a' + i); };
    return write_down::string_of(fanin::parallel_reduce(fanin::range(exec, n), letter, write_down{}));
  };
  EXPECT_EQ(order(left_to_right, 5), "abcde");
  EXPECT_EQ(order(lanes, 5), "abcde") << "a reducer without loops goes from left to right";
  EXPECT_EQ(order(halving, 0), "");
  EXPECT_EQ(order(halving, 1), "a");
  EXPECT_EQ(order(halving, 2), "ab");
  // i with i + ceil(n/2), then the halves' halves.
  EXPECT_EQ(order(halving, 4), "(ac+bd)");
  EXPECT_EQ(order(halving, 5), "((ad+c)+be)");
  EXPECT_EQ(order(halving, 7), "((ae+cg)+(bf+d))");
}

/// Values whose sums and products depend on the order.
template <class T>
std::vector<T> values_for_lanes(std::size_t n) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = element<T>(data::near_one, i, n);
  return x;
}

/// Every form of a call over every size around lanes and blocks, from every alignment: the stated order's bits.
template <class T>
void expect_lanes() {
  std::size_t order_matters = 0;
  for (const std::size_t n : sizes_around_lanes<T>()) {
    const std::size_t start = n % 5;
    const std::vector<T> values = values_for_lanes<T>(n + start);
    const std::span<const T> x = std::span(values).subspan(start);
    const T* const data = x.data();
    const auto size = static_cast<std::int64_t>(n);
    const T sum = sum_in_lanes(x);
    const T product = product_in_lanes(x);
    const fanin::sum<T> add;
    const fanin::prod<T> multiply;
    EXPECT_TRUE(is_same(fanin::reduce(lanes, x, add), sum)) << n;
    EXPECT_TRUE(is_same(fanin::reduce(lanes, x, multiply), product)) << n;
    EXPECT_TRUE(is_same(fanin::reduce(lanes, x, add, multiply), {{{sum}, {product}}})) << n;
    T out = 7;
    fanin::reduce_into(&out, lanes, x, add);
    EXPECT_TRUE(is_same(out, sum)) << n;
    EXPECT_TRUE(is_same(fanin::transform_reduce(lanes, x, [](T value) { return value; }, add), sum)) << n;
    // Products are rounded before they are added: by std::multiplies, which has a loop, as by any functor.
    const std::vector<T> other = make_data<T>(fanin_test::data::random_signed, n);
    std::vector<T> products(n);
    for (std::size_t i = 0; i < n; ++i) products[i] = x[i] * other[i];
    const T dot = sum_in_lanes(std::span<const T>(products));
    EXPECT_TRUE(is_same(fanin::transform_reduce(lanes, x, other, std::multiplies<>{}, add), dot)) << n;
    EXPECT_TRUE(is_same(fanin::transform_reduce(lanes, x, other, std::multiplies<T>{}, add), dot)) << n;
    EXPECT_TRUE(is_same(fanin::transform_reduce(lanes, x, other, [](T a, T b) { return a * b; }, add), dot)) << n;
    const auto range = fanin::range(lanes, size);
    EXPECT_TRUE(is_same(fanin::parallel_reduce(range, [=](std::int64_t i) { return data[i]; }, add), sum)) << n;
    EXPECT_TRUE(is_same(fanin::parallel_reduce(
                            fanin::range(lanes, -3, size - 3), [=](std::int64_t i) { return data[i + 3]; }, multiply),
                        product))
        << n;
    const auto several = fanin::parallel_reduce(
        range, [=](std::int64_t i) { return fanin::tuple{data[i], i, data[i]}; }, multiply,
        fanin::max_loc<std::int64_t>{}, add);
    EXPECT_TRUE(is_same(several, {{{product}, {{n == 0 ? INT64_MIN : size - 1, size - 1}}, {sum}}})) << n;
    // f(i, acc) does not go through lanes.
    const T in_turn = fanin::reduce(left_to_right, x, add);
    EXPECT_TRUE(is_same(fanin::parallel_reduce(
                            range, [=](std::int64_t i, T& acc) { acc += data[i]; }, add),
                        in_turn))
        << n;
    order_matters += in_turn != sum;
  }
  EXPECT_GT(order_matters, 10U) << "these values do not tell one order from another";
}

TEST(serial, sums_and_products_go_in_lanes) {
  expect_lanes<float>();
  expect_lanes<double>();
}

/// Places in blocks after the first, of the first among equals.
TEST(serial, extremes_of_many_elements) {
  for (const data kind : {data::pairs, data::random_signed, data::flags}) {
    for (const std::size_t n : sizes_around_lanes<float>()) {
      const auto x = make_data<float>(kind, n);
      const fanin::min_loc<float> least;
      const fanin::min_max_loc<float> both;
      const fanin::min_max<float> values;
      const auto at = [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; };
      const auto expected = fanin::reduce(left_to_right, x, both);
      EXPECT_TRUE(is_same(fanin::reduce(lanes, x, both), expected)) << n;
      EXPECT_TRUE(is_same(fanin::reduce(lanes, x, values), {expected.min, expected.max})) << n;
      EXPECT_TRUE(is_same(fanin::reduce(lanes, x, least), {expected.min, expected.min_index})) << n;
      EXPECT_TRUE(is_same(fanin::parallel_reduce(fanin::range(lanes, n), at, both), expected)) << n;
    }
  }
}

/// Of arrays of so many elements of these types: every index once, in rising order, and lines of the next window while
/// a window's elements are taken.
template <class... T>
void expect_stretches(std::int64_t least) {
  constexpr std::int64_t page = fanin::detail::host::elements_of_page<T...>;
  constexpr std::int64_t window = page * fanin::detail::host::pages_of_window;
  const std::vector<unsigned char> memory(static_cast<std::size_t>(least + 3 * window) * std::max({sizeof(T)...}));
  for (const std::int64_t n : {least - 1, least, least + 1, least + page, least + 2 * window - 1}) {
    std::int64_t next = 5;
    std::int64_t stretches = 0;
    const auto take = [&](std::int64_t from, std::int64_t until) {
      EXPECT_EQ(from, next);
      next = until;
      ++stretches;
    };
    fanin::detail::host::take_windows(next, n + 5, take, reinterpret_cast<const T*>(memory.data())...);
    EXPECT_EQ(next, n + 5);
    EXPECT_EQ(stretches, (n - window) / window * fanin::detail::host::pages_of_window + 1) << n;
    EXPECT_EQ(fanin::detail::host::are_asked_for(n, reinterpret_cast<const T*>(memory.data())...), n >= least);
  }
  for (const std::size_t size : {sizeof(T)...}) {
    const std::int64_t page_bytes = page * static_cast<std::int64_t>(size);
    const std::int64_t bytes = page_bytes * fanin::detail::host::pages_of_window;
    std::vector<bool> asked(static_cast<std::size_t>(bytes));
    for (std::int64_t share = 0; share < fanin::detail::host::pages_of_window; ++share) {
      for (std::int64_t line = 0; line < fanin::detail::host::lines_of_share(page_bytes); ++line) {
        for (std::int64_t number = 0; number < fanin::detail::host::pages_of_window; ++number) {
          const std::int64_t at = fanin::detail::host::line_of_window(page_bytes, share, line, number);
          ASSERT_LT(at, bytes);
          for (std::int64_t k = at; k < std::min(at + 64, bytes); ++k) asked[static_cast<std::size_t>(k)] = true;
        }
      }
    }
    EXPECT_EQ(std::count(asked.begin(), asked.end(), false), 0) << size;
  }
}
struct of_24_bytes {
  double all[3];
};

TEST(serial, large_arrays_are_asked_for_ahead) {
  expect_stretches<double>(1 << 20);
  expect_stretches<char>(1 << 23);
  expect_stretches<float, double>((8 << 20) / 12);
  expect_stretches<of_24_bytes>((8 << 20) / 24);
  EXPECT_EQ(fanin::detail::host::elements_of_page<>, 0);
  EXPECT_EQ((fanin::detail::host::elements_of_page<char, char[300]>), 0) << "of large elements nothing is asked for";
}

/// From an element on that is no line's first.
TEST(serial, large_arrays_go_in_their_order) {
  constexpr std::size_t n = (2 << 20) + 77'777;
  const std::vector<float> memory = values_for_lanes<float>(n + 1);
  const std::span<const float> x = std::span(memory).subspan(1);
  const float sum = sum_in_lanes(x);
  EXPECT_TRUE(is_same(fanin::reduce(lanes, x, fanin::sum<float>{}), sum));
  const auto both = fanin::reduce(lanes, x, fanin::sum<float>{}, fanin::min_max_loc<float>{});
  EXPECT_TRUE(is_same(fanin::get<0>(both), sum));
  const auto extremes = fanin::reduce(left_to_right, x, fanin::min_max_loc<float>{});
  EXPECT_TRUE(is_same(fanin::get<1>(both), extremes));
  EXPECT_TRUE(is_same(fanin::reduce(lanes, x, fanin::min_max_loc<float>{}), extremes));
  const std::vector<double> wide(x.begin(), x.end());
  EXPECT_TRUE(is_same(fanin::reduce(lanes, x, fanin::sum<double>{}), sum_in_lanes(std::span(wide))));
  std::vector<float> products(n);
  double in_turn = 0;
  for (std::size_t i = 0; i < n; ++i) {
    products[i] = x[i] * x[n - 1 - i];
    in_turn += x[i] * wide[i];
  }
  const std::vector<float> turned(x.rbegin(), x.rend());
  EXPECT_TRUE(is_same(fanin::transform_reduce(lanes, x, turned, std::multiplies<>{}, fanin::sum<float>{}),
                      sum_in_lanes(std::span<const float>(products))));
  const auto by_both = [](float a, double b) { return a * b; };
  EXPECT_TRUE(is_same(fanin::transform_reduce(left_to_right, x, wide, by_both, fanin::sum<double>{}), in_turn));
}

/// What is accumulated in another type is converted element by element, and goes in that type's lanes.
TEST(serial, lanes_of_converted_values) {
  for (const std::size_t n : sizes_around_lanes<float>()) {
    const std::vector<float> x = values_for_lanes<float>(n);
    const std::vector<double> wide(x.begin(), x.end());
    const double sum = sum_in_lanes(std::span(wide));
    EXPECT_TRUE(is_same(fanin::reduce(lanes, x, fanin::sum<float, double>{}), sum)) << n;
    EXPECT_TRUE(is_same(fanin::reduce(lanes, x, fanin::sum<double>{}), sum)) << n;
    const auto get = [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; };
    EXPECT_TRUE(is_same(fanin::parallel_reduce(fanin::range(lanes, n), get, fanin::sum<double>{}), sum)) << n;
    std::vector<std::int8_t> bytes(n);
    std::vector<long long> words(n);
    std::int32_t total = 0;
    for (std::size_t i = 0; i < n; ++i) {
      bytes[i] = element<std::int8_t>(data::random_signed, i, n);
      words[i] = bytes[i] * 0x1'0000'0001LL;
      total += bytes[i];
    }
    EXPECT_EQ(fanin::reduce(lanes, bytes, fanin::sum<std::int8_t, std::int32_t>{}), total) << n;
    EXPECT_EQ(fanin::reduce(lanes, bytes, fanin::sum<std::int8_t>{}), static_cast<std::int8_t>(total)) << n;
    EXPECT_EQ(fanin::reduce(lanes, words, fanin::sum<long long>{}), total * 0x1'0000'0001LL) << n;
    EXPECT_EQ(fanin::reduce(lanes, words, fanin::max_loc<long long>{}),
              fanin::reduce(left_to_right, words, fanin::max_loc<long long>{}))
        << n;
  }
}

/// Values that convert only when they are asked to are not gathered: they are refused, in words, as by other reducers.
struct asks_for_conversion {
  explicit operator double() const { return 1; }
};
template <class Value>
struct gives {
  Value operator()(std::int64_t) const;
};
template <class Value, class... Reducer>
constexpr bool is_gathered = fanin::detail::host::gathers<gives<Value>, fanin::detail::composite<Reducer...>>;
static_assert(is_gathered<float, fanin::min<double>>);
static_assert(is_gathered<fanin::tuple<double, int>, fanin::min<double>, fanin::sum<int>>);
static_assert(!is_gathered<asks_for_conversion, fanin::min<double>>);
#if defined(__SIZEOF_INT128__)
// Whatever a unit's dialect says of it: arithmetic with -std=gnu++20, and not with -std=c++20.
static_assert(!fanin::detail::host::in_loops<fanin::sum<__int128, float>>::exists);
#endif
static_assert(!is_gathered<fanin::tuple<int, asks_for_conversion>, fanin::bor<int>, fanin::min<double>>);

TEST(serial, lanes_call_f_once_for_every_index_in_rising_order) {
  std::vector<std::int64_t> seen;
  const auto expect_rising = [&](std::int64_t n, const char* what) {
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(n)) << what;
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], i) << what;
    seen.clear();
  };
  for (const std::int64_t n : {0, 1, 63, 1025, 5000}) {
    const auto range = fanin::range(lanes, n);
    const auto noted = [&](std::int64_t i) { return seen.push_back(i), static_cast<double>(i); };
    (void)fanin::parallel_reduce(range, noted, fanin::sum<double>{});
    expect_rising(n, "one");
    (void)fanin::parallel_reduce(range, noted, fanin::sum<double>{}, fanin::min_max_loc<double>{});
    expect_rising(n, "several");
    (void)fanin::parallel_reduce(range, noted, fanin::sum<float>{}, fanin::min<double>{});
    expect_rising(n, "of several types");
    const auto pairs = [&](std::int64_t i) { return fanin::tuple{noted(i), i}; };
    (void)fanin::parallel_reduce(range, pairs, fanin::sum<double>{}, fanin::bor<std::int64_t>{});
    expect_rising(n, "one each");
  }
}

TEST(serial, halving_rounds_like_a_tree) {
  // 2^24 ones of float: in a chain the sum would stick there, in a tree it does not.
  const std::int64_t n = (std::int64_t{1} << 24) + 2;
  const auto one = [](std::int64_t) { return 1.0F; };
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(left_to_right, n), one, fanin::sum<float>{}), 0x1p24F);
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(halving, n), one, fanin::sum<float>{}), 0x1p24F + 2);
}

TEST(serial, what_a_functor_throws_passes_through) {
  const auto f = [](std::int64_t i) {
    if (i == 3) throw std::out_of_range("three");
    return i;
  };
  for (const auto& exec : {lanes, left_to_right, halving}) {
    EXPECT_THROW(fanin::parallel_reduce(fanin::range(exec, 5), f, fanin::sum<std::int64_t>{}), std::out_of_range);
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec, 3), f, fanin::sum<std::int64_t>{}), 3);
  }
}

/// An asynchronous call keeps it for get().
TEST(serial, what_a_functor_throws_comes_from_get) {
  const auto f = [](std::int64_t i) {
    if (i == 3) throw std::out_of_range("three");
    return i;
  };
  const auto of_elements = [](std::int64_t x) -> std::int64_t {
    throw std::out_of_range("an element, " + std::to_string(x));
  };
  const std::vector<std::int64_t> xs{1, 2};
  for (const auto& exec : {lanes, left_to_right, halving}) {
    auto failed = fanin::parallel_reduce_async(fanin::range(exec, 5), f, fanin::sum<std::int64_t>{});
    auto good = fanin::parallel_reduce_async(fanin::range(exec, 3), f, fanin::sum<std::int64_t>{});
    auto of_array = fanin::transform_reduce_async(exec, xs, of_elements, fanin::sum<std::int64_t>{});
    EXPECT_TRUE(failed.ready() && good.ready() && of_array.ready());
    EXPECT_THROW(failed.get(), std::out_of_range);
    EXPECT_FALSE(failed.valid());
    EXPECT_EQ(good.get(), 3);
    EXPECT_THROW(of_array.get(), std::out_of_range);
  }
}

TEST(serial, indices_of_negative_ranges) {
  const auto f = [](std::int64_t i) { return (i + 3) * (i + 3); };
  for (const auto& exec : {lanes, left_to_right, halving}) {
    const auto range = fanin::range(exec, -10, 5);
    EXPECT_EQ(fanin::parallel_reduce(range, f, fanin::min_loc<std::int64_t>{}),
              (fanin::value_index<std::int64_t>{0, -3}));
    EXPECT_EQ(fanin::parallel_reduce(range, f, fanin::max_loc<std::int64_t>{}),
              (fanin::value_index<std::int64_t>{49, -10}));
  }
}

/// A range carries the object by value: a temporary will do.
TEST(serial, is_a_value) {
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(fanin::serial{}, 4), index_itself{}, fanin::sum<std::int64_t>{}), 6);
  static_assert(fanin::execution<fanin::serial>);
  static_assert(!fanin::execution<int>);
}

TEST(serial, a_vector_of_bool_is_no_array_but_bools_are) {
  const bool flags[] = {true, true, false};
  EXPECT_FALSE(fanin::reduce(left_to_right, flags, fanin::land{}));
  EXPECT_TRUE(fanin::reduce(left_to_right, flags, fanin::lor{}));
}

}  // namespace
/// Of rows and columns too, short and long, few and many.
TEST(serial, each_of_many_results_is_combined_as_a_lone_one) {
  for (const auto order : {fanin::serial_order::left_to_right, fanin::serial_order::recursive_halving}) {
    const fanin::serial exec(order);
    for (const std::int64_t n : {1, 2, 7, 9, 70, 3'000}) {
      for (const std::int64_t m : {1, 2, 8, 17, 129, 300}) {
        const auto f = [m](std::int64_t i, std::int64_t j) { return 1.0 / static_cast<double>(i * m + j + 3); };
        std::vector<double> rows(static_cast<std::size_t>(n));
        std::vector<double> columns(static_cast<std::size_t>(m));
        fanin::parallel_reduce_into(rows.data(), fanin::rows(exec, n, m), f, fanin::sum<double>{});
        fanin::parallel_reduce_into(columns.data(), fanin::columns(exec, n, m), f, fanin::sum<double>{});
        std::vector<double> alone;
        for (std::int64_t i = 0; i < n; ++i) {
          const auto of_row = [&](std::int64_t j) { return f(i, j); };
          alone.push_back(fanin::parallel_reduce(fanin::range(exec, m), of_row, fanin::sum<double>{}));
        }
        EXPECT_EQ(rows, alone) << n << " x " << m;
        alone.clear();
        for (std::int64_t j = 0; j < m; ++j) {
          const auto of_column = [&](std::int64_t i) { return f(i, j); };
          alone.push_back(fanin::parallel_reduce(fanin::range(exec, n), of_column, fanin::sum<double>{}));
        }
        EXPECT_EQ(columns, alone) << n << " x " << m;
      }
    }
  }
}

/// Columns of so many rows that several are taken at once: each element once, in its place, in rising order.
TEST(serial, several_elements_of_many_columns_at_once) {
  for (const std::int64_t n : {1, 7, 8, 9, 23}) {
    for (const std::int64_t m : {127, 128, 130, 2'100}) {
      const auto size = static_cast<std::size_t>(m);
      const auto f = [m](std::int64_t i, std::int64_t j) { return static_cast<float>((i * m + j) * 7919 % 13) / 3; };
      std::vector<float> sums(size);
      std::vector<float> in_turn(size);
      std::vector<fanin::value_index<float>> least(size);
      std::vector<fanin::value_index<float>> expected(size, fanin::min_loc<float>{}.identity());
      std::vector<std::int64_t> orders(size);
      fanin::parallel_reduce_into(std::tie(sums, least), fanin::columns(lanes, n, m), f, fanin::sum<float>{},
                                  fanin::min_loc<float>{});
      fanin::parallel_reduce_into(
          orders, fanin::columns(lanes, n, m),
          [](std::int64_t i, std::int64_t, std::int64_t& order) { order = order * 3 + i + 1; },
          fanin::bor<std::int64_t>{});
      std::int64_t order = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        order = order * 3 + i + 1;
        for (std::size_t j = 0; j < size; ++j) {
          const float value = f(i, static_cast<std::int64_t>(j));
          in_turn[j] += value;
          fanin::min_loc<float>{}.fold(expected[j], value, i);
        }
      }
      EXPECT_EQ(sums, in_turn) << n << " x " << m;
      EXPECT_EQ(least, expected) << n << " x " << m;
      EXPECT_EQ(orders, std::vector<std::int64_t>(size, order)) << n << " x " << m;
      // The same elements, the middle ones of which are left.
      std::vector<std::int64_t> numbers(size);
      const auto hash = [](std::int64_t i, std::int64_t j, std::int64_t k) { return i * 1'000'003 + j * 1009 + k * k; };
      fanin::parallel_reduce_into(numbers, fanin::axes<0, 2>(fanin::md_range(lanes, {-1, 0, 5}, {2, m, n + 5})), hash,
                                  fanin::sum<std::int64_t>{});
      std::vector<std::int64_t> of_loops(size);
      for (std::int64_t i = -1; i < 2; ++i) {
        for (std::int64_t k = 5; k < n + 5; ++k) {
          for (std::size_t j = 0; j < size; ++j) of_loops[j] += hash(i, static_cast<std::int64_t>(j), k);
        }
      }
      EXPECT_EQ(numbers, of_loops) << n << " x " << m;
    }
  }
}

/// Some of these are more than a stack has.
struct count_numbers {
  struct counters {
    std::int32_t of[65'536];
  };
  using value_type = std::int32_t;
  using accumulator_type = counters;
  using result_type = std::int32_t;
  static counters identity() { return {}; }
  static void fold(counters& acc, std::int32_t value, std::int64_t) { ++acc.of[value]; }
  static void join(counters& into, const counters& from) {
    for (std::size_t k = 0; k < std::size(into.of); ++k) into.of[k] += from.of[k];
  }
  static std::int32_t result(const counters& acc) { return acc.of[7]; }
};

TEST(serial, columns_of_accumulators_as_large_as_a_stack) {
  const auto f = [](std::int64_t i, std::int64_t j) { return static_cast<std::int32_t>(i < 10 + j ? 7 : 65'535); };
  for (const auto& exec : {lanes, left_to_right}) {
    for (const std::int64_t m : {2, 12}) {
      std::vector<std::int32_t> sevens(static_cast<std::size_t>(m));
      fanin::parallel_reduce_into(sevens.data(), fanin::columns(exec, 30, m), f, count_numbers{});
      for (std::int64_t j = 0; j < m; ++j) EXPECT_EQ(sevens[static_cast<std::size_t>(j)], 10 + j) << m;
    }
  }
}

}  // namespace fanin_test
