// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/serial/serial.hpp>
#include <span_reduction.cuh>

#include "simulator/seeds.hpp"
#include "support/data.hpp"

/// Exact sums in columns of block memory: the bits that the serial backend gives, which tests/exact checks.
namespace simulator_test {
namespace {

namespace rows = fanin::cuda_strategy;

#if defined(SIMULATOR_SCHEDULES_ARE_ONE_OF)
constexpr std::size_t most_elements = 300;  // a sanitizer takes its time
#else
constexpr std::size_t most_elements = 3'000;
#endif

template <class T>
struct element {
  const T* x;
  T operator()(std::int64_t i) const { return x[i]; }
};

template <class T>
struct add_element {
  const T* x;
  void operator()(std::int64_t i, typename fanin::exact_sum<T>::thread_state& sum) const { sum += x[i]; }
};

/// Numbers that are all different in where their bits stand.
template <class T>
T any_bits(std::uint64_t k) {
  using word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int fraction = std::numeric_limits<T>::digits - 1;
  constexpr word fields = sizeof(T) == 8 ? 2047 : 255;
  const std::uint64_t bits = fanin_test::mix(k);
  const auto field = static_cast<word>(fanin_test::mix(bits) % fields);  // no infinity
  const auto kept = static_cast<word>(bits) & static_cast<word>(~(fields << fraction));
  return std::bit_cast<T>(static_cast<word>(kept | field << fraction));
}

template <class T>
std::vector<std::vector<T>> telling_arrays(std::size_t n) {
  std::vector<T> same(n, static_cast<T>(-1.5)), narrow(n), wide(n), cancelling(n), tiny(n), one_large(n, T{1});
  for (std::size_t k = 0; k < n; ++k) {
    const auto bits = static_cast<double>(fanin_test::mix(k) >> 11) * 0x1p-53 - 0.5;
    narrow[k] = static_cast<T>(bits);
    wide[k] = any_bits<T>(k);
    cancelling[k] = k < n / 2 ? any_bits<T>(k) : -any_bits<T>(n - 1 - k);
    tiny[k] = k % 3 == 0 ? -std::numeric_limits<T>::denorm_min() : std::numeric_limits<T>::denorm_min();
  }
  one_large[n / 2] = std::numeric_limits<T>::max();
  // Whose lowest bits are so high that their sign would stand above an accumulator's digits.
  const T high = std::ldexp(T{-1}, std::numeric_limits<T>::max_exponent - 14);
  std::vector<T> high_alone(n), high_and_low(n);
  high_alone[0] = high_and_low[0] = high;
  high_and_low[n - 1] = std::numeric_limits<T>::denorm_min();
  std::vector<std::vector<T>> all{same, narrow, wide, cancelling, tiny, one_large, high_alone, high_and_low};
  // With nothing between, and so far apart that what is above the limbs would be shifted out of 64 bits.
  for (const int digits : {9, 10}) {
    if (std::numeric_limits<T>::max_exponent < 32 * digits) break;
    all.emplace_back(n)[0] = T{1};
    all.back()[n - 1] += std::ldexp(T{3}, 32 * digits);
  }
  return all;
}

template <class T>
void expect_bits(T got, T expected, const std::string& what) {
  using word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  EXPECT_EQ(std::bit_cast<word>(got), std::bit_cast<word>(expected)) << what << ": " << got << ", not " << expected;
}

template <class T>
void check(const fanin::cuda& gpu, const std::vector<T>& host, const fanin::cuda_tuning& tuning,
           const std::string& what) {
  const std::span<const T> x(host);
  const T expected = fanin::reduce(fanin::serial{}, host, fanin::exact_sum<T>{});
  const auto view = gpu.with<rows::one_pass>(tuning);
  expect_bits(fanin::reduce(view, x, fanin::exact_sum<T>{}), expected, what);
  using fanin::exact_accumulator;
  EXPECT_EQ(fanin::reduce(view, x, fanin::exact_sum<T, exact_accumulator>{}).serialise(),
            fanin::reduce(fanin::serial{}, host, fanin::exact_sum<T, exact_accumulator>{}).serialise())
      << what;
  expect_bits(fanin::parallel_reduce(fanin::range(view, x.size()), element<T>{x.data()}, fanin::exact_sum<T>{}),
              expected, what + ", f(i)");
}

template <class T>
class columns : public ::testing::Test {};
using floating = ::testing::Types<float, double>;
TYPED_TEST_SUITE(columns, floating);

TYPED_TEST(columns, have_the_serial_bits) {
  using T = TypeParam;
  simulator::schedule how(11);
  how.multiprocessors = 3;
  simulator::begin(how);
  const fanin::cuda gpu;
  for (const std::size_t n : {1U, 2U, 31U, 33U, 257U, 2'500U}) {
    if (n > most_elements) continue;
    int kind = 0;
    for (const std::vector<T>& host : telling_arrays<T>(n)) {
      const std::string what = std::to_string(n) + " of kind " + std::to_string(kind++);
      check<T>(gpu, host, {}, what);
      if (n < 200) continue;
      for (const int block_size : {32, 64, 96, 224, 1024}) {
        check<T>(gpu, host, {.block_size = block_size, .grid_size = block_size == 1024 ? 1 : 3},
                 what + ", blocks of " + std::to_string(block_size));
      }
    }
  }
}

/// Infinities and NaN go to the spill; what is finite stays what it is.
TYPED_TEST(columns, tell_what_is_no_number) {
  using T = TypeParam;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  simulator::begin(simulator::schedule(12));
  const fanin::cuda gpu;
  const auto state_of = [&](const std::vector<T>& host) {
    return fanin::reduce(gpu, host, fanin::exact_sum<T, fanin::exact_accumulator>{}).serialise();
  };
  for (const std::vector<T>& special :
       {std::vector<T>{infinity}, std::vector<T>{-infinity}, std::vector<T>{std::numeric_limits<T>::quiet_NaN()},
        std::vector<T>{-std::numeric_limits<T>::signaling_NaN()}, std::vector<T>{infinity, -infinity}}) {
    std::vector<T> host(700, static_cast<T>(0.1));
    host[3] = std::numeric_limits<T>::max();
    for (std::size_t k = 0; k < special.size(); ++k) host[500 + 33 * k] = special[k];
    EXPECT_EQ(state_of(host),
              fanin::reduce(fanin::serial{}, host, fanin::exact_sum<T, fanin::exact_accumulator>{}).serialise());
  }
  EXPECT_FALSE(std::signbit(fanin::reduce(gpu, std::vector<T>(3, -T{0}), fanin::exact_sum<T>{})));
}

/// As large as a number of its kind can be in all of its pieces, or in its sign alone.
template <class T>
std::vector<T> numbers_that_fill_words() {
  const T all_bits = sizeof(T) == 8 ? std::nextafter(T{4}, T{0}) : std::nextafter(static_cast<T>(0x1p-111), T{0});
  return {all_bits, -all_bits, static_cast<T>(-std::numeric_limits<T>::max())};
}

/// So many numbers for a thread that a word would overflow.
TYPED_TEST(columns, hand_on_what_a_word_does_not_take) {
  using T = TypeParam;
  simulator::begin(simulator::schedule(13));
  const fanin::cuda gpu;
  for (const T value : numbers_that_fill_words<T>()) {
    const std::vector<T> host(sizeof(T) == 8 ? 40'000 : 300'000, value);
    check<T>(gpu, host, {.block_size = 32, .grid_size = 1}, "many");
    if (most_elements < 1'000) continue;
    check<T>(gpu, std::vector<T>(sizeof(T) == 8 ? 100'000 : 500'000, value), {.block_size = 96, .grid_size = 1},
             "many for three warps");
  }
}

/// The same bits, and by one call of columns.
template <class T>
void check_products(const fanin::cuda& gpu, const std::vector<T>& x, const std::vector<T>& y,
                    const fanin::cuda_tuning& tuning, const std::string& what) {
  const auto view = gpu.with<rows::one_pass>(tuning);
  const fanin::serial here;
  expect_bits(fanin::exact_dot(view, x, y), fanin::exact_dot(here, x, y), what + ", dot");
  EXPECT_NE(gpu.last_launch().shared_bytes, 0U);
  expect_bits(fanin::exact_norm2_squared(view, x), fanin::exact_norm2_squared(here, x), what + ", squares");
  EXPECT_NE(gpu.last_launch().shared_bytes, 0U);
}

TYPED_TEST(columns, of_products) {
  using T = TypeParam;
  simulator::schedule how(17);
  how.multiprocessors = 3;
  simulator::begin(how);
  const fanin::cuda gpu;
  for (const std::size_t n : {1U, 33U, 257U, 1'500U}) {
    if (n > most_elements) continue;
    const auto arrays = telling_arrays<T>(n);
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      const auto& x = arrays[k];
      for (const std::size_t other : {k, (k + 2) % arrays.size(), (k + 5) % arrays.size()}) {
        const std::vector<T> y(arrays[other].rbegin(), arrays[other].rend());
        const std::string what = std::to_string(n) + " of kinds " + std::to_string(k) + " and " + std::to_string(other);
        check_products<T>(gpu, x, y, {}, what);
        if (n == 257) check_products<T>(gpu, x, y, {.block_size = 96, .grid_size = 2}, what + ", three warps");
        if (n == 1'500) check_products<T>(gpu, x, y, {.block_size = 64, .grid_size = 1}, what + ", in rounds");
      }
    }
  }
}

TYPED_TEST(columns, of_products_that_are_no_numbers) {
  using T = TypeParam;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  constexpr T tiny = std::numeric_limits<T>::denorm_min();
  constexpr T largest = std::numeric_limits<T>::max();
  simulator::begin(simulator::schedule(18));
  const fanin::cuda gpu;
  struct pair {
    T x, y;
  };
  for (const pair special :
       {pair{infinity, 1}, pair{-infinity, tiny}, pair{infinity, -infinity}, pair{0, infinity}, pair{nan, 0},
        pair{1, -nan}, pair{largest, largest}, pair{-largest, largest}, pair{tiny, tiny}, pair{tiny, -largest}}) {
    std::vector<T> x(700, static_cast<T>(0.1)), y(700, static_cast<T>(-0.3));
    x[655] = special.x;
    y[655] = special.y;
    check_products<T>(gpu, x, y, {}, std::to_string(special.x) + " times " + std::to_string(special.y));
  }
}

TYPED_TEST(columns, hand_on_products_that_a_word_does_not_take) {
  using T = TypeParam;
  simulator::begin(simulator::schedule(19));
  const fanin::cuda gpu;
  std::vector<T> numbers = numbers_that_fill_words<T>();
  numbers.push_back(std::ldexp(numbers[0], 5));
  for (const T value : numbers) {
    const std::size_t n = most_elements < 1'000 ? 3'000 : 40'000;
    check_products<T>(gpu, std::vector<T>(n, value), std::vector<T>(n, numbers[0]), {.block_size = 32, .grid_size = 1},
                      "many of " + std::to_string(value));
  }
}

/// Two exact sums of a call stand one behind the other, as do the parts of complex numbers.
TYPED_TEST(columns, of_complex_numbers) {
  using T = TypeParam;
  using number = std::complex<T>;
  simulator::schedule how(20);
  how.multiprocessors = 2;
  simulator::begin(how);
  const fanin::cuda gpu;
  const fanin::exact_sum<number> sum;
  for (const std::size_t n : {1U, 257U, 1'500U}) {
    if (n > most_elements) continue;
    const auto arrays = telling_arrays<T>(n);
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      std::vector<number> x(n);
      for (std::size_t i = 0; i < n; ++i) x[i] = {arrays[k][i], arrays[(k + 3) % arrays.size()][n - 1 - i]};
      if (k == 0 && n > 200) x[n / 2] = {x[0].real(), -std::numeric_limits<T>::infinity()};
      for (const fanin::cuda_tuning& tuning :
           {fanin::cuda_tuning{}, fanin::cuda_tuning{.block_size = 96, .grid_size = 2}}) {
        const number got = fanin::reduce(gpu.with<rows::one_pass>(tuning), x, sum);
        const number expected = fanin::reduce(fanin::serial{}, x, sum);
        expect_bits(got.real(), expected.real(), std::to_string(n) + " of kind " + std::to_string(k));
        expect_bits(got.imag(), expected.imag(), std::to_string(n) + " of kind " + std::to_string(k) + ", imaginary");
        EXPECT_NE(gpu.last_launch().shared_bytes, 0U);
      }
    }
  }
}

/// Columns of threads are a power of two, tables as many as the warps of a block need.
TEST(columns, fit_a_block) {
  simulator::begin(simulator::schedule(14));
  const fanin::cuda gpu;
  const auto of_96_threads = gpu.with<rows::one_pass>({.block_size = 96});
  const std::vector<float> x(100, 1.0F);
  EXPECT_EQ(fanin::reduce(gpu, x, fanin::exact_sum<float>{}), 100.0F);
  EXPECT_EQ(gpu.last_launch().shared_bytes, 16 + 16U * 8 * static_cast<unsigned>(gpu.last_launch().block_size));
  EXPECT_EQ(fanin::reduce(of_96_threads, x, fanin::exact_sum<float>{}), 100.0F);
  EXPECT_EQ(gpu.last_launch().shared_bytes, 16 + 16U * 8 * 128);
  const std::vector<std::complex<float>> z(100, {1.0F, 2.0F});
  EXPECT_EQ(fanin::reduce(of_96_threads, z, fanin::exact_sum<std::complex<float>>{}), std::complex<float>(100, 200));
  EXPECT_EQ(gpu.last_launch().shared_bytes, 2 * (16 + 2 * 20U * 32 * 4)) << "two warps share a table";
}

/// A functor that takes an accumulator says of which type that is.
TYPED_TEST(columns, are_none_of_a_functor_that_takes_an_accumulator) {
  using T = TypeParam;
  simulator::begin(simulator::schedule(16));
  const fanin::cuda gpu;
  const std::vector<T> x = telling_arrays<T>(1'000)[2];
  const T expected = fanin::reduce(fanin::serial{}, x, fanin::exact_sum<T>{});
  expect_bits(fanin::parallel_reduce(fanin::range(gpu, x.size()), add_element<T>{x.data()}, fanin::exact_sum<T>{}),
              expected, "f(i, acc)");
  EXPECT_EQ(gpu.last_launch().shared_bytes, 0U);
}

TYPED_TEST(columns, hand_on_parts_of_complex_numbers) {
  using T = TypeParam;
  using number = std::complex<T>;
  simulator::begin(simulator::schedule(21));
  const fanin::cuda gpu;
  for (const T value : numbers_that_fill_words<T>()) {
    const std::vector<number> x(most_elements < 1'000 ? 10'000 : 40'000, number{value, -value});
    const number got =
        fanin::reduce(gpu.with<rows::one_pass>({.block_size = 64, .grid_size = 1}), x, fanin::exact_sum<number>{});
    const number expected = fanin::reduce(fanin::serial{}, x, fanin::exact_sum<number>{});
    expect_bits(got.real(), expected.real(), "real");
    expect_bits(got.imag(), expected.imag(), "imaginary");
  }
}

/// Beside other reducers, and beside other exact sums as long as a block has room.
TEST(columns, of_several_reducers) {
  simulator::begin(simulator::schedule(15));
  const fanin::cuda gpu;
  const std::vector<double> x = telling_arrays<double>(1'000)[2];
  const double expected = fanin::reduce(fanin::serial{}, x, fanin::exact_sum<double>{});
  constexpr unsigned table = 16 + 134 * 32 * 4;
  const auto beside = fanin::reduce(gpu, x, fanin::max<double>{}, fanin::exact_sum<double>{});
  EXPECT_EQ(gpu.last_launch().shared_bytes, table);
  expect_bits(fanin::get<1>(beside), expected, "beside a maximum");
  const auto three = fanin::reduce(gpu, x, fanin::exact_sum<double>{}, fanin::min<double>{},
                                   fanin::exact_sum<double, float>{}, fanin::exact_sum<double>{});
  EXPECT_EQ(gpu.last_launch().shared_bytes, 3 * table);
  expect_bits(fanin::get<0>(three), expected, "the first of three");
  expect_bits(fanin::get<2>(three), fanin::reduce(fanin::serial{}, x, fanin::exact_sum<double, float>{}), "the second");
  expect_bits(fanin::get<3>(three), expected, "the third");
  const auto four = fanin::reduce(gpu, x, fanin::exact_sum<double>{}, fanin::exact_sum<double>{},
                                  fanin::exact_sum<double>{}, fanin::exact_sum<double>{});
  EXPECT_EQ(gpu.last_launch().shared_bytes, 0U) << "there is no room for four on every device";
  expect_bits(fanin::get<3>(four), expected, "the fourth");
}

}  // namespace
}  // namespace simulator_test
