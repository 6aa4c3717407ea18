// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "contract/contract.hpp"
#include "support/half.hpp"
#include "support/user_reducers.hpp"

/// Value types that a backend may treat in ways of their own: integers of 8 and 16 bits and wider accumulators, half
/// precision, std::complex, structs of several 16-byte loads, arrays of different types and alignments in one functor.
namespace fanin_test {

/// Elements behind `skipped` others of type Unit, so that an array can start where its own type's size does not go.
template <class T, class Unit, class Exec>
class shifted {
 public:
  shifted(Exec& exec, const std::vector<T>& host, std::size_t skipped) : units_(exec, units_of(host), skipped) {}
  std::span<const T> span() const {
    return {reinterpret_cast<const T*>(units_.data()), units_.size() * sizeof(Unit) / sizeof(T)};
  }

 private:
  static std::vector<Unit> units_of(const std::vector<T>& host) {
    std::vector<Unit> units(host.size() * sizeof(T) / sizeof(Unit));
    if (!host.empty()) std::memcpy(units.data(), host.data(), host.size() * sizeof(T));
    return units;
  }
  placed<Unit, Exec> units_;
};

/// 48 bytes: three 16-byte loads.
using sextet = lanes<double, 6>;
static_assert(sizeof(sextet) == 48);

/// f(x, y) = x * y of two types, computed in double.
struct multiply_as_double {
  FANIN_FUNCTION double operator()(float x, double y) const { return static_cast<double>(x) * y; }
};

template <class Fixture>
class value_types : public contract<Fixture> {};
TYPED_TEST_SUITE(value_types, fixtures, fixture_names);

/// What T's elements add up to in Acc; both wrap.
template <std::integral Acc, std::integral T>
Acc wrapped_sum(const std::vector<T>& x) {
  std::uint64_t total = 0;
  for (const T value : x) total += static_cast<std::uint64_t>(value);
  return static_cast<Acc>(total);
}

template <class Fixture, class T, class Acc>
void check_integer_sums(typename Fixture::exec_type& exec) {
  const fanin::sum<T, Acc> sum;
  for (const std::size_t n : sizes()) {
    for (const data kind : {data::random_signed, data::huge_and_tiny}) {
      const auto host = make_data<T>(kind, n);
      for (const std::size_t offset : {std::size_t{0}, std::size_t{3}}) {
        const placed<T, typename Fixture::exec_type> x(exec, host, offset);
        const Acc got = fanin::reduce(exec, x.span(), sum);
        ASSERT_EQ(+got, +wrapped_sum<Acc>(host)) << n << " elements of " << name_of(kind) << " from " << offset;
      }
    }
    // All of one sign: a sum of a few hundred fits no 16 bits.
    const std::vector<T> extremes(
        n, std::numeric_limits<T>::lowest() < 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
    const placed<T, typename Fixture::exec_type> x(exec, extremes);
    ASSERT_EQ(+fanin::reduce(exec, x.span(), sum), +wrapped_sum<Acc>(extremes)) << n << " extremes";
  }
}

TYPED_TEST(value_types, sums_of_8_bits_in_32) {
  check_integer_sums<TypeParam, std::int8_t, std::int32_t>(this->exec());
  check_integer_sums<TypeParam, std::uint8_t, std::uint32_t>(this->exec());
}
TYPED_TEST(value_types, sums_of_16_bits_in_64) {
  check_integer_sums<TypeParam, std::int16_t, std::int64_t>(this->exec());
}
TYPED_TEST(value_types, sums_of_8_bits_wrap) {
  check_integer_sums<TypeParam, std::uint8_t, std::uint8_t>(this->exec());
}

TYPED_TEST(value_types, a_functors_8_bits_in_32_and_64) {
  const fanin::sum<std::int8_t, std::int32_t> sum;
  const fanin::prod<std::int8_t, std::int64_t> product;
  for (const std::size_t n : sizes()) {
    const auto host = make_data<std::int8_t>(data::near_one, n);
    const placed<std::int8_t, typename TypeParam::exec_type> x(this->exec(), host);
    const auto [total, all] =
        fanin::parallel_reduce(fanin::range(this->exec(), n), at<std::int8_t>{x.data()}, sum, product);
    std::uint64_t expected = 1;
    for (const std::int8_t value : host) expected *= static_cast<std::uint64_t>(value);
    EXPECT_EQ(total, wrapped_sum<std::int32_t>(host)) << n;
    EXPECT_EQ(all, static_cast<std::int64_t>(expected)) << n;
    EXPECT_EQ(fanin::reduce(this->exec(), x.span(), product), static_cast<std::int64_t>(expected)) << n;
  }
}

/// Of each float the whole value is added in double: the bound is double's.
TYPED_TEST(value_types, sums_of_floats_in_double) {
  const fanin::sum<float, double> sum;
  for (const std::size_t n : sizes()) {
    for (const data kind : {data::random_signed, data::whole_numbers, data::huge_and_tiny}) {
      const auto host = make_data<float>(kind, n);
      const std::vector<double> wide(host.begin(), host.end());
      const placed<float, typename TypeParam::exec_type> x(this->exec(), host, 1);
      const double depth = kind == data::whole_numbers ? -1.0 : TypeParam::depth(n);
      EXPECT_TRUE(is_sum_of(std::span<const double>(wide), fanin::reduce(this->exec(), x.span(), sum), depth));
    }
  }
}

// --- std::complex -----------------------------------------------------------------------------------

template <class F>
std::vector<std::complex<F>> random_complex(std::size_t n) {
  const auto parts = make_data<F>(data::random_signed, 2 * n);
  std::vector<std::complex<F>> z(n);
  for (std::size_t i = 0; i < n; ++i) z[i] = {parts[2 * i], parts[2 * i + 1]};
  return z;
}

/// i to the power of `quarters`.
template <class F>
std::complex<F> turned_by(std::uint64_t quarters) {
  const std::array<std::complex<F>, 4> all{{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};
  return all[quarters % 4];
}
/// Powers of i: sums and products are exact in any order.
template <class F>
std::vector<std::complex<F>> quarter_turns(std::size_t n) {
  std::vector<std::complex<F>> z(n);
  for (std::size_t k = 0; k < n; ++k) z[k] = turned_by<F>(mix(k));
  return z;
}
template <class F>
std::complex<F> product_of_turns(std::size_t n) {
  std::uint64_t quarters = 0;
  for (std::size_t k = 0; k < n; ++k) quarters += mix(k) % 4;
  return turned_by<F>(quarters);
}

template <class F>
void expect_complex_sum(const std::vector<std::complex<F>>& z, const std::complex<F>& got, double depth) {
  std::vector<F> real;
  std::vector<F> imaginary;
  for (const auto& x : z) {
    real.push_back(x.real());
    imaginary.push_back(x.imag());
  }
  EXPECT_TRUE(is_sum_of(std::span<const F>(real), got.real(), depth));
  EXPECT_TRUE(is_sum_of(std::span<const F>(imaginary), got.imag(), depth));
}

/// From every start that an array of complex F can have modulo 16: whole vectors, a single element before them, and an
/// address that no vector of them has.
template <class Fixture, class F>
void check_complex_spans(typename Fixture::exec_type& exec) {
  using complex = std::complex<F>;
  for (const std::size_t n : sizes()) {
    const auto host = random_complex<F>(n);
    const auto turns = quarter_turns<F>(n);
    for (std::size_t skipped = 0; skipped < 16 / sizeof(F); ++skipped) {
      SCOPED_TRACE(std::to_string(n) + " elements behind " + std::to_string(skipped) + " single parts");
      const shifted<complex, F, typename Fixture::exec_type> x(exec, host, skipped);
      const shifted<complex, F, typename Fixture::exec_type> y(exec, turns, skipped);
      expect_complex_sum(host, fanin::reduce(exec, x.span(), fanin::sum<complex>{}), Fixture::depth(n));
      const auto [sum, product] = fanin::reduce(exec, y.span(), fanin::sum<complex>{}, fanin::prod<complex>{});
      expect_complex_sum(turns, sum, -1.0);
      EXPECT_EQ(product, product_of_turns<F>(n));
    }
  }
}

TYPED_TEST(value_types, complex_floats_in_spans) { check_complex_spans<TypeParam, float>(this->exec()); }
TYPED_TEST(value_types, complex_doubles_in_spans) { check_complex_spans<TypeParam, double>(this->exec()); }

template <class Fixture, class F>
void check_complex_functors(typename Fixture::exec_type& exec) {
  using complex = std::complex<F>;
  for (const std::size_t n : sizes()) {
    const auto host = quarter_turns<F>(n);
    const placed<complex, typename Fixture::exec_type> x(exec, host);
    const auto [sum, product] = fanin::parallel_reduce(fanin::range(exec, n), at<complex>{x.data()},
                                                       fanin::sum<complex>{}, fanin::prod<complex>{});
    expect_complex_sum(host, sum, -1.0);
    EXPECT_EQ(product, product_of_turns<F>(n)) << n;
  }
}

TYPED_TEST(value_types, complex_numbers_of_a_functor) {
  check_complex_functors<TypeParam, float>(this->exec());
  check_complex_functors<TypeParam, double>(this->exec());
}

TYPED_TEST(value_types, complex_sums_of_an_empty_range) {
  using complex = std::complex<double>;
  const std::span<const complex> nothing;
  EXPECT_EQ(fanin::reduce(this->exec(), nothing, fanin::sum<complex>{}), complex(0, 0));
  EXPECT_EQ(fanin::reduce(this->exec(), nothing, fanin::prod<complex>{}), complex(1, 0));
}

// --- Several arrays ---------------------------------------------------------------------------------

/// Starts that agree modulo 16 and starts that do not; the place of the least is an index of all arrays.
TYPED_TEST(value_types, transforms_of_arrays_that_start_anywhere) {
  using exec_type = typename TypeParam::exec_type;
  const fanin::sum<std::int32_t> sum;
  const fanin::min_loc<std::int32_t> least;
  const std::array<std::size_t, 3> all_starts[] = {{0, 0, 0}, {1, 1, 1}, {3, 7, 3}, {0, 1, 0}, {2, 2, 1}, {1, 2, 3}};
  for (const std::size_t n : sizes()) {
    const auto a = make_data<std::int32_t>(data::whole_numbers, n);
    const auto b = make_data<std::int32_t>(data::flags, n);
    auto c = b;
    permute(c, 5);
    const auto of_two = fanin::transform_reduce(in_order, a, b, multiply{}, sum, least);
    const auto of_three = fanin::transform_reduce(in_order, a, b, c, multiply{}, sum, least);
    for (const auto& starts : all_starts) {
      SCOPED_TRACE(std::to_string(n) + " elements behind " + std::to_string(starts[0]) + ", " +
                   std::to_string(starts[1]) + ", " + std::to_string(starts[2]));
      const placed<std::int32_t, exec_type> x(this->exec(), a, starts[0]);
      const placed<std::int32_t, exec_type> y(this->exec(), b, starts[1]);
      const placed<std::int32_t, exec_type> z(this->exec(), c, starts[2]);
      EXPECT_TRUE(is_same(fanin::transform_reduce(this->exec(), x.span(), y.span(), multiply{}, sum, least), of_two));
      EXPECT_TRUE(is_same(fanin::transform_reduce(this->exec(), x.span(), y.span(), z.span(), multiply{}, sum, least),
                          of_three));
    }
  }
}

TYPED_TEST(value_types, transforms_of_floats_and_doubles) {
  for (const std::size_t n : sizes()) {
    const auto a = make_data<float>(data::whole_numbers, n);
    const auto b = make_data<double>(data::flags, n);
    const placed<float, typename TypeParam::exec_type> x(this->exec(), a, 1);
    const placed<double, typename TypeParam::exec_type> y(this->exec(), b);
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) expected += multiply_as_double{}(a[i], b[i]);
    EXPECT_EQ(fanin::transform_reduce(this->exec(), x.span(), y.span(), multiply_as_double{}, fanin::sum<double>{}),
              expected)
        << n;
  }
}

// --- Structs of several 16-byte loads ---------------------------------------------------------------

template <class Fixture, class T, class Unit>
void check_structs(typename Fixture::exec_type& exec) {
  constexpr std::size_t lanes = sizeof(T) / sizeof(Unit);
  for (const std::size_t n : few_sizes()) {
    std::vector<T> host(n);
    T expected{};
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < lanes; ++k) host[i].lane[k] = element<Unit>(data::whole_numbers, lanes * i + k, n);
      expected = expected + host[i];
    }
    for (const std::size_t skipped : {0, 1}) {
      const shifted<T, Unit, typename Fixture::exec_type> x(exec, host, skipped);
      EXPECT_TRUE(fanin::reduce(exec, x.span(), fanin::sum<T>{}) == expected)
          << n << " structs of " << sizeof(T) << " bytes behind " << skipped << " of 8";
    }
  }
}

