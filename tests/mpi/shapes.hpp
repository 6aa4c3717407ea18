// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <fanin/batch.hpp>
#include <fanin/buffer.hpp>
#include <fanin/error.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/finished.hpp>
#include <fanin/md_range.hpp>
#include <fanin/mpi/over.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>
#include <fanin/view.hpp>

#include "mpi/parts.hpp"

/// Over ranks: places in boxes, arrays with strides, and functors of several arrays. Every rank has its part on an
/// object of its own choice; serial over the whole says what is right.
namespace fanin_test {

/// Few values, so that many places are of equals.
FANIN_FUNCTION inline std::int64_t height(std::int64_t i, std::int64_t j, std::int64_t k) {
  return static_cast<std::int64_t>(mix(static_cast<std::uint64_t>((i * 1'009 + j) * 1'009 + k)) % 11) - 5;
}
struct height_at {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return height(i, j, k);
  }
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const { return height(i, j, 7); }
};
/// Of an element, whatever its segment.
struct height_of_element {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t, std::int64_t k) const { return height(k, 3, 7); }
};
/// A reducer of one's own, which sees numbers: the least one of a value that is negative. Several elements at once have
/// numbers one behind the other, as those of a part of a box have not.
struct first_negative {
  struct least {
    std::int64_t number;
  };
  using value_type = std::int64_t;
  using accumulator_type = least;
  using result_type = double;
  FANIN_FUNCTION least identity() const { return {INT64_MAX}; }
  FANIN_FUNCTION void fold(least& acc, std::int64_t value, std::int64_t n) const {
    if (value < 0 && n < acc.number) acc.number = n;
  }
  FANIN_FUNCTION void fold_batch(least& acc, const fanin::span_batch<std::int64_t>& batch) const {
    for (std::int64_t k = 0; k < batch.count; ++k) fold(acc, batch.values[k], batch.first + k);
  }
  FANIN_FUNCTION void join(least& into, const least& from) const {
    into.number = into.number < from.number ? into.number : from.number;
  }
  FANIN_FUNCTION double result(const least& acc) const { return static_cast<double>(acc.number); }
};
/// g of finished(g, ...).
struct halved {
  FANIN_FUNCTION double operator()(double first) const { return first / 2; }
};
struct place_and_sum {
  template <std::size_t Rank>
  FANIN_FUNCTION std::int64_t operator()(const fanin::value_index<std::int64_t, fanin::md_index<Rank>>& least,
                                         std::int64_t sum) const {
    std::int64_t all = least.value * 10'000 + sum;
    for (std::size_t d = 0; d < Rank; ++d) all = all * 31 + least.index[d];
    return all;
  }
};

/// A box of which each rank has a slice, of a dimension and between bounds that a seed draws.
template <std::size_t Rank>
struct sliced_box {
  fanin::md_index<Rank> lower{};
  fanin::md_index<Rank> upper{};
  fanin::md_index<Rank> own_lower{};
  fanin::md_index<Rank> own_upper{};

  sliced_box(const fanin::mpi& comm, std::uint64_t seed) : sliced_box(comm, seed, seed % Rank) {}
  template <class Comm>
  sliced_box(const Comm& comm, std::uint64_t seed, std::size_t cut) {
    for (std::size_t d = 0; d < Rank; ++d) {
      const std::uint64_t draw = mix(seed * 10 + d);
      lower[d] = static_cast<std::int64_t>(draw % 9) - 4;
      upper[d] = lower[d] + static_cast<std::int64_t>(draw / 9 % 7);
    }
    own_lower = lower;
    own_upper = upper;
    const own_part part(upper[cut] - lower[cut], comm, seed);
    own_lower[cut] = lower[cut] + part.begin;
    own_upper[cut] = lower[cut] + part.end;
  }
};

