// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <fanin/fanin.hpp>

#include "values.hpp"

/// What f(i, acc&...) adds on hosts waits in blocks for the loops; and data of every kind in every form, against the
/// accumulator, which adds integers.
namespace fanin_test {
namespace {

constexpr std::size_t block = fanin::detail::exact_waiting::most;

/// Calls use(exec, its name) for every host there is.
template <class Use>
void for_each_host(const Use& use) {
  use(fanin::serial{}, "serial");
  use(fanin::serial(fanin::serial_order::left_to_right), "serial, left to right");
#if FANIN_HAS_KOKKOS && defined(KOKKOS_ENABLE_OPENMP) && !FANIN_KOKKOS_NEEDS_CUDA
  use(fanin::kokkos<Kokkos::OpenMP>{}, "Kokkos::OpenMP");
#endif
}

template <class T>
fanin::exact_accumulator sum_of(const std::vector<T>& x) {
  fanin::exact_accumulator sum;
  for (const T value : x) sum.add(value);
  return sum;
}

/// f(i, acc): x[i], index by index once, never, or twice where `odd` says so.
template <class T>
struct add_some {
  using reducer = fanin::exact_sum<T, fanin::exact_accumulator>;
  const T* x;
  bool odd;
  void operator()(std::int64_t i, typename reducer::thread_state& acc) const {
    if (odd && i % 3 == 0) return;
    acc += x[i];
    if (odd && i % 3 == 1) acc.add(x[i]);
  }
};

template <class T>
void expect_waiting_sums(const std::vector<T>& x, const std::string& what) {
  const auto once = sum_of(x).serialise();
  std::vector<T> some;
  for (std::size_t i = 0; i < x.size(); ++i) some.insert(some.end(), i % 3 == 0 ? 0 : (i % 3 == 1 ? 2 : 1), x[i]);
  const auto odd = sum_of(some).serialise();
  for_each_host([&](const auto& exec, const char* name) {
    const auto range = fanin::range(exec, x.size());
    using reducer = typename add_some<T>::reducer;
    EXPECT_EQ(fanin::parallel_reduce(range, add_some<T>{x.data(), false}, reducer{}).serialise(), once)
        << name << ": " << what;
    EXPECT_EQ(fanin::parallel_reduce(range, add_some<T>{x.data(), true}, reducer{}).serialise(), odd)
        << name << ": " << what << ", some twice";
  });
}

TEST(waiting, numbers_at_the_edges_of_a_block) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{256}, block - 1, block,
                              block + 1, block + 255, 2 * block, 2 * block + 1, 7 * block + 3}) {
    expect_waiting_sums(of_all_exponents<double>(n, n + 1), std::to_string(n) + " doubles");
    expect_waiting_sums(of_range<float>(n, -149, 120, n + 2), std::to_string(n) + " floats");
  }
}

TEST(waiting, data_of_every_kind) {
  for (const auto& [kind, x] : kinds_of_values<double>(3 * block + 5, 7)) expect_waiting_sums(x, kind);
  for (const auto& [kind, x] : kinds_of_values<float>(3 * block + 5, 8)) expect_waiting_sums(x, kind);
}

TEST(waiting, infinities_and_nan) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double odd : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    for (const std::size_t at : {std::size_t{0}, block - 1, block, 2 * block + 7}) {
      std::vector<double> x(2 * block + 8, 0.5);
      x[at] = odd;
      expect_waiting_sums(x, std::to_string(odd) + " at " + std::to_string(at));
    }
  }
}

/// f(i, acc, acc, acc), of several reducers of which one is no exact sum.
template <class F>
struct add_to_three {
  const std::complex<F>* x;
  void operator()(std::int64_t i, fanin::exact_sum<double>::thread_state& first, std::int64_t& count,
                  typename fanin::exact_sum<std::complex<F>>::thread_state& second) const {
    first -= static_cast<double>(x[i].real());
    ++count;
    second += x[i];
  }
};

/// The parts of complex numbers, of an array and by f(i, acc&...) among several; products.
template <class F>
void expect_complex_sums_and_products(const std::vector<F>& x, const std::string& kind) {
  std::vector<F> real;
  std::vector<F> imaginary;
  std::vector<std::complex<F>> z;
  for (std::size_t i = 0; i + 1 < x.size(); i += 2) {
    z.emplace_back(real.emplace_back(x[i]), imaginary.emplace_back(x[i + 1]));
  }
  const std::complex<F> right(sum_of(real).template value_as<F>(), sum_of(imaginary).template value_as<F>());
  std::vector<double> negated(real.begin(), real.end());
  for (double& value : negated) value = -value;
  fanin::exact_product_accumulator dot;
  fanin::exact_product_accumulator squares;
  for (std::size_t i = 0; i < real.size(); ++i) {
    dot.add_product(real[i], imaginary[i]);
    squares.add_product(real[i], real[i]);
  }
  for_each_host([&](const auto& exec, const char* name) {
    const std::string what = name + (": " + kind);
    using complex_sum = fanin::exact_sum<std::complex<F>>;
    EXPECT_EQ(fanin::reduce(exec, z, complex_sum{}), right) << what;
    const auto three = fanin::parallel_reduce(fanin::range(exec, z.size()), add_to_three<F>{z.data()},
                                              fanin::exact_sum<double>{}, fanin::sum<std::int64_t>{}, complex_sum{});
    EXPECT_EQ(fanin::get<0>(three), sum_of(negated).value()) << what;
    EXPECT_EQ(fanin::get<1>(three), static_cast<std::int64_t>(z.size())) << what;
    EXPECT_EQ(fanin::get<2>(three), right) << what;
    EXPECT_EQ(fanin::exact_dot(exec, real, imaginary), dot.template value_as<F>()) << what;
    EXPECT_EQ(fanin::exact_norm2_squared(exec, real), squares.template value_as<F>()) << what;
  });
}

TEST(kinds, complex_numbers_and_products) {
  for (const auto& [kind, x] : kinds_of_values<double>(4 * block + 6, 9)) expect_complex_sums_and_products(x, kind);
  for (const auto& [kind, x] : kinds_of_values<float>(4 * block + 6, 10)) expect_complex_sums_and_products(x, kind);
}

/// f(i, acc), which throws at the index `at`.
struct add_until {
  std::int64_t at;
  void operator()(std::int64_t i, fanin::exact_sum<double>::thread_state& acc) const {
    if (i == at) throw std::runtime_error("at");
    acc += 0.5;
  }
};

TEST(waiting, what_f_throws_passes_through) {
  const fanin::serial here;
  const auto range = fanin::range(here, 4 * block);
  for (const std::size_t at : {std::size_t{0}, block, 3 * block + 9}) {
    EXPECT_THROW(fanin::parallel_reduce(range, add_until{static_cast<std::int64_t>(at)}, fanin::exact_sum<double>{}),
                 std::runtime_error);
    EXPECT_EQ(fanin::parallel_reduce(range, add_until{-1}, fanin::exact_sum<double>{}), 2.0 * block);
  }
}

}  // namespace
}  // namespace fanin_test