TYPED_TEST(value_types, structs_of_64_bytes) { check_structs<TypeParam, octet, std::int64_t>(this->exec()); }
TYPED_TEST(value_types, structs_of_48_bytes) { check_structs<TypeParam, sextet, double>(this->exec()); }

// --- Extremes of small integers, and the last indices there are -------------------------------------

TYPED_TEST(value_types, extremes_of_8_bits) {
  using limits = std::numeric_limits<std::int8_t>;
  const fanin::min_max_loc<std::int8_t> extremes;
  for (const std::size_t n : sizes()) {
    const auto host = make_data<std::int8_t>(data::random_signed, n);
    const placed<std::int8_t, typename TypeParam::exec_type> x(this->exec(), host, 3);
    EXPECT_TRUE(is_same(fanin::reduce(this->exec(), x.span(), extremes), fanin::reduce(in_order, host, extremes))) << n;
  }
  const fanin::min_max_index<std::int8_t> of_nothing{limits::max(), limits::lowest(), -1, -1};
  EXPECT_TRUE(is_same(fanin::reduce(this->exec(), std::span<const std::int8_t>{}, extremes), of_nothing));
}

/// As doubles they have serial's extremes.
template <class Fixture, class T>
void check_extremes_of_half(typename Fixture::exec_type& exec) {
  const auto widened = [](const fanin::min_max_index<T>& x) {
    return fanin::min_max_index<double>{value_of(x.min), value_of(x.max), x.min_index, x.max_index};
  };
  for (const std::size_t n : few_sizes()) {
    for (const auto& host : arrays_of_half<T>(n)) {
      std::vector<double> wide(n);
      std::transform(host.begin(), host.end(), wide.begin(), value_of<T>);
      const auto expected = fanin::reduce(in_order, wide, fanin::min_max_loc<double>{});
      const placed<T, typename Fixture::exec_type> x(exec, host, 1);
      const auto [both, least] = fanin::reduce(exec, x.span(), fanin::min_max_loc<T>{}, fanin::min<T>{});
      EXPECT_TRUE(is_same(widened(both), expected)) << n;
      EXPECT_TRUE(is_same(value_of(least), expected.min)) << n;
      const auto greatest = fanin::parallel_reduce(fanin::range(exec, n), at<T>{x.data()}, fanin::max<T>{});
      EXPECT_TRUE(is_same(value_of(greatest), expected.max)) << n;
    }
  }
}