/// The least multi-index in the box's order, wherever the ranks' slices lie.
template <std::size_t Rank, fanin::iterate Order, class Exec>
void check_places(const fanin::mpi& comm, const Exec& object, std::uint64_t seed) {
  static const fanin::serial serial;
  const sliced_box<Rank> box(comm, seed);
  const auto whole = fanin::md_range<Order>(serial, box.lower, box.upper);
  const auto part = fanin::over(comm, fanin::md_range<Order>(object, box.own_lower, box.own_upper));
  const fanin::min_loc<std::int64_t> least;
  const fanin::max_loc<std::int64_t> most;
  const fanin::min_max_loc<std::int64_t> ends;
  const fanin::sum<std::int64_t> sum;
  const height_at f;

  EXPECT_TRUE(fanin::parallel_reduce("least", part, f, least) == fanin::parallel_reduce(whole, f, least)) << seed;
  const auto expected = fanin::parallel_reduce(whole, f, most, sum, ends);
  EXPECT_TRUE(fanin::parallel_reduce(part, f, most, sum, ends) == expected) << seed;
  auto later = fanin::parallel_reduce_async(part, f, most, sum, ends);
  const auto finished = fanin::finished(place_and_sum{}, least, sum);
  const std::int64_t made = fanin::parallel_reduce(whole, f, finished);
  fanin::buffer<std::int64_t, Exec> out(object, 1);
  fanin::parallel_reduce_into(out.data(), part, f, finished);
  std::int64_t given = 0;
  out.copy_to(std::span<std::int64_t>(&given, 1));
  EXPECT_EQ(given, made) << seed;
  EXPECT_TRUE(later.get() == expected) << seed;
  if (whole.size() > 0) {  // else the box that holds all parts is another one
    const auto own = fanin::finished(halved{}, first_negative{});
    EXPECT_EQ(fanin::parallel_reduce(part, f, own), fanin::parallel_reduce(whole, f, own)) << seed;
  }
}

struct product {
  template <class T>
  FANIN_FUNCTION T operator()(T x, T y) const {
    return x * y;
  }
  template <class T>
  FANIN_FUNCTION T operator()(T x, T y, T z) const {
    return x * y - z;
  }
};
struct negative {
  template <class T>
  FANIN_FUNCTION T operator()(T x) const {
    return -x;
  }
};

/// A reducer of one's own that folds and does not look at indices.
struct number_of_positive {
  using value_type = double;
  using accumulator_type = std::int64_t;
  FANIN_FUNCTION std::int64_t identity() const { return 0; }
  FANIN_FUNCTION void fold(std::int64_t& acc, double value, std::int64_t) const { acc += value > 0 ? 1 : 0; }
  FANIN_FUNCTION void join(std::int64_t& into, std::int64_t from) const { into += from; }
};

/// A rank's columns of a matrix that stands row by row, by strides, and by strides backwards.
template <class Exec>
void check_views(const fanin::mpi& comm, const Exec& object, std::uint64_t seed) {
  static const fanin::serial serial;
  const auto rows = static_cast<std::int64_t>(mix(seed) % 7);
  const auto columns = static_cast<std::int64_t>(mix(seed + 1) % 40);
  std::vector<double> data;
  for (std::int64_t i = 0; i < rows * columns; ++i) data.push_back(element(i));
  const own_part part(columns, comm, seed);
  const std::int64_t width = part.end - part.begin;
  const fanin::buffer<double, Exec> held(object, std::span<const double>(data));
  const double* const first = held.data() + (data.empty() ? 0 : part.begin);
  const fanin::view<const double, 2> mine(first, {rows, width}, {columns, 1});
  const fanin::view<const double, 2> backwards(data.empty() || width == 0 ? first : first + (rows - 1) * columns,
                                               {rows, width}, {-columns, 1});
  const fanin::view<const double, 2> all(data.data(), {rows, columns});
  const fanin::view<const double, 2> all_backwards(data.empty() ? data.data() : data.data() + (rows - 1) * columns,
                                                   {rows, columns}, {-columns, 1});

  const fanin::exact_sum<double> sum;
  const fanin::max<double> most;
  EXPECT_EQ(fanin::reduce(object, fanin::over(comm, mine), sum), fanin::reduce(serial, data, sum)) << seed;
  EXPECT_TRUE(fanin::reduce("two", object, fanin::over(comm, backwards), sum, most) ==
              fanin::reduce(serial, data, sum, most))
      << seed;
  EXPECT_EQ(fanin::reduce(object, fanin::over(comm, mine), number_of_positive{}),
            fanin::reduce(serial, all, number_of_positive{}))
      << seed;
  EXPECT_EQ(fanin::exact_dot(object, fanin::over(comm, mine), fanin::over(comm, backwards)),
            fanin::exact_dot(serial, all, all_backwards))
      << seed;
  EXPECT_EQ(fanin::exact_norm2_squared(object, fanin::over(comm, backwards)), fanin::exact_norm2_squared(serial, data));
  const double expected = fanin::transform_reduce(serial, all, all_backwards, product{}, sum);
  EXPECT_EQ(fanin::transform_reduce(object, fanin::over(comm, mine), fanin::over(comm, backwards), product{}, sum),
            expected)
      << seed;
  EXPECT_EQ(fanin::transform_reduce_async(object, fanin::over(comm, backwards), fanin::over(comm, mine), product{}, sum)
                .get(),
            expected)
      << seed;
}

