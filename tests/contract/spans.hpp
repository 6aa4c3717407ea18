// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "contract/contract.hpp"

/// Contiguous arrays: every alignment, one to three of them, and every kind of argument that counts as one.
namespace fanin_test {

struct point {
  float x, y, z;
};

struct squared_length {
  FANIN_FUNCTION double operator()(const point& p) const {
    return static_cast<double>(p.x) * static_cast<double>(p.x) + static_cast<double>(p.y) * static_cast<double>(p.y) +
           static_cast<double>(p.z) * static_cast<double>(p.z);
  }
};

/// A functor of arrays of different types.
struct pick {
  FANIN_FUNCTION std::int64_t operator()(std::uint8_t flag, std::int64_t value) const { return flag != 0 ? value : 0; }
};

template <class Fixture>
class spans : public contract<Fixture> {};
TYPED_TEST_SUITE(spans, fixtures, fixture_names);

template <class Fixture, class T>
void check_misaligned(typename Fixture::exec_type& exec) {
  for (const std::size_t offset : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{5}, std::size_t{31},
                                std::size_t{33}, std::size_t{1'023}, std::size_t{4'099}, std::size_t{70'001}}) {
      const auto host = make_data<T>(data::random_signed, n);
      placed<T, typename Fixture::exec_type> x(exec, host, offset);
      EXPECT_TRUE(
          is_sum_of(std::span<const T>(host), fanin::reduce(exec, x.span(), fanin::sum<T>{}), Fixture::depth(n)))
          << "offset " << offset;
      EXPECT_TRUE(is_same(fanin::reduce(exec, x.span(), fanin::min_loc<T>{}),
                          fanin::reduce(in_order, host, fanin::min_loc<T>{})))
          << "offset " << offset << ", n = " << n;
    }
  }
}

TYPED_TEST(spans, misaligned_starts) {
  check_misaligned<TypeParam, std::int32_t>(this->exec());
  check_misaligned<TypeParam, double>(this->exec());
  if constexpr (TypeParam::breadth != coverage::spot) {
    check_misaligned<TypeParam, float>(this->exec());
    check_misaligned<TypeParam, std::uint64_t>(this->exec());
  }
}

/// A part of an array: what stands before and behind is not counted.
TYPED_TEST(spans, parts_of_an_array) {
  const auto host = make_data<std::int64_t>(data::random_signed, 1'000);
  placed<std::int64_t, typename TypeParam::exec_type> x(this->exec(), host);
  for (std::size_t first = 0; first < host.size(); first += 97) {
    for (std::size_t n = 0; first + n <= host.size(); n += 131) {
      const auto part = std::span<const std::int64_t>(host).subspan(first, n);
      EXPECT_TRUE(
          is_sum_of(part, fanin::reduce(this->exec(), x.span().subspan(first, n), fanin::sum<std::int64_t>{}), 0));
    }
  }
}

/// Spans of const and of mutable elements, a buffer, several reducers, a label.
TYPED_TEST(spans, arguments) {
  using exec_type = typename TypeParam::exec_type;
  const auto host = make_data<double>(data::whole_numbers, 777);
  fanin::buffer<double, exec_type> x(this->exec(), host);
  const auto expected = fanin::reduce(in_order, host, fanin::sum<double>{}, fanin::max_loc<double>{});
  const auto& [sum, most] = expected;
  EXPECT_EQ(fanin::reduce(this->exec(), x, fanin::sum<double>{}), sum);
  EXPECT_EQ(fanin::reduce(this->exec(), x.span(), fanin::sum<double>{}), sum);
  EXPECT_EQ(fanin::reduce(this->exec(), std::as_const(x).span(), fanin::sum<double>{}), sum);
  EXPECT_EQ(fanin::reduce(this->exec(), std::span<const double>(x.data(), x.size()), fanin::sum<double>{}), sum);
  EXPECT_EQ(fanin::reduce("labelled", this->exec(), x, fanin::sum<double>{}), sum);
  EXPECT_TRUE(is_same(fanin::reduce(this->exec(), x, fanin::sum<double>{}, fanin::max_loc<double>{}), expected));
}

TYPED_TEST(spans, transform_of_one_two_and_three) {
  for (const std::size_t n : few_sizes()) {
    const auto a = make_data<std::int64_t>(data::whole_numbers, n);
    const auto b = make_data<std::int64_t>(data::pairs, n);
    const auto c = make_data<std::int64_t>(data::flags, n);
    placed<std::int64_t, typename TypeParam::exec_type> x(this->exec(), a);
    placed<std::int64_t, typename TypeParam::exec_type> y(this->exec(), b, 1);
    placed<std::int64_t, typename TypeParam::exec_type> z(this->exec(), c, 2);
    std::int64_t squares = 0;
    std::int64_t dot = 0;
    std::int64_t triple = 0;
    for (std::size_t i = 0; i < n; ++i) {
      squares += a[i] * a[i];
      dot += a[i] * b[i];
      triple += a[i] * b[i] + c[i];
    }
    const fanin::sum<std::int64_t> sum;
    EXPECT_EQ(fanin::transform_reduce(this->exec(), x.span(), multiply{}, sum), squares) << "n = " << n;
    EXPECT_EQ(fanin::transform_reduce(this->exec(), x.span(), y.span(), multiply{}, sum), dot) << "n = " << n;
    if constexpr (TypeParam::breadth != coverage::spot) {
      EXPECT_EQ(fanin::transform_reduce(this->exec(), x.span(), y.span(), z.span(), multiply{}, sum), triple)
          << "n = " << n;
    }
  }
}

/// Elements of a struct, of 12 bytes and so of no vector's size, and arrays of different types.
TYPED_TEST(spans, transform_of_other_types) {
  if constexpr (TypeParam::breadth != coverage::spot) {
    std::vector<point> points(4'001);
    double expected = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      points[i] = {element<float>(data::whole_numbers, i, 0), static_cast<float>(i % 5), 1.0F};
      expected += squared_length{}(points[i]);
    }
    placed<point, typename TypeParam::exec_type> x(this->exec(), points);
    EXPECT_EQ(fanin::transform_reduce(this->exec(), x.span(), squared_length{}, fanin::sum<double>{}), expected);

    const auto flags = make_data<std::uint8_t>(data::flags, 3'333);
    const auto values = make_data<std::int64_t>(data::pairs, 3'333);
    placed<std::uint8_t, typename TypeParam::exec_type> f(this->exec(), flags, 3);
    placed<std::int64_t, typename TypeParam::exec_type> v(this->exec(), values);
    std::int64_t picked = 0;
    for (std::size_t i = 0; i < flags.size(); ++i) picked += flags[i] != 0 ? values[i] : 0;
    EXPECT_EQ(fanin::transform_reduce(this->exec(), f.span(), v.span(), pick{}, fanin::sum<std::int64_t>{}), picked);
  } else {
    GTEST_SKIP() << left_to_the_default;
  }
}

/// Small types load several to a word: the last of them must not be counted beyond the end.
TYPED_TEST(spans, elements_of_one_and_two_bytes) {
  if constexpr (TypeParam::breadth != coverage::spot) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{15}, std::size_t{17}, std::size_t{1'025}}) {
      for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{7}}) {
        const auto bytes = make_data<std::uint8_t>(data::random_signed, n);
        placed<std::uint8_t, typename TypeParam::exec_type> x(this->exec(), bytes, offset);
        EXPECT_EQ(fanin::reduce(this->exec(), x.span(), fanin::sum<std::uint8_t>{}),
                  fanin::reduce(in_order, bytes, fanin::sum<std::uint8_t>{}));
        // What an element gives may be widened by the reducer's value type.
        std::uint64_t wide = 0;
        for (const auto byte : bytes) wide += byte;
        EXPECT_EQ(fanin::reduce(this->exec(), x.span(), fanin::sum<std::uint64_t>{}), wide);
      }
    }
  } else {
    GTEST_SKIP() << left_to_the_default;
  }
}

/// Nothing is written to the input.
TYPED_TEST(spans, the_input_is_left_as_it_was) {
  const auto host = make_data<std::int32_t>(data::random_signed, 100'003);
  placed<std::int32_t, typename TypeParam::exec_type> x(this->exec(), host);
  fanin::reduce(this->exec(), x.span(), fanin::sum<std::int32_t>{});
  fanin::reduce(this->exec(), x.span(), fanin::min_loc<std::int32_t>{});
  EXPECT_EQ(x.host(), host);
}

TYPED_TEST(spans, of_no_elements) {
  using exec_type = typename TypeParam::exec_type;
  const std::span<const double> nothing;
  fanin::buffer<double, exec_type> empty(this->exec(), 0);
  EXPECT_EQ(fanin::reduce(this->exec(), nothing, fanin::sum<double>{}), 0.0);
  EXPECT_EQ(fanin::reduce(this->exec(), empty, fanin::sum<double>{}), 0.0);
  EXPECT_EQ(fanin::transform_reduce(this->exec(), nothing, nothing, multiply{}, fanin::sum<double>{}), 0.0);
}

}  // namespace fanin_test