TYPED_TEST(value_types, extremes_of_half_precision) { check_extremes_of_half<TypeParam, half>(this->exec()); }
TYPED_TEST(value_types, extremes_of_bfloat16) { check_extremes_of_half<TypeParam, bfloat16>(this->exec()); }

/// f(i) = the digits of the distance to the last index, so that equal values are far apart.
struct digits_from_the_end {
  FANIN_FUNCTION std::int32_t operator()(std::int64_t i) const {
    const std::int64_t left = INT64_MAX - i;
    return static_cast<std::int32_t>((left >> 32) * 7 + left % 100);
  }
};

TYPED_TEST(value_types, places_among_the_last_indices) {
  const fanin::min_loc<std::int32_t> least;
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{100}, std::int64_t{5'000}, std::int64_t{300'000}}) {
    for (const std::int64_t last : {INT64_MAX, INT64_MAX - (std::int64_t{1} << 32) + n / 2}) {
      const auto got = fanin::parallel_reduce(fanin::range(this->exec(), last - n, last), digits_from_the_end{}, least);
      EXPECT_TRUE(
          is_same(got, fanin::parallel_reduce(fanin::range(in_order, last - n, last), digits_from_the_end{}, least)))
          << n << " up to " << last;
    }
  }
}

}  // namespace fanin_test
