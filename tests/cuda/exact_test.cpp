// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda/gpu_test.hpp"
#include "exact/values.hpp"
#include "support/functors.hpp"

/// Exact sums on a GPU: the bits that the serial backend gives, which tests/exact checks against Python, for every
/// block and grid.
namespace fanin_test {
namespace {

using cuda_exact = gpu_test;

template <class T>
auto bits_of(T x) {
  return std::bit_cast<std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>(x);
}

/// Values of a moderate range, of all exponents, and pairs that cancel far apart.
template <class T>
std::vector<std::vector<T>> telling_arrays(std::size_t n) {
  std::mt19937_64 random(n);
  std::normal_distribution<double> normal(0.1, 3);
  std::vector<T> moderate(n);
  for (T& x : moderate) x = static_cast<T>(normal(random));
  const std::vector<T> wild = of_all_exponents<T>(n, n);
  std::vector<T> cancelling(wild);
  for (std::size_t i = 0; i < n / 2; ++i) cancelling[n - 1 - i] = -cancelling[i];
  std::vector<T> tiny(n, std::numeric_limits<T>::denorm_min());
  return {moderate, wild, cancelling, tiny};
}

template <class T>
void expect_bits(T got, T expected, const std::string& what) {
  EXPECT_EQ(bits_of(got), bits_of(expected)) << what << ": " << got << ", not " << expected;
}

template <class T>
void check_spans() {
  fanin::cuda gpu;
  destination<T, fanin::cuda> out(gpu);
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{2}, std::size_t{33}, std::size_t{1'000}, std::size_t{70'001}}) {
    for (const std::vector<T>& host : telling_arrays<T>(n)) {
      const placed<T, fanin::cuda> x(gpu, host, n % 3);
      const T expected = fanin::reduce(fanin::serial{}, host, fanin::exact_sum<T>{});
      const auto name = "n = " + std::to_string(n);
      expect_bits(fanin::reduce(gpu, x.span(), fanin::exact_sum<T>{}), expected, name);
      for (const fanin::cuda_tuning tuning : {fanin::cuda_tuning{.block_size = 32, .grid_size = 300},
                                              fanin::cuda_tuning{.block_size = 1024, .grid_size = 7},
                                              fanin::cuda_tuning{.block_size = 96, .blocks_per_sm = 2}}) {
        fanin::reduce_into(out.pointer(), gpu.with(tuning), x.span(), fanin::exact_sum<T>{});
        expect_bits(out.get(), expected, name + ", into, blocks of " + std::to_string(tuning.block_size));
      }
    }
  }
}

TEST_F(cuda_exact, sums_of_doubles_have_the_serial_bits) { check_spans<double>(); }
TEST_F(cuda_exact, sums_of_floats_have_the_serial_bits) { check_spans<float>(); }

/// So many numbers for a thread or a lane that what it adds to would overflow, had it not handed carries on.
template <class T>
void check_many(std::size_t n) {
  fanin::cuda gpu;
  for (const T sign : {T{1}, T{-1}}) {
    const T largest = std::nextafter(static_cast<T>(sizeof(T) == 8 ? 0x1p2 : 0x1p17), T{0});
    const std::vector<T> host(n, sign * largest);
    const placed<T, fanin::cuda> x(gpu, host);
    const T expected = fanin::reduce(fanin::serial{}, host, fanin::exact_sum<T>{});
    for (const int block_size : {32, 256, 1024}) {
      expect_bits(fanin::reduce(gpu.with({.block_size = block_size, .grid_size = 1}), x.span(), fanin::exact_sum<T>{}),
                  expected, "blocks of " + std::to_string(block_size));
    }
  }
}
TEST_F(cuda_exact, doubles_hand_carries_on) { check_many<double>(6'000'000); }
TEST_F(cuda_exact, floats_are_emptied_into_the_spill) { check_many<float>(9'000'000); }