/// Arrays of one index: side by side, and every second element; indices given, or counted by the ranks.
template <class Exec>
void check_transforms(const fanin::mpi& comm, const Exec& object, std::uint64_t seed) {
  static const fanin::serial serial;
  const auto n = static_cast<std::int64_t>(mix(seed + 2) % 300);
  std::vector<std::int64_t> x;
  for (std::int64_t i = 0; i < 2 * n; ++i) x.push_back(height(i, 1, 2));
  const own_part part(n, comm, seed);
  const std::int64_t mine = part.end - part.begin;
  const fanin::buffer<std::int64_t, Exec> held(object, std::span<const std::int64_t>(x));
  const auto side_by_side = [&](const std::int64_t* data, std::int64_t from) {
    return std::span(data + from, static_cast<std::size_t>(mine));
  };
  const auto a = side_by_side(held.data(), part.begin);
  const auto b = side_by_side(held.data(), n + part.begin);
  const fanin::view<const std::int64_t, 1> strided(held.data() + 2 * part.begin, {mine}, {2});
  const std::span<const std::int64_t> whole_a(x.data(), static_cast<std::size_t>(n));
  const std::span<const std::int64_t> whole_b(x.data() + n, static_cast<std::size_t>(n));
  const fanin::view<const std::int64_t, 1> whole_strided(x.data(), {n}, {2});

  const fanin::sum<std::int64_t> sum;
  const fanin::min_loc<std::int64_t> least;
  const fanin::max_loc<std::int64_t> most;
  for (const auto first : {std::optional<std::int64_t>(), std::optional<std::int64_t>(part.begin)}) {
    const auto over = [&](const auto& xs) { return fanin::over(comm, xs, first); };
    EXPECT_TRUE(fanin::reduce(object, over(strided), least, sum) == fanin::reduce(serial, whole_strided, least, sum))
        << seed;
    EXPECT_TRUE(fanin::reduce(object, over(a), most) == fanin::reduce(serial, whole_a, most)) << seed;
    EXPECT_TRUE(fanin::transform_reduce(object, over(strided), negative{}, most) ==
                fanin::transform_reduce(serial, whole_strided, negative{}, most))
        << seed;
    const auto two = fanin::transform_reduce(serial, whole_a, whole_b, product{}, least, sum);
    EXPECT_TRUE(fanin::transform_reduce("two", object, over(a), over(b), product{}, least, sum) == two) << seed;
    auto later = fanin::transform_reduce_async("later", object, over(a), over(b), product{}, least, sum);
    fanin::buffer<std::int64_t, Exec> out(object, 1);
    fanin::transform_reduce_into("three", out.data(), object, over(a), over(strided), over(b), product{}, sum);
    std::int64_t given = 0;
    out.copy_to(std::span<std::int64_t>(&given, 1));
    EXPECT_EQ(given, fanin::transform_reduce(serial, whole_a, whole_strided, whole_b, product{}, sum)) << seed;
    EXPECT_TRUE(later.get() == two) << seed;
  }
  // Given to one of them alone.
  const auto from_thousand =
      fanin::transform_reduce(object, fanin::over(comm, a), fanin::over(comm, b, part.begin + 1'000), product{}, least);
  const auto from_zero = fanin::transform_reduce(serial, whole_a, whole_b, product{}, least);
  EXPECT_EQ(from_thousand.value, from_zero.value) << seed;
  EXPECT_EQ(from_thousand.index, n == 0 ? -1 : from_zero.index + 1'000) << seed;
}

/// A rank whose arrays do not fit each other, or begin at different indices, throws; the others learn of it.
template <class Exec>
void check_misfits(const fanin::mpi& comm, const Exec& object) {
  const fanin::buffer<double, Exec> held(object, 8);
  const auto of = [&](std::size_t count) { return std::span<const double>(held.data(), count); };
  const auto differ = [&] {
    (void)fanin::transform_reduce(object, fanin::over(comm, of(8)), fanin::over(comm, of(comm.rank() == 0 ? 5 : 8)),
                                  product{}, fanin::sum<double>{});
  };
  const auto begin_elsewhere = [&] {
    (void)fanin::transform_reduce(object, fanin::over(comm, of(8), 3),
                                  fanin::over(comm, of(8), comm.rank() == 0 ? 4 : 3), product{},
                                  fanin::min_loc<double>{});
  };
  if (comm.rank() == 0) {
    EXPECT_THROW(differ(), fanin::invalid_argument);
    EXPECT_THROW(begin_elsewhere(), fanin::invalid_argument);
  } else {
    EXPECT_THROW(differ(), fanin::rank_error);
    EXPECT_THROW(begin_elsewhere(), fanin::rank_error);
  }
}

}  // namespace fanin_test
