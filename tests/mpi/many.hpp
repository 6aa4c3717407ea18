// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/buffer.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/finished.hpp>
#include <fanin/md_range.hpp>
#include <fanin/mpi/over.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/segments.hpp>
#include <fanin/serial/serial.hpp>
#include <fanin/view.hpp>

#include "mpi/parts.hpp"
#include "mpi/shapes.hpp"

/// Over ranks: many results, of which each rank has a part of every one, on an object of its own choice; serial over
/// the whole says what is right.
namespace fanin_test {

template <class T, class Exec>
std::vector<T> to_host(const fanin::buffer<T, Exec>& from) {
  std::vector<T> all(from.size());
  from.copy_to(std::span<T>(all));
  return all;
}

/// Whether ranks tell each other where their parts are, as MPI's do.
template <class Comm>
inline constexpr bool tells_bounds = std::is_same_v<Comm, fanin::mpi>;
template <class Comm>
std::optional<std::int64_t> first_unless_told(std::int64_t first) {
  if (tells_bounds<Comm>) return {};
  return first;
}

/// Numbers of any magnitude, at an index of three.
struct element_of_three {
  FANIN_FUNCTION double operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return element((i * 1'009 + j) * 1'009 + k);
  }
};
/// g, which gets the result's indices, too.
struct with_place {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t most, std::int64_t sum, std::int64_t left) const {
    return (most * 1'000 + sum) * 1'000 + left;
  }
  FANIN_FUNCTION std::int64_t operator()(std::int64_t most, std::int64_t sum, std::int64_t left,
                                         std::int64_t other) const {
    return ((most * 1'000 + sum) * 1'000 + left) * 1'000 + other;
  }
};

/// Some axes of a box that is cut across one of them.
template <fanin::iterate Order, std::size_t... Axis, class Comm, class Exec>
void check_axes_over_ranks(const Comm& comm, const Exec& object, std::uint64_t seed) {
  static const fanin::serial serial;
  constexpr std::size_t reduced[] = {Axis...};
  const sliced_box<3> box(comm, seed, reduced[seed % sizeof...(Axis)]);
  const auto whole = fanin::axes<Axis...>(fanin::md_range<Order>(serial, box.lower, box.upper));
  const auto part =
      fanin::over(comm, fanin::axes<Axis...>(fanin::md_range<Order>(object, box.own_lower, box.own_upper)));
  const auto results = static_cast<std::size_t>(whole.results());
  constexpr bool has_places = tells_bounds<Comm> || sizeof...(Axis) == 1;
  const std::conditional_t<has_places, fanin::min_loc<std::int64_t>, fanin::min<std::int64_t>> least;
  const fanin::max<std::int64_t> most;
  const fanin::sum<std::int64_t> sum;
  const fanin::exact_sum<double> exact;
  const height_at f;

  using place = typename decltype(fanin::detail::make_axes_composite<fanin::detail::axes_of<3, Axis...>>(
      fanin::detail::md_shape<sizeof...(Axis), Order>{}, least, sum))::result_type;
  std::vector<place> places(results);
  fanin::parallel_reduce_into(places.data(), whole, f, least, sum);
  std::vector<double> sums(results);
  fanin::parallel_reduce_into(sums.data(), whole, element_of_three{}, exact);
  std::vector<std::int64_t> finished(results);
  fanin::parallel_reduce_into(finished.data(), whole, f, fanin::finished(with_place{}, most, sum));

  fanin::buffer<place, Exec> of_places(object, results);
  fanin::buffer<double, Exec> of_sums(object, results);
  fanin::buffer<double, Exec> of_sums_later(object, results);
  fanin::buffer<std::int64_t, Exec> of_finished(object, results);
  fanin::buffer<std::int64_t, Exec> of_finished_later(object, results);
  auto later = fanin::parallel_reduce_async("later", of_finished_later.data(), part, f,
                                            fanin::finished(with_place{}, most, sum));
  auto sums_later = fanin::parallel_reduce_async(of_sums_later.data(), part, element_of_three{}, exact);
  fanin::parallel_reduce_into("places", of_places.data(), part, f, least, sum);
  fanin::parallel_reduce_into(of_sums.data(), part, element_of_three{}, exact);
  fanin::parallel_reduce_into(of_finished.data(), part, f, fanin::finished(with_place{}, most, sum));
  EXPECT_TRUE(to_host(of_places) == places) << seed;
  EXPECT_EQ(to_host(of_sums), sums) << seed;
  EXPECT_EQ(to_host(of_finished), finished) << seed;
  sums_later.get();
  later.get();
  EXPECT_EQ(to_host(of_sums_later), sums) << seed;
  EXPECT_EQ(to_host(of_finished_later), finished) << seed;

  if constexpr (has_places) {
    std::vector<double> numbers(results);
    fanin::parallel_reduce_into(numbers.data(), whole, f, first_negative{});
    fanin::parallel_reduce_into(of_sums.data(), part, f, first_negative{});
    EXPECT_EQ(to_host(of_sums), numbers) << seed;
  }
}

/// A matrix that is cut between its rows, each rank's part in a layout of its own.
template <class Comm, class Exec>
void check_matrix_over_ranks(const Comm& comm, const Exec& object, std::uint64_t seed) {
  static const fanin::serial serial;
  const auto n = static_cast<std::int64_t>(mix(seed) % 40);
  const auto m = static_cast<std::int64_t>(mix(seed + 1) % 20);
  const own_part part(n, comm, seed);
  const std::int64_t own = part.end - part.begin;
  const bool is_left = (seed + static_cast<std::uint64_t>(comm.rank())) % 2 == 0;
  std::vector<std::int64_t> elements(static_cast<std::size_t>(own * m));
  std::vector<double> doubles(elements.size());
  for (std::int64_t i = 0; i < own; ++i) {
    for (std::int64_t j = 0; j < m; ++j) {
      const auto at = static_cast<std::size_t>(is_left ? i + j * own : i * m + j);
      elements[at] = height(part.begin + i, j, 7);
      doubles[at] = element((part.begin + i) * 64 + j);
    }
  }
  const fanin::buffer<std::int64_t, Exec> held(object, std::span<const std::int64_t>(elements));
  const fanin::buffer<double, Exec> held_doubles(object, std::span<const double>(doubles));
  const fanin::md_index<2> extents{own, m};
  const fanin::md_index<2> strides = is_left ? fanin::md_index<2>{1, own} : fanin::md_index<2>{m, 1};
  const fanin::view<const std::int64_t, 2> xs(held.data(), extents, strides);
  const fanin::view<const double, 2> ys(held_doubles.data(), extents, strides);
  const fanin::md_index<2> turned_extents{m, own};
  const fanin::md_index<2> turned_strides{strides[1], strides[0]};
  const fanin::view<const std::int64_t, 2> turned(held.data(), turned_extents, turned_strides);

  const auto whole = fanin::columns(serial, n, m);
  const auto columns = static_cast<std::size_t>(m);
  const fanin::min_loc<std::int64_t> least;
  const fanin::sum<std::int64_t> sum;
  std::vector<fanin::value_index<std::int64_t>> places(columns);
  std::vector<std::int64_t> sums(columns);
  std::vector<double> numbers(columns);
  std::vector<double> exact(columns);
  const auto doubles_at = [](std::int64_t i, std::int64_t j) { return element(i * 64 + j); };
  fanin::parallel_reduce_into(std::tie(places, sums), whole, height_at{}, least, sum);
  fanin::parallel_reduce_into(numbers, whole, height_at{}, first_negative{});
  fanin::parallel_reduce_into(exact, whole, doubles_at, fanin::exact_sum<double>{});

  fanin::buffer<fanin::value_index<std::int64_t>, Exec> of_places(object, columns);
  fanin::buffer<std::int64_t, Exec> of_sums(object, 2 * columns);
  fanin::buffer<double, Exec> of_doubles(object, columns);
  const fanin::view<std::int64_t, 1> every_other(of_sums.data(), {m}, {2});
  const auto found = fanin::over(comm, fanin::columns(xs), first_unless_told<Comm>(part.begin));
  const auto given = fanin::over(comm, fanin::rows(turned), part.begin);
  const auto check_sums = [&] {
    const std::vector<std::int64_t> got = to_host(of_sums);
    for (std::size_t j = 0; j < columns; ++j) EXPECT_EQ(got[2 * j], sums[j]) << seed;
  };
  fanin::reduce_into("columns", std::tie(of_places, every_other), object, found, least, sum);
  EXPECT_TRUE(to_host(of_places) == places) << seed;
  check_sums();
  fanin::reduce_into(every_other, object, found, sum);
  check_sums();
  auto places_later = fanin::reduce_async("rows", of_places, object, given, least);
  auto sums_later = fanin::reduce_async(every_other, object, given, sum);
  sums_later.get();
  places_later.get();
  EXPECT_TRUE(to_host(of_places) == places) << seed;
  check_sums();
  fanin::reduce_into(of_doubles.data(), object, given, first_negative{});
  EXPECT_EQ(to_host(of_doubles), numbers) << seed;
  fanin::reduce_into(of_doubles, object, fanin::over(comm, fanin::columns(ys)), fanin::exact_sum<double>{});
  EXPECT_EQ(to_host(of_doubles), exact) << seed;
}

/// Segments of which each rank has some elements, or none.
template <class Offset, class Comm, class Exec>
void check_segments_over_ranks(const Comm& comm, const Exec& object, std::uint64_t seed) {
  constexpr std::size_t count = 23;
  std::vector<std::int64_t> sums(count);
  std::vector<fanin::value_index<std::int64_t>> places(count, {INT64_MAX, -1});
  std::vector<Offset> offsets;
  std::vector<std::int64_t> elements;
  std::int64_t first = 0;
  std::int64_t first_of_own = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const bool is_own = rank == comm.rank();
    if (is_own) {
      first_of_own = first;
      offsets.push_back(0);
    }
    std::int64_t k = first;
    for (std::size_t s = 0; s < count; ++s) {
      const std::uint64_t draw = mix(seed * 1'000 + static_cast<std::uint64_t>(rank) * 64 + s);
      const std::int64_t end = k + (draw % 3 == 0 ? 0 : static_cast<std::int64_t>(draw / 3 % 50));
      for (; k < end; ++k) {
        const std::int64_t value = height(k, 3, 7);
        sums[s] += value;
        if (value < places[s].value) places[s] = {value, k};
        if (is_own) elements.push_back(value);
      }
      if (is_own) offsets.push_back(static_cast<Offset>(k - first));
    }
    first = k;
  }
  const fanin::buffer<std::int64_t, Exec> held(object, std::span<const std::int64_t>(elements));
  const fanin::buffer<Offset, Exec> held_offsets(object, std::span<const Offset>(offsets));
  for (Offset& offset : offsets) offset = static_cast<Offset>(offset + static_cast<Offset>(first_of_own));
  const fanin::buffer<Offset, Exec> offsets_in_whole(object, std::span<const Offset>(offsets));

  const fanin::min_loc<std::int64_t> least;
  const fanin::sum<std::int64_t> sum;
  fanin::buffer<std::int64_t, Exec> of_sums(object, count);
  fanin::buffer<fanin::value_index<std::int64_t>, Exec> of_places(object, count);
  const auto data = fanin::over(comm, fanin::segments(held, held_offsets), first_unless_told<Comm>(first_of_own));
  fanin::reduce_into(std::tie(of_places, of_sums), object, data, least, sum);
  EXPECT_EQ(to_host(of_sums), sums) << seed;
  EXPECT_TRUE(to_host(of_places) == places) << seed;
  const auto range = fanin::over(comm, [&] {
    const auto segments = fanin::segments(object, offsets_in_whole);
    if constexpr (sizeof(Offset) == 8 || !fanin::detail::is_host_backend<Exec>) {
      return segments.prepared();
    } else {
      return segments;
    }
  }());
  auto later = fanin::parallel_reduce_async(std::tie(of_places, of_sums), range, height_of_element{}, least, sum);
  later.get();
  EXPECT_EQ(to_host(of_sums), sums) << seed;
  EXPECT_TRUE(to_host(of_places) == places) << seed;
}

/// Whose results need more memory than its accumulators.
struct sum_in_words {
  struct result_type {
    std::int64_t parts[3];
    FANIN_FUNCTION friend bool operator==(const result_type& a, const result_type& b) {
      return a.parts[0] == b.parts[0] && a.parts[1] == b.parts[1] && a.parts[2] == b.parts[2];
    }
  };
  using value_type = std::int32_t;
  using accumulator_type = std::int32_t;
  FANIN_FUNCTION std::int32_t identity() const { return 0; }
  FANIN_FUNCTION void join(std::int32_t& into, const std::int32_t& from) const { into += from; }
  FANIN_FUNCTION result_type result(const std::int32_t& sum) const {
    return {{sum, -sum, sum * std::int64_t{1} << 32}};
  }
};
struct small_of_two {
  FANIN_FUNCTION std::int32_t operator()(std::int64_t i, std::int64_t j) const {
    return static_cast<std::int32_t>((i * 7 + j * 3) % 1'001);
  }
};

/// Few results, and so many that ranks make slices of them.
template <class Exec>
void check_large_results_over_ranks(const fanin::mpi& comm, const Exec& object) {
  static const fanin::serial serial;
  for (const std::int64_t m : {3, 25'001}) {
    const own_part part(9, comm, 1);
    const auto range = fanin::over(comm, fanin::axes<0>(fanin::md_range(object, {part.begin, 0}, {part.end, m})));
    std::vector<sum_in_words::result_type> expected(static_cast<std::size_t>(m));
    fanin::parallel_reduce_into(expected, fanin::columns(serial, 9, m), small_of_two{}, sum_in_words{});
    fanin::buffer<sum_in_words::result_type, Exec> sums(object, expected.size());
    fanin::buffer<sum_in_words::result_type, Exec> sums_later(object, expected.size());
    auto later = fanin::parallel_reduce_async(sums_later.data(), range, small_of_two{}, sum_in_words{});
    fanin::parallel_reduce_into(sums.data(), range, small_of_two{}, sum_in_words{});
    EXPECT_TRUE(to_host(sums) == expected) << m;
    later.get();
    EXPECT_TRUE(to_host(sums_later) == expected) << m;
  }
}

/// What is found in a rank's part, and of what it writes to: its rank says so, the others that a rank has failed.
template <class Exec>
void check_failed_parts_of_many(const fanin::mpi& comm, const Exec& object) {
  if (comm.size() == 1) return;
  const bool is_wrong = comm.rank() == comm.size() - 1;
  const std::vector<double> elements(12, 1);
  const fanin::buffer<double, Exec> held(object, std::span<const double>(elements));
  fanin::buffer<double, Exec> out(object, std::span<const double>(elements));
  const fanin::view<const double, 2> right(held.data(), {4, 3});
  const fanin::view<const double, 2> null(nullptr, {4, 3});
  const auto data = fanin::over(comm, fanin::columns(is_wrong ? null : right));
  const fanin::sum<double> sum;
  const auto check = [&](const auto& call) {
    if (is_wrong) {
      EXPECT_THROW(call(), fanin::invalid_argument);
    } else {
      EXPECT_THROW(call(), fanin::rank_error);
    }
    EXPECT_EQ(to_host(out), elements);
  };
  check([&] { fanin::reduce_into(out.data(), object, data, sum); });
  auto later = fanin::reduce_async(out.data(), object, data, sum);
  check([&] { later.get(); });
  fanin::reduce_into(out.data(), object, fanin::over(comm, fanin::columns(right)), sum);
  EXPECT_EQ(to_host(out)[2], 4.0 * comm.size());
}

}  // namespace fanin_test