TEST_F(cuda_exact, functors_and_several_reducers) {
  fanin::cuda gpu;
  for (const std::vector<double>& host : telling_arrays<double>(20'011)) {
    const placed<double, fanin::cuda> x(gpu, host);
    const double expected = fanin::reduce(fanin::serial{}, host, fanin::exact_sum<double>{});
    const auto range = fanin::range(gpu, host.size());
    expect_bits(fanin::parallel_reduce(range, at<double>{x.data()}, fanin::exact_sum<double>{}), expected, "f(i)");
    expect_bits(
        fanin::parallel_reduce(range, add_to_state<fanin::exact_sum<double>>{x.data()}, fanin::exact_sum<double>{}),
        expected, "f(i, acc)");
    const auto several = fanin::reduce(gpu, x.span(), fanin::max<double>{}, fanin::exact_sum<double>{});
    expect_bits(fanin::get<1>(several), expected, "beside a maximum");
  }
}

/// What the sums of the nearest peer get wrong.
TEST_F(cuda_exact, infinities_overflows_cancellation_and_denormals) {
  fanin::cuda gpu;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto sum = [&](const std::vector<double>& host) {
    const placed<double, fanin::cuda> x(gpu, host);
    return fanin::reduce(gpu, x.span(), fanin::exact_sum<double>{});
  };
  EXPECT_EQ(sum({1, infinity, 2}), infinity);
  EXPECT_TRUE(std::isnan(sum({infinity, 1, -infinity})));
  EXPECT_EQ(sum({1e308, 1e308, -1e308}), 1e308);
  EXPECT_EQ(sum({1e100, 1, -1e100}), 1);
  EXPECT_EQ(sum(std::vector<double>(1'000, 5e-324)), 4.94e-321);
  EXPECT_EQ(bits_of(sum({-0.0})), bits_of(0.0));
  EXPECT_EQ(sum({-0x1p1010}), -0x1p1010);
  EXPECT_EQ(sum({infinity, -0x1p1010}), infinity);
  EXPECT_EQ(sum({-infinity, -0x1p974}), -infinity);
  const placed<double, fanin::cuda> high(gpu, std::vector<double>{-0x1p990});
  EXPECT_EQ(fanin::reduce(gpu, high.span(), fanin::exact_sum<double, fanin::exact_accumulator>{}).value(), -0x1p990);
}

/// Blocks whose numbers have little in common: only some have anything in their spill, and their sums are of different
/// scales.
std::vector<std::vector<double>> arrays_of_different_blocks(std::size_t n) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  const std::vector<double> wild = of_all_exponents<double>(n, 5);
  std::vector<std::vector<double>> arrays;
  for (const double scale : {1.0, 0x1p-20, 0x1p-300, 0.0}) {
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = uniform(random) * (i < n / 2 ? 1 : scale);
    arrays.push_back(x);
    for (std::size_t i = n / 3; i < n / 3 + 5'000; ++i) x[i] = wild[i];
    arrays.push_back(x);
    x[n / 7] = std::numeric_limits<double>::infinity();
    arrays.push_back(x);
    for (std::size_t i = 0; i < n; ++i) x[i] = i % 13 == 0 ? uniform(random) : 0.0;
    arrays.push_back(x);
  }
  return arrays;
}

template <class T>
void check_products(const std::vector<T>& host, std::size_t offset = 0) {
  fanin::cuda gpu;
  const std::vector<T> other(host.rbegin(), host.rend());
  const placed<T, fanin::cuda> x(gpu, host, offset);
  const placed<T, fanin::cuda> y(gpu, other, offset);
  const std::string what = std::to_string(host.size());
  const T expected = fanin::exact_dot(fanin::serial{}, host, other);
  expect_bits(fanin::exact_dot(gpu, x.span(), y.span()), expected, what + ", dot");
  destination<T, fanin::cuda> out(gpu);
  fanin::exact_dot_into(out.pointer(), gpu.with({.block_size = 96}), x.span(), y.span());
  expect_bits(out.get(), expected, what + ", dot, into");
  fanin::exact_norm2_squared_into(out.pointer(), gpu, x.span());
  expect_bits(out.get(), fanin::exact_norm2_squared(fanin::serial{}, host), what + ", norm, into");
}

TEST_F(cuda_exact, products) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{33}, std::size_t{3'001}, std::size_t{150'001}}) {
    for (const std::vector<double>& host : telling_arrays<double>(n)) check_products(host, n % 2);
    for (const std::vector<float>& host : telling_arrays<float>(n)) check_products(host, n % 4);
  }
}
TEST_F(cuda_exact, products_of_which_some_blocks_have_spills) {
  for (const std::vector<double>& host : arrays_of_different_blocks(600'000)) check_products(host);
}
/// So many for a lane that a word would overflow.
TEST_F(cuda_exact, products_hand_carries_on) {
  check_products(std::vector<double>(9'000'000, -std::nextafter(4.0, 0.0)));
  check_products(std::vector<float>(9'000'000, std::nextafter(4.0F, 0.0F)));
}

TEST_F(cuda_exact, every_block_and_many_grids) {
  fanin::cuda gpu;
  destination<double, fanin::cuda> out(gpu);
  for (const std::vector<double>& host : telling_arrays<double>(50'003)) {
    const placed<double, fanin::cuda> x(gpu, host, 1);
    const double expected = fanin::reduce(fanin::serial{}, host, fanin::exact_sum<double>{});
    for (int block_size = 32; block_size <= 1024; block_size += 32) {
      for (const int grid_size : {1, 2, 3, 31, 132, 1'000, 4'096}) {
        fanin::reduce_into(out.pointer(), gpu.with({.block_size = block_size, .grid_size = grid_size}), x.span(),
                           fanin::exact_sum<double>{});
        expect_bits(out.get(), expected, std::to_string(grid_size) + " blocks of " + std::to_string(block_size));
      }
    }
  }
}

/// Large enough that the threads of a grid fold several full tiles, and their bins are emptied.
TEST_F(cuda_exact, long_arrays) {
  fanin::cuda gpu;
  destination<double, fanin::cuda> out(gpu);
  constexpr std::size_t n = 6'000'007;
  for (const std::vector<double>& host : telling_arrays<double>(n)) {
    const placed<double, fanin::cuda> x(gpu, host, 1);
    const double expected = fanin::reduce(fanin::serial{}, host, fanin::exact_sum<double>{});
    expect_bits(fanin::reduce(gpu, x.span(), fanin::exact_sum<double>{}), expected, "long");
    fanin::reduce_into(out.pointer(), gpu.with({.block_size = 128, .grid_size = 3}), x.span(),
                       fanin::exact_sum<double>{});
    expect_bits(out.get(), expected, "long, three blocks");
  }
}

TEST_F(cuda_exact, blocks_of_different_kinds) {
  fanin::cuda gpu;
  const fanin::exact_sum<double> sum;
  const fanin::min_loc<double> least;
  for (const std::vector<double>& host : arrays_of_different_blocks(300'000)) {
    const placed<double, fanin::cuda> x(gpu, host);
    const auto [expected, place] = fanin::reduce(fanin::serial{}, host, sum, least);
    for (const fanin::cuda_tuning tuning : {fanin::cuda_tuning{}, fanin::cuda_tuning{.block_size = 64},
                                            fanin::cuda_tuning{.block_size = 1024, .grid_size = 50}}) {
      const auto exec = gpu.with(tuning);
      const auto name = "blocks of " + std::to_string(tuning.block_size);
      expect_bits(fanin::reduce(exec, x.span(), sum), expected, name);
      const auto both = fanin::reduce(exec, x.span(), least, sum);
      expect_bits(fanin::get<1>(both), expected, name + ", with another reducer");
      EXPECT_EQ(fanin::get<0>(both), place) << name;
    }
  }
}

/// Every number of elements at which the blocks change, and one that leaves a block nothing.
TEST_F(cuda_exact, sizes_at_which_the_grid_changes) {
  fanin::cuda gpu;
  const std::vector<float> all = telling_arrays<float>(4'400'000).front();
  const placed<float, fanin::cuda> x(gpu, all);
  for (const std::size_t vectors : {1'024, 4'096, 4 * 256 * 132, 8 * 512 * 132, 1'050'000}) {
    for (const int more : {-1, 0, 1, 5}) {
      const std::size_t n = 4 * vectors + static_cast<std::size_t>(4 * more) + 3;
      const std::vector<float> host(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
      expect_bits(fanin::reduce(gpu, x.span().subspan(0, n), fanin::exact_sum<float>{}),
                  fanin::reduce(fanin::serial{}, host, fanin::exact_sum<float>{}), "n = " + std::to_string(n));
    }
  }
}

TEST_F(cuda_exact, several_sums_and_accumulators_as_results) {
  fanin::cuda gpu;
  for (const std::vector<double>& host : telling_arrays<double>(150'001)) {
    const placed<double, fanin::cuda> x(gpu, host);
    using to_accumulator = fanin::exact_sum<double, fanin::exact_accumulator>;
    const auto expected = fanin::reduce(fanin::serial{}, host, to_accumulator{});
    EXPECT_EQ(fanin::reduce(gpu, x.span(), to_accumulator{}).serialise(), expected.serialise());
    const auto several = fanin::reduce(gpu, x.span(), fanin::exact_sum<double>{}, fanin::min<double>{},
                                       to_accumulator{}, fanin::exact_sum<double, float>{});
    expect_bits(fanin::get<0>(several), expected.value(), "the first of four");
    EXPECT_EQ(fanin::get<1>(several), fanin::reduce(fanin::serial{}, host, fanin::min<double>{}));
    EXPECT_EQ(fanin::get<2>(several).serialise(), expected.serialise());
    expect_bits(fanin::get<3>(several), expected.value_as<float>(), "the last of four");
  }
}

/// The other ways to finish, in which accumulators travel.
TEST_F(cuda_exact, other_strategies) {
  namespace strategy = fanin::cuda_strategy;
  fanin::cuda gpu;
  for (const std::vector<double>& host : telling_arrays<double>(200'000)) {
    const placed<double, fanin::cuda> x(gpu, host, 1);
    const double expected = fanin::reduce(fanin::serial{}, host, fanin::exact_sum<double>{});
    const auto check = [&](const auto& exec, const char* name) {
      expect_bits(fanin::reduce(exec, x.span(), fanin::exact_sum<double>{}), expected, name);
    };
    check(gpu.with<strategy::one_pass_bulk>(), "one_pass_bulk");
    check(gpu.with<strategy::cluster>(), "cluster");
    check(gpu.with<strategy::finished_by<strategy::one_pass, fanin::cuda_stage::grid::last_block>>(), "last_block");
  }
}

template <class T>
void check_complex_numbers(const std::vector<T>& parts) {
  using complex = std::complex<T>;
  fanin::cuda gpu;
  std::vector<complex> host(parts.size() / 2);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = {parts[2 * i], parts[2 * i + 1]};
  const placed<complex, fanin::cuda> x(gpu, host);
  const complex expected = fanin::reduce(fanin::serial{}, host, fanin::exact_sum<complex>{});
  const complex got = fanin::reduce(gpu, x.span(), fanin::exact_sum<complex>{});
  expect_bits(got.real(), expected.real(), "real");
  expect_bits(got.imag(), expected.imag(), "imaginary");
}

TEST_F(cuda_exact, complex_numbers) {
  for (const std::vector<float>& parts : telling_arrays<float>(20'000)) check_complex_numbers(parts);
  for (const std::vector<double>& parts : arrays_of_different_blocks(600'000)) check_complex_numbers(parts);
}

/// A mean whose sum is exact.
struct mean_of {
  double n;
  FANIN_FUNCTION double operator()(double sum, double) const { return sum / n; }
};

/// One call in all of its forms, by two objects, and between them an ordinary one.
TEST_F(cuda_exact, forms_of_a_call) {
  fanin::cuda gpu;
  fanin::cuda other;
  destination<double, fanin::cuda> out(gpu);
  for (const std::vector<double>& host : telling_arrays<double>(200'003)) {
    const placed<double, fanin::cuda> x(gpu, host);
    const double expected = fanin::reduce(fanin::serial{}, host, fanin::exact_sum<double>{});
    auto first = fanin::reduce_async(gpu, x.span(), fanin::exact_sum<double>{});
    auto norm = fanin::parallel_reduce_async(fanin::range(other, host.size()), at<double>{x.data()},
                                             fanin::exact_sum<double>{}, fanin::max<double>{});
    auto second = fanin::reduce_async(gpu, x.span(), fanin::sum<double>{});
    auto third = fanin::reduce_async(gpu, x.span(), fanin::exact_sum<double>{});
    expect_bits(third.get(), expected, "the second one outstanding");
    expect_bits(first.get(), expected, "the first one outstanding");
    expect_bits(fanin::get<0>(norm.get()), expected, "of another object");
    static_cast<void>(second.get());
    const auto n = static_cast<double>(host.size());
    const double mean =
        fanin::reduce(gpu, x.span(), fanin::finished(mean_of{n}, fanin::exact_sum<double>{}, fanin::min<double>{}));
    expect_bits(mean, expected / n, "finished");
    fanin::reduce_into(out.pointer(), other, x.span(), fanin::exact_sum<double>{});
    other.synchronize();
    expect_bits(out.get(), expected, "into, by another object");
  }
}

}  // namespace
}  // namespace fanin_test
